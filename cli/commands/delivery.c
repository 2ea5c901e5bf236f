/* A proof's run with late delivery: see proof.h. */
#include "cli/commands/proof.h"

#include "verdict/merge.h"

#include <stdio.h>
#include <string.h>

static bool has_pending_receives(const struct trace *trace)
{
    for (size_t i = 0; i < trace->op_count; i++) {
        const struct trace_op *op = &trace->ops[i];
        enum op_class class = op_kind_class(op->kind);
        bool has_request = op->request != TRACE_NO || op->kind == OP_IRECV || op->kind == OP_IMRECV;
        if (has_request && (class == CLASS_RECEIVE || class == CLASS_COLLECTIVE))
            return true;
    }
    return false;
}

static bool uses(const struct trace *trace, const uint8_t *kinds, size_t count)
{
    for (size_t i = 0; i < trace->op_count; i++)
        for (size_t k = 0; k < count; k++)
            if (trace->ops[i].kind == kinds[k])
                return true;
    return false;
}

/* Accumulates that are carried out later meet in another order, and what right programs print may depend on that. */
static bool accumulates(const struct trace *trace)
{
    static const uint8_t kinds[] = {OP_ACCUMULATE, OP_GET_ACCUMULATE, OP_FETCH_AND_OP,
                                    OP_COMPARE_AND_SWAP};
    return uses(trace, kinds, sizeof kinds);
}

static bool accesses_windows(const struct trace *trace)
{
    static const uint8_t kinds[] = {OP_PUT, OP_GET};
    return uses(trace, kinds, sizeof kinds);
}

static bool is_told(const struct proof *proof, const char *code)
{
    for (size_t i = 0; i < proof->verdict->findings.count; i++)
        if (!strcmp(proof->verdict->findings.items[i].code, code))
            return true;
    return false;
}

/* The operation whose late delivery alone makes the difference: halves of what was held back are
 * tried. False: there is none, or no time. */
static bool find_late(struct proof *proof, struct job *job)
{
    uint64_t from = 0, to = proof->verdict->result.trace->op_count;
    if (job->world.executor == SIM_THREADS)
        return false; /* they are not numbered alike in two runs */
    while (to - from > 1) {
        uint64_t middle = from + (to - from) / 2;
        job->world.late_from = from;
        job->world.late_to = middle;
        if (proof_over(proof))
            return false;
        if (proof_differs(proof, job))
            to = middle;
        else
            from = middle;
    }
    job->world.late_from = from;
    job->world.late_to = to;
    return !proof_over(proof) && proof_differs(proof, job);
}

static void tell_read_early(struct proof *proof, struct job *job, const struct merge_origin *origin)
{
    struct trace *trace = proof->verdict->result.trace;
    if (find_late(proof, job)) {
        job->world.late_told = true;
        if (proof_run(proof, job, origin, NULL) && is_told(proof, "B001"))
            return;
    }
    struct finding *finding =
        findings_add(&proof->verdict->findings, "B001",
                     "ranks print something else where buffers are filled as late as MPI lets "
                     "them: one is read before its operation is complete");
    finding->confirmation = CONFIRM_REAL;
    finding_detail(finding, "Compare what is printed with that of\n%s\n", origin->replay);
    finding_seal(finding, trace);
}

/* Whether the operation is a ready send that the rank receives. */
static bool is_ready_for(const struct trace *trace, size_t op, int rank)
{
    const struct trace_op *at = &trace->ops[op];
    bool ready = at->kind == OP_RSEND || at->kind == OP_IRSEND;
    return ready && at->match != TRACE_NO && (int)trace->ops[at->match].rank == rank;
}

/* Whether the receive of a ready send is posted before it in any case is seen where its rank comes to
 * its receives as late as it may. */
static void run_slow_receivers(struct proof *proof)
{
    struct trace *trace = proof->verdict->result.trace;
    unsigned ran = 0;
    for (int rank = 0; rank < proof->job.world.ranks; rank++) {
        size_t i = 0;
        while (i < trace->op_count && !is_ready_for(trace, i, rank))
            i++;
        if (i == trace->op_count)
            continue;
        struct job job =
            proof_job(proof, proof->job.world.send_model, proof->job.world.strict_collectives);
        struct run_options options = *proof->options;
        char replay[RESULT_COMMAND], how[80];
        job.world.late_rank = options.world.late_rank = rank + 1;
        snprintf(how, sizeof how, "in which rank %d comes late to its receives", rank);
        result_command(&options, &job, replay, sizeof replay);
        const struct merge_origin origin = {
            .model = "late", .base = "early", .how = how, .replay = replay};
        bool threads = proof->job.world.executor == SIM_THREADS;
        if (threads || proof_over(proof) || !proof_run(proof, &job, &origin, NULL))
            trace_gap(trace, "delivery", 1, "a run %s (%s)", how,
                      threads ? "ranks are threads" : "the budget was spent");
        else
            ran++;
    }
    if (ran)
        proof_cover(proof, "%u run%s with a late receiver of ready sends", ran,
                    ran == 1 ? "" : "s");
}

/* Threads of a rank are late, too, to what others of its threads have started. */
static bool has_company(const struct trace *trace)
{
    const struct coverage *coverage = trace_coverage(trace);
    for (size_t i = 0; i < coverage->count; i++)
        if (!strcmp(coverage->gaps[i].check, "threads"))
            return true;
    return false;
}

/* Buffers are filled when their operation is completed, and hold nonsense before: whatever ranks do
 * with a buffer before its wait changes what they do, whether their accesses are seen or not. */
void proof_run_late(struct proof *proof, struct results *results)
{
    run_slow_receivers(proof);
    static const char how[] = "in which buffers are filled as late as MPI lets them";
    struct trace *trace = proof->verdict->result.trace;
    char replay[RESULT_COMMAND];
    bool otherwise = false;
    bool windows = accesses_windows(trace) && !accumulates(trace) && !is_told(proof, "B001") &&
                   !is_told(proof, "B003");
    if (proof->job.world.late_receives ||
        !(windows || has_pending_receives(trace) || has_company(trace)))
        return;
    proof_tell_step(proof, results, "late delivery");
    struct job job =
        proof_job(proof, proof->job.world.send_model, proof->job.world.strict_collectives);
    job.world.late_receives = true;
    job.world.early_windows = accumulates(trace);
    struct run_options options = *proof->options;
    result_command(&options, &job, replay, sizeof replay);
    const struct merge_origin origin = {
        .model = "late", .base = "early", .how = how, .replay = replay};
    if (proof_over(proof) || !proof_run(proof, &job, &origin, &otherwise)) {
        trace_gap(trace, "delivery", 1, "a run %s (the budget was spent)", how);
        return;
    }
    proof_cover(proof, "1 run with late delivery");
    /* what threads print depends on how they come along; their accesses were seen */
    if (otherwise && !has_company(trace) && !is_told(proof, "B001"))
        tell_read_early(proof, &job, &origin);
}
