/* Operations of process groups on channels that are not MPI: nodes of the tape whose forward,
 * adjoint and tangent talk over a data group.
 *
 * Rules:
 *  1. Adjoints and tangents talk over group->adjoint, forward operations over group->data.
 *  2. An adjoint is made of operations of this file, so that a recorded pass can be differentiated.
 *  3. Messages' adjoints start at the node that started the message, in the reverse of the order of
 *     initiation; Wait only hands the cotangent on. What goes back is sent without waiting and
 *     completed by group_settle. */
#ifndef COLLECTIVES_SYSTEMS_PROCESS_GROUP_GROUP_OPERATION_H
#define COLLECTIVES_SYSTEMS_PROCESS_GROUP_GROUP_OPERATION_H

#include "collectives/systems/process_group/process_group_parts.h"

enum group_kind {
    GROUP_BROADCAST,
    GROUP_REDUCE,
    GROUP_ALL_REDUCE,
    GROUP_REDUCE_SCATTER,
    GROUP_GATHER,
    GROUP_ALL_GATHER,
    GROUP_SCATTER,
    GROUP_ALL_TO_ALL,
    GROUP_SEND,
    GROUP_RECEIVE,
    GROUP_ISEND,
    GROUP_IRECV,
    GROUP_WAIT,
    GROUP_KINDS
};

struct group_call {
    enum group_kind kind;
    struct process_op op; /* never PREMUL_SUM */
    int peer, tag;        /* peer: destination, source or root */
    bool uniform;         /* all counts are the same */
    bool later;           /* a send that group_settle completes */
    size_t count;         /* scatter: what this rank receives */
    const size_t *in_counts, *out_counts;
};

/* Runs or starts the operation: the result, or a handle. Counts are copied. */
struct diff_tensor *group_issue(struct process_group *group, const struct group_call *call,
                                struct diff_tensor *x);
struct diff_tensor *group_wait(struct process_group *group, struct diff_tensor *handle);
/* Who sent it; -1 when it was not received by an operation of this file. */
int group_operation_source(const struct diff_tensor *received);
/* Completes what adjoints have sent: all of it, or only what is done. */
void group_settle(struct process_group *group, bool all);

/* Both ways, over MPI or not: what the public functions call. */
struct diff_tensor *process_group_collective(struct process_group *group, struct group_call call,
                                             struct diff_tensor *x, const void *site);

#endif
