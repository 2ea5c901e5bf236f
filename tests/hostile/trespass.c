/* A program that tries what a sandbox does not allow: trespass WAY PATH, on rank 1, between two
 * collectives. Prints "refused" where the call failed, "done" where it did not. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

extern char **environ;
static const char *path;

static int w_connect(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9)};
    int s = socket(AF_INET, SOCK_STREAM, 0);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return s < 0 || connect(s, (struct sockaddr *)&to, sizeof to) ? -1 : 0;
}
static int w_datagram(void)
{
    return socket(AF_INET6, SOCK_DGRAM, 0);
}
static int w_local(void)
{
    return socket(AF_UNIX, SOCK_STREAM, 0);
}
static int w_create(void)
{
    return open(path, O_WRONLY | O_CREAT, 0600);
}
static int w_append(void)
{
    FILE *file = fopen(path, "a");
    return file ? fputs("more", file) : -1;
}
static int w_truncate(void)
{
    return truncate(path, 0);
}
static int w_remove(void)
{
    return unlink(path);
}
static int w_rename(void)
{
    return rename(path, "elsewhere");
}
static int w_folder(void)
{
    return mkdir("folder", 0700);
}
static int w_link(void)
{
    return symlink(path, "link");
}
static int w_permissions(void)
{
    return chmod(path, 0777);
}
static int w_times(void)
{
    return utimes(path, NULL);
}
static int w_raw(void)
{
    return (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR);
}
static int w_parent(void)
{
    return kill(getppid(), SIGKILL);
}
static int w_everybody(void)
{
    return kill(-1, SIGTERM);
}
static int w_queue(void)
{
    union sigval value = {.sival_int = 1};
    return sigqueue(getppid(), SIGTERM, value);
}
static int w_trace(void)
{
    return (int)ptrace(PTRACE_ATTACH, getppid(), NULL, NULL);
}
static int w_memory_of(void)
{
    char byte;
    struct iovec mine = {&byte, 1}, theirs = {environ, 1};
    return process_vm_readv(getppid(), &mine, 1, &theirs, 1, 0) == 1 ? 0 : -1;
}
static int w_fork(void)
{
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    return child;
}
static int w_bomb(void)
{
    int born = 0;
    for (int i = 0; i < 100; i++) {
        pid_t child = fork();
        if (child == 0)
            for (;;)
                pause();
        born += child > 0;
    }
    return born ? 0 : -1;
}
static int w_spawn(void)
{
    pid_t child;
    char name[] = "true", *words[] = {name, NULL};
    return posix_spawn(&child, "/bin/true", NULL, NULL, words, environ) ? -1 : 0;
}
static int w_shell(void)
{
    return system("true") ? -1 : 0;
}
static int w_clock(void)
{
    struct timeval now;
    gettimeofday(&now, NULL);
    return settimeofday(&now, NULL);
}
/* All memory there is, and as much again; it is given back for those who need some. */
static int w_memory(void)
{
    static char *blocks[16384];
    int count = 0, full;
    while (count < 16384 && (blocks[count] = malloc((size_t)1 << 26)))
        *(volatile char *)blocks[count++] = 1;
    full = count < 16384;
    while (count)
        free(blocks[--count]);
    return full ? -1 : 0;
}
static int w_disk(void)
{
    static char room[1 << 20];
    signal(SIGXFSZ, SIG_IGN);
    int out = open(path, O_WRONLY | O_CREAT, 0600);
    for (int i = 0; out >= 0 && i < 256; i++)
        if (write(out, room, sizeof room) != (ssize_t)sizeof room)
            return -1;
    return out;
}
static int w_files(void)
{
    char name[512];
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "%s/file-%d", getenv("TMPDIR"), i);
        int out = open(name, O_WRONLY | O_CREAT, 0600);
        if (out < 0)
            return -1;
        close(out);
    }
    return 0;
}
static int w_scratch(void)
{
    char name[512], read_back[16] = "";
    snprintf(name, sizeof name, "%s/mine", getenv("TMPDIR"));
    FILE *file = fopen(name, "w+");
    if (!file || fputs("text", file) < 0 || fseek(file, 0, SEEK_SET) ||
        !fgets(read_back, sizeof read_back, file) || strcmp(read_back, "text"))
        return -1;
    return fclose(file) || truncate(name, 1) || rename(name, "/dev/null/x") == 0 || unlink(name);
}
static int w_read(void)
{
    return open(path, O_RDONLY);
}
static int w_own_signal(void)
{
    signal(SIGUSR1, SIG_IGN);
    return kill(getpid(), SIGUSR1) || raise(SIGUSR1);
}

static const struct way {
    const char *name;
    int (*happens)(void);
} ways[] = {
    {"connect", w_connect},
    {"datagram", w_datagram},
    {"local", w_local},
    {"create", w_create},
    {"append", w_append},
    {"truncate", w_truncate},
    {"remove", w_remove},
    {"rename", w_rename},
    {"folder", w_folder},
    {"link", w_link},
    {"permissions", w_permissions},
    {"times", w_times},
    {"raw", w_raw},
    {"parent", w_parent},
    {"everybody", w_everybody},
    {"queue", w_queue},
    {"trace", w_trace},
    {"memory-of", w_memory_of},
    {"fork", w_fork},
    {"bomb", w_bomb},
    {"spawn", w_spawn},
    {"shell", w_shell},
    {"clock", w_clock},
    {"memory", w_memory},
    {"disk", w_disk},
    {"files", w_files},
    {"scratch", w_scratch},
    {"read", w_read},
    {"own-signal", w_own_signal},
};

int main(int argc, char **argv)
{
    int rank;
    double value = 1, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    path = argc > 2 ? argv[2] : "";
    MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (size_t i = 0; rank == 1 && i < sizeof ways / sizeof *ways; i++)
        if (argc > 1 && !strcmp(ways[i].name, argv[1]))
            printf("%s\n", ways[i].happens() < 0 ? "refused" : "done");
    MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
