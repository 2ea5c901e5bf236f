/* Half precision: two bytes a value. Rounding is from double at once, never by way of float, which
 * would round twice. */
#include <math.h>
#include <server.h>

enum { MANTISSA_BITS = 10, EXPONENT_LOW = -14, EXPONENT_HIGH = 15 };

static uint16_t half_from(double value)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    if (isnan(value))
        return (uint16_t)(sign | 0x7e00);
    double magnitude = fabs(value);
    if (magnitude >= 65520) /* half way between the largest and what would come next */
        return (uint16_t)(sign | 0x7c00);
    int exponent = EXPONENT_LOW;
    if (magnitude >= ldexp(1, EXPONENT_LOW)) {
        frexp(magnitude, &exponent);
        exponent--;
    }
    /* In units of the last place; the mode to nearest even is the default everywhere. */
    unsigned units = (unsigned)nearbyint(ldexp(magnitude, MANTISSA_BITS - exponent));
    /* A normal number's units include the hidden bit; a carry moves into the exponent by itself. */
    unsigned biased = (unsigned)(exponent - EXPONENT_LOW) << MANTISSA_BITS;
    return (uint16_t)(sign | (biased + units));
}

static double half_value(uint16_t half)
{
    int exponent = half >> MANTISSA_BITS & 31;
    unsigned mantissa = half & 0x3ff;
    double magnitude;
    if (exponent == 31)
        magnitude = mantissa ? NAN : INFINITY;
    else if (exponent == 0)
        magnitude = ldexp(mantissa, EXPONENT_LOW - MANTISSA_BITS);
    else
        magnitude = ldexp(mantissa + 1024, exponent - 1 + EXPONENT_LOW - MANTISSA_BITS);
    return half & 0x8000 ? -magnitude : magnitude;
}

static size_t half_room(const struct server_coder *coder, size_t count)
{
    (void)coder;
    return 2 * count;
}

static size_t half_encode(const struct server_coder *coder, const double *values, size_t count,
                          uint64_t seed, void *bytes)
{
    unsigned char *out = bytes;
    (void)coder, (void)seed;
    for (size_t i = 0; i < count; i++) {
        uint16_t half = half_from(values[i]);
        out[2 * i] = (unsigned char)(half & 0xff);
        out[2 * i + 1] = (unsigned char)(half >> 8);
    }
    return 2 * count;
}

static bool half_decode(const struct server_coder *coder, const void *bytes, size_t size,
                        double *values, size_t count)
{
    const unsigned char *in = bytes;
    (void)coder;
    if (size != 2 * count)
        return false;
    for (size_t i = 0; i < count; i++)
        values[i] = half_value((uint16_t)(in[2 * i] | in[2 * i + 1] << 8));
    return true;
}

struct server_coder server_coder_float16(void)
{
    return (struct server_coder){
        .name = "float16", .room = half_room, .encode = half_encode, .decode = half_decode};
}
