#include "checker/replay/replay.h"

#include "checker/memory.h"

#include <stdlib.h>
#include <string.h>

#define KEY_DONE (UINT32_MAX - 1) /* in `waiting`: the op is posted, the slot or bundle full */

struct waiter {
    uint32_t rank, next;
};

struct machine {
    const struct check_plan *plan;
    const struct trace *trace;
    enum check_model model;
    const struct replay_watch *watch;
    size_t *next;    /* per rank: position of the op it stands before or in */
    bool *posted;    /* per rank: that op is posted */
    bool *astray;    /* per rank: it is off the record, and may post anything */
    size_t *strayed; /* per rank that is: where it stood when it left */
    bool *ready;     /* per rank: on the stack */
    uint32_t *stack;
    size_t top;
    uint32_t *waiting; /* per key: ops, then slots, then bundles: list of waiters, or KEY_DONE */
    uint32_t *posts;   /* per slot, then per bundle */
    struct waiter *waiters;
    size_t waiter_count, waiter_room;
    uint32_t free_waiter;
    size_t slots, bundles; /* first key of each */
    /* A lane is a thread of a rank, which alone issues in order: mostly there is one per rank. What
     * is called rank below is a lane. */
    uint32_t lanes;
    const size_t *lane_begin;
    size_t *own_begin;  /* of several threads; else NULL, and lanes are ranks */
    uint32_t *sequence; /* then: op at each position, lane by lane */
    uint32_t *lane_of;  /* then: per op */
    uint32_t *first;    /* then: per rank, its first lane; and the end */
    bool *held;         /* per lane, where threads wait as they did: it does; else NULL */
    uint32_t *position; /* per op, in another order than recorded; NULL: not yet asked for */
    uint32_t *learning; /* per lane, where ranks learn: whom it waits for to learn; else NULL */
    bool
        *loose; /* per op: a send that is buffered although others wait, a collective that waits for
                    its data alone although others wait for everybody; NULL: none is */
    uint32_t first_loose;
};

static void wake(struct machine *machine, uint32_t rank)
{
    if (machine->ready[rank])
        return;
    machine->ready[rank] = true;
    machine->stack[machine->top++] = rank;
}

static void fulfil(struct machine *machine, size_t key)
{
    uint32_t at = machine->waiting[key];
    machine->waiting[key] = KEY_DONE;
    while (at != TRACE_NO && at != KEY_DONE) {
        uint32_t next = machine->waiters[at].next;
        wake(machine, machine->waiters[at].rank);
        machine->waiters[at].next = machine->free_waiter;
        machine->free_waiter = at;
        at = next;
    }
}

static void wait_on(struct machine *machine, size_t key, uint32_t rank)
{
    uint32_t at = machine->free_waiter;
    if (at == TRACE_NO) {
        machine->waiters = check_grow(machine->waiters, &machine->waiter_room,
                                      machine->waiter_count + 1, sizeof *machine->waiters);
        at = (uint32_t)machine->waiter_count++;
    } else {
        machine->free_waiter = machine->waiters[at].next;
    }
    machine->waiters[at] = (struct waiter){.rank = rank, .next = machine->waiting[key]};
    machine->waiting[key] = at;
}

static void count_post(struct machine *machine, size_t key, uint32_t need)
{
    if (++machine->posts[key - machine->slots] == need)
        fulfil(machine, key);
}

static void post(struct machine *machine, uint32_t op)
{
    const struct check_plan *plan = machine->plan;
    const struct plan_step *step = &plan->steps[op];
    if (step->action == PLAN_PASS)
        return;
    fulfil(machine, op);
    if (step->action == PLAN_COLLECTIVE)
        count_post(machine, plan_slot_key(plan, step->target), plan->slot_need[step->target]);
    if (machine->model == CHECK_BATCH && plan->bundle_of && plan->bundle_of[op] != TRACE_NO)
        count_post(machine, plan_bundle_key(plan, plan->bundle_of[op]),
                   plan->bundle_need[plan->bundle_of[op]]);
}

static bool is_loose(const struct machine *machine, uint32_t op)
{
    return machine->loose && machine->loose[op];
}

static bool is_posted(const struct machine *machine, uint32_t op)
{
    return machine->waiting[op] == KEY_DONE;
}

