/* A naive model of MPI that runs a random plan (random_plan.h) in every way: every order of steps
 * that the plan allows, every arrival of messages, every completion that lets a wait or a test
 * return. Messages on their way, mailboxes, posted receives; it shares nothing with the checker.
 *
 * Sends complete at once, or when they are met, or when their whole batch is; collectives wait for
 * everybody, or only for the data they need. A rank whose next test does not succeed stands at it;
 * what it would do else the plan does not say. */
#ifndef TESTS_CHECKER_PLAN_MODEL_H
#define TESTS_CHECKER_PLAN_MODEL_H

#include "tests/checker/random_plan.h"

#include <stdlib.h>
#include <string.h>

enum { STATES_MAX = 60000, STEPS_MAX = RANKS_MAX * OPS_MAX };

enum sending { EAGER, RENDEZVOUS, BATCHED, SENDING_MODELS };

/* What can happen, over all ways of running. Steps count rank * OPS_MAX + index. */
struct outcome {
    bool hangs;        /* nobody can move, and somebody waits for ever */
    bool hangs_maybe;  /* the same, with somebody at a test that does not succeed */
    bool hangs_turned; /* the same, where steps of one channel came in another order than planned */
    bool too_large;
    bool met[STEPS_MAX][STEPS_MAX];            /* by send, then receive */
    bool met_as_planned[STEPS_MAX][STEPS_MAX]; /* where wildcards so far took the planned sources */
    bool crosses[STEPS_MAX];                   /* the call would meet others than planned */
};

/* The rank whose message each wildcard is planned to take; -1: none. */
struct sources {
    int8_t of[RANKS_MAX][OPS_MAX];
};

struct letter {
    uint8_t rank, step;
};

struct queue {
    struct letter items[OPS_MAX];
    uint8_t count;
};

struct state {
    uint16_t posted[RANKS_MAX], passed[RANKS_MAX], met[RANKS_MAX];
    int8_t at[RANKS_MAX], last[RANKS_MAX];
    uint8_t call[RANKS_MAX][OPS_MAX];    /* which call of its communicator on its rank, from 1 */
    uint8_t partner[RANKS_MAX][OPS_MAX]; /* 1 + number of the step it met; only of plans with
                                            batches */
    bool strays;                         /* a wildcard took another source than planned */
    bool turned; /* of two messages, or receives, of one channel the second came first */
    struct queue flying[RANKS_MAX][RANKS_MAX][COMMS], arrived[RANKS_MAX], waiting[RANKS_MAX];
};

struct model {
    const struct plan *plan;
    const struct sources *planned;
    enum sending sending;
    bool minimal;
    struct outcome *outcome;
    uint64_t *seen;
    size_t seen_count, room;
};

static int number_of(struct letter letter)
{
    return letter.rank * OPS_MAX + letter.step;
}

static const struct step *step_of(const struct model *model, struct letter letter)
{
    return &model->plan->steps[letter.rank][letter.step];
}

static bool is_new(struct model *model, const struct state *state)
{
    const unsigned char *bytes = (const unsigned char *)state;
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < sizeof *state; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    hash = (hash ^ hash >> 29) | 1;
    size_t at = hash >> 1 & (model->room - 1);
    while (model->seen[at] && model->seen[at] != hash)
        at = (at + 1) & (model->room - 1);
    if (model->seen[at])
        return false;
    model->seen[at] = hash;
    model->outcome->too_large |= ++model->seen_count > STATES_MAX;
    return true;
}

static void take_out(struct queue *queue, uint32_t at)
{
    queue->count--;
    for (; at < queue->count; at++)
        queue->items[at] = queue->items[at + 1];
    queue->items[queue->count] = (struct letter){0};
}

static void put_in(struct queue *queue, struct letter letter)
{
    queue->items[queue->count++] = letter;
}

static bool fits(const struct step *receive, const struct step *send, uint8_t source)
{
    return receive->comm == send->comm && (receive->peer < 0 || receive->peer == source) &&
           (receive->tag < 0 || receive->tag == send->tag);
}

