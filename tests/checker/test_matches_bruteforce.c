/* Imported plans with wildcards, orders given by deps and waits for one of several requests,
 * against a naive model of MPI that takes every order of steps and of arrivals. The model has
 * messages on their way, mailboxes and posted receives, and shares nothing with the checker, which
 * gets the plan as a JSONL file. D002 must be found exactly where an order, match or arrival hangs
 * with buffered sends, under one of the two ways in which collectives synchronise; D003 exactly
 * where only rendezvous hangs. SIMRUN_SOAK=N tries N plans, from SIMRUN_SEED on. */
#include "checker/check.h"
#include "tests/dice.h"
#include "tests/tap.h"
#include "traces/formats/format.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { RANKS_MAX = 3, OPS_MAX = 8, STATES_MAX = 150000, TEXT_MAX = 8192 };

/* ---- plans ---- */

enum verb { SEND, SSEND, RECV, ISEND, IRECV, WAITALL, WAITANY, BCAST, BARRIER };
static const char *const verbs[] = {"Send",    "Ssend",   "Recv",  "Isend",  "Irecv",
                                    "Waitall", "Waitany", "Bcast", "Barrier"};

struct step {
    uint8_t verb, requests; /* of a wait: mask of the steps it waits for */
    uint8_t deps;           /* mask of earlier steps that come first */
    int8_t peer, tag;       /* -1: any */
};

struct plan {
    uint32_t ranks, count[RANKS_MAX];
    bool by_deps;
    struct step steps[RANKS_MAX][OPS_MAX];
};

static uint64_t dice;

static uint32_t below(uint32_t n)
{
    return dice_below(&dice, n);
}

static bool is_send(uint8_t verb)
{
    return verb == SEND || verb == SSEND || verb == ISEND;
}

static bool is_receive(uint8_t verb)
{
    return verb == RECV || verb == IRECV;
}

static bool is_started(uint8_t verb)
{
    return verb == ISEND || verb == IRECV;
}

static void add(struct plan *plan, uint32_t rank, struct step step)
{
    uint32_t index = plan->count[rank];
    if (index == OPS_MAX)
        return;
    for (uint32_t i = 0; i < index; i++)
        if (!plan->by_deps || below(3) == 0)
            step.deps |= (uint8_t)(1u << i);
    step.deps |= step.requests;
    plan->steps[rank][index] = step;
    plan->count[rank]++;
}

static void add_wait(struct plan *plan, uint32_t rank)
{
    uint8_t open = 0;
    for (uint32_t i = 0; i < plan->count[rank]; i++) {
        open = (uint8_t)(open | (is_started(plan->steps[rank][i].verb) ? 1u << i : 0u));
        if (plan->steps[rank][i].verb == WAITALL)
            open &= (uint8_t)~plan->steps[rank][i].requests;
    }
    if (open)
        add(plan, rank, (struct step){.verb = below(4) ? WAITALL : WAITANY, .requests = open});
}

static struct plan plan_new(void)
{
    struct plan plan = {.ranks = 2 + below(2), .by_deps = below(3) > 0};
    uint32_t messages = 1 + below(4), collective = below(3) ? UINT32_MAX : below(messages);
    for (uint32_t i = 0; i < messages; i++) {
        uint32_t from = below(plan.ranks), to = (from + 1 + below(plan.ranks - 1)) % plan.ranks;
        static const uint8_t sends[] = {SEND, SEND, SSEND, ISEND};
        int8_t tag = (int8_t)below(2);
        if (i == collective)
            for (uint32_t rank = 0, verb = below(2) ? BCAST : BARRIER; rank < plan.ranks; rank++)
                add(&plan, rank, (struct step){.verb = (uint8_t)verb});
        bool early = below(2);
        struct step receive = {.verb = below(3) ? RECV : IRECV,
                               .peer = below(2) ? (int8_t)-1 : (int8_t)from,
                               .tag = below(4) ? tag : (int8_t)-1};
        if (early)
            add(&plan, to, receive);
        add(&plan, from, (struct step){.verb = sends[below(4)], .peer = (int8_t)to, .tag = tag});
        if (!early)
            add(&plan, to, receive);
        if (below(3) == 0)
            add_wait(&plan, to);
    }
    for (uint32_t rank = 0; rank < plan.ranks; rank++)
        add_wait(&plan, rank);
    return plan;
}

