/* The memory checks of calls that the recorder sees (recorder/memory.h). */
#ifndef SIM_MEMORY_MEMORY_H
#define SIM_MEMORY_MEMORY_H

/* From now on it tells of them. May be said again. */
void sim_memory_watch_recorder(void);

#endif
