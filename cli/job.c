/* Running a job: the parent's side. The child may die at any instant; what it noted on the board
 * and in the recorder's buffers stays. */
#include "cli/job.h"

#include "cli/board.h"
#include "cli/child.h"
#include "cli/interrupt.h"
#include "cli/rank_output.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Waits until the child has ended, at most `seconds` (0: for ever) or until we are interrupted.
 * False: it is still alive. */
static bool wait_for(int pidfd, double seconds)
{
    int milliseconds = seconds > 0 ? (int)fmin(ceil(seconds * 1000), 1e9) : -1;
    struct pollfd entries[] = {{.fd = pidfd, .events = POLLIN},
                               {.fd = interrupt_descriptor(), .events = POLLIN}};
    int ready;
    do
        ready = poll(entries, 2, milliseconds);
    while (ready < 0 && errno == EINTR);
    return ready > 0 && entries[0].revents;
}

/* The watchdog: asks the child where it is, then ends it. */
static void end_child(pid_t child, int pidfd)
{
    struct pollfd entry = {.fd = pidfd, .events = POLLIN};
    kill(child, SIGUSR1);
    if (poll(&entry, 1, 500) <= 0)
        kill(child, SIGKILL);
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
    result->started_ns = board->started_ns;
    result->stopped_ns = board->stopped_ns;
    if (board->outcome >= 0)
        result->outcome = (enum trace_outcome)board->outcome;
}

/* The clones of the program are not modules of this process: their addresses are found through the
 * board. */
struct locate_context {
    const struct job *job;
    const struct board *board;
};

static bool locate(void *context, uint32_t rank, uint64_t pc, const char **file, uint64_t *address)
{
    const struct locate_context *locate = context;
    if (rank >= (uint32_t)locate->board->ranks_count)
        return false;
    uint64_t offset = pc - locate->board->ranks[rank].bias;
    if (!locate->board->ranks[rank].bias || offset >= locate->board->image_size)
        return false;
    *file = locate->job->object;
    *address = offset;
    return true;
}

static const char *model_name(enum sim_send_model model)
{
    return model == SIM_SEND_EAGER        ? "eager"
           : model == SIM_SEND_RENDEZVOUS ? "rendezvous"
                                          : "batch";
}

/* Ranks that ended say so here, whether or not they could say it themselves. */
static void note_ends(struct recording *recording, const struct board *board)
{
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

static bool load_trace(const struct job *job, const struct board *board,
                       struct recording *recording, struct job_result *result,
                       struct failure *failure)
{
    struct locate_context context = {job, board};
    note_ends(recording, board);
    result->trace =
        recording_load(recording,
                       &(struct recording_result){.outcome = result->outcome,
                                                  .seed = job->world.seed,
                                                  .program = job->name,
                                                  .model = model_name(job->world.send_model),
                                                  .locate = locate,
                                                  .locate_context = &context},
                       failure);
    return result->trace != NULL;
}

/* Lets the child run to its end, or ends it; returns its wait status and whether it was ended. */
static int watch(pid_t child, double timeout, bool *timed_out)
{
    int pidfd = (int)syscall(SYS_pidfd_open, child, 0);
    *timed_out = !wait_for(pidfd, timeout);
    if (*timed_out)
        end_child(child, pidfd);
    int status;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    close(pidfd);
    return status;
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
    int status = watch(child, job->timeout, &timed_out);
    rank_output_finish(output);
    read_board(board, result);
    result->ended_ns = board->finished_ns ? board->finished_ns : monotonic_ns();
    if (board->failure_code) {
        failure_set(failure, board->failure_code, "%s", board->failure);
        return false;
    }
    if (interrupt_signal())
        result->outcome = OUTCOME_INTERRUPTED;
    else if (timed_out)
        result->outcome = OUTCOME_TIMEOUT;
    else if (board->outcome < 0)
        describe_end(status, result);
    return !recording || load_trace(job, board, recording, result, failure);
}

bool job_run(const struct job *job, struct job_result *result, struct failure *failure)
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
    bool good =
        job->record == RECORD_LEVEL_NONE ||
        (recording = recording_new((uint32_t)job->world.ranks, job->record, failure)) != NULL;
    good = good && run_with(job, board, output, recording, result, failure);
    recording_free(recording);
    rank_output_free(output);
    board_free(board);
    return good;
}

void job_result_release(struct job_result *result)
{
    if (result->trace)
        trace_free(result->trace);
    *result = (struct job_result){0};
}
