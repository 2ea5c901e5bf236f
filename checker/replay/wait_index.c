/* See wait_index.h; and who waits for given ranks, through whomever. */
#include "checker/replay/wait_index.h"

#include "checker/memory.h"

#include <stdlib.h>

struct wait_reach {
    uint32_t *stack, *found;
    uint32_t *seen; /* by node: in which question */
    uint32_t question;
    size_t top, found_count;
};

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

static void find_ranks(struct wait_graph *graph)
{
    uint32_t ranks = graph->context->trace->ranks;
    graph->first_rank = check_new(graph->component_count + 1, sizeof *graph->first_rank);
    graph->next_rank = check_new(ranks, sizeof *graph->next_rank);
    for (uint32_t c = 0; c <= graph->component_count; c++)
        graph->first_rank[c] = TRACE_NO;
    for (uint32_t rank = ranks; rank-- > 0;) {
        if (graph->nodes[rank].goes)
            continue;
        graph->next_rank[rank] = graph->first_rank[graph->nodes[rank].component];
        graph->first_rank[graph->nodes[rank].component] = rank;
    }
}

static void see(struct wait_reach *reach, uint32_t node)
{
    if (reach->seen[node] == reach->question)
        return;
    reach->seen[node] = reach->question;
    reach->stack[reach->top++] = node;
    reach->found[reach->found_count++] = node;
}

static void begin(struct wait_reach *reach)
{
    reach->question++;
    reach->top = reach->found_count = 0;
}

/* Finds who stands because those do that are seen. */
static void go_back(const struct wait_graph *graph)
{
    struct wait_reach *reach = graph->reach;
    while (reach->top) {
        uint32_t to = reach->stack[--reach->top];
        for (uint32_t i = graph->begin[to]; i < graph->begin[to + 1]; i++)
            if (!graph->nodes[graph->from[i]].goes)
                see(reach, graph->from[i]);
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
    begin(graph->reach);
    for (uint32_t n = 0; n < graph->count; n++)
        if (graph->nodes[n].kind == WAIT_NEVER || (!graph->nodes[n].goes && is_inside(graph, n)))
            see(graph->reach, n);
    go_back(graph);
    for (uint32_t n = 0; n < graph->count; n++)
        graph->nodes[n].astray =
            !graph->nodes[n].goes && graph->reach->seen[n] != graph->reach->question;
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

size_t wait_graph_waiting(const struct wait_graph *graph, const uint32_t *ranks, size_t count,
                          uint32_t *waiting)
{
    struct wait_reach *reach = graph->reach;
    size_t waiting_count = 0;
    begin(reach);
    for (size_t i = 0; i < count; i++)
        see(reach, ranks[i]);
    size_t given = reach->found_count;
    go_back(graph);
    for (size_t i = given; i < reach->found_count; i++)
        if (reach->found[i] < graph->context->trace->ranks)
            waiting[waiting_count++] = reach->found[i];
    qsort(waiting, waiting_count, sizeof *waiting, by_number);
    return waiting_count;
}

void wait_graph_index(struct wait_graph *graph)
{
    graph->reach = check_new(1, sizeof *graph->reach);
    graph->reach->stack = check_new(graph->count, sizeof *graph->reach->stack);
    graph->reach->found = check_new(graph->count, sizeof *graph->reach->found);
    graph->reach->seen = check_new(graph->count, sizeof *graph->reach->seen);
    graph->round = round_new(graph);
    find_ends(graph);
    find_ranks(graph);
    find_astray(graph);
}

void wait_graph_index_release(struct wait_graph *graph)
{
    if (graph->reach) {
        free(graph->reach->stack);
        free(graph->reach->found);
        free(graph->reach->seen);
    }
    free(graph->reach);
    round_free(graph->round);
    free(graph->begin);
    free(graph->from);
    free(graph->first_rank);
    free(graph->next_rank);
}
