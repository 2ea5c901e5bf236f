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
    return a->form->signature && b->form->signature && a->form->signature != b->form->signature;
}

bool check_same_signature(const struct trace_op *a, const struct trace_op *b)
{
    return a->kind == b->kind && a->count == b->count && a->form->type == b->form->type &&
           a->form->signature == b->form->signature && a->form->reduce_op == b->form->reduce_op;
}

/* An op that takes part in a group: every collective except those that span two communicators, the
 * freeing of one, which waits for nobody, and Finalize, which is no call of the world's sequence:
 * who finalizes early is absent from it. */
static bool is_grouped(const struct trace *trace, const struct trace_op *op)
{
    return op_kind_class(op->kind) == CLASS_COLLECTIVE && op->kind != OP_INTERCOMM_CREATE &&
           op->kind != OP_COMM_FREE && op->kind != OP_FINALIZE &&
           op->form->comm < trace->comm_count;
}

/* First group number of each communicator. A comm_seq beyond the number of its ops is nonsense from
 * a foreign file and gets no group, so that memory stays linear in the trace. */
static size_t number_groups(const struct trace *trace, const uint32_t *calls, size_t count,
                            size_t *base)
{
    size_t *ops = check_new(trace->comm_count + 1, sizeof *ops);
    size_t *highest = check_new(trace->comm_count + 1, sizeof *highest);
    for (size_t i = 0; i < count; i++)
        ops[trace->ops[calls[i]].form->comm]++;
    for (size_t i = 0; i < count; i++) {
        const struct trace_op *op = &trace->ops[calls[i]];
        if (op->comm_seq < ops[op->form->comm] && op->comm_seq >= highest[op->form->comm])
            highest[op->form->comm] = op->comm_seq + 1;
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

uint32_t check_group_of(const struct check_context *context, uint32_t index)
{
    const struct trace *trace = context->trace;
    const struct trace_op *op = &trace->ops[index];
    bool planned = trace->outcome == OUTCOME_IMPORTED;
    if (!is_grouped(trace, op) || (op->state == STATE_NEVER && !planned) ||
        op->comm_seq >=
            context->group_begin[op->form->comm + 1] - context->group_begin[op->form->comm])
        return TRACE_NO;
    return (uint32_t)(context->group_begin[op->form->comm] + op->comm_seq);
}

/* `calls`: the operations that are grouped, ascending. */
static void gather_groups(struct check_context *context, const uint32_t *calls, size_t count)
{
    const struct trace *trace = context->trace;
    context->group_begin = check_new(trace->comm_count + 1, sizeof *context->group_begin);
    context->group_count = number_groups(trace, calls, count, context->group_begin);
    context->groups = check_new(context->group_count, sizeof *context->groups);
    size_t members = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t number = check_group_of(context, calls[i]);
        if (number == TRACE_NO)
            continue;
        struct check_group *group = &context->groups[number];
        group->comm = trace->ops[calls[i]].form->comm;
        group->seq = trace->ops[calls[i]].comm_seq;
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
    for (size_t i = 0; i < count; i++) {
        uint32_t number = check_group_of(context, calls[i]);
        if (number == TRACE_NO)
            continue;
        struct check_group *group = &context->groups[number];
        context->group_ops[group->first + group->count++] = calls[i];
    }
}

/* The one walk over all operations that everybody shares: a long trace's take longer to come from
 * memory than to be looked at. */
static void look_around(struct check_context *context)
{
    const struct trace *trace = context->trace;
    uint32_t *calls = NULL;
    size_t count = 0, room = 0;
    for (uint32_t i = 0; i < trace->op_count; i++) {
        const struct trace_op *op = &trace->ops[i];
        context->kinds[op->kind] = true;
        context->has_batches = context->has_batches || op->form->batch != 0;
        if (op->peer == TRACE_ANY) {
            enum op_class class = check_class(op);
            context->has_wildcards = context->has_wildcards || class == CLASS_RECEIVE;
            context->has_any_source =
                context->has_any_source || class == CLASS_RECEIVE || class == CLASS_PROBE;
        }
        context->has_changes = context->has_changes || op->flags & OP_BUFFER_CHANGED;
        context->last_thread =
            op->form->thread > context->last_thread ? op->form->thread : context->last_thread;
        if (op->state == STATE_BLOCKED)
            context->blocked[op->rank] = i;
        if (is_grouped(trace, op)) {
            calls = check_grow(calls, &room, count + 1, sizeof *calls);
            calls[count++] = i;
        }
    }
    gather_groups(context, calls, count);
    free(calls);
    context->pass_begin = check_new((size_t)trace->ranks + 1, sizeof *context->pass_begin);
    for (size_t i = 0; i < trace->pass_count; i++) {
        context->pass_begin[trace->passes[i].rank + 1]++;
        context->has_data_passes = context->has_data_passes || trace->passes[i].mode == PASS_DATA;
    }
    for (uint32_t rank = 0; rank < trace->ranks; rank++)
        context->pass_begin[rank + 1] += context->pass_begin[rank];
}

/* The same in type and signature, and with room: nothing of it is wrong. */
static bool fits_plainly(const struct trace_op *send, const struct trace_op *receive)
{
    enum { COUNT_MAX = 1 << 30 };
    const struct trace_form *sent = send->form, *received = receive->form;
    return sent->type == received->type && sent->signature == received->signature &&
           send->count >= 0 && send->count <= receive->count && receive->count <= COUNT_MAX &&
           !((send->flags ^ receive->flags) & OP_ADJOINT);
}

/* A refused argument, a message that may not fit, one that nobody received, an operation that nobody waited for. */
static bool is_odd(const struct trace *trace, const struct trace_op *op)
{
    enum op_class class = check_class(op);
    if (op->form->error || (op->kind == OP_WAIT && op->flags & OP_INACTIVE))
        return true;
    if (class == CLASS_RECEIVE && op->match != TRACE_NO &&
        !fits_plainly(&trace->ops[op->match], op))
        return true;
    if (class == CLASS_SEND && op->match == TRACE_NO)
        return true;
    return check_is_start(op) && op_kind_class(op->kind) != CLASS_NONE && !(op->flags & OP_CUT) &&
           (op->request == TRACE_NO || op->state == STATE_POSTED);
}

static int by_number(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;
    return check_order_of(*a, *b);
}

static void find_odd(struct check_context *context)
{
    const struct trace *trace = context->trace;
    bool sorted = true;
    context->finalize = check_new(trace->ranks, sizeof *context->finalize);
    memset(context->finalize, 0xff, trace->ranks * sizeof *context->finalize);
    for (struct trace_walk walk = trace_walk_begin(trace); trace_walk_next(&walk);)
        for (uint32_t i = (uint32_t)walk.from; i < walk.to; i++) {
            const struct trace_op *op = &trace->ops[i];
            if (op->kind == OP_FINALIZE)
                context->finalize[walk.rank] = i;
            context->has_passes = context->has_passes || op->form->pass;
            if (!is_odd(trace, op))
                continue;
            sorted = sorted && (!context->odd_count || context->odd[context->odd_count - 1] < i);
            context->odd = check_grow(context->odd, &context->odd_room, context->odd_count + 1,
                                      sizeof *context->odd);
            context->odd[context->odd_count++] = i;
        }
    if (!sorted)
        qsort(context->odd, context->odd_count, sizeof *context->odd, by_number);
}

static void find_blocked(struct check_context *context)
{
    const struct trace *trace = context->trace;
    for (uint32_t rank = 0; rank < trace->ranks; rank++) {
        if (trace->outcome == OUTCOME_TIMEOUT && trace->rank_info[rank].state == RANK_RUNNING) {
            context->worked = true;
            context->blocked[rank] =
                TRACE_NO; /* the end of time found it at work in its last call */
        }
        context->hung = context->hung || context->blocked[rank] != TRACE_NO;
    }
}

static void find_refused(struct check_context *context)
{
    const struct trace *trace = context->trace;
    context->refused = check_new(trace->note_count, sizeof *context->refused);
    for (size_t i = 0; i < trace->note_count; i++) {
        uint32_t op = trace->notes[i].op;
        if (op != TRACE_NO && trace->ops[op].form->error &&
            strcmp(trace->notes[i].code, "M009") == 0)
            context->refused[context->refused_count++] = op;
    }
    qsort(context->refused, context->refused_count, sizeof *context->refused, by_number);
}

bool check_is_refused(const struct check_context *context, uint32_t op)
{
    return bsearch(&op, context->refused, context->refused_count, sizeof *context->refused,
                   by_number) != NULL;
}

void check_context_init(struct check_context *context, const struct trace *trace,
                        const struct check_options *options)
{
    *context = (struct check_context){.trace = trace, .options = options};
    context->blocked = check_new(trace->ranks, sizeof *context->blocked);
    memset(context->blocked, 0xff, trace->ranks * sizeof *context->blocked);
    look_around(context);
    find_odd(context);
    find_blocked(context);
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
    free(context->group_begin);
    free(context->pass_begin);
    free(context->blocked);
    free(context->refused);
    free(context->odd);
    free(context->finalize);
    *context = (struct check_context){0};
}
