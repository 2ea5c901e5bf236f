/* One job judged: see session.h. */
#include "cli/running/session.h"

#include "checker/check.h"
#include "cli/options/catalogue.h"
#include "cli/options/requirement.h"
#include "cli/processes/exit_status.h"
#include "cli/processes/interrupt.h"
#include "cli/running/confirm.h"
#include "cli/running/judge.h"
#include "cli/running/sanitizer.h"
#include "sim/compile/compile.h"
#include "verdict/allow.h"
#include "verdict/ends.h"
#include "verdict/injected.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool has_passed(const struct findings *findings, const struct job_result *result,
                       enum severity threshold)
{
    for (size_t i = 0; i < findings->count; i++)
        if (!findings->items[i].allowed && findings->items[i].severity >= threshold)
            return false;
    /* A run that did not end well passes only when what ended it was found and allowed. */
    if (result->outcome != OUTCOME_FINISHED && result->outcome != OUTCOME_IMPORTED &&
        !findings->count)
        return false;
    return result->outcome != OUTCOME_TIMEOUT && result->outcome != OUTCOME_INTERRUPTED &&
           !result->crash[0];
}

/* A time limit is no verdict; whatever else was found is one. */
static bool found_nothing_but_time(const struct findings *findings, enum severity threshold)
{
    for (size_t i = 0; i < findings->count; i++)
        if (!findings->items[i].allowed && findings->items[i].severity >= threshold &&
            strcmp(findings->items[i].code, "X003"))
            return false;
    return true;
}

/* A right program may do so: it could not be judged. */
static bool is_unjudged(const struct findings *findings)
{
    for (size_t i = 0; i < findings->count; i++)
        if (!findings->items[i].allowed && findings->items[i].code[0] == 'U')
            return true;
    return false;
}

static int exit_status(bool passed, bool missed, const struct job_result *result,
                       const struct findings *findings, enum severity threshold)
{
    if (result->outcome == OUTCOME_INTERRUPTED)
        return interrupt_signal() == SIGTERM ? EXIT_TERMINATED : EXIT_INTERRUPTED;
    if (passed)
        return missed ? EXIT_UNCOVERED : EXIT_PASSED;
    if (is_unjudged(findings))
        return EXIT_INPUT;
    return result->outcome == OUTCOME_TIMEOUT && found_nothing_but_time(findings, threshold)
               ? EXIT_TIMEOUT
               : EXIT_FINDINGS;
}

/* What was not looked at: as the checks said, and where there was nothing to look at. */
static void cover(const struct run_options *options, struct verdict *verdict)
{
    const struct trace *trace = verdict->result.trace;
    coverage_release(&verdict->coverage);
    coverage_merge(&verdict->coverage, trace_coverage(trace));
    if (!trace || options->record == RECORD_LEVEL_NONE)
        coverage_add(&verdict->coverage, "run", 1,
                     "nothing was recorded: no check looked at what the ranks did");
    else if (options->record == RECORD_LEVEL_FINDINGS)
        coverage_add(&verdict->coverage, "run", 1,
                     "the operations were judged and not kept (--record findings)");
    verdict->missed = coverage_missed(&verdict->coverage, options->require);
    if (options->require & COVERAGE_GRADIENTS && !(trace && trace->gradient_count))
        verdict->missed |= COVERAGE_GRADIENTS;
}

void session_conclude(const struct run_options *options, struct verdict *verdict)
{
    enum severity threshold = run_options_threshold(options);
    cover(options, verdict);
    if (verdict->result.trace)
        verdict_injected(&verdict->findings, verdict->result.trace);
    verdict_end(&verdict->findings, verdict->result.trace, verdict->result.outcome,
                verdict->result.crash);
    allow_mark(&verdict->findings, verdict->result.trace, options->allow, options->allow_count);
    verdict->passed = has_passed(&verdict->findings, &verdict->result, threshold);
    verdict->status = exit_status(verdict->passed, verdict->missed != 0, &verdict->result,
                                  &verdict->findings, threshold);
}

