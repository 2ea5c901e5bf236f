/* What a process that runs a user's program does not keep of the launcher's: its descriptors. */
#ifndef CLI_PROCESSES_ISOLATE_H
#define CLI_PROCESSES_ISOLATE_H

/* For a forked child before it loads a program: closes what exec would have closed, which is all
 * that the launcher opened (the database, recording memory, pipes), so that no number a program may
 * happen to write to is one of them. `keep` (-1: none) stays open under another, high number, which
 * is returned. */
int isolate_descriptors(int keep);

/* For the same child: when the machine's memory is used up, the kernel ends it before any other
 * process. */
void isolate_memory(void);

#endif
