#include "checker/context.h"

#include "checker/memory.h"

#include <stdlib.h>
#include <string.h>

enum op_class check_class(const struct trace_op *op)
{
    enum op_class class = op_kind_class(op->kind);
    bool directed = class == CLASS_SEND || class == CLASS_RECEIVE || class == CLASS_PROBE;
    return directed && op->peer == TRACE_NONE ? CLASS_NONE : class;
}

unsigned check_models_asked(const struct check_context *context)
{
    unsigned models = context->options->models;
    return context->has_batches || !(models & CHECK_RENDEZVOUS) ? models
                                                                : models & ~(unsigned)CHECK_BATCH;
}

bool check_is_start(const struct trace_op *op)
{
    switch (op->kind) {
    case OP_ISEND:
    case OP_ISSEND:
    case OP_IBSEND:
    case OP_IRSEND:
    case OP_IRECV:
    case OP_IMRECV:
        return true;
    default:
        return (op->flags & (OP_NONBLOCKING | OP_PERSISTENT)) != 0;
    }
}

bool check_is_synchronous(const struct trace_op *op)
{
    return op->kind == OP_SSEND || op->kind == OP_ISSEND;
}

bool check_is_buffered(const struct trace_op *op)
{
    return op->kind == OP_BSEND || op->kind == OP_IBSEND;
}

bool check_comm_has(const struct trace *trace, uint32_t comm, uint32_t rank)
{
    if (comm >= trace->comm_count || !trace->comms[comm].members)
        return true;
    for (uint32_t i = 0; i < trace->comms[comm].size; i++)
        if (trace->comms[comm].members[i] == (int32_t)rank)
            return true;
    return false;
}

uint32_t check_comm_size(const struct trace *trace, uint32_t comm)
{
    if (comm >= trace->comm_count || !trace->comms[comm].members)
        return trace->ranks;
    return trace->comms[comm].size;
}

uint32_t check_comm_member(const struct trace *trace, uint32_t comm, uint32_t index)
{
    if (comm >= trace->comm_count || !trace->comms[comm].members)
        return index;
    return (uint32_t)trace->comms[comm].members[index];
}

bool check_signatures_differ(const struct trace_op *a, const struct trace_op *b)
{
    return a->signature && b->signature && a->signature != b->signature;
}

bool check_same_signature(const struct trace_op *a, const struct trace_op *b)
{
    return a->kind == b->kind && a->count == b->count && a->type == b->type &&
           a->signature == b->signature && a->reduce_op == b->reduce_op;
}

/* An op that takes part in a group: every collective except those that span two communicators, the
 * freeing of one, which waits for nobody, and Finalize, which is no call of the world's sequence:
 * who finalizes early is absent from it. */
static bool is_grouped(const struct trace *trace, const struct trace_op *op)
{
    return op_kind_class(op->kind) == CLASS_COLLECTIVE && op->kind != OP_INTERCOMM_CREATE &&
           op->kind != OP_COMM_FREE && op->kind != OP_FINALIZE && op->comm < trace->comm_count;
}

/* First group number of each communicator. A comm_seq beyond the number of its ops is nonsense from
 * a foreign file and gets no group, so that memory stays linear in the trace. */
static size_t number_groups(const struct trace *trace, size_t *base)
{
    size_t *ops = check_new(trace->comm_count + 1, sizeof *ops);
    size_t *highest = check_new(trace->comm_count + 1, sizeof *highest);
    for (size_t i = 0; i < trace->op_count; i++)
        if (is_grouped(trace, &trace->ops[i]))
            ops[trace->ops[i].comm]++;
    for (size_t i = 0; i < trace->op_count; i++) {
        const struct trace_op *op = &trace->ops[i];
        if (is_grouped(trace, op) && op->comm_seq < ops[op->comm] &&
            op->comm_seq >= highest[op->comm])
            highest[op->comm] = op->comm_seq + 1;
    }
    size_t total = 0;
    for (size_t c = 0; c < trace->comm_count; c++) {
        base[c] = total;
        total += highest[c];
    }
    base[trace->comm_count] = total;
    free(ops);
    free(highest);
    return total;
}

