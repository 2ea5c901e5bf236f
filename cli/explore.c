/* simrun explore: every relevant interleaving of a program.
 *
 * The worlds run in a child process (explore_worlds.h). Each way in which some of them fail is run
 * once more, steered and recorded, so that it is told like the failure of any run. */
#include "checker/explore.h"
#include "checker/check.h"

#include "cli/command.h"
#include "cli/explore_worlds.h"
#include "cli/interrupt.h"
#include "cli/present.h"
#include "cli/progress_bar.h"
#include "cli/run_options.h"
#include "cli/session.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FAILURES_SHOWN = 4 };

/* The options of run, and one of its own. */
struct explore_command {
    struct run_options run; /* first: the rows of run set it */
    uint64_t runs_max;
};

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* ---- what is told ---- */

static const char *outcome_name(enum trace_outcome outcome)
{
    static const char *const names[] = {"finished", "deadlock", "livelock",    "aborted",
                                        "crashed",  "timeout",  "interrupted", "imported"};
    return names[outcome];
}

static void print_extent(const struct explore_report *report)
{
    if (report->diverged) {
        puts("nothing proven: the program did not do the same when run again; does it look at "
             "clocks,\n  random numbers or files it writes?");
    } else if (report->complete && report->polls) {
        puts("complete but for polls: what\n  Test, Iprobe and Waitsome see was taken as it came");
    } else if (report->complete) {
        puts("complete: there is no other");
    } else {
        printf("bounded: NOT all of them\n  at least %llu more",
               (unsigned long long)report->waiting);
        if (report->expected > (double)report->runs)
            printf(", by estimate %.3g in all", report->expected);
        puts("; --runs MOST raises the bound (0: none)");
    }
}

static bool is_good(const struct explore_report *report)
{
    return !report->failure_count && report->results <= 1 && !report->diverged;
}

static void print_report(const struct job *job, const struct explore_report *report,
                         const char *model, double seconds)
{
    unsigned long long begun = report->runs + report->redundant;
    printf("%s %s, %d rank%s%s%s: %llu run%s explored, ", is_good(report) ? "PASS" : "FAIL",
           job->name, job->world.ranks, job->world.ranks == 1 ? "" : "s", *model ? ", " : "", model,
           (unsigned long long)report->runs, report->runs == 1 ? "" : "s");
    print_extent(report);
    for (int i = 0; i < EXPLORE_OUTCOMES; i++)
        if (report->by_outcome[i])
            printf("  %-10s %llu\n", outcome_name((enum trace_outcome)i),
                   (unsigned long long)report->by_outcome[i]);
    if (report->results > 1)
        printf("  %llu different results among the runs that finished (R003)\n",
               (unsigned long long)report->results);
    if (report->redundant)
        printf("  %llu more were begun and ended when they could only repeat one of these\n",
               (unsigned long long)report->redundant);
    if (seconds > 0.1)
        printf("  %.1f s, %.0f runs a second\n", seconds, (double)begun / seconds);
}

static void print_choices(const struct explore_failure *failure)
{
    for (size_t i = 0; i < failure->choice_count; i++) {
        const struct explore_choice *choice = &failure->choices[i];
        printf("    rank %u: ", choice->rank);
        switch (choice->kind) {
        case SIM_TAKER_RECEIVE:
            printf("its receive number %u takes message %u from rank %u\n", choice->object + 1,
                   choice->number + 1, choice->source);
            break;
        case SIM_TAKER_PROBE:
            printf("its probe sees message %u from rank %u\n", choice->number + 1, choice->source);
            break;
        case SIM_TAKER_WAITANY:
            printf("Waitany reports request %u\n", choice->source);
            break;
        default:
            printf("takes number %u of what is ready\n", choice->source + 1);
        }
    }
}

/* Runs one failure again, recorded, and presents what the checker says of it. */
static void tell_failure(const struct job *job, const struct run_options *options,
                         const struct explore_failure *failure)
{
    struct explore_steer *steer = explore_steer_new(failure->choices, failure->choice_count);
    struct job again = *job;
    struct verdict verdict;
    struct failure trouble = {0};
    struct present present;
    printf("  %s with these choices:\n", outcome_name(failure->outcome));
    print_choices(failure);
    again.gradients = false;
    again.quiet = true;
    again.record = RECORD_LEVEL_OPS;
    explore_steer_world(steer, &again.world);
    present_init(&present, stdout, options->color);
    if (!session_judge(&again, options, &verdict, &trouble))
        fprintf(stderr, "simrun explore: %s\n", trouble.text);
    else if (verdict.result.outcome != failure->outcome)
        printf("  (run once more it ended otherwise: the program is not deterministic)\n");
    for (size_t i = 0; i < verdict.findings.count; i++)
        if (verdict.findings.items[i].severity == SEVERITY_ERROR)
            present_finding(&present, verdict.result.trace, &verdict.findings.items[i]);
    verdict_release(&verdict);
    explore_steer_free(steer);
}

/* ---- watching ---- */

