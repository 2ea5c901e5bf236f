/* The launcher of another MPI, which starts as many processes as there are ranks; each of ours is all of them. */
#ifndef CLI_PROCESSES_OTHER_LAUNCHER_H
#define CLI_PROCESSES_OTHER_LAUNCHER_H

/* How many times it has started us, for the first of them; 0: it has not, or this is another one. */
int other_launcher_starts(void);

#endif
