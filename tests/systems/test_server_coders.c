/* Coders of the parameter server: what is lost, what is not, and bytes that nobody wrote. */
#include "tests/dice.h"
#include "tests/tap.h"

#include <math.h>
#include <server.h>
#include <stdint.h>
#include <stdlib.h>

enum { COUNT_MAX = 1000, GUARD = 16 };

static double random_value(uint64_t *state)
{
    return (double)(dice_next(state) >> 11) * 0x1p-52 - 1;
}

static double bits_value(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void fill(double *values, size_t count, uint64_t seed)
{
    const double special[] = {
        0.0,       -0.0,      INFINITY, -INFINITY,
        0x1p-1074, -0x1p1023, 1.0,      bits_value(UINT64_C(0x7ff8000000001234))};
    for (size_t i = 0; i < count; i++)
        values[i] =
            i % 5 == 4 ? special[i / 5 % 8] : random_value(&seed) * pow(10, (double)(i % 30));
}

/* Encodes into a buffer of exactly the room the coder asks for; false where it writes beyond. */
static bool encode(const struct server_coder *coder, const double *values, size_t count,
                   uint64_t seed, unsigned char **bytes, size_t *size)
{
    size_t room = coder->room(coder, count);
    *bytes = malloc(room + GUARD);
    memset(*bytes, 0xa5, room + GUARD);
    *size = coder->encode(coder, values, count, seed, *bytes);
    bool inside = *size <= room;
    for (size_t i = 0; i < GUARD; i++)
        inside = inside && (*bytes)[room + i] == 0xa5;
    return inside;
}

static bool roundtrip(const struct server_coder *coder, const double *values, size_t count,
                      uint64_t seed, double *decoded)
{
    unsigned char *bytes;
    size_t size;
    bool good = encode(coder, values, count, seed, &bytes, &size) &&
                coder->decode(coder, bytes, size, decoded, count);
    free(bytes);
    return good;
}

static void exact_coders(void)
{
    static const char *const names[] = {"none", "zstd", "zstd:19", "top-k:1"};
    static const size_t counts[] = {0, 1, 2, 7, COUNT_MAX};
    double values[COUNT_MAX], decoded[COUNT_MAX];
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        struct server_coder coder;
        bool exact = server_coder_parse(names[n], &coder) && coder.exact;
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            fill(values, counts[c], 7 + c);
            exact = exact && roundtrip(&coder, values, counts[c], 1, decoded) &&
                    memcmp(values, decoded, counts[c] * sizeof *values) == 0;
        }
        tap_ok(exact, "%s gives back every bit, of NaN, infinity and -0 too", names[n]);
    }
}

/* ---- float16 ---- */

static double half_of(double value)
{
    struct server_coder coder = server_coder_float16();
    double decoded = NAN;
    if (!roundtrip(&coder, &value, 1, 0, &decoded))
        return NAN;
    return decoded;
}

static double half_decoded(unsigned bits)
{
    struct server_coder coder = server_coder_float16();
    unsigned char bytes[2] = {(unsigned char)(bits & 0xff), (unsigned char)(bits >> 8)};
    double value = 0;
    coder.decode(&coder, bytes, 2, &value, 1);
    return value;
}

/* The definition: by exponent and mantissa, with the neighbours compared. */
static double half_nearest(double value)
{
    static double halves[0x7c00];
    if (halves[1] == 0)
        for (unsigned i = 0; i < 0x7c00; i++)
            halves[i] =
                i < 1024 ? i * 0x1p-24 : (1024 + i % 1024) * pow(2, (double)(i / 1024) - 25);
    double magnitude = fabs(value);
    size_t low = 0, high = 0x7c00 - 1;
    if (magnitude > halves[high])
        return copysign(magnitude >= 65520 ? INFINITY : halves[high], value);
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        *(halves[middle] <= magnitude ? &low : &high) = middle;
    }
    double below = magnitude - halves[low], above = halves[high] - magnitude;
    size_t nearest = below < above ? low : above < below ? high : low % 2 ? high : low;
    return copysign(halves[nearest], value);
}

