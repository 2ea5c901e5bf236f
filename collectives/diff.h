/* diff.h: differentiable message passing in C.
 *
 * The convention. Rank r maps its inputs x_r to its outputs y_r. The objective is J, the sum over
 * the ranks of their local losses; every rank's copy of a value is a separate variable. The
 * gradient of x_r is dJ/dx_r. A complex variable's gradient is dJ/d(re) + i dJ/d(im).
 *
 * Rules that hold for every function:
 *  - Tensors are values of one tape, live until diff_tape_free or diff_tape_clear, and never need
 * to be freed one by one. Operations return new tensors; nothing is changed in place unless it says
 * so.
 *  - Wrong use (another tape's tensor, a shape that does not fit, a handle used twice) ends the
 * rank with a finding that names the place; no function returns an error code for it.
 *  - Communication functions are as collective as the MPI operation they are named after, and the
 *    first *collective* operation of a tape on a communicator duplicates it (also collective).
 * Point to point messages on a communicator other than the tape's own need diff_comm_register
 * before.
 *  - A nonblocking operation returns a handle, which is a tensor without values. diff_wait turns it
 * into the result. A handle is waited for (or joined) once; as a dependency of a join it may appear
 * freely. */
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
/* Forgets all tensors and nodes, keeps memory and communicators: for loops. */
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
/* The same for a variable of which every rank holds a copy: the gradient is that of all copies
 * together. */
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
/* Declares that every rank holds the same loss (checked): J is that one value. */
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
/* What the program computed as the gradient of that variable. */
void diff_mark_gradient(const char *name, const double *gradient, size_t count);

/* ---- local operations ---- */

struct diff_tensor *diff_add(struct diff_tensor *a, struct diff_tensor *b);
struct diff_tensor *diff_sub(struct diff_tensor *a, struct diff_tensor *b);
struct diff_tensor *diff_mul(struct diff_tensor *a, struct diff_tensor *b);
struct diff_tensor *diff_div(struct diff_tensor *a, struct diff_tensor *b);
struct diff_tensor *diff_neg(struct diff_tensor *a);
struct diff_tensor *diff_scale(struct diff_tensor *a, double factor);
/* Every value plus a constant. */
struct diff_tensor *diff_shift(struct diff_tensor *a, double shift);
struct diff_tensor *diff_sum(struct diff_tensor *a);
struct diff_tensor *diff_mean(struct diff_tensor *a);
struct diff_tensor *diff_reshape(struct diff_tensor *x, size_t dims, const size_t *shape);
/* The real scalar Re(sum conj(b) a). */
struct diff_tensor *diff_dot(struct diff_tensor *a, struct diff_tensor *b);
/* `x`, after everything in `dependencies`: an edge without a value. */
struct diff_tensor *diff_join(struct diff_tensor *x, size_t count,
                              struct diff_tensor *const *dependencies);
/* A handle that takes the place of `handle` and waits after the dependencies. */
struct diff_tensor *diff_join_handle(struct diff_tensor *handle, size_t count,
                                     struct diff_tensor *const *dependencies);

/* ---- communication ---- */

struct diff_tensor *diff_allreduce(struct diff_tensor *x, MPI_Op op, MPI_Comm comm);
struct diff_tensor *diff_send(struct diff_tensor *x, int destination, int tag, MPI_Comm comm);
/* `buffer` is what the buffer held before: where the message is shorter, its values remain. */
struct diff_tensor *diff_recv(struct diff_tensor *buffer, int source, int tag, MPI_Comm comm);
struct diff_tensor *diff_isend(struct diff_tensor *x, int destination, int tag, MPI_Comm comm);
struct diff_tensor *diff_irecv(struct diff_tensor *buffer, int source, int tag, MPI_Comm comm);
/* The result of a handle: the received tensor, or for a send an empty tensor that serves as a
 * dependency. */
struct diff_tensor *diff_wait(struct diff_tensor *handle);

#ifdef __cplusplus
}
#endif
#endif
