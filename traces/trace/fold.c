/* Iterations that were left out of a trace, as seen from the operations that are in it: see struct
 * trace_fold. */
#include "traces/trace/trace.h"

enum { STEPS_MAX = 100000 };

uint64_t trace_op_number(const struct trace *trace, uint32_t op)
{
    uint64_t number = trace_op_seq(trace, &trace->ops[op]);
    for (size_t i = 0; i < trace->fold_count; i++) {
        const struct trace_fold *fold = &trace->folds[i];
        if (fold->op < op && trace->ops[fold->op].rank == trace->ops[op].rank)
            number += fold->times * fold->body;
    }
    return number;
}

uint32_t trace_op_by_number(const struct trace *trace, uint32_t rank, uint64_t number)
{
    size_t low = trace->rank_begin[rank], end = trace->rank_begin[rank + 1], high = end;
    while (low < high) { /* the first with as many before it */
        size_t middle = low + (high - low) / 2;
        if (trace_op_number(trace, (uint32_t)middle) < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < end && trace_op_number(trace, (uint32_t)low) == number ? (uint32_t)low : TRACE_NO;
}

uint64_t trace_collective_number(const struct trace *trace, uint32_t op)
{
    uint64_t number = trace->ops[op].comm_seq;
    for (size_t i = 0; i < trace->fold_count; i++) {
        const struct trace_fold *fold = &trace->folds[i];
        if (fold->op >= op || trace->ops[fold->op].rank != trace->ops[op].rank)
            continue;
        for (uint32_t k = fold->op + 1 - fold->body; k <= fold->op; k++)
            if (op_kind_class(trace->ops[k].kind) == CLASS_COLLECTIVE &&
                trace->ops[k].form->comm == trace->ops[op].form->comm)
                number += fold->times;
    }
    return number;
}

/* The last one before `op` on its rank; NULL: none. */
static const struct trace_fold *fold_before(const struct trace *trace, uint32_t op)
{
    const struct trace_fold *last = NULL;
    for (size_t i = 0; i < trace->fold_count; i++)
        if (trace->folds[i].op < op && trace->ops[trace->folds[i].op].rank == trace->ops[op].rank)
            last = &trace->folds[i];
    return last;
}

uint64_t trace_op_iteration(const struct trace *trace, uint32_t op)
{
    const struct trace_fold *fold = fold_before(trace, op);
    if (!fold || op - fold->op > STEPS_MAX)
        return 0;
    for (uint32_t k = fold->op + 1; k < op; k++)
        if (trace->ops[k].form->site != trace->ops[k - fold->body].form->site ||
            trace->ops[k].kind != trace->ops[k - fold->body].kind)
            return 0; /* the loop has ended */
    return (fold->before + op - fold->op - 1) / fold->body + fold->times + 1;
}

uint64_t trace_folded_ops(const struct trace *trace)
{
    uint64_t ops = 0;
    for (size_t i = 0; i < trace->fold_count; i++)
        ops += trace->folds[i].times * trace->folds[i].body;
    return ops;
}
