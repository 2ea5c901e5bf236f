/* Running a job: the parent's side. The child may die at any instant; what it noted on the board
 * and in the recorder's buffers stays. */
#include "cli/running/job.h"

#include "cli/options/schedule.h"
#include "cli/running/board.h"
#include "cli/running/child.h"
#include "cli/running/first_failure.h"
#include "cli/running/interrupt.h"
#include "cli/running/rank_output.h"
#include "cli/running/watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

char **job_arguments(const struct job *job, int *argc)
{
    char **words = job->argv + job->sources_more;
    words[0] = job->argv[0];
    *argc = job->argc - job->sources_more;
    return words;
}

static uint64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Nobody's program dies of SIGKILL by its own fault: that came from outside, as an interruption
 * does.
 */
static void describe_end(int status, struct job_result *result)
{
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        result->outcome = OUTCOME_INTERRUPTED;
    if (WIFSIGNALED(status))
        snprintf(result->crash, sizeof result->crash,
                 "the process that ran the ranks was killed by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(result->crash, sizeof result->crash,
                 "the process that ran the ranks ended with status %d before the run was over",
                 WEXITSTATUS(status));
}

static void read_board(const struct board *board, struct job_result *result)
{
    result->steps = board->steps;
    result->switches = board->switches;
    result->choices_made = board->choices_made;
    result->started_ns = board->started_ns;
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
static void note_ends(struct recording *recording, struct board *board)
{
    const struct sim_first_failure *first = &board->first_failure;
    if (board->stopped && first->rank >= 0 && !first->crashed) { /* the child could not say it */
        struct board_rank *row = &board->ranks[first->rank];
        row->state = first->aborted ? RANK_ABORTED : RANK_FINISHED;
        row->exit_code = first->exit_code;
        recording_rank_end(recording, (uint32_t)first->rank, (enum rank_state)row->state,
                           row->exit_code, NULL);
    }
    /* The time limit may find a rank in the middle of a call that would have gone on. */
    if (board->out_of_time && board->computing.rank >= 0)
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

static bool load_trace(const struct job *job, struct board *board, struct recording *recording,
                       struct job_result *result, struct failure *failure)
{
    struct board_locate context = {board, job->object};
    note_ends(recording, board);
    result->trace =
        recording_load(recording,
                       &(struct recording_result){.outcome = result->outcome,
                                                  .seed = job->world.seed,
                                                  .program = job->name,
                                                  .model = model_name(job->world.send_model),
                                                  .locate = board_locate,
                                                  .locate_context = &context,
                                                  .progress = job->progress},
                       failure);
    if (result->trace)
        tell_unchecked(job, result->trace);
    for (int i = 0; result->trace && i < BOARD_WARNINGS && board->warnings[i][0]; i++)
        trace_gap(result->trace, "run", 1, "%.*s", (int)sizeof board->warnings[i],
                  board->warnings[i]);
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
static bool load_ends(const struct job *job, struct board *board, struct job_result *result,
                      struct failure *failure)
{
    struct recording *ends =
        recording_new((uint32_t)job->world.ranks, RECORD_LEVEL_FINDINGS, failure);
    bool good = ends && load_trace(job, board, ends, result, failure);
    recording_free(ends);
    return good;
}

static bool run_with(const struct job *job, struct board *board, struct rank_output *output,
                     struct recording *recording, struct job_result *result,
                     struct failure *failure)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        child_main(job, board, output, recording);
    if (child < 0) {
        failure_set(failure, FAILURE_INTERNAL, "cannot start a process: %s", strerror(errno));
        return false;
    }
    if (recording)
        recording_feed(recording);
    bool timed_out;
    int status = watch_child(&(struct watch){job, board, recording, child}, &timed_out);
    rank_output_finish(output);
    result->printed = rank_output_printed(output);
    read_board(board, result);
    result->ended_ns = board->finished_ns ? board->finished_ns : monotonic_ns();
    if (board->failure_code) {
        failure_set(failure, board->failure_code, "%s", board->failure);
        return false;
    }
    if (board->first_failure.rank >= 0 && board->first_failure.refused[0]) {
        failure_set(failure, FAILURE_USAGE, "%s: %s", job->name, board->first_failure.refused);
        return false;
    }
    if (interrupt_signal())
        result->outcome = OUTCOME_INTERRUPTED;
    else if (board->stopped)
        result->outcome = OUTCOME_CRASHED;
    else if (timed_out)
        result->outcome = OUTCOME_TIMEOUT;
    else if (board->outcome < 0)
        describe_end(status, result);
    bool good = true;
    if (recording)
        good = load_trace(job, board, recording, result, failure);
    else if (has_failed_rank(board))
        good = load_ends(job, board, result, failure);
    if (job->record == RECORD_LEVEL_NONE && result->trace && !result->trace->gradient_count &&
        !has_failed_rank(board)) { /* an empty trace would say that nothing happened */
        trace_free(result->trace);
        result->trace = NULL;
    }
    if (good && result->trace)
        cause_note(result->trace, board->first_failure.rank, job->restart);
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
        rank_output_free(output);
        board_free(board);
        return false;
    }
    struct recording *recording = NULL;
    enum record_level level = job->record;
    if (level == RECORD_LEVEL_NONE && job->gradients) /* for what the gradient check says */
        level = RECORD_LEVEL_FINDINGS;
    bool good = level == RECORD_LEVEL_NONE ||
                (recording = recording_new((uint32_t)job->world.ranks, level, failure)) != NULL;
    good = good && run_with(job, board, output, recording, result, failure);
    recording_free(recording);
    rank_output_free(output);
    board_free(board);
    return good;
}

bool job_run(const struct job *job, struct job_result *result, struct failure *failure)
{
    size_t count, at;
    if (!job->schedule)
        return run_free(job, result, failure);
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
    bool good = run_free(&steered, result, failure);
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
