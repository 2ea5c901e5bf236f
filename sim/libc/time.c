/* Waiting: a rank that waits for time lets the others go on, and no time passes. One that asks what
 * time it is, and polls, may wait for time, too: that is noted. See hooks.h.
 *
 * Only the program's own calls on its rank's own stack yield. A library's wait, or that of a thread
 * the rank started, is left alone: there nobody else could go on. */
#include "sim/libc/common.h"
#include "sim/libc/interrupted.h"

#include <errno.h>
#include <sched.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

static bool yielded(const void *caller)
{
    if (!libc_rank_program(caller))
        return false;
    libc_hooks->yield();
    return true;
}

static void clock_read(const void *caller)
{
    struct sim_libc_state *rank = libc_rank(caller);
    if (rank)
        rank->reads_clock = true;
}

#define CLOCK(result, name, parameters, ...)                                                       \
    result name parameters                                                                         \
    {                                                                                              \
        LIBC_REAL(name);                                                                           \
        clock_read(LIBC_CALLER);                                                                   \
        return real(__VA_ARGS__);                                                                  \
    }

CLOCK(time_t, time, (time_t * now), now)
CLOCK(int, gettimeofday, (struct timeval *restrict now, void *restrict zone), now, zone)
CLOCK(int, clock_gettime, (clockid_t clock, struct timespec *now), clock, now)
CLOCK(clock_t, times, (struct tms * now), now)
CLOCK(int, timespec_get, (struct timespec * now, int base), now, base)

clock_t clock(void)
{
    LIBC_REAL(clock);
    clock_read(LIBC_CALLER);
    return real();
}

/* The real one, of which the launcher's questions cut nothing off. */
static int asleep(const struct timespec *wanted, struct timespec *left)
{
    LIBC_REAL(nanosleep);
    struct libc_wait wait = libc_wait_begin(wanted);
    struct timespec rest;
    int result = real(wanted, left);
    while (result < 0 && libc_wait_goes_on(&wait))
        result = real(libc_wait_left(&wait, NULL, &rest), left);
    return result;
}

unsigned sleep(unsigned seconds)
{
    struct timespec wanted = {.tv_sec = seconds}, left;
    if (yielded(LIBC_CALLER) || !asleep(&wanted, &left))
        return 0;
    return (unsigned)left.tv_sec;
}

int usleep(useconds_t microseconds)
{
    struct timespec wanted = {microseconds / 1000000, (long)(microseconds % 1000000) * 1000};
    return yielded(LIBC_CALLER) ? 0 : asleep(&wanted, NULL);
}

static bool time_valid(const struct timespec *time)
{
    return time->tv_nsec >= 0 && time->tv_nsec < 1000000000 && time->tv_sec >= 0;
}

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    LIBC_REAL(nanosleep);
    if (!time_valid(wanted))
        return real(wanted, left);
    if (!yielded(LIBC_CALLER))
        return asleep(wanted, left);
    if (left)
        *left = (struct timespec){0};
    return 0;
}

static int asleep_by(clockid_t clock, int flags, const struct timespec *wanted,
                     struct timespec *left)
{
    LIBC_REAL(clock_nanosleep);
    struct libc_wait wait = libc_wait_begin(NULL);
    struct timespec next = *wanted, rest = {0};
    int before = errno, error;
    while ((errno = error = real(clock, flags, &next, &rest)) && libc_wait_goes_on(&wait))
        if (!(flags & TIMER_ABSTIME))
            next = rest;
    errno = before;
    if (error == EINTR && left && !(flags & TIMER_ABSTIME))
        *left = rest;
    return error;
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *wanted,
                    struct timespec *left)
{
    LIBC_REAL(clock_nanosleep);
    if (!time_valid(wanted))
        return real(clock, flags, wanted, left);
    if (!yielded(LIBC_CALLER))
        return asleep_by(clock, flags, wanted, left);
    if (left && !(flags & TIMER_ABSTIME))
        *left = (struct timespec){0};
    return 0;
}

int sched_yield(void)
{
    LIBC_REAL(sched_yield);
    return yielded(LIBC_CALLER) ? 0 : real();
}
