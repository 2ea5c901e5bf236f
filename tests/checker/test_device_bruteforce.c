/* Random plans whose communication a device runs on streams, one for each communicator or one for
 * all, against a naive model that takes every order of steps: a rank issues its next operation or
 * passes a wait, a stream begins its next operation, a met operation completes. It shares nothing
 * with the checker, which gets the plan as a JSONL file and must say D002 of the streams exactly
 * where some order of steps ends before all is complete. SIMRUN_SOAK=N tries N plans, from
 * SIMRUN_SEED on. */
#include "checker/check.h"
#include "tests/dice.h"
#include "tests/golden_said.h"
#include "tests/tap.h"
#include "traces/formats/format.h"

enum { RANKS = 3, OPS_MAX = 7, COMMS = 3, EVENTS_MAX = 5, TEXT_MAX = 8192, STATES_MAX = 1 << 15 };

enum verb { SEND, RECEIVE, COLLECTIVE, WAIT, BARRIER, DUP /* the host calls it */ };

struct step {
    uint8_t verb, comm, event; /* what it takes part in: sides of one event meet */
    bool starts;               /* it leaves a request */
    uint8_t peer, request;
};

struct plan {
    uint8_t count[RANKS];
    struct step steps[RANKS][OPS_MAX];
    uint8_t members[EVENTS_MAX]; /* mask of ranks */
};

static uint64_t dice;

static uint32_t below(uint32_t n)
{
    return dice_below(&dice, n);
}

/* ---- plans ---- */

static void add(struct plan *plan, uint32_t rank, struct step step)
{
    if (plan->count[rank] < OPS_MAX)
        plan->steps[rank][plan->count[rank]++] = step;
}

/* Steps of one communicator keep their order. */
static void disturb(struct plan *plan, uint32_t rank)
{
    for (uint32_t i = 0; i + 1 < plan->count[rank]; i++) {
        struct step *one = &plan->steps[rank][i], kept = *one;
        if (one->comm == one[1].comm || below(2))
            continue;
        one[0] = one[1];
        one[1] = kept;
    }
}

static void add_waits(struct plan *plan, uint32_t rank)
{
    struct plan without = *plan;
    plan->count[rank] = 0;
    uint32_t open = OPS_MAX;
    for (uint32_t i = 0; i < without.count[rank]; i++) {
        if (without.steps[rank][i].starts && below(2))
            open = plan->count[rank];
        add(plan, rank, without.steps[rank][i]);
        if (open == OPS_MAX || below(3))
            continue;
        add(plan, rank, (struct step){.verb = WAIT, .request = (uint8_t)open});
        open = OPS_MAX;
    }
}

static struct plan plan_new(void)
{
    struct plan plan = {.count = {0}};
    uint32_t events = 2 + below(EVENTS_MAX - 1);
    for (uint8_t event = 0; event < events; event++) {
        uint8_t comm = (uint8_t)below(COMMS), from = (uint8_t)below(RANKS);
        uint8_t to = (uint8_t)((from + 1 + below(RANKS - 1)) % RANKS), kind = (uint8_t)below(8);
        bool collective = kind < 5;
        plan.members[event] = (uint8_t)(collective ? (1 << RANKS) - 1 : 1 << from | 1 << to);
        for (uint8_t rank = 0; rank < RANKS; rank++)
            if (plan.members[event] >> rank & 1)
                add(&plan, rank,
                    (struct step){.verb = kind == 0      ? BARRIER
                                          : kind == 1    ? DUP
                                          : collective   ? COLLECTIVE
                                          : rank == from ? SEND
                                                         : RECEIVE,
                                  .comm = comm,
                                  .event = event,
                                  .starts = kind != 0 && below(2),
                                  .peer = rank == from ? to : from});
    }
    bool disturbed = below(2);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        if (disturbed)
            disturb(&plan, rank);
        add_waits(&plan, rank);
    }
    return plan;
}

