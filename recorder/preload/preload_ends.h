/* How a rank of a real MPI ended, noted in its file by the process itself: its exit code, the
 * signal that ended it, or the call that failed. What _exit or SIGKILL end leaves nothing.
 *
 * Rules:
 *  1. Signals of faults and of abort() are looked at on their way only: whoever had them before
 *     gets them next. Where the program had them before MPI_Init they are left alone, and so they
 *     are when it takes them later.
 *  2. Only the process that began the rank notes anything; one that it forks ends by itself.
 *  3. What was noted first stays.
 *  4. Errors are looked at where the program left MPI_ERRORS_ARE_FATAL in place, and are fatal
 *     still. */
#ifndef RECORDER_PRELOAD_PRELOAD_ENDS_H
#define RECORDER_PRELOAD_PRELOAD_ENDS_H

#include "recorder/record.h"

#include <stddef.h>

/* `info` lies at `offset` of the file `path`, which must stay where it is. Once in a process. */
void preload_ends_begin(struct record_rank *info, const char *path, size_t offset);
/* MPI_Finalize is over and the file closed: from now on only an exit code is added to it. */
void preload_ends_finalized(void);

#endif
