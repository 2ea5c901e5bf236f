/* Programs and libraries that were built for another MPI: its name is in what they need. */
#ifndef SIM_ELF_FOREIGN_H
#define SIM_ELF_FOREIGN_H

#include "sim/elf/image.h"

/* "Open MPI 4" if `needed` is the C library of that MPI for `image`, NULL if it is no MPI's. */
const char *foreign_mpi(const struct image *image, const char *needed);

/* Refuses it in one sentence with the remedy. */
int foreign_refuse(const struct image *image, const struct image *program, const char *needed,
                   struct failure *failure);

#endif
