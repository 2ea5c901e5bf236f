/* A program hangs if it can hang while MPI buffers some of its standard sends and not others, and synchronises in some
 * of its collectives and not in others: of random programs with wildcards the checker must say so for one of the runs
 * in which nothing waits without need, of which it is told each, and of no other program. A naive model decides: it
 * takes every step there is, and lets any rank that stands for what it need not wait for go on or wait.
 *
 * Collectives are of any kind, of all ranks or of some, and may be started and waited for later.
 *
 * In every third program ranks look before they receive: they probe, from one rank or from any, and later receive by
 * name what they saw; or a matched probe takes the message out, and what comes between is received first.
 *
 * SIMRUN_SOAK=N tries N programs, from SIMRUN_SEED on. */
#include "checker/properties.h"
#include "tests/checker/check_program.h"
#include "tests/dice.h"

#include <string.h>

enum {
    RANKS_MAX = 4,
    STARTS_MAX = 6,
    PROBES_MAX = 2, /* of a rank */
    MESSAGES_MAX = 6,
    OPS_MAX = 2 * (STARTS_MAX + PROBES_MAX),
    MAIL_MAX = 16,
    STATES_MAX = 1 << 14,
    RUNS_MAX = 400
};
enum verb {
    SEND,
    SSEND,
    RECEIVE,
    ISEND,
    IRECEIVE,
    PROBE,
    TAKE, /* receives by name what a probe saw */
    MPROBE,
    MRECEIVE,
    WAIT,
    BARRIER,
    BCAST,
    REDUCE,
    SCAN
};

struct step {
    uint8_t verb;
    int8_t peer; /* -1: any; of a collective the root; of a wait the step that it waits for */
    int8_t tag;
    uint8_t probe;   /* its number on its rank, from 0; of what takes what it saw, the same */
    uint8_t number;  /* of a collective, the same on all ranks, from 0 */
    uint8_t members; /* of its communicator, a bit each */
    bool starts;     /* a collective that is waited for later */
};

struct plan {
    int ranks, length[RANKS_MAX];
    bool ran; /* else it is a plan: nothing has shown that collectives go on without the others */
    struct step steps[RANKS_MAX][OPS_MAX];
};

/* ---- programs ---- */

static uint64_t dice;

static int below(int n)
{
    return (int)dice_below(&dice, (uint32_t)n);
}

static bool is_member(const struct step *collective, int rank)
{
    return collective->members >> rank & 1;
}

static bool has_room(const struct plan *plan, int rank)
{
    return plan->length[rank] < STARTS_MAX;
}

static void add(struct plan *plan, int rank, struct step step)
{
    if (has_room(plan, rank))
        plan->steps[rank][plan->length[rank]++] = step;
}

/* A rank may do two things in another order. */
static void shuffle(struct plan *plan, int rank)
{
    struct step *step = plan->steps[rank];
    for (int k = 0; k + 1 < plan->length[rank]; k++) {
        struct step first = step[k];
        if (below(2) || first.verb >= BARRIER || step[k + 1].verb >= BARRIER)
            continue;
        step[k] = step[k + 1];
        step[k + 1] = first;
    }
}

/* Some of what is received is probed for before, just there or earlier. */
static void add_probes(struct plan *plan, int rank)
{
    struct step *steps = plan->steps[rank];
    bool matched = below(2);
    for (int k = 0, probes = 0; k < plan->length[rank] && probes < PROBES_MAX; k++) {
        if (steps[k].verb != RECEIVE || below(3) == 0)
            continue;
        int at = below(2) ? k : below(k + 1);
        struct step probe = steps[k];
        probe.verb = matched ? MPROBE : PROBE;
        probe.probe = (uint8_t)probes++;
        memmove(steps + at + 1, steps + at, (size_t)(plan->length[rank]++ - at) * sizeof *steps);
        steps[at] = probe;
        steps[++k].verb = matched ? MRECEIVE : TAKE;
        steps[k].probe = probe.probe;
    }
}

