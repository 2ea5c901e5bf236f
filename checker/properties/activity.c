/* G002, G003, G004: communication whose adjoint the backward pass left out.
 *
 * A forward node is live when some backward node belongs to it, and dead when every backward pass
 * after it that prunes (data mode) has ended on its rank without one. Dead on some ranks of a
 * collective and live on others: G003. Dead on one side of a message and live on the other: G004.
 * Dead everywhere: G002. */
#include "checker/memory.h"
#include "checker/places.h"
#include "checker/properties.h"

#include <stdlib.h>

enum life { LIFE_UNKNOWN, LIFE_LIVE, LIFE_DEAD };

struct activity {
    const struct check_context *context;
    uint8_t *life;      /* per node, enum life */
    bool *reported;     /* per node: named by a finding */
    uint32_t *first_op; /* per node, TRACE_NO */
    uint32_t *backward; /* per forward node: one of its backward nodes, TRACE_NO */
    uint32_t *made;     /* per pass: one of its nodes, TRACE_NO */
};

static bool is_communication(const struct trace_node *node)
{
    return node->pass == 0 && node->kind != OP_COMPUTE && node->kind != OP_NONE;
}

/* The row of the rank's pass, looked for from one on, as nodes of one pass stand together and passes in their order;
 * `end` where there is none. */
static size_t pass_row(const struct check_context *context, const struct trace_node *node,
                       size_t from)
{
    const struct trace_pass *passes = context->trace->passes;
    size_t begin = context->pass_begin[node->rank], end = context->pass_begin[node->rank + 1];
    from = from < begin || from > end ? begin : from;
    for (size_t at = from; at < end; at++)
        if (passes[at].pass == node->pass)
            return at;
    for (size_t at = begin; at < from; at++)
        if (passes[at].pass == node->pass)
            return at;
    return end;
}

static void find_nodes(struct activity *activity)
{
    const struct check_context *context = activity->context;
    const struct trace *trace = context->trace;
    for (size_t i = 0; i < trace->pass_count; i++)
        activity->made[i] = TRACE_NO;
    size_t at = 0;
    for (size_t n = 0; n < trace->node_count; n++) {
        const struct trace_node *node = &trace->nodes[n];
        if (!node->pass)
            continue;
        at = pass_row(context, node, at);
        if (at < context->pass_begin[node->rank + 1])
            activity->made[at] = (uint32_t)n;
    }
}

/* Of a pass that communicated nothing its nodes say when it was: they are made together. */
static bool began_after(const struct activity *activity, size_t pass, uint32_t node)
{
    const struct trace_pass *row = &activity->context->trace->passes[pass];
    uint32_t first = activity->first_op[node];
    if (row->first_op == row->op_end && activity->made[pass] != TRACE_NO)
        return activity->made[pass] > node;
    return first == TRACE_NO || row->first_op > first;
}

/* A pass in data mode that began after the node and ended. */
static bool was_pruned(const struct activity *activity, uint32_t node)
{
    const struct check_context *context = activity->context;
    uint32_t rank = context->trace->nodes[node].rank;
    bool pruning = false;
    for (size_t i = context->pass_begin[rank]; i < context->pass_begin[rank + 1]; i++) {
        const struct trace_pass *pass = &context->trace->passes[i];
        if (!began_after(activity, i, node))
            continue;
        if (pass->mode != PASS_DATA || !pass->complete)
            return false;
        pruning = true;
    }
    return pruning;
}

static void judge_life(struct activity *activity)
{
    const struct trace *trace = activity->context->trace;
    for (size_t n = 0; n < trace->node_count; n++)
        activity->first_op[n] = activity->backward[n] = TRACE_NO;
    for (size_t i = trace->op_count; i-- > 0;)
        if (trace->ops[i].node != TRACE_NO)
            activity->first_op[trace->ops[i].node] = (uint32_t)i;
    for (size_t n = 0; n < trace->node_count; n++)
        if (trace->nodes[n].pass != 0 && trace->nodes[n].forward != TRACE_NO)
            activity->backward[trace->nodes[n].forward] = (uint32_t)n;
    for (size_t n = 0; n < trace->node_count; n++) {
        if (!is_communication(&trace->nodes[n]))
            continue;
        if (activity->backward[n] != TRACE_NO)
            activity->life[n] = LIFE_LIVE;
        else if (was_pruned(activity, (uint32_t)n))
            activity->life[n] = LIFE_DEAD;
    }
}