bool session_run(const struct job *job, const struct run_options *options, struct verdict *verdict,
                 struct failure *failure)
{
    struct check_options checks;
    *verdict = (struct verdict){.status = EXIT_INTERNAL};
    stopwatch_start(&verdict->watch, 0);
    findings_init(&verdict->findings);
    check_options_init(&checks);
    if (options->checks && check_options_parse(&checks, options->checks, failure))
        return false;
    stopwatch_next(&verdict->watch, STOPWATCH_RUN);
    bool good = job_run(job, &verdict->result, failure);
    stopwatch_next_at(&verdict->watch, STOPWATCH_GRADIENTS, verdict->result.ended_ns);
    stopwatch_next_at(&verdict->watch, STOPWATCH_TRACE, verdict->result.checked_ns);
    stopwatch_next(&verdict->watch, STOPWATCH_CHECKS);
    return good;
}

/* A run that ended well and whose judges did not: there is no verdict. */
static void end_unjudged(struct job_result *result)
{
    result->unjudged = result->outcome == OUTCOME_FINISHED;
    if (result->unjudged)
        result->outcome = interrupt_signal() ? OUTCOME_INTERRUPTED : OUTCOME_TIMEOUT;
}

void session_check(const struct job *job, const struct run_options *options,
                   struct verdict *verdict)
{
    struct check_options checks;
    struct failure failure = {0};
    check_options_init(&checks);
    checks.streams = (enum device_streams)options->streams;
    if (options->checks)
        check_options_parse(&checks, options->checks, &failure); /* session_run has tried */
    if (verdict->result.trace) {
        if (verdict->result.cut_off) /* of a run that was cut off only its end is judged */
            check_options_parse(&checks, "notes,crash", &failure);
        time_limit_step(&verdict->result.limit);
        bool judged =
            judge_trace(verdict->result.trace, &checks, &verdict->result.limit, &verdict->findings);
        if (!judged || verdict->result.limit.passed)
            end_unjudged(&verdict->result);
        stopwatch_next(&verdict->watch, STOPWATCH_WITNESSES);
        confirm_findings(job, &verdict->result, &verdict->findings);
        stopwatch_next(&verdict->watch, STOPWATCH_CHECKS);
    }
    session_conclude(options, verdict);
}

bool session_judge(const struct job *job, const struct run_options *options,
                   struct verdict *verdict, struct failure *failure)
{
    if (!session_run(job, options, verdict, failure))
        return false;
    session_check(job, options, verdict);
    return true;
}

void verdict_release(struct verdict *verdict)
{
    findings_release(&verdict->findings);
    coverage_release(&verdict->coverage);
    job_result_release(&verdict->result);
}

/* The largest number of the scenario's list that is at most 16: what a plain run uses. */
static void usual_ranks(const struct catalogue_entry *entry, int *ranks, int room, int *count)
{
    int best = 0;
    for (int i = 0; i < entry->rank_count; i++)
        if (entry->ranks[i] <= 16 && entry->ranks[i] > best)
            best = entry->ranks[i];
    if (best && room > 0) {
        ranks[0] = best;
        *count = 1;
    }
}

