/* What the kernel and libc keep once a process and a rank changes: working directory, umask,
 * environment, locale. See hooks.h.
 *
 * The first two are a thread's as soon as it asks for it (unshare), the locale is a thread's
 * anyhow. So a rank that is an OS thread simply has its own; a fiber that changed something puts the
 * thread back as it was when it waits, and takes its own up again when it goes on. Every function
 * that opens a file, in whatever library, is right without being known here. */
#ifndef SIM_LIBC_PROCESS_H
#define SIM_LIBC_PROCESS_H

#include "sim/libc/hooks.h"

/* Around a fiber's wait, if state->process. */
void sim_libc_process_aside(const struct sim_libc_state *state);
void sim_libc_process_back(const struct sim_libc_state *state);

/* Called with a sentence on what a rank uses although it cannot be its own, at the first use of each.
 * NULL: nobody hears of it. What a thread has is all ranks' where they share one. */
void sim_libc_on_shared(void (*tell)(const char *what), bool ranks_share_a_thread);

/* Signals to other processes are somebody else's to refuse from now on: a sandbox's, who tells. */
void sim_libc_cage(void);

#endif