/* What is started is waited for at once or later. */
static void add_waits(struct plan *plan, int rank)
{
    struct step starts[STARTS_MAX + PROBES_MAX], *steps = plan->steps[rank];
    int count = plan->length[rank], waits[OPS_MAX], due[OPS_MAX], waiting = 0, at = 0;
    memcpy(starts, steps, (size_t)count * sizeof *starts);
    for (int k = 0; k <= count; k++) {
        for (int i = 0; i < waiting; i++)
            if (due[i] == 0 || k == count) {
                steps[at++] = (struct step){.verb = WAIT, .peer = (int8_t)waits[i]};
                waits[i] = waits[--waiting];
                due[i] = due[waiting];
                i--;
            } else {
                due[i]--;
            }
        if (k == count)
            break;
        if (starts[k].verb == ISEND || starts[k].verb == IRECEIVE || starts[k].starts) {
            waits[waiting] = at;
            due[waiting++] = below(3);
        }
        steps[at++] = starts[k];
    }
    plan->length[rank] = at;
}

/* Each message has a receive that could take it; in what order ranks do these things is by chance. */
static struct plan plan_new(uint64_t seed)
{
    struct plan plan = {.ranks = 3, .ran = seed % 5 > 0};
    dice = seed;
    plan.ranks += below(2);
    int messages = 3 + below(MESSAGES_MAX - 2), starts = below(2);
    bool collectives = below(2);
    for (int i = 0; i < messages; i++) {
        int from = below(plan.ranks), to = (from + 1 + below(plan.ranks - 1)) % plan.ranks;
        int8_t tag = below(4) == 0, source = (int8_t)(below(4) ? -1 : from);
        if (!has_room(&plan, from) || !has_room(&plan, to))
            continue;
        add(&plan, from,
            (struct step){.verb = starts && below(3) == 0 ? ISEND
                                  : below(6)              ? SEND
                                                          : SSEND,
                          .peer = (int8_t)to,
                          .tag = tag});
        add(&plan, to,
            (struct step){.verb = starts && below(3) == 0 ? IRECEIVE : RECEIVE,
                          .peer = source,
                          .tag = (int8_t)(below(4) ? tag : -1)});
        if (!collectives || below(3))
            continue;
        struct step all = {.verb = (uint8_t)(BARRIER + below(4)),
                           .peer = (int8_t)below(plan.ranks),
                           .number = (uint8_t)i,
                           .members = (uint8_t)((1 << plan.ranks) - 1)};
        bool room = true, part = below(3) == 0;
        all.starts = starts && below(3) == 0;
        for (int rank = 0; rank < plan.ranks; rank++) {
            if (part && rank != all.peer && below(2))
                all.members &= (uint8_t) ~(1 << rank);
            room = room && (!is_member(&all, rank) || has_room(&plan, rank));
        }
        for (int rank = 0; rank < plan.ranks && room; rank++)
            if (is_member(&all, rank))
                add(&plan, rank, all);
    }
    for (int rank = 0; rank < plan.ranks; rank++) {
        shuffle(&plan, rank);
        if (seed % 3 == 0)
            add_probes(&plan, rank);
        add_waits(&plan, rank);
    }
    return plan;
}

/* ---- the model ---- */

struct mail {
    int8_t from, to, tag, step;
};

struct state {
    uint8_t at[RANKS_MAX], begun[RANKS_MAX]; /* begun: the operation in which it stands */
    uint8_t came[MESSAGES_MAX];              /* to each collective, a bit for each rank */
    uint8_t loose[RANKS_MAX];                /* a bit for each that does not synchronise the rank */
    uint16_t done[RANKS_MAX];                /* a bit for each step: what was started is complete */
    uint8_t open_count[RANKS_MAX], open[RANKS_MAX][OPS_MAX]; /* receives, as posted */
    int8_t taken[RANKS_MAX][OPS_MAX][2]; /* by each receive: rank and step of the send */
    struct mail seen[RANKS_MAX][PROBES_MAX];
    uint8_t count;
    struct mail mail[MAIL_MAX]; /* as sent */
};

struct search {
    const struct plan *plan;
    bool eager;      /* no send waits without need */
    bool free;       /* no collective does */
    bool some;       /* else: whether somebody may go on */
    bool some_calls; /* in a collective, too */
    bool hangs, too_large;
    struct state *seen, *ends;
    size_t seen_count, end_count;
    uint32_t *index; /* of states by their hash, from 1 on */
};

