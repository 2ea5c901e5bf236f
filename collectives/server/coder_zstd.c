/* Lossless compression with zstd. The bytes of the values are put in planes (all first bytes, then
 * all second ones): exponents of neighbours are alike, mantissas are not. */
#include <server.h>
#include <stdlib.h>
#include <zstd.h>

static size_t zstd_room(const struct server_coder *coder, size_t count)
{
    (void)coder;
    return ZSTD_compressBound(count * sizeof(double));
}

static unsigned char *planes_new(size_t count)
{
    unsigned char *planes = malloc(count * sizeof(double) + 1);
    if (!planes)
        abort();
    return planes;
}

static size_t zstd_encode(const struct server_coder *coder, const double *values, size_t count,
                          uint64_t seed, void *bytes)
{
    const unsigned char *in = (const unsigned char *)values;
    unsigned char *planes = planes_new(count);
    (void)seed;
    for (size_t i = 0; i < count; i++)
        for (size_t b = 0; b < sizeof(double); b++)
            planes[b * count + i] = in[i * sizeof(double) + b];
    size_t size = ZSTD_compress(bytes, zstd_room(coder, count), planes, count * sizeof(double),
                                (int)coder->setting);
    free(planes);
    if (ZSTD_isError(size))
        abort(); /* the room is what zstd asks for: only memory can be missing */
    return size;
}

static bool zstd_decode(const struct server_coder *coder, const void *bytes, size_t size,
                        double *values, size_t count)
{
    unsigned char *planes = planes_new(count), *out = (unsigned char *)values;
    (void)coder;
    size_t got = ZSTD_decompress(planes, count * sizeof(double), bytes, size);
    bool whole = !ZSTD_isError(got) && got == count * sizeof(double);
    for (size_t i = 0; i < count && whole; i++)
        for (size_t b = 0; b < sizeof(double); b++)
            out[i * sizeof(double) + b] = planes[b * count + i];
    free(planes);
    return whole;
}

struct server_coder server_coder_zstd(int level)
{
    return (struct server_coder){.name = "zstd",
                                 .exact = true,
                                 .setting = level,
                                 .room = zstd_room,
                                 .encode = zstd_encode,
                                 .decode = zstd_decode};
}