/* Until the child has ended; shows progress, and stops it on a signal or when time is over. */
static int watch(pid_t child, const struct job *job, struct explore_board *board, bool quiet)
{
    int pidfd = (int)syscall(SYS_pidfd_open, child, 0), status;
    struct pollfd entries[] = {{.fd = pidfd, .events = POLLIN},
                               {.fd = interrupt_descriptor(), .events = POLLIN}};
    struct progress_bar bar;
    double begun = seconds_now();
    progress_bar_init(&bar, quiet);
    for (;;) {
        int ready = poll(entries, interrupt_signal() ? 1 : 2, 100);
        if (ready > 0 && entries[0].revents)
            break;
        if (interrupt_signal() || (job->timeout > 0 && seconds_now() - begun > job->timeout))
            board->stop = 1;
        uint64_t runs = board->runs, expected = board->expected;
        progress_tell(&bar.base, "exploring", runs, expected > runs ? expected : 0, "runs");
    }
    progress_bar_clear(&bar);
    close(pidfd);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

static int explore_job(const struct job *job, const struct explore_command *command,
                       const char *model)
{
    struct explore_options options;
    struct explore_report report = {0};
    struct explore_board *board = explore_board_new();
    FILE *result = tmpfile();
    int status = EXIT_INTERNAL;
    explore_options_init(&options);
    options.workers = (unsigned)job->workers;
    options.runs_max = command->runs_max;
    double begun = seconds_now();
    pid_t child = board && result ? explore_worlds_begin(job, &options, board, result) : -1;
    if (child < 0) {
        fprintf(stderr, "simrun explore: cannot start a process: %s\n", strerror(errno));
    } else {
        int ended = watch(child, job, board, command->run.quiet);
        if (WIFSIGNALED(ended)) {
            fprintf(stderr,
                    "simrun explore: after %llu runs the process of the worlds was killed by "
                    "signal %d (%s);\n'simrun run' of the same program shows where\n",
                    (unsigned long long)board->runs, WTERMSIG(ended), strsignal(WTERMSIG(ended)));
            status = EXIT_FINDINGS;
        } else if (WEXITSTATUS(ended) != EXIT_PASSED) {
            status = WEXITSTATUS(ended);
        } else if (explore_worlds_end(result, &report)) {
            print_report(job, &report, model, seconds_now() - begun);
            for (size_t i = 0; i < report.failure_count && i < FAILURES_SHOWN; i++)
                tell_failure(job, &command->run, &report.failures[i]);
            if (report.failure_count > FAILURES_SHOWN)
                printf("  and %zu more ways to fail\n", report.failure_count - FAILURES_SHOWN);
            status = report.failed ? EXIT_INTERNAL : is_good(&report) ? EXIT_PASSED : EXIT_FINDINGS;
            if (interrupt_signal())
                status = interrupt_signal() == SIGTERM ? EXIT_TERMINATED : EXIT_INTERRUPTED;
        }
    }
    explore_report_release(&report);
    if (result)
        fclose(result);
    if (board)
        explore_board_free(board);
    return status;
}

/* ---- the command ---- */

static bool set_runs(void *target, const char *value)
{
    char *end;
    ((struct explore_command *)target)->runs_max = strtoull(value, &end, 10);
    if (*value && !*end && *value != '-')
        return true;
    fprintf(stderr, "simrun explore: --runs '%s': expected a number, 0 for no bound\n", value);
    return false;
}

/* The rows of run, with --runs before them. */
static const struct option_row *all_rows(void)
{
    static struct option_row rows[80] = {
        {"runs", 0, "MOST", "runs after which to stop (default: 1000000, 0: no bound)", set_runs}};
    size_t count = 1;
    for (const struct option_row *row = run_option_rows; row->name && count < 79; row++)
        rows[count++] = *row;
    return rows;
}

static void command_reset(struct explore_command *command)
{
    *command = (struct explore_command){.runs_max = 1000000};
    run_options_init(&command->run);
}

/* A scenario's own options lie under those of the command line. */
static bool prepare(struct explore_command *command, int argc, char **argv, int at,
                    struct session_words *words, struct job *job, struct failure *failure)
{
    int ranks[64], count, program_count = argc - at;
    char **program = argv + at;
    command_reset(command);
    if (!session_entry(argv[at], &command->run, words, failure) ||
        options_parse("explore", all_rows(), command, argc, argv) < 0)
        return false;
    if (program_count == 1 && words->argc) {
        memmove(words->argv + 1, words->argv, (size_t)words->argc * sizeof *words->argv);
        words->argv[0] = argv[at];
        words->argv[++words->argc] = NULL;
        program = words->argv;
        program_count = words->argc;
    }
    if (!session_prepare(argv[at], program_count, program, &command->run, job, ranks, 64, &count,
                         failure))
        return false;
    job->world.ranks = command->run.rank_count ? command->run.ranks[0] : ranks[0];
    return true;
}

int command_explore(int argc, char **argv)
{
    struct explore_command command;
    struct session_words words;
    struct failure failure = {0};
    struct job job;
    command_reset(&command);
    int at = options_parse("explore", all_rows(), &command, argc, argv);
    if (at < 0)
        return EXIT_USAGE;
    if (command.run.help) {
        command_help(command_find("explore"));
        return EXIT_PASSED;
    }
    if (at >= argc) {
        fputs("simrun explore: no scenario given; see 'simrun list'\n", stderr);
        return EXIT_USAGE;
    }
    if (!prepare(&command, argc, argv, at, &words, &job, &failure)) {
        if (failure.text[0])
            fprintf(stderr, "simrun explore: %s\n", failure.text);
        return failure.code ? failure.code : EXIT_USAGE;
    }
    interrupt_install();
    if (!command.run.all_models)
        return explore_job(&job, &command, "");
    int status = EXIT_PASSED;
    for (int model = SIM_SEND_EAGER; model <= SIM_SEND_BATCH && !interrupt_signal(); model++) {
        job.world.send_model = (enum sim_send_model)model;
        status = command_worse(
            status, explore_job(&job, &command, check_model_name((enum check_model)(1u << model))));
    }
    return status;
}
