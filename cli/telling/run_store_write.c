/* Keeping runs: see run_store_write.h. */
#include "cli/telling/run_store_write.h"

#include "cli/processes/exit_status.h"
#include "traces/trace/names.h"

#include <string.h>

bool keep_open(const char *database, struct store **store, struct failure *failure)
{
    *store = NULL;
    if (!database || !strcmp(database, "none"))
        return true;
    *store = store_open(database, STORE_WRITE, failure);
    if (!*store) {
        size_t used = strlen(failure->text);
        snprintf(failure->text + used, sizeof failure->text - used, "; use --db FILE or --db none");
    }
    return *store != NULL;
}

int64_t keep_begin(struct store *store, const struct job *job, const char *command, int64_t parent,
                   struct failure *failure)
{
    char params[128];
    snprintf(params, sizeof params, "{\"model\":\"%s\",\"mutant\":\"%s\",\"restart\":%d}",
             trace_model_names[job->world.send_model], job->mutant ? job->mutant : "none",
             job->restart);
    return store_run_begin(store,
                           &(struct store_run){.scenario = job->name,
                                               .variant = "",
                                               .params = params,
                                               .ranks = (uint32_t)job->world.ranks,
                                               .seed = job->world.seed,
                                               .schedule = job->schedule ? job->schedule
                                                           : job->world.driver == SIM_CHOOSE_SEED
                                                               ? "seed"
                                                               : "default",
                                               .argv = command,
                                               .version = SIMRUN_VERSION,
                                               .parent = parent},
                           failure);
}

static const char *outcome_of(const struct verdict *verdict)
{
    if (verdict->result.outcome == OUTCOME_INTERRUPTED)
        return "interrupted";
    if (verdict->status == EXIT_TIMEOUT)
        return "timeout";
    return verdict->passed ? "pass" : "fail";
}

bool keep_trace(struct store *store, int64_t run, const struct run_options *options,
                const struct verdict *verdict, struct failure *failure)
{
    return !store_run_trace(store, run, verdict->result.trace,
                            options->record == RECORD_LEVEL_FINDINGS, failure);
}

bool keep_finish(struct store *store, int64_t run, const struct run_options *options,
                 const struct verdict *verdict, struct failure *failure)
{
    return !store_run_finish(
        store, run,
        &(struct store_result){.outcome = outcome_of(verdict),
                               .exit_code = verdict->status,
                               .trace = verdict->result.trace,
                               .findings = &verdict->findings,
                               .coverage = &verdict->coverage,
                               .word = verdict->proven ? "PROVEN" : NULL,
                               .without_ops = options->record == RECORD_LEVEL_FINDINGS},
        failure);
}

void keep_give_up(struct store *store, int64_t run, int status)
{
    struct failure failure = {0};
    if (store && run)
        store_run_finish(store, run,
                         &(struct store_result){.outcome = "error", .exit_code = status}, &failure);
}