static size_t plan_write(const struct plan *plan, const char *model, char *text)
{
    static const char *const kinds[][2] = {{"Send", "Isend"}, {"Recv", "Irecv"}};
    FILE *out = fmemopen(text, TEXT_MAX, "w");
    fprintf(out, "{\"simrun\": 1, \"ranks\": %d, \"model\": \"%s\"}\n", RANKS, model);
    for (int comm = 1; comm <= COMMS; comm++)
        fprintf(out, "{\"comm\": %d, \"members\": [0, 1, 2]}\n", comm);
    for (uint32_t rank = 0; rank < RANKS; rank++)
        for (uint32_t i = 0; i < plan->count[rank]; i++) {
            const struct step *step = &plan->steps[rank][i];
            const char *kind = step->verb == WAIT         ? "Wait"
                               : step->verb == BARRIER    ? "Barrier"
                               : step->verb == DUP        ? "Comm_dup"
                               : step->verb == COLLECTIVE ? "Allreduce"
                                                          : kinds[step->verb][step->starts];
            fprintf(out, "{\"op\": \"%s\", \"rank\": %u, \"id\": %u, \"site\": \"plan:%u\"", kind,
                    rank, i, rank * 100 + i + 1);
            if (step->verb == WAIT)
                fprintf(out, ", \"request\": %u}\n", step->request);
            else
                fprintf(out, ", \"comm\": %u", step->comm + 1);
            if (step->verb <= RECEIVE)
                fprintf(out, ", \"peer\": %u, \"tag\": 0", step->peer);
            if (step->verb == COLLECTIVE)
                fprintf(out, ", \"reduce\": \"sum\"");
            if (step->starts && (step->verb == COLLECTIVE || step->verb == DUP))
                fprintf(out, ", \"flags\": [\"nonblocking\"]");
            if (step->verb != WAIT)
                fprintf(out, "%s}\n",
                        step->verb >= BARRIER ? "" : ", \"count\": 1, \"type\": \"float\"");
        }
    size_t size = (size_t)ftell(out);
    fclose(out);
    return size;
}

/* ---- the model ---- */

struct state {
    uint8_t at[RANKS];                 /* the next operation to issue or pass */
    uint8_t begun[RANKS], done[RANKS]; /* masks */
};

struct model {
    const struct plan *plan;
    bool one_stream, hangs;
    uint64_t seen[2 * STATES_MAX]; /* a hash table of states, each with a bit on top; 0: free */
    size_t seen_count;
};

static bool is_new(struct model *model, const struct state *state)
{
    uint64_t packed = 1; /* the bit on top */
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        packed = packed << 4 | state->at[rank];
        packed = packed << OPS_MAX | state->begun[rank];
        packed = packed << OPS_MAX | state->done[rank];
    }
    size_t at = (packed * 0x9e3779b97f4a7c15u) >> 48 & (2 * STATES_MAX - 1);
    while (model->seen[at] && model->seen[at] != packed)
        at = (at + 1) & (2 * STATES_MAX - 1);
    if (model->seen[at])
        return false;
    model->seen[at] = packed;
    model->seen_count++;
    return true;
}

static bool on_stream(const struct step *step)
{
    return step->verb < WAIT;
}

/* The stream has completed all that was issued to it before. */
static bool is_at_head(const struct model *model, const struct state *state, uint32_t rank,
                       uint32_t i)
{
    const struct step *steps = model->plan->steps[rank];
    for (uint32_t k = 0; k < i; k++)
        if (on_stream(&steps[k]) && (model->one_stream || steps[k].comm == steps[i].comm) &&
            !(state->done[rank] >> k & 1))
            return false;
    return true;
}

/* All sides of the event have begun. */
static bool is_met(const struct model *model, const struct state *state, uint8_t event)
{
    uint8_t there = 0;
    for (uint32_t rank = 0; rank < RANKS; rank++)
        for (uint32_t i = 0; i < model->plan->count[rank]; i++)
            if (model->plan->steps[rank][i].verb != WAIT &&
                model->plan->steps[rank][i].event == event && state->begun[rank] >> i & 1)
                there |= (uint8_t)(1u << rank);
    return there == model->plan->members[event];
}

static bool rank_passes(const struct state *state, const struct step *step, uint32_t rank,
                        uint32_t i)
{
    if (step->verb == WAIT)
        return state->done[rank] >> step->request & 1;
    if (step->verb >= BARRIER)
        return (step->starts ? state->begun : state->done)[rank] >> i & 1;
    return true;
}

static void visit(struct model *model, const struct state *state);

