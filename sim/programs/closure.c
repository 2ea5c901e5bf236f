/* Programs with their libraries: see closure.h. */
#include "sim/programs/closure.h"

#include "sim/elf/foreign.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Clones that can be found by address (sim/programs/clone.c); addresses for what a rank opens. */
enum { MODULES_MAX = 250, PLUGIN_ROOM = 256 << 20 };

static int out_of_memory(const struct closure *closure, struct failure *failure)
{
    return failure_set(failure, FAILURE_INTERNAL, "%s: out of memory",
                       closure->modules ? closure->modules[0].image->path : "program");
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Did the user declare it shared? A pattern may have * and ?. */
static bool is_declared(const char *shared, const char *name)
{
    while (shared && *shared) {
        size_t length = strcspn(shared, ",");
        char pattern[256];
        snprintf(pattern, sizeof pattern, "%.*s", (int)length, shared);
        if (*pattern && (!fnmatch(pattern, name, 0) || !strncmp(name, pattern, strlen(pattern))))
            return true;
        shared += length + (shared[length] == ',');
    }
    return false;
}

/* Names of variables that ranks would share, as many as fit; how many there are. */
static int variables_name(const struct image *image, char *out, size_t size)
{
    const Elf64_Sym *symbol = image->symbols.start;
    int count = 0;
    *out = 0;
    for (size_t i = 1; i < image->symbols.count; i++, symbol++) {
        const Elf64_Sym *one = symbol + 1;
        if (ELF64_ST_TYPE(one->st_info) != STT_OBJECT || one->st_shndx == SHN_UNDEF ||
            !one->st_size || one->st_value < image->data_start)
            continue;
        size_t used = strlen(out);
        const char *name = image_string(image, one->st_name);
        if (count++ < 4 && used + strlen(name) + 3 < size)
            snprintf(out + used, size - used, "%s%s", used ? ", " : "", name);
    }
    return count;
}

static void warn(struct closure *closure, const struct image *image, const char *name,
                 const char *reason)
{
    char variables[240] = "";
    int count = image ? variables_name(image, variables, sizeof variables) : 0;
    char *text = NULL;
    const int room = (int)(sizeof closure->warnings / sizeof *closure->warnings);
    if (closure->warning_count < room &&
        asprintf(&text, "the variables of %s are shared by all ranks%s%s%s (%s)", name,
                 count ? ": " : "", variables, count > 4 ? ", ..." : "", reason) >= 0)
        closure->warnings[closure->warning_count++] = text;
}

void closure_warn(struct closure *closure, const char *name, const char *why)
{
    warn(closure, NULL, name, why);
}

static int load_shared(struct closure *closure, const char *path, const char *needed,
                       struct failure *failure)
{
    const char *reason;
    if (resolve_add_library(&closure->resolver, path, &reason)) {
        closure_name_add(closure, needed, CLOSURE_SHARED);
        return 0;
    }
    return failure_set(failure, FAILURE_INPUT,
                       "%s: needs the library %s, which cannot be loaded: %s",
                       closure->modules[0].image->path, needed, reason);
}

static int module_by_name(const struct closure *closure, const char *real)
{
    for (int m = 1; m < closure->count; m++)
        if (!strcmp(closure->modules[m].own.path, real))
            return m;
    return -1;
}

static bool needs_add(struct closure_module *module, int other)
{
    int *longer =
        reallocarray(module->needs, (size_t)module->needs_count + 1, sizeof *module->needs);
    if (longer)
        longer[module->needs_count++] = other;
    module->needs = longer ? longer : module->needs;
    return longer;
}

/* Adds the library at `path`. What cannot be opened as an image is shared. */
static int module_add(struct closure *closure, int who, const char *path, const char *needed,
                      struct failure *failure)
{
    struct image image;
    struct failure reason = {0};
    char real[PATH_MAX];
    int known = realpath(path, real) ? module_by_name(closure, real) : -1;
    if (known >= 0) {
        closure_name_add(closure, needed, known);
        return needs_add(&closure->modules[who], known) ? 0 : out_of_memory(closure, failure);
    }
    if (closure->count == MODULES_MAX || image_open(&image, path, &reason)) {
        warn(closure, NULL, needed,
             reason.code ? reason.text : "a program can have 250 libraries of its own");
        return load_shared(closure, path, needed, failure);
    }
    closure->modules[closure->count] = (struct closure_module){.own = image};
    if (!needs_add(&closure->modules[who], closure->count)) {
        image_release(&image);
        return out_of_memory(closure, failure);
    }
    closure_name_add(closure, needed, closure->count);
    closure->count++;
    return 0;
}

/* What stands in for another MPI's library. */
static int shim_add(struct closure *closure, int who, const char *needed, struct failure *failure)
{
    int status = module_add(closure, who, closure->shim, needed, failure);
    const struct closure_module *module = &closure->modules[who];
    if (!status && module->needs_count)
        closure->modules[module->needs[module->needs_count - 1]].shim = true;
    return status;
}

static int needed_add(struct closure *closure, int who, const char *needed,
                      const struct closure_options *options, struct failure *failure)
{
    const char *before = foreign_before(needed);
    int status = before ? needed_add(closure, who, before, options, failure) : 0;
    if (status)
        return status;
    const struct image *program = closure->modules[0].image;
    const struct image *image = who ? &closure->modules[who].own : program;
    char path[PATH_MAX];
    if (resolve_is_mpi(needed) || foreign_mpi(image, needed)) {
        status = closure_mpi(closure, image, needed, failure);
        if (status || !*closure->shim)
            return status;
        if (!foreign_above(needed))
            return shim_add(closure, who, needed, failure);
    }
    int known;
    if (closure_name_find(closure, needed, &known))
        return known == CLOSURE_SHARED || needs_add(&closure->modules[who], known)
                   ? 0
                   : out_of_memory(closure, failure);
    bool found = library_path_find(image, program, needed, &closure->cache, path);
    if (!options->private || resolve_is_system(needed) ||
        is_declared(options->shared, file_name(needed)))
        return load_shared(closure, found ? path : needed, needed, failure);
    if (!found)
        return failure_set(failure, FAILURE_INPUT,
                           "%s: needs the library %s, which cannot be loaded: it is in no folder "
                           "of LD_LIBRARY_PATH, of a run path (-Wl,-rpath,FOLDER), or of the "
                           "system",
                           image->path, needed);
    return module_add(closure, who, path, needed, failure);
}

/* Images of libraries move while the list grows; their addresses are taken when it is complete. */
static void images_set(struct closure *closure)
{
    for (int m = 1; m < closure->count; m++)
        closure->modules[m].image = &closure->modules[m].own;
}

/* After all that it needs; circles are cut where they are met. */
static void order_from(struct closure *closure, int module, int *done)
{
    struct closure_module *here = &closure->modules[module];
    if (here->ordered)
        return;
    here->ordered = true;
    for (int i = 0; i < here->needs_count; i++)
        order_from(closure, here->needs[i], done);
    closure->order[(*done)++] = module;
}

static int needs_find(struct closure *closure, const struct closure_options *options,
                      struct failure *failure)
{
    int status = 0, done = 0;
    for (int m = 0; m < closure->count && !status; m++) {
        images_set(closure);
        const struct image *image = closure->modules[m].image;
        const Elf64_Dyn *entry = image->dynamic.start;
        for (size_t i = 0; i < image->dynamic.count && entry[i].d_tag != DT_NULL && !status; i++)
            if (entry[i].d_tag == DT_NEEDED)
                status = needed_add(closure, m, image_string(image, entry[i].d_un.d_val), options,
                                    failure);
    }
    images_set(closure);
    if (!status)
        order_from(closure, 0, &done);
    return status;
}

int closure_open(struct closure *closure, const struct image *program,
                 const struct closure_options *options, struct failure *failure)
{
    *closure = (struct closure){.count = 1, .options = *options};
    closure->modules = calloc(MODULES_MAX, sizeof *closure->modules);
    closure->order = calloc(MODULES_MAX, sizeof *closure->order);
    if (closure->modules)
        closure->modules[0].image = program;
    int status = closure->modules && closure->order ? needs_find(closure, options, failure)
                                                    : out_of_memory(closure, failure);
    closure->started = closure->count;
    if (status)
        closure_close(closure);
    return status;
}

void closure_close(struct closure *closure)
{
    closure_clear(closure);
    for (int m = 0; closure->modules && m < closure->count; m++) {
        free(closure->modules[m].needs);
        free(closure->modules[m].made);
        if (m)
            image_release(&closure->modules[m].own);
    }
    while (closure->warning_count)
        free(closure->warnings[--closure->warning_count]);
    resolve_close(&closure->resolver);
    closure_names_free(closure);
    library_cache_release(&closure->cache);
    free(closure->modules);
    free(closure->order);
    *closure = (struct closure){0};
}

/* Does a module call dlopen? */
static bool can_open(const struct closure *closure)
{
    for (int m = 0; m < closure->count; m++) {
        const struct image *image = closure->modules[m].image;
        for (size_t i = 0; i < image->symbols.count; i++)
            if (image_symbol(image, i)->st_shndx == SHN_UNDEF &&
                !strcmp(image_string(image, image_symbol(image, i)->st_name), "dlopen"))
                return true;
    }
    return false;
}

/* One behind the other. */
static void layout(struct closure *closure, struct range_needs *needs)
{
    needs->alignment = image_page();
    needs->mappable = true;
    for (int m = 0; m < closure->count; m++) {
        struct closure_module *module = &closure->modules[m];
        const struct image *image = module->image;
        uint64_t rest = image->low % image->alignment;
        module->offset = image_round_up(needs->span, image->alignment) + rest;
        needs->span = module->offset + module->clone.span;
        needs->maps_each += clone_maps(&module->clone);
        needs->bytes_copied += clone_bytes_copied(&module->clone);
        needs->mappable = needs->mappable && image->piece_count;
        if (image->alignment > needs->alignment)
            needs->alignment = image->alignment;
    }
    closure->room_at = needs->span;
    bool opens = can_open(closure);
    needs->span += opens ? PLUGIN_ROOM : 0;
    closure->modules[0].clone.common &= closure->count == 1 && !opens;
    needs->common = closure->modules[0].clone.common;
}

/* Lets the modules see each other. */
static bool introduce(struct closure *closure)
{
    const struct image *images[MODULES_MAX];
    int groups[MODULES_MAX];
    for (int m = 0; m < closure->count; m++) {
        images[m] = closure->modules[m].image;
        groups[m] = closure->modules[m].group;
    }
    if (!resolve_set_modules(&closure->resolver, images, groups, closure->count))
        return false;
    struct resolve_module *seen = closure->resolver.modules;
    for (int m = 0; m < closure->count; m++) {
        struct closure_module *module = &closure->modules[m];
        seen[m] = (struct resolve_module){.place = module->offset - module->image->low,
                                          .tls_block = module->clone.extra.tls_block};
        module->clone.extra.module = m;
        module->clone.program = &closure->modules[0].clone;
        module->clone.closure = closure;
        const char *name = file_name(module->image->path);
        module->clone.between = module->shim || resolve_is_fortran(name) ? LIBC_SHIM
                                : foreign_above(name)                    ? LIBC_ABOVE_SHIM
                                                                         : LIBC_PROGRAM;
        module->clone.common = closure->count == 1 && module->clone.common;
        module->clone.extra.getopt =
            closure->modules[0].clone.extra.getopt + seen[0].place - seen[m].place;
    }
    return true;
}

static int clones_try(struct closure *closure, const struct closure_options *options, int *failed,
                      struct failure *failure)
{
    struct range_needs needs = {.path = closure->modules[0].image->path,
                                .count = options->count,
                                .maps_max = options->maps_max};
    *failed = 0;
    for (int m = 0; m < closure->count; m++)
        clone_open(&closure->modules[m].clone, closure->modules[m].image, options->count,
                   options->own_threads);
    layout(closure, &needs);
    int status = introduce(closure) ? range_open(&closure->range, &needs, failure)
                                    : out_of_memory(closure, failure);
    for (int m = 0; m < closure->count && !status; m++) {
        struct closure_module *module = &closure->modules[m];
        *failed = m;
        status = clone_place(&module->clone, &closure->resolver, &closure->range, module->offset,
                             failure);
        closure->modules[0].clone.extra.getopt_used |= module->clone.plan.uses_getopt;
    }
    return status;
}

/* Takes a library out of the private ones; modules behind it move up. */
static int module_share(struct closure *closure, int gone, const char *why, struct failure *failure)
{
    struct closure_module *module = &closure->modules[gone];
    char *path = strdup(module->own.path);
    warn(closure, &module->own, file_name(module->own.path), why);
    int status = path ? load_shared(closure, path, path, failure) : out_of_memory(closure, failure);
    free(path);
    image_release(&module->own);
    free(module->needs);
    closure_names_share(closure, gone);
    closure->count--;
    closure->started = closure->count;
    memmove(module, module + 1, (size_t)(closure->count - gone) * sizeof *module);
    images_set(closure);
    for (int m = 0, done = 0; m < closure->count; m++) {
        struct closure_module *other = &closure->modules[m];
        other->ordered = false;
        done = 0;
        for (int i = 0; i < other->needs_count; i++)
            if (other->needs[i] != gone)
                other->needs[done++] = other->needs[i] - (other->needs[i] > gone);
        other->needs_count = done;
    }
    int done = 0;
    order_from(closure, 0, &done);
    for (int m = 1; m < closure->count; m++) /* what only it needed is at least constructed */
        order_from(closure, m, &done);
    return status;
}

int closure_clone(struct closure *closure, const struct closure_options *options,
                  struct failure *failure)
{
    for (;;) {
        int failed;
        int status = clones_try(closure, options, &failed, failure);
        if (!status)
            return 0;
        closure_clear(closure);
        if (failed == 0)
            return status;
        char why[sizeof failure->text];
        snprintf(why, sizeof why, "%s", failure->text);
        *failure = (struct failure){0};
        status = module_share(closure, failed, why, failure);
        if (status)
            return status;
    }
}

int closure_link(struct closure *closure, struct failure *failure)
{
    int status = 0;
    if (can_open(closure))
        closure_warn(closure, "what it opens with dlopen",
                     "only the clone loader copies libraries");
    for (int i = 0; i < closure->count && !status; i++) {
        const struct closure_module *module = &closure->modules[closure->order[i]];
        if (module == closure->modules)
            continue;
        if (image_has_variables(module->image))
            warn(closure, module->image, file_name(module->image->path),
                 "only the clone loader copies libraries");
        status = load_shared(closure, module->image->path, module->image->path, failure);
    }
    return status;
}

void closure_clear(struct closure *closure)
{
    for (int m = 0; closure->modules && m < closure->count; m++)
        clone_release(&closure->modules[m].clone);
    range_release(&closure->range);
}

int closure_make(struct closure *closure, int index, struct failure *failure)
{
    int status = 0;
    for (int i = 0; i < closure->count && !status; i++) {
        struct closure_module *module = &closure->modules[closure->order[i]];
        if (module->made)
            module->made[index] = false;
        else
            status = clone_make(&module->clone, index, failure);
    }
    return status;
}

/* What a plugin brought with it is its own, and seen by it. */
static int plugin_needs(struct closure *closure, int first, int group, struct failure *failure)
{
    int status = 0;
    for (int m = first; m < closure->count && !status; m++) {
        images_set(closure);
        const struct image *image = closure->modules[m].image;
        const Elf64_Dyn *entry = image->dynamic.start;
        for (size_t i = 0; i < image->dynamic.count && entry[i].d_tag != DT_NULL && !status; i++)
            if (entry[i].d_tag == DT_NEEDED)
                status = needed_add(closure, m, image_string(image, entry[i].d_un.d_val),
                                    &closure->options, failure);
        closure->modules[m].group = group;
        closure->modules[m].own_group = group;
        closure->modules[m].made =
            calloc((size_t)closure->range.count, sizeof *closure->modules[m].made);
        status = status || closure->modules[m].made ? status : out_of_memory(closure, failure);
    }
    images_set(closure);
    return status;
}

/* Gives the new modules their places, and their relocations. */
static int plugin_place(struct closure *closure, int first, struct failure *failure)
{
    uint64_t at = closure->room_at;
    int status = 0;
    for (int m = first; m < closure->count; m++) {
        struct closure_module *module = &closure->modules[m];
        const struct image *image = module->image;
        clone_open(&module->clone, image, closure->range.count, closure->options.own_threads);
        module->offset = image_round_up(at, image->alignment) + image->low % image->alignment;
        at = module->offset + module->clone.span;
    }
    if (at > closure->range.span)
        return failure_set(failure, FAILURE_INPUT, "%s: there is no room for more libraries",
                           closure->modules[first].image->path);
    status = introduce(closure) ? 0 : out_of_memory(closure, failure);
    for (int m = first; m < closure->count && !status; m++) {
        struct closure_module *module = &closure->modules[m];
        status = clone_place(&module->clone, &closure->resolver, &closure->range, module->offset,
                             failure);
        if (!status && module->clone.plan.uses_getopt &&
            !closure->modules[0].clone.extra.getopt_used)
            status =
                failure_set(failure, FAILURE_INPUT, "%s: uses getopt, which the program does not",
                            module->image->path);
    }
    if (!status)
        closure->room_at = at;
    return status;
}

static void plugin_drop(struct closure *closure, int first)
{
    while (closure->count > first) {
        struct closure_module *module = &closure->modules[--closure->count];
        clone_release(&module->clone);
        image_release(&module->own);
        free(module->needs);
        free(module->made);
        *module = (struct closure_module){0};
    }
    closure_names_drop(closure, first);
    introduce(closure);
}

int closure_add(struct closure *closure, const char *path, bool may_add, bool global,
                struct failure *failure)
{
    struct image image;
    char real[PATH_MAX];
    int first = closure->count, known = realpath(path, real) ? module_by_name(closure, real) : -1;
    if (known >= 0 && closure->modules[known].group && global)
        closure->resolver.scope.groups[known] = closure->modules[known].group = 0;
    if (known >= 0)
        return known;
    if (!may_add || first == MODULES_MAX || image_open(&image, path, failure))
        return -1;
    closure->modules[first] = (struct closure_module){.own = image};
    closure->count++;
    int status = plugin_needs(closure, first, first, failure);
    status = status ? status : plugin_place(closure, first, failure);
    if (status) {
        plugin_drop(closure, first);
        return -1;
    }
    for (int m = first, done = first; m < closure->count; m++)
        order_from(closure, m, &done);
    if (global)
        closure->resolver.scope.groups[first] = closure->modules[first].group = 0;
    return first;
}
