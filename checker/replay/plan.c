#include "checker/replay/plan.h"

#include "checker/memory.h"

#include <stdlib.h>
#include <string.h>

enum { PROBE_LOOKAHEAD = 64 };

static uint32_t op_at(const struct check_plan *plan, size_t position)
{
    return plan->order ? plan->order[position] : (uint32_t)position;
}

/* The rank whose messages the receive takes: chosen, named, or recorded for a wildcard. */
static int32_t source_of(const struct trace *trace, const struct plan_options *options,
                         uint32_t receive)
{
    for (size_t i = 0; i < options->choice_count; i++)
        if (options->choices[i].receive == receive)
            return (int32_t)options->choices[i].source;
    const struct trace_op *op = &trace->ops[receive];
    return op->peer == TRACE_ANY ? trace_op_peer_matched(op) : op->peer;
}

/* ---- matching under another order ---- */

/* `match` by op; NULL: as recorded. */
static uint32_t partner_of(const struct trace *trace, const uint32_t *match, uint32_t op)
{
    return match ? match[op] : trace->ops[op].match;
}

struct mail {
    uint64_t channel; /* source and destination */
    uint32_t comm, op;
    size_t position;
};

static int by_channel(const void *a, const void *b)
{
    const struct mail *x = a, *y = b;
    if (x->channel != y->channel)
        return x->channel < y->channel ? -1 : 1;
    if (x->comm != y->comm)
        return x->comm < y->comm ? -1 : 1;
    return x->position < y->position ? -1 : x->position > y->position;
}

/* All sends (or receives) sorted by channel and, within, in the order in which they are posted. */
static struct mail *gather_mail(const struct check_plan *plan, const struct plan_options *options,
                                enum op_class class, size_t *count)
{
    const struct trace *trace = plan->context->trace;
    struct mail *mail = NULL;
    size_t room = 0;
    *count = 0;
    for (size_t position = 0; position < trace->op_count; position++) {
        uint32_t index = op_at(plan, position);
        const struct trace_op *op = &trace->ops[index];
        if (check_class(op) != class)
            continue;
        /* Who is not a rank has channels of his own. */
        int32_t peer = class == CLASS_SEND ? op->peer : source_of(trace, options, index);
        uint64_t rank = op->rank, other = (uint32_t)peer;
        mail = check_grow(mail, &room, *count + 1, sizeof *mail);
        mail[(*count)++] =
            (struct mail){.channel = class == CLASS_SEND ? rank << 32 | other : other << 32 | rank,
                          .comm = op->form->comm,
                          .op = index,
                          .position = position};
    }
    if (*count)
        qsort(mail, *count, sizeof *mail, by_channel);
    return mail;
}

static bool same_channel(const struct mail *a, const struct mail *b)
{
    return a->channel == b->channel && a->comm == b->comm;
}

static void match_channel(const struct trace *trace, const struct mail *sends, size_t send_count,
                          const struct mail *receives, size_t receive_count, uint32_t *match)
{
    size_t first = 0;
    for (size_t s = 0; s < send_count; s++) {
        int32_t tag = trace->ops[sends[s].op].tag;
        while (first < receive_count && match[receives[first].op] != TRACE_NO)
            first++;
        for (size_t r = first; r < receive_count; r++) {
            int32_t wanted = trace->ops[receives[r].op].tag;
            if (match[receives[r].op] != TRACE_NO || (wanted != TRACE_ANY && wanted != tag))
                continue;
            match[receives[r].op] = sends[s].op;
            match[sends[s].op] = receives[r].op;
            break;
        }
    }
}