static bool is_new(struct search *search, const struct state *state)
{
    const unsigned char *bytes = (const unsigned char *)state;
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < sizeof *state; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    size_t at = (hash ^ hash >> 29) % (2 * STATES_MAX);
    for (; search->index[at]; at = (at + 1) % (2 * STATES_MAX))
        if (!memcmp(&search->seen[search->index[at] - 1], state, sizeof *state))
            return false;
    search->too_large = search->too_large || search->seen_count == STATES_MAX;
    if (search->too_large)
        return false;
    search->seen[search->seen_count++] = *state;
    search->index[at] = (uint32_t)search->seen_count;
    return true;
}

static void walk(struct search *search, struct state state);

static bool is_send(uint8_t verb)
{
    return verb == SEND || verb == SSEND || verb == ISEND;
}

static void note_taken(struct state *state, int rank, int receive, const struct mail *mail)
{
    state->taken[rank][receive][0] = mail->from;
    state->taken[rank][receive][1] = mail->step;
    state->done[rank] |= (uint16_t)(1u << receive);
    state->done[mail->from] |= (uint16_t)(1u << mail->step);
}

static void begin(const struct search *search, struct state *state, int rank)
{
    int at = state->at[rank];
    const struct step *step = &search->plan->steps[rank][at];
    if (is_send(step->verb)) {
        state->mail[state->count++] =
            (struct mail){(int8_t)rank, step->peer, step->tag, (int8_t)at};
        if (search->eager && step->verb != SSEND)
            state->done[rank] |= (uint16_t)(1u << at);
    } else if (step->verb >= BARRIER) {
        state->came[step->number] |= (uint8_t)(1 << rank);
    } else if (step->verb == MRECEIVE) { /* it has had it since the probe */
        const struct mail *mail = &state->seen[rank][step->probe];
        note_taken(state, rank, at, mail);
    } else if (step->verb != PROBE && step->verb != MPROBE) {
        state->open[rank][state->open_count[rank]++] = (uint8_t)at;
    }
}

static bool all_came(const struct state *state, const struct step *step)
{
    return state->came[step->number] == step->members;
}

/* What it gets from the others is there. */
static bool has_data(const struct state *state, int rank, const struct step *step)
{
    uint8_t came = state->came[step->number], lower = step->members & (uint8_t)((1 << rank) - 1);
    if (step->verb == BARRIER)
        return false;
    if (step->verb == SCAN)
        return (came & lower) == lower;
    return step->verb == REDUCE ? step->peer != rank : came >> step->peer & 1;
}

/* Whether the rank is over with the operation that it has begun. */
static bool is_over(const struct search *search, const struct state *state, int rank)
{
    int at = state->at[rank];
    const struct step *step = &search->plan->steps[rank][at];
    if (step->verb == ISEND || step->verb == IRECEIVE || step->starts)
        return true;
    at = step->verb == WAIT ? step->peer : at;
    step = &search->plan->steps[rank][at];
    bool loose = search->free || (state->loose[rank] >> step->number & 1);
    if (step->verb >= BARRIER)
        return all_came(state, step) || (loose && has_data(state, rank, step));
    return state->done[rank] >> at & 1;
}

/* As far as the rank comes without anybody else; whether it moves. */
static bool advance(const struct search *search, struct state *state, int rank)
{
    bool moves = false;
    while (state->at[rank] < search->plan->length[rank]) {
        if (!state->begun[rank]) {
            state->begun[rank] = moves = true;
            if (search->plan->steps[rank][state->at[rank]].verb != WAIT)
                begin(search, state, rank);
        }
        if (!is_over(search, state, rank))
            break;
        state->begun[rank] = false;
        state->at[rank]++;
        moves = true;
    }
    return moves;
}

static bool fits(const struct plan *plan, const struct state *state, int rank, int receive,
                 const struct mail *mail)
{
    const struct step *step = &plan->steps[rank][receive];
    const struct mail *seen = &state->seen[rank][step->probe];
    if (step->verb == TAKE)
        return mail->to == rank && mail->from == seen->from && mail->tag == seen->tag;
    return mail->to == rank && (step->peer < 0 || step->peer == mail->from) &&
           (step->tag < 0 || step->tag == mail->tag);
}

