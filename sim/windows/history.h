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

/* Who changed an element last; kept in a table by address, where newer ones displace others. */
struct sim_last_atomic {
    uint64_t element;
    uint32_t rank, op;
};

struct sim_win_access {
    struct trace_access row;
    const void *request; /* that completes it at the origin, too; NULL: none */
};

/* The caller's window begins to exist. */
void sim_history_begin(struct sim_win *win);
void sim_history_end(struct sim_win *win);
/* An access to a target's region began; `access` says the kind, and reduction and type. */
void sim_history_access(struct sim_win *win, int target, const struct sim_region *region,
                        const struct trace_access *access);
/* An atomic access changed (or read) one element of a target: whoever reads it atomically knows
 * what its writer did before. Flags, locks and queues in windows order ranks by that. */
void sim_history_atomic_written(struct sim_win *win, int target, const void *element);
void sim_history_atomic_read(struct sim_win *win, int target, const void *element);
/* The accesses begun since there were `first` are those of a request. */
void sim_history_requested(struct sim_win *win, size_t first, const void *request);
/* Accesses to a target are complete (-1: to all); or only at the origin, which is enough for those
 * that change nothing: whoever has the data has read them. */
void sim_history_complete(struct sim_win *win, int target);
void sim_history_complete_locally(struct sim_win *win, int target);
/* A request was completed by the program: the same for its accesses. */
void sim_history_waited(struct sim_rank *rank, const void *request);

/* The stretch around an address that lies outside all memory of the rank's windows is cut down to
 * [*low, *high); false: the address lies within. */
bool sim_history_outside(const struct sim_rank *rank, uintptr_t address, uintptr_t *low,
                         uintptr_t *high);
/* The rank's program reads or writes these bytes. */
void sim_history_touch(struct sim_rank *rank, uintptr_t low, uintptr_t high, bool write,
                       const void *site);
/* The same by an atomic operation of the program's own. What such operations order is not known. */
void sim_history_touch_atomically(struct sim_rank *rank, uintptr_t low, uintptr_t high, bool write,
                                  const void *site);
/* The memory is no longer the window's: like a store, which no access of others may meet. */
void sim_history_detached(struct sim_win *win, const void *memory, MPI_Aint size, const void *site);
/* An operation on the rank's own memory, number `operation` of the recorder, is over: it read or
 * wrote this region since it began. 0: a call that is none, at `site`. */
void sim_history_used(struct sim_rank *rank, const struct sim_region *region, uint32_t operation,
                      const void *site);
/* Records what is kept of loads and stores. */
void sim_history_flush(struct sim_rank *rank);
void sim_history_release(struct sim_rank *rank);

#endif