/* The call of a member below this one that is not yet there. */
static int64_t lower_call(const struct machine *machine, uint32_t op)
{
    const struct check_plan *plan = machine->plan;
    const struct trace_comm *comm = &machine->trace->comms[machine->trace->ops[op].form->comm];
    const struct check_group *group = &plan->context->groups[plan->steps[op].target];
    if (plan->order || !comm->members || group->count < plan->slot_need[plan->steps[op].target])
        return (int64_t)plan_slot_key(plan, plan->steps[op].target);
    for (size_t i = 0; comm->members[i] != (int32_t)machine->trace->ops[op].rank; i++)
        for (uint32_t k = 0; k < group->count; k++) {
            uint32_t other = plan->context->group_ops[group->first + k];
            if ((int32_t)machine->trace->ops[other].rank == comm->members[i] &&
                !is_posted(machine, other))
                return other;
        }
    return PLAN_NEEDS_NOTHING;
}

/* The key that a collective which waits for its data alone still lacks, or has lacked. */
static int64_t data_need(const struct machine *machine, uint32_t op)
{
    uint16_t kind = machine->trace->ops[op].kind;
    return kind == OP_SCAN || kind == OP_EXSCAN ? lower_call(machine, op)
                                                : check_plan_data_need(machine->plan, op);
}

/* The key that op (a start or a blocking one) still lacks. */
static int64_t blocking_event_of(const struct machine *machine, uint32_t op)
{
    bool loose = is_loose(machine, op);
    if (loose && machine->plan->steps[op].action != PLAN_COLLECTIVE)
        return PLAN_NEEDS_NOTHING;
    int64_t key =
        loose ? data_need(machine, op) : check_plan_need(machine->plan, machine->model, op);
    return key >= 0 && machine->waiting[key] == KEY_DONE ? PLAN_NEEDS_NOTHING : key;
}

/* For a wait: the key of a request that is not complete, where it must wait for it. One that needs
 * any request is put on the list of each of them. */
static int64_t blocking_event_of_wait(struct machine *machine, uint32_t rank, uint32_t wait,
                                      bool registering)
{
    const struct check_plan *plan = machine->plan;
    bool any = plan->steps[wait].action == PLAN_WAIT_ANY;
    int64_t lack = PLAN_NEEDS_NOTHING;
    uint32_t start;
    for (size_t i = 0; (start = plan_request(plan, wait, i)) != TRACE_NO; i++) {
        int64_t key = blocking_event_of(machine, start);
        if (any && plan_is_pair(plan, wait, i)) {
            int64_t other = blocking_event_of(machine, plan_request(plan, wait, ++i));
            key = key == PLAN_NEEDS_NOTHING ? other : key;
        }
        if (any == (key == PLAN_NEEDS_NOTHING))
            return key;
        lack = lack == PLAN_NEEDS_NOTHING ? key : lack;
    }
    for (size_t i = 0; any && registering && (start = plan_request(plan, wait, i)) != TRACE_NO;
         i++) {
        int64_t key = blocking_event_of(machine, start);
        if (key >= 0)
            wait_on(machine, (size_t)key, rank);
    }
    return lack;
}

static int64_t blocking_event_at(struct machine *machine, uint32_t rank, uint32_t op,
                                 bool registering)
{
    const struct plan_step *step = &machine->plan->steps[op];
    if (step->action >= PLAN_WAIT_ONE)
        return blocking_event_of_wait(machine, rank, op, registering);
    return step->starts ? PLAN_NEEDS_NOTHING : blocking_event_of(machine, op);
}

static uint32_t op_at(const struct machine *machine, size_t position)
{
    if (machine->sequence)
        return machine->sequence[position];
    return machine->plan->order ? machine->plan->order[position] : (uint32_t)position;
}

static uint32_t lane_of(const struct machine *machine, uint32_t op)
{
    return machine->lane_of ? machine->lane_of[op] : machine->trace->ops[op].rank;
}

static void tell(const struct machine *machine, uint32_t op, bool passed)
{
    if (machine->watch)
        machine->watch->event(machine->watch->context, op, passed);
}

static void go_astray(struct machine *machine, uint32_t rank)
{
    machine->astray[rank] = true;
    machine->strayed[rank] = machine->next[rank];
    wake(machine, rank);
}

