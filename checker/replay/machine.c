/* The abstract machine's ranks: see machine.h. */
#include "checker/replay/machine.h"

#include "checker/memory.h"

#include <stdlib.h>
#include <string.h>

struct replay_waiter {
    uint32_t rank, next;
};

void replay_wake(struct replay_machine *machine, uint32_t rank)
{
    if (machine->ready[rank])
        return;
    machine->ready[rank] = true;
    machine->stack[machine->top++] = rank;
}

static void fulfil(struct replay_machine *machine, size_t key)
{
    uint32_t at = machine->waiting[key];
    machine->waiting[key] = KEY_DONE;
    while (at != TRACE_NO && at != KEY_DONE) {
        uint32_t next = machine->waiters[at].next;
        replay_wake(machine, machine->waiters[at].rank);
        machine->waiters[at].next = machine->free_waiter;
        machine->free_waiter = at;
        at = next;
    }
}

static void wait_on(struct replay_machine *machine, size_t key, uint32_t rank)
{
    uint32_t at = machine->free_waiter;
    if (at == TRACE_NO) {
        machine->waiters = check_grow(machine->waiters, &machine->waiter_room,
                                      machine->waiter_count + 1, sizeof *machine->waiters);
        at = (uint32_t)machine->waiter_count++;
    } else {
        machine->free_waiter = machine->waiters[at].next;
    }
    machine->waiters[at] = (struct replay_waiter){.rank = rank, .next = machine->waiting[key]};
    machine->waiting[key] = at;
}

static void count_post(struct replay_machine *machine, size_t key, uint32_t need)
{
    if (++machine->posts[key - machine->slots] == need)
        fulfil(machine, key);
}

static void append(struct replay_queue *queue, uint32_t op)
{
    queue->ops = check_grow(queue->ops, &queue->room, queue->end + 1, sizeof *queue->ops);
    queue->ops[queue->end++] = op;
}

static void put_in_queue(struct replay_machine *machine, uint32_t op)
{
    const struct trace_op *posted = &machine->trace->ops[op];
    uint8_t action = machine->plan->steps[op].action;
    if (action >= PLAN_SEND && action <= PLAN_BUFFERED && posted->peer >= 0 &&
        (uint32_t)posted->peer < machine->trace->ranks)
        append(&machine->messages[posted->peer], op);
    if ((action == PLAN_RECEIVE || action == PLAN_PROBE) && posted->peer == TRACE_ANY)
        append(&machine->wildcards[posted->rank], op);
}

static void post(struct replay_machine *machine, uint32_t op)
{
    const struct check_plan *plan = machine->plan;
    const struct plan_step *step = &plan->steps[op];
    if (step->action == PLAN_PASS)
        return;
    fulfil(machine, op);
    if (machine->messages)
        put_in_queue(machine, op);
    if (step->action == PLAN_COLLECTIVE)
        count_post(machine, plan_slot_key(plan, step->target), plan->slot_need[step->target]);
    if (machine->model == CHECK_BATCH && plan->bundle_of && plan->bundle_of[op] != TRACE_NO)
        count_post(machine, plan_bundle_key(plan, plan->bundle_of[op]),
                   plan->bundle_need[plan->bundle_of[op]]);
}

/* The call of a rank that takes part; mostly members are in the order of their ranks, as calls are. */
static uint32_t call_of(const struct replay_machine *machine, const struct check_group *group,
                        uint32_t likely, int32_t rank)
{
    const uint32_t *calls = machine->plan->context->group_ops + group->first;
    uint32_t at = likely;
    if ((int32_t)machine->trace->ops[calls[at]].rank != rank)
        for (at = 0; (int32_t)machine->trace->ops[calls[at]].rank != rank;)
            at++;
    return calls[at];
}

/* The call of a member below this one that is not yet there. */
static int64_t lower_call(const struct replay_machine *machine, uint32_t op)
{
    const struct check_plan *plan = machine->plan;
    const struct trace_comm *comm = &machine->trace->comms[machine->trace->ops[op].form->comm];
    const struct check_group *group = &plan->context->groups[plan->steps[op].target];
    if (plan->order || !comm->members || group->count < plan->slot_need[plan->steps[op].target])
        return (int64_t)plan_slot_key(plan, plan->steps[op].target);
    for (uint32_t i = 0; comm->members[i] != (int32_t)machine->trace->ops[op].rank; i++) {
        uint32_t other = call_of(machine, group, i, comm->members[i]);
        if (!replay_is_posted(machine, other))
            return other;
    }
    return PLAN_NEEDS_NOTHING;
}

