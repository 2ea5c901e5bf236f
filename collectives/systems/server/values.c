/* Blocks of values: see values.h. */
#include "collectives/systems/server/values.h"

#include <string.h>

static size_t total(const struct server *server)
{
    size_t count = 0;
    for (size_t i = 0; i < server->parameter_count; i++)
        count += server->parameters[i].count;
    return count;
}

size_t values_blocks(const struct server *server)
{
    size_t blocks = server->options.blocks, count = total(server);
    if (server->options.read == SERVER_CONSISTENT || blocks < 1)
        return 1;
    return blocks < count ? blocks : count ? count : 1;
}

struct values_range values_block(const struct server *server, size_t block, size_t blocks)
{
    size_t count = total(server);
    return (struct values_range){count * block / blocks, count * (block + 1) / blocks};
}

/* The part of a parameter that lies in a range: first value and how many. */
static double *part(const struct server *server, size_t parameter, size_t offset,
                    struct values_range range, size_t *count)
{
    const struct parameter *at = &server->parameters[parameter];
    size_t begin = range.begin > offset ? range.begin - offset : 0;
    size_t end = range.end > offset ? range.end - offset : 0;
    end = end < at->count ? end : at->count;
    *count = begin < end ? end - begin : 0;
    return at->values + (begin < end ? begin : 0);
}

void values_out(const struct server *server, struct values_range range, unsigned char *bytes)
{
    for (size_t i = 0, offset = 0; i < server->parameter_count; i++) {
        size_t count;
        const double *values = part(server, i, offset, range, &count);
        memcpy(bytes, values, count * sizeof *values);
        bytes += count * sizeof *values;
        offset += server->parameters[i].count;
    }
}

void values_in(struct server *server, struct values_range range, const unsigned char *bytes)
{
    for (size_t i = 0, offset = 0; i < server->parameter_count; i++) {
        size_t count;
        double *values = part(server, i, offset, range, &count);
        memcpy(values, bytes, count * sizeof *values);
        bytes += count * sizeof *values;
        offset += server->parameters[i].count;
    }
}