static void rematch(const struct check_plan *plan, const struct plan_options *options,
                    uint32_t *match)
{
    const struct trace *trace = plan->context->trace;
    size_t send_count, receive_count;
    struct mail *sends = gather_mail(plan, options, CLASS_SEND, &send_count);
    struct mail *receives = gather_mail(plan, options, CLASS_RECEIVE, &receive_count);
    memset(match, 0xff, trace->op_count * sizeof *match);
    for (size_t s = 0, r = 0; s < send_count;) {
        size_t send_end = s + 1;
        while (send_end < send_count && same_channel(&sends[s], &sends[send_end]))
            send_end++;
        while (r < receive_count &&
               (receives[r].channel < sends[s].channel ||
                (receives[r].channel == sends[s].channel && receives[r].comm < sends[s].comm)))
            r++;
        size_t receive_end = r;
        while (receive_end < receive_count && same_channel(&receives[receive_end], &sends[s]))
            receive_end++;
        if (receive_end > r) /* else there may be no receives at all */
            match_channel(trace, sends + s, send_end - s, receives + r, receive_end - r, match);
        s = send_end;
        r = receive_end;
    }
    free(sends);
    free(receives);
}

/* ---- slots ---- */

/* The first slot of each communicator, so that slots keep the numbers of the context's groups. */
static uint32_t *first_slots(const struct check_context *context)
{
    uint32_t *first = check_new(context->trace->comm_count + 1, sizeof *first);
    for (size_t g = context->group_count; g-- > 0;)
        first[context->groups[g].comm] = (uint32_t)g;
    return first;
}

static void renumber_slots(const struct check_plan *plan, uint32_t *slot)
{
    const struct check_context *context = plan->context;
    const struct trace *trace = context->trace;
    uint32_t *first = first_slots(context);
    uint32_t *calls = check_new(trace->comm_count + 1, sizeof *calls);
    for (uint32_t rank = 0; rank < trace->ranks; rank++) {
        for (size_t p = trace->rank_begin[rank]; p < trace->rank_begin[rank + 1]; p++) {
            uint32_t op = op_at(plan, p);
            slot[op] = check_group_of(context, op);
            if (slot[op] != TRACE_NO)
                slot[op] = first[trace->ops[op].form->comm] + calls[trace->ops[op].form->comm]++;
            if (slot[op] != TRACE_NO && slot[op] >= plan->slot_count)
                slot[op] = TRACE_NO;
        }
        for (size_t p = trace->rank_begin[rank]; p < trace->rank_begin[rank + 1]; p++)
            if (check_group_of(plan->context, (uint32_t)p) != TRACE_NO)
                calls[trace->ops[p].form->comm] = 0;
    }
    free(first);
    free(calls);
}

/* ---- steps ---- */

static bool is_matched_probe(const struct trace_op *op)
{
    return op->kind == OP_MPROBE || op->kind == OP_IMPROBE;
}

/* The receive of the message that a matched probe took; TRACE_NO: nobody receives it. */
static uint32_t receive_of(const struct trace *trace, const struct trace_op *probe)
{
    uint32_t receive = probe->request;
    return receive < trace->op_count && check_class(&trace->ops[receive]) == CLASS_RECEIVE
               ? receive
               : TRACE_NO;
}

/* The receive of the message that leaves the mailbox here; TRACE_NO: none does. */
static uint32_t taker_at(const struct trace *trace, uint32_t op)
{
    const struct trace_op *at = &trace->ops[op];
    if (is_matched_probe(at))
        return receive_of(trace, at);
    return check_class(at) == CLASS_RECEIVE && at->kind != OP_MRECV && at->kind != OP_IMRECV
               ? op
               : TRACE_NO;
}

/* The probe found the send's message, or may have where what it found is not known. */
static bool may_be_found(const struct trace_op *probe, const struct trace_op *send)
{
    int32_t source = probe->peer == TRACE_ANY ? trace_op_peer_matched(probe) : probe->peer;
    int32_t tag = probe->tag == TRACE_ANY ? trace_op_tag_matched(probe) : probe->tag;
    return probe->form->comm == send->form->comm && (source < 0 || source == (int32_t)send->rank) &&
           (tag < 0 || tag == send->tag);
}

/* The receive of what a probe found: the next that takes such a message, or one that takes what the same sender sent before; a matched
 * one's own. */