int64_t replay_data_need(const struct replay_machine *machine, uint32_t op)
{
    uint16_t kind = machine->trace->ops[op].kind;
    return kind == OP_SCAN || kind == OP_EXSCAN ? lower_call(machine, op)
                                                : check_plan_data_need(machine->plan, op);
}

int64_t replay_need(const struct replay_machine *machine, uint32_t op)
{
    bool loose = replay_is_loose(machine, op);
    if (loose && machine->plan->steps[op].action != PLAN_COLLECTIVE)
        return PLAN_NEEDS_NOTHING;
    int64_t key =
        loose ? replay_data_need(machine, op) : check_plan_need(machine->plan, machine->model, op);
    return key >= 0 && machine->waiting[key] == KEY_DONE ? PLAN_NEEDS_NOTHING : key;
}

/* For a wait: the key of a request that is not complete, where it must wait for it. One that needs
 * any request is put on the list of each of them. */
static int64_t blocking_event_of_wait(struct replay_machine *machine, uint32_t rank, uint32_t wait,
                                      bool registering)
{
    const struct check_plan *plan = machine->plan;
    bool any = plan->steps[wait].action == PLAN_WAIT_ANY;
    int64_t lack = PLAN_NEEDS_NOTHING;
    uint32_t start;
    for (size_t i = 0; (start = plan_request(plan, wait, i)) != TRACE_NO; i++) {
        int64_t key = replay_need(machine, start);
        if (any && plan_is_pair(plan, wait, i)) {
            int64_t other = replay_need(machine, plan_request(plan, wait, ++i));
            key = key == PLAN_NEEDS_NOTHING ? other : key;
        }
        if (any == (key == PLAN_NEEDS_NOTHING))
            return key;
        lack = lack == PLAN_NEEDS_NOTHING ? key : lack;
    }
    for (size_t i = 0; any && registering && (start = plan_request(plan, wait, i)) != TRACE_NO;
         i++) {
        int64_t key = replay_need(machine, start);
        if (key >= 0)
            wait_on(machine, (size_t)key, rank);
    }
    return lack;
}

static int64_t blocking_event_at(struct replay_machine *machine, uint32_t rank, uint32_t op,
                                 bool registering)
{
    const struct plan_step *step = &machine->plan->steps[op];
    if (step->action >= PLAN_WAIT_ONE)
        return blocking_event_of_wait(machine, rank, op, registering);
    return step->starts ? PLAN_NEEDS_NOTHING : replay_need(machine, op);
}

static void tell(const struct replay_machine *machine, uint32_t op, bool passed)
{
    if (machine->watch)
        machine->watch->event(machine->watch->context, op, passed);
}

void replay_go_astray(struct replay_machine *machine, uint32_t rank)
{
    machine->astray[rank] = true;
    machine->strayed[rank] = machine->next[rank];
    replay_wake(machine, rank);
}

/* What the record still has is posted, and waits for nobody. */
static void run_astray(struct replay_machine *machine, uint32_t rank)
{
    for (; machine->next[rank] < machine->lane_begin[rank + 1]; machine->next[rank]++) {
        if (!machine->posted[rank])
            post(machine, replay_op_at(machine, machine->next[rank]));
        machine->posted[rank] = false;
    }
}

/* ---- threads as they were seen ---- */

/* Whether `earlier` was over when another thread of its rank began `op`. Times that are not known
 * are taken for the order in which the ops were begun. */
static bool was_over(const struct replay_machine *machine, uint32_t earlier, uint32_t op)
{
    const struct trace_op *before = &machine->trace->ops[earlier], *now = &machine->trace->ops[op];
    const struct plan_step *step = &machine->plan->steps[earlier];
    if (earlier > op)
        return false;
    if (step->action == PLAN_PASS || step->starts)
        return true;
    return before->state == STATE_COMPLETE && (!before->end || before->end <= now->begin + 1);
}

static bool must_wait(const struct replay_machine *machine, uint32_t lane, uint32_t op)
{
    uint32_t rank = machine->trace->ops[op].rank;
    for (uint32_t other = machine->first[rank]; other < machine->first[rank + 1]; other++)
        if (other != lane && machine->next[other] < machine->lane_begin[other + 1] &&
            was_over(machine, replay_op_at(machine, machine->next[other]), op))
            return true;
    return false;
}

static void let_threads_go(struct replay_machine *machine, uint32_t rank)
{
    for (uint32_t other = machine->first[rank]; other < machine->first[rank + 1]; other++)
        if (machine->held[other]) {
            machine->held[other] = false;
            replay_wake(machine, other);
        }
}

/* When nobody can move: what was seen was not an order that the record can have. */
bool replay_let_all_threads_go(struct replay_machine *machine)
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
static uint32_t teacher_of(const struct replay_machine *machine, uint32_t op)
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
static void taught(struct replay_machine *machine, uint32_t rank)
{
    for (uint32_t lane = 0; machine->learning && lane < machine->lanes; lane++)
        if (machine->learning[lane] == rank &&
            teacher_of(machine, replay_op_at(machine, machine->next[lane])) != rank)
            replay_wake(machine, lane);
}

