/* Waiting: a rank that waits for time lets the others go on, and no time passes. See hooks.h.
 *
 * Only the program's own calls on its rank's own stack yield. A library's wait, or that of a thread
 * the rank started, is left alone: there nobody else could go on. */
#include "sim/libc/common.h"

#include <sched.h>
#include <time.h>
#include <unistd.h>

static bool yielded(const void *caller)
{
    if (!libc_rank_program(caller))
        return false;
    libc_hooks->yield();
    return true;
}

unsigned sleep(unsigned seconds)
{
    LIBC_REAL(sleep);
    return yielded(LIBC_CALLER) ? 0 : real(seconds);
}

int usleep(useconds_t microseconds)
{
    LIBC_REAL(usleep);
    return yielded(LIBC_CALLER) ? 0 : real(microseconds);
}

static bool time_valid(const struct timespec *time)
{
    return time->tv_nsec >= 0 && time->tv_nsec < 1000000000 && time->tv_sec >= 0;
}

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    LIBC_REAL(nanosleep);
    if (!time_valid(wanted) || !yielded(LIBC_CALLER))
        return real(wanted, left);
    if (left)
        *left = (struct timespec){0};
    return 0;
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *wanted,
                    struct timespec *left)
{
    LIBC_REAL(clock_nanosleep);
    if (!time_valid(wanted) || !yielded(LIBC_CALLER))
        return real(clock, flags, wanted, left);
    if (left && !(flags & TIMER_ABSTIME))
        *left = (struct timespec){0};
    return 0;
}

int sched_yield(void)
{
    LIBC_REAL(sched_yield);
    return yielded(LIBC_CALLER) ? 0 : real();
}
