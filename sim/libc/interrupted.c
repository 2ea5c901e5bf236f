/* Waits that no handler of the program has interrupted go on: see interrupted.h. Those for files
 * are poll.c's, sleeping is time.c's. */
#include "sim/libc/interrupted.h"

#include "sim/libc/common.h"
#include "sim/libc/signal.h"

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <unistd.h>

enum { SECOND_NS = 1000000000 };

static _Thread_local volatile uint64_t handled;

void libc_handler_called(void)
{
    handled = handled + 1;
}

struct libc_wait libc_wait_begin(const struct timespec *most)
{
    struct libc_wait wait = {.handled = handled, .ends = most != NULL};
    if (!most)
        return wait;
    clock_gettime(CLOCK_MONOTONIC, &wait.end);
    wait.ends = !__builtin_add_overflow(wait.end.tv_sec, most->tv_sec, &wait.end.tv_sec);
    wait.end.tv_nsec += most->tv_nsec;
    if (wait.end.tv_nsec >= SECOND_NS) {
        wait.end.tv_nsec -= SECOND_NS;
        wait.ends &= !__builtin_add_overflow(wait.end.tv_sec, 1, &wait.end.tv_sec);
    }
    return wait;
}

bool libc_wait_goes_on(const struct libc_wait *wait)
{
    return errno == EINTR && handled == wait->handled;
}

static struct timespec until(const struct timespec *end)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    struct timespec left = {end->tv_sec - now.tv_sec, end->tv_nsec - now.tv_nsec};
    if (left.tv_nsec < 0) {
        left.tv_nsec += SECOND_NS;
        left.tv_sec--;
    }
    return left.tv_sec < 0 ? (struct timespec){0} : left;
}

const struct timespec *libc_wait_left(const struct libc_wait *wait, const struct timespec *slice,
                                      struct timespec *left)
{
    if (!wait->ends)
        return slice;
    *left = until(&wait->end);
    bool longer = slice && (left->tv_sec > slice->tv_sec ||
                            (left->tv_sec == slice->tv_sec && left->tv_nsec > slice->tv_nsec));
    return longer ? slice : left;
}

bool libc_wait_over(const struct libc_wait *wait)
{
    struct timespec left = {.tv_sec = 1};
    if (wait->ends)
        left = until(&wait->end);
    return !left.tv_sec && !left.tv_nsec;
}

/* CALL, whose result is negative where it failed, again as long as no handler of the program ran. */
#define GO_ON(type, call)                                                                          \
    struct libc_wait wait = libc_wait_begin(NULL);                                                 \
    type result;                                                                                   \
    do                                                                                             \
        result = call;                                                                             \
    while (result < 0 && libc_wait_goes_on(&wait));                                                \
    return result

int pause(void)
{
    LIBC_REAL(pause);
    GO_ON(int, real());
}

int sigsuspend(const sigset_t *mask)
{
    LIBC_REAL(sigsuspend);
    GO_ON(int, real(mask));
}

int sigwaitinfo(const sigset_t *restrict set, siginfo_t *restrict info)
{
    LIBC_REAL(sigwaitinfo);
    GO_ON(int, real(set, info));
}

int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict end)
{
    LIBC_REAL(sem_timedwait);
    GO_ON(int, real(semaphore, end));
}

int semop(int set, struct sembuf *operations, size_t count)
{
    LIBC_REAL(semop);
    GO_ON(int, real(set, operations, count));
}

int msgsnd(int queue, const void *message, size_t bytes, int flags)
{
    LIBC_REAL(msgsnd);
    GO_ON(int, real(queue, message, bytes, flags));
}

ssize_t msgrcv(int queue, void *message, size_t bytes, long type, int flags)
{
    LIBC_REAL(msgrcv);
    GO_ON(ssize_t, real(queue, message, bytes, type, flags));
}

int sigtimedwait(const sigset_t *restrict set, siginfo_t *restrict info,
                 const struct timespec *restrict most)
{
    LIBC_REAL(sigtimedwait);
    struct libc_wait wait = libc_wait_begin(most);
    struct timespec left;
    int result = real(set, info, most);
    while (result < 0 && libc_wait_goes_on(&wait))
        result = real(set, info, libc_wait_left(&wait, NULL, &left));
    return result;
}

int semtimedop(int set, struct sembuf *operations, size_t count, const struct timespec *most)
{
    LIBC_REAL(semtimedop);
    struct libc_wait wait = libc_wait_begin(most);
    struct timespec left;
    int result = real(set, operations, count, most);
    while (result < 0 && libc_wait_goes_on(&wait))
        result = real(set, operations, count, libc_wait_left(&wait, NULL, &left));
    return result;
}
