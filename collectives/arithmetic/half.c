#include "collectives/arithmetic/half.h"

#include "collectives/arithmetic/local.h"
#include "collectives/tape/state.h"

#include <math.h>

const struct half_format half_float16 = {.mantissa_bits = 10, .exponent_low = -14};
const struct half_format half_bfloat16 = {.mantissa_bits = 7, .exponent_low = -126};

enum { SIGN = 0x8000, MAGNITUDE = 0x7fff };

static unsigned infinite(const struct half_format *format)
{
    unsigned mantissa = (1u << format->mantissa_bits) - 1;
    return MAGNITUDE & ~mantissa;
}

uint16_t half_from(const struct half_format *format, double value)
{
    unsigned sign = signbit(value) ? SIGN : 0;
    if (isnan(value))
        return (uint16_t)(sign | infinite(format) | 1u << (format->mantissa_bits - 1));
    double magnitude = fabs(value);
    int exponent = format->exponent_low;
    if (isinf(value) || magnitude >= ldexp(1, 2 - format->exponent_low))
        return (uint16_t)(sign | infinite(format));
    if (magnitude >= ldexp(1, format->exponent_low)) {
        frexp(magnitude, &exponent);
        exponent--;
    }
    /* In units of the last place; the mode to nearest even is the default everywhere. */
    unsigned units = (unsigned)nearbyint(ldexp(magnitude, format->mantissa_bits - exponent));
    /* A normal number's units include the hidden bit; a carry moves into the exponent by itself, that
     * of the largest numbers to the infinite. */
    unsigned biased = (unsigned)(exponent - format->exponent_low) << format->mantissa_bits;
    return (uint16_t)(sign | (biased + units));
}

double half_value(const struct half_format *format, uint16_t half)
{
    unsigned one = 1u << format->mantissa_bits, mantissa = half & (one - 1);
    int exponent = (half & MAGNITUDE) >> format->mantissa_bits;
    double magnitude;
    if ((half & infinite(format)) == infinite(format))
        magnitude = mantissa ? NAN : INFINITY;
    else if (exponent == 0)
        magnitude = ldexp(mantissa, format->exponent_low - format->mantissa_bits);
    else
        magnitude =
            ldexp(mantissa + one, exponent - 1 + format->exponent_low - format->mantissa_bits);
    return half & SIGN ? -magnitude : magnitude;
}

static void store(const struct half_format *format, enum diff_type type, size_t count,
                  const void *x, void *y)
{
    for (size_t i = 0; i < count * diff_type_parts(type); i++)
        if (diff_type_is_single(type))
            ((float *)y)[i] = (float)half_value(format, half_from(format, ((const float *)x)[i]));
        else
            ((double *)y)[i] = half_value(format, half_from(format, ((const double *)x)[i]));
}

static void store_float16(enum diff_type type, size_t count, const void *x, void *y, void *context)
{
    (void)context;
    store(&half_float16, type, count, x, y);
}

static void store_bfloat16(enum diff_type type, size_t count, const void *x, void *y, void *context)
{
    (void)context;
    store(&half_bfloat16, type, count, x, y);
}

struct diff_tensor *diff_stored(struct diff_tensor *x, enum diff_half half)
{
    static const struct diff_coder coders[] = {
        [DIFF_FLOAT16] = {.name = "float16", .code = store_float16},
        [DIFF_BFLOAT16] = {.name = "bfloat16", .code = store_bfloat16}};
    ENTER(x->tape->state);
    if (half != DIFF_FLOAT16 && half != DIFF_BFLOAT16)
        state_fail(x->tape->state, "M009", "diff_stored: %d is no way to store a number",
                   (int)half);
    struct diff_tensor *y = diff_coded(x, &coders[half]);
    state_leave(x->tape->state);
    return y;
}
