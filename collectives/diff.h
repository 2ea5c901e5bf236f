/* diff.h: differentiable message passing in C.
 *
 * The convention. Rank r maps its inputs x_r to its outputs y_r. The objective is J, the sum over
 * the ranks of their local losses; every rank's copy of a value is a separate variable. The
 * gradient of x_r is dJ/dx_r. A complex variable's gradient is dJ/d(re) + i dJ/d(im).
 *
 * Rules that hold for every function:
 *  - Tensors are values of one tape, live until diff_tape_free or diff_tape_clear, and never need
 *    to be freed one by one. Operations return new tensors; nothing is changed in place unless it
 *    says so.
 *  - Wrong use (another tape's tensor, a shape that does not fit, a handle used twice) ends the
 *    rank with a finding that names the place; no function returns an error code for it.
 *  - Communication functions are as collective as the MPI operation they are named after, and the
 *    first *collective* operation of a tape on a communicator duplicates it (also collective).
 *    Point to point messages on a communicator other than the tape's own need diff_comm_register
 *    before.
 *  - A nonblocking operation returns a handle, which is a tensor without values. diff_wait turns
 *    it into the result. A handle is waited for (or joined) once; as a dependency of a join it
 *    may appear freely. */
#ifndef DIFF_H
#define DIFF_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct diff_tape;
struct diff_tensor;

enum diff_type { DIFF_FLOAT, DIFF_DOUBLE, DIFF_COMPLEX_FLOAT, DIFF_COMPLEX_DOUBLE, DIFF_HANDLE };

/* Order of the backward pass. Program: every recorded communication runs its adjoint, in the
 * reverse of the order of initiation. Data: only what the losses reach runs, ordered by data edges
 * and joins. */
enum diff_order { DIFF_ORDER_PROGRAM, DIFF_ORDER_DATA };

/* The mean over the ranks, wherever an MPI_Op is asked for. */
#define DIFF_AVG ((MPI_Op)0xa56)

/* What a reduction of the user's must tell to be differentiated, elementwise for y = f(a, b). */
struct diff_op_rules {
    /* The combination itself on `count` values. */
    void (*combine)(enum diff_type type, size_t count, const void *a, const void *b, void *y);
    /* df/da and df/db. */
    void (*partials)(enum diff_type type, size_t count, const void *a, const void *b, void *by_a,
                     void *by_b);
    /* d2f/da2, d2f/dadb, d2f/db2; NULL where it is used to first order only. */
    void (*second)(enum diff_type type, size_t count, const void *a, const void *b, void *aa,
                   void *ab, void *bb);
};
/* Makes an MPI_Op known to this rank's tapes. */
void diff_op_register(MPI_Op op, const struct diff_op_rules *rules);

/* ---- tapes ---- */

/* A tape for programs that talk over `comm`; collective over it (its adjoint traffic gets a
 * duplicate). */
struct diff_tape *diff_tape_new(MPI_Comm comm);
/* Frees the tape with all its tensors; collective over every communicator the tape duplicated. */
void diff_tape_free(struct diff_tape *tape);
/* Forgets all tensors and nodes, keeps memory and communicators: for loops. On all ranks alike, as
 * far as passes with DIFF_GRAPH go. */
void diff_tape_clear(struct diff_tape *tape);
/* Sets the order of backward passes; --order and SIMRUN_ORDER override it. */
void diff_tape_order(struct diff_tape *tape, enum diff_order order);
/* Makes `comm` known to the tape before point to point operations use it; collective over `comm`.
 */
void diff_comm_register(struct diff_tape *tape, MPI_Comm comm);
/* Between these nothing is recorded: results are constants. Nest like brackets. */
void diff_no_grad_begin(struct diff_tape *tape);
void diff_no_grad_end(struct diff_tape *tape);

/* ---- tensors ---- */

/* A variable of the gradient check with a name unique on its rank; values are copied. */
struct diff_tensor *diff_input(struct diff_tape *tape, const char *name, enum diff_type type,
                               size_t dims, const size_t *shape, const void *values);
/* A variable that nobody checks: for programs that join several tapes by hand, or mark what they
 * compute. Its gradient is there all the same. */
