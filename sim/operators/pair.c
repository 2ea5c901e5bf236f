/* pair.c: MINLOC and MAXLOC on pairs of a value and an index.
 *
 * Of equal values the one with the smaller index is taken. A NaN wins over every number, the left
 * one over the right. The gap some pairs have is not written.
 */
#include "sim/operators/kernel.h"

#define LOCATION(name, pair, better)                                                               \
    static void name(const void *left_operand, const void *right_operand, void *result,            \
                     size_t count)                                                                 \
    {                                                                                              \
        const struct pair *left = left_operand, *right = right_operand;                            \
        struct pair *out = result;                                                                 \
        for (size_t i = 0; i < count; i++) {                                                       \
            struct pair a = left[i], b = right[i];                                                 \
            bool take_left = a.value == b.value ? a.index <= b.index                               \
                                                : a.value better b.value || a.value != a.value;    \
            out[i].value = take_left ? a.value : b.value;                                          \
            out[i].index = take_left ? a.index : b.index;                                          \
        }                                                                                          \
    }

#define PAIR(name, value_type, index_type)                                                         \
    struct name {                                                                                  \
        value_type value;                                                                          \
        index_type index;                                                                          \
    };                                                                                             \
    LOCATION(minloc_##name, name, <)                                                               \
    LOCATION(maxloc_##name, name, >)

PAIR(float_int, float, int)
PAIR(double_int, double, int)
PAIR(long_int, long, int)
PAIR(int_int, int, int)
PAIR(short_int, short, int)
PAIR(long_double_int, long double, int)
PAIR(float_float, float, float)
PAIR(double_double, double, double)

#define PAIRS(operation)                                                                           \
    {                                                                                              \
        [SIM_KIND_FLOAT_INT] = operation##_float_int,                                              \
        [SIM_KIND_DOUBLE_INT] = operation##_double_int,                                            \
        [SIM_KIND_LONG_INT] = operation##_long_int, [SIM_KIND_2INT] = operation##_int_int,         \
        [SIM_KIND_SHORT_INT] = operation##_short_int,                                              \
        [SIM_KIND_LONG_DOUBLE_INT] = operation##_long_double_int,                                  \
        [SIM_KIND_2FLOAT] = operation##_float_float,                                               \
        [SIM_KIND_2DOUBLE] = operation##_double_double,                                            \
    }

const sim_kernel_row sim_op_pair_kernels[SIM_OP_NUMBERS] = {
    [SIM_OP_MINLOC] = PAIRS(minloc),
    [SIM_OP_MAXLOC] = PAIRS(maxloc),
};
