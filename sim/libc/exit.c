/* Ends of a rank: exit and its relatives, and the handlers that run then. See hooks.h.
 *
 * Handlers of a rank are on its own list; those its constructors registered before the rank began
 * are on its image's and run after them. All of them run on the rank's own stack, where they may
 * still call MPI. */
#include "sim/libc/common.h"

#include <err.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STATUS_ABORT = 134 };

struct libc_handler {
    struct libc_handler *next;
    void (*with_status)(int, void *); /* one of the two */
    void (*plain)(void *);
    void *argument;
};

static int handler_add(struct libc_handler **list, struct libc_handler handler)
{
    struct libc_handler *added = malloc(sizeof *added);
    if (!added)
        return -1;
    *added = handler;
    added->next = *list;
    *list = added;
    return 0;
}

static SIM_INTO_PROGRAM void handler_call(const struct libc_handler *handler, int status)
{
    if (handler->with_status)
        handler->with_status(status, handler->argument);
    else
        handler->plain(handler->argument);
    SIM_INTO_PROGRAM_END;
}

/* A handler is off the list before it runs, so that one which exits goes on with the rest. */
void libc_handlers_run(struct libc_handler **list, int status)
{
    while (*list) {
        struct libc_handler handler = **list;
        free(*list);
        *list = handler.next;
        handler_call(&handler, status);
    }
}

void libc_handlers_forget(struct libc_handler **list)
{
    while (*list) {
        struct libc_handler *handler = *list;
        *list = handler->next;
        free(handler);
    }
}

/* In headers of the C++ runtime only, or in one whose name we use ourselves. */
void error(int, int, const char *, ...) __attribute__((format(printf, 3, 4)));
int __cxa_atexit(void (*function)(void *), void *argument, void *object);
int __cxa_at_quick_exit(void (*function)(void *), void *object);
int __cxa_thread_atexit_impl(void (*function)(void *), void *argument, void *object);
void __assert_fail(const char *, const char *, unsigned, const char *) __attribute__((noreturn));
void __assert_perror_fail(int, const char *, unsigned, const char *) __attribute__((noreturn));
void __assert(const char *, const char *, int) __attribute__((noreturn));

/* Where a handler of `object` belongs; NULL: to the process. */
static struct libc_handler **list_of(const void *caller, const void *object)
{
    struct sim_libc_state *state = libc_rank(caller);
    if (state)
        return &state->handlers;
    return object ? libc_images->handlers_at(object) : NULL;
}

int __cxa_atexit(void (*function)(void *), void *argument, void *object)
{
    LIBC_REAL(__cxa_atexit);
    struct libc_handler **list = list_of(LIBC_CALLER, object);
    return list ? handler_add(list, (struct libc_handler){.plain = function, .argument = argument})
                : real(function, argument, object);
}

/* Destructors of C++ thread-locals. A rank's thread is a fiber, whose end is the rank's. */
int __cxa_thread_atexit_impl(void (*function)(void *), void *argument, void *object)
{
    LIBC_REAL(__cxa_thread_atexit_impl);
    struct libc_handler **list = libc_thread_started ? NULL : list_of(LIBC_CALLER, object);
    return list ? handler_add(list, (struct libc_handler){.plain = function, .argument = argument})
                : real(function, argument, object);
}

int on_exit(void (*function)(int, void *), void *argument)
{
    LIBC_REAL(on_exit);
    struct sim_libc_state *state = libc_rank(LIBC_CALLER);
    return state ? handler_add(&state->handlers,
                               (struct libc_handler){.with_status = function, .argument = argument})
                 : real(function, argument);
}

int __cxa_at_quick_exit(void (*function)(void *), void *object)
{
    LIBC_REAL(__cxa_at_quick_exit);
    struct sim_libc_state *state = libc_rank(LIBC_CALLER);
    return state ? handler_add(&state->quick_handlers, (struct libc_handler){.plain = function})
                 : real(function, object);
}

/* Ends the rank if there is one; otherwise returns. */
static void rank_end(struct sim_libc_state *state, int status, enum sim_exit how)
{
    if (!state || !libc_is_home())
        return;
    if (libc_thread_started) {
        fprintf(stderr, "a thread that a rank started ended the program: this ends all ranks\n");
        return;
    }
    if (how == SIM_EXIT_NORMAL)
        sim_libc_finish(state, status);
    if (how == SIM_EXIT_QUICK)
        libc_handlers_run(&state->quick_handlers, status);
    libc_hooks->exit(status & 0xff, how);
}

