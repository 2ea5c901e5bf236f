/* Shortest cycles of a wait graph (waits.h), each found in the time that its component takes. */
#ifndef CHECKER_REPLAY_WAIT_CYCLES_H
#define CHECKER_REPLAY_WAIT_CYCLES_H

#include "checker/replay/waits.h"

struct wait_cycles {
    const struct wait_graph *graph;
    uint32_t *first_rank; /* of a component, of those that stand; TRACE_NO: none */
    uint32_t *next_rank;  /* of the same */
    uint32_t start;       /* of the round that looks for a cycle */
    uint32_t *parent, *queue, *path;
    size_t head, tail;
    uint32_t *touched; /* nodes that have a parent */
    size_t touched_count;
    bool *has_start; /* nodes that stand for anybody: the start is a member */
};

void wait_cycles_init(struct wait_cycles *cycles, const struct wait_graph *graph);
void wait_cycles_release(struct wait_cycles *cycles);
/* A shortest cycle of standing nodes inside one component, as node numbers into `path` (room for
 * all nodes); its length. 0: no cycle. */
size_t wait_cycles_shortest(struct wait_cycles *cycles, uint32_t component, uint32_t *path);

#endif