/* What the record still has is posted, and waits for nobody. */
static void run_astray(struct machine *machine, uint32_t rank)
{
    for (; machine->next[rank] < machine->lane_begin[rank + 1]; machine->next[rank]++) {
        if (!machine->posted[rank])
            post(machine, op_at(machine, machine->next[rank]));
        machine->posted[rank] = false;
    }
}

/* ---- threads as they were seen ---- */

/* Whether `earlier` was over when another thread of its rank began `op`. Times that are not known
 * are taken for the order in which the ops were begun. */
static bool was_over(const struct machine *machine, uint32_t earlier, uint32_t op)
{
    const struct trace_op *before = &machine->trace->ops[earlier], *now = &machine->trace->ops[op];
    const struct plan_step *step = &machine->plan->steps[earlier];
    if (earlier > op)
        return false;
    if (step->action == PLAN_PASS || step->starts)
        return true;
    return before->state == STATE_COMPLETE && (!before->end || before->end <= now->begin + 1);
}

static bool must_wait(const struct machine *machine, uint32_t lane, uint32_t op)
{
    uint32_t rank = machine->trace->ops[op].rank;
    for (uint32_t other = machine->first[rank]; other < machine->first[rank + 1]; other++)
        if (other != lane && machine->next[other] < machine->lane_begin[other + 1] &&
            was_over(machine, op_at(machine, machine->next[other]), op))
            return true;
    return false;
}

static void let_threads_go(struct machine *machine, uint32_t rank)
{
    for (uint32_t other = machine->first[rank]; other < machine->first[rank + 1]; other++)
        if (machine->held[other]) {
            machine->held[other] = false;
            wake(machine, other);
        }
}

/* When nobody can move: what was seen was not an order that the record can have. */
static bool let_all_threads_go(struct machine *machine)
{
    bool any = false;
    for (uint32_t lane = 0; machine->held && lane < machine->lanes; lane++)
        any |= machine->held[lane];
    for (uint32_t rank = 0; any && rank < machine->trace->ranks; rank++)
        let_threads_go(machine, rank);
    if (any) {
        free(machine->held);
        machine->held = NULL;
    }
    return any;
}

/* ---- what ranks learn ---- */

/* Who has not yet begun that before which it did what the op's rank knows; TRACE_NO: nobody. */
static uint32_t teacher_of(const struct machine *machine, uint32_t op)
{
    const struct check_syncs *syncs = machine->watch->syncs;
    for (size_t i = check_syncs_first(syncs, op); i < syncs->count && syncs->items[i].op == op;
         i++) {
        uint32_t peer = syncs->items[i].peer;
        size_t at = machine->next[peer] + machine->posted[peer];
        if (at <= syncs->items[i].source)
            return peer;
    }
    return TRACE_NO;
}

/* The rank has gone on, or cannot: whoever learns from it looks again. */
static void taught(struct machine *machine, uint32_t rank)
{
    for (uint32_t lane = 0; machine->learning && lane < machine->lanes; lane++)
        if (machine->learning[lane] == rank &&
            teacher_of(machine, op_at(machine, machine->next[lane])) != rank)
            wake(machine, lane);
}

/* When nobody can move: what was learnt was not in an order that the replay can have. */
static bool let_all_learn(struct machine *machine)
{
    bool any = false;
    for (uint32_t lane = 0; machine->learning && lane < machine->lanes; lane++)
        if (machine->learning[lane] != TRACE_NO) {
            wake(machine, lane);
            any = true;
        }
    if (any) {
        free(machine->learning);
        machine->learning = NULL;
    }
    return any;
}

static void pass(struct machine *machine, uint32_t op)
{
    tell(machine, op, true);
    if (machine->held)
        let_threads_go(machine, machine->trace->ops[op].rank);
}

