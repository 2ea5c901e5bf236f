/* What the findings say about the marks: tones, taint, missing order, repairs.
 *
 * A finding names operations or nodes with roles. "waits" and "never" are consequences; every other
 * role is what the finding is about. A wrong gradient taints everything its culprit reaches, over
 * edges, messages and collectives. A race is drawn as the order that is missing between its
 * operations on one rank. */
#include "viz/lanes/scene.h"

#include <stdlib.h>
#include <string.h>

static bool selected(const struct scene *scene, size_t index)
{
    return scene->options->finding < 0 || (size_t)scene->options->finding == index;
}

static uint32_t mark_named(const struct scene *scene, const struct finding_op *name)
{
    if (name->op < scene->trace->op_count && scene->mark_of_op[name->op] != TRACE_NO)
        return scene->mark_of_op[name->op];
    return name->node < scene->trace->node_count ? scene->mark_of_node[name->node] : TRACE_NO;
}

static enum mark_tone tone_by_role(const char *role)
{
    if (strcmp(role, "waits") == 0 || strcmp(role, "unmatched") == 0)
        return TONE_WAITS;
    if (strcmp(role, "never") == 0)
        return TONE_NEVER;
    if (strcmp(role, "tainted") == 0)
        return TONE_TAINTED;
    return TONE_FAULT;
}

static void paint(struct mark *mark, enum mark_tone tone)
{
    if (tone > mark->tone)
        mark->tone = (uint8_t)tone;
}

static bool is_deadlock(const struct finding *finding)
{
    return finding->code[0] == 'D';
}

/* Findings about wrong numbers, which spread; G002 to G004 are about what ran at all. */
bool finding_spoils_values(const struct finding *finding)
{
    static const char *const codes[] = {"G001", "G005", "G006", "G007", "G008"};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (strcmp(finding->code, codes[i]) == 0)
            return true;
    return false;
}

/* The mark of a forward node's adjoint, TRACE_NO where it has none in the picture. */
static uint32_t adjoint_named(const struct scene *scene, uint32_t forward)
{
    const struct trace *trace = scene->trace;
    if (forward >= trace->node_count || trace->nodes[forward].pass)
        return TRACE_NO;
    uint32_t rank = trace->nodes[forward].rank;
    for (size_t i = trace->node_begin[rank]; i < trace->node_begin[rank + 1]; i++)
        if (trace->nodes[i].forward == forward && scene->mark_of_node[i] != TRACE_NO)
            return scene->mark_of_node[i];
    return TRACE_NO;
}

bool finding_counts(const struct finding *finding, size_t index)
{
    if (!finding_spoils_values(finding) || finding->ops[index].node != TRACE_NO)
        return true;
    for (size_t i = 0; i < finding->op_count; i++)
        if (finding->ops[i].node != TRACE_NO)
            return false;
    return true;
}

/* The adjoints of a collective on all ranks are one operation: what is wrong with one is wrong with
 * it. */
static void paint_partners(struct scene *scene, uint32_t forward)
{
    const struct trace *trace = scene->trace;
    const struct trace_op *meeting = NULL;
    uint32_t rank = forward < trace->node_count ? trace->nodes[forward].rank : 0;
    for (size_t i = trace->rank_begin[rank]; i < trace->rank_begin[rank + 1] && !meeting; i++)
        if (trace->ops[i].node == forward && op_kind_class(trace->ops[i].kind) == CLASS_COLLECTIVE)
            meeting = &trace->ops[i];
    for (size_t i = 0; meeting && i < trace->op_count; i++) {
        const struct trace_op *op = &trace->ops[i];
        if (op->form->comm != meeting->form->comm || op->comm_seq != meeting->comm_seq ||
            op->node == TRACE_NO || op_kind_class(op->kind) != CLASS_COLLECTIVE)
            continue;
        uint32_t adjoint = adjoint_named(scene, op->node);
        if (adjoint == TRACE_NO)
            continue;
        paint(&scene->marks[adjoint], TONE_FAULT);
        scene->marks[adjoint].spoiled = true;
    }
}