/* When nobody can move: what was learnt was not in an order that the replay can have. */
bool replay_let_all_learn(struct replay_machine *machine)
{
    bool any = false;
    for (uint32_t lane = 0; machine->learning && lane < machine->lanes; lane++)
        if (machine->learning[lane] != TRACE_NO) {
            replay_wake(machine, lane);
            any = true;
        }
    if (any) {
        free(machine->learning);
        machine->learning = NULL;
    }
    return any;
}

static void pass(struct replay_machine *machine, uint32_t op)
{
    tell(machine, op, true);
    if (machine->held)
        let_threads_go(machine, machine->trace->ops[op].rank);
}

static void run_rank(struct replay_machine *machine, uint32_t rank)
{
    if (machine->astray[rank]) {
        run_astray(machine, rank);
        return;
    }
    size_t end = machine->lane_begin[rank + 1];
    for (size_t at = machine->next[rank]; at < end; at = ++machine->next[rank]) {
        uint32_t op = replay_op_at(machine, at);
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

/* Where the op stands in the order of its rank. */
size_t replay_position_of(struct replay_machine *machine, uint32_t op)
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

static bool is_member(const struct check_plan *plan, size_t bundles, size_t slots, size_t key,
                      uint32_t op)
{
    if (key >= bundles)
        return plan->bundle_of && plan->bundle_of[op] == key - bundles;
    return plan->steps[op].action == PLAN_COLLECTIVE && plan->steps[op].target == key - slots;
}

/* An op of a slot or bundle that is not yet posted. */
static uint32_t unposted_member(const struct replay_machine *machine, size_t key)
{
    const struct check_plan *plan = machine->plan;
    if (!plan->order && key < machine->bundles) { /* as recorded, slots are the groups */
        const struct check_group *group = &plan->context->groups[key - machine->slots];
        for (uint32_t i = 0; i < group->count; i++)
            if (!replay_is_posted(machine, plan->context->group_ops[group->first + i]))
                return plan->context->group_ops[group->first + i];
        return TRACE_NO;
    }
    for (uint32_t op = 0; op < machine->trace->op_count; op++)
        if (is_member(plan, machine->bundles, machine->slots, key, op) &&
            !replay_is_posted(machine, op))
            return op;
    return TRACE_NO;
}

uint32_t replay_lacking_op(struct replay_machine *machine, uint32_t rank, uint32_t op)
{
    int64_t lack = blocking_event_at(machine, rank, op, false);
    if (lack < 0)
        return TRACE_NO;
    return (size_t)lack < machine->slots ? (uint32_t)lack : unposted_member(machine, (size_t)lack);
}

/* ---- beginning and end ---- */

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
static uint64_t *list_lanes(struct replay_machine *machine)
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
static void make_lanes(struct replay_machine *machine)
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

void replay_machine_init(struct replay_machine *machine, const struct check_plan *plan,
                         enum check_model model, const struct replay_watch *watch)
{
    const struct trace *trace = plan->context->trace;
    *machine = (struct replay_machine){.plan = plan,
                                       .trace = trace,
                                       .model = model,
                                       .watch = watch,
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
    if (watch && watch->as_seen && machine->first)
        machine->held = check_new(machine->lanes, sizeof *machine->held);
    if (watch && watch->syncs && watch->syncs->count && !machine->first && !plan->order) {
        machine->learning = check_new(machine->lanes, sizeof *machine->learning);
        memset(machine->learning, 0xff, machine->lanes * sizeof *machine->learning);
    }
    if (plan->context->has_any_source) {
        machine->messages = check_new(trace->ranks, sizeof *machine->messages);
        machine->wildcards = check_new(trace->ranks, sizeof *machine->wildcards);
    }
}

static void release_queues(struct replay_queue *queues, uint32_t count)
{
    for (uint32_t i = 0; queues && i < count; i++)
        free(queues[i].ops);
    free(queues);
}

void replay_machine_release(struct replay_machine *machine)
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
    release_queues(machine->messages, machine->trace->ranks);
    release_queues(machine->wildcards, machine->trace->ranks);
    free(machine->ready);
    free(machine->stack);
    free(machine->waiting);
    free(machine->posts);
    free(machine->waiters);
}

void replay_run_ready(struct replay_machine *machine)
{
    while (machine->top) {
        uint32_t rank = machine->stack[--machine->top];
        machine->ready[rank] = false;
        run_rank(machine, rank);
        taught(machine, rank);
    }
}
