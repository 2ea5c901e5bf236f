/* The memory checks of calls that the recorder sees (recorder/memory.h).
 *
 * Room: sees sim/datatypes, sim/debug, sim/libc, sim/worlds; recorder, traces. Seen by sim,
 * sim/collectives, sim/interface, sim/messages, sim/windows. */
#ifndef SIM_MEMORY_MEMORY_H
#define SIM_MEMORY_MEMORY_H

#include <stdbool.h>

/* From now on it tells of them. May be said again. */
void sim_memory_watch_recorder(void);

/* The calling rank's program gives up memory at `site`, which what is under way must not lose. False: it does, which
 * was reported; it is never given back, or what is written there later would be in memory of somebody else. */
bool sim_memory_release(void *memory, const void *site);
/* The same, and frees it, at once or later (sim_objects_hold). */
void sim_memory_free(void *memory, const void *site);

#endif
