#include "checker/links.h"

#include "checker/memory.h"

#include <stdlib.h>
#include <string.h>

void check_links_init(struct check_links *links, const struct check_context *context)
{
    const struct trace *trace = context->trace;
    *links = (struct check_links){.context = context};
    links->first_op = check_new(trace->node_count, sizeof *links->first_op);
    memset(links->first_op, 0xff, trace->node_count * sizeof *links->first_op);
    for (size_t op = trace->op_count; op-- > 0;)
        if (trace->ops[op].node != TRACE_NO)
            links->first_op[trace->ops[op].node] = (uint32_t)op;
}

void check_links_release(struct check_links *links)
{
    free(links->first_op);
    *links = (struct check_links){0};
}

/* A wait on one request speaks for what it completed. */
static uint32_t through_wait(const struct trace *trace, uint32_t op)
{
    if (op != TRACE_NO && trace->ops[op].kind == OP_WAIT && trace->ops[op].request != TRACE_NO)
        return trace->ops[op].request;
    return op;
}

/* An op of the class among those of the node, which are found from its first on. */
static uint32_t op_of_node(const struct check_links *links, uint32_t node, enum op_class class)
{
    const struct trace *trace = links->context->trace;
    if (node == TRACE_NO || links->first_op[node] == TRACE_NO)
        return TRACE_NO;
    uint32_t rank = trace->nodes[node].rank;
    for (size_t op = links->first_op[node]; op < trace->rank_begin[rank + 1]; op++) {
        if (trace->ops[op].node != node)
            break;
        uint32_t start = through_wait(trace, (uint32_t)op);
        if (check_class(&trace->ops[start]) == class)
            return start;
    }
    return TRACE_NO;
}

uint32_t check_forward_message(const struct check_links *links, uint32_t op)
{
    const struct trace *trace = links->context->trace;
    const struct trace_op *adjoint = &trace->ops[op];
    enum op_class wanted = check_class(adjoint) == CLASS_SEND ? CLASS_RECEIVE : CLASS_SEND;
    uint32_t forward = through_wait(trace, adjoint->adjoint_of);
    if (forward != TRACE_NO && check_class(&trace->ops[forward]) == wanted)
        return forward;
    if (forward != TRACE_NO)
        return op_of_node(links, trace->ops[forward].node, wanted);
    return adjoint->node == TRACE_NO
               ? TRACE_NO
               : op_of_node(links, trace->nodes[adjoint->node].forward, wanted);
}

uint32_t check_forward_collective(const struct check_context *context, uint32_t op)
{
    uint32_t forward = through_wait(context->trace, context->trace->ops[op].adjoint_of);
    return forward != TRACE_NO && context->group_of[forward] != TRACE_NO ? forward : TRACE_NO;
}