static void meet(struct model *model, struct state *state, struct letter receive,
                 struct letter send)
{
    bool wildcard = is_wildcard(step_of(model, receive));
    state->met[receive.rank] |= (uint16_t)(1u << receive.step);
    state->met[send.rank] |= (uint16_t)(1u << send.step);
    if (model->plan->has_batches) {
        state->partner[receive.rank][receive.step] = (uint8_t)(1 + number_of(send));
        state->partner[send.rank][send.step] = (uint8_t)(1 + number_of(receive));
    }
    if (wildcard && model->planned->of[receive.rank][receive.step] != send.rank)
        state->strays = true;
    model->outcome->met[number_of(send)][number_of(receive)] = true;
    if (!state->strays)
        model->outcome->met_as_planned[number_of(send)][number_of(receive)] = true;
}

/* ---- completion ---- */

/* Which call of its communicator this is on its rank, as planned. */
static uint32_t call_number(const struct plan *plan, uint32_t rank, uint32_t i)
{
    uint32_t number = 0;
    for (uint32_t k = 0; k < i; k++)
        number += is_collective(&plan->steps[rank][k]) &&
                  plan->steps[rank][k].comm == plan->steps[rank][i].comm;
    return number;
}

/* How many ranks have posted this call of the communicator; `only`: of this rank alone. */
static uint32_t callers(const struct model *model, const struct state *state, uint32_t rank,
                        uint32_t i, int only)
{
    const struct plan *plan = model->plan;
    uint32_t count = 0;
    for (uint32_t other = 0; other < plan->ranks; other++)
        for (uint32_t k = 0; k < plan->count[other] && (only < 0 || (int)other == only); k++)
            count += is_collective(&plan->steps[other][k]) &&
                     plan->steps[other][k].comm == plan->steps[rank][i].comm &&
                     state->call[other][k] == state->call[rank][i];
    return count;
}

/* The call is there with one that is planned to meet others: what then happens nobody knows. */
static bool meets_stranger(const struct plan *plan, const struct state *state, uint32_t rank,
                           uint32_t i)
{
    for (uint32_t other = 0; other < plan->ranks; other++)
        for (uint32_t k = 0; k < plan->count[other]; k++)
            if (is_collective(&plan->steps[other][k]) &&
                plan->steps[other][k].comm == plan->steps[rank][i].comm &&
                state->call[other][k] == state->call[rank][i] &&
                call_number(plan, other, k) != call_number(plan, rank, i))
                return true;
    return false;
}

static bool collective_is_over(const struct model *model, const struct state *state, uint32_t rank,
                               uint32_t i)
{
    const struct step *step = &model->plan->steps[rank][i];
    bool is_root = step->peer == (int8_t)rank;
    if (model->minimal && step->verb == BCAST)
        return is_root || callers(model, state, rank, i, step->peer) > 0;
    if (model->minimal && step->verb == REDUCE && !is_root)
        return true;
    return callers(model, state, rank, i, -1) == model->plan->ranks;
}

/* All that batches tie to the message is posted and met. */
static bool batch_moves(const struct model *model, const struct state *state, uint32_t rank,
                        uint32_t i)
{
    const struct plan *plan = model->plan;
    bool tied[STEPS_MAX] = {false};
    tied[rank * OPS_MAX + i] = true;
    for (bool grown = true; grown;) {
        grown = false;
        for (uint32_t number = 0; number < STEPS_MAX; number++) {
            uint32_t r = number / OPS_MAX, k = number % OPS_MAX;
            if (!tied[number])
                continue;
            if (!(state->met[r] >> k & 1))
                return false;
            uint32_t partner = state->partner[r][k] - 1u;
            grown |= !tied[partner];
            tied[partner] = true;
            for (uint32_t mate = 0; plan->steps[r][k].batch && mate < plan->count[r]; mate++)
                if (plan->steps[r][mate].batch && !tied[r * OPS_MAX + mate])
                    tied[r * OPS_MAX + mate] = grown = true;
        }
    }
    return true;
}