static void name_node(struct activity *activity, struct finding *finding, uint32_t node,
                      const char *role)
{
    const struct trace *trace = activity->context->trace;
    char where[PLACE_TEXT];
    finding_detail(finding, "Rank %u: %s%s is %s.\n", trace->nodes[node].rank,
                   trace_string(trace, trace->nodes[node].name),
                   trace_at_text(trace, trace->nodes[node].site, where, sizeof where),
                   activity->life[node] == LIFE_DEAD ? "left out" : "in the backward pass");
    finding_node_add(finding, node, role);
    if (activity->backward[node] != TRACE_NO)
        finding_node_add(finding, activity->backward[node], role);
    activity->reported[node] = true;
}

static uint32_t node_of(const struct trace *trace, uint32_t op)
{
    return op == TRACE_NO ? TRACE_NO : trace->ops[op].node;
}

static void judge_collective(struct activity *activity, const struct check_group *group,
                             struct findings *findings)
{
    const struct check_context *context = activity->context;
    const struct trace *trace = context->trace;
    uint32_t live = TRACE_NO, dead = TRACE_NO, lives = 0, deaths = 0;
    for (uint32_t i = 0; i < group->count; i++) {
        uint32_t node = node_of(trace, context->group_ops[group->first + i]);
        if (node == TRACE_NO || activity->reported[node])
            continue;
        if (activity->life[node] == LIFE_LIVE && !lives++)
            live = node;
        if (activity->life[node] == LIFE_DEAD && !deaths++)
            dead = node;
    }
    if (!lives || !deaths)
        return;
    char where[PLACE_TEXT];
    struct finding *finding = findings_add(
        findings, "G003", "ranks differ about whether %s%s is part of the backward pass",
        op_kind_name(trace->nodes[live].kind),
        trace_at_text(trace, trace->nodes[live].site, where, sizeof where));
    finding->site = trace->nodes[dead].site;
    finding->confirmation = CONFIRM_HAPPENED;
    finding_detail(finding,
                   "Its adjoint is a collective of all %u ranks: %u run it, %u leave it out.\n",
                   group->count, lives, deaths);
    for (uint32_t i = 0, listed = 0; i < group->count && listed < PLACES_LISTED_MAX; i++) {
        uint32_t node = node_of(trace, context->group_ops[group->first + i]);
        if (node == TRACE_NO || activity->life[node] == LIFE_UNKNOWN)
            continue;
        name_node(activity, finding, node,
                  activity->life[node] == LIFE_DEAD ? "culprit" : "partner");
        listed++;
    }
    for (uint32_t i = 0; i < group->count; i++) {
        uint32_t node = node_of(trace, context->group_ops[group->first + i]);
        if (node != TRACE_NO)
            activity->reported[node] = true;
    }
    finding_seal(finding, trace);
}

/* The wait of a start belongs to the same message: it goes with its side. */
static void name_side(struct activity *activity, struct finding *finding, uint32_t op,
                      const char *role)
{
    const struct trace *trace = activity->context->trace;
    uint32_t node = node_of(trace, op);
    name_node(activity, finding, node, role);
    uint32_t wait =
        check_is_start(&trace->ops[op]) ? node_of(trace, trace->ops[op].request) : TRACE_NO;
    if (wait != TRACE_NO && wait != node && activity->life[wait] == activity->life[node])
        name_node(activity, finding, wait, role);
}

