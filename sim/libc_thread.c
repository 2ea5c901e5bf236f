/* Threads that a rank starts belong to that rank: see libc_hooks.h.
 *
 * Such a thread has thread-locals of its own in the rank's image (sim/clone.h), and the machine is
 * told which rank it speaks for. This includes the threads of an OpenMP team. */
#include "sim/libc_common.h"

#include "sim/clone.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define THREADS_LEFT_TO_SANITIZER 1
#endif
#endif

static _Thread_local bool counted;

bool sim_libc_thread_is_counted(void)
{
    return counted;
}

#ifndef THREADS_LEFT_TO_SANITIZER

static void count(struct sim_libc_state *parent, int change)
{
    if (parent && libc_hooks->threads_changed)
        libc_hooks->threads_changed(parent, change);
}

struct birth {
    struct sim_libc_state *parent; /* NULL: of a team */
    void *(*body)(void *);
    void *argument;
};

static void thread_end(void *parent)
{
    if (parent) {
        count(parent, -1);
        libc_hooks->thread_end(parent);
    }
    clone_thread_end();
}

/* The end comes by return, pthread_exit or cancellation. */
static void *thread_body(void *argument)
{
    struct birth birth = *(struct birth *)argument;
    void *result;
    free(argument);
    clone_thread_begin();
    if (birth.parent) {
        counted = true;
        libc_hooks->thread_begin(birth.parent);
        libc_thread_enter(birth.parent);
    }
    pthread_cleanup_push(thread_end, birth.parent);
    result = birth.body(birth.argument);
    pthread_cleanup_pop(1);
    return result;
}

/* Does an OpenMP library ask, gcc's or clang's? */
static bool is_team(const void *caller)
{
    Dl_info info;
    return dladdr(caller, &info) && info.dli_fname &&
           (strstr(info.dli_fname, "libgomp") || strstr(info.dli_fname, "libomp"));
}

int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes,
                   void *(*body)(void *), void *restrict argument)
{
    LIBC_REAL(pthread_create);
    struct sim_libc_state *parent = libc_rank(LIBC_CALLER);
    struct birth *birth = parent ? malloc(sizeof *birth) : NULL;
    if (!birth)
        return parent ? EAGAIN : real(thread, attributes, body, argument);
    *birth = (struct birth){is_team(LIBC_CALLER) ? NULL : parent, body, argument};
    parent = birth->parent;
    count(parent, 1);
    int status = real(thread, attributes, thread_body, birth);
    if (status) {
        count(parent, -1);
        free(birth);
    }
    return status;
}

#endif
typedef int libc_thread_not_empty;
