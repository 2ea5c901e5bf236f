/* Top-k sparsification: the k values of largest magnitude with their places, in rising order. Among
 * equal magnitudes the first wins; what is no number counts as largest, so that it is not hidden.
 */
#include "collectives/systems/server/private.h"

#include <math.h>
#include <server.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRY = sizeof(uint32_t) + sizeof(double) };

static size_t kept(const struct server_coder *coder, size_t count)
{
    size_t k = (size_t)ceil(coder->setting * (double)count);
    return k > count ? count : k ? k : count > 0;
}

static size_t top_k_room(const struct server_coder *coder, size_t count)
{
    return kept(coder, count) * ENTRY;
}

static double weight(double value)
{
    return isnan(value) ? INFINITY : fabs(value);
}

struct candidate {
    double weight;
    uint32_t place;
};

static int heavier(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return x->place < y->place ? -1 : 1;
}

static int earlier(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    return x->place < y->place ? -1 : 1;
}

static size_t top_k_encode(const struct server_coder *coder, const double *values, size_t count,
                           uint64_t seed, void *bytes)
{
    size_t k = kept(coder, count);
    struct candidate *candidates = malloc((count + 1) * sizeof *candidates);
    unsigned char *out = bytes;
    (void)seed;
    if (!candidates)
        abort();
    for (size_t i = 0; i < count; i++)
        candidates[i] = (struct candidate){weight(values[i]), (uint32_t)i};
    qsort(candidates, count, sizeof *candidates, heavier);
    qsort(candidates, k, sizeof *candidates, earlier);
    for (size_t i = 0; i < k; i++, out += ENTRY) {
        memcpy(out, &candidates[i].place, sizeof candidates[i].place);
        memcpy(out + sizeof candidates[i].place, &values[candidates[i].place], sizeof *values);
    }
    free(candidates);
    return k * ENTRY;
}

static bool top_k_decode(const struct server_coder *coder, const void *bytes, size_t size,
                         double *values, size_t count)
{
    const unsigned char *in = bytes;
    if (size != kept(coder, count) * ENTRY)
        return false;
    memset(values, 0, count * sizeof *values);
    uint64_t next = 0;
    for (size_t i = 0; i < size / ENTRY; i++, in += ENTRY) {
        uint32_t place;
        memcpy(&place, in, sizeof place);
        if (place < next || place >= count)
            return false;
        memcpy(&values[place], in + sizeof place, sizeof *values);
        next = (uint64_t)place + 1;
    }
    return true;
}

struct server_coder server_coder_top_k(double fraction)
{
    if (!(fraction > 0 && fraction <= 1))
        server_fail("M009", "server_coder_top_k: a fraction of %g; it lies above 0, up to 1",
                    fraction);
    return (struct server_coder){.name = "top-k",
                                 .exact = fraction >= 1,
                                 .setting = fraction,
                                 .room = top_k_room,
                                 .encode = top_k_encode,
                                 .decode = top_k_decode};
}
