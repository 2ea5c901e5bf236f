/* Shortest cycles of a wait graph (waits.h), each found in time that its component takes. */
#include "checker/memory.h"
#include "checker/replay/wait_index.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { CYCLE_STARTS_MAX = 64 };

struct round {
    const struct wait_graph *graph;
    uint32_t start;
    uint32_t *parent, *queue, *path;
    size_t head, tail;
    uint32_t *touched; /* nodes that have a parent */
    size_t touched_count;
    bool *has_start; /* nodes that stand for anybody: the start is a member */
};

static void set_parent(struct round *round, uint32_t node, uint32_t parent)
{
    round->parent[node] = parent;
    round->touched[round->touched_count++] = node;
}

/* A node next to `node`; true: it is where the round began. */
static bool look(struct round *round, uint32_t node, uint32_t to)
{
    const struct wait_node *nodes = round->graph->nodes;
    if (to == round->start)
        return true;
    if (nodes[to].component != nodes[round->start].component || nodes[to].goes ||
        round->parent[to] != TRACE_NO)
        return false;
    set_parent(round, to, node);
    round->queue[round->tail++] = to;
    return false;
}

/* The others of a communicator, as if each were next to `node`: looked through once. */
static bool look_at_anybody(struct round *round, uint32_t node, uint32_t anybody)
{
    const struct wait_graph *graph = round->graph;
    bool of_start = graph->nodes[node].own == round->start;
    if (round->parent[anybody] != TRACE_NO)
        return !of_start && round->has_start[anybody];
    set_parent(round, anybody, node);
    for (uint32_t e = graph->nodes[anybody].edge; e != TRACE_NO; e = graph->edges[e].next) {
        uint32_t to = graph->edges[e].to;
        if (of_start && to == round->start)
            round->has_start[anybody] = true;
        else if (look(round, node, to))
            return true;
    }
    return false;
}

static bool look_around(struct round *round, uint32_t node)
{
    const struct wait_graph *graph = round->graph;
    for (uint32_t e = graph->nodes[node].edge; e != TRACE_NO; e = graph->edges[e].next) {
        uint32_t to = graph->edges[e].to;
        if (graph->nodes[node].own != TRACE_NO ? look_at_anybody(round, node, to)
                                               : look(round, node, to))
            return true;
    }
    return false;
}

/* Breadth first from the start back to it; the length, path in order from there. */
static size_t cycle_from(struct round *round, size_t limit, uint32_t *path)
{
    while (round->touched_count) {
        uint32_t node = round->touched[--round->touched_count];
        round->parent[node] = TRACE_NO;
        round->has_start[node] = false;
    }
    round->head = round->tail = 0;
    round->queue[round->tail++] = round->start;
    while (round->head < round->tail) {
        uint32_t node = round->queue[round->head++];
        if (!look_around(round, node))
            continue;
        size_t length = 1;
        for (uint32_t n = node; n != round->start; n = round->parent[n])
            length++;
        if (length >= limit)
            return 0;
        size_t at = length;
        for (uint32_t n = node; n != round->start; n = round->parent[n])
            path[--at] = n;
        path[0] = round->start;
        return length;
    }
    return 0;
}

struct round *round_new(const struct wait_graph *graph)
{
    struct round *round = check_new(1, sizeof *round);
    *round = (struct round){.graph = graph,
                            .parent = check_new(graph->count, sizeof *round->parent),
                            .queue = check_new(graph->count, sizeof *round->queue),
                            .path = check_new(graph->count, sizeof *round->path),
                            .touched = check_new(graph->count, sizeof *round->touched),
                            .has_start = check_new(graph->count, sizeof *round->has_start)};
    memset(round->parent, 0xff, graph->count * sizeof *round->parent);
    return round;
}

void round_free(struct round *round)
{
    if (!round)
        return;
    free(round->parent);
    free(round->queue);
    free(round->path);
    free(round->touched);
    free(round->has_start);
    free(round);
}

size_t wait_graph_cycle(const struct wait_graph *graph, uint32_t component, uint32_t *path)
{
    struct round *round = graph->round;
    size_t best = SIZE_MAX, starts = 0;
    for (uint32_t rank = graph->first_rank[component];
         rank != TRACE_NO && starts < CYCLE_STARTS_MAX; rank = graph->next_rank[rank]) {
        starts++;
        round->start = rank;
        size_t length = cycle_from(round, best, round->path);
        if (length) {
            best = length;
            memcpy(path, round->path, length * sizeof *path);
        }
    }
    return best == SIZE_MAX ? 0 : best;
}
