/* Libraries that a program opens while it runs (dlopen): each rank has its own copy of them, too.
 *
 * A program that can call dlopen has room for plugins behind its modules, in every rank's part of
 * the range. The first rank that opens one adds it, with what it needs, to the closure; each rank
 * that opens it then has its image made there, and its constructors run. Names of a plugin are
 * seen by itself and what it brought only, unless it was opened with RTLD_GLOBAL. It stays until
 * its rank ends. What cannot be copied is opened once, with a warning.
 *
 * Images call these instead of the C library's; callers are told by their addresses.
 *
 * They are declared in resolve.h, beside the other functions that stand in place of libc's. */
#include "sim/programs/closure.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The list of modules grows under this lock; what is in it does not change. */
static pthread_mutex_t growing = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local char error_text[512];
static _Thread_local bool error_new;

static void error_set(const char *text)
{
    snprintf(error_text, sizeof error_text, "%s", text ? text : "unknown reason");
    error_new = true;
}

/* Whose code `caller` is: the closure, the module and the rank's image. */
struct place {
    struct closure *closure;
    int module, index;
};

static bool place_find(const void *caller, struct place *place)
{
    const struct clone *clone = clone_find((uintptr_t)caller, &place->index);
    place->closure = clone ? clone->closure : NULL;
    for (int m = 0; place->closure && m < place->closure->count; m++)
        if (&place->closure->modules[m].clone == clone) {
            place->module = m;
            return true;
        }
    return false;
}

static struct closure_module *module_of(const struct place *place, const void *handle)
{
    const struct closure *closure = place->closure;
    for (int m = closure->started; m < closure->count; m++)
        if (handle == &closure->modules[m])
            return &closure->modules[m];
    return NULL;
}

/* A handle of the program itself. */
static bool is_self(const struct place *place, const void *handle)
{
    return handle == &place->closure->modules[0];
}

/* Makes the rank's images of a plugin and of what came with it; what others need comes first. */
static bool make(const struct place *place, int group)
{
    struct closure *closure = place->closure;
    struct failure failure = {0};
    for (int i = 0; i < closure->count; i++) {
        struct closure_module *module = &closure->modules[closure->order[i]];
        if (module->group != group || !module->made || module->made[place->index])
            continue;
        module->made[place->index] = true;
        if (clone_make(&module->clone, place->index, &failure)) {
            error_set(failure.text);
            return false;
        }
        image_construct(module->image, clone_base(&module->clone, place->index));
    }
    return true;
}

static void *open_shared(const struct place *place, const char *path, int mode, const char *why)
{
    if (!(mode & RTLD_NOLOAD))
        closure_warn(place->closure, path, why);
    void *handle = dlopen(path, mode | RTLD_NOW);
    if (!handle)
        error_set(dlerror());
    return handle;
}

void *plugin_dlopen(const char *name, int mode)
{
    struct place place;
    char path[PATH_MAX];
    if (!place_find(__builtin_return_address(0), &place))
        return dlopen(name, mode);
    struct closure *closure = place.closure;
    if (!name || !*name)
        return &closure->modules[0];
    const struct image *asker = closure->modules[place.module].image;
    pthread_mutex_lock(&growing);
    bool found = library_path_find(asker, closure->modules[0].image, name, &closure->cache, path);
    pthread_mutex_unlock(&growing);
    if (!found)
        snprintf(path, sizeof path, "%s", name);
    if (!found || resolve_is_mpi(name) || resolve_is_system(name)) {
        void *handle = resolve_is_mpi(name) ? &closure->modules[0] : dlopen(path, mode);
        if (!handle)
            error_set(dlerror());
        return handle;
    }
    struct failure why = {0};
    pthread_mutex_lock(&growing);
    int module = closure_add(closure, path, !(mode & RTLD_NOLOAD), mode & RTLD_GLOBAL, &why);
    pthread_mutex_unlock(&growing);
    if (module < 0)
        return open_shared(&place, path, mode, why.text);
    if (module < closure->started) /* the program needs it anyhow */
        return &closure->modules[0];
    if (mode & RTLD_NOLOAD && !closure->modules[module].made[place.index])
        return NULL;
    return make(&place, closure->modules[module].own_group) ? &closure->modules[module] : NULL;
}

/* Where a definition is in this rank's image. */
static void *address_of(const struct place *place, int module, const Elf64_Sym *symbol)
{
    const struct clone *clone = &place->closure->modules[module].clone;
    uintptr_t base = clone_base(clone, place->index);
    switch (ELF64_ST_TYPE(symbol->st_info)) {
    case STT_GNU_IFUNC:
        return (void *)relocate_call(base + symbol->st_value);
    case STT_TLS:
        return tls_get_address((size_t[]){base + clone->extra.tls_block, symbol->st_value});
    default:
        return (void *)(symbol->st_shndx == SHN_ABS ? symbol->st_value : base + symbol->st_value);
    }
}

void *plugin_dlsym(void *handle, const char *name)
{
    struct place place;
    const Elf64_Sym *symbol;
    if (!place_find(__builtin_return_address(0), &place))
        return dlsym(handle, name);
    const struct scope *scope = &place.closure->resolver.scope;
    const struct closure_module *plugin = module_of(&place, handle);
    bool all = handle == RTLD_DEFAULT || handle == RTLD_NEXT || is_self(&place, handle);
    int found = -1;
    pthread_mutex_lock(&growing);
    if (plugin)
        found = scope_find(scope, name, NULL, (int)(plugin - place.closure->modules),
                           plugin->own_group, &symbol);
    else if (all)
        found = scope_find(scope, name, NULL, handle == RTLD_NEXT ? place.module + 1 : 0,
                           place.closure->modules[place.module].group, &symbol);
    pthread_mutex_unlock(&growing);
    if (found >= 0)
        return address_of(&place, found, symbol);
    void *other = dlsym(plugin || all ? RTLD_DEFAULT : handle, name);
    if (!other)
        error_set(dlerror());
    return other;
}

int plugin_dlclose(void *handle)
{
    struct place place;
    if (place_find(__builtin_return_address(0), &place) &&
        (module_of(&place, handle) || is_self(&place, handle)))
        return 0;
    return dlclose(handle);
}

char *plugin_dlerror(void)
{
    if (!error_new)
        return dlerror();
    error_new = false;
    return error_text;
}

int plugin_dladdr(const void *address, Dl_info *info)
{
    int index;
    const struct clone *clone = clone_find((uintptr_t)address, &index);
    if (!clone)
        return dladdr(address, info);
    uintptr_t base = clone_base(clone, index);
    const struct image *image = clone->image;
    *info = (Dl_info){.dli_fname = image->path, .dli_fbase = (void *)(base + image->low)};
    const Elf64_Sym *symbol = image->symbols.start, *best = NULL;
    for (size_t i = 1; i < image->symbols.count; i++)
        if (symbol[i].st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol[i].st_info) != STT_TLS &&
            base + symbol[i].st_value <= (uintptr_t)address &&
            (!best || symbol[i].st_value > best->st_value))
            best = &symbol[i];
    if (best && (uintptr_t)address < base + best->st_value + (best->st_size ? best->st_size : 1)) {
        info->dli_sname = image_string(image, best->st_name);
        info->dli_saddr = (void *)(base + best->st_value);
    }
    return 1;
}
