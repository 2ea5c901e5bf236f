/* Numbers of 16 bits: IEEE's half precision, and the upper half of a float. Rounding is from double
 * at once, never by way of float, which would round twice. */
#ifndef COLLECTIVES_ARITHMETIC_HALF_H
#define COLLECTIVES_ARITHMETIC_HALF_H

#include <stdint.h>

struct half_format {
    int mantissa_bits, exponent_low; /* of normal numbers; the highest is 1 - exponent_low */
};
extern const struct half_format half_float16, half_bfloat16;

/* The nearest, of two the even one; infinite from half way beyond the largest on. */
uint16_t half_from(const struct half_format *format, double value);
double half_value(const struct half_format *format, uint16_t half);

#endif
