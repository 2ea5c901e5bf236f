/* A rank's handler of a signal, called wherever the signal came.
 *
 * It may come in the middle of a call of MPI, of this rank or another, and MPI need not be safe for
 * signals: implementations may forbid calls from handlers. Here the thread is nobody's rank as long
 * as the handler runs. So a call of MPI there returns an error at once, nothing is recorded twice,
 * and the rank whose handler it is ends the world when it is back in its own hands, with a finding
 * that names the call (worlds/error.c). */
#ifndef SIM_WORLDS_INTERRUPT_H
#define SIM_WORLDS_INTERRUPT_H

#include "sim/libc/hooks.h"

#include <stdbool.h>

/* Hooks of libc: see there. */
bool sim_interrupt_begin(struct sim_libc_state *owner, int number,
                         struct sim_libc_interrupted *interrupted);
void sim_interrupt_end(const struct sim_libc_interrupted *interrupted);

/* The handler does not return: the rank ends in it, or has left it by a jump. */
void sim_interrupt_over(void);

/* The calling thread is in one. */
bool sim_interrupt_running(void);

#endif
