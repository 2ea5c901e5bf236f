/* What happens to the memory of windows, for the race check: accesses of one-sided communication,
 * each with the call that completes it, and the program's own loads and stores.
 *
 * An access is kept by its origin's handle until it is complete, then recorded. Loads and stores are
 * seen in instrumented programs only; neighbouring ones of one place between two MPI calls are one. */
#ifndef SIM_WINDOWS_HISTORY_H
#define SIM_WINDOWS_HISTORY_H

#include "sim/memory/region.h"
#include "traces/trace/trace.h"

struct sim_win;
struct sim_history;

/* The caller's window begins to exist. */
void sim_history_begin(struct sim_win *win);
void sim_history_end(struct sim_win *win);
/* An access to a target's region began; `access` says the kind, and reduction and type. */
void sim_history_access(struct sim_win *win, int target, const struct sim_region *region,
                        const struct trace_access *access);
/* Accesses to a target are complete (-1: to all). */
void sim_history_complete(struct sim_win *win, int target);

/* The stretch around an address that lies outside all memory of the rank's windows is cut down to
 * [*low, *high); false: the address lies within. */
bool sim_history_outside(const struct sim_rank *rank, uintptr_t address, uintptr_t *low,
                         uintptr_t *high);
/* The rank's program (or an operation on the rank's buffers) reads or writes these bytes. */
void sim_history_touch(struct sim_rank *rank, uintptr_t low, uintptr_t high, bool write,
                       const void *site);
/* Records what is kept of loads and stores. */
void sim_history_flush(struct sim_rank *rank);
void sim_history_release(struct sim_rank *rank);

#endif