static bool is_over(const struct model *model, const struct state *state, uint32_t rank, uint32_t i)
{
    const struct step *step = &model->plan->steps[rank][i];
    bool met = state->met[rank] >> i & 1, any = false, all = true;
    if (!(state->posted[rank] >> i & 1))
        return false;
    if (is_collective(step))
        return collective_is_over(model, state, rank, i);
    if (!is_wait(step)) {
        if (step->verb == SEND && model->sending == EAGER)
            return true;
        return met && (model->sending != BATCHED || !model->plan->has_batches ||
                       batch_moves(model, state, rank, i));
    }
    uint16_t wanted = step->verb == TEST ? step->completed : step->requests;
    for (uint32_t k = 0; k < OPS_MAX; k++)
        if (wanted >> k & 1) {
            bool over = is_over(model, state, rank, k);
            any = any || over;
            all = all && over;
        }
    return step->verb == WAITANY ? any : all;
}

/* ---- steps ---- */

static void visit(struct model *model, const struct state *state);

/* A receive is posted: the first message that fits of any sender whose messages have arrived may be
 * what it takes; MPI orders nothing between senders. */
static void post_receive(struct model *model, const struct state *posted, struct letter own)
{
    const struct step *step = step_of(model, own);
    const struct queue *arrived = &posted->arrived[own.rank];
    bool tried[RANKS_MAX] = {false}, found = false;
    for (uint32_t at = 0; at < arrived->count; at++) {
        struct letter send = arrived->items[at];
        if (tried[send.rank] || !fits(step, step_of(model, send), send.rank))
            continue;
        struct state next = *posted;
        tried[send.rank] = found = true;
        meet(model, &next, own, send);
        take_out(&next.arrived[own.rank], at);
        visit(model, &next);
    }
    if (found)
        return;
    struct state next = *posted;
    put_in(&next.waiting[own.rank], own);
    visit(model, &next);
}

/* Numbers the call; true when it is another one of its communicator than planned. */
static bool crosses(const struct plan *plan, struct state *state, uint32_t rank, uint32_t i)
{
    uint8_t before = 0;
    for (uint32_t k = 0; k < plan->count[rank]; k++)
        before = (uint8_t)(before + (is_collective(&plan->steps[rank][k]) &&
                                     plan->steps[rank][k].comm == plan->steps[rank][i].comm &&
                                     state->posted[rank] >> k & 1));
    state->call[rank][i] = (uint8_t)(1 + before);
    return before != call_number(plan, rank, i);
}

/* The rank receives without asking for a tag: messages to it are of one channel whatever their tag. */
static bool takes_any_tag(const struct plan *plan, uint32_t rank, uint8_t comm)
{
    for (uint32_t k = 0; k < plan->count[rank]; k++)
        if (is_receive(&plan->steps[rank][k]) && plan->steps[rank][k].tag < 0 &&
            plan->steps[rank][k].comm == comm)
            return true;
    return false;
}

/* A message, or a receive, that the plan has before this one on its channel is still to come. */
static bool turns(const struct plan *plan, const struct state *state, uint32_t rank, uint32_t i)
{
    const struct step *step = &plan->steps[rank][i];
    for (uint32_t k = 0; k < i; k++) {
        const struct step *other = &plan->steps[rank][k];
        bool alike = (is_send(step) && is_send(other) && step->peer == other->peer) ||
                     (is_receive(step) && is_receive(other) &&
                      (step->peer < 0 || other->peer < 0 || step->peer == other->peer));
        uint32_t to = is_send(step) ? (uint32_t)step->peer : rank;
        bool tags = step->tag == other->tag || takes_any_tag(plan, to, step->comm);
        if (alike && tags && step->comm == other->comm && !(state->posted[rank] >> k & 1))
            return true;
    }
    return false;
}

static void post(struct model *model, const struct state *state, uint32_t rank, uint32_t i)
{
    const struct step *step = &model->plan->steps[rank][i];
    struct state next = *state;
    struct letter own = {(uint8_t)rank, (uint8_t)i};
    if (is_collective(step) && crosses(model->plan, &next, rank, i)) {
        model->outcome->crosses[number_of(own)] = true;
        next.turned = true;
    }
    if (is_collective(step) && meets_stranger(model->plan, &next, rank, i))
        return;
    next.turned |= turns(model->plan, state, rank, i);
    next.posted[rank] |= (uint16_t)(1u << i);
    next.last[rank] = (int8_t)(1 + step->node);
    if (step->starts)
        next.passed[rank] |= (uint16_t)(1u << i);
    else
        next.at[rank] = (int8_t)i;
    if (is_send(step))
        put_in(&next.flying[rank][step->peer][step->comm], own);
    if (is_receive(step))
        post_receive(model, &next, own);
    else
        visit(model, &next);
}