static void run_rank(struct machine *machine, uint32_t rank)
{
    if (machine->astray[rank]) {
        run_astray(machine, rank);
        return;
    }
    size_t end = machine->lane_begin[rank + 1];
    for (size_t at = machine->next[rank]; at < end; at = ++machine->next[rank]) {
        uint32_t op = op_at(machine, at);
        const struct plan_step *step = &machine->plan->steps[op];
        if (machine->held && !machine->posted[rank] && must_wait(machine, rank, op)) {
            machine->held[rank] = true;
            return;
        }
        if (machine->learning && !machine->posted[rank] &&
            (machine->learning[rank] = teacher_of(machine, op)) != TRACE_NO)
            return;
        if (step->action == PLAN_PASS) {
            pass(machine, op);
            continue;
        }
        if (!machine->posted[rank]) {
            tell(machine, op, false);
            post(machine, op);
        }
        int64_t lack = blocking_event_at(machine, rank, op, true);
        machine->posted[rank] = lack != PLAN_NEEDS_NOTHING;
        if (lack == PLAN_NEEDS_NOTHING) {
            pass(machine, op);
            continue;
        }
        if (lack >= 0 && step->action != PLAN_WAIT_ANY)
            wait_on(machine, (size_t)lack, rank);
        return;
    }
}

/* ---- explaining where it got stuck ---- */

static bool is_member(const struct check_plan *plan, size_t bundles, size_t slots, size_t key,
                      uint32_t op)
{
    if (key >= bundles)
        return plan->bundle_of && plan->bundle_of[op] == key - bundles;
    return plan->steps[op].action == PLAN_COLLECTIVE && plan->steps[op].target == key - slots;
}

/* An op of a slot or bundle that is not yet posted. */
static uint32_t unposted_member(const struct machine *machine, size_t key)
{
    const struct check_plan *plan = machine->plan;
    if (!plan->order && key < machine->bundles) { /* as recorded, slots are the groups */
        const struct check_group *group = &plan->context->groups[key - machine->slots];
        for (uint32_t i = 0; i < group->count; i++)
            if (!is_posted(machine, plan->context->group_ops[group->first + i]))
                return plan->context->group_ops[group->first + i];
        return TRACE_NO;
    }
    for (uint32_t op = 0; op < machine->trace->op_count; op++)
        if (is_member(plan, machine->bundles, machine->slots, key, op) && !is_posted(machine, op))
            return op;
    return TRACE_NO;
}

static uint32_t lacking_op(struct machine *machine, uint32_t rank, uint32_t op)
{
    int64_t lack = blocking_event_at(machine, rank, op, false);
    if (lack < 0)
        return TRACE_NO;
    return (size_t)lack < machine->slots ? (uint32_t)lack : unposted_member(machine, (size_t)lack);
}

/* Follows who lacks what until a rank comes again: everything from its first visit on is the cycle.
 */
static void find_cycle(struct machine *machine, struct check_replay *replay)
{
    uint32_t ranks = machine->lanes, rank = 0;
    while (replay->at[rank] == TRACE_NO)
        rank++;
    uint32_t *visit = check_new(ranks, sizeof *visit); /* step of the first visit, from 1 */
    uint32_t *path = check_new(ranks, sizeof *path), *lacks = check_new(ranks, sizeof *lacks);
    size_t length = 0, first = 0;
    for (;;) {
        visit[rank] = (uint32_t)length + 1;
        path[length] = replay->at[rank];
        lacks[length] = lacking_op(machine, rank, replay->at[rank]);
        uint32_t lacked = lacks[length++];
        if (lacked == TRACE_NO || replay->at[lane_of(machine, lacked)] == TRACE_NO) {
            first = length - 1; /* nobody has it: this op alone is the cause */
            break;
        }
        rank = lane_of(machine, lacked);
        if (visit[rank]) {
            first = visit[rank] - 1;
            break;
        }
    }
    replay->cycle_count = length - first;
    replay->cycle = check_new(replay->cycle_count, sizeof *replay->cycle);
    replay->lacks = check_new(replay->cycle_count, sizeof *replay->lacks);
    memcpy(replay->cycle, path + first, replay->cycle_count * sizeof *path);
    memcpy(replay->lacks, lacks + first, replay->cycle_count * sizeof *lacks);
    free(visit);
    free(path);
    free(lacks);
}

/* ---- what met whom ---- */

/* Where the op stands in the order of its rank. */
static size_t position_of(struct machine *machine, uint32_t op)
{
    const uint32_t *order = machine->plan->order;
    if (!order)
        return op;
    if (!machine->position) {
        machine->position = check_new(machine->trace->op_count, sizeof *machine->position);
        for (uint32_t i = 0; i < machine->trace->op_count; i++)
            machine->position[order[i]] = i;
    }
    return machine->position[op];
}

