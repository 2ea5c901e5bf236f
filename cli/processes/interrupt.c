/* Interruptions: see interrupt.h. */
#include "cli/processes/interrupt.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t caught;
static int ends[2] = {-1, -1};

static struct timespec first; /* when the first signal came */

static double seconds_since_first(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - first.tv_sec) + (double)(now.tv_nsec - first.tv_nsec) * 1e-9;
}

/* A second signal ends us at once, but not one that belongs to the first: timeout(1) sends to its
 * child, then to the group of both. Also runs in a child that was forked since: its copy changes
 * nothing, the pipe is shared. */
static void on_signal(int number)
{
    if (caught && seconds_since_first() > 0.5) {
        signal(number, SIG_DFL);
        raise(number);
        return;
    }
    if (!caught)
        clock_gettime(CLOCK_MONOTONIC, &first);
    caught = number;
    if (write(ends[1], "", 1) < 0)
        return; /* full: it is readable already */
}

void interrupt_install(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
        return;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction action = {.sa_handler = on_signal}, before;
        bool ignored = sigaction(signals[i], NULL, &before) == 0 && before.sa_handler == SIG_IGN &&
                       signals[i] == SIGHUP; /* nohup */
        if (!ignored)
            sigaction(signals[i], &action, NULL);
    }
}

int interrupt_descriptor(void)
{
    return ends[0];
}

int interrupt_signal(void)
{
    return caught;
}
