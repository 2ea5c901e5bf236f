/* The front of the loaders: see loader.h. Each loader is a row of functions; everything before
 * (parsing, finding main) and around (constructors, locating) is common. */
#include "sim/programs/loader.h"

#include "sim/elf/image.h"
#include "sim/libc/images.h"
#include "sim/programs/closure.h"
#include "sim/programs/dlopen_images.h"
#include "sim/programs/find_main.h"
#include "sim/programs/resolve.h"
#include "sim/programs/site.h"
#include "sim/programs/static_tls.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct sim_program {
    enum sim_loader kind;
    int images; /* as asked for; the shared loader has one */
    struct image image;
    struct closure closure; /* what it needs; its images, with clone */
    struct clone *clone;    /* the program's own, with clone */
    struct linked linked;   /* dlopen and shared */
    pthread_mutex_t making; /* of the one shared image */
};

static bool cloned(const struct sim_program *program)
{
    return program->kind == SIM_LOADER_CLONE;
}

/* The index an image really has. */
static int own_index(const struct sim_program *program, int index)
{
    assert(index >= 0 && index < program->images);
    return program->kind == SIM_LOADER_SHARED ? 0 : index;
}

static uintptr_t base_of(const struct sim_program *program, int index)
{
    index = own_index(program, index);
    return cloned(program) ? clone_base(program->clone, index)
                           : linked_base(&program->linked, index);
}

/* Executables keep thread-locals at a fixed distance from the thread pointer, and say so only in
 * their code. */
static int tls_check(const struct image *image, const struct sim_program_options *options,
                     struct failure *failure)
{
    if (!image->executable || !image->tls_size)
        return 0;
    if (options->own_threads && options->kind == SIM_LOADER_CLONE && static_tls_fits(image))
        return 0;
    return failure_set(
        failure, FAILURE_INPUT,
        "%s: an executable with thread-local variables, which its code finds through "
        "the OS thread (local-exec)%s; build it with simcc, or with -shared -fPIC "
        "-ftls-model=global-dynamic%s",
        image->path, options->own_threads ? " and which cannot be served here" : "",
        options->own_threads ? "" : ", or run it with --os-threads");
}

/* No symbol says where main is: what can be started is entered in a throw-away image, a library has
 * no entry. */
static int main_find(struct sim_program *program, struct failure *failure)
{
    struct image *image = &program->image;
    const Elf64_Ehdr *header = (const void *)image->file;
    if (image->main_address)
        return 0;
    if (!image_is_code(image, header->e_entry))
        return failure_set(failure, FAILURE_INPUT,
                           "%s: has no main function; give the source or the object that has it, "
                           "too",
                           image->path);
    struct closure_options one = {.count = 1, .own_threads = true};
    int status = closure_clone(&program->closure, &one, failure);
    status = status ? status : closure_make(&program->closure, 0, failure);
    if (!status) {
        const struct clone *scratch = &program->closure.modules[0].clone;
        uintptr_t found = start_main(clone_base(scratch, 0) + header->e_entry);
        if (clone_index(scratch, found) == 0)
            image->main_address = found - clone_base(scratch, 0);
        else
            status =
                failure_set(failure, FAILURE_INPUT,
                            "%s: has no main function; give the source or the object that has it, "
                            "too",
                            image->path);
    }
    closure_clear(&program->closure);
    return status;
}

static void destroy_module(const struct image *image, uintptr_t base)
{
    const uintptr_t *functions = (const uintptr_t *)(base + image->fini_array);
    for (size_t i = image->fini_count; i-- > 0;)
        if (functions[i] && functions[i] != UINTPTR_MAX)
            ((void (*)(void))functions[i])();
    if (image->fini)
        ((void (*)(void))(base + image->fini))();
}

static void image_thread_enter(const struct sim_program *program, int index)
{
    if (cloned(program))
        clone_thread_enter(program->clone, own_index(program, index));
}