/* It fits, and nothing does that its sender sent before. */
static bool is_first(const struct plan *plan, const struct state *state, int rank, int receive,
                     int item)
{
    for (int i = 0; i < item; i++)
        if (state->mail[i].from == state->mail[item].from &&
            fits(plan, state, rank, receive, &state->mail[i]))
            return false;
    return fits(plan, state, rank, receive, &state->mail[item]);
}

/* One of the first so many open receives takes the message if it is there. */
static bool is_claimed(const struct plan *plan, const struct state *state, int rank, int count,
                       int item)
{
    for (int i = 0; i < count; i++)
        if (fits(plan, state, rank, state->open[rank][i], &state->mail[item]))
            return true;
    return false;
}

/* Nothing that came earlier has the right to either. */
static bool may_match(const struct plan *plan, const struct state *state, int rank, int open,
                      int item)
{
    return !is_claimed(plan, state, rank, open, item) &&
           is_first(plan, state, rank, state->open[rank][open], item);
}

static void take_out(struct state *state, int item)
{
    for (int i = item; i + 1 < state->count; i++)
        state->mail[i] = state->mail[i + 1];
    memset(&state->mail[--state->count], 0, sizeof *state->mail);
}

static void match(struct search *search, struct state state, int rank, int open, int item)
{
    struct mail mail = state.mail[item];
    int receive = state.open[rank][open];
    take_out(&state, item);
    for (int i = open; i + 1 < state.open_count[rank]; i++)
        state.open[rank][i] = state.open[rank][i + 1];
    state.open[rank][--state.open_count[rank]] = 0;
    note_taken(&state, rank, receive, &mail);
    walk(search, state);
}

/* The rank stands in a probe, and no open receive takes the message when it comes. */
static bool may_see(const struct plan *plan, const struct state *state, int rank, int item)
{
    uint8_t at = state->at[rank],
            verb = at < plan->length[rank] ? plan->steps[rank][at].verb : SEND;
    return (verb == PROBE || verb == MPROBE) && is_first(plan, state, rank, at, item) &&
           !is_claimed(plan, state, rank, state->open_count[rank], item);
}

static void see(struct search *search, struct state state, int rank, int item)
{
    const struct step *step = &search->plan->steps[rank][state.at[rank]];
    state.seen[rank][step->probe] = state.mail[item];
    state.done[rank] |= (uint16_t)(1u << state.at[rank]);
    if (step->verb == MPROBE)
        take_out(&state, item);
    walk(search, state);
}

/* The rank does not wait for what it need not. */
static void loosen(struct search *search, struct state state, int rank)
{
    const struct step *steps = search->plan->steps[rank], *step = &steps[state.at[rank]];
    int which = step->verb == WAIT ? step->peer : state.at[rank];
    step = &steps[which];
    bool may = step->verb == SEND || step->verb == ISEND ||
               (search->some_calls && step->verb >= BARRIER && has_data(&state, rank, step));
    if (!may)
        return;
    if (step->verb >= BARRIER)
        state.loose[rank] |= (uint8_t)(1u << step->number);
    else
        state.done[rank] |= (uint16_t)(1u << which);
    walk(search, state);
}

static void walk(struct search *search, struct state state)
{
    const struct plan *plan = search->plan;
    bool moves = false, over = true;
    for (int rank = 0; rank < plan->ranks; rank++)
        if (advance(search, &state, rank))
            rank = -1;
    if (!is_new(search, &state))
        return;
    for (int rank = 0; rank < plan->ranks; rank++) {
        over = over && state.at[rank] == plan->length[rank];
        for (int open = 0; open < state.open_count[rank]; open++)
            for (int item = 0; item < state.count; item++)
                if (may_match(plan, &state, rank, open, item)) {
                    match(search, state, rank, open, item);
                    moves = true;
                }
        for (int item = 0; item < state.count; item++)
            if (may_see(plan, &state, rank, item)) {
                see(search, state, rank, item);
                moves = true;
            }
        if (search->some && state.at[rank] < plan->length[rank])
            loosen(search, state, rank);
    }
    search->hangs = search->hangs || (!moves && !over);
    if (moves || !over)
        return;
    search->too_large = search->too_large || search->end_count == RUNS_MAX;
    if (!search->too_large)
        search->ends[search->end_count++] = state;
}