struct diff_tensor *diff_leaf(struct diff_tape *tape, enum diff_type type, size_t dims,
                              const size_t *shape, const void *values);
/* The same as diff_input for a variable of which every rank of the tape's communicator holds a copy: the gradient is
 * that of all copies together. */
struct diff_tensor *diff_input_replicated(struct diff_tape *tape, const char *name,
                                          enum diff_type type, size_t dims, const size_t *shape,
                                          const void *values);
/* A tensor that needs no gradient; values are copied, NULL for zeros. */
struct diff_tensor *diff_constant(struct diff_tape *tape, enum diff_type type, size_t dims,
                                  const size_t *shape, const void *values);
struct diff_tensor *diff_zeros(struct diff_tape *tape, enum diff_type type, size_t dims,
                               const size_t *shape);
/* The same values without history. */
struct diff_tensor *diff_detach(struct diff_tensor *x);
const void *diff_values(const struct diff_tensor *x);
/* For changing values in place: a value that an operation has saved must not be changed before
 * backward has read it (found there as G008). */
void *diff_values_modify(struct diff_tensor *x);
size_t diff_count(const struct diff_tensor *x);
enum diff_type diff_type_of(const struct diff_tensor *x);
bool diff_requires_gradient(const struct diff_tensor *x);
/* The first value's real part: for losses. */
double diff_scalar(const struct diff_tensor *x);

/* ---- backward ---- */

/* Gradients of J = the sum of the ranks' losses; a rank without a loss passes NULL to
 * diff_backward_none. Collective over everything the tape communicated. Gradients accumulate over
 * calls. */
void diff_backward(struct diff_tensor *loss);
void diff_backward_none(struct diff_tape *tape);
/* Declares that every rank of the tape's communicator holds the same loss (checked): for J it counts
 * once. */
void diff_backward_replicated(struct diff_tensor *loss);
/* Several roots with cotangents of their own (NULL: one, for scalars). */
enum { DIFF_RETAIN = 1, DIFF_GRAPH = 2 };
/* RETAIN allows another backward through the same nodes; GRAPH records the pass itself, so that its
 * gradients can be differentiated again (implies RETAIN). */
void diff_backward_from(struct diff_tape *tape, size_t count, struct diff_tensor *const *roots,
                        struct diff_tensor *const *cotangents, unsigned flags);
/* The accumulated gradient, in the variable's type; zeros when nothing reached it. Owned by the
 * tape. */
const void *diff_gradient(struct diff_tensor *x);
/* The same as a tensor, differentiable after DIFF_GRAPH; NULL when nothing reached it. */
struct diff_tensor *diff_gradient_tensor(struct diff_tensor *x);
void diff_gradient_clear(struct diff_tensor *x);
/* Keeps the gradient of a tensor that is not an input. */
void diff_retain_gradient(struct diff_tensor *x);

/* ---- marks: hand-written adjoint programs, no tape needed ---- */

/* `values` is a variable: perturbations are written into it here. */
void diff_mark_input(const char *name, double *values, size_t count);
/* Adds to this rank's objective. */
void diff_mark_objective(double value);
/* The same for a program that computes with complex numbers in place of real ones: `values` are
 * `count` complex doubles, of which the real parts are the variable. The check then puts a tiny
 * imaginary part there and reads the derivative from the objective's, exact to rounding (the complex
 * step). What is between must be analytic: abs, conj and comparisons of imaginary parts are not;
 * where differences contradict the step, they alone are compared, and the verdict says so. */
void diff_mark_complex(const char *name, void *values, size_t count);
void diff_mark_complex_objective(double real, double imaginary);
/* What the program computed as the gradient of that variable. */
void diff_mark_gradient(const char *name, const double *gradient, size_t count);

/* ---- forward mode ---- */

/* Carries tangents of `inputs` through everything on the tape, in program order; collective like
 * the forward pass was. Tensors not named have tangent zero. */
void diff_jvp(struct diff_tape *tape, size_t count, struct diff_tensor *const *inputs,
              struct diff_tensor *const *tangents);
