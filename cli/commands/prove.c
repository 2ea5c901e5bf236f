/* simrun prove: everything at once, one verdict.
 *
 * The program runs as 'simrun run' does, with its gradients checked; then once under every other
 * progress model and with collectives that synchronise all their ranks; then its matches, probes
 * and completions are explored, under the model in which most can be under way and under the one in
 * which least can. What any of these finds is merged: a defect is reported once, with the models
 * that show it.
 *
 * PROVEN is said only where nothing was left out. Why these two explorations suffice: a send that
 * is buffered only adds runs, so that every match that can happen at all happens under eager sends;
 * of each kind of these runs the checker judges every buffering, of all sends, of none and of some, and collectives that
 * synchronise all, none or some of their ranks, with the matches as they were. Where the machine has a rank wait that MPI
 * may let go on (SIM_GAP_WAITING), the runs that this adds are a gap. The other exploration is of the runs in which nobody goes on before its partner has come. */
#include "checker/check.h"
#include "checker/places.h"
#include "checker/suppress.h"

#include "cli/command.h"
#include "cli/commands/fault_sweep.h"
#include "cli/commands/proof.h"
#include "cli/commands/prove.h"
#include "cli/options/run_options.h"
#include "cli/options/schedule.h"
#include "cli/processes/interrupt.h"
#include "cli/running/exploration.h"
#include "cli/running/session.h"
#include "cli/telling/outputs.h"
#include "cli/telling/results.h"
#include "cli/telling/run_store_write.h"
#include "traces/trace/names.h"
#include "verdict/merge.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- exploration ---- */

/* A run of the exploration once more, recorded and judged like any other. */
static bool judge_choices(struct proof *proof, const struct job *explored,
                          const struct explore_failure *run, const char *model, const char *how)
{
    char replay[RESULT_COMMAND];
    char *schedule = schedule_text(run->choices, run->choice_count);
    struct job job = *explored;
    struct run_options options = *proof->options;
    job.schedule = run->choice_count ? schedule : NULL;
    job.timeout = proof_seconds_left(proof);
    options.schedule = job.schedule;
    options.world.strict_collectives = job.world.strict_collectives;
    options.world.eager_limit = job.world.eager_limit;
    result_command(&options, &job, replay, sizeof replay);
    const struct merge_origin origin = {
        .model = model, .base = "eager", .how = how, .replay = replay, .explored = true};
    bool judged = !proof_over(proof) && proof_run_choices(proof, &job, &origin);
    free(schedule);
    return judged;
}

/* What is printed is part of every explored run's result, unless it goes past the library's calls. */
static bool is_print_unseen(const struct proof *proof, const struct explore_report *report)
{
    return proof->verdict->result.printed && report->runs > report->example_count &&
           !(report->example_count && report->examples[0].printed);
}

static bool always_ends_alike(const struct proof *proof, const struct explore_report *report)
{
    return report->results <= 1 && report->complete && !report->ended_badly &&
           report->by_outcome[OUTCOME_FINISHED] == report->runs && !proof->printed[0] &&
           !is_print_unseen(proof, report);
}

/* The command of a run of the exploration. */
static void example_command(const struct proof *proof, const struct job *job,
                            const struct explore_failure *run, char replay[RESULT_COMMAND])
{
    char *schedule = schedule_text(run->choices, run->choice_count);
    struct run_options options = *proof->options;
    options.schedule = schedule;
    result_command(&options, job, replay, RESULT_COMMAND);
    free(schedule);
}

/* How results differ, with the runs to be compared. */
static void tell_results(const struct proof *proof, const struct explore_report *report,
                         const struct job *job, struct finding *race)
{
    char replay[RESULT_COMMAND];
    if (proof->printed[0])
        finding_detail(race,
                       "Ranks print something else than in the first run when the choices are "
                       "those of\n%s\n",
                       proof->printed);
    if (report->results <= 1 || report->example_count < 2)
        return;
    size_t second = 1;
    while (second + 1 < report->example_count &&
           report->examples[second].fingerprint == report->examples[0].fingerprint)
        second++;
    finding_detail(race, "Of %llu runs that finished %llu have different results; two of them:\n",
                   (unsigned long long)report->by_outcome[OUTCOME_FINISHED],
                   (unsigned long long)report->results);
    example_command(proof, job, &report->examples[0], replay);
    finding_detail(race, "%s\n", replay);
    example_command(proof, job, &report->examples[second], replay);
    finding_detail(race, "%s\n", replay);
}