static void write_number(FILE *out, const char *key, int8_t value)
{
    if (value < 0)
        fprintf(out, ", \"%s\": \"any\"", key);
    else
        fprintf(out, ", \"%s\": %d", key, value);
}

static void write_mask(FILE *out, const char *key, uint8_t mask)
{
    const char *comma = "";
    fprintf(out, ", \"%s\": [", key);
    for (int i = 0; i < OPS_MAX; i++)
        if (mask >> i & 1) {
            fprintf(out, "%s%d", comma, i);
            comma = ", ";
        }
    fputc(']', out);
}

static size_t plan_write(const struct plan *plan, char *text)
{
    FILE *out = fmemopen(text, TEXT_MAX, "w");
    fprintf(out, "{\"simrun\": 1, \"ranks\": %u}\n", plan->ranks);
    for (uint32_t rank = 0; rank < plan->ranks; rank++)
        for (uint32_t i = 0; i < plan->count[rank]; i++) {
            const struct step *step = &plan->steps[rank][i];
            fprintf(out, "{\"op\": \"%s\", \"rank\": %u, \"id\": %u", verbs[step->verb], rank, i);
            if (plan->by_deps)
                write_mask(out, "deps", step->deps);
            if (is_send(step->verb) || is_receive(step->verb)) {
                write_number(out, "peer", step->peer);
                write_number(out, "tag", step->tag);
            }
            if (step->verb == BCAST)
                fputs(", \"peer\": 0", out);
            if (step->requests)
                write_mask(out, "requests", step->requests);
            else if (step->verb != BARRIER)
                fputs(", \"count\": 1, \"type\": \"double\"", out);
            fputs("}\n", out);
        }
    size_t size = (size_t)ftell(out);
    fclose(out);
    return size;
}

/* ---- the model ---- */

struct letter {
    uint8_t rank, step;
};

struct queue {
    struct letter items[OPS_MAX * RANKS_MAX];
    uint8_t count;
};

struct state {
    uint8_t posted[RANKS_MAX], passed[RANKS_MAX], met[RANKS_MAX];
    int8_t at[RANKS_MAX];
    struct queue flying[RANKS_MAX][RANKS_MAX], arrived[RANKS_MAX], waiting[RANKS_MAX];
};

struct model {
    const struct plan *plan;
    bool rendezvous, minimal, hangs, too_large;
    uint64_t *seen;
    size_t seen_count, room;
};

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
    model->too_large = ++model->seen_count > STATES_MAX;
    return true;
}

static void take_out(struct queue *queue, uint32_t at)
{
    queue->count--;
    for (; at < queue->count; at++)
        queue->items[at] = queue->items[at + 1];
    queue->items[queue->count] = (struct letter){0};
}

static const struct step *step_of(const struct model *model, struct letter letter)
{
    return &model->plan->steps[letter.rank][letter.step];
}

static bool fits(const struct step *receive, const struct step *send, uint8_t source)
{
    return (receive->peer < 0 || receive->peer == source) &&
           (receive->tag < 0 || receive->tag == send->tag);
}

static void meet(struct state *state, struct letter a, struct letter b)
{
    state->met[a.rank] |= (uint8_t)(1u << a.step);
    state->met[b.rank] |= (uint8_t)(1u << b.step);
}

static bool all_in(const struct model *model, const struct state *state, bool only_root)
{
    for (uint32_t rank = 0; rank < model->plan->ranks; rank++) {
        bool in = false;
        for (uint32_t i = 0; i < model->plan->count[rank]; i++)
            in = in || (model->plan->steps[rank][i].verb >= BCAST && state->posted[rank] >> i & 1);
        if (!in)
            return false;
        if (only_root)
            return true;
    }
    return true;
}