/* The tangent of a tensor after diff_jvp; zeros when nothing reached it. */
struct diff_tensor *diff_tangent(struct diff_tensor *x);

/* ---- local operations ---- */

struct diff_tensor *diff_add(struct diff_tensor *a, struct diff_tensor *b);
struct diff_tensor *diff_sub(struct diff_tensor *a, struct diff_tensor *b);
struct diff_tensor *diff_mul(struct diff_tensor *a, struct diff_tensor *b);
struct diff_tensor *diff_div(struct diff_tensor *a, struct diff_tensor *b);
struct diff_tensor *diff_neg(struct diff_tensor *a);
struct diff_tensor *diff_scale(struct diff_tensor *a, double factor);
/* Every value plus a constant. */
struct diff_tensor *diff_shift(struct diff_tensor *a, double shift);
/* Every value times the one value of a real scalar tensor. */
struct diff_tensor *diff_scale_by(struct diff_tensor *a, struct diff_tensor *factor);
struct diff_tensor *diff_sum(struct diff_tensor *a);
struct diff_tensor *diff_mean(struct diff_tensor *a);
/* The real scalar Re(sum conj(b) a). */
struct diff_tensor *diff_dot(struct diff_tensor *a, struct diff_tensor *b);
struct diff_tensor *diff_exp(struct diff_tensor *a);
struct diff_tensor *diff_log(struct diff_tensor *a);
struct diff_tensor *diff_tanh(struct diff_tensor *a);
struct diff_tensor *diff_sigmoid(struct diff_tensor *a);
/* max(a, 0); the derivative at 0 is 0. */
struct diff_tensor *diff_relu(struct diff_tensor *a);
struct diff_tensor *diff_sqrt(struct diff_tensor *a);
struct diff_tensor *diff_sin(struct diff_tensor *a);
struct diff_tensor *diff_cos(struct diff_tensor *a);
/* Real numbers to a constant power. */
struct diff_tensor *diff_power(struct diff_tensor *a, double exponent);
/* The derivative at 0 is 0. */
struct diff_tensor *diff_abs(struct diff_tensor *a);
/* Element by element; of two equal ones the derivative is that of the first. */
struct diff_tensor *diff_maximum(struct diff_tensor *a, struct diff_tensor *b);
struct diff_tensor *diff_minimum(struct diff_tensor *a, struct diff_tensor *b);
/* Of `a` where the condition holds, else of `b`; the other one may be no number there. */
struct diff_tensor *diff_where(const bool *condition, struct diff_tensor *a, struct diff_tensor *b);
/* Repeats values so that the shape is this one: compared from the last dimension on, each must be
 * equal, 1, or absent. */
struct diff_tensor *diff_broadcast(struct diff_tensor *x, size_t dims, const size_t *shape);
/* Along one axis, which the result has no more; of equal maxima the first counts. */
struct diff_tensor *diff_sum_axis(struct diff_tensor *x, size_t axis);
struct diff_tensor *diff_max_axis(struct diff_tensor *x, size_t axis);
/* y[i] = x[index[i]], and y[index[i]] += x[i] within `count` zeros; both are vectors, and an element
 * may be named several times. */
struct diff_tensor *diff_take(struct diff_tensor *x, size_t count, const size_t *index);
struct diff_tensor *diff_put(struct diff_tensor *x, const size_t *index, size_t count);
/* Tensors of one shape, as the rows of a tensor with one more dimension; and rows (of the first
 * dimension) apart, `sizes[i]` of them each. */
struct diff_tensor *diff_stack(size_t count, struct diff_tensor *const *parts);
void diff_split(struct diff_tensor *x, size_t count, const size_t *sizes,
                struct diff_tensor **parts);