static struct finding *new_race(struct findings *findings, const struct trace *trace)
{
    uint32_t op = check_first_choice(trace);
    char place[PLACE_TEXT];
    if (op == TRACE_NO)
        return findings_add(findings, "R003", "the result depends on which message comes first");
    bool lock = trace->ops[op].kind == OP_WIN_LOCK || trace->ops[op].kind == OP_WIN_LOCK_ALL;
    struct finding *race = findings_add(
        findings, "R003", "the result depends on which %s first: %s",
        lock ? "lock is had" : "message comes", check_short_place(trace, op, place, sizeof place));
    race->site = trace->ops[op].form->site;
    finding_op_add(race, op, "culprit");
    return race;
}

/* Whether the runs differ only in who had a lock of a window first, which says that any order is
 * right. */
static bool differ_by_locks(const struct explore_report *report)
{
    for (size_t i = 0; i < report->example_count; i++)
        for (size_t k = 0; k < report->examples[i].choice_count; k++)
            if (report->examples[i].choices[k].kind != SIM_TAKER_LOCK)
                return false;
    return report->example_count > 0;
}

/* Nothing that was run ended otherwise, and some of it was left. */
static bool ends_alike_so_far(const struct proof *proof, const struct explore_report *report)
{
    return report->results <= 1 && !report->exhausted && !report->diverged &&
           !report->ended_badly && report->by_outcome[OUTCOME_FINISHED] == report->runs &&
           report->runs >= 1000 && !proof->printed[0] && !is_print_unseen(proof, report);
}

/* Different results are an error, but for locks; one result of all runs is what makes a race of messages harmless.
 * That of very many says so, too: those left are told as not covered. Where there is one run, no other message can come first: windows and partitioned messages order
 * what the trace leaves open. */
static void judge_results(struct proof *proof, const struct explore_report *report,
                          const struct job *job)
{
    struct findings *findings = &proof->verdict->findings;
    struct finding *race = NULL;
    for (size_t i = 0; i < findings->count; i++) {
        struct finding *finding = &findings->items[i];
        if (strcmp(finding->code, "R003") != 0)
            continue;
        if (always_ends_alike(proof, report) && report->runs == 1) {
            findings_remove(findings, i--);
            continue;
        }
        race = race ? race : finding;
        bool all = always_ends_alike(proof, report);
        if (!all && !ends_alike_so_far(proof, report))
            continue;
        finding->severity = SEVERITY_NOTE;
        finding_detail(finding, "All %llu runs that differ in a choice%s end with one result.\n",
                       (unsigned long long)report->runs, all ? "" : " and were explored");
    }
    if (report->results <= 1 && !proof->printed[0])
        return;
    bool locks = !race && differ_by_locks(report);
    if (locks)
        race = findings_add(findings, "R003",
                            "the result depends on who has a lock of a window first");
    else if (!race)
        race = new_race(findings, proof->verdict->result.trace);
    race->severity = locks ? SEVERITY_WARNING : SEVERITY_ERROR;
    tell_results(proof, report, job, race);
    race->confirmation = CONFIRM_REAL;
    finding_seal(race, proof->verdict->result.trace);
}

/* What the exploration did not reach. */
static void tell_unexplored(const struct proof *proof, const struct explore_report *report,
                            const char *under)
{
    const struct trace *trace = proof->verdict->result.trace;
    if (report->diverged)
        trace_gap(trace, "explore", 1,
                  "other matches under %s: the program did not do the same when run again", under);
    else if (!report->exhausted)
        trace_gap(trace, "explore", report->waiting ? report->waiting : 1,
                  "matches under %s beyond the budget", under);
    for (size_t i = 0; explore_gap_text(report->gaps, i); i++)
        trace_gap(trace, "explore", 1, "%s", explore_gap_text(report->gaps, i));
    if (report->more_failures)
        trace_gap(trace, "explore", 1, "further ways to fail under %s", under);
}

/* For an exploration that cannot be complete within the budget: unless that was asked for, or somebody only explores, the
 * last minute of it would tell little that its beginning did not, least of all where something is wrong already. */
static double patience_of(const struct proof *proof)
{
    const struct findings *findings = &proof->verdict->findings;
    if (proof->options->whole_budget || proof->options->exploring)
        return 0;
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].severity == SEVERITY_ERROR)
            return 2;
    return proof->budget < 36 ? proof->budget / 6 : 6;
}

