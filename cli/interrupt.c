/* Interruptions: see interrupt.h. */
#include "cli/interrupt.h"

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static volatile sig_atomic_t caught;
static int ends[2] = {-1, -1};

/* Also runs in a child that was forked since: its copy changes nothing, the pipe is shared. */
static void on_signal(int number)
{
    caught = number;
    if (write(ends[1], "", 1) < 0)
        return; /* full: it is readable already */
}

void interrupt_install(void)
{
    static const int signals[] = {SIGINT, SIGTERM};
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
        return;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
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