/* [batch, rows, inner] times [batch, inner, columns]. */
struct diff_tensor *diff_matmul_batched(struct diff_tensor *a, struct diff_tensor *b);
/* Every row of a matrix less its mean, by the root of its variance plus epsilon. */
struct diff_tensor *diff_layer_norm(struct diff_tensor *x, double epsilon);
/* Matrices: [rows, inner] times [inner, columns]. */
struct diff_tensor *diff_matmul(struct diff_tensor *a, struct diff_tensor *b);
struct diff_tensor *diff_transpose(struct diff_tensor *a);
/* Of every row of a matrix. */
struct diff_tensor *diff_softmax(struct diff_tensor *a);
/* Mean over the rows of -log softmax(a)[row, labels[row]]. */
struct diff_tensor *diff_cross_entropy(struct diff_tensor *a, const int *labels);
struct diff_tensor *diff_reshape(struct diff_tensor *x, size_t dims, const size_t *shape);
/* `count` values (in memory order) from `begin` on, as a vector. */
struct diff_tensor *diff_slice(struct diff_tensor *x, size_t begin, size_t count);
/* All values of all tensors one after the other, as a vector. */
struct diff_tensor *diff_concat(size_t count, struct diff_tensor *const *parts);
/* The named rows (of the first dimension); a row may be named several times. */
struct diff_tensor *diff_gather_rows(struct diff_tensor *x, size_t count, const size_t *rows);
/* The same values converted between float and double. */
struct diff_tensor *diff_cast(struct diff_tensor *x, enum diff_type type);
/* Elements in the order in which `count` of an MPI datatype lists them, and back over `into` (NULL:
 * over zeros): gaps keep the old content. The datatype must consist of values of the tensor's type.
 */
struct diff_tensor *diff_pack(struct diff_tensor *x, int count, MPI_Datatype datatype);
struct diff_tensor *diff_unpack(struct diff_tensor *packed, int count, MPI_Datatype datatype,
                                struct diff_tensor *into);

/* An operation of the user's on one tensor. vjp must add nothing: it writes x_bar. jvp may be NULL.
 * Both get the input's values; context is theirs and must outlive the tape. */
struct diff_custom_rules {
    const char *name;
    size_t (*result_count)(size_t count, void *context); /* NULL: as many as the input has */
    void (*forward)(size_t count, const void *x, void *y, void *context);
    void (*vjp)(size_t count, const void *x, const void *y_bar, void *x_bar, void *context);
    void (*jvp)(size_t count, const void *x, const void *x_dot, void *y_dot, void *context);
};
struct diff_tensor *diff_custom(struct diff_tensor *x, const struct diff_custom_rules *rules,
                                void *context);
/* Values changed by a lossy coder on the way (compression, reduced precision): decode(encode(x)).
 * The derivative is the identity (straight-through) unless the coder has a vjp of its own. */
struct diff_coder {
    const char *name;
    void (*code)(enum diff_type type, size_t count, const void *x, void *y, void *context);
    void (*vjp)(enum diff_type type, size_t count, const void *x, const void *y_bar, void *x_bar,
                void *context);
    void *context;
};
struct diff_tensor *diff_coded(struct diff_tensor *x, const struct diff_coder *coder);
/* The values as 16 bits store them, each rounded to the nearest: IEEE's half precision, or the upper
 * half of a float. The rounding is declared: the derivative is the identity, and the gradient check
 * holds it fixed. The tensor keeps its type, in which it is computed with and sent. */
enum diff_half { DIFF_FLOAT16, DIFF_BFLOAT16 };
struct diff_tensor *diff_stored(struct diff_tensor *x, enum diff_half half);

/* `x`, after everything in `dependencies`: an edge without a value. */
struct diff_tensor *diff_join(struct diff_tensor *x, size_t count,
                              struct diff_tensor *const *dependencies);
/* A handle that takes the place of `handle` and waits after the dependencies. */
struct diff_tensor *diff_join_handle(struct diff_tensor *handle, size_t count,
                                     struct diff_tensor *const *dependencies);

/* ---- checkpoints: long loops in little memory ---- */

/* One step of a loop: replaces each of the `count` tensors by its successor of the same type and
 * shape, on the tape it is given (not the one diff_checkpoint was called with). What is to be
 * differentiated comes by the state, parameters too. It is called again in the backward pass and
 * must do the same again. */
typedef void diff_step(struct diff_tape *tape, size_t step, size_t count,
                       struct diff_tensor **state, void *context);
