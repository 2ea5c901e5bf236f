/* How the process of a run died, where it could not say so itself: killed by a signal that cannot
 * be caught, by the kernel for want of memory, ended in the middle by one of its ranks. The rank is
 * named, and the place after which it happened. */
#ifndef CLI_RUNNING_DEATH_H
#define CLI_RUNNING_DEATH_H

#include "cli/running/board.h"
#include "traces/trace/trace.h"

/* What is to be known before the run: how many processes the kernel had ended for want of memory.
 */
struct death_before {
    long long oom_kills;
    bool caged; /* a sandbox refuses system calls */
};

struct death_before death_before(void);

/* One sentence about the end; `board` is the parent's copy. */
void death_text(int status, enum watch_end end, const struct board *board, char *text, size_t size);

/* Adds what is known to the trace, from which the checker makes findings (X001, X002, X007, X008, and M009 for a thread that may not
 * call MPI). `object` is the program. */
void death_note(struct trace *trace, int status, enum watch_end end, const struct board *board,
                struct death_before before, const char *object);
/* The time is over, and nobody said where: the rank that stood somewhere when it was asked, which the question may have woken (poll,
 * sigsuspend), or that ran and did not answer. */
void death_note_standing(struct trace *trace, const struct board *board, const char *object);

#endif
