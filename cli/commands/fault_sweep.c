/* All single faults of a kind, and all pairs of crashes: see fault_sweep.h. */
#include "cli/commands/fault_sweep.h"

#include "cli/processes/interrupt.h"
#include "cli/telling/results.h"

#include "checker/places.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { UNHANDLED_MAX = 64, WAITS_TEXT = 400 };
static const double seconds_each = 10;

enum ending { HANDLED, HANGS, ABORTS, CRASHES, ENDLESS, WRONG, OTHER_RESULT, ENDINGS };
static const char *const endings[ENDINGS] = {
    "handled", "the others hang", "aborts", "crashes", "does not end", "wrong", "another result"};

/* A place that is struck, and one way to fail there. */
struct unhandled {
    uint32_t op; /* of the undisturbed trace: the first that was struck there */
    enum ending ending;
    unsigned count;
    struct sim_fault fault;  /* the first */
    char ranks[80];          /* "1@17, 2@17"; of pairs "1@17+2@9" */
    char second[PLACE_TEXT]; /* of a pair: where the other one strikes; "" a single fault */
    char waits[WAITS_TEXT];  /* who waits where, after the first */
    char replay[RESULT_COMMAND];
};

/* What was struck: of a single fault the second rank is -1. A pair stands in the order of ranks. */
struct strike {
    int rank, second;
    uint32_t position, second_position;
    bool handled;
};

struct sweep {
    struct fault_sweep *asked;
    const struct trace *trace;
    struct unhandled *rows;
    size_t count;
    unsigned more; /* without a row */
    struct strike *strikes;
    size_t strike_count, strike_room;
};

static double seconds_left(const struct sweep *sweep)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return sweep->asked->deadline - ((double)now.tv_sec + (double)now.tv_nsec * 1e-9);
}

/* In which operation the fault struck (from 1), 0: it had no occasion. */
static uint32_t struck_at(const struct trace *trace, uint32_t rank)
{
    for (size_t i = 0; i < trace->note_count; i++) {
        const struct trace_note *note = &trace->notes[i];
        if (note->rank == rank && !strcmp(note->code, "X010") && note->op != TRACE_NO)
            return (uint32_t)(note->op - trace->rank_begin[rank] + 1);
    }
    return 0;
}

/* What the others print and end with. */
static bool same_result(const struct sweep *sweep, const struct job_result *run,
                        const struct sim_world_options *world)
{
    const struct job_result *usual = &sweep->asked->verdict->result;
    bool gone = world->faults[0].kind == SIM_FAULT_CRASH || world->faults[0].kind == SIM_FAULT_HANG;
    for (int rank = 0; rank < world->ranks; rank++) {
        if (gone &&
            (rank == world->faults[0].rank || rank == world->faults[world->fault_count - 1].rank))
            continue;
        if (rank < JOB_PRINTED_RANKS && run->printed_of[rank] != usual->printed_of[rank])
            return false;
        if (run->trace->rank_info[rank].exit_code != usual->trace->rank_info[rank].exit_code)
            return false;
    }
    return true;
}

static enum ending ending_of(const struct sweep *sweep, const struct verdict *verdict,
                             const struct sim_world_options *world)
{
    switch (verdict->result.outcome) {
    case OUTCOME_DEADLOCK:
    case OUTCOME_LIVELOCK:
        return HANGS;
    case OUTCOME_ABORTED:
        return ABORTS;
    case OUTCOME_CRASHED:
        return CRASHES;
    case OUTCOME_TIMEOUT:
    case OUTCOME_INTERRUPTED:
        return ENDLESS;
    case OUTCOME_FINISHED:
    case OUTCOME_IMPORTED:
        break;
    }
    if (!verdict->passed)
        return WRONG;
    return same_result(sweep, &verdict->result, world) ? HANDLED : OTHER_RESULT;
}

