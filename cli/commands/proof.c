/* More runs of one program, and what they add to its verdict: see proof.h. */
#include "cli/commands/proof.h"

#include "checker/places.h"

#include "cli/processes/interrupt.h"
#include "verdict/merge.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void proof_begin(struct proof *proof)
{
    proof->deadline = seconds_now() + proof->budget;
}

double proof_seconds_left(const struct proof *proof)
{
    double left = proof->deadline - seconds_now();
    return left > 0 ? left : 0;
}

bool proof_over(const struct proof *proof)
{
    return proof_seconds_left(proof) < 0.01 || interrupt_signal();
}

void proof_cover(struct proof *proof, const char *format, ...)
{
    size_t used = strlen(proof->covered);
    va_list arguments;
    va_start(arguments, format);
    if (used + 2 < sizeof proof->covered)
        used += (size_t)snprintf(proof->covered + used, sizeof proof->covered - used, "%s",
                                 used ? "; " : "");
    vsnprintf(proof->covered + used, sizeof proof->covered - used, format, arguments);
    va_end(arguments);
}

/* Says on a terminal what is being looked at. */
void proof_tell_step(const struct proof *proof, struct results *results, const char *step)
{
    snprintf(results->bar.before, sizeof results->bar.before,
             "%d ranks, %.24s: ", proof->job.world.ranks, step);
}

/* ---- other models ---- */

struct model {
    enum sim_send_model send;
    bool strict;
    const char *name, *how;
};
static const struct model models[] = {
    {SIM_SEND_RENDEZVOUS, false, "rendezvous", "in which every send waits for its receive"},
    {SIM_SEND_BATCH, false, "batch", "in which the operations of a batch move together"},
    {SIM_SEND_EAGER, true, "eager", "in which every collective synchronises its ranks"},
    {SIM_SEND_RENDEZVOUS, true, "rendezvous",
     "in which every send waits for its receive and every collective synchronises its ranks"},
};

static bool has_batches(const struct trace *trace)
{
    for (size_t i = 0; i < trace->op_count; i++)
        if (trace->ops[i].form->batch)
            return true;
    return false;
}

/* The job under another model: not recorded for anybody but the checker, and silent. */
struct job proof_job(const struct proof *proof, enum sim_send_model send, bool strict)
{
    struct job job = proof->job;
    job.world.send_model = send;
    job.world.strict_collectives = strict;
    job.gradients = false;
    job.quiet = true;
    job.notices = false;
    job.record = RECORD_LEVEL_OPS;
    job.timeout = proof_seconds_left(proof);
    job.progress = NULL;
    return job;
}

/* Whether anything could come in another order: a match or a completion, a window, a cancellation, a
 * failure that is survived. Without one, values do not depend on the order of messages, but may on
 * clocks and on threads. */
static bool leaves_open(const struct trace *trace)
{
    for (size_t i = 0; i < trace->op_count; i++) {
        int kind = trace->ops[i].kind;
        if (kind == OP_COMM_SHRINK || kind == OP_COMM_AGREE ||
            (op_kind_class(kind) == CLASS_CONTROL && kind != OP_INIT && kind != OP_ABORT))
            return true;
    }
    return check_first_choice(trace) != TRACE_NO;
}

/* Whether the first run, again, prints what it printed: else what is printed says nothing. Where
 * nothing is left open that is asked several times, as threads do the same by chance now and then. */
static bool prints_the_same(struct proof *proof)
{
    bool same = true;
    for (int i = leaves_open(proof->verdict->result.trace) ? 1 : 4; i > 0 && same; i--) {
        struct verdict verdict = {0};
        struct failure failure = {0};
        struct run_options options = *proof->options;
        struct job job =
            proof_job(proof, proof->job.world.send_model, proof->job.world.strict_collectives);
        same = session_judge(&job, &options, &verdict, &failure) &&
               verdict.result.outcome == OUTCOME_FINISHED &&
               verdict.result.printed == proof->verdict->result.printed;
        verdict_release(&verdict);
    }
    if (!same)
        trace_gap(
            proof->verdict->result.trace, "printed", 1,
            "what ranks print, which is another text in every run: clocks, addresses, threads");
    return same;
}

