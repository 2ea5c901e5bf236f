/* See wait_cycles.h. */
#include "checker/replay/wait_cycles.h"

#include "checker/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { CYCLE_STARTS_MAX = 64 };

static void set_parent(struct wait_cycles *cycles, uint32_t node, uint32_t parent)
{
    cycles->parent[node] = parent;
    cycles->touched[cycles->touched_count++] = node;
}

/* A node next to `node`; true: it is where the round began. */
static bool look(struct wait_cycles *cycles, uint32_t node, uint32_t to)
{
    const struct wait_node *nodes = cycles->graph->nodes;
    if (to == cycles->start)
        return true;
    if (nodes[to].component != nodes[cycles->start].component || nodes[to].goes ||
        cycles->parent[to] != TRACE_NO)
        return false;
    set_parent(cycles, to, node);
    cycles->queue[cycles->tail++] = to;
    return false;
}

/* The others of a communicator, as if each were next to `node`: looked through once. */
static bool look_at_anybody(struct wait_cycles *cycles, uint32_t node, uint32_t anybody)
{
    const struct wait_graph *graph = cycles->graph;
    bool of_start = graph->nodes[node].own == cycles->start;
    if (cycles->parent[anybody] != TRACE_NO)
        return !of_start && cycles->has_start[anybody];
    set_parent(cycles, anybody, node);
    for (uint32_t e = graph->nodes[anybody].edge; e != TRACE_NO; e = graph->edges[e].next) {
        uint32_t to = graph->edges[e].to;
        if (of_start && to == cycles->start)
            cycles->has_start[anybody] = true;
        else if (look(cycles, node, to))
            return true;
    }
    return false;
}

static bool look_around(struct wait_cycles *cycles, uint32_t node)
{
    const struct wait_graph *graph = cycles->graph;
    for (uint32_t e = graph->nodes[node].edge; e != TRACE_NO; e = graph->edges[e].next) {
        uint32_t to = graph->edges[e].to;
        if (graph->nodes[node].own != TRACE_NO ? look_at_anybody(cycles, node, to)
                                               : look(cycles, node, to))
            return true;
    }
    return false;
}

/* Breadth first from the start back to it; the length, path in order from there. */
static size_t cycle_from(struct wait_cycles *cycles, size_t limit, uint32_t *path)
{
    while (cycles->touched_count) {
        uint32_t node = cycles->touched[--cycles->touched_count];
        cycles->parent[node] = TRACE_NO;
        cycles->has_start[node] = false;
    }
    cycles->head = cycles->tail = 0;
    cycles->queue[cycles->tail++] = cycles->start;
    while (cycles->head < cycles->tail) {
        uint32_t node = cycles->queue[cycles->head++];
        if (!look_around(cycles, node))
            continue;
        size_t length = 1;
        for (uint32_t n = node; n != cycles->start; n = cycles->parent[n])
            length++;
        if (length >= limit)
            return 0;
        size_t at = length;
        for (uint32_t n = node; n != cycles->start; n = cycles->parent[n])
            path[--at] = n;
        path[0] = cycles->start;
        return length;
    }
    return 0;
}

static void find_ranks(struct wait_cycles *cycles)
{
    const struct wait_graph *graph = cycles->graph;
    for (uint32_t c = 0; c <= graph->component_count; c++)
        cycles->first_rank[c] = TRACE_NO;
    for (uint32_t rank = graph->context->trace->ranks; rank-- > 0;) {
        if (graph->nodes[rank].goes)
            continue;
        cycles->next_rank[rank] = cycles->first_rank[graph->nodes[rank].component];
        cycles->first_rank[graph->nodes[rank].component] = rank;
    }
}

void wait_cycles_init(struct wait_cycles *cycles, const struct wait_graph *graph)
{
    size_t count = graph->count, components = graph->component_count + 1;
    *cycles = (struct wait_cycles){
        .graph = graph,
        .first_rank = check_new(components, sizeof *cycles->first_rank),
        .next_rank = check_new(graph->context->trace->ranks, sizeof *cycles->next_rank),
        .parent = check_new(count, sizeof *cycles->parent),
        .queue = check_new(count, sizeof *cycles->queue),
        .path = check_new(count, sizeof *cycles->path),
        .touched = check_new(count, sizeof *cycles->touched),
        .has_start = check_new(count, sizeof *cycles->has_start)};
    memset(cycles->parent, 0xff, count * sizeof *cycles->parent);
    find_ranks(cycles);
}

void wait_cycles_release(struct wait_cycles *cycles)
{
    free(cycles->first_rank);
    free(cycles->next_rank);
    free(cycles->parent);
    free(cycles->queue);
    free(cycles->path);
    free(cycles->touched);
    free(cycles->has_start);
}

size_t wait_cycles_shortest(struct wait_cycles *cycles, uint32_t component, uint32_t *path)
{
    size_t best = SIZE_MAX, starts = 0;
    for (uint32_t rank = cycles->first_rank[component];
         rank != TRACE_NO && starts < CYCLE_STARTS_MAX; rank = cycles->next_rank[rank]) {
        starts++;
        cycles->start = rank;
        size_t length = cycle_from(cycles, best, cycles->path);
        if (length) {
            best = length;
            memcpy(path, cycles->path, length * sizeof *path);
        }
    }
    return best == SIZE_MAX ? 0 : best;
}
