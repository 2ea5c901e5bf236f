/* The sandbox of a run: see sandbox.h. */
#include "cli/processes/sandbox.h"

#include "cli/processes/sandbox_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <omp.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef SYS_SECCOMP
#define SYS_SECCOMP 1
#endif
#ifndef LANDLOCK_ACCESS_FS_REFER
#define LANDLOCK_ACCESS_FS_REFER (1ull << 13)
#endif
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ull << 14)
#endif

static long landlock_version(void)
{
    return syscall(SYS_landlock_create_ruleset, NULL, (size_t)0, LANDLOCK_CREATE_RULESET_VERSION);
}

static const char *missing(void)
{
    if (landlock_version() < 1)
        return "Landlock (Linux 5.13, CONFIG_SECURITY_LANDLOCK, 'landlock' in /sys/kernel/security/"
               "lsm)";
    if (prctl(PR_GET_SECCOMP) < 0)
        return "seccomp filters (CONFIG_SECCOMP_FILTER)";
#if !defined __x86_64__ && !defined __aarch64__
    return "a filter for this processor (x86-64 and arm64 have one)";
#endif
    return NULL;
}

bool sandbox_begin(char folder[SANDBOX_PATH], struct failure *failure)
{
    const char *place = getenv("TMPDIR"), *absent = missing();
    folder[0] = '\0';
    if (absent) {
        failure_set(failure, FAILURE_REQUIREMENT,
                    "--sandbox: this kernel has no %s; nothing was run", absent);
        return false;
    }
    if (!place || *place != '/' || strlen(place) > SANDBOX_PATH - 32)
        place = "/tmp";
    snprintf(folder, SANDBOX_PATH, "%s/simrun-scratch-XXXXXX", place);
    if (mkdtemp(folder))
        return true;
    failure_set(failure, FAILURE_INTERNAL, "--sandbox: no scratch folder in %s: %s", place,
                strerror(errno));
    folder[0] = '\0';
    return false;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status, (void)kind, (void)walk;
    remove(path);
    return 0;
}

void sandbox_end(const char *folder)
{
    if (*folder)
        nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* What nobody may but beneath the folder. Reading is not among it. */
static uint64_t changes(long version)
{
    uint64_t all = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                   LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
                   LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                   LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
                   LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM;
    if (version >= 2)
        all |= LANDLOCK_ACCESS_FS_REFER;
    if (version >= 3)
        all |= LANDLOCK_ACCESS_FS_TRUNCATE;
    return all;
}

static bool allow(int rules, const char *path, uint64_t access)
{
    struct landlock_path_beneath_attr beneath = {access, open(path, O_PATH | O_CLOEXEC)};
    bool good = beneath.parent_fd >= 0 &&
                !syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0u);
    if (beneath.parent_fd >= 0)
        close(beneath.parent_fd);
    return good;
}

static bool fence_files(const char *folder)
{
    uint64_t all = changes(landlock_version());
    uint64_t file = all & (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE);
    struct landlock_ruleset_attr attribute = {.handled_access_fs = all};
    int rules = (int)syscall(SYS_landlock_create_ruleset, &attribute,
                             sizeof attribute.handled_access_fs, 0u);
    if (rules < 0)
        return false;
    /* Folders of its own are not given: what is in them would not be counted. */
    bool good =
        allow(rules, folder, file | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_REMOVE_FILE) &&
        allow(rules, "/dev/null", file) && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
        !syscall(SYS_landlock_restrict_self, rules, 0u);
    close(rules);
    return good;
}

static bool bound(__rlimit_resource_t resource, rlim_t most)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit))
        return false;
    if (limit.rlim_max != RLIM_INFINITY && limit.rlim_max < most)
        most = limit.rlim_max;
    return !setrlimit(resource, &(struct rlimit){most, most});
}

/* The number in a line "WORD 123 kB", in bytes; 0: not found. */
static rlim_t bytes_in(const char *path, const char *word)
{
    char line[256];
    unsigned long long number = 0;
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, word, strlen(word)))
            number = strtoull(line + strlen(word), NULL, 10);
    if (file)
        fclose(file);
    return (rlim_t)number << 10;
}

/* Beyond what is mapped already: a sanitizer's shadow is larger than any memory. */
static rlim_t memory_most(void)
{
    rlim_t free_now = bytes_in("/proc/meminfo", "MemAvailable:");
    return bytes_in("/proc/self/status", "VmData:") +
           (free_now ? free_now / 4 * 3 : (rlim_t)1 << 30);
}

static sandbox_note *noted;
static char scratch[SANDBOX_PATH];
static _Atomic int files;

