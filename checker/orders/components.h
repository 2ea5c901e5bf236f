/* Strongly connected components of the graph of possible waits: which ops could, in some legal
 * orders, wait for each other.
 *
 * Vertices: an op standing (blocking its rank), and an op being posted. A standing op may hold back
 * what may come after it on its rank; what is held back holds back whoever waits for it. A cycle
 * can only lie inside one component; most programs have none. */
#ifndef CHECKER_ORDERS_COMPONENTS_H
#define CHECKER_ORDERS_COMPONENTS_H

#include "checker/orders/partial_order.h"
#include "checker/replay/prerequisites.h"

struct check_components {
    uint32_t count;
    /* per op: component of the op as one that stands, TRACE_NO: it never does */
    uint32_t *standing;
    uint32_t *posting; /* per op: component of its being posted, TRACE_NO: nobody waits for it */
    uint32_t *standing_begin, *standing_ops; /* per component, ascending; count + 1 */
    uint32_t *posted_begin, *posted_ops;
};

/* Only components with a standing op and a posted one are numbered; others are TRACE_NO. */
void check_components_init(struct check_components *components, const struct check_needs *needs,
                           const struct check_partial_order *reach);
void check_components_release(struct check_components *components);

#endif
