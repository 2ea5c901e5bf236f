#include "checker/orders/joint.h"

#include "checker/memory.h"
#include "checker/number_set.h"

#include <stdlib.h>
#include <string.h>

enum { POSTED = 1, MATCHED = 2, PASSED = 4 };

/* Everything that decides what can happen next, and who met whom on the way. */
struct state {
    uint8_t *flags;    /* per op */
    uint16_t *when;    /* per op: posted as the n-th of all */
    uint16_t *partner; /* per op: the op it met */
    uint32_t *at;      /* per rank: the op it stands in, TRACE_NO */
    uint32_t *last;    /* per rank: the op it passed last, TRACE_NO */
    uint16_t posts;
};

struct search {
    const struct check_plan *plan;
    const struct check_partial_order *reach;
    const struct trace *trace;
    enum check_model model;
    bool minimal;
    uint8_t *must;          /* row per op: ops of its rank that come before it in every order */
    struct number_set seen; /* hashes of states */
    bool bounded;
    struct joint_hang *hang;
};

static bool is_send(const struct search *search, uint32_t op)
{
    uint8_t action = search->plan->steps[op].action;
    return action == PLAN_SEND || action == PLAN_SYNC_SEND ||
           (action == PLAN_BUFFERED && check_class(&search->trace->ops[op]) == CLASS_SEND);
}

static bool is_receive(const struct search *search, uint32_t op)
{
    return search->plan->steps[op].action == PLAN_RECEIVE;
}

static bool tag_fits(int32_t wanted, int32_t tag)
{
    return wanted == TRACE_ANY || wanted == tag;
}

static bool fits(const struct search *search, uint32_t receive, uint32_t send)
{
    const struct trace_op *r = &search->trace->ops[receive], *s = &search->trace->ops[send];
    return s->peer == (int32_t)r->rank && s->form->comm == r->form->comm &&
           tag_fits(r->tag, s->tag) && (r->peer == TRACE_ANY || r->peer == (int32_t)s->rank);
}

/* ---- states ---- */

static void state_init(struct state *state, const struct trace *trace)
{
    state->flags = check_new(trace->op_count, sizeof *state->flags);
    state->when = check_new(trace->op_count, sizeof *state->when);
    state->partner = check_new(trace->op_count, sizeof *state->partner);
    state->at = check_new(trace->ranks, sizeof *state->at);
    state->last = check_new(trace->ranks, sizeof *state->last);
    state->posts = 0;
}

static void state_release(struct state *state)
{
    free(state->flags);
    free(state->when);
    free(state->partner);
    free(state->at);
    free(state->last);
}

