/* kernel.h: how kernels are written, and the tables of them by operation and kind of type. */
#ifndef SIM_OPERATORS_KERNEL_H
#define SIM_OPERATORS_KERNEL_H

#include "sim/operators/op.h"

/* Under a sanitizer a loop may have to stay as it is. */
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed"
#endif

/* Whether a kernel's loop is for the vector unit, or over a type that has no place there. */
#define SIM_VECTOR _Pragma("omp simd")
#define SIM_SCALAR

/* A kernel over an array of `type`: `expression` says what a and b give. */
#define SIM_KERNEL(loop, name, type, expression)                                                   \
    static void name(const void *left_operand, const void *right_operand, void *result,            \
                     size_t count)                                                                 \
    {                                                                                              \
        const type *left = left_operand, *right = right_operand;                                   \
        type *out = result;                                                                        \
        loop for (size_t i = 0; i < count; i++)                                                    \
        {                                                                                          \
            type a = left[i], b = right[i];                                                        \
            out[i] = (type)(expression);                                                           \
        }                                                                                          \
    }

/* Rows of operations, columns of kinds. */
typedef sim_kernel *sim_kernel_row[SIM_KIND_COUNT];
#define SIM_OP_INDEX(handle) ((handle)-SIM_OP_FIRST)
enum sim_op_number {
    SIM_OP_SUM = SIM_OP_INDEX(0x21),
    SIM_OP_MIN = SIM_OP_INDEX(0x22),
    SIM_OP_MAX = SIM_OP_INDEX(0x23),
    SIM_OP_PROD = SIM_OP_INDEX(0x24),
    SIM_OP_BAND = SIM_OP_INDEX(0x28),
    SIM_OP_BOR = SIM_OP_INDEX(0x29),
    SIM_OP_BXOR = SIM_OP_INDEX(0x2a),
    SIM_OP_LAND = SIM_OP_INDEX(0x30),
    SIM_OP_LOR = SIM_OP_INDEX(0x31),
    SIM_OP_LXOR = SIM_OP_INDEX(0x32),
    SIM_OP_MINLOC = SIM_OP_INDEX(0x38),
    SIM_OP_MAXLOC = SIM_OP_INDEX(0x39),
    SIM_OP_REPLACE = SIM_OP_INDEX(0x3c),
    SIM_OP_NO_OP = SIM_OP_INDEX(0x3d),
    SIM_OP_NUMBERS = SIM_OP_INDEX(SIM_OP_LAST) + 1
};

extern const sim_kernel_row sim_op_integer_kernels[SIM_OP_NUMBERS];
extern const sim_kernel_row sim_op_floating_kernels[SIM_OP_NUMBERS];
extern const sim_kernel_row sim_op_pair_kernels[SIM_OP_NUMBERS];

#endif
