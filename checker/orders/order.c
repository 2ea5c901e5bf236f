/* D002, R001, R002 over all legal orders of the backward passes in data mode.
 *
 * Crossing first: two neighbours of a stream (streams.h) that nothing orders can be posted either
 * way round on their rank, and meet each other's partners: silent (R002) when their signatures
 * agree, loud (R001) when not. Then waiting: rainbow cycles (cycles.h) under each model, from the
 * most forgiving on, not counting pairs that cross instead of waiting. Each finding carries one
 * forced legal order per rank and is replayed on the abstract machine before it is reported. */
#include "checker/memory.h"
#include "checker/orders/cycles.h"
#include "checker/orders/reference.h"
#include "checker/orders/repair.h"
#include "checker/orders/streams.h"
#include "checker/places.h"
#include "checker/properties.h"
#include "checker/replay/replay.h"
#include "checker/replay/witness.h"

#include <stdlib.h>
#include <string.h>

enum { CYCLES_MAX = 32, TRIES_MAX = 64, REPAIR_OPS_MAX = 100000 };

/* Why not all orders were seen. */
enum {
    STOPPED_SEARCH = 1, /* the search for a cycle took more steps than it may */
    STOPPED_TRIES = 2,  /* too many cycles turned out to cross instead of waiting */
    STOPPED_FOUND = 4,  /* enough was found */
    STOPPED_PASS = 8,   /* a pass is too large or cyclic: taken as recorded */
    STOPPED_SOME = 16   /* an order stands where some sends or collectives wait and others do not */
};

struct order_check {
    const struct check_context *context;
    const struct trace *trace;
    struct check_partial_order reach, kept;
    const struct check_partial_order *waiting; /* the orders in which hangs are looked for */
    bool turns; /* `reach` has orders that `kept` has not: pairs of a stream turned round */
    struct check_streams streams;
    struct findings *findings;
    size_t first; /* findings of this check start here */
    struct cycle_step *refused;
    size_t refused_count, refused_room;
    uint32_t *base; /* of the other ranks, where a pair is turned; NULL: as recorded */
    bool *told;     /* per op: stands in a reported cycle of a more forgiving model */
    unsigned stopped;
    uint32_t stopped_at; /* an op of what was not searched to the end */
};

static uint32_t *recorded_order(const struct trace *trace)
{
    uint32_t *order = check_new(trace->op_count, sizeof *order);
    for (uint32_t i = 0; i < trace->op_count; i++)
        order[i] = i;
    return order;
}

/* ---- crossing ---- */

static bool is_silent(const struct trace_op *a, const struct trace_op *b)
{
    if (op_kind_class(a->kind) == CLASS_COLLECTIVE)
        return check_same_signature(a, b) && a->peer == b->peer;
    return check_class(a) == check_class(b) && a->count == b->count &&
           a->form->type == b->form->type &&
           a->form->signature ==
               b->form->signature; /* the kind of a send or receive does not matter */
}

/* A partner of `op` on another rank, for the text. */
static uint32_t partner_of(const struct check_context *context, uint32_t op)
{
    const struct trace *trace = context->trace;
    if (check_group_of(context, op) == TRACE_NO)
        return trace->ops[op].match;
    const struct check_group *group = &context->groups[check_group_of(context, op)];
    for (uint32_t i = 0; i < group->count; i++)
        if (trace->ops[context->group_ops[group->first + i]].rank != trace->ops[op].rank)
            return context->group_ops[group->first + i];
    return TRACE_NO;
}

static bool already_told(struct order_check *check, const char *code,
                         const struct stream_pair *pair)
{
    for (size_t i = check->first; i < check->findings->count; i++) {
        const struct finding *finding = &check->findings->items[i];
        const struct trace_op *ops = check->trace->ops;
        if (strcmp(finding->code, code) == 0 &&
            ops[finding->ops[0].op].form->site == ops[pair->first].form->site &&
            ops[finding->ops[1].op].form->site == ops[pair->second].form->site &&
            ops[finding->ops[0].op].kind == ops[pair->first].kind &&
            ops[finding->ops[1].op].kind == ops[pair->second].kind)
            return true;
    }
    return false;
}

/* What crosses may hang afterwards. */
enum outcome { OUTCOME_COMPLETES, OUTCOME_HANGS, OUTCOME_CROSSES, OUTCOME_CROSSES_AND_HANGS };

