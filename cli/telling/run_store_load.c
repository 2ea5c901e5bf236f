/* A stored run: see run_store_load.h. */
#include "cli/telling/run_store_load.h"

#include "cli/processes/progress_bar.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct store *stored_database(const char *path, struct failure *failure)
{
    if (access(path, F_OK)) {
        failure_set(failure, FAILURE_INPUT,
                    "no database %s here: runs are kept in ./simrun.db of the folder they are "
                    "started in; use --db FILE",
                    path);
        return NULL;
    }
    return store_open(path, STORE_READ, failure);
}

bool stored_is_number(const char *word)
{
    return *word && word[strspn(word, "0123456789")] == '\0';
}

static bool take_row(void *context, const struct store_run_row *row)
{
    struct stored *stored = context;
    struct result *result = &stored->result;
    snprintf(result->job.name, sizeof result->job.name, "%s", row->scenario);
    snprintf(result->command, sizeof result->command, "%s", row->argv);
    snprintf(result->started, sizeof result->started, "%.31s", row->started);
    snprintf(stored->outcome, sizeof stored->outcome, "%s", row->outcome);
    snprintf(stored->hash, sizeof stored->hash, "%s", row->trace_hash);
    snprintf(stored->schedule, sizeof stored->schedule, "%s", row->schedule);
    stored->exit_code = row->exit_code;
    result->job.world.ranks = (int)row->ranks;
    result->job.world.seed = row->seed;
    result->verdict.passed = !strcmp(row->outcome, "pass");
    result->verdict.status = (int)row->exit_code;
    result->file = !strncmp(row->argv, "simrun check ", 13);
    if (row->milliseconds > 0)
        result->verdict.watch.spent[STOPWATCH_RUN] = (uint64_t)(row->milliseconds * 1e6);
    return false;
}

static bool load(struct stored *stored, struct failure *failure)
{
    struct result *result = &stored->result;
    if (store_run_get(stored->store, result->run, take_row, stored, failure))
        return false;
    struct progress_bar bar;
    progress_bar_init(&bar, false);
    store_show_progress(stored->store, &bar.base);
    struct trace *trace = store_load_trace(stored->store, result->run, failure);
    progress_bar_clear(&bar);
    store_show_progress(stored->store, NULL);
    if (!trace)
        return false;
    result->verdict.result.trace = trace;
    result->verdict.result.outcome = trace->outcome;
    if (!strcmp(stored->outcome, "interrupted"))
        result->verdict.result.outcome = OUTCOME_INTERRUPTED;
    result->job.world.send_model = !strcmp(trace->model, "rendezvous") ? SIM_SEND_RENDEZVOUS
                                   : !strcmp(trace->model, "batch")    ? SIM_SEND_BATCH
                                                                       : SIM_SEND_EAGER;
    coverage_merge(&result->verdict.coverage, trace_coverage(trace));
    return !store_load_findings(stored->store, result->run, trace, &result->verdict.findings,
                                failure);
}

bool stored_open(struct stored *stored, const char *database, const char *word,
                 struct failure *failure)
{
    *stored = (struct stored){0};
    findings_init(&stored->result.verdict.findings);
    stored->result.database = database;
    stored->store = stored_database(database, failure);
    if (!stored->store)
        return false;
    if (word && !stored_is_number(word)) {
        failure_set(failure, FAILURE_USAGE, "'%s' is no run; 'simrun log' lists them", word);
        return false;
    }
    stored->result.run = word ? strtoll(word, NULL, 10) : store_run_last(stored->store, failure);
    if (stored->result.run > 0)
        return load(stored, failure);
    if (!failure->code)
        failure_set(failure, FAILURE_NOTHING, "%s holds no run%s%s", database, word ? " " : "",
                    word ? word : " yet");
    return false;
}

void stored_release(struct stored *stored)
{
    verdict_release(&stored->result.verdict);
    store_close(stored->store);
}

bool stored_finding(const struct stored *stored, const char *word, int *index,
                    struct failure *failure)
{
    size_t count = stored->result.verdict.findings.count;
    long number = stored_is_number(word) ? strtol(word, NULL, 10) : 0;
    if (number >= 1 && (size_t)number <= count) {
        *index = (int)number - 1;
        return true;
    }
    failure_set(failure, count ? FAILURE_USAGE : FAILURE_NOTHING,
                "run %lld has %zu finding%s, no finding '%s'", (long long)stored->result.run, count,
                count == 1 ? "" : "s", word);
    return false;
}
