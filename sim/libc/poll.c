/* Waiting for files: a rank that does lets the others go on, which may be those who write them.
 *
 * Where ranks share a thread, a wait of one would hold them all: it is cut into slices, and others
 * run between them. A wait for no file at all is a sleep, and no time passes (hooks.h). */
#include "sim/libc/common.h"
#include "sim/libc/interrupted.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>

enum { MILLISECOND_NS = 1000000, SLICE_NS = 5 * MILLISECOND_NS };

/* One call of one of the functions below, to be made again. */
struct call {
    int (*make)(struct call *call, const struct timespec *most);
    bool files; /* it names some */
    void *what;
    size_t count;
    fd_set *sets[3], kept[3];
    const sigset_t *mask;
    int queue;
};

/* At least so many milliseconds; -1: for ever. */
static int milliseconds(const struct timespec *time)
{
    if (!time)
        return -1;
    if (time->tv_sec >= 2000000)
        return 2000000000;
    return (int)(time->tv_sec * 1000 + (time->tv_nsec + MILLISECOND_NS - 1) / MILLISECOND_NS);
}

static struct timespec *time_of(int wanted, struct timespec *time)
{
    *time = (struct timespec){wanted / 1000, (long)(wanted % 1000) * MILLISECOND_NS};
    return wanted < 0 ? NULL : time;
}

static int wait_for(struct call *call, const struct timespec *most, const void *caller)
{
    static const struct timespec none = {0}, slice = {.tv_nsec = SLICE_NS};
    bool own = libc_rank_program(caller);
    if (!own || (most && !most->tv_sec && !most->tv_nsec)) {
        struct libc_wait wait = libc_wait_begin(most);
        struct timespec left;
        int result = call->make(call, most);
        while (result < 0 && libc_wait_goes_on(&wait))
            result = call->make(call, libc_wait_left(&wait, NULL, &left));
        if (own && !result)
            libc_hooks->yield();
        return result;
    }
    struct libc_wait wait = libc_wait_begin(most);
    struct timespec left;
    int result = call->make(call, &none);
    while (!result || (result < 0 && libc_wait_goes_on(&wait))) {
        if (!result) {
            if (libc_wait_over(&wait))
                return 0;
            libc_hooks->yield();
            if (most && !call->files) /* a sleep */
                return 0;
        }
        result = call->make(call, libc_wait_left(&wait, &slice, &left));
    }
    return result;
}

static int make_poll(struct call *call, const struct timespec *most)
{
    LIBC_REAL(ppoll);
    return real(call->what, call->count, most, call->mask);
}

int poll(struct pollfd *files, nfds_t count, int most)
{
    struct timespec time;
    struct call call = {.make = make_poll, .files = count, .what = files, .count = count};
    return wait_for(&call, time_of(most, &time), LIBC_CALLER);
}

int ppoll(struct pollfd *files, nfds_t count, const struct timespec *most, const sigset_t *mask)
{
    struct call call = {
        .make = make_poll, .files = count, .what = files, .count = count, .mask = mask};
    return wait_for(&call, most, LIBC_CALLER);
}

/* What programs built with _FORTIFY_SOURCE call. */
int __poll_chk(struct pollfd *files, nfds_t count, int most, size_t bytes)
{
    struct timespec time;
    struct call call = {.make = make_poll, .files = count, .what = files, .count = count};
    if (bytes / sizeof *files < count)
        abort();
    return wait_for(&call, time_of(most, &time), LIBC_CALLER);
}

int __ppoll_chk(struct pollfd *files, nfds_t count, const struct timespec *most,
                const sigset_t *mask, size_t bytes)
{
    struct call call = {
        .make = make_poll, .files = count, .what = files, .count = count, .mask = mask};
    if (bytes / sizeof *files < count)
        abort();
    return wait_for(&call, most, LIBC_CALLER);
}

/* What a set of so many files takes. */
static size_t bytes_of(size_t count)
{
    size_t bits = 8 * sizeof(long);
    return (count + bits - 1) / bits * sizeof(long);
}

/* Files that are not ready are taken out of the sets, which the next slice needs again. */
static int make_select(struct call *call, const struct timespec *most)
{
    LIBC_REAL(pselect);
    for (int i = 0; i < 3; i++)
        if (call->sets[i])
            memcpy(call->sets[i], &call->kept[i], bytes_of(call->count));
    return real((int)call->count, call->sets[0], call->sets[1], call->sets[2], most, call->mask);
}

static int select_for(int count, fd_set *sets[3], const struct timespec *most, const sigset_t *mask,
                      const void *caller)
{
    struct call call = {.make = make_select, .files = count, .count = (size_t)count, .mask = mask};
    LIBC_REAL(pselect);
    if (count < 0 || bytes_of(call.count) > sizeof(fd_set)) /* larger sets than libc's */
        return real(count, sets[0], sets[1], sets[2], most, mask);
    for (size_t i = 0; i < 3; i++) {
        call.sets[i] = sets[i];
        if (sets[i])
            memcpy(&call.kept[i], sets[i], bytes_of(call.count));
    }
    return wait_for(&call, most, caller);
}

int pselect(int count, fd_set *readers, fd_set *writers, fd_set *others,
            const struct timespec *most, const sigset_t *mask)
{
    return select_for(count, (fd_set *[]){readers, writers, others}, most, mask, LIBC_CALLER);
}

/* Linux says in `most` what is left of it. */
int select(int count, fd_set *readers, fd_set *writers, fd_set *others, struct timeval *most)
{
    struct timespec wanted, left;
    if (most && (most->tv_sec < 0 || most->tv_usec < 0)) {
        errno = EINVAL;
        return -1;
    }
    if (most)
        wanted = (struct timespec){most->tv_sec + most->tv_usec / 1000000,
                                   most->tv_usec % 1000000 * 1000};
    struct libc_wait wait = libc_wait_begin(most ? &wanted : NULL);
    int result = select_for(count, (fd_set *[]){readers, writers, others}, most ? &wanted : NULL,
                            NULL, LIBC_CALLER);
    if (most && !result)
        *most = (struct timeval){0};
    else if (most && libc_wait_left(&wait, NULL, &left))
        *most = (struct timeval){left.tv_sec, left.tv_nsec / 1000};
    return result;
}

static int make_epoll(struct call *call, const struct timespec *most)
{
    LIBC_REAL(epoll_pwait);
    return real(call->queue, call->what, (int)call->count, milliseconds(most), call->mask);
}

int epoll_pwait(int queue, struct epoll_event *events, int count, int most, const sigset_t *mask)
{
    struct timespec time;
    struct call call = {.make = make_epoll,
                        .files = true,
                        .what = events,
                        .count = (size_t)count,
                        .mask = mask,
                        .queue = queue};
    return wait_for(&call, time_of(most, &time), LIBC_CALLER);
}

int epoll_wait(int queue, struct epoll_event *events, int count, int most)
{
    struct timespec time;
    struct call call = {
        .make = make_epoll, .files = true, .what = events, .count = (size_t)count, .queue = queue};
    return wait_for(&call, time_of(most, &time), LIBC_CALLER);
}