/* "rank 0, Recv at a.c:5; rank 2, ..." */
static void text_of_waits(const struct trace *trace, const struct sim_world_options *world,
                          char *text)
{
    char place[PLACE_TEXT];
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t rank = 0; rank < trace->ranks && used < WAITS_TEXT; rank++) {
        size_t end = trace->rank_begin[rank + 1];
        if ((int)rank == world->faults[0].rank ||
            (int)rank == world->faults[world->fault_count - 1].rank ||
            end == trace->rank_begin[rank] || trace->rank_info[rank].state != RANK_BLOCKED ||
            trace->ops[end - 1].state == STATE_COMPLETE)
            continue;
        used += (size_t)snprintf(text + used, WAITS_TEXT - used, "%s%s", used ? "; " : "",
                                 check_place(trace, (uint32_t)(end - 1), place, sizeof place));
    }
}

static struct unhandled *row_of(struct sweep *sweep, uint32_t op, enum ending ending,
                                const char *second)
{
    const struct trace_op *ops = sweep->trace->ops;
    for (size_t i = 0; i < sweep->count; i++) {
        struct unhandled *row = &sweep->rows[i];
        if (row->ending == ending && ops[row->op].form->site == ops[op].form->site &&
            ops[row->op].kind == ops[op].kind && !strcmp(row->second, second))
            return row;
    }
    if (sweep->count == UNHANDLED_MAX)
        return NULL;
    struct unhandled *row = &sweep->rows[sweep->count++];
    *row = (struct unhandled){.op = op, .ending = ending};
    snprintf(row->second, sizeof row->second, "%s", second);
    return row;
}

static void append_strike(struct unhandled *row, const struct strike *strike)
{
    char text[80];
    size_t used = strlen(row->ranks);
    snprintf(text, sizeof text, "%s%d@%u", used ? ", " : "", strike->rank, strike->position);
    if (strike->second >= 0)
        snprintf(text + strlen(text), sizeof text - strlen(text), " and %d@%u", strike->second,
                 strike->second_position);
    if (used + strlen(text) + 6 < sizeof row->ranks)
        strcat(row->ranks, text);
    else if (!strstr(row->ranks, "..."))
        strcat(row->ranks, ", ...");
}

static void note_unhandled(struct sweep *sweep, const struct job *job, const struct trace *trace,
                           const struct strike *strike, enum ending ending)
{
    const struct trace *usual = sweep->trace;
    char second[PLACE_TEXT] = "";
    size_t begin = usual->rank_begin[strike->rank], end = usual->rank_begin[strike->rank + 1];
    size_t op = begin + strike->position - 1 < end ? begin + strike->position - 1 : end - 1;
    if (strike->second >= 0)
        check_short_place(
            trace, (uint32_t)(trace->rank_begin[strike->second] + strike->second_position - 1),
            second, sizeof second);
    struct unhandled *row = row_of(sweep, (uint32_t)op, ending, second);
    if (!row) {
        sweep->more++;
        return;
    }
    append_strike(row, strike);
    if (row->count++)
        return;
    row->fault = job->world.faults[0];
    text_of_waits(trace, &job->world, row->waits);
    result_command(sweep->asked->options, job, row->replay, sizeof row->replay);
}

static bool keep_strike(struct sweep *sweep, const struct strike *strike)
{
    if (sweep->strike_count == sweep->strike_room) {
        size_t room = sweep->strike_room ? 2 * sweep->strike_room : 64;
        struct strike *grown = realloc(sweep->strikes, room * sizeof *grown);
        if (!grown)
            return false;
        sweep->strikes = grown;
        sweep->strike_room = room;
    }
    sweep->strikes[sweep->strike_count++] = *strike;
    return true;
}

static bool same_strike(const struct strike *a, const struct strike *b)
{
    bool same = a->rank == b->rank && a->position == b->position && a->second == b->second &&
                a->second_position == b->second_position;
    bool crossed = a->rank == b->second && a->position == b->second_position &&
                   a->second == b->rank && a->second_position == b->position;
    return same || crossed;
}

