/* freed_requests.h: requests that the program freed while they were active.
 *
 * That is allowed: the operation goes on, and MPI_Finalize completes it. Nobody learns when, so
 * that the record of it ends with its start; it is in order when a partner took part, or when it
 * was asked to be cancelled before. */
#ifndef CHECKER_PROPERTIES_FREED_REQUESTS_H
#define CHECKER_PROPERTIES_FREED_REQUESTS_H

#include "checker/context.h"
#include "traces/trace/trace.h"

#include <stdbool.h>

enum { GIVEN_UP_FREED = 1, GIVEN_UP_CANCELLED = 2 };

/* What happened to each operation's request, by operation; to be freed. NULL: no request was freed.
 */
uint8_t *freed_active_requests(const struct check_context *context);

static inline bool freed_active(const uint8_t *requests, size_t op)
{
    return requests && requests[op] & GIVEN_UP_FREED;
}

/* And cannot be blamed for being under way at the end. */
static inline bool freed_active_in_order(const uint8_t *requests, const struct trace *trace,
                                         size_t op)
{
    return freed_active(requests, op) &&
           (requests[op] & GIVEN_UP_CANCELLED || trace->ops[op].match != TRACE_NO);
}

#endif
