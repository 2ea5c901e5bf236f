/* The results of one command: see results.h. */
#include "cli/telling/results.h"

#include "checker/context.h"
#include "cli/processes/exit_status.h"
#include "cli/processes/interrupt.h"
#include "cli/running/first_failure.h"
#include "cli/telling/outputs.h"
#include "cli/telling/present.h"
#include "cli/telling/run_store_write.h"
#include "cli/telling/tap.h"
#include "traces/formats/format.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void results_begin(struct results *results, const struct run_options *options, int expected)
{
    *results = (struct results){.options = options,
                                .expected = expected,
                                .several_models = options->all_models,
                                .keep_traces = options->html || options->dot || options->chrome ||
                                               options->junit || options->github || options->sarif,
                                .status = EXIT_PASSED};
    progress_bar_init(&results->bar, options->quiet);
    if (options->tap)
        tap_begin(stdout, expected);
}

struct result *results_add(struct results *results, const struct job *job)
{
    if (results->count == results->room) {
        results->room = results->room ? results->room * 2 : 16;
        results->items = realloc(results->items, results->room * sizeof *results->items);
        if (!results->items)
            abort();
    }
    struct result *result = &results->items[results->count++];
    *result = (struct result){.job = *job};
    time_t now = time(NULL);
    struct tm parts;
    strftime(result->started, sizeof result->started, "%Y-%m-%d %H:%M:%S UTC",
             gmtime_r(&now, &parts));
    return result;
}

/* What stopped all ranks though none failed, NULL: nothing did. */
static const char *standstill_text(enum trace_outcome outcome)
{
    return outcome == OUTCOME_DEADLOCK   ? "a deadlock: no rank can go on"
           : outcome == OUTCOME_LIVELOCK ? "a livelock: ranks poll and nothing changes"
           : outcome == OUTCOME_TIMEOUT  ? "the time limit passed"
                                         : NULL;
}

/* Whether the group shall be started again; says so, and why. */
static bool is_restarted(const struct results *results, const struct job *job,
                         const struct verdict *verdict)
{
    char cause[CAUSE_TEXT];
    const char *standstill = standstill_text(verdict->result.outcome);
    bool failed = cause_text(verdict->result.trace, cause, sizeof cause) || standstill ||
                  verdict->result.outcome == OUTCOME_CRASHED;
    if (verdict->passed || !failed || verdict->result.unjudged ||
        job->restart >= job->restarts_max || interrupt_signal())
        return false;
    if (!results->options->quiet)
        fprintf(stderr, "simrun: %s: %s; all ranks are stopped: restart %d of %d\n", job->name,
                cause[0]     ? cause
                : standstill ? standstill
                             : "a rank failed",
                job->restart + 1, job->restarts_max);
    return true;
}

