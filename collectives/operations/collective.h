/* Collectives on a channel: what all of them share. One file per collective (coll_*.c) adds its
 * call, its adjoint, its tangent and its naive reference.
 *
 * Blocks are dense here: contributions follow each other without gaps. tape/layout.c maps
 * displacements, overlaps and derived types onto that. Blocking and nonblocking forms share
 * everything: `launch` starts the adjoint's communication, blocking or not as the forward operation
 * was, and `finish` completes it. */
#ifndef COLLECTIVES_OPERATIONS_COLLECTIVE_H
#define COLLECTIVES_OPERATIONS_COLLECTIVE_H

#include "collectives/arithmetic/local.h"
#include "collectives/tape/request.h"

struct collective;
struct reference_case;

struct collective_rule {
    struct diff_operation blocking, nonblocking, persistent;
    bool receives_in_place; /* MPI_IN_PLACE stands for the receive buffer (Scatter), not the send
                               buffer */
    /* The MPI call; `request` NULL: the blocking form. */
    int (*call)(const struct collective *collective, const void *send, void *receive,
                MPI_Request *request);
    void (*launch)(struct diff_node *node, struct diff_request *adjoint);
    struct diff_tensor *(*finish)(struct diff_node *node, struct diff_request *adjoint);
    struct diff_tensor *(*tangent)(struct diff_node *node, struct diff_tensor *x_dot);
    void (*reference)(const struct reference_case *all); /* naive and serial: reference.h */
};

struct collective {
    const struct collective_rule *rule;
    struct diff_channel *channel;
    MPI_Op op;
    int root;
    enum diff_type type;
    bool nonblocking, in_place;
    bool transposed;                         /* neighborhoods: the reversed graph */
    size_t count;                            /* values per rank where that is one number */
    size_t count_in;                         /* intercommunicators: received of each, where it is
                                                another one */
    const int *send_counts, *receive_counts; /* per rank, NULL where uniform */
    const int *send_begins, *receive_begins; /* where they start, dense */
    size_t result_count;                     /* values of the result on this rank */
    size_t own_begin, own_count;             /* IN_PLACE: the own block in the buffer */
    bool own_read;       /* the result is the whole buffer, of which that block is read */
    const int *index_in; /* MINLOC, MAXLOC: NULL for the rank */
    int *index_out;
    struct diff_persistent *persistent; /* what starts it; NULL: nothing stays */
    /* filled in by the engine */
    struct diff_request *request;
    void *pairs; /* MINLOC, MAXLOC: what MPI sends and receives */
};

/* Runs or starts the collective: the result, or a handle. `spec` is copied. */
struct diff_tensor *collective_issue(const struct collective *spec, struct diff_tensor *x);
/* The same of what the program asks for, which is checked; `site` and `function` are its call's. */
struct diff_tensor *collective_at(const struct diff_call *call, const void *site,
                                  const char *function);
struct diff_tensor *collective_start(struct diff_persistent *persistent, struct diff_tensor *x);
/* Persistent collectives (persistent.c). `spec` is one on a channel of its own, with so many values
 * to send; what is made knows the call again, for another operand. */
struct diff_persistent *persistent_collective(const struct diff_call *call,
                                              const struct collective *spec, size_t sends);
struct diff_call persistent_call(const struct diff_persistent *persistent, struct diff_tensor *x);
struct diff_channel *persistent_channel(const struct diff_persistent *persistent);
MPI_Request *persistent_request(struct diff_persistent *persistent);
/* Fills the buffers and starts; and takes what came out of them. */
void persistent_start(const struct collective *collective, const void *send, size_t sends,
                      const void *receive, size_t receives);
void persistent_arrived(const struct collective *collective, void *receive, size_t receives);
/* The same collective with another operand, on the adjoint channel and in the node's own form. */
struct collective collective_for_adjoint(const struct diff_node *node,
                                         const struct collective_rule *rule);
