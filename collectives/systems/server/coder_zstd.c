/* Lossless compression with zstd. The bytes of the values are put in planes (all first bytes, then
 * all second ones): exponents of neighbours are alike, mantissas are not. */
#include <server.h>

#include "collectives/systems/server/private.h"
#include "collectives/tape/state.h"

#include <mpix.h>
#include <stdlib.h>
#include <zstd.h>

/* Making a context takes longer than most gradients do: a rank keeps its own. */
struct contexts {
    ZSTD_CCtx *compress;
    ZSTD_DCtx *decompress;
};

static void contexts_release(void *state)
{
    struct contexts *contexts = state;
    ZSTD_freeCCtx(contexts->compress);
    ZSTD_freeDCtx(contexts->decompress);
}

/* NULL outside of a rank. */
static struct contexts *contexts_get(void)
{
    if (!MPIX_Rank_slots())
        return NULL;
    struct contexts *contexts = state_system("server zstd", sizeof *contexts, contexts_release);
    if (!contexts->compress)
        contexts->compress = ZSTD_createCCtx();
    if (!contexts->decompress)
        contexts->decompress = ZSTD_createDCtx();
    return contexts->compress && contexts->decompress ? contexts : NULL;
}

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
    struct contexts *contexts = contexts_get();
    size_t room = zstd_room(coder, count), length = count * sizeof(double);
    int level = (int)coder->setting;
    size_t size = contexts
                      ? ZSTD_compressCCtx(contexts->compress, bytes, room, planes, length, level)
                      : ZSTD_compress(bytes, room, planes, length, level);
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
    struct contexts *contexts = contexts_get();
    size_t length = count * sizeof(double);
    size_t got = contexts ? ZSTD_decompressDCtx(contexts->decompress, planes, length, bytes, size)
                          : ZSTD_decompress(planes, length, bytes, size);
    bool whole = !ZSTD_isError(got) && got == length;
    for (size_t i = 0; i < count && whole; i++)
        for (size_t b = 0; b < sizeof(double); b++)
            out[i * sizeof(double) + b] = planes[b * count + i];
    free(planes);
    return whole;
}

struct server_coder server_coder_zstd(int level)
{
    if (level < 1 || level > 19)
        server_fail("M009", "server_coder_zstd: level %d; 1 to 19 are possible", level);
    return (struct server_coder){.name = "zstd",
                                 .exact = true,
                                 .setting = level,
                                 .room = zstd_room,
                                 .encode = zstd_encode,
                                 .decode = zstd_decode};
}