/* How soon a hang is reported: from the instant at which nobody could move. */
static void report_delay(const struct results *results, const struct job_result *run)
{
    struct timespec now;
    if (!results->options->verbose || !run->stopped_ns)
        return;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double told = (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
    fprintf(stderr, "simrun: reported %.1f ms after nobody could move any more\n",
            told - (double)run->stopped_ns * 1e-6);
}

/* A schedule of another program, or of other options, cannot be kept to. */
static void report_missed(const struct job *job, const struct verdict *verdict)
{
    if (verdict->result.choices_missed)
        fprintf(stderr,
                "simrun: %s: %zu of the schedule's choices were never offered: is it of this "
                "program, with these options?\n",
                job->name, verdict->result.choices_missed);
}

bool results_measure(struct results *results, const struct job *job, const struct job *measured,
                     struct verdict *verdict, int64_t *run)
{
    struct failure failure = {0};
    char stored[RESULT_COMMAND];
    uint64_t since = results->since_ns ? results->since_ns : job->began_ns;
    *run = 0;
    result_stored_command(results->options, job, stored, sizeof stored);
    bool good = !results->store ||
                (*run = keep_begin(results->store, job, stored, results->parent, &failure)) != 0;
    uint64_t before = since ? stopwatch_now() - since : 0;
    if (good && !(good = session_run(measured, results->options, verdict, &failure)))
        keep_give_up(results->store, *run, failure.code);
    if (!good) {
        verdict_release(verdict);
        results_fail(results, job, &failure);
        return false;
    }
    verdict->watch.spent[job->restart ? STOPWATCH_OTHER_RUNS : STOPWATCH_COMPILING] += before;
    stopwatch_next(&verdict->watch, STOPWATCH_STORING);
    if (*run && verdict->result.trace &&
        !keep_trace(results->store, *run, results->options, verdict, &failure))
        fprintf(stderr, "simrun: the trace was not kept: %s\n", failure.text);
    stopwatch_next(&verdict->watch, STOPWATCH_CHECKS);
    session_check(measured, results->options, verdict);
    return true;
}

void results_conclude(struct results *results, const struct job *job, const struct verdict *verdict,
                      int64_t run, const char *covered)
{
    struct failure failure = {0};
    struct result *result = results_add(results, job);
    result->verdict = *verdict;
    snprintf(result->covered, sizeof result->covered, "%s", covered);
    result_command(results->options, job, result->command, sizeof result->command);
    result->database = results->options->database;
    stopwatch_next(&result->verdict.watch, STOPWATCH_STORING);
    if (run && keep_finish(results->store, run, results->options, &result->verdict, &failure))
        result->run = run;
    stopwatch_next(&result->verdict.watch, STOPWATCH_STORING);
    results->since_ns = stopwatch_now();
    results_report(results, result);
    if (run && !result->run) {
        fprintf(stderr, "simrun: the run was not kept: %s\n", failure.text);
        results->status = exit_status_worse(results->status, failure.code);
    }
}

/* One attempt: false when it could not be made, which is reported. *again: it failed and is to be
 * followed by another; such a one is kept, but its verdict is not the run's. */
static bool attempt(struct results *results, const struct job *job, bool *again)
{
    struct verdict verdict = {0};
    struct failure failure = {0};
    int64_t run;
    if (!results_measure(results, job, job, &verdict, &run))
        return false;
    report_missed(job, &verdict);
    *again = is_restarted(results, job, &verdict);
    if (*again) {
        if (run && !keep_finish(results->store, run, results->options, &verdict, &failure))
            fprintf(stderr, "simrun: the run was not kept: %s\n", failure.text);
        verdict_release(&verdict);
        return true;
    }
    results_conclude(results, job, &verdict, run, "");
    report_delay(results, &verdict.result);
    return true;
}

bool results_run(struct results *results, const struct job *job)
{
    struct job attempted = *job;
    bool again = true;
    for (; again; attempted.restart++) {
        again = false;
        if (!attempt(results, &attempted, &again))
            return false;
    }
    return true;
}

/* What 'simrun prove' would look at besides: other models always, buffers that requests hold where
 * the program can be compiled so that its accesses are seen, other matches where there are any. */
static void tell_more(const struct present *present, const struct result *result)
{
    const struct trace *trace = result->verdict.result.trace;
    const struct job *job = &result->job;
    bool unseen = !job->world.memory && strcmp(job->source, job->object) != 0;
    size_t choices = 0, pending = 0;
    char text[200], others[64] = "";
    for (size_t i = 0; i < trace->op_count; i++) {
        choices += trace->ops[i].peer == TRACE_ANY || trace->ops[i].kind == OP_WAITANY;
        pending += check_is_start(&trace->ops[i]) || op_kind_accesses(trace->ops[i].kind);
    }
    if (choices)
        snprintf(others, sizeof others, ", other outcomes of %zu wildcard%s", choices,
                 choices == 1 ? "" : "s");
    snprintf(text, sizeof text, "other progress models%s%s",
             unseen && pending ? ", loads and stores of pending buffers" : "", others);
    fprintf(present->out, "  prove adds: ");
    present_hanging(present, 14, 4, text);
}

static void report_text(const struct results *results, const struct result *result)
{
    struct present present;
    present_init(&present, stdout, results->options->color);
    present_verdict(&present, result, results->several_models);
    if (!results->options->quiet && result->verdict.passed && result->verdict.result.trace &&
        !result->file && !result->covered[0])
        tell_more(&present, result);
    if (!results->options->quiet || !result->verdict.passed)
        present_gradients(&present, result->verdict.result.trace, results->options->verbose);
    for (size_t i = 0; i < result->verdict.findings.count; i++) {
        const struct finding *finding = &result->verdict.findings.items[i];
        char replay[RESULT_COMMAND + 700], draw[RESULT_COMMAND + 700];
        if (results->options->quiet && (finding->allowed || finding->severity == SEVERITY_NOTE))
            continue;
        if (!result->file || finding->witness)
            present.replay = result_replay(result, (int)i, replay, sizeof replay);
        present.draw = result_draw(result, (int)i, draw, sizeof draw);
        present_finding(&present, result->verdict.result.trace, finding);
        present_consequences(&present, &result->verdict.findings, i, results->options->verbose);
    }
}

void results_report(struct results *results, struct result *result)
{
    results->status = exit_status_worse(results->status, result->verdict.status);
    progress_bar_clear(&results->bar);
    if (results->options->tap)
        result_tap(stdout, results, result);
    else if (results->options->json)
        result_json(stdout, result);
    else
        report_text(results, result);
    fflush(stdout);
    if (results->keep_traces)
        return;
    verdict_release(&result->verdict);
    findings_init(&result->verdict.findings);
}

static const struct result_refusal *refusal_add(struct results *results, const struct job *job,
                                                const struct failure *failure)
{
    size_t count = results->refusal_count + 1;
    results->refusals = realloc(results->refusals, count * sizeof *results->refusals);
    if (!results->refusals)
        abort();
    struct result_refusal *refusal = &results->refusals[results->refusal_count++];
    *refusal = (struct result_refusal){.ranks = job->world.ranks, .failure = *failure};
    snprintf(refusal->scenario, sizeof refusal->scenario, "%s", job->name);
    if (job->world.ranks)
        result_name(results, &(struct result){.job = *job}, refusal->name, sizeof refusal->name);
    else
        snprintf(refusal->name, sizeof refusal->name, "%s", job->name);
    return refusal;
}

void results_fail(struct results *results, const struct job *job, const struct failure *failure)
{
    const struct result_refusal *refusal = refusal_add(results, job, failure);
    results->since_ns = stopwatch_now();
    progress_bar_clear(&results->bar);
    fprintf(stderr, "simrun: %s\n", failure->text);
    results->status = exit_status_worse(results->status, failure->code);
    if (results->options->json)
        result_json_refusal(stdout, refusal, results->options->world.seed);
    if (results->options->tap && failure->code == FAILURE_INTERNAL)
        tap_bail_out(stdout, failure->text);
    else if (results->options->tap)
        tap_failure(stdout, refusal->name, failure, &results->number);
    fflush(stdout);
}

int results_refuse(const struct run_options *options, const char *scenario,
                   const struct failure *failure)
{
    struct results results = {.options = options, .status = EXIT_PASSED};
    struct run_options quiet = *options;
    struct job job = {0};
    snprintf(job.name, sizeof job.name, "%s", scenario);
    if (options->tap)
        tap_nothing(stdout, scenario, failure);
    quiet.tap = false; /* said */
    results.options = &quiet;
    results_fail(&results, &job, failure);
    results.options = options;
    return results_end(&results);
}

/* Every run in one page. */
static bool write_html(const struct results *results, struct failure *failure)
{
    struct report_texts *texts = calloc(results->count + 1, sizeof *texts);
    struct viz_run_info *infos = calloc(results->count + 1, sizeof *infos);
    struct viz_report_run *runs = calloc(results->count + 1, sizeof *runs);
    bool good = texts && infos && runs;
    if (!good)
        failure_set(failure, FAILURE_INTERNAL, "out of memory");
    for (size_t i = 0; good && i < results->count; i++) {
        const struct result *result = &results->items[i];
        infos[i] = result_info(result, &texts[i]);
        runs[i] = (struct viz_report_run){&infos[i], result->verdict.result.trace,
                                          &result->verdict.findings};
    }
    good = good && output_report(results->options->html, runs, results->count, failure);
    free(texts);
    free(infos);
    free(runs);
    return good;
}

/* A picture shows one run: the first that did not pass, else the last. */
static const struct result *most_telling(const struct results *results)
{
    const struct result *last = NULL;
    for (size_t i = 0; i < results->count; i++) {
        if (!results->items[i].verdict.result.trace)
            continue;
        last = &results->items[i];
        if (!last->verdict.passed)
            break;
    }
    return last;
}

static bool write_junit(void *context, FILE *out, struct failure *failure)
{
    (void)failure;
    return results_junit(out, context);
}

static bool write_sarif(void *context, FILE *out, struct failure *failure)
{
    (void)failure;
    return results_sarif(out, context);
}

static bool write_chrome(void *context, FILE *out, struct failure *failure)
{
    const struct result *result = context;
    return format_write(result->verdict.result.trace, &result->verdict.findings, "chrome", out,
                        failure);
}

/* One of the files: whether it is there; reported and counted where it is not. */
static void written(struct results *results, bool good, const struct failure *failure)
{
    if (good)
        return;
    fprintf(stderr, "simrun: %s\n", failure->text);
    results->status = exit_status_worse(results->status, failure->code);
}

/* Each for itself: one that fails keeps no other back. */
static void write_files(struct results *results)
{
    const struct run_options *options = results->options;
    struct viz_options graph = viz_options_default();
    struct failure failure = {0};
    const struct result *telling = most_telling(results);
    if (options->dot && telling)
        written(results,
                output_graph(options->dot, telling->verdict.result.trace,
                             &telling->verdict.findings, &graph, &failure),
                &failure);
    if (options->chrome && telling) {
        struct result copy = *telling;
        written(results, output_write(options->chrome, write_chrome, &copy, &failure), &failure);
    }
    if (options->html)
        written(results, write_html(results, &failure), &failure);
    if (options->sarif)
        written(results, output_write(options->sarif, write_sarif, results, &failure), &failure);
    if (options->junit)
        written(results, output_write(options->junit, write_junit, results, &failure), &failure);
    /* Annotations are commands to the runner: with a machine-readable stdout they go to stderr,
     * which the runner reads as well. */
    if (options->github)
        written(results,
                results_github(options->tap || options->json ? stderr : stdout, results, &failure),
                &failure);
}

int results_end(struct results *results)
{
    write_files(results);
    for (size_t i = 0; i < results->count; i++)
        verdict_release(&results->items[i].verdict);
    free(results->items);
    free(results->refusals);
    if (results->store && store_rescued(results->store))
        fprintf(stderr, "simrun: %s\n", store_rescued(results->store));
    store_close(results->store);
    return results->status;
}