static bool from_catalogue(const char *word, struct job *job, int *ranks, int room, int *rank_count,
                           struct failure *failure)
{
    struct catalogue catalogue;
    if (!catalogue_read(&catalogue, failure))
        return false;
    const struct catalogue_entry *entry = catalogue_find(&catalogue, word);
    if (entry) {
        snprintf(job->source, sizeof job->source, "%s", entry->path);
        usual_ranks(entry, ranks, room, rank_count);
    } else {
        const char *near = catalogue_did_you_mean(&catalogue, word);
        failure_set(failure, FAILURE_INPUT, "no scenario and no file '%s'%s%s%s; see 'simrun list'",
                    word, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    }
    catalogue_release(&catalogue);
    return entry != NULL;
}

/* Splits a line at blanks into words; the array ends with NULL. */
static int split(char *line, char **words, int room)
{
    int count = 0;
    char *rest = line;
    for (char *word; (word = strsep(&rest, " \t")) && count < room - 1;)
        if (*word)
            words[count++] = word;
    words[count] = NULL;
    return count;
}

bool session_entry(const char *word, struct run_options *options, struct session_words *words,
                   struct failure *failure)
{
    *words = (struct session_words){0};
    if (strchr(word, '/') || access(word, F_OK) == 0)
        return true;
    struct catalogue catalogue;
    if (!catalogue_read(&catalogue, failure))
        return false;
    const struct catalogue_entry *entry = catalogue_find(&catalogue, word);
    bool good = true;
    if (entry) {
        char *option_words[64];
        snprintf(words->options, sizeof words->options, "run %s", entry->options);
        snprintf(words->arguments, sizeof words->arguments, "%s", entry->arguments);
        words->argc = split(words->arguments, words->argv, 64);
        int count = split(words->options, option_words, 64);
        good = options_parse("run", run_option_rows, options, count, option_words) >= 0;
        if (!good)
            failure_set(failure, FAILURE_INPUT, "%s: unusable options '%s' in its head comment",
                        entry->path, entry->options);
    }
    catalogue_release(&catalogue);
    return good;
}

/* The program's words: the user's, or where there are none the scenario's own. */
int session_program(int argc, char **argv, struct session_words *words, char ***program)
{
    *program = argv;
    if (argc > 1 || !words->argc)
        return argc;
    memmove(words->argv + 1, words->argv, (size_t)words->argc * sizeof *words->argv);
    words->argv[0] = argv[0];
    words->argv[++words->argc] = NULL;
    *program = words->argv;
    return words->argc;
}

/* "a.c b.cpp -- args": what follows a source and is one, too, belongs to the program. */
static bool compile_sources(struct job *job, struct failure *failure)
{
    const char *sources[SIM_COMPILE_SOURCES + 1] = {job->source};
    int count = 1, next = 1;
    bool own = !strcmp(job->source, job->argv[0]) && sim_compile_is_source(job->source);
    while (own && next < job->argc && count <= SIM_COMPILE_SOURCES &&
           sim_compile_is_source(job->argv[next]) && !access(job->argv[next], R_OK))
        sources[count++] = job->argv[next++];
    if (own && next < job->argc && !strcmp(job->argv[next], "--"))
        next++;
    job->sources_more = next - 1;
    return !sim_compile_all(sources, count, job->world.memory, job->object, sizeof job->object,
                            failure);
}

bool session_ranks(struct job *job, const struct run_options *options, int ranks,
                   struct failure *failure)
{
    job->world.ranks = ranks;
    return fault_options_resolve(options->faults, options->fault_count, &job->world, job->faults,
                                 failure);
}

bool session_prepare(const char *word, int argc, char **argv, const struct run_options *options,
                     struct job *job, int *ranks, int room, int *rank_count,
                     struct failure *failure)
{
    *job = (struct job){.began_ns = stopwatch_now(),
                        .argc = argc,
                        .argv = argv,
                        .world = options->world,
                        .loader = options->loader,
                        .share = options->share,
                        .timeout = options->timeout,
                        .stall = options->stall,
                        .restart = options->restart,
                        .restarts_max = options->restart + options->restarts_max,
                        .record = options->record,
                        .record_limit = options->record_limit,
                        .tag_output = options->tag_output,
                        .sandbox = options->sandbox,
                        .notices = options->verbose || (!options->quiet && isatty(STDERR_FILENO)),
                        .order = options->order,
                        .mutant = options->mutant,
                        .schedule = options->schedule,
                        .gradients = !options->no_gradients && !options->schedule,
                        .workers = options->workers ? options->workers
                                                    : (int)sysconf(_SC_NPROCESSORS_ONLN),
                        .check_elements = options->check_elements,
                        .repeat = options->repeat,
                        .points = options->points,
                        .vary = options->vary};
    snprintf(job->name, sizeof job->name, "%s", word);
    *rank_count = 0;
    if (strlen(word) >= sizeof job->source) {
        failure_set(failure, FAILURE_INPUT,
                    "a program's path has at most %zu bytes, not %zu; change to a folder nearer to "
                    "it: %.80s...",
                    sizeof job->source - 1, strlen(word), word);
        return false;
    }
    if (strchr(word, '/') || access(word, F_OK) == 0)
        snprintf(job->source, sizeof job->source, "%s", word);
    else if (!from_catalogue(word, job, ranks, room, rank_count, failure))
        return false;
    if (!*rank_count) {
        ranks[0] = options->world.ranks;
        *rank_count = 1;
    }
    bool ready = requirements_of_file_met(job->source, failure) && compile_sources(job, failure) &&
                 sanitizer_prepare(job->object, failure);
    /* What was compiled elsewhere is not instrumented, if not on purpose: the checksums look at its
     * buffers. */
    bool unseen = job->world.memory && strcmp(job->source, job->object) == 0 &&
                  !sim_compiled_instrumented(job->object);
    job->world.memory_unseen = unseen;
    job->world.memory = job->world.memory && !unseen;
    return ready;
}