/* The one that was struck before, NULL: none. */
static const struct strike *strike_find(const struct sweep *sweep, const struct strike *strike)
{
    for (size_t i = 0; i < sweep->strike_count; i++)
        if (same_strike(&sweep->strikes[i], strike))
            return &sweep->strikes[i];
    return NULL;
}

/* A place that is struck only after another one is no single fault's. */
static bool handled_alone(const struct sweep *sweep, int rank, uint32_t position)
{
    const struct strike *alone =
        strike_find(sweep, &(struct strike){.rank = rank, .position = position, .second = -1});
    return !alone || alone->handled;
}

static bool count_strike(struct sweep *sweep, const struct job *job, const struct trace *trace,
                         struct strike *strike, enum ending ending)
{
    struct fault_sweep *asked = sweep->asked;
    strike->handled = ending == HANDLED;
    if (strike->second < 0) {
        asked->places++;
        asked->handled += strike->handled;
    } else if (strike_find(sweep, strike)) {
        return true;
    } else {
        asked->pair_places++;
        asked->pairs_handled += strike->handled;
    }
    bool known =
        strike->second >= 0 && !(handled_alone(sweep, strike->rank, strike->position) &&
                                 handled_alone(sweep, strike->second, strike->second_position));
    asked->pairs_known += known && !strike->handled;
    if (!strike->handled && !known)
        note_unhandled(sweep, job, trace, strike, ending);
    return !asked->pairs || keep_strike(sweep, strike);
}

/* One run with a fault, or two. Where the last of them struck; 0: nowhere. UINT32_MAX: it could not
 * be judged. */
static uint32_t run_one(struct sweep *sweep, const struct sim_fault *faults, size_t count)
{
    const struct fault_sweep *asked = sweep->asked;
    struct job job = *asked->job;
    struct run_options options = *asked->options;
    struct verdict verdict = {0};
    struct failure failure = {0};
    uint32_t position = UINT32_MAX;
    memcpy(job.faults, faults, count * sizeof *faults);
    job.world.faults = job.faults;
    job.world.fault_count = count;
    job.gradients =
        job.gradients && faults->kind != SIM_FAULT_CRASH && faults->kind != SIM_FAULT_HANG;
    job.quiet = true;
    job.notices = false;
    job.progress = NULL;
    job.timeout = seconds_left(sweep) < seconds_each ? seconds_left(sweep) : seconds_each;
    options.allow_count = 0; /* once, of the whole */
    bool judged = session_judge(&job, &options, &verdict, &failure) && verdict.result.trace &&
                  !interrupt_signal();
    bool cut_off = judged && verdict.result.outcome == OUTCOME_TIMEOUT && seconds_left(sweep) <= 0;
    if (judged && !cut_off) {
        const struct trace *trace = verdict.result.trace;
        struct strike strike = {.rank = faults[0].rank, .second = -1};
        strike.position = struck_at(trace, (uint32_t)faults[0].rank);
        position = struck_at(trace, (uint32_t)faults[count - 1].rank);
        if (count > 1) {
            strike.second = faults[1].rank;
            strike.second_position = position;
        }
        /* Where the first had no occasion any more it is no pair. */
        if (position && strike.position &&
            !count_strike(sweep, &job, trace, &strike, ending_of(sweep, &verdict, &job.world)))
            position = UINT32_MAX;
    }
    verdict_release(&verdict);
    return position;
}

/* Every operation of a rank in turn, alone or behind another fault; false when the time is over. */
static bool sweep_rank(struct sweep *sweep, int rank, int peer, const struct sim_fault *first)
{
    struct sim_fault faults[2] = {{0}};
    size_t count = 0;
    uint32_t struck,
        op = 1,
        operations =
            (uint32_t)(sweep->trace->rank_begin[rank + 1] - sweep->trace->rank_begin[rank]);
    if (first)
        faults[count++] = *first;
    else
        sweep->asked->operations += operations;
    /* Behind another one there may be more of them: until none strikes. */
    for (; first || op <= operations; op = struck + 1) {
        if (seconds_left(sweep) < 0.01 || interrupt_signal())
            return false;
        faults[count] = (struct sim_fault){sweep->asked->kind, rank, peer, op};
        struck = run_one(sweep, faults, count + 1);
        if (struck == UINT32_MAX)
            return false;
        if (struck == 0) /* nor does a later one */
            break;
        struck = struck < op ? op : struck;
    }
    return true;
}

