/* A seccomp filter by hand: see sandbox_filter.h. A library (libseccomp) would be one more package
 * for a table of some sixty rows and ten shapes. */
#include "cli/processes/sandbox_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined __x86_64__
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

static const struct sandbox_row rows[] = {
#ifdef __NR_open
    {__NR_open, SANDBOX_OPEN, 0, 1, "open a file for writing"},
    {__NR_creat, SANDBOX_PATH_AT, 0, -1, "create a file"},
    {__NR_mkdir, SANDBOX_PATH_AT, 0, -1, "make a folder"},
    {__NR_rmdir, SANDBOX_PATH_AT, 0, -1, "remove a folder"},
    {__NR_unlink, SANDBOX_PATH_AT, 0, -1, "remove a file"},
    {__NR_rename, SANDBOX_PATH_AT, 0, -1, "rename a file"},
    {__NR_link, SANDBOX_PATH_AT, 1, -1, "link a file"},
    {__NR_symlink, SANDBOX_PATH_AT, 1, -1, "make a symbolic link"},
    {__NR_mknod, SANDBOX_PATH_AT, 0, -1, "make a special file"},
    {__NR_chmod, SANDBOX_REFUSED, 0, -1, "change a file's permissions"},
    {__NR_chown, SANDBOX_REFUSED, 0, -1, "change a file's owner"},
    {__NR_lchown, SANDBOX_REFUSED, 0, -1, "change a file's owner"},
    {__NR_utime, SANDBOX_REFUSED, 0, -1, "change a file's times"},
    {__NR_utimes, SANDBOX_REFUSED, 0, -1, "change a file's times"},
    {__NR_futimesat, SANDBOX_REFUSED, 1, -1, "change a file's times"},
    {__NR_fork, SANDBOX_REFUSED, -1, -1, "start a process"},
    {__NR_vfork, SANDBOX_REFUSED, -1, -1, "start a process"},
#endif
    {__NR_openat, SANDBOX_OPEN, 1, 2, "open a file for writing"},
    {__NR_mkdirat, SANDBOX_PATH_AT, 1, -1, "make a folder"},
    {__NR_unlinkat, SANDBOX_PATH_AT, 1, -1, "remove a file"},
#ifdef __NR_renameat
    {__NR_renameat, SANDBOX_PATH_AT, 1, -1, "rename a file"},
#endif
    {__NR_renameat2, SANDBOX_PATH_AT, 1, -1, "rename a file"},
    {__NR_linkat, SANDBOX_PATH_AT, 3, -1, "link a file"},
    {__NR_symlinkat, SANDBOX_PATH_AT, 2, -1, "make a symbolic link"},
    {__NR_mknodat, SANDBOX_PATH_AT, 1, -1, "make a special file"},
    {__NR_truncate, SANDBOX_PATH_AT, 0, -1, "truncate a file"},
    {__NR_fchmodat, SANDBOX_REFUSED, 1, -1, "change a file's permissions"},
    {__NR_fchmod, SANDBOX_REFUSED, -1, -1, "change a file's permissions"},
    {__NR_fchownat, SANDBOX_REFUSED, 1, -1, "change a file's owner"},
    {__NR_fchown, SANDBOX_REFUSED, -1, -1, "change a file's owner"},
    {__NR_utimensat, SANDBOX_REFUSED, 1, -1, "change a file's times"},
    {__NR_setxattr, SANDBOX_REFUSED, 0, -1, "change a file's attributes"},
    {__NR_lsetxattr, SANDBOX_REFUSED, 0, -1, "change a file's attributes"},
    {__NR_fsetxattr, SANDBOX_REFUSED, -1, -1, "change a file's attributes"},
    {__NR_removexattr, SANDBOX_REFUSED, 0, -1, "change a file's attributes"},
    {__NR_lremovexattr, SANDBOX_REFUSED, 0, -1, "change a file's attributes"},
    {__NR_fremovexattr, SANDBOX_REFUSED, -1, -1, "change a file's attributes"},
    {__NR_socket, SANDBOX_NETWORK, -1, -1, "use the network"},
    {__NR_kill, SANDBOX_SELF, -1, -1, "send a signal to another process"},
    {__NR_tgkill, SANDBOX_SELF, -1, -1, "send a signal to another process"},
    {__NR_tkill, SANDBOX_REFUSED, -1, -1, "send a signal to a thread of any process"},
    {__NR_rt_sigqueueinfo, SANDBOX_SELF, -1, -1, "send a signal to another process"},
    {__NR_rt_tgsigqueueinfo, SANDBOX_SELF, -1, -1, "send a signal to another process"},
    {__NR_pidfd_send_signal, SANDBOX_REFUSED, -1, -1, "send a signal to another process"},
    {__NR_ptrace, SANDBOX_REFUSED, -1, -1, "trace another process"},
    {__NR_process_vm_readv, SANDBOX_SELF, -1, -1, "read another process's memory"},
    {__NR_process_vm_writev, SANDBOX_SELF, -1, -1, "write another process's memory"},
    {__NR_prlimit64, SANDBOX_LIMIT, -1, -1, "limit another process"},
    {__NR_clone, SANDBOX_CLONE, -1, -1, "start a process"},
    {__NR_clone3, SANDBOX_ABSENT, -1, -1, ""},
    {__NR_openat2, SANDBOX_ABSENT, -1, -1, ""},
    {__NR_io_uring_setup, SANDBOX_ABSENT, -1, -1, ""},
    {__NR_ioctl, SANDBOX_TERMINAL, -1, -1, ""},
    {__NR_unshare, SANDBOX_QUIET, -1, -1, ""},
    {__NR_setns, SANDBOX_QUIET, -1, -1, ""},
    {__NR_mount, SANDBOX_REFUSED, -1, -1, "mount a file system"},
    {__NR_umount2, SANDBOX_REFUSED, -1, -1, "unmount a file system"},
    {__NR_pivot_root, SANDBOX_QUIET, -1, -1, ""},
    {__NR_chroot, SANDBOX_QUIET, -1, -1, ""},
    {__NR_open_by_handle_at, SANDBOX_QUIET, -1, -1, ""},
    {__NR_mq_open, SANDBOX_QUIET, -1, -1, ""},
    {__NR_bpf, SANDBOX_QUIET, -1, -1, ""},
    {__NR_init_module, SANDBOX_QUIET, -1, -1, ""},
    {__NR_finit_module, SANDBOX_QUIET, -1, -1, ""},
    {__NR_delete_module, SANDBOX_QUIET, -1, -1, ""},
    {__NR_kexec_load, SANDBOX_QUIET, -1, -1, ""},
    {__NR_reboot, SANDBOX_REFUSED, -1, -1, "restart the machine"},
    {__NR_swapon, SANDBOX_QUIET, -1, -1, ""},
    {__NR_swapoff, SANDBOX_QUIET, -1, -1, ""},
    {__NR_acct, SANDBOX_QUIET, -1, -1, ""},
    {__NR_sethostname, SANDBOX_REFUSED, -1, -1, "name the machine"},
    {__NR_setdomainname, SANDBOX_QUIET, -1, -1, ""},
    {__NR_settimeofday, SANDBOX_REFUSED, -1, -1, "set the clock"},
    {__NR_clock_settime, SANDBOX_REFUSED, -1, -1, "set the clock"},
    {__NR_adjtimex, SANDBOX_QUIET, -1, -1, ""},
    {__NR_perf_event_open, SANDBOX_QUIET, -1, -1, ""},
    {__NR_keyctl, SANDBOX_QUIET, -1, -1, ""},
};

