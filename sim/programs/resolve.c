/* Symbol look-up for programs: see resolve.h. */
#include "sim/programs/resolve.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool resolve_is_mpi(const char *needed)
{
    return !strncmp(needed, "libmpi_abi.so", 13);
}

/* One directory of a run path, `$ORIGIN` being the program's own. */
static bool directory_expand(const struct image *image, const char *entry, size_t length,
                             char out[PATH_MAX])
{
    const char *slash = strrchr(image->path, '/');
    int origin = slash ? (int)(slash - image->path) : 0;
    size_t skip = 0;
    if (length >= 7 && !strncmp(entry, "$ORIGIN", 7))
        skip = 7;
    else if (length >= 9 && !strncmp(entry, "${ORIGIN}", 9))
        skip = 9;
    int used = snprintf(out, PATH_MAX, "%.*s%.*s", skip ? origin : 0, image->path,
                        (int)(length - skip), entry + skip);
    return used > 0 && used < PATH_MAX;
}

/* A library stays when its program goes: it may have threads (as OpenMP's has) or handlers for the
 * end of the process. */
enum { LIBRARY_MODE = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE };

static void *library_search(const struct image *image, const char *paths, const char *name)
{
    while (*paths) {
        size_t length = strcspn(paths, ":");
        char directory[PATH_MAX], full[PATH_MAX];
        if (length && directory_expand(image, paths, length, directory)) {
            int used = snprintf(full, sizeof full, "%s/%s", directory, name);
            if (used < (int)sizeof full && !access(full, R_OK))
                return dlopen(full, LIBRARY_MODE);
        }
        paths += length + (paths[length] == ':');
    }
    return NULL;
}

int resolve_open(struct resolver *resolver, const struct image *image, struct failure *failure)
{
    *resolver = (struct resolver){0};
    resolver->libraries = calloc(image->dynamic.count + 1, sizeof *resolver->libraries);
    if (!resolver->libraries)
        return failure_set(failure, FAILURE_INTERNAL, "%s: out of memory", image->path);
    const Elf64_Dyn *entry = image->dynamic.start;
    const char *paths = "";
    for (size_t i = 0; i < image->dynamic.count && entry[i].d_tag != DT_NULL; i++)
        if (entry[i].d_tag == DT_RUNPATH || (entry[i].d_tag == DT_RPATH && !*paths))
            paths = image_string(image, entry[i].d_un.d_val);
    for (size_t i = 0; i < image->dynamic.count && entry[i].d_tag != DT_NULL; i++) {
        const char *name = image_string(image, entry[i].d_un.d_val);
        if (entry[i].d_tag != DT_NEEDED || resolve_is_mpi(name))
            continue;
        void *library = library_search(image, paths, name);
        library = library ? library : dlopen(name, LIBRARY_MODE);
        if (!library) {
            const char *reason = dlerror();
            failure_set(failure, FAILURE_INPUT,
                        "%s: needs the library %s, which cannot be loaded: %s", image->path, name,
                        reason ? reason : "unknown reason");
            resolve_close(resolver);
            return FAILURE_INPUT;
        }
        resolver->libraries[resolver->library_count++] = library;
        if (dlsym(library, "__kmpc_fork_call"))
            resolver->clang_openmp = library;
    }
    return 0;
}

void resolve_close(struct resolver *resolver)
{
    while (resolver->library_count)
        dlclose(resolver->libraries[--resolver->library_count]);
    free(resolver->libraries);
    *resolver = (struct resolver){0};
}

int resolve_getopt_field(const char *name)
{
    static const struct {
        const char *name;
        int offset;
    } fields[] = {{"optind", offsetof(struct resolve_getopt, optind)},
                  {"opterr", offsetof(struct resolve_getopt, opterr)},
                  {"optopt", offsetof(struct resolve_getopt, optopt)},
                  {"optarg", offsetof(struct resolve_getopt, optarg)}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (!strcmp(name, fields[i].name))
            return fields[i].offset;
    return -1;
}

/* Handlers of a rank are run at its end by sim_libc_finish; what the C runtime asks for then finds
 * nothing left. */
static void finalize_nothing(void *object)
{
    (void)object;
}

static uint64_t loader_owned(const char *name)
{
    if (!strcmp(name, "__tls_get_addr"))
        return (uint64_t)(uintptr_t)tls_get_address;
    if (!strcmp(name, "__libc_start_main"))
        return (uint64_t)(uintptr_t)catch_libc_start_main;
    if (!strcmp(name, "__cxa_finalize"))
        return (uint64_t)(uintptr_t)finalize_nothing;
    return 0;
}

static bool same_object(void *one, void *other)
{
    Dl_info infos[2];
    return dladdr(one, &infos[0]) && dladdr(other, &infos[1]) &&
           infos[0].dli_fbase == infos[1].dli_fbase;
}

/* What comes first wins, as for the dynamic linker: the launcher, then what stands before libc (a
 * sanitizer, a preloaded library). Where the same library has the symbol in the version the program
 * was linked against, too, that one is taken, so that old binaries keep old behaviour. */
static void *library_symbol(const struct resolver *resolver, const char *name, const char *version)
{
    void *found = resolver->clang_openmp && !strncmp(name, "omp_", 4)
                      ? dlsym(resolver->clang_openmp, name)
                      : NULL;
    if (found)
        return found;
    found = dlsym(RTLD_DEFAULT, name);
    void *exact = found && version ? dlvsym(RTLD_DEFAULT, name, version) : NULL;
    if (found)
        return exact && exact != found && same_object(exact, found) ? exact : found;
    for (size_t i = 0; version && i < resolver->library_count; i++)
        if ((found = dlvsym(resolver->libraries[i], name, version)))
            return found;
    for (size_t i = 0; i < resolver->library_count; i++)
        if ((found = dlsym(resolver->libraries[i], name)))
            return found;
    return NULL;
}

struct resolved resolve_symbol(const struct resolver *resolver, const struct image *image,
                               size_t index, uint64_t getopt, bool foreign)
{
    const Elf64_Sym *symbol = image_symbol(image, index);
    if (!symbol)
        return (struct resolved){RESOLVE_MISSING, 0};
    if (symbol->st_shndx == SHN_ABS)
        return (struct resolved){RESOLVE_CONSTANT, symbol->st_value};
    if (symbol->st_shndx != SHN_UNDEF && !foreign)
        return (struct resolved){ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC ? RESOLVE_SELECTOR
                                                                                 : RESOLVE_INSIDE,
                                 symbol->st_value};
    const char *name = image_string(image, symbol->st_name);
    int field = foreign ? -1 : resolve_getopt_field(name);
    if (field >= 0)
        return (struct resolved){RESOLVE_INSIDE, getopt + (uint64_t)field};
    uint64_t owned = loader_owned(name);
    if (!owned)
        owned =
            (uint64_t)(uintptr_t)library_symbol(resolver, name, image_symbol_version(image, index));
    bool found = owned || ELF64_ST_BIND(symbol->st_info) == STB_WEAK;
    return (struct resolved){found ? RESOLVE_CONSTANT : RESOLVE_MISSING, owned};
}