static bool move(struct model *model, const struct state *state, uint32_t rank)
{
    const struct plan *plan = model->plan;
    bool moved = false;
    for (uint32_t i = 0; i < plan->count[rank]; i++) {
        const struct step *step = &plan->steps[rank][i];
        bool begun = state->begun[rank] >> i & 1, done = state->done[rank] >> i & 1;
        bool issued = on_stream(step) ? i < state->at[rank] : i == state->at[rank];
        struct state next = *state;
        if (step->verb == WAIT || done)
            continue;
        if (!begun && issued && (!on_stream(step) || is_at_head(model, state, rank, i)))
            next.begun[rank] |= (uint8_t)(1u << i);
        else if (begun && is_met(model, state, step->event))
            next.done[rank] |= (uint8_t)(1u << i);
        else
            continue;
        moved = true;
        visit(model, &next);
    }
    uint32_t at = state->at[rank];
    if (at < plan->count[rank] && rank_passes(state, &plan->steps[rank][at], rank, at)) {
        struct state next = *state;
        next.at[rank]++;
        moved = true;
        visit(model, &next);
    }
    return moved;
}

static bool is_over(const struct plan *plan, const struct state *state)
{
    for (uint32_t rank = 0; rank < RANKS; rank++)
        for (uint32_t i = 0; i < plan->count[rank]; i++)
            if (state->at[rank] <= i ||
                (plan->steps[rank][i].verb != WAIT && !(state->done[rank] >> i & 1)))
                return false;
    return true;
}

static void visit(struct model *model, const struct state *state)
{
    bool moved = false;
    if (model->hangs || model->seen_count == STATES_MAX || !is_new(model, state))
        return;
    for (uint32_t rank = 0; rank < RANKS; rank++)
        moved = move(model, state, rank) || moved;
    model->hangs = model->hangs || (!moved && !is_over(model->plan, state));
}

/* ---- the comparison ---- */

struct tally {
    unsigned plans, hang, only_one_stream, wrong;
};

static bool told(const char *text, size_t size, const char *model)
{
    struct failure failure = {0};
    struct check_options options;
    struct findings findings;
    struct trace *trace = format_read_memory("plan.jsonl", text, size, &failure);
    bool says = false;
    if (!trace) {
        tap_note("%s", failure.text);
        return false;
    }
    findings_init(&findings);
    check_options_init(&options);
    check_trace(trace, &options, &findings);
    said_trace(trace, &options, &findings);
    for (size_t i = 0; i < findings.count; i++)
        says =
            says || (findings.items[i].code[0] == 'D' && strstr(findings.items[i].models, model));
    findings_release(&findings);
    trace_free(trace);
    return says;
}

static void compare(unsigned long long seed, struct tally *tally)
{
    static struct model model;
    static const char *const names[] = {"streams", "device"};
    bool hangs[2];
    dice = seed * 0x9e3779b97f4a7c15u;
    struct plan plan = plan_new();
    for (int one = 0; one < 2; one++) {
        char text[TEXT_MAX];
        struct state first = {.at = {0}};
        model.plan = &plan;
        model.one_stream = one;
        model.hangs = false;
        model.seen_count = 0;
        memset(model.seen, 0, sizeof model.seen);
        visit(&model, &first);
        if (!model.hangs && model.seen_count == STATES_MAX)
            return;
        hangs[one] = model.hangs;
        size_t size = plan_write(&plan, names[one], text);
        bool says = told(text, size, names[one]);
        tally->wrong += says != model.hangs;
        if (says != model.hangs)
            tap_note("seed %llu, %s: hangs %d, said %d\n%s", seed, names[one], model.hangs, says,
                     text);
    }
    tally->plans++;
    tally->hang += hangs[0];
    tally->only_one_stream += hangs[1] && !hangs[0];
}

int main(void)
{
    struct dice_seeds seeds = dice_seeds(300);
    struct tally tally = {0};
    if (dice_part().of == 1)
        said_open("device_bruteforce", 10);
    for (unsigned long long i = 0; i < seeds.count; i++)
        compare(seeds.first + i, &tally);
    tap_note("%u plans; %u hang with a stream for each communicator, %u more with one stream",
             tally.plans, tally.hang, tally.only_one_stream);
    tap_is_int(tally.wrong, 0, "the streams of a device hang exactly where they are said to");
    tap_ok(tally.plans * 2 > seeds.count, "most plans are small enough to be run in every way");
    tap_ok(tally.hang * 20 > tally.plans && tally.only_one_stream * 20 > tally.plans &&
               (tally.hang + tally.only_one_stream) * 10 < tally.plans * 9,
           "there are plans of every kind");
    said_close();
    return tap_done();
}