/* It was posted, if at all, when its rank was off the record. */
static bool is_unreal(struct machine *machine, uint32_t op)
{
    uint32_t lane = lane_of(machine, op);
    return machine->astray[lane] &&
           (machine->sequence || position_of(machine, op) > machine->strayed[lane]);
}

static void note_crossing(struct check_replay *replay, uint32_t op, uint32_t met)
{
    replay->crossed = true;
    replay->crossing = op;
    replay->met = met;
}

static void find_crossing(struct machine *machine, struct check_replay *replay)
{
    const struct check_plan *plan = machine->plan;
    uint32_t *holder = check_new(plan->slot_count, sizeof *holder);
    memset(holder, 0xff, plan->slot_count * sizeof *holder);
    for (uint32_t op = 0; op < machine->trace->op_count && !replay->crossed; op++) {
        const struct plan_step *step = &plan->steps[op];
        if (step->action == PLAN_PASS || step->target == TRACE_NO || !is_posted(machine, op) ||
            is_unreal(machine, op))
            continue;
        if (step->action == PLAN_RECEIVE && step->target != machine->trace->ops[op].match &&
            is_posted(machine, step->target) && !is_unreal(machine, step->target))
            note_crossing(replay, op, step->target);
        if (step->action != PLAN_COLLECTIVE)
            continue;
        if (holder[step->target] == TRACE_NO)
            holder[step->target] = op;
        else if (check_group_of(plan->context, holder[step->target]) !=
                 check_group_of(plan->context, op))
            note_crossing(replay, op, holder[step->target]);
    }
    free(holder);
}

static int key_order(const void *left, const void *right)
{
    const uint64_t *x = left, *y = right;
    return (*x > *y) - (*x < *y);
}

static uint64_t key_of(uint32_t rank, uint32_t thread)
{
    return (uint64_t)rank << 32 | thread;
}

/* Who issues in order, by rank and thread; a rank's first thread always, others where they did something: their numbers may be any. */
static uint64_t *list_lanes(struct machine *machine)
{
    const struct trace *trace = machine->trace;
    size_t count = trace->ranks, kept = 0;
    uint64_t *keys = check_new(trace->ranks + trace->op_count, sizeof *keys);
    for (uint32_t rank = 0; rank < trace->ranks; rank++)
        keys[rank] = key_of(rank, 0);
    for (size_t op = 0; op < trace->op_count; op++)
        if (trace->ops[op].form->thread)
            keys[count++] = key_of(trace->ops[op].rank, trace->ops[op].form->thread);
    qsort(keys, count, sizeof *keys, key_order);
    machine->first = check_new(trace->ranks + 1, sizeof *machine->first);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || keys[i] != keys[i - 1]) {
            machine->first[(keys[i] >> 32) + 1] = (uint32_t)kept + 1;
            keys[kept++] = keys[i];
        }
    machine->lanes = (uint32_t)kept;
    return keys;
}

/* Threads of one rank issue side by side: each keeps its own order, none waits for another's. */
static void make_lanes(struct machine *machine)
{
    const struct trace *trace = machine->trace;
    machine->lanes = trace->ranks;
    machine->lane_begin = trace->rank_begin;
    if (!machine->plan->context->last_thread)
        return;
    uint64_t *keys = list_lanes(machine);
    machine->own_begin = check_new(machine->lanes + 2, sizeof *machine->own_begin);
    machine->sequence = check_new(trace->op_count, sizeof *machine->sequence);
    machine->lane_of = check_new(trace->op_count, sizeof *machine->lane_of);
    for (uint32_t op = 0; op < trace->op_count; op++) {
        uint64_t key = key_of(trace->ops[op].rank, trace->ops[op].form->thread);
        const uint64_t *lane = bsearch(&key, keys, machine->lanes, sizeof *keys, key_order);
        machine->lane_of[op] = (uint32_t)(lane - keys);
        machine->own_begin[machine->lane_of[op] + 2]++;
    }
    for (uint32_t lane = 0; lane < machine->lanes; lane++)
        machine->own_begin[lane + 2] += machine->own_begin[lane + 1];
    for (size_t i = 0; i < trace->op_count; i++) {
        uint32_t op = machine->plan->order ? machine->plan->order[i] : (uint32_t)i;
        machine->sequence[machine->own_begin[machine->lane_of[op] + 1]++] = op;
    }
    machine->lane_begin = machine->own_begin;
    free(keys);
}