/* In this plan one of the pair meets what the other met as recorded. */
static bool is_swapped(const struct check_plan *plan, const struct stream_pair *pair)
{
    const struct trace_op *ops = plan->context->trace->ops;
    return plan->steps[pair->first].target == ops[pair->second].match ||
           plan->steps[pair->second].target == ops[pair->first].match;
}

static void stop(struct order_check *check, unsigned why, uint32_t op)
{
    check->stopped_at = check->stopped ? check->stopped_at : op;
    check->stopped |= why;
}

/* `pair`: where they may have any tag, what else crosses does not count; else NULL. */
static enum outcome replay_order(struct order_check *check, const uint32_t *order,
                                 enum check_model model, const struct stream_pair *pair)
{
    struct check_plan plan;
    struct check_replay replay;
    check_plan_init(&plan, check->context, &(struct plan_options){.order = order});
    check_replay_run(&plan, model, &replay);
    bool crossed = replay.crossed && (!pair || is_swapped(&plan, pair));
    bool hangs = check_replay_hangs(&replay);
    if (replay.stuck && !hangs)
        stop(check, STOPPED_SOME, replay.loose);
    enum outcome outcome = crossed && hangs           ? OUTCOME_CROSSES_AND_HANGS
                           : crossed                  ? OUTCOME_CROSSES
                           : hangs && !replay.crossed ? OUTCOME_HANGS
                                                      : OUTCOME_COMPLETES;
    check_replay_release(&replay);
    check_plan_release(&plan);
    return outcome;
}

/* The models in which a fault of this model occurs too: the less forgiving ones. */
static void set_models(const struct order_check *check, struct finding *finding,
                       enum check_model model)
{
    unsigned models = check_models_asked(check->context) & ~((unsigned)model - 1);
    check_models_text(models, finding->models, sizeof finding->models);
}

static const char *effect_of(enum outcome outcome, bool silent)
{
    if (outcome == OUTCOME_HANGS)
        return "Turned round, one waits for ever.\n";
    if (outcome == OUTCOME_CROSSES_AND_HANGS)
        return "Turned round, they meet other partners: a mismatch, or one waits for ever.\n";
    return silent ? "Kinds, counts and types agree, so nothing fails: the values are swapped.\n"
                  : "They do not fit each other: a mismatch, or a hang.\n";
}

static const char *partner_place(const struct trace *trace, uint32_t partner, char *text,
                                 size_t size)
{
    return partner == TRACE_NO ? "nobody" : check_place(trace, partner, text, size);
}

static void report_pair(struct order_check *check, const struct stream_pair *pair, const char *code,
                        enum outcome outcome, const uint32_t *partners)
{
    const struct trace *trace = check->trace;
    char one[PLACE_TEXT], other[PLACE_TEXT];
    struct finding *finding =
        findings_add(check->findings, code, "nothing orders %s and %s, which can %s",
                     check_short_place(trace, pair->first, one, sizeof one),
                     check_short_place(trace, pair->second, other, sizeof other),
                     outcome == OUTCOME_HANGS ? "hang" : "cross");
    finding_detail(finding, "Nothing orders %s and %s: either may come first.\n",
                   check_place(trace, pair->first, one, sizeof one),
                   check_place(trace, pair->second, other, sizeof other));
    finding_detail(finding, "Their partners: %s, %s.\n",
                   partner_place(trace, partners[0], one, sizeof one),
                   partner_place(trace, partners[1], other, sizeof other));
    finding_detail(finding, "%s", effect_of(outcome, strcmp(code, "R002") == 0));
    finding_op_add(finding, pair->first, "culprit");
    finding_op_add(finding, pair->second, "culprit");
    for (size_t i = 0; i < 2; i++)
        if (partners[i] != TRACE_NO)
            finding_op_add(finding, partners[i], "partner");
}

/* What crosses is reported as that: hangs are looked for first in orders in which nothing does, that
 * is, in which pairs of a stream stay as recorded. There the search is exact. */
static void keep_streams(struct order_check *check)
{
    const struct trace *trace = check->trace;
    const struct check_streams *streams = &check->streams;
    struct trace_edge *edges = check_new(streams->pair_count, sizeof *edges);
    size_t count = 0;
    for (size_t i = 0; i < streams->pair_count; i++)
        if (!streams->pairs[i].doubtful)
            edges[count++] = (struct trace_edge){.from = trace->ops[streams->pairs[i].first].node,
                                                 .to = trace->ops[streams->pairs[i].second].node,
                                                 .type = EDGE_ORDER};
    if (count)
        check_partial_order_init_with(&check->kept, check->context, edges, count);
    free(edges);
    check->turns = count > 0;
    check->waiting = count ? &check->kept : &check->reach;
}

