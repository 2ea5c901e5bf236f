/* Symbol look-up for programs: see resolve.h. */
#include "sim/programs/resolve.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool resolve_is_mpi(const char *needed)
{
    return !strncmp(needed, "libmpi_abi.so", 13);
}

bool resolve_is_fortran(const char *needed)
{
    return !strncmp(needed, "libsimrun_fortran.so", 20);
}

bool resolve_is_system(const char *needed)
{
    static const char *const names[] = {
        "libc.so",       "libm.so",     "libmvec.so",    "libpthread.so", "libdl.so",
        "librt.so",      "libutil.so",  "libresolv.so",  "libanl.so",     "libnsl.so",
        "libnss_",       "ld-linux",    "linux-vdso.so", "libgcc_s.so",   "libgomp.so",
        "libomp.so",     "libiomp5.so", "libomp5.so",    "libasan.so",    "libtsan.so",
        "libubsan.so",   "liblsan.so",  "libhwasan.so",  "libclang_rt.",  "libtcmalloc",
        "libjemalloc",   "libmimalloc", "libtbbmalloc",  "libcuda.so",    "libgdb",
        "libprofiler.so"};
    const char *slash = strrchr(needed, '/');
    needed = slash ? slash + 1 : needed;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strncmp(needed, names[i], strlen(names[i])))
            return true;
    return false;
}

/* A library stays when its program goes: it may have threads (as OpenMP's has) or handlers for the
 * end of the process. */
enum { LIBRARY_MODE = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE };

bool resolve_add_library(struct resolver *resolver, const char *path, const char **reason)
{
    void **longer = reallocarray(resolver->libraries, resolver->library_count + 1, sizeof *longer);
    void *library = longer ? dlopen(path, LIBRARY_MODE) : NULL;
    resolver->libraries = longer ? longer : resolver->libraries;
    if (!library) {
        const char *said = longer ? dlerror() : "out of memory";
        *reason = said ? said : "unknown reason";
        return false;
    }
    resolver->libraries[resolver->library_count++] = library;
    if (dlsym(library, "__kmpc_fork_call"))
        resolver->clang_openmp = library;
    if (resolver->found) /* what was not there may be now */
        memset(resolver->found, 0, RESOLVE_FOUND * sizeof *resolver->found);
    return true;
}

bool resolve_set_modules(struct resolver *resolver, const struct image *const *images,
                         const int *groups, int count)
{
    scope_close(&resolver->scope);
    free(resolver->modules);
    free(resolver->found);
    resolver->modules = calloc((size_t)count, sizeof *resolver->modules);
    resolver->found = calloc(RESOLVE_FOUND, sizeof *resolver->found);
    return resolver->modules && resolver->found &&
           scope_open(&resolver->scope, images, groups, count);
}

void resolve_close(struct resolver *resolver)
{
    while (resolver->library_count)
        dlclose(resolver->libraries[--resolver->library_count]);
    free(resolver->libraries);
    free(resolver->modules);
    free(resolver->found);
    scope_close(&resolver->scope);
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
    static const struct {
        const char *name;
        uintptr_t function;
    } opening[] = {{"dlopen", (uintptr_t)plugin_dlopen},
                   {"dlsym", (uintptr_t)plugin_dlsym},
                   {"dlclose", (uintptr_t)plugin_dlclose},
                   {"dlerror", (uintptr_t)plugin_dlerror},
                   {"dladdr", (uintptr_t)plugin_dladdr}};
    for (size_t i = 0; i < sizeof opening / sizeof *opening; i++)
        if (!strcmp(name, opening[i].name))
            return opening[i].function;
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
    found = dlsym(RTLD_DEFAULT, strncmp(name, "simrun.", 7) ? name : name + 7);
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

/* The same, asked for once in a program and its libraries. */
static void *library_symbol_once(const struct resolver *resolver, const char *name,
                                 const char *version)
{
    uint32_t hash = 5381;
    for (const char *at = name; *at; at++)
        hash = hash * 33 + (unsigned char)*at;
    struct resolve_found *found = &resolver->found[hash % RESOLVE_FOUND];
    if (!found->name || strcmp(found->name, name) || !found->version != !version ||
        (version && strcmp(found->version, version)))
        *found = (struct resolve_found){name, version, library_symbol(resolver, name, version)};
    return found->address;
}

/* What new and delete of C++ allocate and free arrives where the program's own malloc and free do (sim/memory/wraps.h): NULL for
 * all other names and modules. */
static void *seen_allocation(const struct resolve_self *self, const char *name)
{
    static const char *const names[] = {"malloc", "calloc",        "realloc",
                                        "free",   "aligned_alloc", "posix_memalign"};
    const char *slash = strrchr(self->image->path, '/');
    const char *file = slash ? slash + 1 : self->image->path;
    if (strncmp(file, "libstdc++.so", 12) && strncmp(file, "libc++.so", 9) &&
        strncmp(file, "libc++abi.so", 12))
        return NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char seen[32];
        snprintf(seen, sizeof seen, "__wrap_%s", names[i]);
        if (!strcmp(name, names[i]))
            return dlsym(RTLD_DEFAULT, seen);
    }
    return NULL;
}