static void state_copy(struct state *to, const struct state *from, const struct trace *trace)
{
    memcpy(to->flags, from->flags, trace->op_count * sizeof *to->flags);
    memcpy(to->when, from->when, trace->op_count * sizeof *to->when);
    memcpy(to->partner, from->partner, trace->op_count * sizeof *to->partner);
    memcpy(to->at, from->at, trace->ranks * sizeof *to->at);
    memcpy(to->last, from->last, trace->ranks * sizeof *to->last);
    to->posts = from->posts;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static bool is_pending(const struct state *state, uint32_t op)
{
    return (state->flags[op] & (POSTED | MATCHED)) == POSTED;
}

/* Of two pending ops it matters who came first: they are of one side of one mailbox. */
static bool compete(const struct search *search, uint32_t a, uint32_t b)
{
    const struct trace_op *x = &search->trace->ops[a], *y = &search->trace->ops[b];
    if (x->form->comm != y->form->comm || is_send(search, a) != is_send(search, b) ||
        x->rank != y->rank)
        return false;
    return !is_send(search, a) || x->peer == y->peer;
}

/* Not who met whom: that changes nothing any more. Where a rank stands and which item it is in the flags say. */
static uint64_t state_hash(const struct search *search, const struct state *state)
{
    const struct trace *trace = search->trace;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (uint32_t op = 0; op < trace->op_count; op++) {
        uint64_t earlier = 0;
        hash = mix(hash, state->flags[op]);
        if (!is_pending(state, op) || (!is_send(search, op) && !is_receive(search, op)))
            continue;
        for (size_t other = trace->rank_begin[trace->ops[op].rank];
             other < trace->rank_begin[trace->ops[op].rank + 1]; other++)
            if (is_pending(state, (uint32_t)other) && state->when[other] < state->when[op] &&
                (is_send(search, (uint32_t)other) || is_receive(search, (uint32_t)other)) &&
                compete(search, op, (uint32_t)other))
                earlier += mix(1, other);
        hash = mix(hash, earlier);
    }
    return hash;
}

/* ---- what is complete ---- */

static bool all_called(const struct search *search, const struct state *state, uint32_t slot)
{
    uint32_t posts = 0;
    for (uint32_t op = 0; op < search->trace->op_count; op++)
        posts += search->plan->steps[op].action == PLAN_COLLECTIVE &&
                 search->plan->steps[op].target == slot && state->flags[op] & POSTED;
    return posts >= search->plan->slot_need[slot];
}

static bool is_complete(const struct search *search, const struct state *state, uint32_t op)
{
    const struct check_plan *plan = search->plan;
    uint8_t flags = state->flags[op];
    switch ((enum plan_action)plan->steps[op].action) {
    case PLAN_SEND:
        return search->model == CHECK_EAGER ? flags & POSTED : flags & MATCHED;
    case PLAN_SYNC_SEND:
    case PLAN_RECEIVE:
        return flags & MATCHED;
    case PLAN_COLLECTIVE: {
        if (!(flags & POSTED))
            return false;
        int64_t need = check_plan_need(plan, search->model, op);
        if (!search->minimal)
            return all_called(search, state, plan->steps[op].target);
        if (need == PLAN_NEEDS_NOTHING)
            return true;
        if (need >= 0 && (size_t)need < search->trace->op_count)
            return state->flags[need] & POSTED;
        return need >= 0 && all_called(search, state, plan->steps[op].target);
    }
    case PLAN_WAIT_ONE:
    case PLAN_WAIT_ALL:
    case PLAN_WAIT_ANY: {
        bool any = plan->steps[op].action == PLAN_WAIT_ANY, found = false;
        uint32_t start;
        for (size_t i = 0; (start = plan_request(plan, op, i)) != TRACE_NO; i++) {
            bool done = is_complete(search, state, start);
            if (any && plan_is_pair(plan, op, i))
                done &= is_complete(search, state, plan_request(plan, op, ++i));
            if (any && done)
                return true;
            if (!any && !done)
                return false;
            found = true;
        }
        return !any || !found;
    }
    default:
        return flags & POSTED;
    }
}

/* ---- matching ---- */

/* The first message of the source that the receive may take, if no receive posted before it has a
 * claim on that. `source`: a rank. */
static uint32_t message_for(const struct search *search, const struct state *state,
                            uint32_t receive, uint32_t source)
{
    const struct trace *trace = search->trace;
    uint32_t first = TRACE_NO, rank = trace->ops[receive].rank;
    for (size_t op = trace->rank_begin[source]; op < trace->rank_begin[source + 1]; op++)
        if (is_send(search, (uint32_t)op) && is_pending(state, (uint32_t)op) &&
            fits(search, receive, (uint32_t)op) &&
            (first == TRACE_NO || state->when[op] < state->when[first]))
            first = (uint32_t)op;
    for (size_t op = trace->rank_begin[rank]; op < trace->rank_begin[rank + 1]; op++)
        if (first != TRACE_NO && is_receive(search, (uint32_t)op) &&
            is_pending(state, (uint32_t)op) && state->when[op] < state->when[receive] &&
            fits(search, (uint32_t)op, first))
            return TRACE_NO;
    return first;
}

static void note_taken(const struct search *search, uint32_t receive, uint32_t send)
{
    const struct trace_op *ops = search->trace->ops;
    uint32_t *first = &search->hang->takes[receive];
    if (*first == TRACE_NO)
        *first = send;
    else if (ops[receive].peer == TRACE_ANY ? ops[*first].rank != ops[send].rank : *first != send)
        search->hang->or_else[receive] = send;
}

static void meet(struct state *state, uint32_t receive, uint32_t send)
{
    state->flags[receive] |= MATCHED;
    state->flags[send] |= MATCHED;
    state->partner[receive] = (uint16_t)send;
    state->partner[send] = (uint16_t)receive;
}

/* Receives by name take what is theirs; ranks whose op is complete go on. */
static void settle(const struct search *search, struct state *state)
{
    const struct trace *trace = search->trace;
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t op = 0; op < trace->op_count; op++) {
            if (!is_receive(search, op) || !is_pending(state, op) || trace->ops[op].peer < 0)
                continue;
            uint32_t send = message_for(search, state, op, (uint32_t)trace->ops[op].peer);
            if (send == TRACE_NO)
                continue;
            meet(state, op, send);
            note_taken(search, op, send);
            moved = true;
        }
        for (uint32_t rank = 0; rank < trace->ranks; rank++) {
            uint32_t op = state->at[rank];
            if (op == TRACE_NO || !is_complete(search, state, op))
                continue;
            state->flags[op] |= PASSED;
            state->last[rank] = op;
            state->at[rank] = TRACE_NO;
            moved = true;
        }
    }
}

