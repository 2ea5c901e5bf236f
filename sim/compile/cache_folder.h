/* The folder of compiled programs: $SIMRUN_CACHE, else $XDG_CACHE_HOME/simrun where that is
 * absolute, else
 * ~/.cache/simrun.
 *
 * Where neither of the last two is set or can be written, as for a user without a home, it is
 * simrun-cache-UID in $TMPDIR, else /tmp. What lies there is loaded and run: so that folder must be
 * this user's and closed to the writing of others. */
#ifndef SIM_COMPILE_CACHE_FOLDER_H
#define SIM_COMPILE_CACHE_FOLDER_H

#include "traces/base/failure.h"

#include <limits.h>
#include <stdbool.h>

struct cache_folder {
    char path[PATH_MAX];
    bool is_temporary;
};

/* The folder to be used; nothing is made. FAILURE_INTERNAL: its path is too long, or others could
 * put programs into it; the path is reported even then. */
int cache_folder_find(struct cache_folder *folder, struct failure *failure);
/* Can it be written, or the nearest folder above it that is there? */
bool cache_folder_writable(const struct cache_folder *folder);
/* Makes it, and the folders above. FAILURE_INTERNAL, with the remedy, when it cannot be written. */
int cache_folder_make(const struct cache_folder *folder, struct failure *failure);
/* The same sentence, with the reason from errno. */
int cache_folder_refuse(const struct cache_folder *folder, struct failure *failure);

#endif
