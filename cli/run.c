/* simrun run: compile, run, check, store, report. */
#include "cli/catalogue.h"
#include "cli/command.h"
#include "cli/present.h"
#include "cli/run_options.h"
#include "checker/check.h"
#include "sim/compile.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int report_failure(const struct failure *failure)
{
    fprintf(stderr, "simrun: %s\n", failure->text);
    return failure->code;
}

static enum severity severity_named(const char *name)
{
    if (name && !strcmp(name, "note"))
        return SEVERITY_NOTE;
    return name && !strcmp(name, "warning") ? SEVERITY_WARNING : SEVERITY_ERROR;
}

/* "D001" or "D001:file.c:41" names this finding. */
static bool allows(const char *rule, const struct finding *finding, const struct trace *trace)
{
    size_t length = strlen(finding->code);
    if (strncmp(rule, finding->code, length))
        return false;
    if (!rule[length])
        return true;
    char where[256];
    return rule[length] == ':' && !strcmp(rule + length + 1, trace_site_text(trace, finding->site, where, sizeof where));
}

static void mark_allowed(struct findings *findings, const struct run_options *options, const struct trace *trace)
{
    for (size_t i = 0; i < findings->count; i++)
        for (int k = 0; k < options->allow_count; k++)
            findings->items[i].allowed |= allows(options->allow[k], &findings->items[i], trace);
}

static bool has_passed(const struct findings *findings, const struct job_result *result, enum severity threshold)
{
    for (size_t i = 0; i < findings->count; i++)
        if (!findings->items[i].allowed && findings->items[i].severity >= threshold)
            return false;
    return result->outcome != OUTCOME_TIMEOUT && !result->crash[0];
}

static int exit_status(bool passed, const struct job_result *result, const struct findings *findings)
{
    if (passed)
        return EXIT_PASSED;
    return result->outcome == OUTCOME_TIMEOUT && !findings->count ? EXIT_TIMEOUT : EXIT_FINDINGS;
}

static int run_once(const struct job *job, const struct run_options *options)
{
    struct job_result result;
    struct failure failure = {0};
    if (!job_run(job, &result, &failure))
        return report_failure(&failure);
    struct findings findings;
    findings_init(&findings);
    struct check_options checks;
    check_options_init(&checks);
    int status = EXIT_PASSED;
    if (options->checks && check_options_parse(&checks, options->checks, &failure))
        status = report_failure(&failure);
    if (!status) {
        if (result.trace)
            check_trace(result.trace, &checks, &findings);
        mark_allowed(&findings, options, result.trace);
        bool passed = has_passed(&findings, &result, severity_named(options->fail_on));
        struct present present;
        present_init(&present, stdout, NULL);
        present_verdict(&present, job, &result, &findings, passed);
        for (size_t i = 0; i < findings.count; i++)
            present_finding(&present, result.trace, &findings.items[i], i);
        status = exit_status(passed, &result, &findings);
    }
    findings_release(&findings);
    job_result_release(&result);
    return status;
}

/* Finds what to run: a file when the word names one, else a scenario. */
static bool find_program(const char *word, struct job *job, struct failure *failure)
{
    snprintf(job->name, sizeof job->name, "%s", word);
    if (strchr(word, '/') || access(word, F_OK) == 0) {
        snprintf(job->source, sizeof job->source, "%s", word);
        return true;
    }
    struct catalogue catalogue;
    if (!catalogue_read(&catalogue, failure))
        return false;
    const struct catalogue_entry *entry = catalogue_find(&catalogue, word);
    if (entry) {
        snprintf(job->source, sizeof job->source, "%s", entry->path);
    } else {
        const char *near = catalogue_did_you_mean(&catalogue, word);
        failure_set(failure, FAILURE_INPUT, "no scenario and no file '%s'%s%s%s; see 'simrun list'", word, near ? "; did you mean '" : "",
                    near ? near : "", near ? "'?" : "");
    }
    catalogue_release(&catalogue);
    return entry != NULL;
}

int command_run(int argc, char **argv)
{
    struct run_options options;
    run_options_init(&options);
    int at = options_parse("run", run_option_rows, &options, argc, argv);
    if (at < 0)
        return EXIT_USAGE;
    if (options.help) {
        puts("usage: simrun [run] [options] SCENARIO [arguments]\n");
        options_help(run_option_rows);
        return EXIT_PASSED;
    }
    if (at >= argc) {
        fputs("simrun run: no scenario given; see 'simrun list'\n", stderr);
        return EXIT_USAGE;
    }
    struct job job = {.argc = argc - at,
                      .argv = argv + at,
                      .world = options.world,
                      .loader = options.loader,
                      .timeout = options.timeout,
                      .record = options.record,
                      .order = options.order,
                      .mutant = options.mutant};
    struct failure failure = {0};
    if (!find_program(argv[at], &job, &failure) || sim_compile(job.source, job.object, sizeof job.object, &failure))
        return report_failure(&failure);
    int worst = EXIT_PASSED;
    for (int i = 0; i < (options.rank_count ? options.rank_count : 1); i++) {
        if (options.rank_count)
            job.world.ranks = options.ranks[i];
        int status = run_once(&job, &options);
        worst = status > worst ? status : worst;
    }
    return worst;
}

int command_list(int argc, char **argv)
{
    (void)argc, (void)argv;
    struct catalogue catalogue;
    struct failure failure = {0};
    if (!catalogue_read(&catalogue, &failure))
        return report_failure(&failure);
    for (size_t i = 0; i < catalogue.count; i++)
        printf("%-24s %s\n", catalogue.entries[i].name, catalogue.entries[i].about);
    catalogue_release(&catalogue);
    return EXIT_PASSED;
}