/* Runs the steps and leaves the last state in `state`, with the same bits in values and gradients as
 * a loop that calls `body` with `tape`; but nothing between is kept, save some states, of which a
 * backward pass runs the steps again. `memory`: bytes for those states on this rank (at least one
 * is kept); 0: so many that no step runs more than five times. `context` must live until then. May
 * be nested; first order only. Collective over the tape's communicator, with the same `steps`. */
void diff_checkpoint(struct diff_tape *tape, size_t steps, size_t memory, diff_step *body,
                     size_t count, struct diff_tensor **state, void *context);

/* ---- messages ---- */

/* A send returns an empty tensor that serves as a dependency. */
struct diff_tensor *diff_send(struct diff_tensor *x, int destination, int tag, MPI_Comm comm);
struct diff_tensor *diff_ssend(struct diff_tensor *x, int destination, int tag, MPI_Comm comm);
struct diff_tensor *diff_bsend(struct diff_tensor *x, int destination, int tag, MPI_Comm comm);
struct diff_tensor *diff_rsend(struct diff_tensor *x, int destination, int tag, MPI_Comm comm);
/* `buffer` is what the buffer held before: where the message is shorter, its values remain. Source
 * and tag may be wildcards; MPI_PROC_NULL leaves the buffer as it is. */
struct diff_tensor *diff_recv(struct diff_tensor *buffer, int source, int tag, MPI_Comm comm);
/* Receives what MPI_Mprobe or MPI_Improbe on `comm` matched. */
struct diff_tensor *diff_mrecv(struct diff_tensor *buffer, MPI_Message *message, MPI_Comm comm);
struct diff_tensor *diff_isend(struct diff_tensor *x, int destination, int tag, MPI_Comm comm);
struct diff_tensor *diff_issend(struct diff_tensor *x, int destination, int tag, MPI_Comm comm);
struct diff_tensor *diff_ibsend(struct diff_tensor *x, int destination, int tag, MPI_Comm comm);
struct diff_tensor *diff_irsend(struct diff_tensor *x, int destination, int tag, MPI_Comm comm);
struct diff_tensor *diff_irecv(struct diff_tensor *buffer, int source, int tag, MPI_Comm comm);
struct diff_tensor *diff_sendrecv(struct diff_tensor *x, int destination, int send_tag,
                                  struct diff_tensor *buffer, int source, int receive_tag,
                                  MPI_Comm comm);
struct diff_tensor *diff_sendrecv_replace(struct diff_tensor *x, int destination, int send_tag,
                                          int source, int receive_tag, MPI_Comm comm);
/* The result of a handle: the received tensor, the collective's result, or for a send an empty
 * tensor. */
struct diff_tensor *diff_wait(struct diff_tensor *handle);
void diff_waitall(size_t count, struct diff_tensor *const *handles, struct diff_tensor **results);
/* Waits for one of them: its result, and its number in `*index`. Handles already used are passed
 * over; NULL and SIZE_MAX when none is left. */
struct diff_tensor *diff_waitany(size_t count, struct diff_tensor *const *handles, size_t *index);
/* Waits until at least one is complete: how many are, with their numbers in `indices` and their
 * results (which may be NULL: nobody wants them); 0 when none is left. Testsome does not wait. */
size_t diff_waitsome(size_t count, struct diff_tensor *const *handles, size_t *indices,
                     struct diff_tensor **results);
size_t diff_testsome(size_t count, struct diff_tensor *const *handles, size_t *indices,
                     struct diff_tensor **results);
/* Whether all are complete; then their results as with diff_waitall, else nothing has changed. */
bool diff_testall(size_t count, struct diff_tensor *const *handles, struct diff_tensor **results);
/* The result if the operation is complete, else NULL. */
struct diff_tensor *diff_test(struct diff_tensor *handle);
/* Source, tag and number of values of the message a receive got; any pointer may be NULL. */
void diff_received(const struct diff_tensor *result, int *source, int *tag, size_t *count);

/* Persistent messages (collectives: diff_collective_init) of `count` values: start returns a handle each time. Freed before the tape
 * is. */
struct diff_persistent;
struct diff_persistent *diff_send_init(struct diff_tape *tape, enum diff_type type, size_t count,
                                       int destination, int tag, MPI_Comm comm);
