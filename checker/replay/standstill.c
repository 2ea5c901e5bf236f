/* What may happen when nobody can move: see standstill.h. */
#include "checker/replay/standstill.h"

#include "checker/memory.h"

#include <stdlib.h>
#include <string.h>

/* When nobody can move: who stands at a test goes on without. False where nobody does. */
static bool let_tests_fail(struct replay_machine *machine)
{
    bool any = false;
    for (uint32_t rank = 0; rank < machine->lanes; rank++) {
        size_t at = machine->next[rank];
        if (at == machine->lane_begin[rank + 1] ||
            !machine->plan->steps[replay_op_at(machine, at)].tested)
            continue;
        replay_go_astray(machine, rank);
        any = true;
    }
    return any;
}

/* The op that is planned to take the send's message; TRACE_NO: none. */
static uint32_t taker_of(const struct replay_machine *machine, uint32_t send)
{
    uint32_t receive = machine->plan->steps[send].target;
    return receive == TRACE_NO ? TRACE_NO : plan_taking(machine->plan, receive);
}

/* Whether the send's message is there for the taking when the wildcard has none: nobody has it, or
 * one who asked later. */
static bool is_there_for(struct replay_machine *machine, uint32_t send, uint32_t wildcard)
{
    const struct trace_op *message = &machine->trace->ops[send],
                          *wanted = &machine->trace->ops[wildcard];
    uint32_t taker = taker_of(machine, send);
    return message->form->comm == wanted->form->comm && message->peer == (int32_t)wanted->rank &&
           (wanted->tag == TRACE_ANY || wanted->tag == message->tag) &&
           replay_is_posted(machine, send) &&
           (taker == TRACE_NO ||
            replay_position_of(machine, taker) > replay_position_of(machine, wildcard) ||
            !replay_is_posted(machine, taker));
}

/* A posted wildcard that lacks its recorded message: a receive, or the probe that a rank stands in. */
static bool wants_message(const struct replay_machine *machine, uint32_t op)
{
    uint32_t lane = replay_lane_of(machine, op);
    size_t at = machine->next[lane];
    bool stands = at < machine->lane_begin[lane + 1] && replay_op_at(machine, at) == op;
    return (machine->plan->steps[op].action == PLAN_RECEIVE || stands) && !machine->astray[lane] &&
           replay_need(machine, op) != PLAN_NEEDS_NOTHING;
}

/* Who has what it wanted, or will never want it, leaves its queue. False: nobody is left. */
static bool anybody_wants(struct replay_machine *machine, struct replay_queue *wildcards)
{
    size_t kept = 0;
    for (size_t i = 0; i < wildcards->end; i++)
        if (wants_message(machine, wildcards->ops[i]))
            wildcards->ops[kept++] = wildcards->ops[i];
    wildcards->end = kept;
    return kept;
}

/* The first that wants the message; TRACE_NO: none. */
static uint32_t wildcard_for(struct replay_machine *machine, const struct replay_queue *wildcards,
                             uint32_t send)
{
    for (size_t i = 0; i < wildcards->end; i++)
        if (!machine->astray[replay_lane_of(machine, wildcards->ops[i])] &&
            is_there_for(machine, send, wildcards->ops[i]))
            return wildcards->ops[i];
    return TRACE_NO;
}

/* Whoever it is planned for has it, and nobody asked before: no wildcard will ever want it. */
static bool is_taken(struct replay_machine *machine, const struct replay_queue *wildcards,
                     uint32_t send)
{
    uint32_t taker = taker_of(machine, send);
    if (machine->first || taker == TRACE_NO || !replay_is_posted(machine, taker))
        return false;
    for (size_t i = 0; i < wildcards->end; i++)
        if (replay_position_of(machine, wildcards->ops[i]) < replay_position_of(machine, taker))
            return false;
    return true;
}

/* What MPI may, but need not, have the op wait for: a standard send for its receive, a collective for others than
 * those who have its data. */
static bool may_be_loose(const struct replay_machine *machine, uint32_t op)
{
    uint8_t action = machine->plan->steps[op].action;
    if (replay_is_loose(machine, op) || replay_need(machine, op) == PLAN_NEEDS_NOTHING)
        return false;
    /* A run that did not end has not shown that its collectives go on without the others. */
    if (action != PLAN_COLLECTIVE || machine->trace->outcome != OUTCOME_FINISHED)
        return action == PLAN_SEND;
    int64_t key = replay_data_need(machine, op);
    return key == PLAN_NEEDS_NOTHING || (key >= 0 && machine->waiting[key] == KEY_DONE);
}

/* The op for which the rank stands, if it may be loose; else TRACE_NO. */
static uint32_t loose_at(const struct replay_machine *machine, uint32_t op)
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

static void loosen(struct replay_machine *machine, uint32_t op)
{
    if (!machine->loose) {
        machine->loose = check_new(machine->trace->op_count, sizeof *machine->loose);
        machine->first_loose = op;
    }
    machine->loose[op] = true;
    replay_wake(machine, replay_lane_of(machine, op));
}