enum { ROWS = sizeof rows / sizeof *rows, STEPS_MOST = 16 + ROWS * 8 };

const struct sandbox_row *sandbox_row_of(int number)
{
    for (size_t i = 0; i < ROWS; i++)
        if (rows[i].number == number)
            return &rows[i];
    return NULL;
}

struct program {
    struct sock_filter steps[STEPS_MOST];
    unsigned short count;
};

static void add(struct program *program, int code, unsigned value, int yes, int no)
{
    program->steps[program->count++] =
        (struct sock_filter){(unsigned short)code, (unsigned char)yes, (unsigned char)no, value};
}

static void add_return(struct program *program, unsigned value)
{
    add(program, BPF_RET | BPF_K, value, 0, 0);
}

/* The lower half of an argument; the machines it knows are little-endian. */
static void load_argument(struct program *program, int argument)
{
    size_t at = offsetof(struct seccomp_data, args) + (size_t)argument * 8;
    add(program, BPF_LD | BPF_W | BPF_ABS, (unsigned)at, 0, 0);
}

/* `match` of the argument (BPF_JEQ, BPF_JSET) ends with `then`, or else is the next step's. */
static void add_case(struct program *program, int argument, int match, unsigned value,
                     unsigned then)
{
    load_argument(program, argument);
    add(program, BPF_JMP | match | BPF_K, value, 0, 1);
    add_return(program, then);
}