static void float16(void)
{
    bool fixed = true, nearest = true;
    for (unsigned bits = 0; bits < 0x10000; bits++) {
        double value = half_decoded(bits);
        double again = half_of(value);
        fixed = fixed && (isnan(value) ? isnan(again)
                                       : again == value && !signbit(again) == !signbit(value));
    }
    tap_ok(fixed, "every half precision number is coded as itself");
    uint64_t seed = 3;
    for (int i = 0; i < 200000; i++) {
        double value = random_value(&seed) * pow(2, (int)(i % 50) - 30);
        nearest = nearest && half_of(value) == half_nearest(value);
    }
    for (unsigned bits = 0; bits < 0x7bff; bits++) { /* exactly half way: to the even one */
        double middle = (half_decoded(bits) + half_decoded(bits + 1)) / 2;
        nearest = nearest && half_of(middle) == half_nearest(middle) &&
                  half_of(-middle) == half_nearest(-middle);
    }
    tap_ok(nearest, "values become the nearest half precision number, ties the even one");
    tap_ok(half_of(65519.99) == 65504 && isinf(half_of(65520)) && half_of(-1e300) == -INFINITY &&
               isnan(half_of(NAN)),
           "what is too large becomes infinite, what is no number stays none");
    tap_ok(half_of(1 + 0x1p-11 + 0x1p-40) == 1 + 0x1p-10,
           "rounding is done once: just above the middle goes up");
}

/* ---- top-k ---- */

static int heavier(const void *a, const void *b)
{
    double x = fabs(*(const double *)a), y = fabs(*(const double *)b);
    return x > y ? -1 : x < y;
}

static void top_k(void)
{
    struct server_coder coder = server_coder_top_k(0.1);
    double values[COUNT_MAX], decoded[COUNT_MAX], sorted[COUNT_MAX];
    uint64_t seed = 11;
    for (size_t i = 0; i < COUNT_MAX; i++)
        sorted[i] = values[i] = random_value(&seed);
    qsort(sorted, COUNT_MAX, sizeof *sorted, heavier);
    bool right = roundtrip(&coder, values, COUNT_MAX, 0, decoded);
    size_t kept = 0;
    for (size_t i = 0; i < COUNT_MAX; i++) {
        bool large = fabs(values[i]) >= fabs(sorted[COUNT_MAX / 10 - 1]);
        kept += decoded[i] != 0;
        right = right && decoded[i] == (large ? values[i] : 0);
    }
    tap_ok(right && kept == COUNT_MAX / 10,
           "top-k keeps the tenth of largest magnitude, all else is 0");
    double ties[4] = {-2, 2, 1, 2}, some[4];
    struct server_coder half = server_coder_top_k(0.5);
    tap_ok(roundtrip(&half, ties, 4, 0, some) && some[0] == -2 && some[1] == 2 && some[2] == 0 &&
               some[3] == 0,
           "among equal magnitudes the first are kept");
    double nan[3] = {1e300, NAN, -1e300};
    struct server_coder one = server_coder_top_k(0.01);
    tap_ok(roundtrip(&one, nan, 3, 0, some) && isnan(some[1]) && some[0] == 0,
           "one value is kept at least, and NaN is not hidden");
    tap_ok(roundtrip(&one, nan, 0, 0, some), "no values at all are coded too");
}

/* ---- quantised ---- */

static void quantised(void)
{
    enum { COUNT = 12, DRAWS = 20000, LEVELS = 4 };
    struct server_coder coder = server_coder_quantised(LEVELS);
    double values[COUNT], decoded[COUNT], mean[COUNT] = {0}, error = 0, norm = 0;
    uint64_t seed = 5;
    for (size_t i = 0; i < COUNT; i++) {
        values[i] = random_value(&seed) * (double)(1 + i);
        norm += values[i] * values[i];
    }
    norm = sqrt(norm);
    bool on_levels = true, again = true;
    for (uint64_t draw = 0; draw < DRAWS; draw++) {
        double repeated[COUNT];
        roundtrip(&coder, values, COUNT, draw, decoded);
        for (size_t i = 0; i < COUNT; i++) {
            double level = fabs(decoded[i]) / norm * LEVELS;
            on_levels = on_levels && fabs(level - nearbyint(level)) < 1e-9;
            mean[i] += decoded[i] / DRAWS;
            error += (decoded[i] - values[i]) * (decoded[i] - values[i]) / DRAWS;
        }
        if (draw < 100) {
            roundtrip(&coder, values, COUNT, draw, repeated);
            again = again && memcmp(decoded, repeated, sizeof repeated) == 0;
        }
    }
    double worst = 0;
    for (size_t i = 0; i < COUNT; i++)
        worst = fmax(worst, fabs(mean[i] - values[i]));
    tap_ok(on_levels, "quantised values are whole levels of the norm");
    /* Five standard errors of a mean whose values are at most half a level from the middle. */
    tap_is_double(worst, 0, 5 * norm / LEVELS / 2 / sqrt(DRAWS), "quantisation is unbiased");
    tap_ok(error <= fmin(COUNT / (double)(LEVELS * LEVELS), sqrt(COUNT) / LEVELS) * norm * norm,
           "the error of quantisation keeps to the bound of QSGD");
    tap_ok(again, "the same seed draws the same levels");
    double first[COUNT], second[COUNT];
    roundtrip(&coder, values, COUNT, 1, first);
    roundtrip(&coder, values, COUNT, 2, second);
    tap_ok(memcmp(first, second, sizeof first) != 0, "another seed draws others");
    double zeros[2] = {0, -0.0}, tiny[2] = {1e-300, -3e-300}, huge[2] = {1e300, -1e300}, out[2];
    bool edges = roundtrip(&coder, zeros, 2, 1, out) && out[0] == 0 && out[1] == 0;
    edges = edges && roundtrip(&coder, tiny, 2, 1, out) && out[1] < 0 && isfinite(out[1]);
    edges = edges && roundtrip(&coder, huge, 2, 1, out) && out[0] > 0 && isfinite(out[0]);
    tap_ok(edges, "zeros stay zeros, and neither tiny nor huge values lose their norm");
}

