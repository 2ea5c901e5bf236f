/* A cage for the process that runs a program nobody trusts (--sandbox): it reads what its user may
 * read, and writes only beneath a scratch folder; it has no network, starts no processes, and sends
 * no signals to others; its memory and its files are bounded.
 *
 * Landlock decides about files, a seccomp filter about everything else; both hold for all threads
 * and cannot be taken off. What the filter catches is asked here: it is refused with an error, and
 * told to whoever notes it. The filter knows x86-64 and arm64. */
#ifndef CLI_PROCESSES_SANDBOX_H
#define CLI_PROCESSES_SANDBOX_H

#include "traces/base/failure.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

enum {
    SANDBOX_FILE_MOST = 64 << 20, /* bytes of each file */
    SANDBOX_FILES_MOST = 64,      /* new ones in one run */
    SANDBOX_PATH = 128            /* bytes of a scratch folder's name */
};

/* In the parent: makes the scratch folder, in $TMPDIR or /tmp. False where the kernel has not what a
 * sandbox needs (FAILURE_REQUIREMENT), or there is no such folder. */
bool sandbox_begin(char folder[SANDBOX_PATH], struct failure *failure);
/* Removes it with all that is in it; "" is no folder. */
void sandbox_end(const char *folder);

/* Of a signal SIGSYS. `text` says what was refused, where that is worth telling, else it is "". */
typedef void sandbox_note(const char *text, const void *context);

/* In the child, while it has one thread: from now on. $TMPDIR is the folder. */
bool sandbox_enter(const char *folder, sandbox_note *note, struct failure *failure);
/* Whether a signal comes from the filter; then it has been dealt with. */
bool sandbox_trap(const siginfo_t *info, void *context);

#endif
