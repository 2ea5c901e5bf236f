/* Running a job: the parent's side. The child may die at any instant; what it noted on the board
 * and in the recorder's buffers stays. */
#include "cli/running/job.h"

#include "checker/context.h"
#include "cli/options/schedule.h"
#include "cli/processes/interrupt.h"
#include "cli/processes/isolate.h"
#include "cli/processes/orphans.h"
#include "cli/processes/sandbox.h"
#include "cli/processes/stopwatch.h"
#include "cli/running/board.h"
#include "cli/running/child.h"
#include "cli/running/death.h"
#include "cli/running/first_failure.h"
#include "cli/running/rank_output.h"
#include "cli/running/watch.h"
#include "sim/compile/compile.h"
#include "sim/compile/unseen.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void read_board(const struct board *board, struct job_result *result)
{
    result->steps = board->steps;
    result->switches = board->switches;
    result->choices_made = board->choices_made;
    result->threads_denied = board->first_failure.threads_denied > 0;
    result->stopped_ns = board->stopped_ns;
    if (board->outcome >= 0)
        result->outcome = (enum trace_outcome)board->outcome;
}

static const char *model_name(enum sim_send_model model)
{
    return model == SIM_SEND_EAGER        ? "eager"
           : model == SIM_SEND_RENDEZVOUS ? "rendezvous"
                                          : "batch";
}

/* Ranks that ended say so here, whether or not they could say it themselves. */
static void note_ends(struct recording *recording, struct board *board, enum watch_end end)
{
    const struct sim_first_failure *first = &board->first_failure;
    if (end == WATCH_FAILED && first->rank >= 0 &&
        !first->crashed) { /* the child could not say it */
        struct board_rank *row = &board->ranks[first->rank];
        row->state = first->aborted ? RANK_ABORTED : RANK_FINISHED;
        row->exit_code = first->exit_code;
        recording_rank_end(recording, (uint32_t)first->rank, (enum rank_state)row->state,
                           row->exit_code, NULL);
    }
    /* The time limit may find a rank in the middle of a call that would have gone on. */
    if ((end == WATCH_TIMEOUT || end == WATCH_FULL) && board->computing.rank >= 0)
        recording_rank_end(recording, (uint32_t)board->computing.rank, RANK_RUNNING, 0, NULL);
    for (int r = 0; r < board->ranks_count; r++) {
        const struct board_rank *row = &board->ranks[r];
        bool ended =
            row->state == RANK_CRASHED ||
            (board->outcome >= 0 && row->state != RANK_BLOCKED && row->state != RANK_RUNNING);
        if (ended)
            recording_rank_end(recording, (uint32_t)r, (enum rank_state)row->state, row->exit_code,
                               (const void *)(uintptr_t)row->place);
    }
}

/* A program that differentiates, and whose gradients nobody compared with anything. */
static void tell_unchecked(const struct job *job, const struct trace *trace)
{
    if (trace->gradient_count || !trace->pass_count || trace->outcome != OUTCOME_FINISHED)
        return;
    trace_gap(trace, "gradients", 1, "%s",
              job->gradients ? "gradients: no input is marked, so that none was checked"
                             : "gradients: not checked (--no-gradients)");
}

/* What one run leaves behind, from which its result is made. `board` is a private copy. */
struct remains {
    const struct job *job;
    struct board *board;
    struct recording *recording; /* NULL: nothing was recorded, or it cannot be believed */
    enum watch_end end;
    int status;       /* as waitpid said it */
    uint64_t over_ns; /* when it did */
    struct death_before before;
    char damage[200]; /* what the program wrote over, "" nothing */
};

/* Operations that a run which was cut off is judged by: what it did first, and where it was. */
enum { CUT_OFF_OPS = 1000000 };

static bool is_cut_off(enum watch_end end)
{
    return end == WATCH_TIMEOUT || end == WATCH_FULL;
}

/* Of a long record, what loading took on the way goes back to the system. Then what one check gives
 * free the next one takes: pages that go back and come again cost more than the checks do. To be called when the trace is there: its tables are
 * mappings of their own, which grow in place, and what they outgrew is no hole in the heap. */
