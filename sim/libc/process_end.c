/* What a process does to itself and that a rank, which is a part of one, must not do to all: system
 * calls that end it, exec, signals that cannot be caught, blocked crash signals. See hooks.h. */
#include "sim/libc/common.h"
#include "sim/libc/process.h"

#include <errno.h>
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool caged;

/* The launcher and everybody else are not the program's; a sandbox says so itself. */
static bool is_foreign(long process)
{
    return (process == -1 || process == getppid()) && !caged;
}

/* Ends the calling rank; returns where there is none. */
static void end(struct sim_libc_state *state, int status, enum sim_exit how)
{
    if (state && libc_is_home())
        libc_hooks->exit(status, how);
}

/* ---- system calls by number ---- */

/* Those that do something to the process, or the thread, that is their first argument. */
static bool reaches_process(const long *words, long number)
{
    return number == SYS_kill || number == SYS_tkill || number == SYS_tgkill ||
           number == SYS_rt_sigqueueinfo || (number == SYS_prlimit64 && words[2]);
}

/* A process of its own: what shares the memory is a thread. */
static bool makes_process(const long *words, long number)
{
    const struct clone_args *wanted = (const struct clone_args *)words[0];
    return number == SYS_fork || (number == SYS_clone && !(words[0] & CLONE_VM)) ||
           (number == SYS_clone3 && wanted && !(wanted->flags & CLONE_VM));
}

/* As libc's own it takes six words, however many were given: a sanitizer would look at the others. */
__attribute__((no_sanitize("address"))) long syscall(long number, ...)
{
    LIBC_REAL(syscall);
    long words[6];
    va_list arguments;
    va_start(arguments, number);
    for (int i = 0; i < 6; i++)
        words[i] = va_arg(arguments, long);
    va_end(arguments);
    struct sim_libc_state *state = libc_rank(LIBC_CALLER);
    if (number == SYS_exit_group || number == SYS_exit)
        end(state, (int)(words[0] & 0xff), SIM_EXIT_IMMEDIATE);
    if (state && reaches_process(words, number) && is_foreign(words[0])) {
        errno = EPERM;
        return -1;
    }
    if (state && number == SYS_vfork)
        return fork();
    long result = real(number, words[0], words[1], words[2], words[3], words[4], words[5]);
    if (result == 0 && state && makes_process(words, number))
        libc_forget_rank();
    return result;
}

/* ---- exec ---- */

/* The other ranks are in the same process: nothing takes the place of one. */
static void end_for(struct sim_libc_state *state, const char *path)
{
    if (!state)
        return;
    fprintf(stderr,
            "rank %d: exec of %s: ranks share a process, so this one ends here; give "
            "simrun the program that it starts\n",
            libc_hooks->number(), path);
    end(state, 0, SIM_EXIT_IMMEDIATE);
}

int execve(const char *path, char *const argv[], char *const environment[])
{
    LIBC_REAL(execve);
    end_for(libc_rank(LIBC_CALLER), path);
    return real(path, argv, environment);
}

int execv(const char *path, char *const argv[])
{
    LIBC_REAL(execv);
    end_for(libc_rank(LIBC_CALLER), path);
    return real(path, argv);
}

int execvp(const char *file, char *const argv[])
{
    LIBC_REAL(execvp);
    end_for(libc_rank(LIBC_CALLER), file);
    return real(file, argv);
}

int execvpe(const char *file, char *const argv[], char *const environment[])
{
    LIBC_REAL(execvpe);
    end_for(libc_rank(LIBC_CALLER), file);
    return real(file, argv, environment);
}

int fexecve(int descriptor, char *const argv[], char *const environment[])
{
    LIBC_REAL(fexecve);
    end_for(libc_rank(LIBC_CALLER), "a descriptor");
    return real(descriptor, argv, environment);
}

enum { WORDS_MAX = 4096 };

/* The words of a call that lists them, and behind their end what follows. */
static char *const *listed(char **words, const char *first, va_list *arguments)
{
    size_t count = 0;
    words[count++] = (char *)(uintptr_t)first;
    while (words[count - 1] && count < WORDS_MAX - 1)
        words[count++] = va_arg(*arguments, char *);
    words[count] = NULL;
    return words;
}

int execl(const char *path, const char *first, ...)
{
    char *words[WORDS_MAX];
    va_list arguments;
    end_for(libc_rank(LIBC_CALLER), path);
    va_start(arguments, first);
    listed(words, first, &arguments);
    va_end(arguments);
    return execve(path, words, environ);
}

int execlp(const char *file, const char *first, ...)
{
    char *words[WORDS_MAX];
    va_list arguments;
    end_for(libc_rank(LIBC_CALLER), file);
    va_start(arguments, first);
    listed(words, first, &arguments);
    va_end(arguments);
    return execvpe(file, words, environ);
}

int execle(const char *path, const char *first, ...)
{
    char *words[WORDS_MAX];
    va_list arguments;
    end_for(libc_rank(LIBC_CALLER), path);
    va_start(arguments, first);
    listed(words, first, &arguments);
    char *const *environment = va_arg(arguments, char *const *);
    va_end(arguments);
    return execve(path, words, environment);
}

/* ---- signals ---- */

void sim_libc_cage(void)
{
    caged = true;
}

/* To a rank its process is itself, and there is no other in its group. */
int kill(pid_t process, int number)
{
    LIBC_REAL(kill);
    struct sim_libc_state *state = libc_rank(LIBC_CALLER);
    if (!state)
        return real(process, number);
    if (is_foreign(process)) {
        errno = EPERM;
        return -1;
    }
    bool itself = process == getpid() || process == 0 || process == -getpgrp();
    if (itself && (number == SIGKILL || number == SIGSTOP))
        end(state, number, SIM_EXIT_KILLED);
    if (itself && number) /* one thread gets it: the rank's own */
        return errno = pthread_kill(pthread_self(), number), errno ? -1 : 0;
    return real(itself ? getpid() : process, number);
}

int prlimit(pid_t process, enum __rlimit_resource resource, const struct rlimit *limit,
            struct rlimit *old)
{
    LIBC_REAL(prlimit);
    if (limit && libc_rank(LIBC_CALLER) && is_foreign(process)) {
        errno = EPERM;
        return -1;
    }
    if (limit)
        libc_shared_limits(LIBC_CALLER);
    return real(process, resource, limit, old);
}

int sigqueue(pid_t process, int number, const union sigval value)
{
    LIBC_REAL(sigqueue);
    if (libc_rank(LIBC_CALLER) && is_foreign(process)) {
        errno = EPERM;
        return -1;
    }
    return real(process, number, value);
}

/* Blocked, a crash ends the process without a word: the kernel calls no handler. */
static const sigset_t *without_crashes(const sigset_t *set, sigset_t *copy)
{
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    if (!set)
        return NULL;
    *copy = *set;
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
        sigdelset(copy, crashes[i]);
    return copy;
}

int sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict old)
{
    LIBC_REAL(sigprocmask);
    sigset_t copy;
    if (set)
        libc_shared_mask(LIBC_CALLER);
    bool blocks = libc_rank(LIBC_CALLER) && how != SIG_UNBLOCK;
    return real(how, blocks ? without_crashes(set, &copy) : set, old);
}

int pthread_sigmask(int how, const sigset_t *restrict set, sigset_t *restrict old)
{
    LIBC_REAL(pthread_sigmask);
    sigset_t copy;
    if (set)
        libc_shared_mask(LIBC_CALLER);
    bool blocks = libc_rank(LIBC_CALLER) && how != SIG_UNBLOCK;
    return real(how, blocks ? without_crashes(set, &copy) : set, old);
}
