/* Processes that a program started and left behind: they end with its run. */
#ifndef CLI_PROCESSES_ORPHANS_H
#define CLI_PROCESSES_ORPHANS_H

#include <sys/types.h>

/* Before a run: processes whose parents have ended become children of this one, not of init. */
void orphans_adopt(void);
/* Waits for the end of `child`, which ends or was killed, and returns its status as waitpid says it. Who holds it back (a process that
 * traces it) is ended. */
int orphans_wait(pid_t child);
/* After a run: ends them all. No child may be left that the caller wants to keep. */
void orphans_end(void);

#endif
