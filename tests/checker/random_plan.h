/* Random small plans that combine what a plan may leave open: the order of a backward pass (given
 * by deps of operations, or by nodes of several operations), wildcard receives, and which request a
 * wait or a test finds complete. They are written as JSONL, the way a stranger would. */
#ifndef TESTS_CHECKER_RANDOM_PLAN_H
#define TESTS_CHECKER_RANDOM_PLAN_H

#include "tests/dice.h"

#include <stdbool.h>
#include <stdio.h>

enum { RANKS_MAX = 3, OPS_MAX = 9, COMMS = 2, TEXT_MAX = 16384 };

enum verb { SEND, SSEND, RECV, BCAST, REDUCE, BARRIER, ALLREDUCE, WAITALL, WAITANY, TEST };

struct step {
    uint8_t verb, comm, node, batch;
    bool starts, forward; /* it completes through a request; it comes before the pass */
    uint16_t requests;    /* of a wait or test: mask of the steps it is about */
    uint16_t completed;   /* of a test: what it found complete; 0: it failed */
    uint16_t deps;        /* mask of earlier steps that come first */
    int8_t peer, tag;     /* -1: any */
    bool some;            /* Waitsome, Testsome instead of Waitany, Testany */
};

enum shape { PROGRAM_ORDER, BY_DEPS, BY_NODES };

struct plan {
    uint32_t ranks, count[RANKS_MAX], nodes[RANKS_MAX];
    enum shape shape;
    bool has_batches, has_tests;
    struct step steps[RANKS_MAX][OPS_MAX];
};

static uint64_t dice;

/* By name these are the plans, of 50,000, in which other legal orders let two messages cross and only the search of all says so. */
static const unsigned crossing_plans[] = {477, 33965, 42298};
enum { CROSSING_PLANS = sizeof crossing_plans / sizeof *crossing_plans };
static bool plan_by_name; /* receives name their senders, and half of them take any tag */

static uint32_t below(uint32_t n)
{
    return dice_below(&dice, n);
}

static bool is_send(const struct step *step)
{
    return step->verb == SEND || step->verb == SSEND;
}

static bool is_receive(const struct step *step)
{
    return step->verb == RECV;
}

static bool is_collective(const struct step *step)
{
    return step->verb >= BCAST && step->verb <= ALLREDUCE;
}

static bool is_wait(const struct step *step)
{
    return step->verb >= WAITALL;
}

static inline bool is_wildcard(const struct step *step)
{
    return is_receive(step) && step->peer < 0;
}

/* ---- making them ---- */

static void add(struct plan *plan, uint32_t rank, struct step step)
{
    if (plan->count[rank] < OPS_MAX)
        plan->steps[rank][plan->count[rank]++] = step;
}

static uint16_t open_requests(const struct plan *plan, uint32_t rank)
{
    uint16_t open = 0;
    for (uint32_t i = 0; i < plan->count[rank]; i++) {
        const struct step *step = &plan->steps[rank][i];
        open = (uint16_t)(open | (step->starts ? 1u << i : 0u));
        if (step->verb == WAITALL)
            open &= (uint16_t)~step->requests;
    }
    return open;
}

static void add_wait(struct plan *plan, uint32_t rank)
{
    static const uint8_t kinds[] = {WAITALL, WAITALL, WAITALL, WAITANY, WAITANY, TEST};
    uint16_t open = open_requests(plan, rank);
    struct step step = {.verb = kinds[below(6)], .requests = open, .some = below(2)};
    if (!open)
        return;
    if (below(4) == 0) /* a part of them */
        step.requests &= (uint16_t)dice_next(&dice);
    if (!step.requests)
        step.requests = open;
    if (step.verb == TEST && below(3))
        step.completed = step.requests & (uint16_t)-step.requests;
    plan->has_tests |= step.verb == TEST;
    add(plan, rank, step);
}

static void add_collective(struct plan *plan)
{
    uint8_t verb = (uint8_t)(BCAST + below(4)), comm = (uint8_t)below(COMMS);
    int8_t root = (int8_t)below(plan->ranks);
    bool starts = below(4) == 0;
    for (uint32_t rank = 0; rank < plan->ranks; rank++)
        add(plan, rank, (struct step){.verb = verb, .comm = comm, .peer = root, .starts = starts});
}

