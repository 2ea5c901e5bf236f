/* Threads of a rank that share a communicator or a channel of it, in random plans of two ranks with up to two threads each: a finding
 * is made where two operations can come either way round, and nowhere else. A naive model takes every step there is; operations
 * of a pair can come either way where each is there in some state without the other.
 *
 * SIMRUN_SOAK=N tries N plans, from SIMRUN_SEED on. */
#include "checker/check.h"
#include "checker/properties.h"
#include "tests/dice.h"
#include "tests/tap.h"
#include "traces/formats/format.h"

#include <stdlib.h>
#include <string.h>

enum { LANES = 4, OPS_MAX = 4, ALL = LANES * OPS_MAX, STATES_MAX = 4000, TEXT_MAX = 8000 };
enum verb { SEND, RECEIVE, BARRIER, BCAST };

struct step {
    uint8_t verb;
    int8_t comm, peer, tag, size; /* -1: any; of a collective the peer is its root */
};

struct plan {
    int length[LANES]; /* lanes 0 and 1 are rank 0 */
    struct step steps[LANES][OPS_MAX];
};

static uint64_t dice;

static int below(int n)
{
    return (int)dice_below(&dice, (uint32_t)n);
}

static int rank_of(int lane)
{
    return lane / 2;
}

static int lane_on(int rank, bool one)
{
    return 2 * rank + (one ? 0 : below(2));
}

static void add(struct plan *plan, int lane, struct step step)
{
    plan->steps[lane][plan->length[lane]++] = step;
}

static struct plan plan_new(uint64_t seed)
{
    struct plan plan = {.length = {0}};
    dice = seed;
    bool one = below(2), anything = below(3) == 0;
    int count = 2 + below(4), root = below(2);
    for (int i = 0; i < count; i++) {
        int from = below(2), size = 1 + (below(4) == 0), comm = below(4) == 0;
        int here = lane_on(from, one && from), there = lane_on(1 - from, one && !from);
        if (plan.length[here] == OPS_MAX || plan.length[there] == OPS_MAX)
            continue;
        int8_t tag = (int8_t)below(2);
        struct step step = {.comm = (int8_t)comm, .tag = tag, .size = (int8_t)size};
        step.verb = (uint8_t)(below(4) ? SEND : BARRIER + below(2));
        step.peer = (int8_t)(step.verb == SEND ? 1 - from : root);
        add(&plan, here, step);
        if (step.verb == SEND) {
            step.verb = RECEIVE;
            step.peer = (int8_t)(anything && below(2) ? -1 : from);
            step.tag = (int8_t)(anything && below(3) == 0 ? -1 : tag);
        }
        add(&plan, there, step);
    }
    return plan;
}

/* ---- the model ---- */

struct state {
    uint8_t at[LANES];
    bool posted[LANES];             /* the operation at which it stands */
    uint8_t calls[2][2];            /* of each rank on each communicator */
    uint8_t call[LANES];            /* which of them the lane is in, from 1 */
    uint8_t mail_count, open_count; /* as sent, as posted: lane and operation */
    uint8_t mail[ALL], open[ALL];
    bool met[ALL];
};

struct search {
    const struct plan *plan;
    struct state *seen;
    size_t count;
    bool hangs;
    bool first[ALL][ALL]; /* the one was there without the other */
};

static const struct step *step_of(const struct plan *plan, int op)
{
    return &plan->steps[op / OPS_MAX][op % OPS_MAX];
}

static bool is_posted(const struct state *state, int op)
{
    int lane = op / OPS_MAX, at = op % OPS_MAX;
    return at < state->at[lane] || (at == state->at[lane] && state->posted[lane]);
}

static bool fits(const struct plan *plan, int receive, int send)
{
    const struct step *r = step_of(plan, receive), *s = step_of(plan, send);
    return rank_of(receive / OPS_MAX) == s->peer && r->comm == s->comm &&
           (r->tag < 0 || r->tag == s->tag);
}

