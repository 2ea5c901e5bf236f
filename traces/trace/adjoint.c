/* Which forward operation an adjoint operation mirrors: from the links between nodes. Before
 * trace_finish, ops grouped by rank.
 *
 * The k-th send of a backward node mirrors the k-th receive of its forward node and the other way
 * round; the k-th collective mirrors the k-th collective. Where the forward node holds a wait, the
 * operation it waited for counts in its stead: the adjoint of a Wait starts a transfer, the adjoint
 * of the start waits for it. */
#include "traces/trace/memory.h"
#include "traces/trace/trace.h"

#include <stdlib.h>
#include <string.h>

enum { SENDS, RECEIVES, COLLECTIVES, SORTS };

static int sort_of(const struct trace_op *op)
{
    switch (op_kind_class(op->kind)) {
    case CLASS_SEND:
        return SENDS;
    case CLASS_RECEIVE:
        return RECEIVES;
    case CLASS_COLLECTIVE:
        return COLLECTIVES;
    default:
        return SORTS;
    }
}

struct linker {
    struct trace *trace;
    uint32_t *first, *last;  /* per node: its operations as a list */
    uint32_t *next;          /* per op */
    uint32_t (*used)[SORTS]; /* per node: how many of each sort were mirrored */
};

static uint32_t meant(const struct trace *trace, uint32_t index)
{
    const struct trace_op *op = &trace->ops[index];
    return op_kind_class(op->kind) == CLASS_WAIT && op->request < trace->op_count ? op->request
                                                                                  : index;
}

static uint32_t mirrored(const struct linker *linker, uint32_t forward, int sort, uint32_t skipped)
{
    for (uint32_t i = linker->first[forward]; i != TRACE_NO; i = linker->next[i]) {
        uint32_t op = meant(linker->trace, i);
        if (sort_of(&linker->trace->ops[op]) == sort && skipped-- == 0)
            return op;
    }
    return TRACE_NO;
}

static void link_op(struct linker *linker, uint32_t index)
{
    const struct trace_op *op = &linker->trace->ops[index];
    int sort = sort_of(op);
    if (op->node >= linker->trace->node_count || sort == SORTS ||
        trace_op_adjoint_of(linker->trace, op) != TRACE_NO)
        return;
    uint32_t forward = linker->trace->nodes[op->node].forward;
    if (forward >= linker->trace->node_count)
        return;
    int wanted = sort == SENDS ? RECEIVES : sort == RECEIVES ? SENDS : COLLECTIVES;
    trace_op_set_adjoint(linker->trace, index,
                         mirrored(linker, forward, wanted, linker->used[op->node][sort]++));
}

bool trace_link_adjoints(struct trace *trace, struct failure *failure)
{
    size_t nodes = trace->node_count, ops = trace->op_count;
    if (nodes == 0 || ops == 0)
        return true;
    struct linker linker = {.trace = trace,
                            .first = malloc(nodes * sizeof *linker.first),
                            .last = malloc(nodes * sizeof *linker.last),
                            .next = malloc(ops * sizeof *linker.next),
                            .used = calloc(nodes, sizeof *linker.used)};
    bool done = linker.first && linker.last && linker.next && linker.used;
    if (done) {
        memset(linker.first, 0xff, nodes * sizeof *linker.first);
        for (uint32_t i = 0; i < ops; i++) {
            uint32_t node = trace->ops[i].node;
            linker.next[i] = TRACE_NO;
            if (node >= nodes)
                continue;
            if (linker.first[node] == TRACE_NO)
                linker.first[node] = i;
            else
                linker.next[linker.last[node]] = i;
            linker.last[node] = i;
        }
        for (uint32_t i = 0; i < ops; i++)
            link_op(&linker, i);
    } else {
        failure_set(failure, FAILURE_INTERNAL, "out of memory while linking adjoints");
    }
    free(linker.first);
    free(linker.last);
    free(linker.next);
    free(linker.used);
    return done;
}