/* The pair turned round on its rank, everything else as recorded, under the most forgiving model
 * asked for. `exact`: a pair with any tags must be what crosses; what it needs first is turned
 * round with it. */
static void judge_pair(struct order_check *check, const struct stream_pair *pair, bool exact)
{
    const struct trace *trace = check->trace;
    uint32_t partners[2] = {partner_of(check->context, pair->first),
                            partner_of(check->context, pair->second)};
    bool silent = is_silent(&trace->ops[pair->first], &trace->ops[pair->second]);
    const char *code = silent ? "R002" : "R001";
    exact = exact && pair->doubtful;
    if (exact && check_partial_order_before(check->waiting, pair->first, pair->second))
        return; /* others would cross with them */
    if ((partners[0] == TRACE_NO && partners[1] == TRACE_NO) || already_told(check, code, pair))
        return;
    unsigned models = check->context->options->models;
    enum check_model model = (enum check_model)(models & ~(models - 1));
    uint32_t *order = check_reference_around(trace, check->base, trace->ops[pair->first].rank);
    check_partial_order_linearize(exact ? check->waiting : &check->reach, pair->second, pair->first,
                                  order);
    enum outcome outcome = replay_order(check, order, model, exact ? pair : NULL);
    if (outcome == OUTCOME_CROSSES_AND_HANGS && silent) { /* it does not stay silent */
        code = "R001";
        outcome = already_told(check, code, pair) ? OUTCOME_COMPLETES : outcome;
    }
    if (outcome != OUTCOME_COMPLETES) {
        code = outcome == OUTCOME_HANGS ? "D002" : code;
        report_pair(check, pair, code, outcome, partners);
        struct finding *finding = &check->findings->items[check->findings->count - 1];
        finding->witness = check_witness_text(trace, code, model, order, NULL, 0);
        finding->confirmation = CONFIRM_ABSTRACT;
        if (outcome == OUTCOME_HANGS)
            set_models(check, finding, model);
        finding_seal(finding, trace);
    }
    free(order);
}

/* Steps that were tried, and cross instead of waiting. */
static bool crosses_instead(const void *context, uint32_t stands, uint32_t held)
{
    const struct order_check *check = context;
    for (size_t i = 0; i < check->refused_count; i++)
        if (check->refused[i].stands == stands && check->refused[i].held == held)
            return true;
    return false;
}

/* ---- waiting ---- */

static void name_step(struct order_check *check, struct finding *finding,
                      const struct cycle_step *step)
{
    char one[PLACE_TEXT], other[PLACE_TEXT];
    bool turned = !check_partial_order_before(&check->reach, step->stands, step->held);
    finding_detail(finding, "%s %s before %s, which the rank before it in the cycle waits for.\n",
                   check_place(check->trace, step->stands, one, sizeof one),
                   turned ? "may come" : "comes",
                   check_short_place(check->trace, step->held, other, sizeof other));
}

static void report_cycle(struct order_check *check, const struct check_cycle *cycle,
                         enum check_model model, const uint32_t *order)
{
    const struct trace *trace = check->trace;
    char places[PLACE_TEXT] = "";
    for (size_t i = 0; i < cycle->count; i++)
        check_add_place(trace, cycle->steps[i].stands, places, sizeof places);
    struct finding *finding =
        findings_add(check->findings, "D002", "another legal order hangs: %zu rank%s, %s",
                     cycle->count, cycle->count == 1 ? "" : "s", places);
    for (size_t i = 0; i < cycle->count; i++) {
        check->told[cycle->steps[i].stands] = true;
        if (i < PLACES_LISTED_MAX)
            name_step(check, finding, &cycle->steps[i]);
        finding_op_add(finding, cycle->steps[i].stands, "core");
    }
    for (size_t i = 0; i < cycle->count; i++)
        finding_op_add(finding, cycle->steps[i].held, "partner");
    set_models(check, finding, model);
    finding->witness = check_witness_text(trace, "D002", model, order, NULL, 0);
    finding->confirmation = CONFIRM_ABSTRACT;
    finding_seal(finding, trace);
}

/* A finding of this check whose core stands at the same places: large passes repeat one fault in
 * every layer. */