static bool is_over(const struct model *model, const struct state *state, uint32_t rank, uint32_t i)
{
    const struct step *step = &model->plan->steps[rank][i];
    bool met = state->met[rank] >> i & 1, any = false, all = true;
    if (!(state->posted[rank] >> i & 1))
        return false;
    switch ((enum verb)step->verb) {
    case SEND:
    case ISEND:
        return met || !model->rendezvous;
    case SSEND:
    case RECV:
    case IRECV:
        return met;
    case BCAST:
        return model->minimal ? rank == 0 || all_in(model, state, true)
                              : all_in(model, state, false);
    case BARRIER:
        return all_in(model, state, false);
    case WAITALL:
    case WAITANY:
        for (uint32_t k = 0; k < OPS_MAX; k++)
            if (step->requests >> k & 1) {
                bool over = is_over(model, state, rank, k);
                any = any || over;
                all = all && over;
            }
        return step->verb == WAITALL ? all : any;
    }
    return false;
}

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
        meet(&next, own, send);
        take_out(&next.arrived[own.rank], at);
        visit(model, &next);
    }
    if (found)
        return;
    struct state next = *posted;
    struct queue *waiting = &next.waiting[own.rank];
    waiting->items[waiting->count++] = own;
    visit(model, &next);
}

static void post(struct model *model, const struct state *state, uint32_t rank, uint32_t i)
{
    const struct step *step = &model->plan->steps[rank][i];
    struct state next = *state;
    struct letter own = {(uint8_t)rank, (uint8_t)i};
    next.posted[rank] |= (uint8_t)(1u << i);
    if (is_started(step->verb))
        next.passed[rank] |= (uint8_t)(1u << i);
    else
        next.at[rank] = (int8_t)i;
    if (is_send(step->verb)) {
        struct queue *queue = &next.flying[rank][step->peer];
        queue->items[queue->count++] = own;
    }
    if (is_receive(step->verb))
        post_receive(model, &next, own);
    else
        visit(model, &next);
}

static void deliver(struct model *model, const struct state *state, uint32_t from, uint32_t to)
{
    struct state next = *state;
    struct letter send = next.flying[from][to].items[0];
    struct queue *waiting = &next.waiting[to];
    uint32_t at = 0;
    take_out(&next.flying[from][to], 0);
    while (at < waiting->count &&
           !fits(step_of(model, waiting->items[at]), step_of(model, send), send.rank))
        at++;
    if (at < waiting->count) {
        meet(&next, waiting->items[at], send);
        take_out(waiting, at);
    } else {
        next.arrived[to].items[next.arrived[to].count++] = send;
    }
    visit(model, &next);
}

static void visit(struct model *model, const struct state *begun)
{
    const struct plan *plan = model->plan;
    struct state state = *begun;
    bool moved = false, stands = false;
    for (uint32_t rank = 0; rank < plan->ranks; rank++)
        if (state.at[rank] >= 0 && is_over(model, &state, rank, (uint32_t)state.at[rank])) {
            state.passed[rank] |= (uint8_t)(1u << state.at[rank]);
            state.at[rank] = -1;
        }
    if (model->hangs || model->too_large || !is_new(model, &state))
        return;
    for (uint32_t rank = 0; rank < plan->ranks; rank++)
        for (uint32_t i = 0; i < plan->count[rank] && state.at[rank] < 0; i++)
            if (!(state.posted[rank] >> i & 1) &&
                !(plan->steps[rank][i].deps & ~state.passed[rank])) {
                post(model, &state, rank, i);
                moved = true;
            }
    for (uint32_t from = 0; from < plan->ranks; from++)
        for (uint32_t to = 0; to < plan->ranks; to++)
            if (state.flying[from][to].count) {
                deliver(model, &state, from, to);
                moved = true;
            }
    for (uint32_t rank = 0; rank < plan->ranks; rank++)
        stands = stands || state.at[rank] >= 0;
    model->hangs = model->hangs || (!moved && stands);
}

