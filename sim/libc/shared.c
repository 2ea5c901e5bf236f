/* What cannot be a rank's own, as the process has it once: the first rank that uses it is told so. */
#include "sim/libc/common.h"
#include "sim/libc/process.h"

#include <fcntl.h>
#include <search.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <syslog.h>
#include <unistd.h>

#define CHANGES_ALL " changes all ranks: it cannot be of one alone"

/* gcc says it by a macro, clang by a question. */
#ifdef __SANITIZE_THREAD__
#define THREAD_SANITIZED
#elif defined __has_feature
#if __has_feature(thread_sanitizer)
#define THREAD_SANITIZED
#endif
#endif
#define EARLY __attribute__((no_sanitize("address", "undefined")))

/* Libc's other name of getpid. */
pid_t __getpid(void);

static void (*tell_shared)(const char *what);
static bool one_thread;

void sim_libc_on_shared(void (*tell)(const char *what), bool ranks_share_a_thread)
{
    tell_shared = tell;
    one_thread = ranks_share_a_thread;
}

/* Not what libraries that are no rank's do for themselves, as a runtime of OpenMP that begins. */
static bool by_program(const void *caller)
{
    const struct sim_libc_state *rank = libc_rank(caller);
    uintptr_t bias;
    enum libc_between between = LIBC_PROGRAM;
    return rank && rank->program &&
           (libc_images->holds(rank->program, rank->image, (uintptr_t)caller) ||
            libc_images->file_of(caller, &bias, &between));
}

EARLY void libc_shared(_Atomic bool *told, const void *caller, const char *what)
{
    if (tell_shared && !*told && by_program(caller) && !atomic_exchange(told, true))
        tell_shared(what);
}

void libc_shared_mask(const void *caller)
{
    static _Atomic bool told;
    if (one_thread)
        libc_shared(&told, caller, "sigprocmask" CHANGES_ALL "; with --os-threads it is");
}

void libc_shared_input(const void *caller)
{
    static _Atomic bool told;
    libc_shared(&told, caller,
                "another file as stdin is that of all ranks: read it by its name instead");
}

unsigned alarm(unsigned seconds)
{
    static _Atomic bool told;
    LIBC_REAL(alarm);
    libc_shared(&told, LIBC_CALLER, "alarm" CHANGES_ALL);
    return real(seconds);
}

int setitimer(__itimer_which_t which, const struct itimerval *new, struct itimerval *old)
{
    static _Atomic bool told;
    LIBC_REAL(setitimer);
    libc_shared(&told, LIBC_CALLER, "setitimer" CHANGES_ALL);
    return real(which, new, old);
}

int chroot(const char *path)
{
    static _Atomic bool told;
    LIBC_REAL(chroot);
    libc_shared(&told, LIBC_CALLER, "chroot" CHANGES_ALL);
    return real(path);
}

int setlogmask(int mask)
{
    static _Atomic bool told;
    LIBC_REAL(setlogmask);
    if (mask)
        libc_shared(&told, LIBC_CALLER, "setlogmask" CHANGES_ALL);
    return real(mask);
}

int hcreate(size_t room)
{
    static _Atomic bool told;
    LIBC_REAL(hcreate);
    libc_shared(&told, LIBC_CALLER,
                "the table of hcreate is that of all ranks: hcreate_r makes one of a rank's own");
    return real(room);
}

void libc_shared_limits(const void *caller)
{
    static _Atomic bool told;
    libc_shared(&told, caller, "setrlimit" CHANGES_ALL);
}

/* Locks of a file that belong to the process; those of an open file (F_OFD_SETLK) and flock's do not. */
static void locks_are_shared(bool locks, const void *caller)
{
    static _Atomic bool told;
    if (locks)
        libc_shared(
            &told, caller,
            "locks of fcntl and lockf do not keep ranks out, as the process owns them: flock does");
}

int lockf(int file, int command, off_t length)
{
    LIBC_REAL(lockf);
    locks_are_shared(command == F_LOCK || command == F_TLOCK, LIBC_CALLER);
    return real(file, command, length);
}

/* ---- what a sanitizer calls before anything of ours may run ----
 * The address sanitizer's calls are answered without a variable that it watches. The thread
 * sanitizer's are not: a build with it leaves these functions alone, and says nothing of them. */
#ifndef THREAD_SANITIZED

EARLY pid_t getpid(void)
{
    static _Atomic bool told;
    libc_shared(&told, LIBC_CALLER,
                "getpid is the same on all ranks: a name made of it is not one rank's own");
    return __getpid();
}

EARLY int setrlimit(__rlimit_resource_t resource, const struct rlimit *limits)
{
    if (tell_shared)
        libc_shared_limits(LIBC_CALLER);
    return prlimit64(0, resource, (const struct rlimit64 *)limits, NULL);
}

EARLY int setrlimit64(__rlimit_resource_t resource, const struct rlimit64 *limits)
{
    if (tell_shared)
        libc_shared_limits(LIBC_CALLER);
    return prlimit64(0, resource, limits, NULL);
}

#define FCNTL(name)                                                                                \
    int name(int file, int command, ...)                                                           \
    {                                                                                              \
        LIBC_REAL(name);                                                                           \
        va_list arguments;                                                                         \
        va_start(arguments, command);                                                              \
        void *argument = va_arg(arguments, void *);                                                \
        va_end(arguments);                                                                         \
        locks_are_shared(command == F_SETLK || command == F_SETLKW, LIBC_CALLER);                  \
        return real(file, command, argument);                                                      \
    }

FCNTL(fcntl)
FCNTL(fcntl64)

#endif
