/* D002, D003 of an imported plan with wildcards: over all its orders and all matches together
 * (orders/joint.h).
 *
 * What an importer says a wildcard took is an assumption, and so is what follows from it. Where the
 * joint search is exact, it has the last word: a hang that it does not find is not reported, one
 * that only it finds is. Elsewhere that nobody looked is said (N001). */
#include "checker/memory.h"
#include "checker/orders/joint.h"
#include "checker/places.h"
#include "checker/properties.h"
#include "checker/replay/replay.h"
#include "checker/replay/witness.h"
#include "traces/trace/trace.h"

#include <stdlib.h>
#include <string.h>

static const char *const codes[] = {"D002", "D003"};

static bool is_told(const struct findings *findings, const char *code)
{
    for (size_t i = 0; i < findings->count; i++)
        if (strcmp(findings->items[i].code, code) == 0)
            return true;
    return false;
}

static void withdraw(struct findings *findings, const char *code)
{
    for (size_t i = findings->count; i-- > 0;)
        if (strcmp(findings->items[i].code, code) == 0)
            findings_remove(findings, i);
}

/* The hang, replayed on the abstract machine like every other. */
static bool is_confirmed(const struct check_context *context, enum check_model model,
                         const struct joint_hang *hang)
{
    struct check_plan plan;
    struct check_replay replay;
    check_plan_init(&plan, context,
                    &(struct plan_options){.order = hang->order,
                                           .choices = hang->choices,
                                           .choice_count = hang->choice_count});
    check_replay_run(&plan, model, &replay);
    bool stuck = replay.stuck;
    check_replay_release(&replay);
    check_plan_release(&plan);
    return stuck;
}

static void report(const struct check_context *context, enum check_model model,
                   const struct joint_hang *hang, struct findings *findings)
{
    const struct trace *trace = context->trace;
    const char *code = codes[model != CHECK_EAGER];
    char places[PLACE_TEXT] = "", place[PLACE_TEXT];
    for (size_t i = 0; i < hang->stand_count; i++)
        check_add_place(trace, hang->stands[i], places, sizeof places);
    struct finding *finding =
        findings_add(findings, code, "another legal order or match hangs: %zu rank%s, %s",
                     hang->stand_count, hang->stand_count == 1 ? "" : "s", places);
    finding->site = trace->ops[hang->stands[0]].site;
    for (size_t i = 0; i < hang->choice_count && i < PLACES_LISTED_MAX; i++)
        finding_detail(finding, "%s takes a message of rank %u.\n",
                       check_place(trace, hang->choices[i].receive, place, sizeof place),
                       hang->choices[i].source);
    for (size_t i = 0; i < hang->stand_count && i < PLACES_LISTED_MAX; i++)
        finding_detail(finding, "Then %s waits for ever.\n",
                       check_place(trace, hang->stands[i], place, sizeof place));
    for (size_t i = 0; i < hang->stand_count; i++)
        finding_op_add(finding, hang->stands[i], "core");
    check_models_text(check_models_asked(context) & ~((unsigned)model - 1), finding->models,
                      sizeof finding->models);
    if (is_confirmed(context, model, hang)) {
        finding->witness =
            check_witness_text(trace, code, model, hang->order, hang->choices, hang->choice_count);
        finding->confirmation = CONFIRM_ABSTRACT;
    }
    finding_seal(finding, trace);
}

/* Both ways in which collectives may synchronise: each lets wildcards see what the other does not.
 */
static enum joint_answer search(const struct check_context *context,
                                const struct check_partial_order *reach, enum check_model model,
                                struct joint_hang *hang)
{
    enum joint_answer worst = JOINT_SAFE;
    for (int minimal = 0; minimal < 2; minimal++) {
        struct check_plan plan;
        check_plan_init(&plan, context, &(struct plan_options){.minimal = minimal});
        enum joint_answer answer = check_joint_search(&plan, reach, model, minimal, hang);
        check_plan_release(&plan);
        if (answer == JOINT_HANGS)
            return answer;
        check_joint_release(hang);
        worst = answer == JOINT_BOUNDED ? answer : worst;
    }
    return worst;
}

static void report_bounded(const struct check_context *context, struct findings *findings)
{
    const struct trace *trace = context->trace;
    uint32_t op = 0;
    while (op + 1 < trace->op_count &&
           (trace->ops[op].peer != TRACE_ANY || check_class(&trace->ops[op]) != CLASS_RECEIVE))
        op++;
    trace_gap(trace, "matches", 1,
              "orders and matches of wildcards together, beyond %d operations or %d states (N001)",
              JOINT_OPS_MAX, JOINT_STATES_MAX);
    struct finding *finding =
        findings_add(findings, "N001", "bounded: not all orders and matches were looked at");
    finding_detail(finding, "The plan has wildcards; its orders and what they take were not "
                            "searched together to the end.\n");
    finding->site = trace->ops[op].site;
    finding_op_add(finding, op, "unsearched");
    finding_seal(finding, trace);
}

void check_matches(const struct check_context *context, struct findings *findings)
{
    struct check_plan plan;
    struct check_partial_order reach;
    unsigned asked = check_models_asked(context);
    bool bounded = false, hung = false;
    if (context->trace->outcome != OUTCOME_IMPORTED || !context->has_wildcards ||
        context->cut_short)
        return;
    check_plan_init(&plan, context, &(struct plan_options){0});
    check_partial_order_init(&reach, context);
    bool fits = check_joint_fits(&plan) && !reach.bounded;
    check_plan_release(&plan);
    for (unsigned i = 0; i < 2 && fits && !hung; i++) {
        enum check_model model = (enum check_model)(1u << i);
        struct joint_hang hang = {0};
        if (!(asked & model))
            continue;
        enum joint_answer answer = search(context, &reach, model, &hang);
        hung = answer == JOINT_HANGS;
        bounded = bounded || answer == JOINT_BOUNDED;
        if (answer == JOINT_SAFE && (asked & CHECK_EAGER))
            withdraw(findings, codes[i]);
        if (hung && !is_told(findings, codes[i]))
            report(context, model, &hang, findings);
        check_joint_release(&hang);
    }
    check_partial_order_release(&reach);
    if (!fits || bounded)
        report_bounded(context, findings);
}
