/* Who waits for whom when a run stands still: an AND/OR graph over ranks, reduced by signals.
 *
 * Node r < ranks is rank r. Further nodes stand for a collective call or one request of a wait.
 * Rules:
 *  1. A node goes when all (WAIT_ALL) or one (WAIT_ANY) of the nodes it waits for go.
 *  2. A running or polling rank goes; a finished, aborted or crashed one never does (WAIT_NEVER).
 *  3. What cannot go after the reduction stands for ever. Its sinks, the components that wait
 *     for nobody outside themselves, are the causes; everybody else only waits. */
#ifndef CHECKER_REPLAY_WAITS_H
#define CHECKER_REPLAY_WAITS_H

#include "checker/context.h"

enum wait_kind { WAIT_ALL, WAIT_ANY, WAIT_NEVER, WAIT_FREE };

struct wait_node {
    uint8_t kind; /* enum wait_kind */
    bool goes;
    bool sink;          /* stands, and its component waits for nobody else */
    uint32_t op;        /* the op it stands in or for, TRACE_NO */
    uint32_t edge;      /* first edge, TRACE_NO */
    uint32_t component; /* valid where it stands */
};

struct wait_edge {
    uint32_t to, next;
};

struct wait_graph {
    const struct check_context *context;
    struct wait_node *nodes;
    size_t count, room;
    struct wait_edge *edges;
    size_t edge_count, edge_room;
    uint32_t component_count;
    uint32_t finalize;       /* node of all that stand in Finalize, TRACE_NO: not yet needed */
    uint32_t *node_of_group; /* per collective call, TRACE_NO: not yet needed */
};

/* Builds, reduces, and finds components and sinks. */
void wait_graph_init(struct wait_graph *graph, const struct check_context *context);
void wait_graph_release(struct wait_graph *graph);
/* A shortest cycle of standing nodes inside one component, as node numbers into `path` (room for
 * all nodes); its length. 0: no cycle. */
size_t wait_graph_cycle(const struct wait_graph *graph, uint32_t component, uint32_t *path);

#endif
