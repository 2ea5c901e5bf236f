/* A watch over the process: does every thread of it sleep for good?
 *
 * A thread sleeps for good where it waits in the kernel for another thread (a futex, with no limit of
 * time). When all do, except the watch itself, none of them will ever go on, whatever runtime or
 * library they wait in. Asked of the kernel, in /proc: where that does not tell, nobody is told
 * anything. A thread that waits for its time, for a file or for a process is none of these, nor is one
 * that waits by looking again and again. */
#ifndef SIM_BASE_ASLEEP_H
#define SIM_BASE_ASLEEP_H

#include <stdbool.h>
#include <stdint.h>

struct asleep_watch;

/* `moves` counts whatever is done: the process is looked at only while that stands still. `all` is
 * called each time all sleep, by the watch's own thread. NULL: there can be no watch. */
struct asleep_watch *asleep_watch_begin(uint64_t (*moves)(void *), void (*all)(void *),
                                        void *context);
/* NULL is allowed. */
void asleep_watch_end(struct asleep_watch *watch);

#endif