static bool hangs(const struct plan *plan, bool rendezvous, bool *too_large)
{
    bool found = false;
    for (int minimal = 0; minimal < 2 && !found; minimal++) {
        struct model model = {
            .plan = plan, .rendezvous = rendezvous, .minimal = minimal, .room = (size_t)1 << 19};
        struct state first;
        memset(&first, 0, sizeof first);
        memset(first.at, 0xff, sizeof first.at);
        model.seen = calloc(model.room, sizeof *model.seen);
        visit(&model, &first);
        free(model.seen);
        found = model.hangs;
        *too_large = *too_large || (model.too_large && !found);
    }
    return found;
}

/* ---- the comparison ---- */

struct tally {
    unsigned plans, unsafe, bounded, missed, invented, unread;
};

static bool has(const struct findings *findings, const char *code)
{
    for (size_t i = 0; i < findings->count; i++)
        if (strcmp(findings->items[i].code, code) == 0)
            return true;
    return false;
}

static bool has_wildcard(const struct plan *plan)
{
    for (uint32_t rank = 0; rank < plan->ranks; rank++)
        for (uint32_t i = 0; i < plan->count[rank]; i++)
            if (is_receive(plan->steps[rank][i].verb) && plan->steps[rank][i].peer < 0)
                return true;
    return false;
}

static void compare(unsigned long long seed, struct tally *tally)
{
    char text[TEXT_MAX];
    struct failure failure = {0};
    struct check_options options;
    struct findings findings;
    bool too_large = false;
    dice = seed * 0x9e3779b97f4a7c15u;
    struct plan plan = plan_new();
    if (!has_wildcard(&plan))
        return;
    bool eager = hangs(&plan, false, &too_large);
    bool rendezvous = eager || hangs(&plan, true, &too_large);
    if (too_large)
        return;
    size_t size = plan_write(&plan, text);
    struct trace *trace = format_read_memory("plan.jsonl", text, size, &failure);
    tally->plans++;
    tally->unsafe += rendezvous;
    if (!trace) {
        tally->unread++;
        tap_note("seed %llu: %s", seed, failure.text);
        return;
    }
    findings_init(&findings);
    check_options_init(&options);
    options.models = CHECK_EAGER | CHECK_RENDEZVOUS;
    check_trace(trace, &options, &findings);
    bool told_eager = has(&findings, "D002") || has(&findings, "D001"),
         told = told_eager || has(&findings, "D003"), bounded = has(&findings, "N001");
    bool missed = !bounded && ((eager && !told_eager) || (rendezvous && !told)),
         invented = (told_eager && !eager) || (told && !rendezvous);
    tally->bounded += bounded;
    tally->missed += missed;
    tally->invented += invented;
    if (missed || invented)
        tap_note("seed %llu: hangs %d %d, told %d %d\n%s", seed, eager, rendezvous, told_eager,
                 told, text);
    findings_release(&findings);
    trace_free(trace);
}

int main(void)
{
    struct dice_seeds seeds = dice_seeds(500);
    struct tally tally = {0};
    for (unsigned long long i = 0; i < seeds.count; i++)
        compare(seeds.first + i, &tally);
    tap_note("%u plans, %u of them unsafe, %u bounded", tally.plans, tally.unsafe, tally.bounded);
    tap_is_int(tally.unread, 0, "every plan is read");
    tap_is_int(tally.missed, 0, "no hang of an order, a match and an arrival is missed");
    tap_is_int(tally.invented, 0, "and none is invented");
    tap_ok(tally.unsafe * 5 > tally.plans && tally.unsafe * 10 < tally.plans * 9,
           "there are safe and unsafe plans");
    tap_ok(tally.bounded * 20 < tally.plans, "nearly all are decided");
    return tap_done();
}
