/* Order edges that make every legal order of the backward passes safe.
 *
 * They go towards a reference that is safe itself (reference.h). Every unordered pair of a
 * stream, and in every cycle one pair turned round against the reference, is ordered as the
 * reference has it, until nothing unsafe is left; then edges that are not needed are dropped. */
#ifndef CHECKER_ORDERS_REPAIR_H
#define CHECKER_ORDERS_REPAIR_H

#include "checker/orders/partial_order.h"

struct repair_edge {
    uint32_t before,
        after; /* ops of one rank: the node of `before` must run before that of `after` */
};

struct check_repair {
    struct repair_edge *edges;
    size_t count, room;
    size_t lower_bound; /* no set of order edges towards the reference is smaller */
    bool repairs;       /* re-checked: with these edges nothing unsafe is left */
    bool bounded;       /* as far as that could be searched */
};

void check_repair_find(struct check_repair *repair, const struct check_context *context);
void check_repair_release(struct check_repair *repair);
/* The edges as joins at file:line, one line per place; caller frees. */
char *check_repair_text(const struct check_repair *repair, const struct trace *trace);

#endif