/* Whichever crash comes first strikes where it does alone. */
static bool sweep_pairs(struct sweep *sweep)
{
    size_t singles = sweep->strike_count;
    for (size_t i = 0; i < singles; i++) {
        struct sim_fault first = {sweep->asked->kind, sweep->strikes[i].rank, 0,
                                  sweep->strikes[i].position};
        for (int rank = 0; rank < sweep->asked->job->world.ranks; rank++)
            if (rank != first.rank && !sweep_rank(sweep, rank, 0, &first))
                return false;
    }
    return true;
}

static void tell(const struct sweep *sweep, const struct unhandled *row)
{
    const struct verdict *verdict = sweep->asked->verdict;
    const char *kind = sim_fault_name(sweep->asked->kind);
    char place[PLACE_TEXT];
    const char *pair = row->second[0] ? " and another one at " : "";
    check_short_place(verdict->result.trace, row->op, place, sizeof place);
    struct finding *finding = findings_add(
        &sweep->asked->verdict->findings, "X010", "%s%s not handled at %s%s%s: %s", kind,
        pair[0] ? ", then a second one," : "", place, pair, row->second, endings[row->ending]);
    finding->site = sweep->trace->ops[row->op].form->site;
    finding->confirmation = CONFIRM_REAL;
    finding_op_add(finding, row->op, "culprit");
    finding_detail(finding, "%u such %s%s (rank@operation): %s.\n", row->count,
                   pair[0] ? "pair" : "fault", row->count == 1 ? "" : "s", row->ranks);
    if (row->waits[0])
        finding_detail(finding, "Then these wait for ever: %s.\n", row->waits);
    if (row->ending == OTHER_RESULT)
        finding_detail(finding, "The other ranks print something else, or end with another code, "
                                "than without the fault.\n");
    finding_detail(finding, "The first of them: %s\n", row->replay);
    finding_seal(finding, verdict->result.trace);
}

void fault_sweep_run(struct fault_sweep *asked)
{
    struct sweep sweep = {.asked = asked, .trace = asked->verdict->result.trace};
    struct trace *trace = asked->verdict->result.trace;
    const char *kind = sim_fault_name(asked->kind);
    int ranks = asked->job->world.ranks;
    sweep.rows = calloc(UNHANDLED_MAX, sizeof *sweep.rows);
    asked->complete = sweep.rows != NULL;
    for (int rank = 0; rank < ranks && asked->complete; rank++) {
        if (asked->kind != SIM_FAULT_CUT)
            asked->complete = sweep_rank(&sweep, rank, 0, NULL);
        for (int peer = 0; asked->kind == SIM_FAULT_CUT && peer < ranks && asked->complete; peer++)
            asked->complete = peer == rank || sweep_rank(&sweep, rank, peer, NULL);
    }
    if (asked->pairs && asked->complete)
        asked->complete = sweep_pairs(&sweep);
    for (size_t i = 0; i < sweep.count; i++)
        tell(&sweep, &sweep.rows[i]);
    trace_gap(trace, "faults", !asked->complete, "%s (%s) beyond the budget",
              asked->pairs ? "single faults, or pairs of them" : "single faults", kind);
    trace_gap(trace, "faults", asked->pairs && ranks > 2, "three faults (%s) and more in one run",
              kind);
    trace_gap(trace, "faults", sweep.more, "further ways not to handle a %s", kind);
    trace_gap(trace, "faults",
              ranks > JOB_PRINTED_RANKS ? (uint64_t)(ranks - JOB_PRINTED_RANKS) : 0,
              "what ranks from %d on print after a %s", JOB_PRINTED_RANKS, kind);
    free(sweep.rows);
    free(sweep.strikes);
}
