/* D002, D003, R003 of an imported plan with wildcards, or with waits that any of several requests
 * ends: over all its orders, matches and completions together (orders/joint.h).
 *
 * What an importer says a wildcard took is an assumption, and so is what follows from it. Where the
 * joint search is exact, it has the last word: a hang or a race that it does not find is not
 * reported, one that only it finds is. Elsewhere that nobody looked is said (N001). */
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

/* A hang under this model is reported already. */
static bool is_told(const struct findings *findings, enum check_model model)
{
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].code[0] == 'D' &&
            strstr(findings->items[i].models, check_model_name(model)))
            return true;
    return false;
}

/* Nothing hangs under this model in any order in which calls meet as planned: what was said to, does
 * not. */
static void withdraw(const struct check_context *context, struct findings *findings,
                     enum check_model safe)
{
    unsigned gone = context->has_batches ? safe : safe | CHECK_BATCH;
    for (size_t i = findings->count; i-- > 0;) {
        struct finding *finding = &findings->items[i];
        unsigned models = 0;
        if (finding->code[0] != 'D' || !finding->models[0] ||
            strcmp(finding->ops[0].role, "culprit") == 0) /* a pair turned round: they need not */
            continue;
        for (unsigned model = CHECK_EAGER; model <= CHECK_BATCH; model <<= 1)
            if (!(model & gone) &&
                strstr(finding->models, check_model_name((enum check_model)model)))
                models |= model;
        bool every = strstr(finding->title, "every progress model") && finding->models[0] == 'e' &&
                     strstr(finding->models, check_model_name(safe));
        check_models_text(models, finding->models, sizeof finding->models);
        if (!models || every) /* it says more than is so: the search says it anew */
            findings_remove(findings, i);
    }
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

/* `models`: all under which something hangs, `model` the first of them. */
static void report(const struct check_context *context, unsigned models, enum check_model model,
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
    for (size_t i = 0; i < hang->choice_count && i < PLACES_LISTED_MAX; i++)
        finding_detail(finding, "%s takes a message of rank %u.\n",
                       check_place(trace, hang->choices[i].receive, place, sizeof place),
                       hang->choices[i].source);
    for (size_t i = 0; i < hang->stand_count && i < PLACES_LISTED_MAX; i++)
        finding_detail(finding, "Then %s waits for ever.\n",
                       check_place(trace, hang->stands[i], place, sizeof place));
    for (size_t i = 0; i < hang->stand_count; i++)
        finding_op_add(finding, hang->stands[i], "core");
    check_models_text(models, finding->models, sizeof finding->models);
    if (is_confirmed(context, model, hang)) {
        finding->witness =
            check_witness_text(trace, code, model, hang->order, hang->choices, hang->choice_count);
        finding->confirmation = CONFIRM_ABSTRACT;
    }
    finding_seal(finding, trace);
}

/* ---- races ---- */

/* What receives were seen to take: two messages, of wildcards those of different ranks; TRACE_NO
 * each. */
struct sources {
    uint32_t *takes, *or_else;
};

static void note_sources(const struct trace *trace, const struct joint_hang *hang,
                         struct sources *sources)
{
    for (uint32_t op = 0; op < trace->op_count; op++) {
        const uint32_t seen[] = {hang->takes[op], hang->or_else[op]};
        for (size_t i = 0; i < 2; i++) {
            if (seen[i] == TRACE_NO)
                continue;
            uint32_t first = sources->takes[op];
            if (first == TRACE_NO)
                sources->takes[op] = seen[i];
            else if (trace->ops[op].peer == TRACE_ANY
                         ? trace->ops[first].rank != trace->ops[seen[i]].rank
                         : first != seen[i])
                sources->or_else[op] = seen[i];
        }
    }
}

static void report_race(const struct trace *trace, uint32_t receive, const struct sources *sources,
                        struct findings *findings)
{
    char place[PLACE_TEXT];
    struct finding *finding =
        findings_add(findings, "R003", "more than one message can come first: %s",
                     check_short_place(trace, receive, place, sizeof place));
    finding_detail(finding, "%s can take ", check_place(trace, receive, place, sizeof place));
    finding_detail(finding, "%s", check_place(trace, sources->takes[receive], place, sizeof place));
    finding_detail(finding, ", and in another legal order %s.\n",
                   check_place(trace, sources->or_else[receive], place, sizeof place));
    finding_op_add(finding, receive, "culprit");
    finding_op_add(finding, sources->takes[receive], "partner");
    finding_op_add(finding, sources->or_else[receive], "partner");
    finding_seal(finding, trace);
}

/* Where no wildcard explains it, one message takes the other's place: with receives of any tag it
 * may take orders of two ranks. */
static void report_crossing(const struct trace *trace, uint32_t receive,
                            const struct sources *sources, struct findings *findings)
{
    char one[PLACE_TEXT], other[PLACE_TEXT];
    uint32_t first = sources->takes[receive], second = sources->or_else[receive];
    bool alike = check_same_signature(&trace->ops[first], &trace->ops[second]);
    struct finding *finding =
        findings_add(findings, alike ? "R002" : "R001", "other legal orders let %s and %s cross",
                     check_short_place(trace, first, one, sizeof one),
                     check_short_place(trace, second, other, sizeof other));
    finding->site = trace->ops[receive].form->site;
    finding_detail(finding, "%s can take ", check_place(trace, receive, one, sizeof one));
    finding_detail(finding, "%s", check_place(trace, first, one, sizeof one));
    finding_detail(finding, ", and in other legal orders %s.\n",
                   check_place(trace, second, one, sizeof one));
    finding_op_add(finding, first, "culprit");
    finding_op_add(finding, second, "culprit");
    finding_op_add(finding, receive, "partner");
    finding_seal(finding, trace);
}

static void judge_crossings(const struct trace *trace, const struct sources *sources,
                            struct findings *findings)
{
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].code[0] == 'R' && findings->items[i].code[3] <= '2')
            return;
    for (uint32_t op = 0; op < trace->op_count; op++)
        if (sources->or_else[op] != TRACE_NO) {
            report_crossing(trace, op, sources, findings);
            return;
        }
}