static void machine_init(struct machine *machine, const struct check_plan *plan,
                         enum check_model model)
{
    const struct trace *trace = plan->context->trace;
    *machine = (struct machine){.plan = plan,
                                .trace = trace,
                                .model = model,
                                .free_waiter = TRACE_NO,
                                .first_loose = TRACE_NO};
    machine->slots = trace->op_count;
    machine->bundles = machine->slots + plan->slot_count;
    size_t keys = machine->bundles + plan->bundle_count;
    make_lanes(machine);
    machine->next = check_new(machine->lanes, sizeof *machine->next);
    machine->posted = check_new(machine->lanes, sizeof *machine->posted);
    machine->astray = check_new(machine->lanes, sizeof *machine->astray);
    machine->strayed = check_new(machine->lanes, sizeof *machine->strayed);
    machine->ready = check_new(machine->lanes, sizeof *machine->ready);
    machine->stack = check_new(machine->lanes, sizeof *machine->stack);
    machine->waiting = check_new(keys, sizeof *machine->waiting);
    memset(machine->waiting, 0xff, keys * sizeof *machine->waiting);
    machine->posts = check_new(keys - machine->slots, sizeof *machine->posts);
    memcpy(machine->next, machine->lane_begin, machine->lanes * sizeof *machine->next);
    for (size_t slot = 0; slot < plan->slot_count; slot++)
        if (!plan->slot_need[slot])
            machine->waiting[machine->slots + slot] = KEY_DONE;
}

static void machine_release(struct machine *machine)
{
    free(machine->next);
    free(machine->own_begin);
    free(machine->first);
    free(machine->sequence);
    free(machine->lane_of);
    free(machine->posted);
    free(machine->astray);
    free(machine->strayed);
    free(machine->position);
    free(machine->held);
    free(machine->learning);
    free(machine->loose);
    free(machine->ready);
    free(machine->stack);
    free(machine->waiting);
    free(machine->posts);
    free(machine->waiters);
}

static void run_ready(struct machine *machine)
{
    while (machine->top) {
        uint32_t rank = machine->stack[--machine->top];
        machine->ready[rank] = false;
        run_rank(machine, rank);
        taught(machine, rank);
    }
}

/* When nobody can move: who stands at a test goes on without. False where nobody does. */
static bool let_tests_fail(struct machine *machine)
{
    bool any = false;
    for (uint32_t rank = 0; rank < machine->lanes; rank++) {
        size_t at = machine->next[rank];
        if (at == machine->lane_begin[rank + 1] || !machine->plan->steps[op_at(machine, at)].tested)
            continue;
        go_astray(machine, rank);
        any = true;
    }
    return any;
}

/* Whether the send's message is there for the taking when the wildcard has none: nobody has it, or
 * one who asked later. */
static bool is_there_for(struct machine *machine, uint32_t send, uint32_t wildcard)
{
    const struct trace_op *message = &machine->trace->ops[send],
                          *wanted = &machine->trace->ops[wildcard];
    uint32_t taker = machine->plan->steps[send].target;
    return message->form->comm == wanted->form->comm && message->peer == (int32_t)wanted->rank &&
           (wanted->tag == TRACE_ANY || wanted->tag == message->tag) && is_posted(machine, send) &&
           (taker == TRACE_NO || position_of(machine, taker) > position_of(machine, wildcard) ||
            !is_posted(machine, taker));
}

/* A wildcard that is there without its recorded message: a receive that is posted, or the probe that
 * a rank stands in. */
static bool wants_message(const struct machine *machine, uint32_t op)
{
    uint8_t action = machine->plan->steps[op].action;
    uint32_t lane = lane_of(machine, op);
    size_t at = machine->next[lane];
    bool stands = at < machine->lane_begin[lane + 1] && op_at(machine, at) == op;
    return (action == PLAN_RECEIVE || (action == PLAN_PROBE && stands)) &&
           machine->trace->ops[op].peer == TRACE_ANY && is_posted(machine, op) &&
           !machine->astray[lane] && blocking_event_of(machine, op) != PLAN_NEEDS_NOTHING;
}

