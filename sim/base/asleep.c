/* Does every thread of the process sleep for good: see asleep.h. */
#include "sim/base/asleep.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* How long it pauses between two looks: longer while the process is busy. */
enum { PAUSE_MS = 5, PAUSE_MAX_MS = 80 };

struct asleep_watch {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t stop;
    bool stopped;
    uint64_t (*moves)(void *);
    void (*all)(void *);
    void *context;
};

/* In a futex without a limit, or where a thread has come to stay (pause). */
static bool sleeps(const char *call)
{
    long number;
    unsigned long a[4];
    if (sscanf(call, "%ld %lx %lx %lx %lx", &number, &a[0], &a[1], &a[2], &a[3]) != 5)
        return false; /* "running" */
#ifdef SYS_pause
    if (number == SYS_pause)
        return true;
#endif
    return (number == SYS_futex && !a[3]) || (number == SYS_ppoll && !a[1] && !a[2]);
}

static bool read_of(const char *thread, const char *what, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%.20s/%s", thread, what);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    size_t length = fread(text, 1, size - 1, file);
    text[length] = 0;
    fclose(file);
    return length > 0;
}

static uint64_t mix(uint64_t sum, const char *text)
{
    for (; *text && *text != '\n'; text++)
        sum = (sum ^ (unsigned char)*text) * 0x100000001b3u;
    return (sum ^ '\n') * 0x100000001b3u;
}

/* Which threads there are and how often each went to sleep so far; 0: one of them is awake. */
static uint64_t look(void)
{
    char own[24], text[4096];
    snprintf(own, sizeof own, "%ld", (long)syscall(SYS_gettid));
    DIR *threads = opendir("/proc/self/task");
    uint64_t sum = threads ? 0xcbf29ce484222325u : 0;
    for (struct dirent *entry; sum && (entry = readdir(threads));) {
        if (entry->d_name[0] == '.' || !strcmp(entry->d_name, own))
            continue;
        const char *switches = NULL;
        if (read_of(entry->d_name, "syscall", text, sizeof text) && sleeps(text) &&
            read_of(entry->d_name, "status", text, sizeof text))
            switches = strstr(text, "\nvoluntary_ctxt_switches:");
        sum = switches ? mix(mix(sum, entry->d_name), switches + 1) : 0;
    }
    if (threads)
        closedir(threads);
    return sum;
}

/* Who slept in both looks and went to sleep no more often slept in between: all of them at once. */
static bool all_asleep(void)
{
    uint64_t first = look();
    return first && look() == first;
}

static void *watch_main(void *argument)
{
    struct asleep_watch *watch = argument;
    uint64_t moves = 0;
    long pause = PAUSE_MS;
    pthread_mutex_lock(&watch->mutex);
    while (!watch->stopped) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += pause * 1000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        if (pthread_cond_timedwait(&watch->stop, &watch->mutex, &until) != ETIMEDOUT)
            continue;
        uint64_t now = watch->moves(watch->context);
        bool asleep = now == moves && all_asleep();
        if (asleep)
            watch->all(watch->context);
        if (asleep || now != moves)
            pause = PAUSE_MS;
        else
            pause = pause < PAUSE_MAX_MS ? 2 * pause : PAUSE_MAX_MS;
        moves = now;
    }
    pthread_mutex_unlock(&watch->mutex);
    return NULL;
}

struct asleep_watch *asleep_watch_begin(uint64_t (*moves)(void *), void (*all)(void *),
                                        void *context)
{
    struct asleep_watch *watch = calloc(1, sizeof *watch);
    if (!watch)
        return NULL;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&watch->stop, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&watch->mutex, NULL);
    watch->moves = moves;
    watch->all = all;
    watch->context = context;
    if (!pthread_create(&watch->thread, NULL, watch_main, watch))
        return watch;
    free(watch);
    return NULL;
}

void asleep_watch_end(struct asleep_watch *watch)
{
    if (!watch)
        return;
    pthread_mutex_lock(&watch->mutex);
    watch->stopped = true;
    pthread_cond_signal(&watch->stop);
    pthread_mutex_unlock(&watch->mutex);
    pthread_join(watch->thread, NULL);
    pthread_cond_destroy(&watch->stop);
    pthread_mutex_destroy(&watch->mutex);
    free(watch);
}
