/* simrun check: judges trace, schedule and dump files. */
#include "checker/check.h"

#include "cli/command.h"
#include "cli/options/shell_words.h"
#include "cli/telling/results.h"
#include "cli/telling/run_store_write.h"
#include "collectives/systems/schedule/schedule.h"
#include "recorder/recording.h"
#include "traces/formats/format.h"

#include <stdio.h>
#include <string.h>

/* The models to look for danger under: all, or the one of --send. */
static unsigned models_of(const struct run_options *options)
{
    return options->all_models ? CHECK_ALL_MODELS : 1u << options->world.send_model;
}

struct judged_schedule {
    struct findings *findings;
    const struct trace *trace;
};

static void add_fault(void *context, int rank, const char *text)
{
    struct judged_schedule *judged = context;
    struct finding *finding = findings_add(judged->findings, "G005", "%s", text);
    finding_detail(finding, "Rank %d cannot do this: a rank that runs the schedule ends here.\n",
                   rank);
    finding_seal(finding, judged->trace);
}

/* A schedule's file says what its cells compute, too; of that its trace knows nothing. */
static void check_schedule(const char *path, const struct trace *trace, struct findings *findings)
{
    char why[256];
    size_t length = strlen(path);
    if (length < 4 || strcmp(path + length - 4, ".csv") != 0)
        return;
    struct schedule *schedule = schedule_read_cells(path, why, sizeof why);
    if (!schedule)
        return;
    schedule_check_data(schedule, add_fault,
                        &(struct judged_schedule){.findings = findings, .trace = trace});
    schedule_free(schedule);
}

static bool judge_file(const char *path, struct results *results, struct failure *failure)
{
    struct check_options checks;
    check_options_init(&checks);
    checks.models = models_of(results->options);
    checks.streams = (enum device_streams)results->options->streams;
    if (results->options->checks && check_options_parse(&checks, results->options->checks, failure))
        return false;
    struct trace *trace = recording_read(path, &results->bar.base, failure);
    if (!trace)
        return false;
    struct job job = {0};
    snprintf(job.name, sizeof job.name, "%s", !strcmp(path, "-") ? "standard input" : path);
    job.world.ranks = (int)trace->ranks;
    struct result *result = results_add(results, &job);
    result->file = true;
    snprintf(result->command, sizeof result->command, "simrun check ");
    shell_word_append(result->command, sizeof result->command, path);
    result->verdict.result = (struct job_result){.outcome = trace->outcome, .trace = trace};
    findings_init(&result->verdict.findings);
    check_trace(trace, &checks, &result->verdict.findings);
    check_schedule(path, trace, &result->verdict.findings);
    session_conclude(results->options, &result->verdict);
    bool kept = true;
    if (results->store) {
        int64_t run = keep_begin(results->store, &job, result->command, 0, failure);
        kept = run && keep_finish(results->store, run, results->options, &result->verdict, failure);
        result->run = kept ? run : 0;
        result->database = results->options->database;
    }
    results_report(results, result);
    return kept;
}

int command_check(int argc, char **argv)
{
    /* The catalogue is what this command is tested with. */
    if (argc > 1 && !strcmp(argv[1], "--catalogue")) {
        char table[] = "--table";
        argv[1] = table;
        return command_catalogue(argc, argv);
    }
    struct run_options options;
    struct command_words words = {.least = 1, .most = COMMAND_ANY};
    run_options_init(&options);
    options.all_models = true;
    options.database = NULL;
    int status = command_parse("check", &options, argc, argv, &words);
    if (status >= 0)
        return status;
    if (!run_options_agree("check", &options))
        return EXIT_USAGE;
    struct results results;
    struct store *store;
    struct failure failure = {0};
    if (!keep_open(options.database, &store, &failure))
        return results_refuse(&options, words.words[0], &failure);
    results_begin(&results, &options, words.count);
    results.store = store;
    if (store)
        store_show_progress(store, &results.bar.base);
    results.several_models = false;
    for (int i = 0; i < words.count; i++) {
        struct job job = {0};
        failure = (struct failure){0};
        if (judge_file(words.words[i], &results, &failure))
            continue;
        snprintf(job.name, sizeof job.name, "%s", words.words[i]);
        results_fail(&results, &job, &failure);
    }
    return results_end(&results);
}