bool finding_names(const struct trace *trace, const struct finding *finding, size_t index)
{
    const char *role = finding->ops[index].role;
    uint32_t op = finding->ops[index].op;
    bool stands = op < trace->op_count && trace->ops[op].state == STATE_BLOCKED;
    return finding_counts(finding, index) && strcmp(role, "waits") != 0 &&
           strcmp(role, "never") != 0 && strcmp(role, "tainted") != 0 &&
           !(stands && strcmp(role, "unmatched") == 0);
}

static void paint_finding(struct scene *scene, const struct finding *finding)
{
    for (size_t k = 0; k < finding->op_count; k++) {
        if (!finding_counts(finding, k))
            continue;
        uint32_t at = mark_named(scene, &finding->ops[k]);
        /* A wrong value is named by its forward operation: it is the adjoint that is wrong. */
        uint32_t adjoint =
            finding_spoils_values(finding) ? adjoint_named(scene, finding->ops[k].node) : TRACE_NO;
        at = adjoint != TRACE_NO ? adjoint : at;
        if (at == TRACE_NO)
            continue;
        struct mark *mark = &scene->marks[at];
        mark->named = mark->named || finding_names(scene->trace, finding, k);
        enum mark_tone tone = tone_by_role(finding->ops[k].role);
        if (is_deadlock(finding) && strcmp(finding->ops[k].role, "partner") == 0)
            tone = TONE_WAITS; /* what would be needed, and comes too late */
        paint(mark, tone);
        bool adjoins =
            finding_spoils_values(finding) && mark->pass > 0; /* a forward value is right */
        mark->spoiled = mark->spoiled || (tone == TONE_FAULT && adjoins);
        if (adjoint != TRACE_NO && tone == TONE_FAULT)
            paint_partners(scene, finding->ops[k].node);
        if (tone == TONE_FAULT && !mark->badge && !(mark->blocked && is_deadlock(finding)))
            mark->badge = scene_text(scene, "%s%s", finding->code,
                                     strcmp(finding->code, "G001") != 0 ? ""
                                     : mark->pass > 0                   ? " first wrong adjoint"
                                                                        : " adjoint never ran");
    }
}

/* Two operations of one rank that the finding sets against each other, with no order between them.
 */
static void link_missing(struct scene *scene, const struct finding *finding)
{
    for (size_t k = 0; k + 1 < finding->op_count; k++) {
        uint32_t a = mark_named(scene, &finding->ops[k]);
        uint32_t b = mark_named(scene, &finding->ops[k + 1]);
        bool pair = a != TRACE_NO && b != TRACE_NO && a != b &&
                    scene->marks[a].rank == scene->marks[b].rank &&
                    scene->marks[a].tone == TONE_FAULT && scene->marks[b].tone == TONE_FAULT;
        if (!pair)
            continue;
        uint32_t link = scene_add_link(scene, a, b, LINK_MISSING);
        if (link != TRACE_NO)
            scene->links[link].label = scene_text(scene, "%s no order", finding->code);
    }
}

/* Operations of a possible hang that nothing orders stand in one column, so that who waits for whom
 * is seen. */
static void link_abreast(struct scene *scene, const struct finding *finding)
{
    uint32_t first = TRACE_NO;
    for (size_t k = 0; k < finding->op_count; k++) {
        uint32_t at = mark_named(scene, &finding->ops[k]);
        bool free_order =
            at != TRACE_NO && scene->marks[at].pass > 0 && !scene->marks[at].blocked &&
            scene_mode_of(scene->trace, scene->marks[at].rank, scene->marks[at].pass) == PASS_DATA;
        if (!free_order)
            continue;
        if (first != TRACE_NO && at != first)
            scene_add_link(scene, first, at, LINK_ABREAST);
        first = first == TRACE_NO ? at : first;
    }
}