static void drop(uint8_t *list, uint8_t *count, int at)
{
    for (--*count; at < *count; at++)
        list[at] = list[at + 1];
    list[*count] = 0;
}

/* In the order of MPI: messages as sent, receives as posted. */
static void meet_all(const struct plan *plan, struct state *state)
{
    for (int m = 0; m < state->mail_count; m++)
        for (int r = 0; r < state->open_count; r++)
            if (fits(plan, state->open[r], state->mail[m])) {
                state->met[state->open[r]] = true;
                drop(state->mail, &state->mail_count, m--);
                drop(state->open, &state->open_count, r);
                break;
            }
}

static void post(const struct plan *plan, struct state *state, int lane)
{
    int op = lane * OPS_MAX + state->at[lane];
    const struct step *step = step_of(plan, op);
    state->posted[lane] = true;
    if (step->verb == SEND)
        state->mail[state->mail_count++] = (uint8_t)op;
    else if (step->verb == RECEIVE)
        state->open[state->open_count++] = (uint8_t)op;
    else
        state->call[lane] = ++state->calls[rank_of(lane)][step->comm];
    meet_all(plan, state);
}

static bool is_over(const struct plan *plan, const struct state *state, int lane)
{
    int op = lane * OPS_MAX + state->at[lane];
    const struct step *step = step_of(plan, op);
    if (step->verb == SEND || (step->verb == BCAST && step->peer == rank_of(lane)))
        return true;
    if (step->verb == RECEIVE)
        return state->met[op];
    return state->calls[1 - rank_of(lane)][step->comm] >= state->call[lane];
}

/* What the lane does next, if it can: it is there, or over. */
static bool go_on(const struct plan *plan, struct state *state, int lane)
{
    if (state->at[lane] == plan->length[lane])
        return false;
    if (!state->posted[lane]) {
        post(plan, state, lane);
        return true;
    }
    if (!is_over(plan, state, lane))
        return false;
    state->posted[lane] = false;
    state->call[lane] = 0;
    state->at[lane]++;
    return true;
}

static void visit(struct search *search, const struct state *state)
{
    const struct plan *plan = search->plan;
    bool moves = false, ended = true;
    for (size_t i = 0; i < search->count; i++)
        if (!memcmp(&search->seen[i], state, sizeof *state))
            return;
    if (search->count == STATES_MAX)
        return;
    search->seen[search->count++] = *state;
    for (int a = 0; a < ALL; a++)
        for (int b = 0; b < ALL; b++)
            search->first[a][b] |= is_posted(state, a) && !is_posted(state, b);
    for (int lane = 0; lane < LANES; lane++) {
        struct state next = *state;
        ended = ended && state->at[lane] == plan->length[lane];
        if (!go_on(plan, &next, lane))
            continue;
        moves = true;
        visit(search, &next);
    }
    search->hangs |= !moves && !ended;
}

/* MPI orders the two by who comes first. */
static bool share(const struct plan *plan, int a, int b)
{
    const struct step *x = step_of(plan, a), *y = step_of(plan, b);
    bool collective = x->verb >= BARRIER, any = x->tag == y->tag;
    if (x->comm != y->comm || collective != (y->verb >= BARRIER) ||
        (!collective && x->verb != y->verb))
        return false;
    if (x->verb == RECEIVE)
        any = any || x->tag < 0 || y->tag < 0;
    for (int lane = 0; lane < LANES; lane++)
        for (int k = 0; k < plan->length[lane]; k++)
            any = any || (x->verb == SEND && plan->steps[lane][k].verb == RECEIVE &&
                          plan->steps[lane][k].tag < 0 && rank_of(lane) == x->peer &&
                          plan->steps[lane][k].comm == x->comm);
    return collective || any;
}

static bool is_race(const struct search *search, int a, int b)
{
    const struct plan *plan = search->plan;
    int x = a / OPS_MAX, y = b / OPS_MAX;
    return x != y && rank_of(x) == rank_of(y) && a % OPS_MAX < plan->length[x] &&
           b % OPS_MAX < plan->length[y] && share(plan, a, b) && search->first[a][b] &&
           search->first[b][a];
}