static bool is_known_fault(const struct order_check *check, const struct check_cycle *cycle)
{
    const struct trace_op *ops = check->trace->ops;
    for (size_t i = check->first; i < check->findings->count; i++) {
        const struct finding *finding = &check->findings->items[i];
        size_t same = 0;
        for (size_t s = 0; s < cycle->count && cycle->count < finding->op_count; s++) {
            uint32_t one = cycle->steps[s].stands, other = finding->ops[s].op;
            same +=
                ops[one].form->site == ops[other].form->site && ops[one].kind == ops[other].kind;
        }
        if (strcmp(finding->code, "D002") == 0 && same == cycle->count)
            return true;
    }
    return false;
}

/* Reports the cycle if its orders really hang; false when they do not: something crosses first. */
static bool judge_cycle(struct order_check *check, const struct check_cycle *cycle,
                        enum check_model model)
{
    uint32_t *order = recorded_order(check->trace);
    for (size_t i = 0; i < cycle->count; i++)
        check_partial_order_linearize(check->waiting, cycle->steps[i].stands, cycle->steps[i].held,
                                      order);
    bool hangs = replay_order(check, order, model, NULL) == OUTCOME_HANGS;
    if (hangs)
        report_cycle(check, cycle, model, order);
    free(order);
    return hangs;
}

/* A cycle that does not hang is not looked for again: its turned pairs are refused. */
static void refuse(struct order_check *check, const struct check_cycle *cycle)
{
    for (size_t i = 0; i < cycle->count; i++) {
        if (check_partial_order_before(check->waiting, cycle->steps[i].stands,
                                       cycle->steps[i].held))
            continue;
        check->refused = check_grow(check->refused, &check->refused_room, check->refused_count + 1,
                                    sizeof *check->refused);
        check->refused[check->refused_count++] = cycle->steps[i];
    }
}

/* A component that holds a cycle already reported under a more forgiving model is that fault again.
 */
static bool is_reported(const struct order_check *check, const struct check_components *components,
                        uint32_t component)
{
    for (uint32_t i = components->standing_begin[component];
         i < components->standing_begin[component + 1]; i++)
        if (check->told[components->standing_ops[i]])
            return true;
    return false;
}

/* Looks for a cycle of the component that hangs, and reports it. Among orders that may cross
 * (`all`) it need not find every one: that they cross is told. */
static bool search_component(struct order_check *check, struct cycle_search *search,
                             uint32_t component, enum check_model model)
{
    uint32_t first = search->components->standing_begin[component];
    uint32_t op = search->components->standing_ops[first];
    bool all = check->turns && check->waiting == &check->reach;
    search->budget = check->context->options->search_limit;
    for (unsigned tries = 0; tries < TRIES_MAX; tries++) {
        struct check_cycle cycle = check_cycle_find(search, component);
        size_t length = cycle.count;
        bool hangs = length && (is_known_fault(check, &cycle) || judge_cycle(check, &cycle, model));
        if (length && !hangs)
            refuse(check, &cycle);
        free(cycle.steps);
        if (!length && !search->budget && !all)
            stop(check, STOPPED_SEARCH, op);
        if (!length || hangs)
            return hangs;
    }
    if (!all)
        stop(check, STOPPED_TRIES, op);
    return false;
}

static void search_model(struct order_check *check, const struct check_plan *plan,
                         enum check_model model)
{
    struct check_needs needs;
    struct check_components components;
    struct check_replay replay;
    check_needs_init(&needs, plan, model);
    check_components_init(&components, &needs, check->waiting);
    check_replay_run(plan, model, &replay);
    struct cycle_search search = {.reach = check->waiting,
                                  .needs = &needs,
                                  .components = &components,
                                  .reference_is_safe = !check_replay_hangs(&replay),
                                  .excluded = crosses_instead,
                                  .context = check};
    unsigned found = 0;
    for (uint32_t c = 0; c < components.count; c++) {
        if (components.standing_begin[c] == components.standing_begin[c + 1] ||
            is_reported(check, &components, c))
            continue;
        if (found == CYCLES_MAX) {
            stop(check, STOPPED_FOUND, components.standing_ops[components.standing_begin[c]]);
            break;
        }
        found += search_component(check, &search, c, model);
    }
    check_replay_release(&replay);
    check_components_release(&components);
    check_needs_release(&needs);
}