/* The senders that a wildcard receive could have got as well. */
static void link_alternatives(struct scene *scene, const struct finding *finding)
{
    uint32_t receive = TRACE_NO;
    for (size_t k = 0; k < finding->op_count && receive == TRACE_NO; k++)
        if (finding->ops[k].op < scene->trace->op_count &&
            op_kind_class(scene->trace->ops[finding->ops[k].op].kind) == CLASS_RECEIVE)
            receive = finding->ops[k].op;
    if (receive == TRACE_NO || scene->mark_of_op[receive] == TRACE_NO)
        return;
    for (size_t k = 0; k < finding->op_count; k++) {
        uint32_t op = finding->ops[k].op;
        uint32_t at = op < scene->trace->op_count ? scene->mark_of_op[op] : TRACE_NO;
        bool could = at != TRACE_NO && op_kind_class(scene->trace->ops[op].kind) == CLASS_SEND &&
                     scene->trace->ops[op].match != receive && at != scene->mark_of_op[receive];
        if (!could)
            continue;
        uint32_t link = scene_add_link(scene, at, scene->mark_of_op[receive], LINK_COULD);
        if (link != TRACE_NO)
            scene->links[link].label = scene_text(scene, "could match");
    }
}

static void link_repair(struct scene *scene, const struct finding *finding)
{
    for (size_t k = 0; k < finding->repair_count; k++) {
        const struct trace_edge *edge = &finding->repair_edges[k];
        if (edge->from >= scene->trace->node_count || edge->to >= scene->trace->node_count)
            continue;
        uint32_t from = scene->mark_of_node[edge->from], to = scene->mark_of_node[edge->to];
        if (from == TRACE_NO || to == TRACE_NO || from == to)
            continue;
        uint32_t link = scene_add_link(scene, from, to, LINK_REPAIR);
        if (link != TRACE_NO)
            scene->links[link].label = scene_text(scene, "add this order");
    }
}

static int compare_from(const void *a, const void *b)
{
    const struct link *x = a, *y = b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return (x->op > y->op) - (x->op < y->op);
}

static bool carries_values(const struct link *link)
{
    return link->kind == LINK_DATA || link->kind == LINK_MESSAGE;
}

struct reach {                 /* who is reached from whom, while taint spreads */
    uint32_t *stack, *partner; /* partner: the next mark of the same collective, in a ring */
    size_t *begin;             /* links by their start */
    bool *wrong;
    size_t depth;
};

static void reach_init(struct scene *scene, struct reach *reach)
{
    reach->stack = scene_allocate(scene, scene->mark_count, sizeof *reach->stack);
    reach->partner = scene_allocate(scene, scene->mark_count, sizeof *reach->partner);
    reach->begin = scene_allocate(scene, scene->mark_count + 1, sizeof *reach->begin);
    reach->wrong = scene_allocate(scene, scene->mark_count, sizeof *reach->wrong);
    reach->depth = 0;
    if (scene->exhausted)
        return;
    for (size_t i = 0; i < scene->link_count; i++)
        reach->begin[scene->links[i].from + 1]++;
    for (size_t i = 0; i < scene->mark_count; i++) {
        const struct mark *mark = &scene->marks[i];
        reach->begin[i + 1] += reach->begin[i];
        reach->partner[i] = (uint32_t)i;
        if (mark->group != TRACE_NO && mark->group != i) { /* the group is its first mark */
            reach->partner[i] = reach->partner[mark->group];
            reach->partner[mark->group] = (uint32_t)i;
        }
    }
}

static void reach_add(struct reach *reach, uint32_t mark)
{
    if (reach->wrong[mark])
        return;
    reach->wrong[mark] = true;
    reach->stack[reach->depth++] = mark;
}

/* Everything that a wrong mark's values reach. Links are sorted by their start. */
static void spread_taint(struct scene *scene)
{
    struct reach reach;
    reach_init(scene, &reach);
    for (uint32_t i = 0; !scene->exhausted && i < scene->mark_count; i++)
        if (scene->marks[i].spoiled || scene->marks[i].tone == TONE_TAINTED)
            reach_add(&reach, i);
    while (!scene->exhausted && reach.depth > 0) {
        uint32_t at = reach.stack[--reach.depth];
        paint(&scene->marks[at], TONE_TAINTED);
        reach_add(&reach, reach.partner[at]);
        for (size_t k = reach.begin[at]; k < reach.begin[at + 1]; k++)
            if (carries_values(&scene->links[k]))
                reach_add(&reach, scene->links[k].to);
    }
    free(reach.stack);
    free(reach.partner);
    free(reach.begin);
    free(reach.wrong);
}