static struct state *seen_states, *end_states;
static uint32_t *state_index;

static struct search search_all(const struct plan *plan, bool eager, bool free, bool some)
{
    struct search search = {.plan = plan,
                            .eager = eager,
                            .free = free,
                            .some = some,
                            .some_calls = some && plan->ran,
                            .seen = seen_states,
                            .ends = end_states,
                            .index = state_index};
    struct state state;
    memset(state_index, 0, 2 * STATES_MAX * sizeof *state_index);
    memset(&state, 0, sizeof state);
    memset(state.taken, 0xff, sizeof state.taken);
    walk(&search, state);
    return search;
}

/* ---- the checker, told of one run with eager sends ---- */

/* The communicator of these ranks. */
static uint32_t comm_of(struct program *p, uint8_t members)
{
    int32_t list[RANKS_MAX];
    uint32_t size = 0;
    for (int rank = 0; rank < RANKS_MAX; rank++)
        if (members >> rank & 1)
            list[size++] = rank;
    for (uint32_t comm = 0; comm < p->trace->comm_count; comm++)
        if (p->trace->comms[comm].size == size &&
            !memcmp(p->trace->comms[comm].members, list, size * sizeof *list))
            return comm;
    return program_comm(p, size, list);
}

/* How many calls on the same communicator the rank has before this one. */
static uint32_t calls_on(const struct plan *plan, int rank, int k)
{
    uint32_t count = 0;
    for (int i = 0; i < k; i++)
        count += plan->steps[rank][i].verb >= BARRIER &&
                 plan->steps[rank][i].members == plan->steps[rank][k].members;
    return count;
}

static void write_down(struct program *p, const struct plan *plan, const struct state *end,
                       int rank)
{
    static const enum op_kind kinds[] = {OP_SEND,  OP_SSEND, OP_RECV,   OP_ISEND, OP_IRECV,
                                         OP_PROBE, OP_RECV,  OP_MPROBE, OP_MRECV};
    static const enum op_kind calls[][4] = {{OP_BARRIER, OP_ALLREDUCE, OP_ALLGATHER, OP_ALLTOALLV},
                                            {OP_BCAST, OP_SCATTER, OP_SCATTERV, OP_BCAST},
                                            {OP_REDUCE, OP_GATHER, OP_GATHERV, OP_REDUCE},
                                            {OP_SCAN, OP_EXSCAN, OP_SCAN, OP_EXSCAN}};
    uint32_t ops[OPS_MAX], probes[PROBES_MAX], who = (uint32_t)rank;
    for (int k = 0; k < plan->length[rank]; k++) {
        const struct step *step = &plan->steps[rank][k];
        int line = 20 * rank + k;
        if (step->verb >= BARRIER) {
            uint32_t comm = comm_of(p, step->members);
            ops[k] = program_collective(p, who, calls[step->verb - BARRIER][step->number % 4], comm,
                                        calls_on(plan, rank, k), line);
            if (step->verb == BCAST || step->verb == REDUCE)
                p->trace->ops[ops[k]].peer = step->peer;
            if (step->starts)
                p->trace->ops[ops[k]].flags |= OP_NONBLOCKING;
        } else if (step->verb == WAIT) {
            program_wait(p, who, ops[step->peer], line);
        } else {
            const struct mail *seen = &end->seen[rank][step->probe];
            const int8_t *taken = end->taken[rank][k];
            int peer = step->verb == TAKE ? seen->from : step->peer;
            int tag = step->verb == TAKE ? seen->tag : step->tag;
            ops[k] = program_p2p(p, who, kinds[step->verb], peer < 0 ? TRACE_ANY : peer,
                                 tag < 0 ? TRACE_ANY : tag, line);
            if (step->verb == PROBE || step->verb == MPROBE) {
                trace_op_set_matched(p->trace, ops[k], seen->from, seen->tag);
                probes[step->probe] = ops[k];
            } else if (!is_send(step->verb)) {
                trace_op_set_matched(p->trace, ops[k], taken[0],
                                     plan->steps[taken[0]][taken[1]].tag);
            }
            if (step->verb == MRECEIVE) {
                p->trace->ops[ops[k]].request = probes[step->probe];
                p->trace->ops[probes[step->probe]].request = ops[k];
            }
        }
    }
}

