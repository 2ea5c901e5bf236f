/* simrun explore: every relevant interleaving of a program.
 *
 * The worlds run in a child process (running/explore_worlds.h). Each way in which some of them fail
 * is run once more, steered and recorded, so that it is reported like the failure of any run. */
#include "checker/explore/explore.h"
#include "checker/check.h"

#include "cli/command.h"
#include "cli/commands/prove.h"
#include "cli/options/run_options.h"
#include "cli/options/schedule.h"
#include "cli/processes/interrupt.h"
#include "cli/running/exploration.h"
#include "cli/running/printed.h"
#include "cli/running/session.h"
#include "cli/telling/present.h"
#include "cli/telling/results.h"
#include "traces/trace/names.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FAILURES_SHOWN = 4 };

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* ---- what is printed ---- */

static void print_extent(const struct explore_report *report)
{
    if (report->diverged) {
        puts("nothing proven: the program did not do the same when run again; does it look at "
             "clocks,\n  random numbers or files it writes?");
    } else if (report->complete) {
        puts("complete: there is no other");
    } else if (report->exhausted) {
        printf("not complete: others are possible");
        for (size_t i = 0; explore_gap_text(report->gaps, i); i++)
            printf("\n  %s", explore_gap_text(report->gaps, i));
        putchar('\n');
    } else {
        printf("bounded: NOT all of them\n  at least %llu more",
               (unsigned long long)report->waiting);
        if (report->expected > (double)report->runs)
            printf(", by estimate %.3g in all", report->expected);
        puts("; --runs MOST raises the bound (0: none)");
    }
}

static void print_report(const struct job *job, const struct explore_report *report, bool good,
                         const char *model, double seconds)
{
    unsigned long long begun = report->runs + report->redundant;
    printf("%s %s, %d rank%s%s%s: %llu run%s explored, ", good ? "PASS" : "FAIL", job->name,
           job->world.ranks, job->world.ranks == 1 ? "" : "s", *model ? ", " : "", model,
           (unsigned long long)report->runs, report->runs == 1 ? "" : "s");
    print_extent(report);
    for (int i = 0; i < EXPLORE_OUTCOMES; i++)
        if (report->by_outcome[i])
            printf("  %-10s %llu\n", trace_name(trace_outcome_names, (enum trace_outcome)i),
                   (unsigned long long)report->by_outcome[i]);
    if (report->ended_badly)
        printf("  in %llu of them a rank ended with an error\n",
               (unsigned long long)report->ended_badly);
    if (report->results > 1)
        printf("  %llu different results among the runs that finished (R003)\n",
               (unsigned long long)report->results);
    if (report->kinds > report->example_count)
        printf("  %llu kinds of runs by what their ranks did, of which %zu were judged\n",
               (unsigned long long)report->kinds, report->example_count);
    if (report->redundant)
        printf("  %llu more were begun and ended when they could only repeat one of these\n",
               (unsigned long long)report->redundant);
    if (seconds > 0.1)
        printf("  %.1f s, %.0f runs a second\n", seconds, (double)begun / seconds);
}

/* ---- judging ---- */

/* A run of the exploration once more, recorded and judged like any other. */
struct judged {
    const struct explore_failure *run;
    char *schedule;
    struct verdict verdict;
    bool again; /* the same came of it */
    bool fails;
    int unable; /* it could not be run once more: the exit status, 0 where it could */
};

/* What may happen under other orders is for the exploration to find: here counts what did. */
static bool has_happened(const struct run_options *options, const struct finding *finding)
{
    return !finding->allowed && finding->severity >= run_options_threshold(options) &&
           finding->confirmation == CONFIRM_HAPPENED;
}

static void judge(struct judged *judged, const struct explore_failure *run, bool failed,
                  const struct job *job, const struct run_options *options)
{
    struct job again = *job;
    struct failure failure = {0};
    *judged =
        (struct judged){.run = run, .schedule = schedule_text(run->choices, run->choice_count)};
    if (interrupt_signal()) { /* no more runs */
        judged->again = true;
        judged->fails = failed;
        return;
    }
    again.schedule = judged->schedule;
    again.gradients = false;
    again.quiet = true;
    again.record = RECORD_LEVEL_OPS;
    if (!session_judge(&again, options, &judged->verdict, &failure)) {
        fprintf(stderr, "simrun explore: %s\n", failure.text);
        judged->unable = failure.code;
        return;
    }
    const struct findings *findings = &judged->verdict.findings;
    judged->again = judged->verdict.result.outcome == run->outcome;
    judged->fails = !judged->again || (failed && !judged->verdict.passed);
    for (size_t i = 0; i < findings->count; i++)
        judged->fails |= has_happened(options, &findings->items[i]);
}

