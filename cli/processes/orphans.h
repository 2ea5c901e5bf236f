/* Processes that a program started and left behind: they end with its run. */
#ifndef CLI_PROCESSES_ORPHANS_H
#define CLI_PROCESSES_ORPHANS_H

/* Before a run: processes whose parents have ended become children of this one, not of init. */
void orphans_adopt(void);
/* After it: ends them all. No child may be left that the caller wants to keep. */
void orphans_end(void);

#endif