static void name_orphan_ops(struct activity *activity, struct finding *finding, uint32_t node)
{
    const struct trace *trace = activity->context->trace;
    uint32_t rank = trace->nodes[node].rank, backward = activity->backward[node];
    for (size_t i = trace->rank_begin[rank];
         i < trace->rank_begin[rank + 1] && backward != TRACE_NO; i++)
        if (trace->ops[i].node == backward)
            finding_op_add(finding, (uint32_t)i, "partner");
}

static void judge_message(struct activity *activity, uint32_t send, uint32_t receive,
                          struct findings *findings)
{
    const struct trace *trace = activity->context->trace;
    uint32_t sender = node_of(trace, send), receiver = node_of(trace, receive);
    if (sender == TRACE_NO || receiver == TRACE_NO || activity->life[sender] == LIFE_UNKNOWN ||
        activity->life[receiver] == LIFE_UNKNOWN ||
        activity->life[sender] == activity->life[receiver])
        return;
    uint32_t dead = activity->life[sender] == LIFE_DEAD ? send : receive;
    uint32_t live = dead == send ? receive : send;
    char one[PLACE_TEXT], other[PLACE_TEXT];
    struct finding *finding = findings_add(
        findings, "G004", "the adjoint of %s has no partner: the adjoint of %s is left out",
        check_short_place(trace, live, one, sizeof one),
        check_short_place(trace, dead, other, sizeof other));
    finding->site = trace->ops[dead].form->site;
    finding->confirmation = CONFIRM_HAPPENED;
    name_side(activity, finding, dead, "culprit");
    name_side(activity, finding, live, "partner");
    name_orphan_ops(activity, finding, node_of(trace, live));
    finding_seal(finding, trace);
}

static void judge_dead(struct activity *activity, struct findings *findings)
{
    const struct trace *trace = activity->context->trace;
    size_t first = findings->count;
    for (uint32_t node = 0; node < trace->node_count; node++) {
        if (activity->life[node] != LIFE_DEAD || activity->reported[node])
            continue;
        struct finding *finding = NULL;
        for (size_t i = first; i < findings->count && !finding; i++)
            if (findings->items[i].site == trace->nodes[node].site &&
                trace->nodes[findings->items[i].ops[0].node].kind == trace->nodes[node].kind)
                finding = &findings->items[i];
        char where[PLACE_TEXT];
        if (!finding) {
            finding =
                findings_add(findings, "G002", "no gradient flows through %s%s",
                             op_kind_name(trace->nodes[node].kind),
                             trace_at_text(trace, trace->nodes[node].site, where, sizeof where));
            finding->site = trace->nodes[node].site;
            finding->confirmation = CONFIRM_HAPPENED;
        }
        if (finding->op_count < PLACES_LISTED_MAX)
            name_node(activity, finding, node, "culprit");
        else
            finding_node_add(finding, node, "culprit");
    }
    for (size_t i = first; i < findings->count; i++)
        finding_seal(&findings->items[i], trace);
}

void check_activity(const struct check_context *context, struct findings *findings)
{
    const struct trace *trace = context->trace;
    if (!context->has_data_passes)
        return;
    struct activity activity = {.context = context};
    activity.life = check_new(trace->node_count, sizeof *activity.life);
    activity.reported = check_new(trace->node_count, sizeof *activity.reported);
    activity.first_op = check_new(trace->node_count, sizeof *activity.first_op);
    activity.backward = check_new(trace->node_count, sizeof *activity.backward);
    activity.made = check_new(trace->pass_count, sizeof *activity.made);
    find_nodes(&activity);
    judge_life(&activity);
    for (size_t g = 0; g < context->group_count; g++)
        judge_collective(&activity, &context->groups[g], findings);
    for (uint32_t i = 0; i < trace->op_count; i++)
        if (trace->ops[i].match != TRACE_NO && check_class(&trace->ops[i]) == CLASS_RECEIVE)
            judge_message(&activity, trace->ops[i].match, i, findings);
    judge_dead(&activity, findings);
    free(activity.life);
    free(activity.reported);
    free(activity.first_op);
    free(activity.backward);
    free(activity.made);
}