static void add_rule(struct program *program, const struct sandbox_row *row)
{
    unsigned own = (unsigned)getpid(), last = SECCOMP_RET_TRAP;
    switch (row->rule) {
    case SANDBOX_REFUSED:
        break;
    case SANDBOX_QUIET:
        last = SECCOMP_RET_ERRNO | EPERM;
        break;
    case SANDBOX_ABSENT:
        last = SECCOMP_RET_ERRNO | ENOSYS;
        break;
    case SANDBOX_OPEN:
        load_argument(program, row->flags);
        add(program, BPF_JMP | BPF_JSET | BPF_K, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_TMPFILE,
            1, 0);
        add_return(program, SECCOMP_RET_ALLOW);
        add_case(program, 5, BPF_JEQ, SANDBOX_COOKIE, SECCOMP_RET_ALLOW);
        break;
    case SANDBOX_PATH_AT:
        add_case(program, 5, BPF_JEQ, SANDBOX_COOKIE, SECCOMP_RET_ALLOW);
        break;
    case SANDBOX_LIMIT:
        add_case(program, 0, BPF_JEQ, 0, SECCOMP_RET_ALLOW);
        add_case(program, 0, BPF_JEQ, own, SECCOMP_RET_ALLOW);
        last = SECCOMP_RET_ERRNO | EPERM;
        break;
    case SANDBOX_SELF:
        add_case(program, 0, BPF_JEQ, own, SECCOMP_RET_ALLOW);
        break;
    case SANDBOX_NETWORK:
        add_case(program, 0, BPF_JEQ, AF_UNIX, SECCOMP_RET_ERRNO | EACCES);
        break;
    case SANDBOX_CLONE:
        add_case(program, 0, BPF_JSET, CLONE_THREAD, SECCOMP_RET_ALLOW);
        break;
    case SANDBOX_TERMINAL:
        add_case(program, 1, BPF_JEQ, TIOCSTI, SECCOMP_RET_ERRNO | EPERM);
        last = SECCOMP_RET_ALLOW;
        break;
    }
    add_return(program, last);
}

bool sandbox_filter(void)
{
#ifdef ARCHITECTURE
    static struct program program;
    program.count = 0;
    add(&program, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0, 0);
    add(&program, BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
    add_return(&program, SECCOMP_RET_KILL_PROCESS);
    add(&program, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
    add(&program, BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1); /* x32 */
    add_return(&program, SECCOMP_RET_KILL_PROCESS);
    for (size_t i = 0; i < ROWS; i++) {
        unsigned short at = program.count;
        add(&program, BPF_JMP | BPF_JEQ | BPF_K, (unsigned)rows[i].number, 0, 0);
        add_rule(&program, &rows[i]);
        program.steps[at].jf = (unsigned char)(program.count - at - 1);
    }
    add_return(&program, SECCOMP_RET_ALLOW);
    struct sock_fprog loaded = {program.count, program.steps};
    return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
           !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &loaded);
#else
    errno = ENOSYS;
    return false;
#endif
}