struct diff_persistent *diff_recv_init(struct diff_tape *tape, enum diff_type type, size_t count,
                                       int source, int tag, MPI_Comm comm);
/* `x`: what to send, or what the buffer held. */
struct diff_tensor *diff_start(struct diff_persistent *persistent, struct diff_tensor *x);
/* Starts them one after the other, each with its own tensor; fills in `count` handles. */
void diff_startall(size_t count, struct diff_persistent *const *persistents,
                   struct diff_tensor *const *x, struct diff_tensor **handles);
void diff_persistent_free(struct diff_persistent *persistent);

/* ---- collectives ----
 *
 * Where only the root's tensor matters, the others pass any tensor of the type (it tells the tape);
 * where only the root gets a result, the others get an empty tensor. diff_i* return a handle.
 *
 * Over an intercommunicator they are MPI's between two groups: what comes is the other group's. The
 * root is MPI_ROOT, MPI_PROC_NULL, or a rank of the other group; what each of that one sends in a
 * Gather, Allgather or Alltoall is diff_call's `count`, 0 for as much as this rank sends (the root
 * of a Gather: as its x has). Scans and IN_PLACE are not defined there. */

struct diff_tensor *diff_barrier(struct diff_tape *tape, MPI_Comm comm);
/* Every rank passes a tensor of the same count. */
struct diff_tensor *diff_bcast(struct diff_tensor *x, int root, MPI_Comm comm);
struct diff_tensor *diff_reduce(struct diff_tensor *x, MPI_Op op, int root, MPI_Comm comm);
struct diff_tensor *diff_allreduce(struct diff_tensor *x, MPI_Op op, MPI_Comm comm);
struct diff_tensor *diff_gather(struct diff_tensor *x, int root, MPI_Comm comm);
/* `count`: values per rank. */
struct diff_tensor *diff_scatter(struct diff_tensor *x, size_t count, int root, MPI_Comm comm);
struct diff_tensor *diff_allgather(struct diff_tensor *x, MPI_Comm comm);
struct diff_tensor *diff_reduce_scatter(struct diff_tensor *x, const int *counts, MPI_Op op,
                                        MPI_Comm comm);
struct diff_tensor *diff_reduce_scatter_block(struct diff_tensor *x, MPI_Op op, MPI_Comm comm);
struct diff_tensor *diff_alltoall(struct diff_tensor *x, MPI_Comm comm);
struct diff_tensor *diff_scan(struct diff_tensor *x, MPI_Op op, MPI_Comm comm);
/* Rank 0 gets zeros. */
struct diff_tensor *diff_exscan(struct diff_tensor *x, MPI_Op op, MPI_Comm comm);
struct diff_tensor *diff_neighbor_allgather(struct diff_tensor *x, MPI_Comm comm);
struct diff_tensor *diff_neighbor_alltoall(struct diff_tensor *x, MPI_Comm comm);

struct diff_tensor *diff_ibcast(struct diff_tensor *x, int root, MPI_Comm comm);
struct diff_tensor *diff_ireduce(struct diff_tensor *x, MPI_Op op, int root, MPI_Comm comm);
struct diff_tensor *diff_iallreduce(struct diff_tensor *x, MPI_Op op, MPI_Comm comm);
struct diff_tensor *diff_igather(struct diff_tensor *x, int root, MPI_Comm comm);
struct diff_tensor *diff_iscatter(struct diff_tensor *x, size_t count, int root, MPI_Comm comm);
struct diff_tensor *diff_iallgather(struct diff_tensor *x, MPI_Comm comm);
struct diff_tensor *diff_ialltoall(struct diff_tensor *x, MPI_Comm comm);

/* Forms with counts and displacements in values, as MPI's; displacements NULL: one after the other.
 * `into`: what the receive buffer held (NULL: zeros), which stays where nothing is received. */
struct diff_tensor *diff_gatherv(struct diff_tensor *x, struct diff_tensor *into, const int *counts,
                                 const int *displacements, int root, MPI_Comm comm);