/* ---- ranks ---- */

static bool must_precede(const struct search *search, uint32_t before, uint32_t op)
{
    uint32_t first = (uint32_t)search->trace->rank_begin[search->trace->ops[op].rank];
    return search->must[(size_t)op * search->trace->op_count + before - first];
}

static bool is_ready(const struct search *search, const struct state *state, uint32_t op)
{
    const struct trace *trace = search->trace;
    uint32_t rank = trace->ops[op].rank;
    if (state->flags[op] & POSTED)
        return false;
    for (size_t other = trace->rank_begin[rank]; other < trace->rank_begin[rank + 1]; other++)
        if (!(state->flags[other] & PASSED) && must_precede(search, (uint32_t)other, op))
            return false;
    return true;
}

/* The item the rank is in the middle of: its ops are not interrupted. */
static bool is_in_item(const struct search *search, const struct state *state, uint32_t rank,
                       uint32_t op)
{
    uint32_t last = state->last[rank];
    return last != TRACE_NO && search->reach->item_of[op] == search->reach->item_of[last] &&
           search->reach->segment_of[op] == search->reach->segment_of[last];
}

/* The call would meet others than in the plan. */
static bool crosses(const struct search *search, const struct state *state, uint32_t op)
{
    const struct trace *trace = search->trace;
    uint32_t rank = trace->ops[op].rank, before = 0, planned = 0;
    if (search->plan->steps[op].action != PLAN_COLLECTIVE)
        return false;
    for (size_t other = trace->rank_begin[rank]; other < trace->rank_begin[rank + 1]; other++) {
        if (other == op || search->plan->steps[other].action != PLAN_COLLECTIVE ||
            trace->ops[other].form->comm != trace->ops[op].form->comm)
            continue;
        before += (state->flags[other] & POSTED) != 0;
        planned += trace->ops[other].comm_seq < trace->ops[op].comm_seq;
    }
    return before != planned;
}

static void post(const struct search *search, struct state *state, uint32_t op)
{
    uint32_t rank = search->trace->ops[op].rank;
    state->flags[op] |= POSTED;
    state->when[op] = ++state->posts;
    if (search->plan->steps[op].starts) {
        state->flags[op] |= PASSED;
        state->last[rank] = op;
    } else {
        state->at[rank] = op;
    }
}

/* ---- the search ---- */

static void visit(struct search *search, const struct state *state);

/* Branches over what the first free rank does next. True when there was one. */
static bool branch_rank(struct search *search, const struct state *state)
{
    const struct trace *trace = search->trace;
    for (uint32_t rank = 0; rank < trace->ranks; rank++) {
        uint32_t begin = (uint32_t)trace->rank_begin[rank],
                 end = (uint32_t)trace->rank_begin[rank + 1];
        bool inside = false, any = false;
        if (state->at[rank] != TRACE_NO)
            continue;
        for (uint32_t op = begin; op < end; op++)
            inside = inside || (is_in_item(search, state, rank, op) && is_ready(search, state, op));
        for (uint32_t op = begin; op < end && !search->hang->stands; op++) {
            if (!is_ready(search, state, op) || (inside && !is_in_item(search, state, rank, op)))
                continue;
            any = true;
            if (crosses(search, state, op))
                continue;
            struct state next;
            state_init(&next, trace);
            state_copy(&next, state, trace);
            post(search, &next, op);
            visit(search, &next);
            state_release(&next);
        }
        if (any)
            return true;
    }
    return false;
}

/* Branches over what wildcards take. True when one could take something. */
static bool branch_match(struct search *search, const struct state *state)
{
    const struct trace *trace = search->trace;
    bool any = false;
    for (uint32_t op = 0; op < trace->op_count; op++) {
        if (!is_receive(search, op) || !is_pending(state, op) || trace->ops[op].peer != TRACE_ANY)
            continue;
        for (uint32_t source = 0; source < trace->ranks && !search->hang->stands; source++) {
            uint32_t send = message_for(search, state, op, source);
            if (send == TRACE_NO)
                continue;
            struct state next;
            state_init(&next, trace);
            state_copy(&next, state, trace);
            meet(&next, op, send);
            note_taken(search, op, send);
            any = true;
            visit(search, &next);
            state_release(&next);
        }
    }
    return any;
}

/* What was posted, as it was; then the rest, as recorded, which keeps every order that must be. */
static void keep_order(const struct state *state, const struct trace *trace, uint32_t rank,
                       uint32_t *order)
{
    size_t begin = trace->rank_begin[rank], end = trace->rank_begin[rank + 1], at = begin;
    for (uint32_t post = 1; post <= state->posts; post++)
        for (size_t op = begin; op < end; op++)
            if (state->when[op] == post)
                order[at++] = (uint32_t)op;
    for (size_t op = begin; op < end; op++)
        if (!state->when[op])
            order[at++] = (uint32_t)op;
}