/* ---- the checker ---- */

static void write_step(FILE *out, const struct step *step, int lane, int line)
{
    static const char *const words[] = {"Send", "Recv", "Barrier", "Bcast"};
    fprintf(out,
            "{\"op\": \"%s\", \"rank\": %d, \"thread\": %d, \"comm\": %d, \"site\": \"p.c:%d\"",
            words[step->verb], rank_of(lane), lane % 2, step->comm + 1, line);
    if (step->verb < BARRIER && step->peer < 0)
        fprintf(out, ", \"peer\": \"any\"");
    else if (step->verb != BARRIER)
        fprintf(out, ", \"%s\": %d", step->verb == BCAST ? "root" : "peer", step->peer);
    if (step->verb < BARRIER && step->tag < 0)
        fprintf(out, ", \"tag\": \"any\"");
    else if (step->verb < BARRIER)
        fprintf(out, ", \"tag\": %d", step->tag);
    if (step->verb != BARRIER)
        fprintf(out, ", \"count\": %d, \"type\": \"double\"", step->size);
    fprintf(out, "}\n");
}

/* In the file threads take turns as in one of the runs; every operation has a line of its own: its number. */
static struct trace *trace_of(const struct plan *plan)
{
    static char text[TEXT_MAX];
    struct failure failure = {0};
    FILE *out = fmemopen(text, sizeof text, "w");
    struct state state;
    int left = 0;
    memset(&state, 0, sizeof state);
    fprintf(out, "{\"simrun\": 1, \"ranks\": 2}\n");
    for (int comm = 1; comm <= 2; comm++)
        fprintf(out, "{\"comm\": %d, \"members\": [0, 1]}\n", comm);
    for (int lane = 0; lane < LANES; lane++)
        left += plan->length[lane];
    while (left > 0) {
        int lane = below(LANES), op = lane * OPS_MAX + state.at[lane];
        bool posted = state.posted[lane];
        if (!go_on(plan, &state, lane) || posted)
            continue;
        write_step(out, step_of(plan, op), lane, op + 1);
        left--;
    }
    size_t size = (size_t)ftell(out);
    fclose(out);
    struct trace *trace = format_read_memory("plan.jsonl", text, size, &failure);
    if (!trace)
        tap_note("%s", failure.text);
    return trace;
}

static void show(const struct plan *plan, unsigned long long seed, const char *what,
                 const struct findings *findings)
{
    static const char *const words[] = {"send", "receive", "barrier", "bcast"};
    tap_note("SIMRUN_SEED=%llu: %s; %s", seed, what,
             findings->count ? findings->items[0].detail : "nothing is found");
    for (int lane = 0; lane < LANES; lane++) {
        char line[200] = "";
        for (int k = 0; k < plan->length[lane]; k++) {
            const struct step *step = &plan->steps[lane][k];
            snprintf(line + strlen(line), sizeof line - strlen(line), " %s %d/%d on %d;",
                     words[step->verb], step->peer, step->tag, step->comm);
        }
        tap_note("rank %d, thread %d:%s", rank_of(lane), lane % 2, line);
    }
}

struct tally {
    unsigned asked, races, missed, false_alarms, wrong_words;
};

/* Its two operations, of which it says whether they fit each other. */
static bool is_true(const struct search *search, const struct trace *trace,
                    const struct finding *finding, bool *alike)
{
    int ops[2];
    for (int i = 0; i < 2; i++)
        ops[i] = trace->sites[trace->ops[finding->ops[i].op].form->site].line - 1;
    const struct step *a = step_of(search->plan, ops[0]), *b = step_of(search->plan, ops[1]);
    bool fit = a->verb == b->verb && (a->verb == BARRIER || a->size == b->size);
    *alike = fit == !strcmp(finding->code, "R002");
    return finding->op_count == 2 && is_race(search, ops[0], ops[1]);
}