struct diff_tensor *diff_scatterv(struct diff_tensor *x, const int *counts,
                                  const int *displacements, size_t count, int root, MPI_Comm comm);
struct diff_tensor *diff_allgatherv(struct diff_tensor *x, struct diff_tensor *into,
                                    const int *counts, const int *displacements, MPI_Comm comm);
struct diff_tensor *diff_alltoallv(struct diff_tensor *x, const int *send_counts,
                                   const int *send_displacements, struct diff_tensor *into,
                                   const int *receive_counts, const int *receive_displacements,
                                   MPI_Comm comm);

/* The general form of all of the above, and of what has no function of its own: nonblocking,
 * IN_PLACE, w and neighborhood v and w forms, MINLOC and MAXLOC. Fields that a collective does not
 * know are ignored. */
enum diff_collective {
    DIFF_BARRIER,
    DIFF_BCAST,
    DIFF_REDUCE,
    DIFF_ALLREDUCE,
    DIFF_GATHER,
    DIFF_GATHERV,
    DIFF_SCATTER,
    DIFF_SCATTERV,
    DIFF_ALLGATHER,
    DIFF_ALLGATHERV,
    DIFF_REDUCE_SCATTER,
    DIFF_REDUCE_SCATTER_BLOCK,
    DIFF_ALLTOALL,
    DIFF_ALLTOALLV,
    DIFF_ALLTOALLW,
    DIFF_SCAN,
    DIFF_EXSCAN,
    DIFF_NEIGHBOR_ALLGATHER,
    DIFF_NEIGHBOR_ALLGATHERV,
    DIFF_NEIGHBOR_ALLTOALL,
    DIFF_NEIGHBOR_ALLTOALLV,
    DIFF_NEIGHBOR_ALLTOALLW,
    DIFF_COLLECTIVES
};
/* IN_PLACE: x is the buffer, as with MPI_IN_PLACE (rooted forms: at the root only); x keeps its
 * values as a tensor, but what shares its memory is changed. */
enum { DIFF_NONBLOCKING = 1, DIFF_IN_PLACE = 2 };
struct diff_call {
    enum diff_collective kind;
    struct diff_tensor *x;
    MPI_Comm comm;
    MPI_Op op;
    int root;
    unsigned flags;
    size_t count; /* scatter, scatterv: what this rank receives; intercommunicators: of each */
    const int *send_counts, *send_displacements; /* w forms: displacements in bytes */
    const int *receive_counts, *receive_displacements;
    const MPI_Datatype *send_types, *receive_types;
    struct diff_tensor *into;
    const int *index_in; /* MINLOC, MAXLOC: one per value; NULL: the rank */
    int *index_out;      /* filled in; must live until the result is there */
};
struct diff_tensor *diff_collective(const struct diff_call *call);
/* The same as a persistent collective; collective over its communicator. `x` tells the tape, the
 * type and the count; `into` is NULL, and datatypes live until it is freed. diff_start gives it a
 * tensor of that count, and a handle, each time; it is waited for before it is started again. Each has
 * a communicator of its own, which goes with the tape: make it once, not once a step. */
struct diff_persistent *diff_collective_init(const struct diff_call *call);
const char *diff_collective_name(enum diff_collective kind);

/* ---- windows: one-sided communication ----
 *
 * A window's memory is a value of the tape. Accesses name a target rank and a displacement in values
 * of the target's memory; they are done by the call that ends their epoch or flushes, and an
 * origin's tensor must not be changed before. In one epoch accesses may overlap in a target's memory
 * if all of them get, or all of them accumulate sums; others have no order that a derivative could
 * follow, and are refused. Backward, the epochs come in reverse, each with the transposed accesses:
 * what was put is got and zeros are left there, a sum's is got, and what was got is added. */

struct diff_window;
/* Collective over `comm`; `memory`: what this rank's part holds at first, of any count, and of one
 * type on all ranks. It goes with the tape: make it once, not once a step. */
struct diff_window *diff_win_create(struct diff_tensor *memory, MPI_Comm comm);
/* What the own part holds, as of the last fence, wait or end of a passive phase; and gives it other
 * values (of the same count), which the accesses of the running epoch meet. After diff_tape_clear it
 * has none until then. */
