/* floating.c: kernels for real and complex numbers of five precisions.
 *
 * A complex number is two reals: sums are sums of twice as many reals, products are written out,
 * without C's repair of infinities, so that they vectorise. Half precision is computed in float and
 * rounded back, which for one operation is exact rounding.
 */
#include <string.h>

#include "sim/operators/kernel.h"

#if defined(__SIZEOF_FLOAT128__)
__extension__ typedef __float128 quad;
#else
typedef long double quad;
#endif

#define REAL(loop, name, type)                                                                     \
    SIM_KERNEL(loop, sum_##name, type, a + b)                                                      \
    SIM_KERNEL(loop, prod_##name, type, a *b)                                                      \
    SIM_KERNEL(loop, min_##name, type, ((a <= b) | (a != a)) ? a : b)                              \
    SIM_KERNEL(loop, max_##name, type, ((a >= b) | (a != a)) ? a : b)

#define COMPLEX(loop, name, type)                                                                  \
    static void sum_complex_##name(const void *left, const void *right, void *out, size_t count)   \
    {                                                                                              \
        sum_##name(left, right, out, 2 * count);                                                   \
    }                                                                                              \
    static void prod_complex_##name(const void *left_operand, const void *right_operand,           \
                                    void *result, size_t count)                                    \
    {                                                                                              \
        const type *left = left_operand, *right = right_operand;                                   \
        type *out = result;                                                                        \
        loop for (size_t i = 0; i < 2 * count; i += 2)                                             \
        {                                                                                          \
            type real = left[i] * right[i] - left[i + 1] * right[i + 1];                           \
            type imaginary = left[i] * right[i + 1] + left[i + 1] * right[i];                      \
            out[i] = real;                                                                         \
            out[i + 1] = imaginary;                                                                \
        }                                                                                          \
    }

REAL(SIM_VECTOR, float, float)
REAL(SIM_VECTOR, double, double)
REAL(SIM_SCALAR, long_double, long double)
REAL(SIM_SCALAR, quad, quad)
COMPLEX(SIM_VECTOR, float, float)
COMPLEX(SIM_VECTOR, double, double)
COMPLEX(SIM_SCALAR, long_double, long double)
COMPLEX(SIM_SCALAR, quad, quad)

/* ---- Half precision: sign, 5 bits of exponent, 10 of fraction ---- */

typedef uint16_t half;

static float half_to_float(half bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16, rest = bits & 0x7fff, wide;
    float value;
    if (rest >= 0x7c00) /* infinity, NaN */
        wide = sign | 0x7f800000 | (rest & 0x3ff) << 13;
    else if (rest >= 0x400) /* normal: the exponent moves by 127 - 15 */
        wide = sign | ((rest << 13) + ((127u - 15u) << 23));
    else {
        value = (float)rest * 0x1p-24f;
        return sign ? -value : value;
    }
    memcpy(&value, &wide, sizeof value);
    return value;
}

/* Rounds to nearest, ties to even. */
static half float_to_half(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
    if (rest > 0x7f800000)
        return (half)(sign | 0x7e00);
    if (rest >= 0x477ff000) /* from 65520 on: infinity */
        return (half)(sign | 0x7c00);
    if (rest < 0x38800000) { /* below 2^-14: let the addition of 0.5 shift and round */
        float magnitude, shifted;
        memcpy(&magnitude, &rest, sizeof magnitude);
        shifted = magnitude + 0.5f;
        memcpy(&bits, &shifted, sizeof bits);
        return (half)(sign | (bits - 0x3f000000));
    }
    uint32_t odd = rest >> 13 & 1;
    return (half)(sign | ((rest - ((127u - 15u) << 23) + 0xfff + odd) >> 13));
}

#define HALF(name, expression)                                                                     \
    static half name##_of(half left, half right)                                                   \
    {                                                                                              \
        float a = half_to_float(left), b = half_to_float(right);                                   \
        return float_to_half(expression);                                                          \
    }                                                                                              \
    static void name(const void *left_operand, const void *right_operand, void *result,            \
                     size_t count)                                                                 \
    {                                                                                              \
        const half *left = left_operand, *right = right_operand;                                   \
        half *out = result;                                                                        \
        for (size_t i = 0; i < count; i++)                                                         \
            out[i] = name##_of(left[i], right[i]);                                                 \
    }

HALF(sum_half, a + b)
HALF(prod_half, a *b)
HALF(min_half, ((a <= b) | (a != a)) ? a : b)
HALF(max_half, ((a >= b) | (a != a)) ? a : b)

static void sum_complex_half(const void *left, const void *right, void *out, size_t count)
{
    sum_half(left, right, out, 2 * count);
}

static void prod_complex_half(const void *left_operand, const void *right_operand, void *result,
                              size_t count)
{
    const half *left = left_operand, *right = right_operand;
    half *out = result;
    for (size_t i = 0; i < 2 * count; i += 2) {
        float a = half_to_float(left[i]), a_imaginary = half_to_float(left[i + 1]);
        float b = half_to_float(right[i]), b_imaginary = half_to_float(right[i + 1]);
        out[i] = float_to_half(a * b - a_imaginary * b_imaginary);
        out[i + 1] = float_to_half(a * b_imaginary + a_imaginary * b);
    }
}

#define REALS(operation)                                                                           \
    [SIM_KIND_HALF] = operation##_half, [SIM_KIND_FLOAT] = operation##_float,                      \
    [SIM_KIND_DOUBLE] = operation##_double, [SIM_KIND_LONG_DOUBLE] = operation##_long_double,      \
    [SIM_KIND_QUAD] = operation##_quad
#define COMPLEXES(operation)                                                                       \
    [SIM_KIND_COMPLEX_HALF] = operation##_complex_half,                                            \
    [SIM_KIND_COMPLEX_FLOAT] = operation##_complex_float,                                          \
    [SIM_KIND_COMPLEX_DOUBLE] = operation##_complex_double,                                        \
    [SIM_KIND_COMPLEX_LONG_DOUBLE] = operation##_complex_long_double,                              \
    [SIM_KIND_COMPLEX_QUAD] = operation##_complex_quad

const sim_kernel_row sim_op_floating_kernels[SIM_OP_NUMBERS] = {
    [SIM_OP_SUM] = {REALS(sum), COMPLEXES(sum)},
    [SIM_OP_PROD] = {REALS(prod), COMPLEXES(prod)},
    [SIM_OP_MIN] = {REALS(min)},
    [SIM_OP_MAX] = {REALS(max)},
};