/* As long as nobody else listens: while the program is loaded. */
static void on_trap(int number, siginfo_t *info, void *context)
{
    if (sandbox_trap(info, context))
        return;
    signal(number, SIG_DFL);
    raise(number);
}

bool sandbox_enter(const char *folder, sandbox_note *note, struct failure *failure)
{
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_NODEFER};
    noted = note;
    files = 0;
    snprintf(scratch, sizeof scratch, "%s", folder);
    omp_get_max_threads(); /* clang's runtime makes a file of its own at its start */
    const char *step = setenv("TMPDIR", folder, 1)               ? "TMPDIR"
                       : sigaction(SIGSYS, &action, NULL)        ? "SIGSYS"
                       : !bound(RLIMIT_DATA, memory_most())      ? "a limit of memory"
                       : !bound(RLIMIT_FSIZE, SANDBOX_FILE_MOST) ? "a limit of files"
                       : !bound(RLIMIT_CORE, 0)                  ? "a limit of cores"
                       : !fence_files(folder)                    ? "Landlock"
                       : !sandbox_filter()                       ? "the filter of system calls"
                                                                 : NULL;
    if (step)
        failure_set(failure, FAILURE_REQUIREMENT, "--sandbox: %s: %s; nothing was run", step,
                    strerror(errno));
    return !step;
}

#if defined __x86_64__
static long argument(const ucontext_t *at, int i)
{
    static const int places[] = {REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8, REG_R9};
    return (long)at->uc_mcontext.gregs[places[i]];
}
static void answer(ucontext_t *at, long value)
{
    at->uc_mcontext.gregs[REG_RAX] = value;
}
#elif defined __aarch64__
static long argument(const ucontext_t *at, int i)
{
    return (long)at->uc_mcontext.regs[i];
}
static void answer(ucontext_t *at, long value)
{
    at->uc_mcontext.regs[0] = (unsigned long long)value;
}
#else
static long argument(const ucontext_t *at, int i)
{
    (void)at, (void)i;
    return 0;
}
static void answer(ucontext_t *at, long value)
{
    (void)at, (void)value;
}
#endif

static bool creates(const struct sandbox_row *row, const ucontext_t *at)
{
    bool wanted = row->flags < 0 || argument(at, row->flags) & O_CREAT;
    const char *path = (const char *)argument(at, row->path);
    int folder = row->path == 1 ? (int)argument(at, 0) : AT_FDCWD;
    return wanted && faccessat(folder, path, F_OK, 0) && errno == ENOENT;
}

/* The kernel is asked again in the program's name, and Landlock says no. */
static long ask(const struct sandbox_row *row, const ucontext_t *at, bool *full)
{
    bool creating = row->rule == SANDBOX_OPEN && creates(row, at);
    *full = creating && atomic_load(&files) >= SANDBOX_FILES_MOST;
    if (*full)
        return -EDQUOT;
    long value = syscall(row->number, argument(at, 0), argument(at, 1), argument(at, 2),
                         argument(at, 3), argument(at, 4), (long)SANDBOX_COOKIE);
    if (value < 0)
        return -errno;
    if (creating)
        atomic_fetch_add(&files, 1);
    return value;
}

/* What OpenMP's runtime of clang does at its start is nobody's wish. */
static bool is_worth_telling(const char *path)
{
    return !path || strncmp(path, "/dev/shm/__KMP", 14) != 0;
}

bool sandbox_trap(const siginfo_t *info, void *context)
{
    const struct sandbox_row *row =
        info->si_code == SYS_SECCOMP ? sandbox_row_of(info->si_syscall) : NULL;
    if (!row)
        return false;
    char text[400];
    int before = errno;
    bool full = false, asks = row->rule == SANDBOX_OPEN || row->rule == SANDBOX_PATH_AT;
    long value = asks ? ask(row, context, &full) : -EPERM;
    bool refused = !asks || full || value == -EACCES || value == -EPERM || value == -EXDEV;
    /* A pointer that is none was refused with EFAULT; of a call that nobody asked, none is read. */
    const char *path =
        asks && row->path >= 0 && refused ? (const char *)argument(context, row->path) : NULL;
    if (full)
        snprintf(text, sizeof text,
                 "the sandbox allows %d new files in one run; '%.150s' was refused",
                 SANDBOX_FILES_MOST, path);
    else
        snprintf(text, sizeof text, "the sandbox does not let a program %s%s%.150s%s%s%.120s",
                 row->what, path ? " ('" : "", path ? path : "", path ? "')" : "",
                 asks ? "; files it may write are in $TMPDIR: " : "", asks ? scratch : "");
    if (refused && noted && is_worth_telling(path))
        noted(text, context);
    answer(context, value);
    errno = before;
    return true;
}