struct diff_tensor *diff_win_memory(struct diff_window *window);
void diff_win_store(struct diff_window *window, struct diff_tensor *memory);

/* Ends an epoch and begins the next. The first one only begins. Collective. */
void diff_win_fence(struct diff_window *window);
/* The own part is for these ranks' accesses from post to wait. */
void diff_win_post(struct diff_window *window, MPI_Group origins);
void diff_win_wait(struct diff_window *window);
/* An epoch of accesses to these ranks, which post. */
void diff_win_start(struct diff_window *window, MPI_Group targets);
void diff_win_complete(struct diff_window *window);
/* Between these, both collective, all parts are accessed under locks, one's own as well. Locks of
 * one target are taken backward in the reverse of the order in which the forward pass took them,
 * whatever that was. Accesses under locks of all targets need an order that the tape knows
 * (diff_barrier, messages). Program order only. */
void diff_win_passive_begin(struct diff_window *window);
void diff_win_passive_end(struct diff_window *window);
/* `type`: MPI_LOCK_EXCLUSIVE or MPI_LOCK_SHARED. */
void diff_win_lock(struct diff_window *window, int type, int target);
void diff_win_unlock(struct diff_window *window, int target);
void diff_win_lock_all(struct diff_window *window);
void diff_win_unlock_all(struct diff_window *window);
/* Does the accesses so far, within the lock. */
void diff_win_flush(struct diff_window *window, int target);
void diff_win_flush_all(struct diff_window *window);

/* MPI_PROC_NULL as target does nothing, and gives zeros. */
void diff_win_put(struct diff_window *window, struct diff_tensor *x, int target,
                  size_t displacement);
/* A vector without values until its epoch ends (or a flush): then it has them. */
struct diff_tensor *diff_win_get(struct diff_window *window, size_t count, int target,
                                 size_t displacement);
/* MPI_SUM, or MPI_REPLACE, which is a put; others are refused. */
void diff_win_accumulate(struct diff_window *window, struct diff_tensor *x, int target,
                         size_t displacement, MPI_Op op);
/* What the target held before, as diff_win_get gives it. MPI_SUM, MPI_REPLACE, or MPI_NO_OP, which
 * takes of `x` the count only. Not SUM or REPLACE under a shared lock. */
struct diff_tensor *diff_win_get_accumulate(struct diff_window *window, struct diff_tensor *x,
                                            int target, size_t displacement, MPI_Op op);
/* The same of one value. */
struct diff_tensor *diff_win_fetch_and_op(struct diff_window *window, struct diff_tensor *x,
                                          int target, size_t displacement, MPI_Op op);

/* Megatron's pair, for replicated values. f: the identity forward, the sum of the copies'
 * cotangents backward. g: a sum forward, the identity backward; its cotangents must be equal on all
 * ranks (checked, G005). Right under diff_backward_replicated. */
struct diff_tensor *diff_replicate(struct diff_tensor *x, MPI_Comm comm);
struct diff_tensor *diff_reduce_invariant(struct diff_tensor *x, MPI_Comm comm);

/* ---- programs that are run again ---- */

/* Whether this run repeats one that has already been: a gradient check runs a program, or the
 * objective of diff_gradcheck, many times with perturbed inputs. What must happen once (files,
 * sockets, other programs) belongs behind `if (!diff_is_repeated())`; no communication may. Under
 * simrun what is printed appears once anyway. */
bool diff_is_repeated(void);

/* ---- gradient check inside the program (on a real MPI; under simrun the command does it) ---- */

/* Calls `objective` again and again with perturbed inputs and compares what its backward passes
 * computed. It must do all of diff_tape_new ... diff_backward ... diff_tape_free. Collective over
 * MPI_COMM_WORLD. Returns the number of wrong values, the same on every rank; rank 0 prints a line
 * per input, and the first wrong adjoint with its rank. Under simrun, which checks by itself, it calls `objective` once and returns 0. */
int diff_gradcheck(void (*objective)(void *context), void *context);

#ifdef __cplusplus
}
#endif
#endif
