/* From an operation of a backward pass to the forward operation whose adjoint it carries out. */
#ifndef CHECKER_LINKS_H
#define CHECKER_LINKS_H

#include "checker/context.h"

struct check_links {
    const struct check_context *context;
    uint32_t *first_op; /* per node: its first op, TRACE_NO */
};

void check_links_init(struct check_links *links, const struct check_context *context);
void check_links_release(struct check_links *links);
/* The forward message whose cotangent this send or receive carries: for a send the receive, for a
 * receive the send. TRACE_NO: unknown. */
uint32_t check_forward_message(const struct check_links *links, uint32_t op);
/* The forward collective, seen through a wait where the adjoint hangs on one. TRACE_NO: unknown. */
uint32_t check_forward_collective(const struct check_context *context, uint32_t op);

#endif