static void explore_under(struct proof *proof, struct results *results, enum sim_send_model send,
                          bool strict, const char *under, double share)
{
    struct trace *trace = proof->verdict->result.trace;
    struct job job = proof_job(proof, send, strict);
    struct exploration exploration;
    char how[120];
    if (!proof->options->exploring)
        job.world.eager_limit =
            SIZE_MAX; /* MPI may buffer any send, and what is buffered only adds runs */
    proof_tell_step(proof, results, "exploring");
    if (proof_over(proof)) {
        trace_gap(trace, "explore", 1, "matches under %s: the budget was spent", under);
        return;
    }
    job.timeout = proof_seconds_left(proof) * share;
    job.patience = patience_of(proof);
    snprintf(how, sizeof how, "with other matches under %s", under);
    exploration_run(&job, proof->options, proof->options->quiet, &exploration);
    if (exploration.status != EXIT_PASSED) {
        trace_gap(trace, "explore", 1, "matches under %s: %s", under,
                  exploration.failure.text[0] ? exploration.failure.text : "no exploration");
        exploration_release(&exploration);
        return;
    }
    const struct explore_report *report = &exploration.report;
    uint64_t unjudged = 0;
    job.timeout = 0;
    for (size_t i = 0; i < report->failure_count; i++)
        unjudged += !judge_choices(proof, &job, &report->failures[i], trace_model_names[send], how);
    for (size_t i = 0; report->runs > 1 && i < report->example_count; i++)
        unjudged += !judge_choices(proof, &job, &report->examples[i], trace_model_names[send], how);
    if (report->kinds > report->example_count)
        unjudged += report->kinds - report->example_count;
    trace_gap(trace, "explore", unjudged, "kinds of runs under %s that were not judged one by one",
              under);
    tell_unexplored(proof, report, under);
    uint64_t compared = report->example_count + report->failure_count;
    if (is_print_unseen(proof, report) && report->runs > compared)
        trace_gap(trace, "explore", report->runs - compared,
                  "what ranks print in runs under %s that do the same otherwise", under);
    if (send == SIM_SEND_EAGER)
        judge_results(proof, report, &job);
    proof_cover(proof, "%llu run%s under %s%s", (unsigned long long)report->runs,
                report->runs == 1 ? "" : "s", under, report->complete ? ", all there are" : "");
    exploration_release(&exploration);
}

/* ---- one number of ranks ---- */

static bool is_decided_already(const struct verdict *verdict)
{
    return verdict->result.outcome != OUTCOME_FINISHED || !verdict->result.trace;
}

static void sweep_faults(struct proof *proof, struct results *results)
{
    const char *kind = proof->options->sweep;
    if (!kind)
        return;
    struct fault_sweep sweep = {
        .options = proof->options,
        .job = &proof->job,
        .verdict = proof->verdict,
        .kind = (enum sim_fault_kind)sim_fault_kind(kind, strlen(kind)),
        .pairs = proof->options->sweep_pairs,
        .deadline = proof->deadline,
    };
    proof_tell_step(proof, results, "faults");
    fault_sweep_run(&sweep);
    proof_cover(proof, "single faults (%s): %u operations, %u places, %u handled, %u not, %s", kind,
                sweep.operations, sweep.places, sweep.handled, sweep.places - sweep.handled,
                sweep.complete ? "all there are" : "not complete");
    if (sweep.pairs)
        proof_cover(
            proof,
            "pairs of faults (%s): %u places, %u handled, %u not (of %u one is not handled alone), "
            "%s",
            kind, sweep.pair_places, sweep.pairs_handled, sweep.pair_places - sweep.pairs_handled,
            sweep.pairs_known, sweep.complete ? "all there are" : "not complete");
}

/* Of `simrun explore`: the models that were asked for, and nothing else. */
static void explore_models(struct proof *proof, struct results *results)
{
    static const char *const under[] = {"eager sends", "sends that wait", "batches"};
    const struct job *job = &proof->job;
    for (int model = SIM_SEND_EAGER; model <= SIM_SEND_BATCH; model++)
        if (proof->options->all_models || model == (int)job->world.send_model)
            explore_under(proof, results, (enum sim_send_model)model, job->world.strict_collectives,
                          under[model], 1);
}

static void prove_more(struct proof *proof, struct results *results)
{
    struct verdict *verdict = proof->verdict;
    if (is_decided_already(verdict)) {
        if (verdict->result.trace)
            trace_gap(verdict->result.trace, "explore", 1,
                      "other models and matches: the first run did not finish");
        return;
    }
    if (proof->options->exploring) {
        explore_models(proof, results);
        suppress_consequences(&verdict->findings, 0, verdict->result.trace);
        findings_sort(&verdict->findings);
        return;
    }
    proof_run_models(proof, results);
    proof_run_late(proof, results);
    explore_under(proof, results, SIM_SEND_EAGER, false, "eager sends", 0.6);
    explore_under(proof, results, SIM_SEND_RENDEZVOUS, true, "sends and collectives that wait",
                  0.8);
    suppress_consequences(&verdict->findings, 0, verdict->result.trace);
    sweep_faults(proof, results);
    findings_sort(&verdict->findings);
}

/* Ranks are fibers, and one asked MPI for threads and was given less: it may do something else where it
 * gets them. */
static bool wants_threads(const struct job *job, const struct verdict *verdict)
{
    return job->world.executor != SIM_THREADS && verdict->result.threads_denied;
}

enum { FIRST_RUN = 12 /* seconds that it has in any case: a program may compute */ };

