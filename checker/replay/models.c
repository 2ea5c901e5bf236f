/* D002, D003, D004 of a run as it was ordered: does the same program, in the same order, get stuck
 * under another progress model or where collectives synchronise everybody?
 *
 * Stuck even with eager sends: D002. Only where sends wait for their receives: D003. Only where
 * batches move as a whole: D004. The first cause in time is reported; where the forward pass is at
 * fault, the backward passes are judged alone, and a fault there too makes the finding `inherited`.
 */
#include "checker/places.h"
#include "checker/properties.h"
#include "checker/replay/replay.h"
#include "checker/replay/witness.h"
#include "traces/trace/requests.h"

#include <stdlib.h>
#include <string.h>

static bool in_forward(const struct trace *trace, const struct check_replay *replay)
{
    for (size_t i = 0; i < replay->cycle_count; i++)
        if (trace->ops[replay->cycle[i]].form->pass != 0)
            return false;
    return true;
}

/* One message, or one collective. */
static bool belong_together(const struct trace *trace, uint32_t start, uint32_t other)
{
    const struct trace_op *a = &trace->ops[start], *b = &trace->ops[other];
    return a->match == other || b->match == start ||
           (check_class(a) == CLASS_COLLECTIVE && check_class(b) == CLASS_COLLECTIVE &&
            a->form->comm == b->form->comm && a->comm_seq == b->comm_seq);
}

/* What this operation waits for, one by one, where it is a wait; then TRACE_NO. */
static uint32_t awaited(const struct trace *trace, uint32_t wait, size_t index)
{
    bool waits = op_kind_class(trace->ops[wait].kind) == CLASS_WAIT;
    return waits ? trace_op_request(trace, wait, index) : TRACE_NO;
}

/* The messages that this wait waits for and that nobody receives. */
static void add_lost(struct finding *finding, const struct trace *trace, uint32_t wait)
{
    uint32_t start;
    for (size_t i = 0; (start = awaited(trace, wait, i)) != TRACE_NO; i++)
        if (check_class(&trace->ops[start]) == CLASS_SEND && trace->ops[start].match == TRACE_NO)
            finding_op_add(finding, start, "core");
}

/* What the wait waits for, where its partner comes only later. */
static void add_awaited(struct finding *finding, const struct trace *trace, uint32_t wait,
                        uint32_t lacked)
{
    uint32_t start;
    for (size_t i = 0; (start = awaited(trace, wait, i)) != TRACE_NO; i++)
        if (belong_together(trace, start, lacked))
            finding_op_add(finding, start, "partner");
}

static void name_cycle(struct finding *finding, const struct trace *trace,
                       const struct check_replay *replay)
{
    char place[PLACE_TEXT], lacked[PLACE_TEXT];
    for (size_t i = 0; i < replay->cycle_count; i++) {
        if (i < PLACES_LISTED_MAX && replay->lacks[i] != TRACE_NO)
            finding_detail(finding, "%s waits; %s comes only later.\n",
                           check_place(trace, replay->cycle[i], place, sizeof place),
                           check_place(trace, replay->lacks[i], lacked, sizeof lacked));
        else if (i < PLACES_LISTED_MAX)
            finding_detail(finding, "%s waits; nobody has its partner.\n",
                           check_place(trace, replay->cycle[i], place, sizeof place));
        finding_op_add(finding, replay->cycle[i], "core");
        add_lost(finding, trace, replay->cycle[i]);
    }
    if (replay->cycle_count > PLACES_LISTED_MAX)
        finding_detail(finding, "The cycle has %zu ranks.\n", replay->cycle_count);
    for (size_t i = 0; i < replay->cycle_count; i++)
        if (replay->lacks[i] != TRACE_NO) {
            add_awaited(finding, trace, replay->cycle[i], replay->lacks[i]);
            finding_op_add(finding, replay->lacks[i], "partner");
        }
}

/* Whether the same order hangs also where collectives wait only for the data they need; a run that
 * ended has shown that it does not. */
static bool hangs_anyhow(const struct check_context *context)
{
    struct check_plan plan;
    struct check_replay replay;
    if (context->trace->outcome != OUTCOME_IMPORTED)
        return false;
    check_plan_init(&plan, context, &(struct plan_options){.minimal = true});
    check_replay_run(&plan, CHECK_EAGER, &replay);
    bool stuck = replay.stuck;
    check_replay_release(&replay);
    check_plan_release(&plan);
    return stuck;
}

