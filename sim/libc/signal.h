/* Signals of ranks, for the launcher's own handlers. */
#ifndef SIM_LIBC_SIGNAL_H
#define SIM_LIBC_SIGNAL_H

#include <signal.h>
#include <stdbool.h>

/* Calls the handler that a rank has set for this signal, the running one's before any other's, or
 * does nothing where the running rank ignores it. False: nobody asked for it. */
bool sim_libc_signal(int number, siginfo_t *info, void *context);

/* Whoever runs now does not return to a handler that was being called, if there is one. */
void sim_libc_handler_left(void);

#endif