/* The first that wants the message, of those of its receiver; TRACE_NO: none. */
static uint32_t wildcard_for(struct machine *machine, const uint32_t *first, const uint32_t *next,
                             uint32_t send)
{
    int32_t to = machine->trace->ops[send].peer;
    if (to < 0 || (uint32_t)to >= machine->trace->ranks)
        return TRACE_NO;
    for (uint32_t op = first[to]; op != TRACE_NO; op = next[op])
        if (!machine->astray[lane_of(machine, op)] && is_there_for(machine, send, op))
            return op;
    return TRACE_NO;
}

/* What MPI may, but need not, have the op wait for: a standard send for its receive, a collective for others than
 * those who have its data. */
static bool may_be_loose(const struct machine *machine, uint32_t op)
{
    uint8_t action = machine->plan->steps[op].action;
    if (is_loose(machine, op) || blocking_event_of(machine, op) == PLAN_NEEDS_NOTHING)
        return false;
    /* A run that did not end has not shown that its collectives go on without the others. */
    if (action != PLAN_COLLECTIVE || machine->trace->outcome != OUTCOME_FINISHED)
        return action == PLAN_SEND;
    int64_t key = data_need(machine, op);
    return key == PLAN_NEEDS_NOTHING || (key >= 0 && machine->waiting[key] == KEY_DONE);
}

/* The op for which the rank stands, if it may be loose; else TRACE_NO. */
static uint32_t loose_at(const struct machine *machine, uint32_t op)
{
    const struct check_plan *plan = machine->plan;
    uint32_t start;
    if (plan->steps[op].action < PLAN_WAIT_ONE)
        return may_be_loose(machine, op) ? op : TRACE_NO;
    for (size_t i = 0; (start = plan_request(plan, op, i)) != TRACE_NO; i++)
        if (may_be_loose(machine, start))
            return start;
    return TRACE_NO;
}

static void loosen(struct machine *machine, uint32_t op)
{
    if (!machine->loose) {
        machine->loose = check_new(machine->trace->op_count, sizeof *machine->loose);
        machine->first_loose = op;
    }
    machine->loose[op] = true;
    wake(machine, lane_of(machine, op));
}

/* The op that has to come before the rank can go on; of a collective, one with its data. */
static uint32_t needed_op(struct machine *machine, uint32_t lane, uint32_t op)
{
    int64_t key = machine->plan->steps[op].action == PLAN_COLLECTIVE ? data_need(machine, op)
                                                                     : PLAN_NEEDS_NOBODY;
    return key >= 0 && (size_t)key < machine->slots ? (uint32_t)key : lacking_op(machine, lane, op);
}

/* The recorded message came because something on the way to it did not wait for what it need not: of those who wait for
 * each other from the one who would send it, the first that stands in such an op goes on. False where nobody does. */
static bool let_way_be_loose(struct machine *machine, uint32_t wildcard)
{
    uint32_t lacked = machine->plan->steps[wildcard].target;
    for (uint32_t steps = 0; lacked != TRACE_NO && steps < machine->lanes; steps++) {
        uint32_t lane = lane_of(machine, lacked);
        if (machine->astray[lane] || machine->next[lane] == machine->lane_begin[lane + 1])
            return false;
        uint32_t at = op_at(machine, machine->next[lane]), op = loose_at(machine, at);
        if (op != TRACE_NO) {
            loosen(machine, op);
            return true;
        }
        lacked = needed_op(machine, lane, at);
    }
    return false;
}

/* When nobody can move: a wildcard whose recorded message does not come, although another one is there, has it come:
 * MPI may buffer any standard send, and a collective need not synchronise. Where that is not why, it takes the other
 * one, and its rank goes on as no record says. False where there is none. */
static bool let_wildcards_take_others(struct machine *machine)
{
    const struct check_plan *plan = machine->plan;
    const struct trace *trace = machine->trace;
    if (!plan->context->has_wildcards)
        return false;
    bool any = false, loose = false;
    uint32_t *first = check_new(trace->ranks, sizeof *first); /* lists, by receiver */
    uint32_t *next = check_new(trace->op_count, sizeof *next);
    memset(first, 0xff, trace->ranks * sizeof *first);
    for (uint32_t op = (uint32_t)trace->op_count; op-- > 0;)
        if (wants_message(machine, op)) {
            next[op] = first[trace->ops[op].rank];
            first[trace->ops[op].rank] = op;
        }
    for (uint32_t op = 0; op < trace->op_count; op++) {
        uint8_t action = plan->steps[op].action;
        uint32_t taker = action < PLAN_SEND || action > PLAN_BUFFERED
                             ? TRACE_NO
                             : wildcard_for(machine, first, next, op);
        if (taker == TRACE_NO)
            continue;
        any = true;
        loose = let_way_be_loose(machine, taker);
        if (loose)
            break;
        go_astray(machine, lane_of(machine, taker));
    }
    free(first);
    free(next);
    return any;
}

