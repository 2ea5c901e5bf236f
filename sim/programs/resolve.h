/* Where a program's undefined symbols come from.
 *
 * Order: the program itself (so that a program may use any name the launcher also has), a few names
 * the loader must own (thread-locals, the start of a program, getopt's variables), the launcher and
 * its libraries, the libraries the program names. The MPI library it was linked against is the
 * launcher. */
#ifndef SIM_PROGRAMS_RESOLVE_H
#define SIM_PROGRAMS_RESOLVE_H

#include "sim/programs/image.h"

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

struct resolver {
    void **libraries;
    size_t library_count;
    void *clang_openmp; /* the one with clang's OpenMP runtime, NULL if none */
};

/* Loads the libraries the program names. On failure nothing is held and the sentence names the
 * library. */
int resolve_open(struct resolver *resolver, const struct image *image, struct failure *failure);
void resolve_close(struct resolver *resolver);

/* Symbol `index` as seen by the program, `getopt` being the address of its struct resolve_getopt.
 * With `foreign`, the program's own definition is passed over (for a copy of another object's
 * variable). A weak symbol that nobody defines is the constant 0. */
struct resolved resolve_symbol(const struct resolver *resolver, const struct image *image,
                               size_t index, uint64_t getopt, bool foreign);

/* Is this one of getopt's variables, and where in struct resolve_getopt; -1 if not. */
int resolve_getopt_field(const char *name);

/* Does `needed` name the MPI library that the launcher stands in for? */
bool resolve_is_mpi(const char *needed);

/* The functions the loader puts in place of libc's; each defined by the object that knows what to
 * do. */
void *tls_get_address(const size_t index[2]);
uintptr_t tls_descriptor_address(uintptr_t address); /* the rarer half of a descriptor's function */
int catch_libc_start_main(int (*main_function)(int, char **, char **), int argc, char **argv,
                          void (*init)(void), void (*fini)(void), void (*runtime_fini)(void),
                          void *stack_end);

#endif
