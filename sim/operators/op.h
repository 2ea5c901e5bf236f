/* op.h: reduction operations and how they are applied to typed buffers.
 *
 * Order matters here: every function says which operand is the left one, so that a reduction in
 * rank order is the same bit by bit however it is split up. Kernels compute out[i] = left[i] op
 * right[i]; out may be either operand.
 *
 * Sums and products of integers wrap. MIN and MAX of floating-point numbers give NaN when either
 * operand is one, and the left operand when both are equal.
 */
#ifndef SIM_OPERATORS_OP_H
#define SIM_OPERATORS_OP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mpi.h>

#include "sim/base/handle.h"
#include "sim/datatypes/datatype.h"

typedef void sim_kernel(const void *left, const void *right, void *out, size_t count);

struct sim_op {
    uint32_t magic;
    bool predefined;
    bool commutative;
    uint8_t number;  /* of a predefined operation: its place among the handles */
    uint16_t groups; /* bit per enum sim_class that a predefined operation takes */
    atomic_uint references;
    atomic_uint swapped; /* how often its operands were, to see whether it commutes */
    const char *label;   /* "MPI_SUM"; NULL for an operation of the program */
    MPI_User_function *user;
    MPI_User_function_c *user_large;
};

#define SIM_OP_FIRST 0x20
#define SIM_OP_LAST  0x3d
extern const struct sim_op sim_op_predefined[SIM_OP_LAST - SIM_OP_FIRST + 1];

/* The operation behind a handle; NULL for MPI_OP_NULL, a freed one and what is none. */
static inline const struct sim_op *sim_op_get(MPI_Op handle)
{
    uintptr_t number = (uintptr_t)handle;
    if (number >= SIM_HANDLE_PREDEFINED)
        return sim_handle_object(handle, SIM_MAGIC_OP);
    if (number < SIM_OP_FIRST || number > SIM_OP_LAST)
        return NULL;
    const struct sim_op *op = &sim_op_predefined[number - SIM_OP_FIRST];
    return op->magic ? op : NULL;
}

/* One reference more or less; an operation under way retains its own. */
const struct sim_op *sim_op_retain(const struct sim_op *op);
void sim_op_release(const struct sim_op *op);

/* MPI_SUCCESS when a reduction may apply `op` to elements of `type`, else the error class: a
 * predefined operation takes the predefined types the standard lists, a program's own takes any. */
int sim_op_allowed(const struct sim_op *op, const struct sim_datatype *type);
/* The same for accumulating into a window: only predefined operations, among them MPI_REPLACE and
 * MPI_NO_OP, but also derived types made of one predefined type. */
int sim_op_allowed_in_window(const struct sim_op *op, const struct sim_datatype *type);

/* The functions that follow return MPI_SUCCESS, or MPI_ERR_NO_MEM when the copies that a program's
 * own operation needs cannot be had; predefined operations need none. `op` must be allowed. */

/* inout = in op inout: what MPI_Reduce_local does. */
int sim_op_apply(const struct sim_op *op, const void *in, void *inout, size_t count,
                 const struct sim_datatype *type);
/* accumulator = accumulator op right. */
int sim_op_apply_right(const struct sim_op *op, void *accumulator, const void *right, size_t count,
                       const struct sim_datatype *type);
/* result = inputs[0] op inputs[1] op ... op inputs[n - 1], from left to right, n >= 1. The result
 * may be one of the inputs, all of which are otherwise left alone. */
int sim_op_reduce_many(const struct sim_op *op, const struct sim_datatype *type, size_t count,
                       const void *const *inputs, size_t n, void *result);

/* The kernel of a predefined operation for a kind of basic type; NULL when there is none. */
sim_kernel *sim_op_kernel(const struct sim_op *op, enum sim_kind kind);

#endif