/* Messages of one communicator do not overtake each other. */
static void deliver(struct model *model, const struct state *state, uint32_t from, uint32_t to,
                    uint32_t comm)
{
    struct state next = *state;
    struct letter send = next.flying[from][to][comm].items[0];
    struct queue *waiting = &next.waiting[to];
    uint32_t at = 0;
    take_out(&next.flying[from][to][comm], 0);
    while (at < waiting->count &&
           !fits(step_of(model, waiting->items[at]), step_of(model, send), send.rank))
        at++;
    if (at < waiting->count) {
        struct letter receive = waiting->items[at];
        take_out(waiting, at);
        meet(model, &next, receive, send);
    } else {
        put_in(&next.arrived[to], send);
    }
    visit(model, &next);
}

/* ---- all ways ---- */

static bool is_ready(const struct plan *plan, const struct state *state, uint32_t rank, uint32_t i)
{
    const struct step *step = &plan->steps[rank][i];
    if (state->posted[rank] >> i & 1 || step->deps & ~state->passed[rank])
        return false;
    for (uint32_t k = 0; k < plan->count[rank]; k++) /* a node is not interrupted */
        if (plan->steps[rank][k].node + 1 == state->last[rank] && !(state->passed[rank] >> k & 1) &&
            plan->steps[rank][k].node != step->node)
            return false;
    return true;
}

static bool move_ranks(struct model *model, const struct state *state)
{
    const struct plan *plan = model->plan;
    bool moved = false;
    for (uint32_t rank = 0; rank < plan->ranks; rank++)
        for (uint32_t i = 0; i < plan->count[rank] && state->at[rank] < 0; i++)
            if (is_ready(plan, state, rank, i)) {
                post(model, state, rank, i);
                moved = true;
            }
    return moved;
}

static bool move_messages(struct model *model, const struct state *state)
{
    bool moved = false;
    for (uint32_t from = 0; from < model->plan->ranks; from++)
        for (uint32_t to = 0; to < model->plan->ranks; to++)
            for (uint32_t comm = 0; comm < COMMS; comm++)
                if (state->flying[from][to][comm].count) {
                    deliver(model, state, from, to, comm);
                    moved = true;
                }
    return moved;
}

static void judge_end(struct model *model, const struct state *state)
{
    bool stands = false, tests = false;
    for (uint32_t rank = 0; rank < model->plan->ranks; rank++) {
        if (state->at[rank] < 0)
            continue;
        bool test = model->plan->steps[rank][state->at[rank]].verb == TEST;
        stands = stands || !test;
        tests = tests || test;
    }
    model->outcome->hangs |= stands && !tests && !state->turned;
    model->outcome->hangs_turned |= stands && !tests && state->turned;
    model->outcome->hangs_maybe |= stands && tests;
}

static void visit(struct model *model, const struct state *begun)
{
    const struct plan *plan = model->plan;
    struct state state = *begun;
    bool moved = false;
    for (uint32_t rank = 0; rank < plan->ranks; rank++)
        if (state.at[rank] >= 0 && is_over(model, &state, rank, (uint32_t)state.at[rank])) {
            state.passed[rank] |= (uint16_t)(1u << state.at[rank]);
            state.at[rank] = -1;
        }
    if (model->outcome->too_large || !is_new(model, &state))
        return;
    moved = move_ranks(model, &state);
    moved = move_messages(model, &state) || moved;
    if (!moved)
        judge_end(model, &state);
}

/* Runs the plan in every way under one sending model and one way of synchronising; what is found
 * joins `outcome`. */
static void model_run(const struct plan *plan, const struct sources *planned, enum sending sending,
                      bool minimal, struct outcome *outcome)
{
    struct model model = {.plan = plan,
                          .planned = planned,
                          .sending = sending,
                          .minimal = minimal,
                          .outcome = outcome,
                          .room = (size_t)1 << 17};
    struct state first;
    memset(&first, 0, sizeof first);
    memset(first.at, 0xff, sizeof first.at);
    model.seen = calloc(model.room, sizeof *model.seen);
    visit(&model, &first);
    free(model.seen);
}

#endif
