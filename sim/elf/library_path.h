/* Where the dynamic linker would find a library: run paths of who needs it, LD_LIBRARY_PATH, the
 * linker's cache, the usual folders. Nothing is loaded. */
#ifndef SIM_ELF_LIBRARY_PATH_H
#define SIM_ELF_LIBRARY_PATH_H

#include "sim/elf/image.h"

#include <limits.h>

/* The linker's cache, read when it is first asked; all zero before. One thread at a time. */
struct library_cache {
    char *bytes; /* and a zero behind them */
    size_t size;
    bool was_read;
};
void library_cache_release(struct library_cache *cache);

/* Fills `out` with the path of the library that `image` names `needed`; `program` is who is run
 * (its RPATH counts for all). False if there is none. */
bool library_path_find(const struct image *image, const struct image *program, const char *needed,
                       struct library_cache *cache, char out[PATH_MAX]);

#endif