static uint32_t receive_of_found(const struct check_plan *plan, size_t position)
{
    const struct trace *trace = plan->context->trace;
    const struct trace_op *ops = trace->ops, *probe = &ops[op_at(plan, position)];
    size_t end = trace->rank_begin[probe->rank + 1];
    uint32_t found = TRACE_NO, earliest = TRACE_NO;
    if (is_matched_probe(probe))
        return receive_of(trace, probe);
    for (size_t p = position + 1; p < end && p < position + PROBE_LOOKAHEAD; p++) {
        uint32_t taker = taker_at(trace, op_at(plan, p));
        uint32_t send = taker == TRACE_NO ? TRACE_NO : ops[taker].match;
        if (send == TRACE_NO || !may_be_found(probe, &ops[send]) ||
            (found != TRACE_NO && (ops[send].rank != ops[earliest].rank || send > earliest)))
            continue;
        found = taker;
        earliest = send;
    }
    return found;
}

/* It waits for one request, an Isendrecv: the row and the next one are its halves. */
static bool is_one_pair(const struct trace *trace, uint32_t wait, uint32_t row)
{
    return row != TRACE_NO && row + 1 < trace->wait_count && trace->waits[row + 1].wait == wait &&
           check_are_halves(trace, trace->waits[row].start, trace->waits[row + 1].start) &&
           (row + 2 == trace->wait_count || trace->waits[row + 2].wait != wait);
}

/* A test that succeeded needs what it found complete; the rest of its requests do not matter. */
static struct plan_step test_step(const struct trace *trace, uint32_t op, uint32_t row,
                                  uint32_t first)
{
    struct plan_step step = {.action = PLAN_PASS, .target = TRACE_NO};
    const struct trace_op *test = &trace->ops[op];
    if (test->state != STATE_COMPLETE)
        return step;
    bool all = test->kind == OP_TESTALL || is_one_pair(trace, op, row);
    if (all && row != TRACE_NO && trace->waits[row].completed)
        return (struct plan_step){.action = PLAN_WAIT_ALL, .tested = true, .target = row};
    for (; row != TRACE_NO && row < trace->wait_count && trace->waits[row].wait == op; row++)
        if (trace->waits[row].completed)
            return (struct plan_step){
                .action = PLAN_WAIT_ONE, .tested = true, .target = trace->waits[row].start};
    if (trace->ops[first].request == op)
        step = (struct plan_step){.action = PLAN_WAIT_ONE, .tested = true, .target = first};
    return step;
}

/* Before: the step's target is the first row of the wait's requests, TRACE_NO where it has none. */
static struct plan_step wait_step(const struct trace *trace, uint32_t op, uint32_t row)
{
    const struct trace_op *wait = &trace->ops[op];
    struct plan_step step = {.action = PLAN_PASS, .target = row};
    bool several =
        row != TRACE_NO && row + 1 < trace->wait_count && trace->waits[row + 1].wait == op;
    uint32_t first = row == TRACE_NO ? wait->request : trace->waits[row].start;
    if (wait->flags & OP_INACTIVE || first == TRACE_NO)
        return step;
    switch (wait->kind) {
    case OP_WAIT:
    case OP_WAITALL:
        step.action = PLAN_WAIT_ALL;
        break;
    case OP_WAITANY:
    case OP_WAITSOME:
        step.action = is_one_pair(trace, op, row) ? PLAN_WAIT_ALL : PLAN_WAIT_ANY;
        break;
    default:
        return test_step(trace, op, row, first);
    }
    if (!several && step.action != PLAN_PASS)
        step = (struct plan_step){.action = PLAN_WAIT_ONE, .target = first};
    return step;
}

static struct plan_step send_step(const struct trace_op *op, uint32_t partner, bool planned)
{
    struct plan_step step = {.action = PLAN_SEND, .target = partner, .starts = check_is_start(op)};
    if (check_is_buffered(op) || (partner == TRACE_NO && !planned))
        step.action = PLAN_BUFFERED;
    else if (check_is_synchronous(op))
        step.action = PLAN_SYNC_SEND;
    return step;
}

static struct plan_step collective_step(const struct trace_op *op, uint32_t slot)
{
    struct plan_step step = {
        .action = PLAN_COLLECTIVE, .target = slot, .starts = check_is_start(op)};
    if (slot == TRACE_NO)
        step.action = PLAN_PASS;
    return step;
}