static void judged_release(struct judged *judged, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        verdict_release(&judged[i].verdict);
        free(judged[i].schedule);
    }
    free(judged);
}

/* Every kind of failure that was kept, and one run of every kind that finished. */
static struct judged *judge_all(const struct explore_report *report, const struct job *job,
                                const struct run_options *options)
{
    size_t count = report->failure_count + report->example_count;
    struct judged *judged = calloc(count + 1, sizeof *judged);
    if (!judged)
        abort();
    for (size_t i = 0; i < report->failure_count; i++)
        judge(&judged[i], &report->failures[i], true, job, options);
    for (size_t i = 0; i < report->example_count; i++)
        judge(&judged[report->failure_count + i], &report->examples[i], false, job, options);
    return judged;
}

static bool is_good(const struct explore_report *report, const struct judged *judged,
                    const struct run_options *options)
{
    bool good = !report->diverged && !report->more_failures, same = report->results <= 1;
    for (size_t i = 0; i < report->failure_count + report->example_count; i++)
        good = good && !judged[i].fails;
    for (int i = 0; i < options->allow_count; i++)
        same = same || !strcmp(options->allow[i], "R003");
    return good && same;
}

/* ---- failures ---- */

static void print_choices(const struct explore_failure *failure)
{
    for (size_t i = 0; i < failure->choice_count; i++) {
        const struct explore_choice *choice = &failure->choices[i];
        printf("    rank %u: ", choice->rank);
        if (choice->source == SIM_NOTHING) {
            puts(choice->kind == SIM_TAKER_RECEIVE ? "a receive is cancelled in time"
                                                   : "a poll is told 'not yet'");
            continue;
        }
        switch (choice->kind) {
        case SIM_TAKER_RECEIVE:
            printf("its receive number %u takes message %u from rank %u\n", choice->object + 1,
                   choice->number + 1, choice->source);
            break;
        case SIM_TAKER_PROBE:
            printf("its probe sees message %u from rank %u\n", choice->number + 1, choice->source);
            break;
        case SIM_TAKER_LOCK:
            if (choice->source == SIM_NOBODY)
                printf("is the first to have the lock of rank %u's window\n", choice->number);
            else
                printf("has the lock next after rank %u\n", choice->source);
            break;
        case SIM_TAKER_WAITANY:
            printf("its call reports request %u\n", choice->source);
            break;
        default:
            printf("takes number %u of what is ready\n", choice->source + 1);
        }
    }
}

/* The command line that makes the choices of this run; the caller frees it. */
static char *replay_command(const struct judged *judged, const struct job *job,
                            const struct run_options *options)
{
    struct run_options again = *options;
    size_t size = strlen(judged->schedule) + RESULT_COMMAND;
    char *text = calloc(size, 1);
    if (!text)
        abort();
    again.schedule = judged->run->choice_count ? judged->schedule : NULL;
    result_command(&again, job, text, size);
    return text;
}

static void report_judged(const struct judged *judged, const struct job *job,
                          const struct run_options *options)
{
    const struct findings *findings = &judged->verdict.findings;
    struct present present;
    char *replay = replay_command(judged, job, options);
    printf("  %s%s%s\n", trace_name(trace_outcome_names, judged->run->outcome),
           judged->run->ended_badly ? ", a rank with an error," : "",
           judged->run->choice_count ? " with these choices:" : " without a choice to make");
    print_choices(judged->run);
    if (judged->verdict.result.trace && !judged->again)
        printf("  (run once more it ended otherwise: the program is not deterministic)\n");
    present_init(&present, stdout, options->color);
    present.replay = replay;
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].severity == SEVERITY_ERROR ||
            has_happened(options, &findings->items[i]))
            present_finding(&present, judged->verdict.result.trace, &findings->items[i]);
    if (!findings->count)
        printf("  replay  %s\n", replay);
    free(replay);
}

/* Two runs whose results differ, to be compared. */
static void report_results(const struct explore_report *report, const struct judged *judged,
                           const struct job *job, const struct run_options *options)
{
    if (report->results < 2 || report->example_count < 2)
        return;
    puts("R003 message-race: the result depends on the choices; two that differ:");
    size_t second = 1;
    while (second + 1 < report->example_count &&
           report->examples[second].fingerprint == report->examples[0].fingerprint)
        second++;
    const size_t shown[] = {0, second};
    for (size_t i = 0; i < 2; i++) {
        char *replay = replay_command(&judged[report->failure_count + shown[i]], job, options);
        printf("  replay  %s\n", replay);
        printed_show_difference(report->examples[shown[i]].printed,
                                report->examples[shown[!i]].printed);
        free(replay);
    }
}