static const char *title_of(const struct check_context *context, const char *code)
{
    if (strcmp(code, "D003") == 0)
        return "hangs where sends wait for their receives";
    if (strcmp(code, "D004") == 0)
        return "hangs where batches move as a whole";
    return hangs_anyhow(context) ? "hangs under every progress model"
                                 : "hangs where collectives wait for everybody";
}

/* The same fault in the backward passes alone: their ops join the finding. */
static void inherit(const struct check_context *context, enum check_model model,
                    struct finding *finding)
{
    struct check_plan plan;
    struct check_replay replay;
    if (!context->trace->pass_count)
        return;
    check_plan_init(&plan, context, &(struct plan_options){.backward_only = true});
    check_replay_run(&plan, model, &replay);
    if (replay.stuck) {
        finding->inherited = true;
        finding_detail(finding, "The backward pass inherits it:\n");
        name_cycle(finding, context->trace, &replay);
    }
    check_replay_release(&replay);
    check_plan_release(&plan);
}

static void report(const struct check_context *context, const char *code, enum check_model model,
                   const struct check_replay *replay, struct findings *findings)
{
    const struct trace *trace = context->trace;
    char places[PLACE_TEXT] = "";
    for (size_t i = 0; i < replay->cycle_count; i++)
        check_add_place(trace, replay->cycle[i], places, sizeof places);
    struct finding *finding =
        findings_add(findings, code, "%s: %s", title_of(context, code), places);
    name_cycle(finding, trace, replay);
    if (replay->loose != TRACE_NO) {
        char place[PLACE_TEXT];
        bool sends = check_class(&trace->ops[replay->loose]) == CLASS_SEND;
        check_place(trace, replay->loose, place, sizeof place);
        finding_detail(finding, "So it is where %s%s%s.\n", sends ? "MPI buffers " : "", place,
                       sends ? ", and lets those wait"
                             : " goes on without the others, and those wait");
    }
    if (in_forward(trace, replay))
        inherit(context, model, finding);
    unsigned models = model == CHECK_EAGER        ? CHECK_ALL_MODELS
                      : model == CHECK_RENDEZVOUS ? CHECK_RENDEZVOUS | CHECK_BATCH
                                                  : CHECK_BATCH;
    check_models_text(models & context->options->models, finding->models, sizeof finding->models);
    finding->witness = check_witness_text(trace, code, model, NULL, NULL, 0);
    finding->confirmation = CONFIRM_ABSTRACT;
    finding_seal(finding, trace);
}

/* Another thread of its rank sends or receives on the channel of this op, too. */
static bool is_shared(const struct trace *trace, uint32_t index)
{
    if (index == TRACE_NO)
        return false;
    const struct trace_op *op = &trace->ops[index];
    enum op_class class = check_class(op);
    if (class != CLASS_SEND && class != CLASS_RECEIVE)
        return false;
    for (size_t i = trace->rank_begin[op->rank]; i < trace->rank_begin[op->rank + 1]; i++) {
        const struct trace_op *other = &trace->ops[i];
        if (other->form->thread != op->form->thread && other->form->comm == op->form->comm &&
            other->peer == op->peer && other->tag == op->tag && check_class(other) == class)
            return true;
    }
    return false;
}

/* Which of two threads came first on a channel that they share is not in a recorded trace: who met
 * whom is a guess there, and so is a hang. */
static bool is_guess(const struct check_context *context, const struct check_replay *replay)
{
    const struct trace *trace = context->trace;
    bool shared = false;
    for (size_t i = 0; i < replay->cycle_count && trace->outcome != OUTCOME_IMPORTED; i++)
        shared = shared || is_shared(trace, replay->cycle[i]) || is_shared(trace, replay->lacks[i]);
    if (shared)
        trace_gap(trace, "models", 1,
                  "other progress models: two threads share a channel, and who met whom is not "
                  "recorded");
    return shared;
}

/* Models from the most to the least forgiving: the first that hangs names the fault, the others
 * follow from it. */
void check_models(const struct check_context *context, struct findings *findings)
{
    static const char *const codes[] = {"D002", "D003", "D004"};
    if (context->cut_short)
        return;
    struct check_plan plan;
    check_plan_init(&plan, context, &(struct plan_options){.lost_wait = true});
    for (unsigned i = 0; i < 3; i++) {
        enum check_model model = (enum check_model)(1u << i);
        if (!(check_models_asked(context) & model))
            continue;
        struct check_replay replay;
        check_replay_run(&plan, model, &replay);
        bool stuck = replay.stuck;
        if (stuck && !is_guess(context, &replay))
            report(context, codes[i], model, &replay, findings);
        check_replay_release(&replay);
        if (stuck)
            break;
    }
    check_plan_release(&plan);
}