/* ---- bytes that nobody wrote ---- */

static void refusals(void)
{
    static const char *const names[] = {"none",      "float16",     "bfloat16",
                                        "top-k:0.5", "quantised:4", "zstd"};
    double values[10], decoded[10];
    for (size_t i = 0; i < 10; i++)
        values[i] = (double)i - 4;
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        struct server_coder coder;
        unsigned char *bytes;
        size_t size;
        server_coder_parse(names[n], &coder);
        encode(&coder, values, 10, 1, &bytes, &size);
        unsigned char *longer = calloc(1, size + 1);
        memcpy(longer, bytes, size);
        bool refused = !coder.decode(&coder, bytes, size - 1, decoded, 10) &&
                       !coder.decode(&coder, longer, size + 1, decoded, 10) &&
                       !coder.decode(&coder, bytes, size, decoded, 9) &&
                       !coder.decode(&coder, bytes, 0, decoded, 10);
        tap_ok(refused, "%s refuses bytes that are too few, too many or for another count",
               names[n]);
        free(longer);
        free(bytes);
    }
    struct server_coder top = server_coder_top_k(0.2), levels = server_coder_quantised(4);
    unsigned char *bytes;
    size_t size;
    encode(&top, values, 10, 1, &bytes, &size);
    uint32_t place = 10;
    memcpy(bytes, &place, sizeof place);
    bool beyond = top.decode(&top, bytes, size, decoded, 10);
    memcpy(bytes, bytes + size / 2, sizeof place); /* the same place twice */
    bool twice = top.decode(&top, bytes, size, decoded, 10);
    free(bytes);
    tap_ok(!beyond && !twice, "top-k refuses places beyond the end, and places out of order");
    encode(&levels, values, 10, 1, &bytes, &size);
    bytes[sizeof(double)] = 5;
    tap_ok(!levels.decode(&levels, bytes, size, decoded, 10),
           "quantised refuses a level that is none");
    free(bytes);
}

static void names(void)
{
    static const char *const wrong[] = {"",        "nope",        "top-k:",        "top-k:0",
                                        "top-k:2", "quantised:0", "quantised:128", "zstd:x",
                                        "zstd:20", "none:1",      "float16x"};
    struct server_coder coder;
    bool refused = true;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refused = refused && !server_coder_parse(wrong[i], &coder);
    tap_ok(refused, "a coder that does not exist is refused");
    tap_ok(server_coder_parse("top-k:0.25", &coder) && coder.setting == 0.25 &&
               server_coder_parse("quantised", &coder) && coder.setting == 8,
           "settings are read from the name, or have their usual value");
    double smooth[COUNT_MAX];
    for (size_t i = 0; i < COUNT_MAX; i++)
        smooth[i] = 1 + (double)i / COUNT_MAX;
    unsigned char *bytes;
    size_t size;
    server_coder_parse("zstd", &coder);
    encode(&coder, smooth, COUNT_MAX, 0, &bytes, &size);
    tap_ok(size < COUNT_MAX * sizeof(double) / 2, "zstd halves values that are alike (%zu bytes)",
           size);
    free(bytes);
}

int main(void)
{
    exact_coders();
    float16();
    top_k();
    quantised();
    refusals();
    names();
    return tap_done();
}
