/* Waits that end with EINTR: whose signal was it?
 *
 * The launcher asks its child now and then where it is (child_signals.c), with a signal that the
 * program knows nothing of. A call that no handler of the program has interrupted goes on. (Where
 * ranks are OS threads, one may be woken for a signal that another takes: that is none either.) */
#ifndef SIM_LIBC_INTERRUPTED_H
#define SIM_LIBC_INTERRUPTED_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* What the calling thread had handled when its wait began, and when that is over. */
struct libc_wait {
    uint64_t handled;
    bool ends;
    struct timespec end; /* on the monotonic clock */
};

/* `most` NULL: for ever. */
struct libc_wait libc_wait_begin(const struct timespec *most);
/* After a call that failed, with errno of it: no handler of the program ran, and the wait goes on. */
bool libc_wait_goes_on(const struct libc_wait *wait);
/* What is left of it, at most `slice` (NULL: no bound). NULL: for ever. */
const struct timespec *libc_wait_left(const struct libc_wait *wait, const struct timespec *slice,
                                      struct timespec *left);
/* Its time has passed. */
bool libc_wait_over(const struct libc_wait *wait);

#endif