static void keep_freed_memory(const struct recording *recording)
{
    enum { LONG = 256 << 20, PAD = 64 << 20 };
#ifdef __GLIBC__
    if (recording_size(recording) < LONG)
        return;
    malloc_trim(0);
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, -1);
    mallopt(M_TOP_PAD, PAD);
#endif
}

/* What was loaded is to be matched, too, which takes as long. */
struct loading {
    struct time_limit *limit;
    uint64_t began_ns;
};

static bool is_over(void *context)
{
    const struct loading *loading = context;
    double spent = (double)(stopwatch_now() - loading->began_ns) * 1e-9;
    loading->limit->passed |= time_limit_left(loading->limit) <= spent;
    return loading->limit->passed;
}

static bool load_trace(struct remains *remains, struct recording *recording,
                       struct job_result *result, struct failure *failure)
{
    const struct job *job = remains->job;
    struct board_locate context = {remains->board, job->world.ranks, job->object};
    struct loading loading = {&result->limit, stopwatch_now()};
    note_ends(recording, remains->board, remains->end);
    result->trace = recording_load(
        recording,
        &(struct recording_result){.outcome = result->outcome,
                                   .seed = job->world.seed,
                                   .program = job->name,
                                   .model = model_name(job->world.send_model),
                                   .locate = board_locate,
                                   .locate_context = &context,
                                   .progress = job->progress,
                                   .over = is_over,
                                   .over_context = &loading,
                                   .ops_max = is_cut_off(remains->end) ? CUT_OFF_OPS : 0},
        failure);
    keep_freed_memory(recording);
    result->cut_off |= result->limit.passed;
    if (result->trace && result->limit.passed)
        trace_gap(result->trace, "run", 1,
                  "what was recorded was not read to its end, since time ran out: only where each "
                  "rank was is judged");
    if (result->trace)
        tell_unchecked(job, result->trace);
    for (int i = 0; result->trace && i < BOARD_WARNINGS && remains->board->warnings[i][0]; i++)
        trace_gap(result->trace, "run", 1, "%.*s", (int)sizeof remains->board->warnings[i],
                  remains->board->warnings[i]);
    return result->trace != NULL;
}

/* A rank that crashed, aborted or ended with another code than 0. */
static bool has_failed_rank(const struct board *board)
{
    for (int r = 0; r < board->ranks_count; r++)
        if (board->ranks[r].state == RANK_CRASHED || board->ranks[r].state == RANK_ABORTED ||
            (board->ranks[r].state == RANK_FINISHED && board->ranks[r].exit_code))
            return true;
    return board->first_failure.rank >= 0;
}

/* Where nothing was recorded the board still knows how the ranks ended: a trace of nothing but
 * that. */
static bool load_ends(struct remains *remains, struct job_result *result, struct failure *failure)
{
    struct recording *ends =
        recording_new((uint32_t)remains->job->world.ranks, RECORD_LEVEL_FINDINGS, failure);
    bool good = ends && load_trace(remains, ends, result, failure);
    recording_free(ends);
    return good;
}

/* A trace of a record that somebody wrote into would tell of things that did not happen. */
static bool load_damaged(struct remains *remains, struct job_result *result,
                         struct failure *failure)
{
    char text[400];
    result->outcome = OUTCOME_CRASHED;
    trace_free(result->trace);
    result->trace = NULL;
    if (!load_ends(remains, result, failure))
        return false;
    snprintf(
        text, sizeof text,
        "the program wrote over memory of simrun's own (%s); what it did cannot be judged from "
        "such a record: look for writes through wild pointers",
        remains->damage);
    int rank = remains->board->running > 0 ? remains->board->running : 0;
    trace_add_note(result->trace, &(struct trace_note){.code = "X009",
                                                       .rank = (uint32_t)rank,
                                                       .op = TRACE_NO,
                                                       .node = TRACE_NO,
                                                       .site = TRACE_NO,
                                                       .text = text});
    trace_gap(result->trace, "run", 1, "the record was written over: nothing in it was judged");
    return true;
}