/* Every order and match was seen, and nothing hung. */
static void judge_races(const struct trace *trace, const struct sources *sources,
                        struct findings *findings)
{
    bool any = false;
    for (size_t i = findings->count; i-- > 0;) {
        const struct finding *finding = &findings->items[i];
        if (strcmp(finding->code, "R003") != 0)
            continue;
        if (sources->or_else[finding->ops[0].op] == TRACE_NO)
            findings_remove(findings, i);
        else
            any = true;
    }
    /* one race makes others: the first is enough */
    for (uint32_t op = 0; op < trace->op_count && !any; op++) {
        any = sources->or_else[op] != TRACE_NO && trace->ops[op].peer == TRACE_ANY;
        if (any)
            report_race(trace, op, sources, findings);
    }
}

/* ---- the search ---- */

/* Both ways in which collectives may synchronise: each lets wildcards see what the other does not.
 */
static enum joint_answer search(const struct check_context *context,
                                const struct check_partial_order *reach, enum check_model model,
                                struct joint_hang *hang, struct sources *sources)
{
    enum joint_answer worst = JOINT_SAFE;
    for (int minimal = 0; minimal < 2; minimal++) {
        struct check_plan plan;
        check_plan_init(&plan, context, &(struct plan_options){.minimal = minimal});
        enum joint_answer answer = check_joint_search(&plan, reach, model, minimal, hang);
        check_plan_release(&plan);
        note_sources(context->trace, hang, sources);
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
    finding_op_add(finding, op, "unsearched");
    finding_seal(finding, trace);
}

/* What leaves matches or completions open: wildcards; where orders are open, receives of any tag and
 * waits that any request ends. */
static bool is_open(const struct check_context *context, const struct check_plan *plan)
{
    for (uint32_t op = 0; op < context->trace->op_count && context->has_data_passes; op++)
        if (plan->steps[op].action == PLAN_WAIT_ANY ||
            (plan->steps[op].action == PLAN_RECEIVE && context->trace->ops[op].tag == TRACE_ANY))
            return true;
    return context->has_wildcards;
}

/* What the search under each model found; it is released by who asked. */
struct answers {
    unsigned hangs, safe;   /* masks of models */
    enum check_model first; /* that hangs */
    struct joint_hang hang;
    bool bounded;
};

static void ask(const struct check_context *context, const struct check_partial_order *reach,
                struct answers *answers, struct sources *sources)
{
    for (unsigned model = CHECK_EAGER; model <= CHECK_RENDEZVOUS; model <<= 1) {
        struct joint_hang hang = {0};
        if (!(check_models_asked(context) & model))
            continue;
        enum joint_answer answer = search(context, reach, (enum check_model)model, &hang, sources);
        answers->safe |= answer == JOINT_SAFE ? model : 0;
        answers->bounded |= answer == JOINT_BOUNDED;
        if (answer == JOINT_HANGS && !answers->hangs) {
            answers->first = (enum check_model)model;
            answers->hang = hang;
        } else {
            check_joint_release(&hang);
        }
        answers->hangs |= answer == JOINT_HANGS ? model : 0;
    }
}

/* False where it was not searched to the end. */
static bool judge(const struct check_context *context, const struct check_partial_order *reach,
                  struct findings *findings)
{
    const struct trace *trace = context->trace;
    struct answers answers = {0};
    struct sources sources = {check_new(trace->op_count, sizeof *sources.takes),
                              check_new(trace->op_count, sizeof *sources.or_else)};
    memset(sources.takes, 0xff, trace->op_count * sizeof *sources.takes);
    memset(sources.or_else, 0xff, trace->op_count * sizeof *sources.or_else);
    ask(context, reach, &answers, &sources);
    for (unsigned model = CHECK_EAGER; model <= CHECK_RENDEZVOUS; model <<= 1)
        if (answers.safe & model)
            withdraw(context, findings, (enum check_model)model);
    if (answers.safe & CHECK_EAGER)
        judge_races(trace, &sources, findings);
    if (!context->has_wildcards && !answers.bounded)
        judge_crossings(trace, &sources, findings);
    if (answers.hangs && !is_told(findings, answers.first))
        report(context, answers.hangs, answers.first, &answers.hang, findings);
    check_joint_release(&answers.hang);
    free(sources.takes);
    free(sources.or_else);
    return !answers.bounded;
}

/* What a plan does where a test or a probe answers otherwise it does not say. */
static void report_answers(const struct check_context *context, const struct check_plan *plan)
{
    size_t count = 0;
    for (uint32_t op = 0; op < context->trace->op_count; op++)
        count += plan->steps[op].tested;
    trace_gap(context->trace, "matches", count,
              "tests and probes of a plan that answer otherwise than it says");
}

void check_matches(const struct check_context *context, struct findings *findings)
{
    struct check_plan plan;
    struct check_partial_order reach;
    if (context->trace->outcome != OUTCOME_IMPORTED || context->cut_short)
        return;
    check_plan_init(&plan, context, &(struct plan_options){0});
    report_answers(context, &plan);
    bool open = is_open(context, &plan), fits = open && check_joint_fits(&plan);
    check_plan_release(&plan);
    if (!open)
        return;
    if (fits) {
        check_partial_order_init(&reach, context);
        fits = !reach.bounded && judge(context, &reach, findings);
        check_partial_order_release(&reach);
    }
    if (!fits)
        report_bounded(context, findings);
}
