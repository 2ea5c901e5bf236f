/* What the files on process groups share; nobody else includes this. */
#ifndef COLLECTIVES_SYSTEMS_PROCESS_GROUP_PROCESS_GROUP_PARTS_H
#define COLLECTIVES_SYSTEMS_PROCESS_GROUP_PROCESS_GROUP_PARTS_H

#include "collectives/arithmetic/local.h"
#include "collectives/systems/process_group/process_group.h"

struct group_sending;

/* Lives in the tape's memory. */
struct process_group {
    struct diff_tape *tape;
    struct data_channel *channel;
    struct data_group *data; /* traffic that is not on the tape: sizes, objects */
    MPI_Comm comm;           /* of `data`; MPI_COMM_NULL: the operations of group_operation.h */
    bool plain;              /* not by MPI even where there is one */
    bool is_world;           /* `data` belongs to the channel */
    int rank, size;
    struct data_group *adjoint;                       /* without MPI: where adjoints talk */
    struct diff_channel *forward_keys, *adjoint_keys; /* by which the tape orders messages */
    struct group_sending *sending;                    /* by adjoints, not waited for yet */
};

/* Ends the rank: wrong use of this operation. */
_Noreturn void process_group_misuse(const struct process_group *group, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Ends the rank with the channel's error unless `right`. */
void process_group_expect(const struct process_group *group, bool right);
/* `x` belongs to the group's tape, and the other rank exists. */
void process_group_check(const struct process_group *group, const struct diff_tensor *x);
void process_group_check_peer(const struct process_group *group, const char *what, int peer,
                              bool any);
/* Memory that goes when the tape is cleared. */
void *process_group_take(const struct process_group *group, size_t size);
enum data_type process_group_type(const struct diff_tensor *x);
size_t process_group_total(const struct process_group *group, const size_t *counts);
MPI_Op process_op_mpi(struct process_op op);

#endif