static bool load(struct remains *remains, struct job_result *result, struct failure *failure)
{
    struct failure broken = {0};
    if (remains->damage[0])
        return load_damaged(remains, result, failure);
    if (!remains->recording)
        return !(has_failed_rank(remains->board) || result->crash[0]) ||
               load_ends(remains, result, failure);
    bool good = load_trace(remains, remains->recording, result, failure);
    if (!good || trace_check(result->trace, &broken))
        return good;
    snprintf(remains->damage, sizeof remains->damage, "%.150s", broken.text);
    return load_damaged(remains, result, failure);
}

/* Looked at while nobody can write any more. */
static void look_for_damage(struct remains *remains, bool board_damaged)
{
    bool well = remains->end == WATCH_ENDED && remains->board->outcome >= 0;
    if (board_damaged)
        snprintf(remains->damage, sizeof remains->damage, "the board on which it notes its end");
    else if (remains->recording)
        recording_is_damaged(remains->recording, well, remains->damage, sizeof remains->damage);
}

static enum trace_outcome outcome_of(const struct remains *remains, enum trace_outcome outcome)
{
    switch (remains->end) {
    case WATCH_INTERRUPTED:
        return OUTCOME_INTERRUPTED;
    case WATCH_FAILED:
    case WATCH_STOPPED:
        return OUTCOME_CRASHED;
    case WATCH_TIMEOUT:
    case WATCH_FULL:
        return OUTCOME_TIMEOUT;
    case WATCH_ENDED:
        break;
    }
    return interrupt_signal() ? OUTCOME_INTERRUPTED : outcome;
}

/* The process ended before it was through, and nobody else ended it. */
static bool died(const struct remains *remains)
{
    bool over =
        remains->board->outcome >= 0 && remains->board->checked && WIFEXITED(remains->status);
    return remains->end == WATCH_STOPPED ||
           (remains->end == WATCH_ENDED && !interrupt_signal() && !over);
}

/* By a constructor, or a thread of a rank's own. */
static void note_refused(struct trace *trace, const struct board *board)
{
    uint32_t rank = board->running > 0 ? (uint32_t)board->running : 0;
    if (board->refused[0])
        trace_add_note(trace, &(struct trace_note){.code = "X011",
                                                   .rank = rank,
                                                   .op = TRACE_NO,
                                                   .node = TRACE_NO,
                                                   .site = TRACE_NO,
                                                   .text = (char *)(uintptr_t)board->refused});
}

static void note_full(struct trace *trace, const struct recording *recording)
{
    char text[200];
    snprintf(text, sizeof text,
             "the record took all the memory there is for it, %.1f GB, and nothing in it can be "
             "left out; raise --record-limit, run fewer steps, or with --record none",
             (double)recording_kept(recording) * 1e-9);
    trace_add_note(
        trace,
        &(struct trace_note){
            .code = "X003", .op = TRACE_NO, .node = TRACE_NO, .site = TRACE_NO, .text = text});
}

/* A program that ended well and never began MPI: there is nothing to be judged. */
static bool is_without_mpi(const struct board *board)
{
    for (int r = 0; r < board->ranks_count; r++)
        if (board->ranks[r].initialized)
            return false;
    return board->outcome == OUTCOME_FINISHED && !has_failed_rank(board);
}

/* Whether anything but a call under way owns memory of the program's. */
static bool owns_memory(const struct trace *trace)
{
    if (trace->access_count)
        return true;
    for (size_t i = 0; i < trace->op_count; i++)
        if (check_is_start(&trace->ops[i]))
            return true;
    return false;
}

/* What the instrumentation leaves out. */
static void note_unseen(struct trace *trace, const char *object)
{
    char names[300] = "";
    if (sim_compiled_by_clang(object))
        trace_gap(trace, "memory", 1,
                  "elements of arrays on the stack, which clang does not instrument (CC=gcc does)");
    if (sim_compiled_moves_unseen(object))
        trace_gap(trace, "memory", 1,
                  "moves by gcc's own names (__builtin_memcpy, fortified headers, strings of "
                  "Fortran): gcc worked without simrun's plugin, which its headers for plugins "
                  "(gcc-12-plugin-dev) let it have");
    size_t count = owns_memory(trace) ? sim_compiled_unseen(object, names, sizeof names) : 0;
    trace_gap(trace, "memory", count, "what these read and write of pending buffers: %s%s", names,
              count > 6 ? " and others" : "");
}