static int tell(const struct explore_report *report, const struct job *job,
                const struct run_options *options, const char *model, double seconds)
{
    struct judged *judged = judge_all(report, job, options);
    size_t count = report->failure_count + report->example_count, failing = 0;
    bool good = is_good(report, judged, options);
    int unable = EXIT_PASSED;
    for (size_t i = 0; i < count; i++)
        unable = exit_status_worse(unable, judged[i].unable);
    if (unable) {
        judged_release(judged, count);
        return unable;
    }
    print_report(job, report, good, model, seconds);
    for (size_t i = 0; i < count; i++)
        if (judged[i].fails && failing++ < FAILURES_SHOWN)
            report_judged(&judged[i], job, options);
    if (failing > FAILURES_SHOWN)
        printf("  and %zu%s more ways to fail\n", failing - FAILURES_SHOWN,
               report->more_failures ? " or" : "");
    report_results(report, judged, job, options);
    judged_release(judged, count);
    if (good && (options->require & COVERAGE_COMPLETE) && !report->complete) {
        puts("  --require complete: not all of them were explored");
        return EXIT_UNCOVERED;
    }
    return good ? EXIT_PASSED : EXIT_FINDINGS;
}

/* ---- exploring ---- */

static int explore_job(const struct job *job, const struct run_options *options, const char *model)
{
    struct exploration exploration;
    double begun = seconds_now();
    exploration_run(job, options, options->quiet, &exploration);
    int status = exploration.status;
    if (status != EXIT_PASSED && exploration.failure.text[0])
        fprintf(stderr, "simrun explore: %s\n", exploration.failure.text);
    if (status == EXIT_PASSED)
        status = tell(&exploration.report, job, options, model, seconds_now() - begun);
    if (exploration.report.failed)
        status = EXIT_INTERNAL;
    if (interrupt_signal())
        status = interrupt_signal() == SIGTERM ? EXIT_TERMINATED : EXIT_INTERRUPTED;
    exploration_release(&exploration);
    return status;
}

static int explore_models(struct job *job, const struct run_options *options)
{
    int status = EXIT_PASSED;
    if (!options->all_models)
        return explore_job(job, options, "");
    for (int model = SIM_SEND_EAGER; model <= SIM_SEND_BATCH && !interrupt_signal(); model++) {
        job->world.send_model = (enum sim_send_model)model;
        status = exit_status_worse(
            status, explore_job(job, options, check_model_name((enum check_model)(1u << model))));
    }
    return status;
}

/* ---- the command ---- */

/* A scenario's own options lie under those of the command line. */
static bool prepare(struct run_options *options, int argc, char **argv, int at,
                    struct session_words *words, struct job *job, struct failure *failure)
{
    int ranks[64], count, program_count = argc - at;
    char **program = argv + at;
    run_options_init(options);
    options->database = NULL;
    if (!session_entry(argv[at], options, words, failure) ||
        options_parse("explore", explore_option_rows, options, argc, argv) < 0)
        return false;
    if (program_count == 1 && words->argc) {
        memmove(words->argv + 1, words->argv, (size_t)words->argc * sizeof *words->argv);
        words->argv[0] = argv[at];
        words->argv[++words->argc] = NULL;
        program = words->argv;
        program_count = words->argc;
    }
    if (!session_prepare(argv[at], program_count, program, options, job, ranks, 64, &count,
                         failure))
        return false;
    if (!options->rank_count)
        options->ranks[options->rank_count++] = ranks[0];
    return true;
}

/* Is it to be told to anybody but who looks at the terminal? */
static bool wants_outputs(const struct run_options *options)
{
    return options->tap || options->json || options->junit || options->html || options->dot ||
           options->github || options->sarif || options->database;
}

int command_explore(int argc, char **argv)
{
    struct run_options options;
    struct session_words words;
    struct failure failure = {0};
    struct job job;
    run_options_init(&options);
    int at = options_parse("explore", explore_option_rows, &options, argc, argv);
    if (at < 0)
        return EXIT_USAGE;
    if (options.help) {
        command_help(command_find("explore"));
        return EXIT_PASSED;
    }
    if (at >= argc) {
        fputs("simrun explore: no scenario given; see 'simrun list'\n", stderr);
        return EXIT_USAGE;
    }
    if (!prepare(&options, argc, argv, at, &words, &job, &failure)) {
        if (failure.text[0])
            fprintf(stderr, "simrun explore: %s\n", failure.text);
        return failure.code ? failure.code : EXIT_USAGE;
    }
    if (wants_outputs(&options))
        return prove_exploration(&options, &job);
    int status = EXIT_PASSED;
    interrupt_install();
    for (int i = 0; i < options.rank_count && !interrupt_signal(); i++) {
        job.world.ranks = options.ranks[i];
        status = exit_status_worse(status, explore_models(&job, &options));
    }
    return status;
}