static void add_message(struct plan *plan)
{
    static const uint8_t sends[] = {SEND, SEND, SEND, SSEND};
    uint32_t from = below(plan->ranks), to = (from + 1 + below(plan->ranks - 1)) % plan->ranks;
    int8_t tag = (int8_t)below(2);
    uint8_t comm = below(4) == 0;
    bool early = below(2);
    struct step send = {.verb = sends[below(4)],
                        .starts = below(3) == 0,
                        .comm = comm,
                        .peer = (int8_t)to,
                        .tag = tag};
    struct step receive = {.verb = RECV,
                           .starts = below(3) == 0,
                           .comm = comm,
                           .peer = plan_by_name || !below(2) ? (int8_t)from : (int8_t)-1,
                           .tag = below(plan_by_name ? 2 : 4) ? tag : (int8_t)-1};
    if (early)
        add(plan, to, receive);
    add(plan, from, send);
    if (!early)
        add(plan, to, receive);
    if (below(3) == 0)
        add_wait(plan, to);
}

/* Consecutive starts of one rank become one batch. */
static void add_batch(struct plan *plan, uint32_t rank)
{
    for (uint32_t i = 0; i + 1 < plan->count[rank]; i++) {
        struct step *one = &plan->steps[rank][i], *other = one + 1;
        bool messages = one->verb <= RECV && other->verb <= RECV;
        if (!messages || !one->starts || !other->starts || below(3) == 0)
            continue;
        one->batch = other->batch = 1;
        plan->has_batches = true;
        return;
    }
}

/* Two neighbours change places, where none waits for the other and calls meet as before. */
static void disturb(struct plan *plan, uint32_t rank)
{
    if (plan->count[rank] < 2)
        return;
    uint32_t i = below(plan->count[rank] - 1);
    struct step *one = &plan->steps[rank][i], *other = one + 1, kept = *one;
    bool calls = is_collective(one) && is_collective(other) && one->comm == other->comm;
    if (one->starts || other->starts || is_wait(one) || is_wait(other) || calls)
        return;
    *one = *other;
    *other = kept;
}

static void order_steps(struct plan *plan, uint32_t rank)
{
    uint32_t density = 1 + below(4), forward = below(3) ? 0 : below(3);
    for (uint32_t i = 0; i < plan->count[rank]; i++) {
        struct step *step = &plan->steps[rank][i], *before = step - 1;
        step->forward = plan->shape != PROGRAM_ORDER && i < forward;
        bool together = i > 0 && ((step->batch && before->batch) || below(3) == 0);
        if (plan->shape == BY_NODES && i > forward && together)
            step->node = before->node;
        else
            step->node = (uint8_t)++plan->nodes[rank];
        for (uint32_t k = 0; k < i; k++)
            if (plan->shape == PROGRAM_ORDER || plan->steps[rank][k].forward ||
                plan->steps[rank][k].node == step->node || step->requests >> k & 1 ||
                below(density + 1) == 0)
                step->deps |= (uint16_t)(1u << k);
    }
}

/* Edges are between nodes: what one operation of a node needs, all do. */
static void share_deps(struct plan *plan, uint32_t rank)
{
    for (uint32_t i = 0; i < plan->count[rank]; i++)
        for (uint32_t k = 0; k < i; k++) {
            const struct step *step = &plan->steps[rank][i], *needed = &plan->steps[rank][k];
            if (!(step->deps >> k & 1) || needed->node == step->node)
                continue;
            for (uint32_t a = 0; a < plan->count[rank]; a++)
                for (uint32_t b = 0; b < a; b++)
                    if (plan->steps[rank][a].node == step->node &&
                        plan->steps[rank][b].node == needed->node)
                        plan->steps[rank][a].deps |= (uint16_t)(1u << b);
        }
}

static struct plan plan_new(void)
{
    struct plan plan = {.ranks = 2 + (below(4) > 0), .shape = (enum shape)below(3)};
    uint32_t messages = 1 + below(4), collectives = below(3);
    bool batches = below(6) == 0;
    while (messages + collectives > 0) {
        bool collective = below(messages + collectives) < collectives;
        if (collective)
            add_collective(&plan);
        else
            add_message(&plan);
        collectives -= collective;
        messages -= !collective;
    }
    for (uint32_t rank = 0; rank < plan.ranks; rank++) {
        if (batches)
            add_batch(&plan, rank);
        if (below(3) == 0)
            disturb(&plan, rank);
        if (below(8))
            add_wait(&plan, rank);
        order_steps(&plan, rank);
        share_deps(&plan, rank);
    }
    return plan;
}

/* ---- writing them ---- */

static void write_number(FILE *out, const char *key, int8_t value)
{
    if (value < 0)
        fprintf(out, ", \"%s\": \"any\"", key);
    else
        fprintf(out, ", \"%s\": %d", key, value);
}

static void write_mask(FILE *out, const char *key, uint16_t mask)
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

/* Of the requests in order: which were found complete. */
static void write_completed(FILE *out, const struct step *step)
{
    const char *comma = "";
    fputs(", \"completed\": [", out);
    for (int i = 0; i < OPS_MAX; i++)
        if (step->requests >> i & 1) {
            fprintf(out, "%s%s", comma, step->completed >> i & 1 ? "true" : "false");
            comma = ", ";
        }
    fputc(']', out);
}

