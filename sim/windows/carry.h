/* Accesses to windows move their data.
 *
 * They do so when they are called, or (--delivery late) as late as MPI lets them: at the call that completes them at the target. What
 * a local completion is to bring is brought there, in the order of the calls; what it frees of the origin's memory is kept aside. */
#ifndef SIM_WINDOWS_CARRY_H
#define SIM_WINDOWS_CARRY_H

#include "sim/datatypes/datatype.h"
#include "sim/operators/op.h"
#include "sim/windows/window.h"

/* Elements in somebody's memory. */
struct sim_elements {
    void *buffer;
    MPI_Count count;
    MPI_Datatype handle;
    const struct sim_datatype *type;
};

struct sim_access {
    const char *function;
    struct sim_elements origin, compared, result, target; /* target.buffer: set once it is known */
    int rank;
    MPI_Aint displacement;
    MPI_Op op_handle;
    const struct sim_op *op;
    MPI_Win handle;
    bool single;     /* one element of a predefined type */
    bool requested;  /* completed by a request of its own */
    bool gets, puts; /* get: target to origin; put: origin to target; both false: accumulates */
};

size_t sim_elements_bytes(const struct sim_elements *elements);

/* In the monitor, all of these. */
int sim_carry_now_or_late(struct sim_win *win, const struct sim_access *access);
/* The caller's accesses to a target (-1: to all) are completed, at the target too or only here. */
void sim_carry_complete(struct sim_win *win, int target, bool remote);
/* Forgets what has not moved. */
void sim_carry_release(struct sim_win *win);

#endif
