/* See wait_reach.h. */
#include "checker/replay/wait_reach.h"

#include "checker/memory.h"

#include <stdlib.h>

/* The edges sorted by their ends: those to node n are [begin[n], begin[n + 1]) of `from`. */
static void find_ends(struct wait_reach *reach)
{
    const struct wait_graph *graph = reach->graph;
    uint32_t *begin = check_new(graph->count + 2, sizeof *begin);
    uint32_t *from = check_new(graph->edge_count + 1, sizeof *from);
    for (size_t e = 0; e < graph->edge_count; e++)
        begin[graph->edges[e].to + 2]++;
    for (size_t n = 2; n < graph->count + 2; n++)
        begin[n] += begin[n - 1];
    for (uint32_t n = 0; n < graph->count; n++)
        for (uint32_t e = graph->nodes[n].edge; e != TRACE_NO; e = graph->edges[e].next)
            from[begin[graph->edges[e].to + 1]++] = n;
    reach->begin = begin;
    reach->from = from;
}

static void see(struct wait_reach *reach, uint32_t node)
{
    if (reach->seen[node] == reach->question)
        return;
    reach->seen[node] = reach->question;
    reach->found[reach->found_count++] = node;
}

static void ask(struct wait_reach *reach)
{
    reach->question++;
    reach->found_count = 0;
}

/* Finds who stands because those do that are seen. */
static void go_back(struct wait_reach *reach)
{
    const struct wait_graph *graph = reach->graph;
    for (size_t next = 0; next < reach->found_count; next++) {
        uint32_t to = reach->found[next];
        for (uint32_t i = reach->begin[to]; i < reach->begin[to + 1]; i++)
            if (!graph->nodes[reach->from[i]].goes)
                see(reach, reach->from[i]);
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
static void find_astray(struct wait_reach *reach)
{
    const struct wait_graph *graph = reach->graph;
    ask(reach);
    for (uint32_t n = 0; n < graph->count; n++)
        if (graph->nodes[n].kind == WAIT_NEVER || (!graph->nodes[n].goes && is_inside(graph, n)))
            see(reach, n);
    go_back(reach);
    for (uint32_t n = 0; n < graph->count; n++)
        reach->astray[n] = !graph->nodes[n].goes && reach->seen[n] != reach->question;
}

size_t wait_reach_waiting(struct wait_reach *reach, const uint32_t *ranks, size_t count,
                          uint32_t *waiting)
{
    size_t waiting_count = 0;
    ask(reach);
    for (size_t i = 0; i < count; i++)
        see(reach, ranks[i]);
    size_t given = reach->found_count;
    go_back(reach);
    for (size_t i = given; i < reach->found_count; i++)
        if (reach->found[i] < reach->graph->context->trace->ranks)
            waiting[waiting_count++] = reach->found[i];
    qsort(waiting, waiting_count, sizeof *waiting, check_by_number);
    return waiting_count;
}

void wait_reach_init(struct wait_reach *reach, const struct wait_graph *graph)
{
    *reach = (struct wait_reach){.graph = graph,
                                 .astray = check_new(graph->count, sizeof *reach->astray),
                                 .found = check_new(graph->count, sizeof *reach->found),
                                 .seen = check_new(graph->count, sizeof *reach->seen)};
    find_ends(reach);
    find_astray(reach);
}

void wait_reach_release(struct wait_reach *reach)
{
    free(reach->begin);
    free(reach->from);
    free(reach->astray);
    free(reach->found);
    free(reach->seen);
}