/* A data edge makes an order edge beside it superfluous. */
void scene_merge_links(struct scene *scene)
{
    if (scene->link_count)
        qsort(scene->links, scene->link_count, sizeof *scene->links, compare_from);
    size_t kept = 0;
    for (size_t i = 0; i < scene->link_count; i++) {
        struct link *last = kept ? &scene->links[kept - 1] : NULL;
        const struct link *link = &scene->links[i];
        bool same = last && last->from == link->from && last->to == link->to;
        bool implied = same && last->kind <= LINK_SEQUENCE && link->kind <= LINK_SEQUENCE;
        if (same && last->kind == link->kind)
            last->repeat += link->repeat;
        else if (!implied)
            scene->links[kept++] = *link;
    }
    scene->link_count = kept;
}

static bool worse(const struct trace_gradient *a, const struct trace_gradient *b)
{
    return !(a->relative <= b->relative);
}

void leaf_take(struct leaf *leaf, const struct leaf *other)
{
    const struct trace_gradient *row = other->worst;
    leaf->checked += other->checked;
    leaf->failed += other->failed;
    bool more = row && (!leaf->worst || (leaf->worst->ok && !row->ok) ||
                        (leaf->worst->ok == row->ok && worse(row, leaf->worst)));
    if (more)
        leaf->worst = row;
}

static void take_row(struct leaf *leaf, const struct trace_gradient *row)
{
    leaf_take(leaf, &(struct leaf){row, 1, trace_gradient_wrong(row)});
}

/* Whether a row of the gradient check is about the input of this leaf. */
static bool is_of(const struct trace *trace, const struct trace_gradient *row,
                  const struct trace_node *node)
{
    const char *name = trace_string(trace, node->name),
               *variable = trace_string(trace, row->variable);
    const char *input =
        node->forward == TRACE_NO ? "" : trace_string(trace, trace->nodes[node->forward].name);
    return row->rank == node->rank && row->index >= 0 &&
           (strcmp(variable, input) == 0 ||
            (strncmp(name, "dL/d", 4) == 0 && strcmp(variable, name + 4) == 0));
}

/* Leaves whose gradient differs from its reference: even without a finding that says so. */
static void paint_leaves(struct scene *scene)
{
    const struct trace *trace = scene->trace;
    struct leaf *ranks = scene_allocate(scene, trace->ranks, sizeof *ranks);
    for (size_t k = 0; ranks && k < trace->gradient_count; k++)
        if (trace->gradients[k].rank < trace->ranks && trace->gradients[k].index >= 0)
            take_row(&ranks[trace->gradients[k].rank], &trace->gradients[k]);
    for (size_t i = 0; ranks && i < scene->mark_count; i++) {
        struct mark *mark = &scene->marks[i];
        if (mark->shape != MARK_LEAF)
            continue;
        if (mark->node == TRACE_NO)
            mark->leaf = ranks[mark->rank];
        for (size_t k = 0; mark->node != TRACE_NO && k < trace->gradient_count; k++)
            if (is_of(trace, &trace->gradients[k], &trace->nodes[mark->node]))
                take_row(&mark->leaf, &trace->gradients[k]);
        mark->wrong = mark->leaf.failed > 0;
        if (mark->wrong)
            paint(mark, TONE_TAINTED);
    }
    free(ranks);
}

void scene_blame(struct scene *scene)
{
    bool wrong_values = false;
    for (size_t i = 0; i < scene->findings->count; i++) {
        const struct finding *finding = &scene->findings->items[i];
        if (!selected(scene, i))
            continue;
        paint_finding(scene, finding);
        scene->standstill = scene->standstill || is_deadlock(finding);
        wrong_values = wrong_values || finding_spoils_values(finding);
        if (finding->code[0] == 'R' && strcmp(finding->code, "R003") != 0)
            link_missing(scene, finding);
        if (strcmp(finding->code, "R003") == 0)
            link_alternatives(scene, finding);
        if (strcmp(finding->code, "D002") == 0)
            link_abreast(scene, finding);
        link_repair(scene, finding);
    }
    scene_merge_links(scene);
    if (wrong_values)
        spread_taint(scene);
    if (!scene->exhausted)
        paint_leaves(scene);
    if (!scene->exhausted)
        scene_waits(scene);
}