static void keep_hang(struct search *search, const struct state *state)
{
    const struct trace *trace = search->trace;
    struct joint_hang *hang = search->hang;
    hang->stands = check_new(trace->ranks, sizeof *hang->stands);
    hang->order = check_new(trace->op_count, sizeof *hang->order);
    hang->choices = check_new(trace->op_count, sizeof *hang->choices);
    for (uint32_t rank = 0; rank < trace->ranks; rank++)
        if (state->at[rank] != TRACE_NO)
            hang->stands[hang->stand_count++] = state->at[rank];
    for (uint32_t op = 0; op < trace->op_count; op++) {
        if (is_receive(search, op) && trace->ops[op].peer == TRACE_ANY &&
            state->flags[op] & MATCHED)
            hang->choices[hang->choice_count++] =
                (struct plan_choice){.receive = op, .source = trace->ops[state->partner[op]].rank};
    }
    for (uint32_t rank = 0; rank < trace->ranks; rank++)
        keep_order(state, trace, rank, hang->order);
}

static void visit(struct search *search, const struct state *begun)
{
    const struct trace *trace = search->trace;
    struct state state;
    if (search->hang->stands || search->bounded)
        return;
    state_init(&state, trace);
    state_copy(&state, begun, trace);
    settle(search, &state);
    if (search->seen.count >= JOINT_STATES_MAX) {
        search->bounded = true;
    } else if (number_set_add(&search->seen, state_hash(search, &state)) &&
               !branch_rank(search, &state) && !branch_match(search, &state)) {
        bool stands = false;
        for (uint32_t rank = 0; rank < trace->ranks; rank++)
            stands = stands || state.at[rank] != TRACE_NO;
        if (stands)
            keep_hang(search, &state);
    }
    state_release(&state);
}

static void find_musts(struct search *search)
{
    const struct trace *trace = search->trace;
    search->must = check_new(trace->op_count * trace->op_count, 1);
    for (uint32_t op = 0; op < trace->op_count; op++) {
        size_t first = trace->rank_begin[trace->ops[op].rank];
        for (size_t other = first; other < trace->rank_begin[trace->ops[op].rank + 1]; other++)
            search->must[(size_t)op * trace->op_count + other - first] =
                check_partial_order_before(search->reach, (uint32_t)other, op);
    }
}

bool check_joint_fits(const struct check_plan *plan)
{
    const struct trace *trace = plan->context->trace;
    if (trace->op_count > JOINT_OPS_MAX)
        return false;
    for (uint32_t op = 0; op < trace->op_count; op++)
        if (plan->steps[op].action == PLAN_PROBE || plan->steps[op].tested ||
            trace->ops[op].form->batch || trace->ops[op].form->thread ||
            trace->ops[op].kind == OP_MRECV || trace->ops[op].kind == OP_IMRECV ||
            check_class(&trace->ops[op]) == CLASS_PROBE)
            return false;
    return true;
}

enum joint_answer check_joint_search(const struct check_plan *plan,
                                     const struct check_partial_order *reach,
                                     enum check_model model, bool minimal, struct joint_hang *hang)
{
    const struct trace *trace = plan->context->trace;
    struct search search = {.plan = plan,
                            .reach = reach,
                            .trace = trace,
                            .model = model,
                            .minimal = minimal,
                            .hang = hang};
    struct state first;
    *hang = (struct joint_hang){0};
    hang->takes = check_new(trace->op_count, sizeof *hang->takes);
    hang->or_else = check_new(trace->op_count, sizeof *hang->or_else);
    memset(hang->takes, 0xff, trace->op_count * sizeof *hang->takes);
    memset(hang->or_else, 0xff, trace->op_count * sizeof *hang->or_else);
    find_musts(&search);
    state_init(&first, trace);
    memset(first.at, 0xff, trace->ranks * sizeof *first.at);
    memset(first.last, 0xff, trace->ranks * sizeof *first.last);
    visit(&search, &first);
    state_release(&first);
    free(search.must);
    number_set_release(&search.seen);
    return hang->stands ? JOINT_HANGS : search.bounded ? JOINT_BOUNDED : JOINT_SAFE;
}

void check_joint_release(struct joint_hang *hang)
{
    free(hang->stands);
    free(hang->order);
    free(hang->choices);
    free(hang->takes);
    free(hang->or_else);
    *hang = (struct joint_hang){0};
}