/* Where each wait's requests begin: rows are sorted by wait. */
static void find_rows(struct check_plan *plan)
{
    const struct trace *trace = plan->context->trace;
    for (size_t op = 0; op < trace->op_count; op++)
        plan->steps[op].target = TRACE_NO;
    for (size_t row = trace->wait_count; row-- > 0;)
        plan->steps[trace->waits[row].wait].target = (uint32_t)row;
}

static void compile_step(struct check_plan *plan, size_t position, const uint32_t *match,
                         const uint32_t *slot, const struct plan_options *options)
{
    const struct trace *trace = plan->context->trace;
    uint32_t index = op_at(plan, position);
    const struct trace_op *op = &trace->ops[index];
    /* What was cancelled needs no partner, and no plan says that it does. */
    bool planned = trace->outcome == OUTCOME_IMPORTED && op->state != STATE_CANCELLED, passes;
    struct plan_step *step = &plan->steps[index];
    uint32_t row = step->target, partner = partner_of(trace, match, index), found = TRACE_NO;
    *step = (struct plan_step){.action = PLAN_PASS, .target = TRACE_NO};
    switch (check_class(op)) {
    case CLASS_SEND:
        *step =
            send_step(op, partner, planned || (options->lost_wait && op->state == STATE_COMPLETE));
        break;
    case CLASS_RECEIVE:
        /* One of a batch that this order leaves without its message holds the batch up. */
        passes = partner == TRACE_NO && !planned && (!op->form->batch || op->match == TRACE_NO) &&
                 !(options->lost_receives && op->match != TRACE_NO && op->peer != TRACE_ANY);
        *step = (struct plan_step){.action = passes ? PLAN_PASS : PLAN_RECEIVE,
                                   .target = partner,
                                   .starts = check_is_start(op)};
        break;
    case CLASS_PROBE:
        if (op->state == STATE_COMPLETE || op->state == STATE_BLOCKED)
            found = receive_of_found(plan, position);
        if (found != TRACE_NO)
            step->target = partner_of(trace, match, found);
        step->action = step->target == TRACE_NO ? PLAN_PASS : PLAN_PROBE;
        step->tested = op->kind == OP_IPROBE || op->kind == OP_IMPROBE;
        break;
    case CLASS_COLLECTIVE:
        *step = collective_step(op, slot ? slot[index] : check_group_of(plan->context, index));
        break;
    case CLASS_WAIT:
        *step = wait_step(trace, index, row);
        break;
    default:
        break;
    }
}

/* ---- bundles ---- */

static uint32_t root_of(uint32_t *parent, uint32_t op)
{
    while (parent[op] != op) {
        parent[op] = parent[parent[op]];
        op = parent[op];
    }
    return op;
}

static void join(uint32_t *parent, uint32_t a, uint32_t b)
{
    a = root_of(parent, a);
    b = root_of(parent, b);
    if (a != b)
        parent[a > b ? a : b] = a < b ? a : b;
}

static bool is_message(const struct plan_step *step)
{
    return step->action == PLAN_SEND || step->action == PLAN_SYNC_SEND ||
           step->action == PLAN_RECEIVE;
}

static uint32_t *tie_bundles(const struct check_plan *plan)
{
    const struct trace *trace = plan->context->trace;
    uint32_t *parent = check_new(trace->op_count, sizeof *parent);
    uint32_t *caller = check_new(plan->slot_count, sizeof *caller);
    memset(caller, 0xff, plan->slot_count * sizeof *caller);
    for (uint32_t op = 0; op < trace->op_count; op++)
        parent[op] = op;
    for (uint32_t op = 0, mate = TRACE_NO; op < trace->op_count; op++) {
        const struct plan_step *step = &plan->steps[op];
        if (is_message(step) && step->target != TRACE_NO)
            join(parent, op, step->target);
        if (step->action == PLAN_COLLECTIVE) {
            if (caller[step->target] != TRACE_NO)
                join(parent, op, caller[step->target]);
            caller[step->target] = op;
        }
        if (!trace->ops[op].form->batch || step->action == PLAN_PASS)
            continue;
        if (mate != TRACE_NO && trace->ops[mate].rank == trace->ops[op].rank &&
            trace->ops[mate].form->batch == trace->ops[op].form->batch)
            join(parent, op, mate);
        mate = op;
    }
    free(caller);
    return parent;
}

