/* Threads that a rank starts belong to that rank: see hooks.h.
 *
 * Such a thread has thread-locals of its own in the rank's image (sim/libc/images.h), and the
 * machine is told which rank it speaks for. This includes the threads of an OpenMP team. */
#include "sim/libc/common.h"

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

/* A thread on its way, and while it lives. */
struct birth {
    struct sim_libc_state *parent; /* NULL: of a team */
    void *(*body)(void *);
    void *argument;
    pthread_t thread;
    bool joined; /* somebody of its rank waits for its end */
    struct birth *next;
};

/* The threads of ranks, but those of teams. */
static pthread_mutex_t living_lock = PTHREAD_MUTEX_INITIALIZER;
static struct birth *living;

/* Whether somebody joins it. */
static bool strike_out(struct birth *birth)
{
    pthread_mutex_lock(&living_lock);
    struct birth **at = &living;
    while (*at != birth)
        at = &(*at)->next;
    *at = birth->next;
    bool joined = birth->joined;
    pthread_mutex_unlock(&living_lock);
    return joined;
}

static void report_threads(struct sim_libc_state *parent, int change)
{
    if (parent && libc_hooks->threads_changed)
        libc_hooks->threads_changed(parent, change);
}

static void report_joining(struct sim_libc_state *parent, int change)
{
    if (libc_hooks->joining_changed)
        libc_hooks->joining_changed(parent, change);
}

static void thread_end(void *argument)
{
    struct birth *birth = argument;
    if (birth->parent) {
        if (strike_out(birth))
            report_joining(birth->parent, -1);
        report_threads(birth->parent, -1);
        libc_hooks->thread_end(birth->parent);
    }
    free(birth);
    libc_thread_end();
}

static SIM_INTO_PROGRAM void *body_call(const struct birth *birth)
{
    void *result = birth->body(birth->argument);
    SIM_INTO_PROGRAM_END;
    return result;
}

/* The end comes by return, pthread_exit or cancellation. */
static void *thread_body(void *argument)
{
    struct birth *birth = argument;
    void *result;
    libc_thread_started = 1;
    if (birth->parent) {
        counted = true;
        libc_hooks->thread_begin(birth->parent);
        libc_thread_enter(birth->parent);
    }
    pthread_cleanup_push(thread_end, birth);
    result = body_call(birth);
    pthread_cleanup_pop(1);
    return result;
}

#ifdef THREADS_LEFT_TO_SANITIZER
#define REAL(name) __typeof__(&name) real = name
#else
#define REAL(name) LIBC_REAL(name)
#endif

static int start(pthread_t *thread, const pthread_attr_t *attributes, const struct birth *newborn)
{
    REAL(pthread_create);
    struct birth *birth = malloc(sizeof *birth);
    if (!birth)
        return EAGAIN;
    *birth = *newborn;
    report_threads(newborn->parent, 1);
    pthread_mutex_lock(&living_lock); /* it is on the list before it ends */
    int status = real(thread, attributes, thread_body, birth);
    if (!status && birth->parent) {
        birth->thread = *thread;
        birth->next = living;
        living = birth;
    }
    pthread_mutex_unlock(&living_lock);
    if (status) {
        report_threads(newborn->parent, -1);
        free(birth);
    }
    return status;
}

int sim_libc_thread_start(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*body)(void *), void *argument)
{
    return start(thread, attributes,
                 &(struct birth){libc_hooks->current(), body, argument, 0, false, NULL});
}

/* The caller is about to wait for the end of this thread, if it is one of its rank and has not
 * ended. */
static void expect_end(pthread_t thread, struct sim_libc_state *rank)
{
    pthread_mutex_lock(&living_lock);
    struct birth *birth = living;
    while (birth && !pthread_equal(birth->thread, thread))
        birth = birth->next;
    bool lives = birth && birth->parent == rank && !birth->joined;
    if (lives)
        birth->joined = true;
    pthread_mutex_unlock(&living_lock);
    if (lives)
        report_joining(rank, 1);
}

int sim_libc_thread_join(pthread_t thread, void **result)
{
    REAL(pthread_join);
    expect_end(thread, libc_hooks->current());
    return real(thread, result);
}

#ifndef THREADS_LEFT_TO_SANITIZER

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
    if (!parent)
        return real(thread, attributes, body, argument);
    struct birth birth = {is_team(LIBC_CALLER) ? NULL : parent, body, argument, 0, false, NULL};
    return start(thread, attributes, &birth);
}

int pthread_join(pthread_t thread, void **result)
{
    LIBC_REAL(pthread_join);
    return libc_rank(LIBC_CALLER) ? sim_libc_thread_join(thread, result) : real(thread, result);
}

#endif
