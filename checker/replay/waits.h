/* Who waits for whom when a run stands still: an AND/OR graph over ranks, reduced by signals.
 *
 * Node r < ranks is rank r. Further nodes stand for a collective call, one request of a wait, or
 * for anybody of a communicator, whom all that receive there from any source share.
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
    uint32_t own;       /* who receives from any source: itself is not meant; else TRACE_NO */
};

struct wait_edge {
    uint32_t to, next;
};

/* A node of its own, so that n ranks that wait for any of n are n edges. Its members that are over
 * come first. */
struct wait_anybody {
    uint32_t node;         /* TRACE_NO: not yet needed */
    uint32_t open, opened; /* members that are not over: how many, and one of them */
};

struct wait_graph {
    const struct check_context *context;
    struct wait_node *nodes;
    size_t count, room;
    struct wait_edge *edges;
    size_t edge_count, edge_room;
    uint32_t component_count;
    uint32_t finalize;            /* node of all that stand in Finalize, TRACE_NO: not yet needed */
    uint32_t *node_of_group;      /* per collective call, TRACE_NO: not yet needed */
    uint32_t *node_of_meeting;    /* per communicator: of those who stand in its Intercomm_create */
    struct wait_anybody *anybody; /* per communicator; the last is of what names none: all ranks */
    struct holders *holders;      /* who has which lock; NULL: not yet needed */
};

/* Builds, reduces, and finds components and sinks. */
void wait_graph_init(struct wait_graph *graph, const struct check_context *context);
void wait_graph_release(struct wait_graph *graph);
/* The rank has finished: it neither goes nor failed. */
bool wait_is_over(const struct wait_graph *graph, uint32_t node);
/* Of whom the node waits for anybody but itself; NULL: it does not. */
const struct wait_anybody *wait_anybody_of(const struct wait_graph *graph, uint32_t node);

#endif
