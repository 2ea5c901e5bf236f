/* Running a job: the parent's side. The child may die at any instant; what it noted on the board and in the recorder's buffers stays. */
#include "cli/job.h"

#include "cli/board.h"
#include "cli/child.h"
#include "cli/command.h"

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

/* Waits until the child has ended, at most `seconds` (0: for ever). False: it is still alive. */
static bool wait_for(int pidfd, double seconds)
{
    int milliseconds = seconds > 0 ? (int)fmin(ceil(seconds * 1000), 1e9) : -1;
    struct pollfd entry = {.fd = pidfd, .events = POLLIN};
    int ready;
    do
        ready = poll(&entry, 1, milliseconds);
    while (ready < 0 && errno == EINTR);
    return ready > 0;
}

/* The watchdog: asks the child where it is, then ends it. */
static void end_child(pid_t child, int pidfd)
{
    kill(child, SIGUSR1);
    if (!wait_for(pidfd, 0.5))
        kill(child, SIGKILL);
}

static void describe_end(int status, struct job_result *result)
{
    if (WIFSIGNALED(status))
        snprintf(result->crash, sizeof result->crash, "the process that ran the ranks was killed by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(result->crash, sizeof result->crash, "the process that ran the ranks ended with status %d before the run was over",
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

bool job_run(const struct job *job, struct job_result *result, struct failure *failure)
{
    *result = (struct job_result){.outcome = OUTCOME_CRASHED};
    struct board *board = board_new(job->world.ranks);
    if (!board) {
        failure_set(failure, FAILURE_INTERNAL, "no shared memory for %d ranks: %s", job->world.ranks, strerror(errno));
        return false;
    }
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        child_main(job, board, NULL);
    if (child < 0) {
        failure_set(failure, FAILURE_INTERNAL, "cannot start a process: %s", strerror(errno));
        board_free(board);
        return false;
    }
    int pidfd = (int)syscall(SYS_pidfd_open, child, 0);
    bool timed_out = !wait_for(pidfd, job->timeout);
    if (timed_out)
        end_child(child, pidfd);
    int status;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    close(pidfd);
    result->ended_ns = monotonic_ns();
    read_board(board, result);
    bool good = !board->failure_code;
    if (!good)
        failure_set(failure, board->failure_code, "%s", board->failure);
    else if (timed_out)
        result->outcome = OUTCOME_TIMEOUT;
    else if (board->outcome < 0)
        describe_end(status, result);
    board_free(board);
    return good;
}

void job_result_release(struct job_result *result)
{
    if (result->trace)
        trace_free(result->trace);
    *result = (struct job_result){0};
}
