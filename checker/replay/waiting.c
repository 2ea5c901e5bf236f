/* Who waits for given ranks, through whomever: against the edges of the wait graph (waits.h). */
#include "checker/memory.h"
#include "checker/replay/waits.h"

#include <stdlib.h>

/* The edges sorted by their ends: those to node n are [begin[n], begin[n + 1]) of `from`. */
static void find_ends(struct wait_graph *graph)
{
    uint32_t *begin = check_new(graph->count + 2, sizeof *begin);
    uint32_t *from = check_new(graph->edge_count + 1, sizeof *from);
    for (size_t e = 0; e < graph->edge_count; e++)
        begin[graph->edges[e].to + 2]++;
    for (size_t n = 2; n < graph->count + 2; n++)
        begin[n] += begin[n - 1];
    for (uint32_t n = 0; n < graph->count; n++)
        for (uint32_t e = graph->nodes[n].edge; e != TRACE_NO; e = graph->edges[e].next)
            from[begin[graph->edges[e].to + 1]++] = n;
    graph->begin = begin;
    graph->from = from;
}

/* Adds to those that are seen who stands because they do; all of them are on the stack. */
static void reach(const struct wait_graph *graph, bool *seen, uint32_t *stack, size_t top)
{
    while (top) {
        uint32_t to = stack[--top];
        for (uint32_t i = graph->begin[to]; i < graph->begin[to + 1]; i++) {
            uint32_t node = graph->from[i];
            if (seen[node] || graph->nodes[node].goes)
                continue;
            seen[node] = true;
            stack[top++] = node;
        }
    }
}

/* An edge by which one waits for itself, through whomever. */
static bool is_inside(const struct wait_graph *graph, uint32_t node)
{
    bool inside = false;
    for (uint32_t e = graph->nodes[node].edge; e != TRACE_NO; e = graph->edges[e].next) {
        const struct wait_node *to = &graph->nodes[graph->edges[e].to];
        inside = inside || (!to->goes && to->component == graph->nodes[node].component);
    }
    return inside;
}

/* Who stands, and neither in a cycle nor because of one, nor of somebody who never goes. */
static void find_astray(struct wait_graph *graph)
{
    uint32_t *stack = check_new(graph->count, sizeof *stack);
    bool *seen = check_new(graph->count, sizeof *seen);
    size_t top = 0;
    for (uint32_t n = 0; n < graph->count; n++)
        if (graph->nodes[n].kind == WAIT_NEVER || (!graph->nodes[n].goes && is_inside(graph, n))) {
            seen[n] = true;
            stack[top++] = n;
        }
    reach(graph, seen, stack, top);
    for (uint32_t n = 0; n < graph->count; n++)
        graph->nodes[n].astray = !graph->nodes[n].goes && !seen[n];
    free(stack);
    free(seen);
}

void wait_graph_waiting(const struct wait_graph *graph, const bool *ranks, bool *waiting)
{
    uint32_t *stack = check_new(graph->count, sizeof *stack);
    bool *seen = check_new(graph->count, sizeof *seen);
    uint32_t count = graph->context->trace->ranks;
    size_t top = 0;
    for (uint32_t rank = 0; rank < count; rank++)
        if (ranks[rank]) {
            seen[rank] = true;
            stack[top++] = rank;
        }
    reach(graph, seen, stack, top);
    for (uint32_t rank = 0; rank < count; rank++)
        waiting[rank] = seen[rank] && !ranks[rank];
    free(stack);
    free(seen);
}

void wait_graph_index(struct wait_graph *graph)
{
    find_ends(graph);
    find_astray(graph);
}
