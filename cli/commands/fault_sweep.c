/* All single faults of a kind: see fault_sweep.h. */
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
    struct sim_fault fault; /* the first */
    char ranks[80];         /* "1@17, 2@17" */
    char waits[WAITS_TEXT]; /* who waits where, after the first */
    char replay[RESULT_COMMAND];
};

struct sweep {
    struct fault_sweep *asked;
    const struct trace *trace;
    struct unhandled *rows;
    size_t count;
    unsigned more; /* without a row */
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
                        const struct sim_fault *fault)
{
    const struct job_result *usual = &sweep->asked->verdict->result;
    bool gone = fault->kind == SIM_FAULT_CRASH || fault->kind == SIM_FAULT_HANG;
    for (int rank = 0; rank < sweep->asked->job->world.ranks; rank++) {
        if (gone && rank == fault->rank)
            continue;
        if (rank < JOB_PRINTED_RANKS && run->printed_of[rank] != usual->printed_of[rank])
            return false;
        if (run->trace->rank_info[rank].exit_code != usual->trace->rank_info[rank].exit_code)
            return false;
    }
    return true;
}

static enum ending ending_of(const struct sweep *sweep, const struct verdict *verdict,
                             const struct sim_fault *fault)
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
    return same_result(sweep, &verdict->result, fault) ? HANDLED : OTHER_RESULT;
}

/* "rank 0, Recv at a.c:5; rank 2, ..." */
static void text_of_waits(const struct trace *trace, uint32_t struck, char *text)
{
    char place[PLACE_TEXT];
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t rank = 0; rank < trace->ranks && used < WAITS_TEXT; rank++) {
        size_t end = trace->rank_begin[rank + 1];
        if (rank == struck || end == trace->rank_begin[rank] ||
            trace->rank_info[rank].state != RANK_BLOCKED ||
            trace->ops[end - 1].state == STATE_COMPLETE)
            continue;
        used += (size_t)snprintf(text + used, WAITS_TEXT - used, "%s%s", used ? "; " : "",
                                 check_place(trace, (uint32_t)(end - 1), place, sizeof place));
    }
}

static struct unhandled *row_of(struct sweep *sweep, uint32_t op, enum ending ending)
{
    const struct trace_op *ops = sweep->trace->ops;
    for (size_t i = 0; i < sweep->count; i++) {
        struct unhandled *row = &sweep->rows[i];
        if (row->ending == ending && ops[row->op].site == ops[op].site &&
            ops[row->op].kind == ops[op].kind)
            return row;
    }
    if (sweep->count == UNHANDLED_MAX)
        return NULL;
    struct unhandled *row = &sweep->rows[sweep->count++];
    *row = (struct unhandled){.op = op, .ending = ending};
    return row;
}

static void note_unhandled(struct sweep *sweep, const struct job *job, const struct trace *trace,
                           uint32_t position, enum ending ending)
{
    const struct sim_fault *fault = &job->world.faults[0];
    size_t begin = sweep->trace->rank_begin[fault->rank],
           end = sweep->trace->rank_begin[fault->rank + 1];
    size_t op = begin + position - 1 < end ? begin + position - 1 : end - 1;
    struct unhandled *row = row_of(sweep, (uint32_t)op, ending);
    if (!row) {
        sweep->more++;
        return;
    }
    size_t used = strlen(row->ranks);
    if (used + 24 < sizeof row->ranks)
        snprintf(row->ranks + used, sizeof row->ranks - used, "%s%d@%u", used ? ", " : "",
                 fault->rank, position);
    else if (used + 6 < sizeof row->ranks && !strstr(row->ranks, "..."))
        strcat(row->ranks, ", ...");
    if (row->count++)
        return;
    row->fault = *fault;
    text_of_waits(trace, (uint32_t)fault->rank, row->waits);
    result_command(sweep->asked->options, job, row->replay, sizeof row->replay);
}

