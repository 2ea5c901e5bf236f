/* Where the symbols of a program and its libraries come from.
 *
 * Order: the program itself (so that a program may use any name the launcher also has) and the
 * libraries that each rank has for itself, in the dynamic linker's order; a few names the loader
 * must own (thread-locals, the start of a program, getopt's variables); the launcher and its
 * libraries; the libraries that are shared by all ranks. The MPI library it was linked against is
 * the launcher. A library that defines MPI's functions itself reaches the launcher's with "simrun." before the
 * name. */
#ifndef SIM_PROGRAMS_RESOLVE_H
#define SIM_PROGRAMS_RESOLVE_H

#include "sim/elf/image.h"
#include "sim/elf/scope.h"

#include <dlfcn.h>

/* getopt's public variables; an image that uses them gets its own. */
struct resolve_getopt {
    int optind, opterr, optopt;
    char *optarg;
};

enum resolve_kind {
    RESOLVE_MISSING,
    RESOLVE_CONSTANT, /* the same address for every image */
    RESOLVE_INSIDE,   /* the image's base plus an address */
    RESOLVE_SELECTOR, /* what the function at base plus this address returns */
};

struct resolved {
    enum resolve_kind kind;
    uint64_t value;
};

/* A module of the program as the others see it. An address x of module j is x + place(j) - place(k)
 * to module k, in every image. */
struct resolve_module {
    uint64_t place;     /* of the linker's address 0 in a rank's part of the range */
    uint64_t tls_block; /* its thread-locals, as it sees them */
};

/* A name, with its version, and where the launcher or a shared library has it. */
struct resolve_found {
    const char *name, *version; /* in an image */
    void *address;
};
enum { RESOLVE_FOUND = 4096 };

struct resolver {
    void **libraries; /* shared by all ranks */
    size_t library_count;
    void *clang_openmp; /* the one with clang's OpenMP runtime, NULL if none */
    struct scope scope; /* the program, then its private libraries */
    struct resolve_module *modules;
    struct resolve_found
        *found; /* what was asked for before, RESOLVE_FOUND places by the hash of the name */
};

/* Loads a library for all ranks. False with a sentence of the dynamic linker in `reason`. */
bool resolve_add_library(struct resolver *resolver, const char *path, const char **reason);
/* Sets what the modules define; only then may symbols be resolved. False: out of memory. */
bool resolve_set_modules(struct resolver *resolver, const struct image *const *images,
                         const int *groups, int count);
void resolve_close(struct resolver *resolver);

/* Who asks. */
struct resolve_self {
    const struct image *image;
    int module;
    /* address of the program's struct resolve_getopt, as the asking module sees it */
    uint64_t getopt;
};

/* Symbol `index` as seen by a module. With `foreign`, the module's own definition is passed over
 * (for a copy of another object's variable). A weak symbol that nobody defines is the constant 0.
 */
struct resolved resolve_symbol(const struct resolver *resolver, const struct resolve_self *self,
                               size_t index, bool foreign);

/* The module that defines symbol `index`, and the definition; -1 if it is none of them. */
int resolve_definition(const struct resolver *resolver, const struct resolve_self *self,
                       size_t index, bool foreign, const Elf64_Sym **definition);

/* Is this one of getopt's variables, and where in struct resolve_getopt; -1 if not. */
int resolve_getopt_field(const char *name);

/* Does `needed` name the MPI library that the launcher stands in for? */
bool resolve_is_mpi(const char *needed);

/* Or MPI's interface for Fortran, which stands between the program and the launcher? */
bool resolve_is_fortran(const char *needed);

/* What a process has once: the C library, threads, OpenMP, the unwinder, sanitizers, allocators. */
bool resolve_is_system(const char *needed);

/* The functions the loader puts in place of libc's; each defined by the object that knows what to
 * do. */
void *tls_get_address(const size_t index[2]);
uintptr_t tls_descriptor_address(uintptr_t address); /* the rarer half of a descriptor's function */
int catch_libc_start_main(int (*main_function)(int, char **, char **), int argc, char **argv,
                          void (*init)(void), void (*fini)(void), void (*runtime_fini)(void),
                          void *stack_end);

void *plugin_dlopen(const char *name, int mode);
void *plugin_dlsym(void *handle, const char *name);
int plugin_dlclose(void *handle);
char *plugin_dlerror(void);
int plugin_dladdr(const void *address, Dl_info *info);

#endif