static void image_finish(struct sim_program *program, int index)
{
    if (program->kind == SIM_LOADER_SHARED || (cloned(program) && program->clone->common))
        return; /* of the latter only the start files' own, which change a variable of theirs */
    const struct closure *closure = &program->closure;
    if (!cloned(program))
        destroy_module(&program->image, base_of(program, index));
    for (int i = closure->count; cloned(program) && i-- > 0;) {
        const struct closure_module *module = &closure->modules[closure->order[i]];
        if (!module->made || module->made[index])
            destroy_module(module->image, clone_base(&module->clone, index));
    }
}

/* A variable of the program itself (an executable's copy of libc's), NULL if it has none. */
static void *getopt_variable(const struct sim_program *program, uintptr_t base, const char *name)
{
    const struct image *image = &program->image;
    const Elf64_Sym *symbol = image->symbols.start;
    for (size_t i = 0; i < image->symbols.count; i++)
        if (symbol[i].st_shndx != SHN_UNDEF &&
            !strcmp(image_string(image, symbol[i].st_name), name))
            return (void *)(base + symbol[i].st_value);
    return NULL;
}

static void image_getopt(struct sim_program *program, int index, struct sim_libc_getopt *out)
{
    index = own_index(program, index);
    uintptr_t base = base_of(program, index);
    struct resolve_getopt *own = cloned(program) ? (void *)(base + program->clone->extra.getopt)
                                                 : &program->linked.copies[index].getopt;
    bool shared = program->kind == SIM_LOADER_SHARED;
    int *number = getopt_variable(program, base, "optind");
    out->optind = number ? number : shared ? &optind : &own->optind;
    number = getopt_variable(program, base, "opterr");
    out->opterr = number ? number : shared ? &opterr : &own->opterr;
    number = getopt_variable(program, base, "optopt");
    out->optopt = number ? number : shared ? &optopt : &own->optopt;
    char **text = getopt_variable(program, base, "optarg");
    out->optarg = text ? text : shared ? &optarg : &own->optarg;
    out->shared = shared;
}

static struct libc_handler **image_handlers(struct sim_program *program, int index)
{
    return cloned(program) ? &program->clone->states[own_index(program, index)].handlers : NULL;
}

static bool image_holds(const struct sim_program *program, int index, uintptr_t address)
{
    uint64_t offset;
    return sim_program_locate(program, index, address, &offset);
}

static const struct sim_libc_images for_libc = {
    .holds = image_holds,
    .thread_enter = image_thread_enter,
    .thread_end = clone_thread_end,
    .finish = image_finish,
    .getopt = image_getopt,
    .handlers = image_handlers,
    .handlers_at = site_handlers,
    .file_of = site_file,
    .site_of = site_in,
};

struct sim_program *sim_program_open_as(const char *path, const struct sim_program_options *options,
                                        struct failure *failure)
{
    struct sim_program *program = calloc(1, sizeof *program);
    int images = options->kind == SIM_LOADER_SHARED ? 1 : options->images;
    struct closure_options clones = {.count = images,
                                     .clones = options->kind == SIM_LOADER_CLONE,
                                     .private = options->kind != SIM_LOADER_SHARED,
                                     .shared = options->shared_libraries,
                                     .maps_max = options->maps_max,
                                     .own_threads = options->own_threads};
    if (!program || images < 1) {
        free(program);
        failure_set(failure, FAILURE_INTERNAL, "%s: %s", path,
                    images < 1 ? "no images wanted" : "out of memory");
        return NULL;
    }
    sim_libc_use_images(&for_libc);
    program->kind = options->kind;
    program->images = options->images;
    pthread_mutex_init(&program->making, NULL);
    int status = image_open(&program->image, path, failure);
    status = status ? status : tls_check(&program->image, options, failure);
    status = status ? status : closure_open(&program->closure, &program->image, &clones, failure);
    status = status ? status : main_find(program, failure);
    if (!status && cloned(program))
        status = closure_clone(&program->closure, &clones, failure);
    else if (!status && options->kind == SIM_LOADER_DLOPEN)
        status = closure_link(&program->closure, failure);
    if (!status && !cloned(program))
        status = linked_open(&program->linked, &program->image, images,
                             options->kind == SIM_LOADER_DLOPEN, failure);
    program->clone = program->closure.modules ? &program->closure.modules[0].clone : NULL;
    if (!status)
        return program;
    closure_close(&program->closure);
    image_release(&program->image);
    free(program);
    return NULL;
}