static bool conclude(struct remains *remains, struct job_result *result, struct failure *failure)
{
    const struct board *board = remains->board;
    read_board(board, result);
    result->ended_ns = board->finished_ns ? board->finished_ns : remains->over_ns;
    result->checked_ns = board->checked_ns ? board->checked_ns : remains->over_ns;
    if (board->failure_code && !remains->damage[0]) {
        failure_set(failure, board->failure_code, "%s", board->failure);
        return false;
    }
    if (board->first_failure.rank >= 0 && board->first_failure.refused[0]) {
        failure_set(failure, FAILURE_USAGE, "%s: %s", remains->job->name,
                    board->first_failure.refused);
        return false;
    }
    if (!died(remains) && !remains->damage[0] && is_without_mpi(board)) {
        failure_set(
            failure, FAILURE_INPUT,
            "%s: no rank called MPI_Init: not an MPI program, or one of another MPI library; "
            "compile it with simcc",
            remains->job->name);
        return false;
    }
    if (remains->recording && remains->end == WATCH_ENDED && recording_is_full(remains->recording))
        remains->end = WATCH_FULL;
    result->outcome = outcome_of(remains, result->outcome);
    result->cut_off = is_cut_off(remains->end);
    if (died(remains)) {
        death_text(remains->status, remains->end, board, result->crash, sizeof result->crash);
        result->outcome = OUTCOME_CRASHED;
    }
    bool good = load(remains, result, failure);
    bool eventless = remains->job->record == RECORD_LEVEL_NONE && !has_failed_rank(board) &&
                     !remains->damage[0] && !died(remains) && !result->cut_off;
    if (good && eventless && result->trace && !result->trace->gradient_count) {
        trace_free(result->trace); /* an empty trace would say that nothing happened */
        result->trace = NULL;
    }
    if (!good || !result->trace)
        return good;
    if (!remains->damage[0])
        note_refused(result->trace, board);
    if (died(remains) && !remains->damage[0])
        death_note(result->trace, remains->status, remains->end, board, remains->before,
                   remains->job->object);
    if (result->threads_denied && result->outcome == OUTCOME_FINISHED && !has_failed_rank(board))
        trace_gap(result->trace, "threads", 1,
                  "what the program does where it is given the threads of MPI that it asked for "
                  "(--os-threads)");
    if (is_cut_off(remains->end) && !remains->damage[0])
        trace_gap(result->trace, "run", 1,
                  "the run was cut off: of what it had done, only where each rank was is judged");
    if (remains->end == WATCH_FULL && !remains->damage[0])
        note_full(result->trace, remains->recording);
    if (remains->end == WATCH_TIMEOUT && !remains->damage[0])
        death_note_standing(result->trace, board, remains->job->object);
    if (remains->job->world.memory)
        note_unseen(result->trace, remains->job->object);
    cause_note(result->trace, board->first_failure.rank, remains->job->restart);
    return true;
}

/* Every run reads a file on standard input from where the first one did: witnesses do what the
 * program did. */
static void begin_input(void)
{
    static bool known;
    static off_t beginning;
    if (!known)
        beginning = lseek(STDIN_FILENO, 0, SEEK_CUR);
    else if (beginning >= 0)
        lseek(STDIN_FILENO, beginning, SEEK_SET);
    known = true;
}

