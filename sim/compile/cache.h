/* What the folder of compiled programs (cache_folder.h) keeps, held to a size.
 *
 * Rules:
 *  1. Only files whose names this cache gives are looked at; whatever else lies there stays.
 *  2. What was used within the last hour stays, however much it is: another job may be about to
 *     load it. Times are compared with that of the file just added, so both are the file system's.
 *  3. Losing an entry costs a compilation, never a wrong object: a list without its object, or an
 *     object without its list, is no hit. */
#ifndef SIM_COMPILE_CACHE_H
#define SIM_COMPILE_CACHE_H

/* An entry was used: it is the youngest now. A folder that cannot be written is no failure. */
void sim_cache_touch(const char *path);

/* After `added`, a path in `folder`, was written: removes what was not used for longest while all
 * entries together are larger than $SIMRUN_CACHE_SIZE MiB (256 without it, 0: no bound). */
void sim_cache_prune(const char *folder, const char *added);

#endif
