/* Requests that the program freed while they were active: see freed_requests.h. */
#include "checker/properties/freed_requests.h"

#include "checker/context.h"
#include "checker/memory.h"

#include <stdlib.h>

uint8_t *freed_active_requests(const struct check_context *context)
{
    const struct trace *trace = context->trace;
    uint8_t *requests = NULL;
    bool freed = false;
    for (size_t i = 0; context->kinds[OP_REQUEST_FREE] && i < trace->op_count; i++) {
        const struct trace_op *op = &trace->ops[i];
        if ((op->kind != OP_REQUEST_FREE && op->kind != OP_CANCEL) ||
            op->request >= trace->op_count)
            continue;
        if (!requests)
            requests = check_new(trace->op_count, sizeof *requests);
        freed |= op->kind == OP_REQUEST_FREE;
        uint8_t how = op->kind == OP_CANCEL ? GIVEN_UP_CANCELLED : GIVEN_UP_FREED;
        requests[op->request] |= how;
        if (check_has_second(&trace->ops[op->request])) /* one request of two starts */
            requests[op->request + 1] |= how;
    }
    if (freed)
        return requests;
    free(requests);
    return NULL;
}