/* `again`: nothing was judged, the ranks have to be threads. */
static bool prove_ranks(struct results *results, const struct job *job, double budget, bool *again)
{
    struct verdict verdict = {0};
    struct proof proof = {
        .options = results->options, .job = *job, .verdict = &verdict, .budget = budget};
    int64_t run;
    proof_begin(&proof);
    bool shared = budget < results->options->budget;
    proof.job.timeout = shared && budget < FIRST_RUN ? FIRST_RUN : budget;
    proof_tell_step(&proof, results, "running");
    if (!results_measure(results, job, &proof.job, &verdict, &run))
        return false;
    *again = wants_threads(job, &verdict);
    if (!*again) {
        stopwatch_next(&verdict.watch, STOPWATCH_OTHER_RUNS);
        prove_more(&proof, results);
        stopwatch_next(&verdict.watch, STOPWATCH_CHECKS);
    }
    if (*again) {
        keep_give_up(results->store, run, EXIT_INPUT);
        verdict_release(&verdict);
        return false;
    }
    session_conclude(results->options, &verdict);
    verdict.proven = verdict.passed && !results->options->exploring &&
                     !coverage_missed(&verdict.coverage, COVERAGE_COMPLETE);
    results_conclude(results, job, &verdict, run, proof.covered);
    return true;
}

/* ---- the command ---- */

/* For the next number of ranks: what was asked for, else a share of what is left for them all. */
static double budget_of(const struct run_options *options, const struct timespec *begun,
                        int numbers)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double spent =
        (double)(now.tv_sec - begun->tv_sec) + (double)(now.tv_nsec - begun->tv_nsec) * 1e-9;
    return options->whole_budget || options->exploring
               ? options->budget
               : exploration_share(options->budget - spent, numbers);
}

static int prove_all(struct job *job, struct run_options *options, const int *ranks, int count)
{
    struct failure failure = {0};
    struct results results;
    struct store *store;
    if (!outputs_can_be_written(options))
        return EXIT_INTERNAL;
    interrupt_install();
    if (!keep_open(options->database, &store, &failure))
        return results_refuse(options, job->name, &failure);
    results_begin(&results, options, count);
    results.store = store;
    job->progress = &results.bar.base;
    struct timespec begun;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    for (int i = 0; i < count && !interrupt_signal(); i++) {
        bool again = false;
        if (!session_ranks(job, options, ranks[i], &failure)) {
            results_fail(&results, job, &failure);
            continue;
        }
        double budget = budget_of(options, &begun, count - i);
        prove_ranks(&results, job, budget, &again);
        if (!again)
            continue;
        fputs("simrun: a rank asked for threads of MPI and was given less: once more, with ranks "
              "that "
              "are OS threads (--os-threads)\n",
              stderr);
        options->world.executor = job->world.executor = SIM_THREADS;
        prove_ranks(&results, job, budget, &again);
    }
    return results_end(&results);
}

int prove_exploration(struct run_options *options, struct job *job)
{
    static const double unbounded = 1e6; /* seconds */
    options->exploring = true;
    options->budget = options->timeout > 0 ? options->timeout : unbounded;
    options->database = options->database ? options->database : "none";
    job->gradients = false;
    return prove_all(job, options, options->ranks, options->rank_count);
}

static int prove_program(int argc, char **argv, struct run_options *options)
{
    struct job job;
    struct failure failure = {0};
    int ranks[64], count;
    options->world.memory = true;
    if (!session_prepare(argv[0], argc, argv, options, &job, ranks, 64, &count, &failure))
        return results_refuse(options, argv[0], &failure);
    if (options->rank_count) {
        count = options->rank_count;
        memcpy(ranks, options->ranks, sizeof ranks);
    }
    return prove_all(&job, options, ranks, count);
}

int command_prove(int argc, char **argv)
{
    struct run_options options;
    struct session_words own;
    struct failure failure = {0};
    run_options_init(&options);
    int at = options_parse("prove", prove_option_rows, &options, argc, argv);
    if (at < 0)
        return EXIT_USAGE;
    if (options.help) {
        command_help(command_find("prove"));
        return EXIT_PASSED;
    }
    if (at >= argc) {
        fputs("simrun prove: no program given; see 'simrun list'\n", stderr);
        return EXIT_USAGE;
    }
    run_options_init(&options);
    if (!session_entry(argv[at], &options, &own, &failure)) {
        fprintf(stderr, "simrun: %s\n", failure.text);
        return failure.code;
    }
    if (options_parse("prove", prove_option_rows, &options, argc, argv) < 0 ||
        !run_options_agree("prove", &options))
        return EXIT_USAGE;
    char **program;
    int words = session_program(argc - at, argv + at, &own, &program);
    return prove_program(words, program, &options);
}