/* The op that has to come before the rank can go on; of a collective, one with its data. */
static uint32_t needed_op(struct replay_machine *machine, uint32_t lane, uint32_t op)
{
    int64_t key = machine->plan->steps[op].action == PLAN_COLLECTIVE ? replay_data_need(machine, op)
                                                                     : PLAN_NEEDS_NOBODY;
    return key >= 0 && (size_t)key < machine->slots ? (uint32_t)key
                                                    : replay_lacking_op(machine, lane, op);
}

/* The recorded message came because something on the way to it did not wait for what it need not: of those who wait for
 * each other from the one who would send it, the first that stands in such an op goes on. False where nobody does. */
static bool let_way_be_loose(struct replay_machine *machine, uint32_t wildcard)
{
    uint32_t lacked = machine->plan->steps[wildcard].target;
    for (uint32_t steps = 0; lacked != TRACE_NO && steps < machine->lanes; steps++) {
        uint32_t lane = replay_lane_of(machine, lacked);
        if (machine->astray[lane] || machine->next[lane] == machine->lane_begin[lane + 1])
            return false;
        uint32_t at = replay_op_at(machine, machine->next[lane]), op = loose_at(machine, at);
        if (op != TRACE_NO) {
            loosen(machine, op);
            return true;
        }
        lacked = needed_op(machine, lane, at);
    }
    return false;
}

/* A wildcard of this receiver whose recorded message does not come, although another one is there, has it come: MPI may
 * buffer any standard send, and a collective need not synchronise: *loose. Where that is not why, it takes the other
 * one, and its rank goes on as no record says. False where there is none. */
static bool let_wildcards_take_others(struct replay_machine *machine, uint32_t receiver,
                                      bool *loose)
{
    struct replay_queue *messages = &machine->messages[receiver],
                        *wildcards = &machine->wildcards[receiver];
    bool any = false;
    size_t at = messages->first, kept = at;
    if (!anybody_wants(machine, wildcards))
        return false;
    for (; at < messages->end && !*loose; at++) {
        uint32_t send = messages->ops[at], wildcard = wildcard_for(machine, wildcards, send);
        if (wildcard != TRACE_NO) {
            any = true;
            *loose = let_way_be_loose(machine, wildcard);
            if (!*loose)
                replay_go_astray(machine, replay_lane_of(machine, wildcard));
        }
        if (wildcard != TRACE_NO || !is_taken(machine, wildcards, send))
            messages->ops[kept++] = send;
    }
    size_t left = kept - messages->first; /* of those looked at */
    if (left)
        memmove(messages->ops + at - left, messages->ops + messages->first,
                left * sizeof *messages->ops);
    messages->first = at - left;
    return any;
}

static bool let_all_wildcards_take_others(struct replay_machine *machine)
{
    bool any = false, loose = false;
    for (uint32_t receiver = 0; machine->messages && receiver < machine->trace->ranks && !loose;
         receiver++)
        any |= let_wildcards_take_others(machine, receiver, &loose);
    return any;
}

static bool is_astray_rank(const struct replay_machine *machine, uint32_t rank)
{
    uint32_t first = machine->first ? machine->first[rank] : rank;
    uint32_t end = machine->first ? machine->first[rank + 1] : rank + 1;
    for (uint32_t lane = first; lane < end; lane++)
        if (machine->astray[lane])
            return true;
    return false;
}

/* A message that nobody is planned to take, to a rank that is off the record and may take it. */
static bool may_be_taken(const struct replay_machine *machine, uint32_t op)
{
    const struct trace_op *send = &machine->trace->ops[op];
    return check_class(send) == CLASS_SEND && send->peer >= 0 &&
           (uint32_t)send->peer < machine->trace->ranks &&
           check_plan_need(machine->plan, machine->model, op) == PLAN_NEEDS_NOBODY &&
           is_astray_rank(machine, (uint32_t)send->peer);
}

/* When nobody can move: who waits for somebody off the record to take its message is not stuck. */
static bool let_lost_messages_go(struct replay_machine *machine)
{
    bool any = false;
    for (uint32_t lane = 0; lane < machine->lanes; lane++) {
        if (machine->astray[lane] || machine->next[lane] == machine->lane_begin[lane + 1])
            continue;
        uint32_t op = replay_op_at(machine, machine->next[lane]), start;
        bool free_to_go = may_be_taken(machine, op);
        bool waits = machine->plan->steps[op].action >= PLAN_WAIT_ONE;
        for (size_t i = 0;
             waits && !free_to_go && (start = plan_request(machine->plan, op, i)) != TRACE_NO; i++)
            free_to_go = may_be_taken(machine, start);
        if (!free_to_go)
            continue;
        replay_go_astray(machine, lane);
        any = true;
    }
    return any;
}

bool check_standstill_ends(struct replay_machine *machine)
{
    return replay_let_all_learn(machine) || replay_let_all_threads_go(machine) ||
           let_tests_fail(machine) || let_all_wildcards_take_others(machine) ||
           let_lost_messages_go(machine);
}