static void judge(const struct search *search, unsigned long long seed, struct tally *tally)
{
    struct trace *trace = trace_of(search->plan);
    struct check_options options;
    struct check_context context;
    struct findings findings;
    bool race = false;
    for (int a = 0; a < ALL; a++)
        for (int b = 0; b < ALL; b++)
            race = race || is_race(search, a, b);
    check_options_init(&options);
    findings_init(&findings);
    check_context_init(&context, trace, &options);
    check_threads(&context, &findings);
    unsigned before = tally->missed + tally->false_alarms + tally->wrong_words;
    bool found = false;
    for (size_t i = 0; i < findings.count; i++) {
        bool alike;
        found |= is_true(search, trace, &findings.items[i], &alike);
        tally->wrong_words += !alike;
    }
    tally->asked++;
    tally->races += race;
    tally->missed += race && !found;
    tally->false_alarms +=
        !race && findings.count > 0; /* where one is open, others follow from it */
    if (tally->missed + tally->false_alarms + tally->wrong_words > before)
        show(search->plan, seed, race ? "a race" : "no race", &findings);
    check_context_release(&context);
    findings_release(&findings);
    trace_free(trace);
}

/* Between two sends of one channel stand so many, of one other tag or each of its own: told, or said not to have been looked
 * at. */
static void far_apart(unsigned between, bool each, bool told)
{
    char *text = NULL;
    size_t size = 0;
    struct failure failure = {0};
    FILE *out = open_memstream(&text, &size);
    fprintf(out, "{\"simrun\": 1, \"ranks\": 2}\n");
    for (unsigned i = 0; i < between + 2; i++)
        fprintf(out,
                "{\"op\": \"Bsend\", \"rank\": 0, \"thread\": %d, \"peer\": 1, \"tag\": %d, "
                "\"count\": 1, \"type\": \"double\"}\n",
                i > 0,
                i == 0 || i == between + 1 ? 0
                : each                     ? (int)i
                                           : 1);
    fclose(out);
    struct trace *trace = format_read_memory("plan.jsonl", text, size, &failure);
    struct check_options options;
    struct check_context context;
    struct findings findings;
    check_options_init(&options);
    findings_init(&findings);
    check_context_init(&context, trace, &options);
    check_threads(&context, &findings);
    tap_is_int(findings.count, told, "%u sends of %s apart, %s", between,
               each ? "their own tags" : "one other tag", told ? "told" : "not told");
    tap_is_int(coverage_missed(trace_coverage(trace), COVERAGE_COMPLETE) > 0, !told,
               "and said not to have been looked at%s", told ? ": no" : "");
    check_context_release(&context);
    findings_release(&findings);
    trace_free(trace);
    free(text);
}

int main(void)
{
    struct dice_seeds seeds = dice_seeds(800);
    struct tally tally = {0};
    struct state *states = calloc(STATES_MAX, sizeof *states), start;
    for (unsigned long long seed = seeds.first; states && seed < seeds.first + seeds.count;
         seed++) {
        struct plan plan = plan_new(seed);
        struct search search = {.plan = &plan, .seen = states};
        memset(&start, 0, sizeof start);
        visit(&search, &start);
        if (!search.hangs && search.count < STATES_MAX)
            judge(&search, seed, &tally);
    }
    free(states);
    tap_note("%u plans, %u with operations that nothing orders", tally.asked, tally.races);
    tap_is_int(tally.missed, 0, "what can come either way round is told");
    tap_is_int(tally.false_alarms, 0, "nothing else is");
    tap_is_int(tally.wrong_words, 0, "and whether the two fit each other");
    tap_ok(tally.races * 5 > tally.asked && tally.races * 10 < tally.asked * 9 &&
               tally.asked * 2 > seeds.count,
           "there are both kinds");
    far_apart(100, false, true);
    far_apart(100000, false, true);
    far_apart(200, true, true);
    far_apart(1000, true, false);
    return tap_done();
}
