/* The memory checks of calls that the recorder sees (recorder/memory.h).
 *
 * Room: sees sim/datatypes, sim/debug, sim/libc, sim/worlds; recorder, traces. Seen by sim,
 * sim/collectives, sim/interface, sim/messages, sim/windows. */
#ifndef SIM_MEMORY_MEMORY_H
#define SIM_MEMORY_MEMORY_H

/* From now on it tells of them. May be said again. */
void sim_memory_watch_recorder(void);

#endif
