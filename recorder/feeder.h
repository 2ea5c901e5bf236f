/* A thread that touches recording memory shortly before ranks need it, so that they do not wait for
 * the kernel to find and clear pages: on virtual machines that costs several times what writing a
 * record does.
 *
 * The same thread lets the oldest records go when there are too many: see drops.h.
 *
 * Belongs to the process that made the recording; a forked child profits because the memory is
 * shared. Without it everything works, only slower. */
#ifndef RECORDER_FEEDER_H
#define RECORDER_FEEDER_H

#include "recorder/buffers.h"
#include "recorder/drops.h"

#include <pthread.h>
#include <sys/types.h>

struct feeder {
    struct buffers *buffers;
    struct drops *drops; /* what it drops where memory is short; NULL: nothing */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t stopped;
    bool stop;
    pid_t owner; /* 0: not running */
};

void feeder_start(struct feeder *feeder, struct buffers *buffers, struct drops *drops);
void feeder_stop(
    struct feeder *feeder); /* does nothing in another process than the one that started it */

#endif