/* Whether a run that has finished prints something else because of what it was run under. */
static bool prints_otherwise(struct proof *proof, const struct verdict *other)
{
    if (proof->fickle || other->result.outcome != OUTCOME_FINISHED ||
        other->result.printed == proof->verdict->result.printed)
        return false;
    proof->fickle = !prints_the_same(proof);
    return !proof->fickle;
}

/* Judges one more run and merges what it finds; false when it could not be judged in time.
 * `otherwise`, if not NULL: whether its ranks print something else. */
bool proof_run(struct proof *proof, const struct job *job, const struct merge_origin *origin,
               bool *otherwise)
{
    struct verdict verdict = {0};
    struct failure failure = {0};
    struct run_options options = *proof->options;
    options.allow_count = 0; /* once, of the whole */
    bool good = session_judge(job, &options, &verdict, &failure) && verdict.result.trace &&
                verdict.result.outcome != OUTCOME_TIMEOUT &&
                verdict.result.outcome != OUTCOME_INTERRUPTED;
    if (good)
        merge_findings(&proof->verdict->findings, proof->verdict->result.trace, &verdict.findings,
                       verdict.result.trace, origin);
    for (size_t i = 0; good && i < verdict.coverage.count; i++)
        if (!strcmp(verdict.coverage.gaps[i].check, "delivery"))
            trace_gap(proof->verdict->result.trace, "delivery", verdict.coverage.gaps[i].count,
                      "%s", verdict.coverage.gaps[i].text);
    if (good && otherwise)
        *otherwise = prints_otherwise(proof, &verdict);
    verdict_release(&verdict);
    return good;
}

bool proof_differs(struct proof *proof, const struct job *job)
{
    struct verdict verdict = {0};
    struct failure failure = {0};
    struct run_options options = *proof->options;
    bool differs = session_judge(job, &options, &verdict, &failure) &&
                   verdict.result.outcome == OUTCOME_FINISHED &&
                   verdict.result.printed != proof->verdict->result.printed;
    verdict_release(&verdict);
    return differs;
}

/* The same; what ranks print must not depend on choices. */
bool proof_run_choices(struct proof *proof, const struct job *job,
                       const struct merge_origin *origin)
{
    bool otherwise = false;
    bool good = proof_run(proof, job, origin, proof->printed[0] ? NULL : &otherwise);
    if (otherwise)
        snprintf(proof->printed, sizeof proof->printed, "%s", origin->replay);
    return good;
}

void proof_run_models(struct proof *proof, struct results *results)
{
    const struct trace *trace = proof->verdict->result.trace;
    unsigned judged = 0;
    proof_tell_step(proof, results, "models");
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        const struct model *model = &models[i];
        if (model->send == SIM_SEND_BATCH && !has_batches(trace))
            continue;
        if (model->send == proof->job.world.send_model &&
            model->strict == proof->job.world.strict_collectives)
            continue;
        char replay[RESULT_COMMAND];
        struct job job = proof_job(proof, model->send, model->strict);
        struct run_options options = *proof->options;
        options.world.strict_collectives = model->strict;
        result_command(&options, &job, replay, sizeof replay);
        const struct merge_origin origin = {.model = model->name,
                                            .base = "eager",
                                            .how = model->how,
                                            .replay = replay,
                                            .explored =
                                                model->strict && model->send == SIM_SEND_EAGER};
        if (proof_over(proof) || !(origin.explored ? proof_run_choices(proof, &job, &origin)
                                                   : proof_run(proof, &job, &origin, NULL)))
            trace_gap(trace, "models", 1, "a run %s (the budget was spent)", model->how);
        else
            judged++;
    }
    proof_cover(proof, "%u other progress and collective models", judged);
}
