/* Confirming by real runs: see confirm.h. */
#include "cli/running/confirm.h"

#include "checker/check.h"
#include "checker/explore/rerun.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS_MAX = 8, OPS_MAX = 200000 };
static const double seconds_max = 10; /* for one run */

static bool witness_shows(const struct job *job, const struct trace *trace,
                          const struct finding *finding, const struct check_witness *witness,
                          char **text)
{
    struct job again = *job;
    struct check_rerun rerun;
    struct job_result result = {0};
    struct failure failure = {0};
    check_rerun_init(&rerun, trace, witness);
    check_rerun_world(&rerun, witness, &again.world);
    again.world.unwatched = true;
    again.schedule = NULL;
    again.gradients = false;
    again.quiet = true;
    again.record = RECORD_LEVEL_OPS;
    if (!(again.timeout > 0) || again.timeout > seconds_max)
        again.timeout = seconds_max;
    bool ran = job_run(&again, &result, &failure) && result.trace;
    bool late = ran && result.outcome == OUTCOME_TIMEOUT;
    if (late)
        trace_gap(trace, "run", 1, "findings not confirmed by a run: time ran out");
    bool shown = ran && !late && check_rerun_shows(trace, finding, witness, result.trace, text);
    job_result_release(&result);
    check_rerun_release(&rerun);
    return shown;
}

bool confirm_finding(const struct job *job, const struct trace *trace,
                     const struct finding *finding, char **text)
{
    struct check_witness witness;
    struct failure failure = {0};
    *text = NULL;
    if (check_witness_parse(finding->witness, trace, &witness, &failure))
        return false;
    bool shown = witness_shows(job, trace, finding, &witness, text);
    check_witness_release(&witness);
    return shown;
}

/* A race whose other outcome hangs is a deadlock that this run was lucky to miss. */
static void add_hang(struct findings *findings, size_t race, const struct trace *trace,
                     const char *witness, const char *model)
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
    hang->witness = strdup(witness);
    hang->confirmation = CONFIRM_REAL;
    snprintf(hang->models, sizeof hang->models, "%s", model);
    finding_seal(hang, trace);
}

static bool has_hang(const struct findings *findings)
{
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].code[0] == 'D')
            return true;
    return false;
}

/* The other message first, and sends that wait for their receives: either alone may end well. */
static void try_both(const struct job *job, const struct trace *trace, struct findings *findings,
                     size_t race)
{
    struct check_witness witness;
    struct failure failure = {0};
    char *text = NULL;
    if (check_witness_parse(findings->items[race].witness, trace, &witness, &failure))
        return;
    witness.model = CHECK_RENDEZVOUS;
    if (witness_shows(job, trace, &findings->items[race], &witness, &text) &&
        strstr(text, "it hangs")) {
        char *both = check_witness_text(trace, "R003", CHECK_RENDEZVOUS, NULL, witness.choices,
                                        witness.choice_count);
        finding_detail(&findings->items[race],
                       "Where sends wait for their receives, it hangs then.\n");
        add_hang(findings, race, trace, both, "rendezvous");
        free(both);
    }
    free(text);
    check_witness_release(&witness);
}

void confirm_findings(const struct job *job, struct job_result *result, struct findings *findings)
{
    struct job within = *job;
    const struct trace *trace = result->trace;
    unsigned runs = 0;
    size_t count = findings->count;
    if (result->outcome != OUTCOME_FINISHED)
        return; /* the run has failed in any case */
    for (size_t i = 0; i < count; i++) {
        struct finding *finding = &findings->items[i];
        char *text = NULL;
        if (!finding->witness || finding->confirmation == CONFIRM_HAPPENED)
            continue;
        if (trace->op_count > OPS_MAX || runs >= RUNS_MAX) {
            trace_gap(trace, "run", 1,
                      runs >= RUNS_MAX ? "findings not confirmed by a run: there are many"
                                       : "findings not confirmed by a run: it is long");
            continue;
        }
        if (time_limit_passed(&result->limit)) {
            trace_gap(trace, "run", 1, "findings not confirmed by a run: time ran out");
            continue;
        }
        within.timeout = time_limit_left(&result->limit);
        runs++;
        if (confirm_finding(&within, trace, finding, &text)) {
            bool race = !strcmp(finding->code, "R003"), hangs = strstr(text, "it hangs") != NULL;
            finding->confirmation = CONFIRM_REAL;
            size_t said = strlen(finding->detail);
            finding_detail(finding, "%sRun again under the witness: %s.\n",
                           said && finding->detail[said - 1] != '\n' ? "\n" : "", text);
            if (race && hangs)
                add_hang(findings, i, trace, finding->witness, trace->model);
            else if (race && strcmp(trace->model, "eager") == 0 && !has_hang(findings) &&
                     runs++ < RUNS_MAX)
                try_both(&within, trace, findings, i);
        }
        free(text);
    }
    if (findings->count > count)
        findings_sort(findings);
}
