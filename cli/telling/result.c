#include "cli/telling/result.h"

#include "cli/options/shell_words.h"
#include "cli/processes/exit_status.h"
#include "cli/running/first_failure.h"
#include "traces/trace/names.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *severity_name(enum severity severity)
{
    return trace_name(trace_severity_names, severity);
}

const char *result_model(const struct result *result)
{
    if (result->file && result->verdict.result.trace->model[0])
        return result->verdict.result.trace->model;
    return trace_model_names[result->job.world.send_model];
}

const char *result_word(const struct result *result)
{
    if (result->verdict.passed)
        return result->verdict.proven ? "PROVEN" : "PASS";
    if (result->verdict.result.outcome == OUTCOME_INTERRUPTED)
        return "INTERRUPTED";
    if (result->verdict.status == EXIT_INPUT)
        return "ERROR";
    return result->verdict.status == EXIT_TIMEOUT ? "TIMEOUT" : "FAIL";
}

double result_seconds(const struct result *result)
{
    return stopwatch_seconds(&result->verdict.watch);
}

char *result_name(const struct results *results, const struct result *result, char *text,
                  size_t size)
{
    snprintf(text, size, "%s/ranks=%d%s%s", result->job.name, result->job.world.ranks,
             results->several_models ? "/" : "",
             results->several_models ? result_model(result) : "");
    return text;
}

/* " --db FILE" where it is not the usual one. */
static void database_option(const struct result *result, char *text, size_t size)
{
    *text = '\0';
    if (!strcmp(result->database, "./simrun.db"))
        return;
    snprintf(text, size, " --db ");
    shell_word_append(text, size, result->database);
}

char *result_replay(const struct result *result, int finding, char *text, size_t size)
{
    char database[600], run[RESULT_COMMAND + 700];
    if (result->run) {
        database_option(result, database, sizeof database);
        snprintf(run, sizeof run, "simrun replay%s %lld", database, (long long)result->run);
    } else {
        snprintf(run, sizeof run, "%s", result->command);
    }
    if (finding >= 0)
        return finding_replay(&result->verdict.findings.items[finding], (size_t)finding + 1, run,
                              result->run, text, size);
    snprintf(text, size, "%s", run);
    return text;
}

char *result_draw(const struct result *result, int finding, char *text, size_t size)
{
    char database[600];
    if (result->run) {
        database_option(result, database, sizeof database);
        int used = snprintf(text, size, "simrun graph%s %lld", database, (long long)result->run);
        if (finding >= 0)
            used += snprintf(text + used, size - (size_t)used, " --finding %d", finding + 1);
        snprintf(text + used, size - (size_t)used, " -o finding.svg");
    } else {
        const char *rest = strchr(result->command, ' ');
        if (result->file)
            rest = rest ? strchr(rest + 1, ' ') : NULL;
        snprintf(text, size, "simrun%s --dot finding.svg%s", result->file ? " check" : "",
                 rest ? rest : "");
    }
    return text;
}

static void append_words(const struct job *job, int first, char *text, size_t size)
{
    for (int i = first; i < job->argc; i++) {
        size_t used = strlen(text);
        snprintf(text + used, size - used, " ");
        shell_word_append(text, size, job->argv[i]);
    }
}

void result_command(const struct run_options *options, const struct job *job, char *text,
                    size_t size)
{
    snprintf(text, size, "simrun");
    run_options_text(options, job, text, size);
    append_words(job, 0, text, size);
}

void result_stored_command(const struct run_options *options, const struct job *job, char *text,
                           size_t size)
{
    char *path = job->source[0] && (strchr(job->argv[0], '/') || !access(job->argv[0], F_OK))
                     ? realpath(job->argv[0], NULL)
                     : NULL;
    char *words[2] = {path ? path : job->argv[0], NULL};
    struct job program = *job;
    program.argv = words;
    program.argc = 1;
    result_command(options, &program, text, size);
    append_words(job, 1, text, size);
    free(path);
}

struct viz_run_info result_info(const struct result *result, struct report_texts *texts)
{
    snprintf(texts->run, sizeof texts->run, "run %lld", (long long)result->run);
    return (struct viz_run_info){.scenario = result->job.name,
                                 .verdict = result_word(result),
                                 .run = result->run ? texts->run : NULL,
                                 .command = result->command,
                                 .replay =
                                     result_replay(result, -1, texts->replay, sizeof texts->replay),
                                 .draw = result_draw(result, -1, texts->draw, sizeof texts->draw),
                                 .version = SIMRUN_VERSION,
                                 .started = result->started,
                                 .model = result_model(result),
                                 .coverage = &result->verdict.coverage,
                                 .seed = result->job.world.seed,
                                 .ranks = (uint32_t)result->job.world.ranks,
                                 .seconds = result_seconds(result)};
}