struct sim_program *sim_program_open(const char *path, enum sim_loader kind, int images,
                                     struct failure *failure)
{
    struct sim_program_options options = {.kind = kind, .images = images};
    return sim_program_open_as(path, &options, failure);
}

void sim_program_close(struct sim_program *program)
{
    if (!program)
        return;
    if (!cloned(program))
        linked_release(&program->linked);
    closure_close(&program->closure);
    image_release(&program->image);
    free(program);
}

typedef void constructor(int, char **, char **);

void image_construct(const struct image *image, uintptr_t base)
{
    char *arguments[] = {NULL};
    if (image->init)
        ((constructor *)(base + image->init))(0, arguments, environ);
    const uintptr_t *functions = (const uintptr_t *)(base + image->init_array);
    for (size_t i = 0; i < image->init_count; i++)
        if (functions[i] && functions[i] != UINTPTR_MAX)
            ((constructor *)functions[i])(0, arguments, environ);
}

/* What others need is constructed before them, and destroyed after. */
static void construct(const struct closure *closure, int index)
{
    for (int i = 0; i < closure->count; i++) {
        const struct closure_module *module = &closure->modules[closure->order[i]];
        if (!module->made)
            image_construct(module->image, clone_base(&module->clone, index));
    }
}

int sim_program_reset(struct sim_program *program, int index, struct failure *failure)
{
    index = own_index(program, index);
    if (!cloned(program))
        return linked_make(&program->linked, index, failure);
    int status = closure_make(&program->closure, index, failure);
    if (!status)
        construct(&program->closure, index);
    return status;
}

int sim_program_image(struct sim_program *program, int index, struct failure *failure)
{
    if (program->kind != SIM_LOADER_SHARED)
        return sim_program_reset(program, index, failure);
    pthread_mutex_lock(&program->making);
    int status = linked_made(&program->linked, 0) ? 0 : linked_make(&program->linked, 0, failure);
    pthread_mutex_unlock(&program->making);
    return status;
}

int (*sim_program_main(const struct sim_program *program, int index))(int, char **, char **)
{
    return (int (*)(int, char **, char **))(base_of(program, index) + program->image.main_address);
}

bool sim_program_locate(const struct sim_program *program, int index, uintptr_t pc,
                        uint64_t *offset)
{
    uint64_t address = pc - base_of(program, index);
    if (address < program->image.low || address >= program->image.high)
        return false;
    *offset = address;
    return true;
}

bool sim_program_may_move(const struct sim_program *program)
{
    bool may = cloned(program);
    for (int i = 0; i < program->closure.count && may; i++)
        may = !image_knows_its_thread(program->closure.modules[i].image);
    return may;
}

bool sim_program_calls(const struct sim_program *program, const char *prefix)
{
    bool calls = !cloned(program);
    for (int i = 0; i < program->closure.count && !calls; i++) {
        const struct image *image = program->closure.modules[i].image;
        calls = image_calls(image, prefix) || image_calls(image, "dlopen");
    }
    return calls;
}

const char *sim_program_warning(const struct sim_program *program, int number)
{
    return number < program->closure.warning_count ? program->closure.warnings[number] : NULL;
}

bool sim_program_module(const struct sim_program *program, int number,
                        struct sim_program_module *module)
{
    if (!cloned(program) || number >= program->closure.count)
        return false;
    const struct closure_module *of = &program->closure.modules[number];
    const struct resolve_module *seen = program->closure.resolver.modules;
    *module = (struct sim_program_module){of->image->path, seen[number].place - seen[0].place,
                                          of->image->low, of->image->high};
    return true;
}

const char *sim_program_strategy(const struct sim_program *program)
{
    if (cloned(program))
        return program->clone->common ? "common" : program->clone->copied ? "copied" : "mapped";
    return program->kind == SIM_LOADER_SHARED ? "shared" : "dlopen";
}

size_t sim_program_image_size(const struct sim_program *program)
{
    return cloned(program) ? (size_t)program->clone->span
                           : (size_t)(program->image.high - program->image.low);
}
