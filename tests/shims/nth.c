/* Preloaded into simrun by tests: does something at the n-th call of a kind, to see what is left.
 *
 *   NTH_CALL=allocation|file   what is counted: allocations, or what changes a file and its reading
 *   NTH_AT=n                   which one, from 1; 0: none
 *   NTH_DO=fail|kill           it fails once, or the process is killed by SIGKILL
 *   NTH_MARK=path              made when the n-th call is reached
 *   NTH_COUNT=path             the number of calls is written here when the process ends
 *
 * Only the process simrun itself: neither compilers nor the process of the ranks. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

static pid_t owner;
static long at, count;
static int counts_files, kills;
static const char *mark, *counter;

__attribute__((constructor)) static void begin(void)
{
    const char *call = getenv("NTH_CALL"), *number = getenv("NTH_AT"), *act = getenv("NTH_DO");
    if (strcmp(program_invocation_short_name, "simrun") != 0 || !call || !number)
        return;
    counts_files = strcmp(call, "file") == 0;
    kills = act && strcmp(act, "kill") == 0;
    at = atol(number);
    mark = getenv("NTH_MARK");
    counter = getenv("NTH_COUNT");
    owner = getpid();
}

__attribute__((destructor)) static void end(void)
{
    if (!counter || getpid() != owner)
        return;
    owner = 0;
    FILE *file = fopen(counter, "w");
    if (file) {
        fprintf(file, "%ld\n", count);
        fclose(file);
    }
}

static int fails(int is_file)
{
    if (!owner || is_file != counts_files || getpid() != owner)
        return 0;
    if (__atomic_add_fetch(&count, 1, __ATOMIC_RELAXED) != at)
        return 0;
    if (mark)
        syscall(SYS_close, (int)syscall(SYS_openat, AT_FDCWD, mark, O_CREAT | O_WRONLY, 0600));
    if (kills)
        syscall(SYS_kill, owner, SIGKILL);
    return 1;
}

void *malloc(size_t size)
{
    if (!fails(0))
        return __libc_malloc(size);
    errno = ENOMEM;
    return NULL;
}

void *calloc(size_t number, size_t size)
{
    if (!fails(0))
        return __libc_calloc(number, size);
    errno = ENOMEM;
    return NULL;
}

void *realloc(void *old, size_t size)
{
    if (!fails(0))
        return __libc_realloc(old, size);
    errno = ENOMEM;
    return NULL;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define FAILING(error, name, ...)                                                                  \
    do {                                                                                           \
        if (!fails(1))                                                                             \
            return REAL(name)(__VA_ARGS__);                                                        \
        errno = (error);                                                                           \
        return -1;                                                                                 \
    } while (0)

ssize_t pwrite64(int file, const void *data, size_t size, off64_t place)
{
    FAILING(ENOSPC, pwrite64, file, data, size, place);
}

ssize_t pread64(int file, void *data, size_t size, off64_t place)
{
    FAILING(EIO, pread64, file, data, size, place);
}

int fsync(int file)
{
    FAILING(EIO, fsync, file);
}

int fdatasync(int file)
{
    FAILING(EIO, fdatasync, file);
}

int ftruncate64(int file, off64_t size)
{
    FAILING(EIO, ftruncate64, file, size);
}

int unlink(const char *path)
{
    FAILING(EIO, unlink, path);
}
