/* A thread that touches recording memory shortly before ranks need it: see feeder.h. */
#include "recorder/feeder.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

/* Units kept ahead: at first, and once ranks are seen to write much. Ten million records a second
 * fill 32 MiB in 25 ms. */
enum { AHEAD_FIRST = 256, AHEAD = 8192, PAUSE_MIN_US = 500, PAUSE_MAX_US = 16000 };

/* True when asked to stop; waits that long otherwise. */
static bool pause_for(struct feeder *feeder, long microseconds)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += microseconds * 1000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&feeder->lock);
    if (!feeder->stop)
        pthread_cond_timedwait(&feeder->stopped, &feeder->lock, &until);
    bool stop = feeder->stop;
    pthread_mutex_unlock(&feeder->lock);
    return stop;
}

/* Keeps memory ready; false: no more of it can be. */
static bool prepare(const struct feeder *feeder, uint64_t taken)
{
    const struct buffers_header *header = feeder->buffers->header;
    uint64_t ahead = taken > BUFFERS_BLOCK ? AHEAD : AHEAD_FIRST;
    while (atomic_load(&header->prepared) < taken + ahead)
        if (!buffers_prepare(feeder->buffers))
            return false;
    return true;
}

static void *feed(void *context)
{
    struct feeder *feeder = context;
    struct buffers_header *header = feeder->buffers->header;
    uint64_t seen = buffers_first_unit();
    long pause = PAUSE_MIN_US;
    bool prepares = true;
    do {
        uint64_t taken = atomic_load(&header->next_unit);
        if (taken - seen > BUFFERS_JUMP)
            break; /* no rank writes a gigabyte in a pause: the number is not a recorder's */
        pause = taken == seen ? pause * 2 : PAUSE_MIN_US;
        if (pause > PAUSE_MAX_US)
            pause = PAUSE_MAX_US;
        seen = taken;
        prepares = prepares && prepare(feeder, taken);
        if (feeder->drops && drops_relieve(feeder->drops))
            pause = PAUSE_MIN_US;
    } while (!pause_for(feeder, pause) && (prepares || feeder->drops));
    atomic_store(&header->relieved, 0);
    return NULL;
}

void feeder_start(struct feeder *feeder, struct buffers *buffers, struct drops *drops)
{
    *feeder = (struct feeder){.buffers = buffers, .drops = drops};
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&feeder->lock, NULL);
    pthread_cond_init(&feeder->stopped, &attributes);
    pthread_condattr_destroy(&attributes);
    sigset_t all, old; /* signals are for the program's own threads */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    if (pthread_create(&feeder->thread, NULL, feed, feeder) == 0)
        feeder->owner = getpid();
    else
        atomic_store(&buffers->header->relieved, 0);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void feeder_stop(struct feeder *feeder)
{
    if (feeder->owner != getpid())
        return;
    pthread_mutex_lock(&feeder->lock);
    feeder->stop = true;
    pthread_cond_signal(&feeder->stopped);
    pthread_mutex_unlock(&feeder->lock);
    pthread_join(feeder->thread, NULL);
    pthread_cond_destroy(&feeder->stopped);
    pthread_mutex_destroy(&feeder->lock);
    feeder->owner = 0;
}
