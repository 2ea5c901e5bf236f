/* Where the dynamic linker would find a library: run paths of who needs it, LD_LIBRARY_PATH, the
 * linker's cache, the usual folders. Nothing is loaded. */
#ifndef SIM_ELF_LIBRARY_PATH_H
#define SIM_ELF_LIBRARY_PATH_H

#include "sim/elf/image.h"

#include <limits.h>

/* Fills `out` with the path of the library that `image` names `needed`; `program` is who is run
 * (its RPATH counts for all). False if there is none. */
bool library_path_find(const struct image *image, const struct image *program, const char *needed,
                       char out[PATH_MAX]);

#endif
