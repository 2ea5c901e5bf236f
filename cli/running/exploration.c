/* One exploration: see exploration.h. */
#include "cli/running/exploration.h"

#include "cli/processes/exit_status.h"
#include "cli/processes/interrupt.h"
#include "cli/processes/isolate.h"
#include "cli/processes/orphans.h"
#include "cli/processes/progress_bar.h"
#include "cli/processes/sandbox.h"
#include "cli/running/explore_worlds.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE = 2 /* seconds that the runs under way have to end when they are to stop */ };

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

bool exploration_is_hopeless(const struct explore_progress *progress, double spent, double all)
{
    double rate = spent > 0 ? (double)progress->runs / spent : 0;
    return progress->many_kinds ||
           progress->expected > (double)progress->runs + 4 * rate * (all - spent);
}

double exploration_share(double left, int numbers)
{
    return left > 0 ? left / numbers : 0;
}

static bool is_over(const struct job *job, const struct explore_board *board, double spent)
{
    struct explore_progress progress = {
        .runs = board->runs, .expected = (double)board->expected, .many_kinds = board->many_kinds};
    if (job->timeout > 0 && spent > job->timeout)
        return true;
    return job->patience > 0 && spent > job->patience && job->timeout > 0 &&
           exploration_is_hopeless(&progress, spent, job->timeout);
}

/* Until the child has ended; shows progress, and stops it on a signal or when time is over. */
static int watch(pid_t child, const struct job *job, struct explore_board *board, bool quiet)
{
    int pidfd = (int)syscall(SYS_pidfd_open, child, 0);
    struct pollfd entries[] = {{.fd = pidfd, .events = POLLIN},
                               {.fd = interrupt_descriptor(), .events = POLLIN}};
    struct progress_bar bar;
    double begun = seconds_now(), stopped = 0;
    progress_bar_init(&bar, quiet);
    for (;;) {
        int ready = poll(entries, interrupt_signal() ? 1 : 2, 100);
        if (ready > 0 && entries[0].revents)
            break;
        if (interrupt_signal() || is_over(job, board, seconds_now() - begun)) {
            stopped = board->stop ? stopped : seconds_now();
            board->stop = 1;
        }
        if (board->stop && seconds_now() - stopped > PATIENCE) /* a run that does not end */
            kill(child, SIGKILL);
        uint64_t runs = board->runs, expected = board->expected;
        progress_report(&bar.base, "exploring", runs, expected > runs ? expected : 0, "runs");
    }
    progress_bar_clear(&bar);
    close(pidfd);
    return orphans_wait(child);
}

static int refuse(struct exploration *exploration, int status, const char *text)
{
    failure_set(&exploration->failure, status, "%s", text);
    return status;
}

/* What the end of the child says. */
static int read_end(int ended, const struct job *job, const struct explore_board *board,
                    FILE *result, struct exploration *exploration)
{
    struct failure *failure = &exploration->failure;
    exploration->runs = board->runs;
    if (WIFSIGNALED(ended) && board->stop)
        return failure_set(failure,
                           interrupt_signal() == SIGTERM  ? EXIT_TERMINATED
                           : interrupt_signal() == SIGINT ? EXIT_INTERRUPTED
                                                          : EXIT_TIMEOUT,
                           "%s, %d ranks: stopped in a run that had not ended, after %llu that had",
                           job->name, job->world.ranks, (unsigned long long)board->runs);
    if (WIFSIGNALED(ended))
        return failure_set(failure, EXIT_FINDINGS,
                           "after %llu runs the process of the worlds was killed by signal %d "
                           "(%s);\n'simrun run' of the same program shows where",
                           (unsigned long long)board->runs, WTERMSIG(ended),
                           strsignal(WTERMSIG(ended)));
    if (WEXITSTATUS(ended) != EXIT_PASSED)
        return WEXITSTATUS(ended); /* it has said why */
    if (board->first_failure.rank >= 0 && board->first_failure.refused[0])
        return failure_set(failure, EXIT_USAGE, "%s: %s", job->name, board->first_failure.refused);
    if (board->unable.code)
        return failure_set(failure, board->unable.code, "%s", board->unable.text);
    if (!explore_worlds_end(result, &exploration->report))
        return refuse(exploration, EXIT_INTERNAL, "the worlds left no report");
    return EXIT_PASSED;
}

static void run_free(const struct job *job, const struct run_options *options, bool quiet,
                     struct exploration *exploration)
{
    struct explore_options bounds;
    struct explore_board *board = explore_board_new();
    FILE *result = tmpfile();
    *exploration = (struct exploration){.status = EXIT_INTERNAL};
    explore_options_init(&bounds);
    bounds.workers = (unsigned)job->workers;
    bounds.runs_max = options->runs_max;
    orphans_adopt();
    isolate_judge_begin();
    pid_t child = board && result ? explore_worlds_begin(job, &bounds, board, result) : -1;
    if (child < 0)
        failure_set(&exploration->failure, EXIT_INTERNAL, "cannot start a process: %s",
                    strerror(errno));
    else
        exploration->status =
            read_end(watch(child, job, board, quiet), job, board, result, exploration);
    orphans_end();
    isolate_judge_end();
    if (result)
        fclose(result);
    if (board)
        explore_board_free(board);
}

void exploration_run(const struct job *job, const struct run_options *options, bool quiet,
                     struct exploration *exploration)
{
    char folder[SANDBOX_PATH] = "";
    struct job caged = *job;
    *exploration = (struct exploration){.status = EXIT_REQUIREMENT};
    if (job->sandbox && !sandbox_begin(folder, &exploration->failure))
        return;
    caged.scratch = job->sandbox ? folder : NULL;
    run_free(&caged, options, quiet, exploration);
    sandbox_end(folder);
}

void exploration_release(struct exploration *exploration)
{
    explore_report_release(&exploration->report);
}
