/* Programs and libraries that were built for another MPI: its name is in what they need. */
#ifndef SIM_ELF_FOREIGN_H
#define SIM_ELF_FOREIGN_H

#include "sim/elf/image.h"

#include <limits.h>

/* "Open MPI 4" if `needed` is the C library of that MPI for `image`, NULL if it is no MPI's. */
const char *foreign_mpi(const struct image *image, const char *needed);

/* The library of ours that stands in for it, NULL if there is none; and where that is. */
const char *foreign_shim(const struct image *image, const char *needed);
bool foreign_shim_find(const char *shim, char out[PATH_MAX]);

/* The library whose functions come before those of `needed`, which would only pass calls on to it: so they are blamed on the program's lines.
 * NULL if there is none. */
const char *foreign_before(const char *needed);

/* Is it that MPI's library for another language, which calls the C library and nothing else? It is used as it is, and what it calls is blamed
 * on the lines that call it. */
bool foreign_above(const char *needed);

/* Does it call MPI, whoever's that is? */
bool foreign_calls_mpi(const struct image *image);

/* Refuses it in one sentence with the remedy. */
int foreign_refuse(const struct image *image, const struct image *program, const char *needed,
                   struct failure *failure);

#endif