/* Only what is tied to a batch needs a bundle: elsewhere a message alone is the rendezvous model.
 */
static void bundle(struct check_plan *plan)
{
    const struct trace *trace = plan->context->trace;
    uint32_t *parent = tie_bundles(plan);
    plan->bundle_of = check_new(trace->op_count, sizeof *plan->bundle_of);
    uint32_t *number = check_new(trace->op_count, sizeof *number);
    memset(number, 0xff, trace->op_count * sizeof *number);
    for (uint32_t op = 0; op < trace->op_count; op++)
        if (trace->ops[op].form->batch && plan->steps[op].action != PLAN_PASS &&
            number[root_of(parent, op)] == TRACE_NO)
            number[root_of(parent, op)] = (uint32_t)plan->bundle_count++;
    plan->bundle_need = check_new(plan->bundle_count, sizeof *plan->bundle_need);
    for (uint32_t op = 0; op < trace->op_count; op++) {
        bool member = is_message(&plan->steps[op]) || plan->steps[op].action == PLAN_COLLECTIVE;
        plan->bundle_of[op] = member ? number[root_of(parent, op)] : TRACE_NO;
        if (plan->bundle_of[op] == TRACE_NO)
            continue;
        bool alone = is_message(&plan->steps[op]) && plan->steps[op].target == TRACE_NO;
        plan->bundle_need[plan->bundle_of[op]] += alone ? 2 : 1; /* then it never moves */
    }
    free(number);
    free(parent);
}

/* A call waits for all members, also for those that never came. */
static void count_slots(struct check_plan *plan)
{
    const struct check_context *context = plan->context;
    const struct trace *trace = context->trace;
    plan->slot_count = context->group_count;
    plan->slot_need = check_new(plan->slot_count, sizeof *plan->slot_need);
    for (size_t g = 0; g < plan->slot_count; g++) {
        const struct check_group *group = &context->groups[g];
        bool known = trace->comms[group->comm].members != NULL;
        plan->slot_need[g] = known ? check_comm_size(trace, group->comm) : group->count;
    }
}

static void drop_forward(struct check_plan *plan)
{
    const struct trace *trace = plan->context->trace;
    for (uint32_t op = 0; op < trace->op_count; op++) {
        struct plan_step *step = &plan->steps[op];
        if (trace->ops[op].form->pass == 0 && step->action == PLAN_COLLECTIVE &&
            plan->slot_need[step->target])
            plan->slot_need[step->target]--;
        if (trace->ops[op].form->pass == 0)
            *step = (struct plan_step){.action = PLAN_PASS, .target = TRACE_NO};
        else if (step->target != TRACE_NO && (is_message(step) || step->action == PLAN_PROBE) &&
                 trace->ops[step->target].form->pass == 0)
            step->action = PLAN_PASS;
    }
}

static void find_roots(struct check_plan *plan)
{
    const struct trace *trace = plan->context->trace;
    plan->slot_root = check_new(plan->slot_count, sizeof *plan->slot_root);
    memset(plan->slot_root, 0xff, plan->slot_count * sizeof *plan->slot_root);
    for (uint32_t op = 0; op < trace->op_count; op++)
        if (plan->steps[op].action == PLAN_COLLECTIVE &&
            trace->ops[op].peer == (int32_t)trace->ops[op].rank)
            plan->slot_root[plan->steps[op].target] = op;
}

static void find_probes(struct check_plan *plan)
{
    const struct trace *trace = plan->context->trace;
    plan->probed_by = check_new(trace->op_count, sizeof *plan->probed_by);
    memset(plan->probed_by, 0xff, trace->op_count * sizeof *plan->probed_by);
    for (uint32_t op = 0; op < trace->op_count; op++) {
        uint32_t receive =
            is_matched_probe(&trace->ops[op]) ? receive_of(trace, &trace->ops[op]) : TRACE_NO;
        if (receive != TRACE_NO)
            plan->probed_by[receive] = op;
    }
}

