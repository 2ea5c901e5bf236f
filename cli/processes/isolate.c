/* Descriptors of the launcher: see isolate.h. */
#include "cli/processes/isolate.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Programs count up from 3; nobody opens that many files by accident. */
enum { HIGH = 1000, MOST = 65536 };

/* The highest that there is room for: a small limit on open files leaves less. */
static int move_high(int descriptor)
{
    for (int from = HIGH; from > 3; from /= 2) {
        int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, from);
        if (moved < 0)
            continue;
        close(descriptor);
        return moved;
    }
    return descriptor;
}

static void close_private(int descriptor, int keep)
{
    int flags = fcntl(descriptor, F_GETFD);
    if (descriptor > STDERR_FILENO && descriptor != keep && flags >= 0 && (flags & FD_CLOEXEC))
        close(descriptor);
}

/* Without /proc every number is tried. */
static void close_by_number(int keep)
{
    struct rlimit limit;
    long most = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < MOST
                    ? (long)limit.rlim_cur
                    : MOST;
    for (int descriptor = 0; descriptor < most; descriptor++)
        close_private(descriptor, keep);
}

int isolate_descriptors(int keep)
{
    if (keep >= 0)
        keep = move_high(keep);
    DIR *folder = opendir("/proc/self/fd");
    if (!folder) {
        close_by_number(keep);
        return keep;
    }
    int own = dirfd(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        int descriptor = atoi(entry->d_name);
        if (descriptor != own)
            close_private(descriptor, keep);
    }
    closedir(folder);
    return keep;
}

void isolate_judge_begin(void)
{
    prctl(PR_SET_DUMPABLE, 0);
}

void isolate_judge_end(void)
{
    prctl(PR_SET_DUMPABLE, 1);
}

/* mlockall would fetch all that is reserved for records, tens of gigabytes: it is refused, as it is to
 * anybody whose limit is below what his process has reserved. */
static void isolate_locks(void)
{
    const rlim_t most = (rlim_t)1 << 30;
    if (setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){most, most}) != 0) {
        /* whoever may not raise it has a lower one */
    }
}

void isolate_rights(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct rights[_LINUX_CAPABILITY_U32S_3];
    const uint32_t trace = ~(uint32_t)(CAP_TO_MASK(CAP_SYS_PTRACE) | CAP_TO_MASK(CAP_IPC_LOCK));
    isolate_locks();
    prctl(PR_SET_DUMPABLE, 1);
    prctl(PR_CAPBSET_DROP, CAP_SYS_PTRACE, 0, 0, 0);
    prctl(PR_CAPBSET_DROP, CAP_IPC_LOCK, 0, 0, 0);
    if (syscall(SYS_capget, &head, rights) != 0)
        return;
    rights[0].effective &= trace, rights[0].permitted &= trace, rights[0].inheritable &= trace;
    syscall(SYS_capset, &head, rights);
}

void isolate_memory(void)
{
    int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (file < 0)
        return;
    if (write(file, "1000", 4) < 0) {
        /* a system that does not let us: the kernel chooses as it always does */
    }
    close(file);
}