/* One run. Where it struck; 0: nowhere. UINT32_MAX: it could not be judged. */
static uint32_t run_one(struct sweep *sweep, const struct sim_fault *fault)
{
    const struct fault_sweep *asked = sweep->asked;
    struct job job = *asked->job;
    struct run_options options = *asked->options;
    struct verdict verdict = {0};
    struct failure failure = {0};
    uint32_t position = UINT32_MAX;
    job.faults[0] = *fault;
    job.world.faults = job.faults;
    job.world.fault_count = 1;
    job.gradients =
        job.gradients && fault->kind != SIM_FAULT_CRASH && fault->kind != SIM_FAULT_HANG;
    job.quiet = true;
    job.notices = false;
    job.progress = NULL;
    job.timeout = seconds_left(sweep) < seconds_each ? seconds_left(sweep) : seconds_each;
    options.allow_count = 0; /* once, of the whole */
    bool judged = session_judge(&job, &options, &verdict, &failure) && verdict.result.trace &&
                  !interrupt_signal();
    bool cut_off = judged && verdict.result.outcome == OUTCOME_TIMEOUT && seconds_left(sweep) <= 0;
    if (judged && !cut_off) {
        position = struck_at(verdict.result.trace, (uint32_t)fault->rank);
        enum ending ending = ending_of(sweep, &verdict, fault);
        sweep->asked->places += position > 0;
        sweep->asked->handled += position > 0 && ending == HANDLED;
        if (position && ending != HANDLED)
            note_unhandled(sweep, &job, verdict.result.trace, position, ending);
    }
    verdict_release(&verdict);
    return position;
}

/* Every operation of a rank in turn; false when the time is over. */
static bool sweep_rank(struct sweep *sweep, int rank, int peer)
{
    uint32_t operations =
        (uint32_t)(sweep->trace->rank_begin[rank + 1] - sweep->trace->rank_begin[rank]);
    sweep->asked->operations += operations;
    for (uint32_t op = 1, struck; op <= operations; op = struck + 1) {
        if (seconds_left(sweep) < 0.01 || interrupt_signal())
            return false;
        struck = run_one(sweep, &(struct sim_fault){sweep->asked->kind, rank, peer, op});
        if (struck == UINT32_MAX)
            return false;
        if (struck == 0) /* nor does a later one */
            break;
        struck = struck < op ? op : struck;
    }
    return true;
}

static void tell(const struct sweep *sweep, const struct unhandled *row)
{
    const struct verdict *verdict = sweep->asked->verdict;
    const char *kind = sim_fault_name(sweep->asked->kind);
    char place[PLACE_TEXT];
    struct finding *finding =
        findings_add(&sweep->asked->verdict->findings, "X010", "%s not handled at %s: %s", kind,
                     check_short_place(verdict->result.trace, row->op, place, sizeof place),
                     endings[row->ending]);
    finding->site = sweep->trace->ops[row->op].site;
    finding->confirmation = CONFIRM_REAL;
    finding_op_add(finding, row->op, "culprit");
    finding_detail(finding, "%u such fault%s (rank@operation): %s.\n", row->count,
                   row->count == 1 ? "" : "s", row->ranks);
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
            asked->complete = sweep_rank(&sweep, rank, 0);
        for (int peer = 0; asked->kind == SIM_FAULT_CUT && peer < ranks && asked->complete; peer++)
            asked->complete = peer == rank || sweep_rank(&sweep, rank, peer);
    }
    for (size_t i = 0; i < sweep.count; i++)
        tell(&sweep, &sweep.rows[i]);
    trace_gap(trace, "faults", !asked->complete, "single faults (%s) beyond the budget", kind);
    trace_gap(trace, "faults", sweep.more, "further ways not to handle a %s", kind);
    trace_gap(trace, "faults",
              ranks > JOB_PRINTED_RANKS ? (uint64_t)(ranks - JOB_PRINTED_RANKS) : 0,
              "what ranks from %d on print after a %s", JOB_PRINTED_RANKS, kind);
    free(sweep.rows);
}