static const char *kind_of(const struct step *step)
{
    static const char *const collectives[] = {"Bcast", "Reduce", "Barrier", "Allreduce"};
    switch (step->verb) {
    case SEND:
        return step->starts ? "Isend" : "Send";
    case SSEND:
        return step->starts ? "Issend" : "Ssend";
    case RECV:
        return step->starts ? "Irecv" : "Recv";
    case WAITALL:
        return "Waitall";
    case WAITANY:
        return step->some ? "Waitsome" : "Waitany";
    case TEST:
        return step->some ? "Testsome" : "Testany";
    default:
        return collectives[step->verb - BCAST];
    }
}

static void write_place(FILE *out, const struct plan *plan, uint32_t rank, uint32_t i)
{
    const struct step *step = &plan->steps[rank][i];
    fprintf(out, "{\"op\": \"%s\", \"rank\": %u, \"id\": %u, \"site\": \"plan:%u\"", kind_of(step),
            rank, i, rank * 100 + i);
    if (step->batch)
        fprintf(out, ", \"batch\": %u", step->batch);
    if (plan->shape == PROGRAM_ORDER || step->forward)
        return;
    if (plan->shape == BY_NODES) {
        fprintf(out, ", \"pass\": 1, \"node\": %u", step->node);
        return;
    }
    uint16_t forward = 0;
    for (uint32_t k = 0; k < i; k++)
        forward = (uint16_t)(forward | (plan->steps[rank][k].forward ? 1u << k : 0u));
    write_mask(out, "deps", step->deps & (uint16_t)~forward);
}

static void write_step(FILE *out, const struct plan *plan, uint32_t rank, uint32_t i)
{
    const struct step *step = &plan->steps[rank][i];
    write_place(out, plan, rank, i);
    if (is_wait(step)) {
        write_mask(out, "requests", step->requests);
        if (step->verb == TEST)
            write_completed(out, step);
    } else {
        fprintf(out, ", \"comm\": %u", step->comm + 1);
    }
    if (is_send(step) || is_receive(step)) {
        write_number(out, "peer", step->peer);
        write_number(out, "tag", step->tag);
    } else if (step->verb == BCAST || step->verb == REDUCE) {
        write_number(out, "root", step->peer);
    }
    if (!is_wait(step) && step->verb != BARRIER)
        fputs(", \"count\": 1, \"type\": \"double\"", out);
    if (step->verb == REDUCE || step->verb == ALLREDUCE)
        fputs(", \"reduce\": \"sum\"", out);
    if (is_collective(step) && step->starts)
        fputs(", \"flags\": [\"nonblocking\"]", out);
    fputs("}\n", out);
}

static void write_nodes(FILE *out, const struct plan *plan, uint32_t rank)
{
    bool known[OPS_MAX + 1] = {false};
    fprintf(out, "{\"pass\": 1, \"rank\": %u, \"mode\": \"data\", \"complete\": true}\n", rank);
    for (uint32_t i = 0; i < plan->count[rank]; i++) {
        const struct step *step = &plan->steps[rank][i];
        bool needs[OPS_MAX + 1] = {false};
        const char *comma = "";
        if (step->forward || known[step->node])
            continue;
        known[step->node] = true;
        fprintf(out, "{\"node\": %u, \"rank\": %u, \"pass\": 1, \"name\": \"n\", \"deps\": [",
                step->node, rank);
        for (uint32_t k = 0; k < i; k++)
            if (step->deps >> k & 1 && !plan->steps[rank][k].forward)
                needs[plan->steps[rank][k].node] = true;
        for (uint32_t node = 0; node <= OPS_MAX; node++)
            if (needs[node] && node != step->node) {
                fprintf(out, "%s%u", comma, node);
                comma = ", ";
            }
        fputs("]}\n", out);
    }
}

static size_t plan_write(const struct plan *plan, char *text)
{
    FILE *out = fmemopen(text, TEXT_MAX, "w");
    fprintf(out, "{\"simrun\": 1, \"ranks\": %u}\n", plan->ranks);
    for (int comm = 1; comm <= COMMS; comm++)
        fprintf(out, "{\"comm\": %d, \"members\": [0, 1%s]}\n", comm, plan->ranks > 2 ? ", 2" : "");
    for (uint32_t rank = 0; rank < plan->ranks; rank++)
        if (plan->shape == BY_NODES && plan->count[rank])
            write_nodes(out, plan, rank);
    for (uint32_t rank = 0; rank < plan->ranks; rank++)
        for (uint32_t i = 0; i < plan->count[rank]; i++)
            write_step(out, plan, rank, i);
    size_t size = (size_t)ftell(out);
    fclose(out);
    return size;
}

#endif
