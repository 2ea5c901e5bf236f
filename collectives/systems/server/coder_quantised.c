/* QSGD (arXiv 1610.02132): a value v of a gradient with norm n becomes sign(v) n l/s, where s is
 * the number of levels and l is one of the two levels around s |v|/n, drawn so that the expectation
 * is v. The draws depend on the seed and the place alone. */
#include "collectives/systems/server/private.h"

#include <math.h>
#include <server.h>
#include <string.h>

static double draw(uint64_t seed, uint64_t place)
{
    uint64_t z = seed + (place + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static size_t quantised_room(const struct server_coder *coder, size_t count)
{
    (void)coder;
    return sizeof(double) + count;
}

/* Scaled, so that neither tiny nor huge values lose their squares. */
static double norm_of(const double *values, size_t count)
{
    double largest = 0, sum = 0;
    for (size_t i = 0; i < count; i++)
        largest = fabs(values[i]) <= largest ? largest : fabs(values[i]);
    if (!(largest > 0) || isinf(largest))
        return largest;
    for (size_t i = 0; i < count; i++)
        sum += values[i] / largest * (values[i] / largest);
    return largest * sqrt(sum);
}

static size_t quantised_encode(const struct server_coder *coder, const double *values, size_t count,
                               uint64_t seed, void *bytes)
{
    double norm = norm_of(values, count);
    unsigned char *out = bytes;
    memcpy(out, &norm, sizeof norm);
    out += sizeof norm;
    for (size_t i = 0; i < count; i++) {
        double level = isfinite(norm) && norm > 0 ? coder->setting * fabs(values[i]) / norm : 0;
        double below = floor(level);
        int whole = (int)below + (draw(seed, i) < level - below);
        out[i] = (unsigned char)((signbit(values[i]) ? 0x80 : 0) | whole);
    }
    return sizeof norm + count;
}

static bool quantised_decode(const struct server_coder *coder, const void *bytes, size_t size,
                             double *values, size_t count)
{
    const unsigned char *in = bytes;
    double norm;
    if (size != sizeof norm + count)
        return false;
    memcpy(&norm, in, sizeof norm);
    in += sizeof norm;
    for (size_t i = 0; i < count; i++) {
        int whole = in[i] & 0x7f;
        if (whole > (int)coder->setting)
            return false;
        double magnitude = isfinite(norm) ? norm * whole / coder->setting : norm;
        values[i] = in[i] & 0x80 ? -magnitude : magnitude;
    }
    return true;
}

struct server_coder server_coder_quantised(int levels)
{
    if (levels < 1 || levels > 127)
        server_fail("M009", "server_coder_quantised: %d levels; 1 to 127 are possible", levels);
    return (struct server_coder){.name = "quantised",
                                 .setting = levels,
                                 .room = quantised_room,
                                 .encode = quantised_encode,
                                 .decode = quantised_decode};
}
