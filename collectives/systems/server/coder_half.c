/* Half precision: two bytes a value. */
#include "collectives/arithmetic/half.h"

#include <server.h>

static const struct half_format *format_of(const struct server_coder *coder)
{
    return coder->setting == 1 ? &half_bfloat16 : &half_float16;
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
    (void)seed;
    for (size_t i = 0; i < count; i++) {
        uint16_t half = half_from(format_of(coder), values[i]);
        out[2 * i] = (unsigned char)(half & 0xff);
        out[2 * i + 1] = (unsigned char)(half >> 8);
    }
    return 2 * count;
}

static bool half_decode(const struct server_coder *coder, const void *bytes, size_t size,
                        double *values, size_t count)
{
    const unsigned char *in = bytes;
    if (size != 2 * count)
        return false;
    for (size_t i = 0; i < count; i++)
        values[i] = half_value(format_of(coder), (uint16_t)(in[2 * i] | in[2 * i + 1] << 8));
    return true;
}

struct server_coder server_coder_float16(void)
{
    return (struct server_coder){
        .name = "float16", .room = half_room, .encode = half_encode, .decode = half_decode};
}

struct server_coder server_coder_bfloat16(void)
{
    return (struct server_coder){.name = "bfloat16",
                                 .room = half_room,
                                 .encode = half_encode,
                                 .decode = half_decode,
                                 .setting = 1};
}
