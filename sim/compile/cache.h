/* What the folder of compiled programs (cache_folder.h) keeps, held to a size.
 *
 * Rules:
 *  1. Only files whose names this cache gives are looked at; whatever else lies there stays.
 *  2. What was used within the last hour stays, however much it is: another job may be about to
 *     load it. Times are compared with that of the file just added, so both are the file system's.
 *  3. Losing an entry costs a compilation, never a wrong object: a list without its object, or an
 *     object without its list, is no hit.
 *  4. An object is sealed with a hash of its content before it gets its name. One that a program
 *     under test has written into, which it can find in its own /proc, is no hit either. */
#ifndef SIM_COMPILE_CACHE_H
#define SIM_COMPILE_CACHE_H

#include <stdbool.h>

/* Adds the seal behind the end of a file, where loaders and linkers do not look. */
bool sim_cache_seal(const char *path);
/* Whether the file has a seal, and is as it was then. */
bool sim_cache_is_whole(const char *path);

/* An entry was used: it is the youngest now. A folder that cannot be written is no failure. */
void sim_cache_touch(const char *path);

/* After `added`, a path in `folder`, was written: removes what was not used for longest while all
 * entries together are larger than $SIMRUN_CACHE_SIZE MiB (256 without it, 0: no bound). */
void sim_cache_prune(const char *folder, const char *added);

#endif
