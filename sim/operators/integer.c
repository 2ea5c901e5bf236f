/* integer.c: kernels for integers, logicals and bytes.
 *
 * Sums, products, bits and truth do not depend on the sign, so signed kinds share the kernels of
 * the unsigned ones of their width. `0u +` and `1u *` keep narrow operands from being promoted to
 * int, where a product could overflow.
 */
#include "sim/operators/kernel.h"

__extension__ typedef unsigned __int128 unsigned_wide;
__extension__ typedef __int128 signed_wide;

#define WIDTH(loop, width, type)                                                                   \
    SIM_KERNEL(loop, sum_##width, type, 0u + a + b)                                                \
    SIM_KERNEL(loop, prod_##width, type, 1u * a * b)                                               \
    SIM_KERNEL(loop, band_##width, type, a &b)                                                     \
    SIM_KERNEL(loop, bor_##width, type, a | b)                                                     \
    SIM_KERNEL(loop, bxor_##width, type, a ^ b)                                                    \
    SIM_KERNEL(loop, land_##width, type, (a != 0) & (b != 0))                                      \
    SIM_KERNEL(loop, lor_##width, type, (a != 0) | (b != 0))                                       \
    SIM_KERNEL(loop, lxor_##width, type, (a != 0) ^ (b != 0))

#define ORDER(loop, name, type)                                                                    \
    SIM_KERNEL(loop, min_##name, type, a <= b ? a : b)                                             \
    SIM_KERNEL(loop, max_##name, type, a >= b ? a : b)

WIDTH(SIM_VECTOR, 8, uint8_t)
WIDTH(SIM_VECTOR, 16, uint16_t)
WIDTH(SIM_VECTOR, 32, uint32_t)
WIDTH(SIM_VECTOR, 64, uint64_t)
WIDTH(SIM_SCALAR, 128, unsigned_wide)
ORDER(SIM_VECTOR, int8, int8_t)
ORDER(SIM_VECTOR, int16, int16_t)
ORDER(SIM_VECTOR, int32, int32_t)
ORDER(SIM_VECTOR, int64, int64_t)
ORDER(SIM_SCALAR, int128, signed_wide)
ORDER(SIM_VECTOR, uint8, uint8_t)
ORDER(SIM_VECTOR, uint16, uint16_t)
ORDER(SIM_VECTOR, uint32, uint32_t)
ORDER(SIM_VECTOR, uint64, uint64_t)

#define ALL_WIDTHS(operation)                                                                      \
    {                                                                                              \
        [SIM_KIND_INT8] = operation##_8, [SIM_KIND_UINT8] = operation##_8,                         \
        [SIM_KIND_INT16] = operation##_16, [SIM_KIND_UINT16] = operation##_16,                     \
        [SIM_KIND_INT32] = operation##_32, [SIM_KIND_UINT32] = operation##_32,                     \
        [SIM_KIND_INT64] = operation##_64, [SIM_KIND_UINT64] = operation##_64,                     \
        [SIM_KIND_INT128] = operation##_128,                                                       \
    }
/* A bool is a byte with 0 or 1. */
#define ALL_LOGICAL(operation)                                                                     \
    {                                                                                              \
        [SIM_KIND_INT8] = operation##_8, [SIM_KIND_UINT8] = operation##_8,                         \
        [SIM_KIND_INT16] = operation##_16, [SIM_KIND_UINT16] = operation##_16,                     \
        [SIM_KIND_INT32] = operation##_32, [SIM_KIND_UINT32] = operation##_32,                     \
        [SIM_KIND_INT64] = operation##_64, [SIM_KIND_UINT64] = operation##_64,                     \
        [SIM_KIND_INT128] = operation##_128, [SIM_KIND_BOOL] = operation##_8,                      \
    }
#define ALL_ORDERS(operation)                                                                      \
    {                                                                                              \
        [SIM_KIND_INT8] = operation##_int8, [SIM_KIND_UINT8] = operation##_uint8,                  \
        [SIM_KIND_INT16] = operation##_int16, [SIM_KIND_UINT16] = operation##_uint16,              \
        [SIM_KIND_INT32] = operation##_int32, [SIM_KIND_UINT32] = operation##_uint32,              \
        [SIM_KIND_INT64] = operation##_int64, [SIM_KIND_UINT64] = operation##_uint64,              \
        [SIM_KIND_INT128] = operation##_int128,                                                    \
    }

const sim_kernel_row sim_op_integer_kernels[SIM_OP_NUMBERS] = {
    [SIM_OP_SUM] = ALL_WIDTHS(sum),   [SIM_OP_PROD] = ALL_WIDTHS(prod),
    [SIM_OP_MIN] = ALL_ORDERS(min),   [SIM_OP_MAX] = ALL_ORDERS(max),
    [SIM_OP_BAND] = ALL_WIDTHS(band), [SIM_OP_BOR] = ALL_WIDTHS(bor),
    [SIM_OP_BXOR] = ALL_WIDTHS(bxor), [SIM_OP_LAND] = ALL_LOGICAL(land),
    [SIM_OP_LOR] = ALL_LOGICAL(lor),  [SIM_OP_LXOR] = ALL_LOGICAL(lxor),
};