static bool run_with(const struct job *job, struct board *board, struct rank_output *output,
                     struct recording *recording, struct job_result *result,
                     struct failure *failure)
{
    struct remains remains = {.job = job, .recording = recording, .before = death_before()};
    remains.before.caged = job->scratch != NULL;
    uint64_t began = stopwatch_now();
    bool damaged;
    fflush(NULL);
    begin_input();
    orphans_adopt();
    isolate_judge_begin();
    pid_t child = fork();
    if (child == 0)
        child_main(job, board, output, recording);
    if (child < 0) {
        isolate_judge_end();
        failure_set(failure, FAILURE_INTERNAL, "cannot start a process: %s", strerror(errno));
        return false;
    }
    if (recording)
        recording_feed(recording);
    remains.status = watch_child(&(struct watch){job, board, recording, child}, &remains.end);
    remains.over_ns = stopwatch_now();
    time_limit_begin(&result->limit, job->timeout, began);
    orphans_end();
    isolate_judge_end();
    if (recording)
        recording_settle(recording);
    remains.board = board_take(board, job->world.ranks, &damaged);
    if (!remains.board) {
        failure_set(failure, FAILURE_INTERNAL, "out of memory for the ends of %d ranks",
                    job->world.ranks);
        return false;
    }
    look_for_damage(&remains, damaged);
    if (!remains.damage[0]) /* else who knows whose bytes these are */
        rank_output_finish(output, job->world.ranks);
    result->printed = rank_output_printed(output, job->world.ranks);
    for (int rank = 0; rank < job->world.ranks && rank < JOB_PRINTED_RANKS; rank++)
        result->printed_of[rank] = rank_output_printed_of(output, rank);
    bool good = conclude(&remains, result, failure);
    free(remains.board);
    return good;
}

static bool run_free(const struct job *job, struct job_result *result, struct failure *failure)
{
    *result = (struct job_result){.outcome = OUTCOME_CRASHED};
    struct board *board = board_new(job->world.ranks);
    struct rank_output *output = rank_output_new(job->world.ranks, job->tag_output);
    if (!board || !output) {
        failure_set(failure, FAILURE_INTERNAL, "no shared memory for %d ranks: %s",
                    job->world.ranks, strerror(errno));
        rank_output_free(output, job->world.ranks);
        board_free(board, job->world.ranks);
        return false;
    }
    struct recording *recording = NULL;
    enum record_level level = job->record;
    if (level == RECORD_LEVEL_NONE && job->gradients) /* for what the gradient check says */
        level = RECORD_LEVEL_FINDINGS;
    bool good = level == RECORD_LEVEL_NONE ||
                (recording = recording_new((uint32_t)job->world.ranks, level, failure)) != NULL;
    if (recording) {
        recording_fold(recording);
        recording_bound(recording, job->record_limit);
    }
    good = good && run_with(job, board, output, recording, result, failure);
    recording_free(recording);
    rank_output_free(output, job->world.ranks);
    board_free(board, job->world.ranks);
    return good;
}

static bool run_caged(const struct job *job, struct job_result *result, struct failure *failure)
{
    char folder[SANDBOX_PATH];
    if (!job->sandbox)
        return run_free(job, result, failure);
    *result = (struct job_result){.outcome = OUTCOME_CRASHED};
    if (!sandbox_begin(folder, failure))
        return false;
    struct job caged = *job;
    caged.scratch = folder;
    bool good = run_free(&caged, result, failure);
    sandbox_end(folder);
    return good;
}

bool job_run(const struct job *job, struct job_result *result, struct failure *failure)
{
    size_t count, at;
    if (!job->schedule)
        return run_caged(job, result, failure);
    struct explore_choice *choices = schedule_parse(job->schedule, &count, &at);
    if (!choices) {
        *result = (struct job_result){.outcome = OUTCOME_CRASHED};
        failure_set(failure, FAILURE_INPUT, "--schedule '%s': byte %zu is no choice", job->schedule,
                    at + 1);
        return false;
    }
    struct job steered = *job;
    steered.steer = explore_steer_new(choices, count);
    explore_steer_world(steered.steer, &steered.world);
    bool good = run_caged(&steered, result, failure);
    result->choices_missed = count - result->choices_made;
    explore_steer_free(steered.steer);
    free(choices);
    return good;
}

void job_result_release(struct job_result *result)
{
    if (result->trace)
        trace_free(result->trace);
    *result = (struct job_result){0};
}
