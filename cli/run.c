/* simrun run: compile, run, check, store, report. */
#include "cli/catalogue.h"
#include "cli/command.h"
#include "cli/job.h"
#include "cli/run_options.h"
#include "sim/compile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int report_failure(const struct failure *failure)
{
    fprintf(stderr, "simrun: %s\n", failure->text);
    return failure->code;
}

static int run_once(const struct job *job)
{
    struct job_result result;
    struct failure failure = {0};
    if (!job_run(job, &result, &failure))
        return report_failure(&failure);
    printf("%s, %d ranks: outcome %d, %llu steps, %llu switches, %.3f ms\n", job->name, job->world.ranks, (int)result.outcome,
           (unsigned long long)result.steps, (unsigned long long)result.switches,
           (double)(result.ended_ns - result.started_ns) * 1e-6);
    int status = result.outcome == OUTCOME_FINISHED ? EXIT_PASSED : result.outcome == OUTCOME_TIMEOUT ? EXIT_TIMEOUT : EXIT_FINDINGS;
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
    struct job job = {.argc = argc - at, .argv = argv + at, .world = options.world, .loader = options.loader, .timeout = options.timeout};
    struct failure failure = {0};
    if (!find_program(argv[at], &job, &failure) || sim_compile(job.source, job.object, sizeof job.object, &failure))
        return report_failure(&failure);
    int worst = EXIT_PASSED;
    for (int i = 0; i < (options.rank_count ? options.rank_count : 1); i++) {
        if (options.rank_count)
            job.world.ranks = options.ranks[i];
        int status = run_once(&job);
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
