/* spans.h: a set of stretches of memory, each with the operation whose buffer it is, which finds
 * those that overlap a given one in logarithmic time for each. */
#ifndef CHECKER_PROPERTIES_SPANS_H
#define CHECKER_PROPERTIES_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct span {
    uint64_t begin, end; /* end is behind the last byte */
    uint32_t op;
};

struct spans {
    struct span_node *nodes; /* nodes[0] stands for none */
    size_t room;
    uint32_t root, count, unused; /* count: of nodes ever used; unused: first of a list */
};

void spans_release(struct spans *spans);
void spans_clear(struct spans *spans);
void spans_add(struct spans *spans, const struct span *span);
/* Takes out the one of these values; nothing happens when it is not there. */
void spans_remove(struct spans *spans, const struct span *span);
/* Calls `look` for spans that share a byte with this one, lowest begin first, as long as it returns
 * true. */
void spans_overlapping(const struct spans *spans, const struct span *span,
                       bool (*look)(void *context, uint32_t op), void *context);

#endif