static void gather_groups(struct check_context *context)
{
    const struct trace *trace = context->trace;
    size_t *base = check_new(trace->comm_count + 1, sizeof *base);
    context->group_count = number_groups(trace, base);
    context->groups = check_new(context->group_count, sizeof *context->groups);
    context->group_of = check_new(trace->op_count, sizeof *context->group_of);
    bool planned = trace->outcome == OUTCOME_IMPORTED;
    size_t members = 0;
    for (size_t i = 0; i < trace->op_count; i++) {
        const struct trace_op *op = &trace->ops[i];
        context->group_of[i] = TRACE_NO;
        if (!is_grouped(trace, op) || (op->state == STATE_NEVER && !planned) ||
            op->comm_seq >= base[op->comm + 1] - base[op->comm])
            continue;
        context->group_of[i] = (uint32_t)(base[op->comm] + op->comm_seq);
        struct check_group *group = &context->groups[context->group_of[i]];
        group->comm = op->comm;
        group->seq = op->comm_seq;
        group->count++;
        members++;
    }
    context->group_ops = check_new(members, sizeof *context->group_ops);
    uint32_t first = 0;
    for (size_t g = 0; g < context->group_count; g++) {
        context->groups[g].first = first;
        first += context->groups[g].count;
        context->groups[g].count = 0;
    }
    for (size_t i = 0; i < trace->op_count; i++)
        if (context->group_of[i] != TRACE_NO) {
            struct check_group *group = &context->groups[context->group_of[i]];
            context->group_ops[group->first + group->count++] = (uint32_t)i;
        }
    free(base);
}

static void find_blocked(struct check_context *context)
{
    const struct trace *trace = context->trace;
    context->blocked = check_new(trace->ranks, sizeof *context->blocked);
    for (uint32_t rank = 0; rank < trace->ranks; rank++) {
        context->blocked[rank] = TRACE_NO;
        if (trace->outcome == OUTCOME_TIMEOUT && trace->rank_info[rank].state == RANK_RUNNING) {
            context->worked = true;
            continue; /* the end of time found it at work in its last call */
        }
        for (size_t i = trace->rank_begin[rank + 1]; i > trace->rank_begin[rank]; i--)
            if (trace->ops[i - 1].state == STATE_BLOCKED) {
                context->blocked[rank] = (uint32_t)(i - 1);
                break;
            }
        context->hung = context->hung || context->blocked[rank] != TRACE_NO;
    }
}

static void look_around(struct check_context *context)
{
    const struct trace *trace = context->trace;
    for (size_t i = 0; i < trace->op_count; i++) {
        const struct trace_op *op = &trace->ops[i];
        context->has_batches = context->has_batches || op->batch != 0;
        context->has_wildcards =
            context->has_wildcards || (op->peer == TRACE_ANY && check_class(op) == CLASS_RECEIVE);
    }
    context->pass_begin = check_new((size_t)trace->ranks + 1, sizeof *context->pass_begin);
    for (size_t i = 0; i < trace->pass_count; i++) {
        context->pass_begin[trace->passes[i].rank + 1]++;
        context->has_data_passes = context->has_data_passes || trace->passes[i].mode == PASS_DATA;
    }
    for (uint32_t rank = 0; rank < trace->ranks; rank++)
        context->pass_begin[rank + 1] += context->pass_begin[rank];
}

static void find_refused(struct check_context *context)
{
    const struct trace *trace = context->trace;
    context->refused = check_new(trace->op_count, sizeof *context->refused);
    for (size_t i = 0; i < trace->note_count; i++) {
        uint32_t op = trace->notes[i].op;
        if (op < trace->op_count && trace->ops[op].error &&
            strcmp(trace->notes[i].code, "M009") == 0)
            context->refused[op] = true;
    }
}

void check_context_init(struct check_context *context, const struct trace *trace,
                        const struct check_options *options)
{
    *context = (struct check_context){.trace = trace, .options = options};
    gather_groups(context);
    find_blocked(context);
    look_around(context);
    find_refused(context);
    context->cut_short =
        context->hung || (trace->outcome != OUTCOME_FINISHED && trace->outcome != OUTCOME_IMPORTED);
    for (uint32_t rank = 0; rank < trace->ranks; rank++) {
        enum rank_state state = trace->rank_info[rank].state;
        context->cut_short = context->cut_short || state == RANK_CRASHED || state == RANK_ABORTED;
    }
}

void check_context_release(struct check_context *context)
{
    free(context->groups);
    free(context->group_ops);
    free(context->group_of);
    free(context->pass_begin);
    free(context->blocked);
    free(context->refused);
    *context = (struct check_context){0};
}