/* What the call needs where the data flow alone decides. */
int64_t check_plan_data_need(const struct check_plan *plan, uint32_t op)
{
    const struct trace_op *call = &plan->context->trace->ops[op];
    uint32_t slot = plan->steps[op].target, root = plan->slot_root[slot];
    bool is_root = root == op;
    switch (call->kind) {
    case OP_BCAST:
    case OP_SCATTER:
    case OP_SCATTERV:
        if (is_root)
            return PLAN_NEEDS_NOTHING;
        return root == TRACE_NO ? (int64_t)PLAN_NEEDS_NOBODY : (int64_t)root;
    case OP_REDUCE:
    case OP_GATHER:
    case OP_GATHERV:
    case OP_COMM_DISCONNECT: /* has no root */
        return is_root ? (int64_t)plan_slot_key(plan, slot) : (int64_t)PLAN_NEEDS_NOTHING;
    default:
        return (int64_t)plan_slot_key(plan, slot);
    }
}

/* Whoever was asked to cancel a send completes it in any case: it is cancelled, or it is received. */
static void free_cancelled(struct check_plan *plan)
{
    const struct trace *trace = plan->context->trace;
    for (size_t op = 0; plan->context->kinds[OP_CANCEL] && op < trace->op_count; op++) {
        uint32_t send = trace->ops[op].kind == OP_CANCEL ? trace->ops[op].request : TRACE_NO;
        if (send < trace->op_count &&
            (plan->steps[send].action == PLAN_SEND || plan->steps[send].action == PLAN_SYNC_SEND))
            plan->steps[send].action = PLAN_BUFFERED;
    }
}

void check_plan_init(struct check_plan *plan, const struct check_context *context,
                     const struct plan_options *options)
{
    const struct trace *trace = context->trace;
    *plan = (struct check_plan){.context = context, .order = options->order};
    count_slots(plan);
    uint32_t *match = NULL, *slot = NULL; /* as recorded */
    plan->rearranged = options->order || options->choice_count;
    if (plan->rearranged) {
        match = check_new(trace->op_count, sizeof *match);
        rematch(plan, options, match);
        slot = check_new(trace->op_count, sizeof *slot);
        renumber_slots(plan, slot);
    }
    plan->steps = check_new(trace->op_count, sizeof *plan->steps);
    find_rows(plan);
    for (size_t position = 0; position < trace->op_count; position++)
        compile_step(plan, position, match, slot, options);
    free_cancelled(plan);
    if (options->backward_only)
        drop_forward(plan);
    plan->minimal = options->minimal;
    if (options->minimal || context->has_any_source)
        find_roots(plan);
    if (context->has_any_source && (context->kinds[OP_MPROBE] || context->kinds[OP_IMPROBE]))
        find_probes(plan);
    if (context->has_batches && context->options->models & CHECK_BATCH)
        bundle(plan);
    free(match);
    free(slot);
}

void check_plan_release(struct check_plan *plan)
{
    free(plan->steps);
    free(plan->slot_need);
    free(plan->slot_root);
    free(plan->probed_by);
    free(plan->bundle_of);
    free(plan->bundle_need);
    *plan = (struct check_plan){0};
}

int64_t check_plan_need(const struct check_plan *plan, enum check_model model, uint32_t op)
{
    const struct plan_step *step = &plan->steps[op];
    bool waits = step->action == PLAN_SYNC_SEND || step->action == PLAN_RECEIVE ||
                 step->action == PLAN_PROBE || step->action == PLAN_COLLECTIVE ||
                 (step->action == PLAN_SEND && model != CHECK_EAGER);
    if (!waits)
        return PLAN_NEEDS_NOTHING;
    if (step->target == TRACE_NO)
        return PLAN_NEEDS_NOBODY;
    if (plan->minimal && step->action == PLAN_COLLECTIVE)
        return check_plan_data_need(plan, op);
    if (model == CHECK_BATCH && plan->bundle_of && plan->bundle_of[op] != TRACE_NO)
        return (int64_t)plan_bundle_key(plan, plan->bundle_of[op]);
    return step->action == PLAN_COLLECTIVE ? (int64_t)plan_slot_key(plan, step->target)
                                           : step->target;
}