static bool says_hang(const struct plan *plan, const struct state *end, bool *told)
{
    struct program p = program_new((uint32_t)plan->ranks);
    struct check_options options;
    struct check_context context;
    struct findings findings;
    for (int rank = 0; rank < plan->ranks; rank++)
        write_down(&p, plan, end, rank);
    p.trace->outcome = plan->ran ? OUTCOME_FINISHED : OUTCOME_IMPORTED;
    program_finish(&p);
    check_options_init(&options);
    findings_init(&findings);
    check_context_init(&context, p.trace, &options);
    check_models(&context, &findings);
    bool hangs = findings.count > 0;
    *told = hangs && strstr(findings.items[0].detail, "So it is where ");
    check_context_release(&context);
    findings_release(&findings);
    trace_free(p.trace);
    return hangs;
}

static void show(const struct plan *plan)
{
    static const char *const words[] = {"send",    "ssend", "recv",   "isend", "irecv",
                                        "probe",   "take",  "mprobe", "mrecv", "wait",
                                        "barrier", "bcast", "reduce", "scan"};
    for (int rank = 0; rank < plan->ranks; rank++) {
        char line[300] = "";
        for (int k = 0; k < plan->length[rank]; k++) {
            const struct step *step = &plan->steps[rank][k];
            snprintf(line + strlen(line), sizeof line - strlen(line), " %s %d/%d;",
                     words[step->verb], step->peer, step->tag);
        }
        tap_note("rank %d:%s", rank, line);
    }
}

int main(void)
{
    struct dice_seeds seeds = dice_seeds(4000);
    unsigned asked = 0, hang = 0, mixed = 0, missed = 0, false_alarms = 0, silent = 0;
    seen_states = calloc(STATES_MAX, sizeof *seen_states);
    end_states = calloc(RUNS_MAX, sizeof *end_states);
    state_index = calloc(2 * STATES_MAX, sizeof *state_index);
    if (!seen_states || !end_states || !state_index)
        return 1;
    for (unsigned long long i = 0; i < seeds.count; i++) {
        struct plan plan = plan_new(seeds.first + i);
        struct search waits = search_all(&plan, false, false, false);
        struct search mix = search_all(&plan, false, false, true);
        struct search strict = search_all(&plan, true, false, false);
        struct search eager = search_all(&plan, true, true, false);
        if (eager.hangs || mix.too_large || eager.too_large)
            continue;
        bool said = false, told = false;
        for (size_t k = 0; k < eager.end_count && !said; k++)
            said = says_hang(&plan, &eager.ends[k], &told);
        asked++;
        hang += mix.hangs;
        mixed += mix.hangs && !waits.hangs && !strict.hangs;
        missed += mix.hangs && !said;
        false_alarms += said && !mix.hangs;
        bool quiet = said && !waits.hangs && !strict.hangs && !told;
        silent += quiet;
        if (said == mix.hangs && !quiet)
            continue;
        tap_note("SIMRUN_SEED=%llu: %s", seeds.first + i,
                 !said   ? "can hang"
                 : quiet ? "does not say who has to go on"
                         : "said to hang");
        show(&plan);
    }
    free(seen_states);
    free(end_states);
    free(state_index);
    tap_note("%u programs, %u can hang, %u of them only if some wait and some do not", asked, hang,
             mixed);
    tap_is_int(missed, 0, "what can hang is said to");
    tap_is_int(false_alarms, 0, "nothing else is");
    tap_ok(asked * 3 > seeds.count && hang * 20 > asked && hang < asked, "there are both kinds");
    tap_is_int(silent, 0, "who has to go on for it is told");
    tap_ok(mixed > 0, "and some that only hang if some wait and some do not");
    return tap_done();
}
