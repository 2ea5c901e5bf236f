/* SIGINT and SIGTERM of the parent process: the run in progress ends, what it did so far is kept.
 *
 * A second signal ends the process at once. The only state of this process that a signal handler
 * must reach stands here. */
#ifndef CLI_PROCESSES_INTERRUPT_H
#define CLI_PROCESSES_INTERRUPT_H

/* Catches both signals from here on. */
void interrupt_install(void);
/* Becomes readable when one has come; -1 before interrupt_install. */
int interrupt_descriptor(void);
/* The signal that came, 0 for none. */
int interrupt_signal(void);

#endif