/* The same collective again for the tangents. */
struct collective collective_for_tangent(const struct diff_node *node);
/* All ranks' inputs, one after the other: in the adjoint (a part of it), or at once. */
struct diff_tensor *collective_gather_inputs(struct diff_node *node);
struct diff_tensor *collective_gather(const struct diff_node *node, struct diff_tensor *x);
/* What MPI is told of the type: a pair for MINLOC and MAXLOC. */
MPI_Datatype collective_type(const struct collective *collective);
/* Whether this rank is the root of a rooted collective. */
bool collective_is_root(const struct diff_node *node);
/* Whether it is rooted in the other group, and so has this rank for a member: it sends there, or
 * receives from there. Of other communicators every rank is one. */
bool collective_is_member(const struct collective *collective);
/* Values received of each rank, where that is one number. */
int collective_count_in(const struct collective *collective);
/* The tangent of a fold of the own group, where the other one gets it. */
struct diff_tensor *collective_fold_across(const struct diff_node *node, struct diff_tensor *x_dot);
struct diff_tensor *collective_part(struct diff_tensor *part);
/* The adjoint of a reduction with its parts in hand: the summed cotangent, and for operators that
 * are not linear everybody's operands. */
struct diff_tensor *collective_reduction_finish(struct diff_node *node,
                                                struct diff_request *adjoint);
struct diff_tensor *collective_y_bar(const struct diff_node *node,
                                     const struct diff_request *adjoint);

/* The rows' shared functions. */
void collective_forward(struct diff_node *node);
void collective_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                        struct diff_tensor **x_bar);
void collective_adjoint_started(struct diff_node *node, struct diff_tensor *const *y_bar,
                                struct diff_tensor **x_bar);
void collective_launch(struct diff_node *node, struct diff_request *adjoint);
void collective_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                        struct diff_tensor **y_dot);

#define COLLECTIVE_ROWS(name_, kind_, saves_)                                                      \
    .blocking = {.name = name_,                                                                    \
                 .kind = kind_,                                                                    \
                 .saves = (saves_),                                                                \
                 .communicates = true,                                                             \
                 .forward = collective_forward,                                                    \
                 .adjoint = collective_adjoint,                                                    \
                 .tangent = collective_tangent},                                                   \
    .nonblocking = {.name = "I" name_,                                                             \
                    .kind = kind_,                                                                 \
                    .saves = (saves_),                                                             \
                    .communicates = true,                                                          \
                    .forward = collective_forward,                                                 \
                    .adjoint = collective_adjoint_started,                                         \
                    .tangent = collective_tangent,                                                 \
                    .launch = collective_launch},                                                  \
    .persistent = {.name = name_ "_init",                                                          \
                   .kind = kind_,                                                                  \
                   .saves = (saves_),                                                              \
                   .communicates = true,                                                           \
                   .forward = collective_forward,                                                  \
                   .adjoint = collective_adjoint_started,                                          \
                   .tangent = collective_tangent,                                                  \
                   .launch = collective_launch}

extern const struct collective_rule rule_allreduce, rule_reduce, rule_bcast, rule_gather,
    rule_gatherv, rule_scatter, rule_scatterv, rule_allgather, rule_allgatherv, rule_reduce_scatter,
    rule_reduce_scatter_block, rule_alltoall, rule_alltoallv, rule_alltoallw, rule_scan,
    rule_exscan, rule_barrier, rule_neighbor_allgather, rule_neighbor_allgatherv,
    rule_neighbor_alltoall, rule_neighbor_alltoallv, rule_neighbor_alltoallw;

/* The MPI_Op to pass to MPI: DIFF_AVG is a sum that is divided afterwards. */
MPI_Op collective_mpi_op(MPI_Op op);
/* Ends the rank if the op cannot be applied to the type or has no derivative. */
void collective_op_check(struct diff_tensor *x, MPI_Op op, const char *name);
bool collective_op_is_linear(MPI_Op op);

#endif
