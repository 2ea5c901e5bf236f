/* Confirming by real runs: see confirm.h. */
#include "cli/confirm.h"

#include "checker/check.h"
#include "checker/rerun.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS_MAX = 8, OPS_MAX = 200000 };
static const double seconds_max = 10; /* for one run */

bool confirm_finding(const struct job *job, const struct trace *trace,
                     const struct finding *finding, char **text)
{
    struct job again = *job;
    struct check_witness witness;
    struct check_rerun rerun;
    struct job_result result = {0};
    struct failure failure = {0};
    *text = NULL;
    if (check_witness_parse(finding->witness, trace, &witness, &failure))
        return false;
    check_rerun_init(&rerun, trace, &witness);
    check_rerun_world(&rerun, &witness, &again.world);
    again.schedule = NULL;
    again.gradients = false;
    again.quiet = true;
    again.record = RECORD_LEVEL_OPS;
    if (!(again.timeout > 0) || again.timeout > seconds_max)
        again.timeout = seconds_max;
    bool shown = job_run(&again, &result, &failure) && result.trace &&
                 check_rerun_shows(trace, finding, &witness, result.trace, text);
    job_result_release(&result);
    check_rerun_release(&rerun);
    check_witness_release(&witness);
    return shown;
}

/* A race whose other outcome hangs is a deadlock that this run was lucky to miss. */
static void add_hang(struct findings *findings, size_t race, const struct trace *trace)
{
    struct finding *hang = findings_add(findings, "D002", "another message first hangs:%s",
                                        strchr(findings->items[race].title, ':')
                                            ? strchr(findings->items[race].title, ':') + 1
                                            : "");
    const struct finding *cause = &findings->items[race];
    finding_detail(hang, "%s", cause->detail);
    for (size_t i = 0; i < cause->op_count; i++)
        finding_op_add(hang, cause->ops[i].op, cause->ops[i].role);
    hang->site = cause->site;
    hang->witness = strdup(cause->witness);
    hang->confirmation = CONFIRM_REAL;
    snprintf(hang->models, sizeof hang->models, "%s", trace->model);
    finding_seal(hang, trace);
}

void confirm_findings(const struct job *job, const struct job_result *result,
                      struct findings *findings)
{
    const struct trace *trace = result->trace;
    unsigned runs = 0;
    size_t count = findings->count;
    if (trace->op_count > OPS_MAX || result->outcome != OUTCOME_FINISHED)
        return;
    for (size_t i = 0; i < count && runs < RUNS_MAX; i++) {
        struct finding *finding = &findings->items[i];
        char *text = NULL;
        if (!finding->witness || finding->confirmation == CONFIRM_HAPPENED)
            continue;
        runs++;
        if (confirm_finding(job, trace, finding, &text)) {
            finding->confirmation = CONFIRM_REAL;
            finding_detail(finding, "Run again under the witness: %s.\n", text);
            if (!strcmp(finding->code, "R003") && strstr(text, "it hangs"))
                add_hang(findings, i, trace);
        }
        free(text);
    }
    if (findings->count > count)
        findings_sort(findings);
}