/* What was not seen may hold more: said, so that silence means that all was seen. */
static void report_stopped(struct order_check *check)
{
    char place[PLACE_TEXT];
    if (check->reach.bounded || check->kept.bounded)
        stop(check, STOPPED_PASS,
             check->reach.bounded ? check->reach.bounded_at : check->kept.bounded_at);
    if (!check->stopped)
        return;
    struct finding *finding =
        findings_add(check->findings, "N001", "bounded: not all orders were searched: %s",
                     check_short_place(check->trace, check->stopped_at, place, sizeof place));
    if (check->stopped & STOPPED_SEARCH)
        finding_detail(finding, "The search for cycles took %llu steps and was not at its end.\n",
                       (unsigned long long)check->context->options->search_limit);
    if (check->stopped & STOPPED_TRIES)
        finding_detail(finding,
                       "%d cycles that cross instead of waiting were passed over; there "
                       "may be more behind them.\n",
                       TRIES_MAX);
    if (check->stopped & STOPPED_FOUND)
        finding_detail(finding, "%d hangs were found; more were not looked for.\n", CYCLES_MAX);
    if (check->stopped & STOPPED_PASS)
        finding_detail(finding, "A backward pass is too large, or its edges go in a circle: only "
                                "its recorded order was judged.\n");
    if (check->stopped & STOPPED_SOME)
        finding_detail(finding, "Orders that stand only where some sends or collectives wait for "
                                "others, and some do not, were not judged.\n");
    trace_gap(check->trace, "order", 1, "%s",
              check->stopped & STOPPED_PASS
                  ? "orders of a backward pass that is too large or whose edges go in a circle"
              : check->stopped == STOPPED_SOME
                  ? "orders that stand only where some sends or collectives wait for others, and "
                    "some do not"
                  : "orders beyond the bound of the search (N001)");
    finding_op_add(finding, check->stopped_at, "unsearched");
    finding_seal(finding, check->trace);
}

/* One set of edges mends everything this check found: it is reported with each finding. */
static void propose_repair(struct order_check *check)
{
    const struct trace *trace = check->trace;
    struct check_repair repair;
    if (check->findings->count == check->first || trace->op_count > REPAIR_OPS_MAX)
        return;
    check_repair_find(&repair, check->context);
    for (size_t i = check->first; i < check->findings->count && repair.repairs; i++) {
        struct finding *finding = &check->findings->items[i];
        finding->repair = check_repair_text(&repair, trace);
        finding->repair_edges = check_new(repair.count, sizeof *finding->repair_edges);
        finding->repair_count = repair.count;
        for (size_t e = 0; e < repair.count; e++)
            finding->repair_edges[e] =
                (struct trace_edge){.from = trace->ops[repair.edges[e].before].node,
                                    .to = trace->ops[repair.edges[e].after].node,
                                    .type = EDGE_ORDER};
    }
    check_repair_release(&repair);
}

void check_order(const struct check_context *context, struct findings *findings)
{
    if (!context->has_data_passes || context->cut_short)
        return;
    struct order_check check = {.context = context,
                                .trace = context->trace,
                                .findings = findings,
                                .first = findings->count};
    struct check_plan plan;
    check.told = check_new(context->trace->op_count, sizeof *check.told);
    check_partial_order_init(&check.reach, context);
    check_streams_init(&check.streams, &check.reach, NULL);
    keep_streams(&check);
    check.base = check.streams.pair_count ? check_reference_base(&check.reach) : NULL;
    for (size_t i = 0; i < check.streams.pair_count; i++)
        judge_pair(&check, &check.streams.pairs[i], true);
    bool silent = findings->count == check.first; /* then something may cross all the same */
    for (size_t i = 0; i < check.streams.pair_count && silent; i++)
        if (check.streams.pairs[i].doubtful)
            judge_pair(&check, &check.streams.pairs[i], false);
    check_plan_init(&plan, context, &(struct plan_options){0});
    for (unsigned model = CHECK_EAGER; model <= CHECK_BATCH; model <<= 1) {
        if (!(check_models_asked(context) & model))
            continue;
        check.waiting = check.turns ? &check.kept : &check.reach;
        search_model(&check, &plan, (enum check_model)model);
        check.waiting = &check.reach; /* those that hang before they cross, as far as one sees */
        if (check.turns)
            search_model(&check, &plan, (enum check_model)model);
    }
    check_plan_release(&plan);
    propose_repair(&check);
    report_stopped(&check);
    check_streams_release(&check.streams);
    check_partial_order_release(&check.reach);
    check_partial_order_release(&check.kept);
    free(check.refused);
    free(check.base);
    free(check.told);
}
