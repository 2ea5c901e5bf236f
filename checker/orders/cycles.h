/* Rainbow cycles: orders of the ranks, each legal, under which some ranks wait for each other.
 *
 * A step lies on one rank: `stands` runs before `held` (some legal order does that), and `stands`
 * waits for the `held` of the next step. An unsafe choice of orders exists exactly if there is a
 * cycle of steps on pairwise different ranks: ranks are ordered independently, and in given orders
 * a shortest cycle meets no rank twice. */
#ifndef CHECKER_ORDERS_CYCLES_H
#define CHECKER_ORDERS_CYCLES_H

#include "checker/orders/components.h"

struct cycle_step {
    uint32_t stands, held;
};

struct check_cycle {
    struct cycle_step *steps;
    size_t count; /* 0: none */
};

struct cycle_search {
    const struct check_partial_order *reach;
    const struct check_needs *needs;
    const struct check_components *components;
    bool reference_is_safe;   /* the reference orders do not hang: a cycle must turn a pair round */
    const uint32_t *position; /* the reference orders, per op; NULL: as recorded */
    /* Steps never to use (pairs that cross instead of waiting); NULL: none. */
    bool (*excluded)(const void *context, uint32_t stands, uint32_t held);
    const void *context;
    uint64_t budget; /* looks left; 0 at the end: not everything was searched */
};

/* Whether the reference order of the rank runs `held` first: the step turns the pair round. */
bool check_step_is_turned(const struct cycle_search *search, uint32_t stands, uint32_t held);
/* A shortest cycle of the component; free(steps). */
struct check_cycle check_cycle_find(struct cycle_search *search, uint32_t component);

#endif