void exit(int status)
{
    LIBC_REAL(exit);
    rank_end(libc_rank(LIBC_CALLER), status, SIM_EXIT_NORMAL);
    if (libc_forked)
        sim_libc_finish(libc_forked, status);
    real(status);
    __builtin_unreachable();
}

void sim_libc_end_forked(int status)
{
    if (libc_forked)
        exit(status);
}

void _exit(int status)
{
    LIBC_REAL(_exit);
    rank_end(libc_rank(LIBC_CALLER), status, SIM_EXIT_IMMEDIATE);
    real(status);
    __builtin_unreachable();
}

void _Exit(int status)
{
    LIBC_REAL(_Exit);
    rank_end(libc_rank(LIBC_CALLER), status, SIM_EXIT_IMMEDIATE);
    real(status);
    __builtin_unreachable();
}

void quick_exit(int status)
{
    LIBC_REAL(quick_exit);
    rank_end(libc_rank(LIBC_CALLER), status, SIM_EXIT_QUICK);
    real(status);
    __builtin_unreachable();
}

void abort(void)
{
    LIBC_REAL(abort);
    rank_end(libc_rank(LIBC_CALLER), STATUS_ABORT, SIM_EXIT_ABORT);
    real();
    __builtin_unreachable();
}

/* The memory of a vforked process is its parent's, where ranks go on: it gets its own. */
pid_t vfork(void)
{
    return fork();
}

/* The end of a process's first thread is not the end of the process, but of a rank it is: nothing
 * else carries it. */
void pthread_exit(void *value)
{
    LIBC_REAL(pthread_exit);
    if (!libc_thread_started)
        rank_end(libc_rank(LIBC_CALLER), 0, SIM_EXIT_NORMAL);
    real(value);
    __builtin_unreachable();
}

/* libc's own call of abort cannot be seen from here, so the message is written here, too. */
static void assert_end(struct sim_libc_state *state, const char *what, const char *file,
                       unsigned line, const char *function)
{
    if (!state)
        return;
    fflush(stdout);
    fprintf(stderr, "%s:%u: %s%s%s\n", file, line, function ? function : "", function ? ": " : "",
            what);
    rank_end(state, STATUS_ABORT, SIM_EXIT_ASSERT);
}

static struct sim_libc_state *asserting(struct sim_libc_state *state, const char *expression,
                                        char what[512])
{
    if (state)
        snprintf(what, 512, "Assertion `%s' failed.", expression);
    return state;
}

void __assert_fail(const char *expression, const char *file, unsigned line, const char *function)
{
    LIBC_REAL(__assert_fail);
    char what[512];
    assert_end(asserting(libc_rank(LIBC_CALLER), expression, what), what, file, line, function);
    real(expression, file, line, function);
    __builtin_unreachable();
}

void __assert(const char *expression, const char *file, int line)
{
    LIBC_REAL(__assert);
    char what[512];
    assert_end(asserting(libc_rank(LIBC_CALLER), expression, what), what, file, (unsigned)line,
               NULL);
    real(expression, file, line);
    __builtin_unreachable();
}

void __assert_perror_fail(int number, const char *file, unsigned line, const char *function)
{
    LIBC_REAL(__assert_perror_fail);
    assert_end(libc_rank(LIBC_CALLER), strerror(number), file, line, function);
    real(number, file, line, function);
    __builtin_unreachable();
}

/* err(3) and error(3) end the process from inside libc; with their messages written here they end
 * the rank. */

static _Noreturn void message_end(struct sim_libc_state *state, int status)
{
    rank_end(state, status, SIM_EXIT_NORMAL);
    exit(status); /* the launcher's own */
}

void verr(int status, const char *format, va_list arguments)
{
    vwarn(format, arguments);
    message_end(libc_rank(LIBC_CALLER), status);
}

void verrx(int status, const char *format, va_list arguments)
{
    vwarnx(format, arguments);
    message_end(libc_rank(LIBC_CALLER), status);
}

void err(int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vwarn(format, arguments);
    va_end(arguments);
    message_end(libc_rank(LIBC_CALLER), status);
}

void errx(int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vwarnx(format, arguments);
    va_end(arguments);
    message_end(libc_rank(LIBC_CALLER), status);
}

void error(int status, int number, const char *format, ...)
{
    va_list arguments;
    fflush(stdout);
    fprintf(stderr, "%s: ", program_invocation_name);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    if (number)
        fprintf(stderr, ": %s", strerror(number));
    fputc('\n', stderr);
    if (status)
        message_end(libc_rank(LIBC_CALLER), status);
}