static bool is_astray_rank(const struct machine *machine, uint32_t rank)
{
    uint32_t first = machine->first ? machine->first[rank] : rank;
    uint32_t end = machine->first ? machine->first[rank + 1] : rank + 1;
    for (uint32_t lane = first; lane < end; lane++)
        if (machine->astray[lane])
            return true;
    return false;
}

/* A message that nobody is planned to take, to a rank that is off the record and may take it. */
static bool may_be_taken(const struct machine *machine, uint32_t op)
{
    const struct trace_op *send = &machine->trace->ops[op];
    return check_class(send) == CLASS_SEND && send->peer >= 0 &&
           (uint32_t)send->peer < machine->trace->ranks &&
           check_plan_need(machine->plan, machine->model, op) == PLAN_NEEDS_NOBODY &&
           is_astray_rank(machine, (uint32_t)send->peer);
}

/* When nobody can move: who waits for somebody off the record to take its message is not stuck. */
static bool let_lost_messages_go(struct machine *machine)
{
    bool any = false;
    for (uint32_t lane = 0; lane < machine->lanes; lane++) {
        if (machine->astray[lane] || machine->next[lane] == machine->lane_begin[lane + 1])
            continue;
        uint32_t op = op_at(machine, machine->next[lane]), start;
        bool free_to_go = may_be_taken(machine, op);
        bool waits = machine->plan->steps[op].action >= PLAN_WAIT_ONE;
        for (size_t i = 0;
             waits && !free_to_go && (start = plan_request(machine->plan, op, i)) != TRACE_NO; i++)
            free_to_go = may_be_taken(machine, start);
        if (!free_to_go)
            continue;
        go_astray(machine, lane);
        any = true;
    }
    return any;
}

void check_replay_watch(const struct check_plan *plan, enum check_model model,
                        const struct replay_watch *watch, struct check_replay *replay)
{
    struct machine machine;
    machine_init(&machine, plan, model);
    machine.watch = watch;
    if (watch && watch->as_seen && machine.first)
        machine.held = check_new(machine.lanes, sizeof *machine.held);
    if (watch && watch->syncs && watch->syncs->count && !machine.first && !plan->order) {
        machine.learning = check_new(machine.lanes, sizeof *machine.learning);
        memset(machine.learning, 0xff, machine.lanes * sizeof *machine.learning);
    }
    for (uint32_t rank = machine.lanes; rank-- > 0;)
        wake(&machine, rank);
    do
        run_ready(&machine);
    while (let_all_learn(&machine) || let_all_threads_go(&machine) || let_tests_fail(&machine) ||
           let_wildcards_take_others(&machine) || let_lost_messages_go(&machine));
    *replay = (struct check_replay){.at = check_new(machine.lanes, sizeof *replay->at),
                                    .loose = machine.first_loose};
    for (uint32_t rank = 0; rank < machine.lanes; rank++) {
        replay->strayed = replay->strayed || machine.astray[rank];
        bool ended = machine.next[rank] == machine.lane_begin[rank + 1];
        replay->at[rank] = ended ? TRACE_NO : op_at(&machine, machine.next[rank]);
        replay->stuck = replay->stuck || !ended;
    }
    if (replay->stuck)
        find_cycle(&machine, replay);
    if (plan->rearranged)
        find_crossing(&machine, replay);
    machine_release(&machine);
}

void check_replay_run(const struct check_plan *plan, enum check_model model,
                      struct check_replay *replay)
{
    check_replay_watch(plan, model, NULL, replay);
}

void check_replay_release(struct check_replay *replay)
{
    free(replay->at);
    free(replay->cycle);
    free(replay->lacks);
    *replay = (struct check_replay){0};
}