/* A program's own definitions come first, as do those of a library that were linked so or that
 * others do not see. */
static bool is_own(const struct resolve_self *self, const Elf64_Sym *symbol)
{
    return symbol->st_shndx != SHN_UNDEF && (self->module == 0 || self->image->symbolic ||
                                             ELF64_ST_BIND(symbol->st_info) == STB_LOCAL ||
                                             ELF64_ST_VISIBILITY(symbol->st_other) != STV_DEFAULT);
}

int resolve_definition(const struct resolver *resolver, const struct resolve_self *self,
                       size_t index, bool foreign, const Elf64_Sym **definition)
{
    const Elf64_Sym *symbol = image_symbol(self->image, index);
    *definition = symbol;
    if (!symbol)
        return -1;
    if (!foreign && is_own(self, symbol))
        return self->module;
    int group = resolver->scope.groups[self->module], found;
    if (foreign || symbol->st_shndx == SHN_UNDEF) {
        found = scope_find(&resolver->scope, image_string(self->image, symbol->st_name),
                           image_symbol_version(self->image, index), foreign ? self->module + 1 : 0,
                           group, definition);
    } else {
        bool hidden;
        const char *version = image_defined_version(self->image, index, &hidden);
        found =
            scope_find_defined(&resolver->scope, self->image, index, version, group, definition);
    }
    if (found < 0 && !foreign && symbol->st_shndx != SHN_UNDEF) {
        *definition = symbol;
        return self->module;
    }
    return found;
}

struct resolved resolve_symbol(const struct resolver *resolver, const struct resolve_self *self,
                               size_t index, bool foreign)
{
    const Elf64_Sym *symbol = image_symbol(self->image, index), *definition;
    if (!symbol)
        return (struct resolved){RESOLVE_MISSING, 0};
    if (symbol->st_shndx == SHN_ABS)
        return (struct resolved){RESOLVE_CONSTANT, symbol->st_value};
    int module = resolve_definition(resolver, self, index, foreign, &definition);
    if (module >= 0 && definition->st_shndx == SHN_ABS)
        return (struct resolved){RESOLVE_CONSTANT, definition->st_value};
    if (module >= 0)
        return (struct resolved){
            ELF64_ST_TYPE(definition->st_info) == STT_GNU_IFUNC ? RESOLVE_SELECTOR : RESOLVE_INSIDE,
            definition->st_value + resolver->modules[module].place -
                resolver->modules[self->module].place};
    const char *name = image_string(self->image, symbol->st_name);
    int field = foreign ? -1 : resolve_getopt_field(name);
    if (field >= 0)
        return (struct resolved){RESOLVE_INSIDE, self->getopt + (uint64_t)field};
    uint64_t owned = loader_owned(name);
    if (!owned)
        owned = (uint64_t)(uintptr_t)seen_allocation(self, name);
    if (!owned)
        owned = (uint64_t)(uintptr_t)library_symbol_once(resolver, name,
                                                         image_symbol_version(self->image, index));
    bool found = owned || ELF64_ST_BIND(symbol->st_info) == STB_WEAK;
    return (struct resolved){found ? RESOLVE_CONSTANT : RESOLVE_MISSING, owned};
}
