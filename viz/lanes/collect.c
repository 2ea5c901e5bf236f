/* From the trace to marks and links: one mark per DAG node, and one per operation that no node
 * issued.
 *
 * Operations issued by a node are part of its mark. Left out, unless a rank stands in them or a
 * finding names them: set-up and tear-down, polling calls, and waits on behalf of nodes. Nothing
 * here knows of findings' meaning, only that what they name must be in the picture. */
#include "viz/lanes/scene.h"

#include <stdlib.h>
#include <string.h>

static bool pass_in_view(const struct scene *scene, uint32_t pass)
{
    return scene->view == VIZ_BOTH || (scene->view == VIZ_BACKWARD) == (pass > 0);
}

/* Operations that say nothing about the program's communication. */
static bool is_noise(const struct trace *trace, const struct trace_op *op)
{
    switch (op_kind_class(op->kind)) {
    case CLASS_NONE:
        return true;
    case CLASS_CONTROL:
        return op->kind == OP_INIT || op->kind == OP_REQUEST_FREE;
    case CLASS_PROBE:
        return op->kind == OP_IPROBE || op->kind == OP_IMPROBE;
    case CLASS_WAIT:
        return op->kind >= OP_TEST || (op->flags & OP_INACTIVE);
    case CLASS_COLLECTIVE:
        return op->kind == OP_FINALIZE || (trace->node_count && op_kind_makes_comm(op->kind));
    default:
        return false;
    }
}

/* Bits of what the findings in the picture name, by operation; NULL when out of memory. */
static bool *named_ops(struct scene *scene)
{
    bool *named = scene_allocate(scene, scene->trace->op_count, sizeof *named);
    for (size_t i = 0; named && i < scene->findings->count; i++) {
        const struct finding *finding = &scene->findings->items[i];
        if (scene->options->finding >= 0 && (size_t)scene->options->finding != i)
            continue;
        for (size_t k = 0; k < finding->op_count; k++)
            if (finding->ops[k].op < scene->trace->op_count && finding_counts(finding, k))
                named[finding->ops[k].op] = true;
    }
    return named;
}

static enum mark_shape shape_by_class(enum op_class class)
{
    switch (class) {
    case CLASS_SEND:
        return MARK_SEND;
    case CLASS_RECEIVE:
    case CLASS_PROBE:
        return MARK_RECEIVE;
    case CLASS_COLLECTIVE:
        return MARK_COLLECTIVE;
    case CLASS_WAIT:
    case CLASS_CONTROL:
        return MARK_WAIT;
    case CLASS_NONE:
    case CLASS_COMPUTE:
        break;
    }
    return MARK_COMPUTE;
}

static void add_node(struct scene *scene, uint32_t index)
{
    const struct trace_node *node = &scene->trace->nodes[index];
    struct mark mark = {.rank = node->rank,
                        .node = index,
                        .op = TRACE_NO,
                        .pass = node->pass,
                        .group = TRACE_NO,
                        .repeat = 1,
                        .shape = (uint8_t)shape_by_class(op_kind_class(node->kind)),
                        .blocked = node->state == STATE_BLOCKED,
                        .never = node->state == STATE_NEVER};
    scene->mark_of_node[index] = scene_add_mark(scene, &mark);
}

/* How well an operation stands for the node that issued it. */
static int weight(const struct trace_op *op)
{
    if (op->state == STATE_BLOCKED)
        return 4;
    enum op_class class = op_kind_class(op->kind);
    return class == CLASS_COLLECTIVE ? 3 : class == CLASS_SEND || class == CLASS_RECEIVE ? 2 : 1;
}

static void join_node(struct scene *scene, uint32_t index)
{
    const struct trace_op *op = &scene->trace->ops[index];
    uint32_t at = scene->mark_of_node[op->node];
    scene->mark_of_op[index] = at;
    if (at == TRACE_NO)
        return;
    struct mark *mark = &scene->marks[at];
    mark->blocked = mark->blocked || op->state == STATE_BLOCKED;
    if (mark->op == TRACE_NO || weight(op) > weight(&scene->trace->ops[mark->op])) {
        mark->op = index; /* what an adjoint does is not what its forward operation did */
        mark->shape = (uint8_t)shape_by_class(op_kind_class(op->kind));
    }
}

static void add_op(struct scene *scene, uint32_t index)
{
    const struct trace_op *op = &scene->trace->ops[index];
    struct mark mark = {.rank = op->rank,
                        .node = TRACE_NO,
                        .op = index,
                        .pass = op->form->pass,
                        .group = TRACE_NO,
                        .repeat = 1,
                        .shape = (uint8_t)shape_by_class(op_kind_class(op->kind)),
                        .blocked = op->state == STATE_BLOCKED,
                        .never = op->state == STATE_NEVER};
    scene->mark_of_op[index] = scene_add_mark(scene, &mark);
}

/* Where a rank's gradients come out. The engine has no nodes for inputs, so that one mark stands
 * for all that was checked on this rank; an imported DAG may have leaves of its own. */
static void add_leaf(struct scene *scene, uint32_t rank, const bool *checked)
{
    const struct trace *trace = scene->trace;
    uint32_t pass = 0;
    for (size_t i = trace->node_begin[rank]; i < trace->node_begin[rank + 1]; i++) {
        const char *name = trace_string(trace, trace->nodes[i].name);
        if (strncmp(name, "dL/d", 4) == 0)
            return;
        pass = trace->nodes[i].pass > pass ? trace->nodes[i].pass : pass;
    }
    if (!checked[rank] || pass == 0 || scene->view == VIZ_FORWARD)
        return;
    struct mark mark = {.rank = rank,
                        .node = TRACE_NO,
                        .op = TRACE_NO,
                        .pass = pass,
                        .group = TRACE_NO,
                        .repeat = 1,
                        .shape = MARK_LEAF};
    scene_add_mark(scene, &mark);
}

/* A rank that ended while others wait: they may wait for it. Taken out again if nobody does. */
static void add_end(struct scene *scene, uint32_t rank)
{
    const struct trace *trace = scene->trace;
    if (trace->outcome != OUTCOME_DEADLOCK || trace->rank_info[rank].state == RANK_BLOCKED)
        return;
    struct mark mark = {.rank = rank,
                        .node = TRACE_NO,
                        .op = TRACE_NO,
                        .group = TRACE_NO,
                        .repeat = 1,
                        .shape = MARK_END};
    scene_add_mark(scene, &mark);
}

/* Marks rank by rank: its nodes, then the operations outside nodes. */
static void collect_marks(struct scene *scene, const bool *named)
{
    const struct trace *trace = scene->trace;
    bool *checked = scene_allocate(scene, trace->ranks, sizeof *checked);
    for (size_t i = 0; checked && i < trace->gradient_count; i++)
        if (trace->gradients[i].rank < trace->ranks && trace->gradients[i].index >= 0)
            checked[trace->gradients[i].rank] = true;
    for (uint32_t rank = 0; rank < trace->ranks; rank++) {
        for (size_t i = trace->node_begin[rank]; i < trace->node_begin[rank + 1]; i++)
            if (pass_in_view(scene, trace->nodes[i].pass))
                add_node(scene, (uint32_t)i);
        for (size_t i = trace->rank_begin[rank]; i < trace->rank_begin[rank + 1]; i++) {
            const struct trace_op *op = &trace->ops[i];
            bool wanted = named[i] || op->state == STATE_BLOCKED;
            if (scene->exhausted)
                break;
            if (op->node != TRACE_NO && scene->mark_of_node[op->node] != TRACE_NO)
                join_node(scene, (uint32_t)i);
            else if (wanted || (pass_in_view(scene, op->form->pass) && op->node == TRACE_NO &&
                                !is_noise(trace, op)))
                add_op(scene, (uint32_t)i);
        }
        if (!scene->exhausted)
            add_leaf(scene, rank, checked);
        add_end(scene, rank);
    }
    free(checked);
}

enum pass_mode scene_mode_of(const struct trace *trace, uint32_t rank, uint32_t pass)
{
    size_t low = 0, high = trace->pass_count;
    while (low < high) { /* the first pass of the rank */
        size_t middle = low + (high - low) / 2;
        if (trace->passes[middle].rank < rank)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < trace->pass_count && trace->passes[low].rank == rank; low++)
        if (trace->passes[low].pass == pass)
            return trace->passes[low].mode;
    return PASS_PROGRAM;
}

static void collect_edges(struct scene *scene)
{
    for (size_t i = 0; i < scene->trace->edge_count; i++) {
        const struct trace_edge *edge = &scene->trace->edges[i];
        uint32_t from = scene->mark_of_node[edge->from], to = scene->mark_of_node[edge->to];
        if (from != TRACE_NO && to != TRACE_NO && from != to)
            scene_add_link(scene, from, to, edge->type == EDGE_DATA ? LINK_DATA : LINK_ORDER);
    }
}

struct adjoint { /* a node of a backward pass, to be found by its forward node */
    uint32_t forward, pass, node;
};

static int compare_adjoints(const void *a, const void *b)
{
    const struct adjoint *x = a, *y = b;
    if (x->forward != y->forward)
        return x->forward < y->forward ? -1 : 1;
    return x->pass < y->pass ? -1 : x->pass > y->pass;
}

/* The first adjoint of a forward node, `count` when it has none. */
static size_t find_adjoint(const struct adjoint *adjoints, size_t count, uint32_t forward)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (adjoints[middle].forward < forward)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && adjoints[low].forward == forward ? low : count;
}

/* Cotangents flow along the forward edges, backwards. In program order the engine runs one node
 * after the other and need not say so; these links do. */
static void collect_transposed(struct scene *scene)
{
    const struct trace *trace = scene->trace;
    struct adjoint *adjoints = scene_allocate(scene, trace->node_count, sizeof *adjoints);
    size_t count = 0;
    for (uint32_t i = 0; adjoints && i < trace->node_count; i++) {
        const struct trace_node *node = &trace->nodes[i];
        if (node->forward != TRACE_NO && scene->mark_of_node[i] != TRACE_NO && node->pass &&
            scene_mode_of(trace, node->rank, node->pass) == PASS_PROGRAM)
            adjoints[count++] = (struct adjoint){node->forward, node->pass, i};
    }
    if (count)
        qsort(adjoints, count, sizeof *adjoints, compare_adjoints);
    for (size_t i = 0; i < trace->edge_count && count && !scene->exhausted; i++) {
        const struct trace_edge *edge = &trace->edges[i];
        if (edge->type != EDGE_DATA)
            continue;
        size_t to = find_adjoint(adjoints, count, edge->from);
        for (; to < count && adjoints[to].forward == edge->from; to++) {
            size_t from = find_adjoint(adjoints, count, edge->to);
            for (; from < count && adjoints[from].forward == edge->to; from++)
                if (adjoints[from].pass == adjoints[to].pass)
                    scene_add_link(scene, scene->mark_of_node[adjoints[from].node],
                                   scene->mark_of_node[adjoints[to].node], LINK_DATA);
        }
    }
    free(adjoints);
}

static void collect_messages(struct scene *scene)
{
    const struct trace *trace = scene->trace;
    for (uint32_t i = 0; i < trace->op_count; i++) {
        const struct trace_op *op = &trace->ops[i];
        if (op->match == TRACE_NO || op_kind_class(op->kind) != CLASS_SEND)
            continue;
        uint32_t from = scene->mark_of_op[i], to = scene->mark_of_op[op->match];
        if (from == TRACE_NO || to == TRACE_NO || from == to)
            continue;
        uint32_t done = trace->ops[op->match].request; /* the wait that completed the receive */
        if (done != TRACE_NO && scene->mark_of_op[done] != TRACE_NO &&
            scene->mark_of_op[done] != from)
            scene_add_link(scene, from, scene->mark_of_op[done], LINK_HIDDEN);
        uint32_t at = scene_add_link(scene, from, to, LINK_MESSAGE);
        if (at == TRACE_NO)
            return;
        scene->links[at].op = i;
    }
}

static void collect_adjoints(struct scene *scene)
{
    for (uint32_t i = 0; i < scene->mark_count; i++) {
        const struct mark *mark = &scene->marks[i];
        uint32_t forward = TRACE_NO;
        if (mark->node != TRACE_NO && scene->trace->nodes[mark->node].forward != TRACE_NO)
            forward = scene->mark_of_node[scene->trace->nodes[mark->node].forward];
        else if (mark->op != TRACE_NO &&
                 trace_op_adjoint_of(scene->trace, &scene->trace->ops[mark->op]) != TRACE_NO)
            forward =
                scene->mark_of_op[trace_op_adjoint_of(scene->trace, &scene->trace->ops[mark->op])];
        if (forward != TRACE_NO && mark_communicates(&scene->marks[i]))
            scene_add_link(scene, forward, i, LINK_ADJOINT);
    }
}

struct meeting { /* a mark's part in a collective */
    uint32_t comm, sequence, mark;
};

static int compare_meetings(const void *a, const void *b)
{
    const struct meeting *x = a, *y = b;
    if (x->comm != y->comm)
        return x->comm < y->comm ? -1 : 1;
    if (x->sequence != y->sequence)
        return x->sequence < y->sequence ? -1 : 1;
    return x->mark < y->mark ? -1 : x->mark > y->mark;
}

static void collect_groups(struct scene *scene)
{
    const struct trace *trace = scene->trace;
    struct meeting *meetings = scene_allocate(scene, scene->mark_count, sizeof *meetings);
    size_t count = 0;
    for (uint32_t i = 0; meetings && i < scene->mark_count; i++) {
        uint32_t op = scene->marks[i].op;
        if (op != TRACE_NO && op_kind_class(trace->ops[op].kind) == CLASS_COLLECTIVE)
            meetings[count++] =
                (struct meeting){trace->ops[op].form->comm, trace->ops[op].comm_seq, i};
    }
    if (count)
        qsort(meetings, count, sizeof *meetings, compare_meetings);
    for (size_t i = 0; i < count; i++) {
        bool joins = i > 0 && meetings[i].comm == meetings[i - 1].comm &&
                     meetings[i].sequence == meetings[i - 1].sequence;
        uint32_t group = joins ? scene->marks[meetings[i - 1].mark].group : meetings[i].mark;
        scene->marks[meetings[i].mark].group = group;
    }
    free(meetings);
}

/* Room for all there can be: what is not touched costs nothing, and growing would copy. */
static void reserve(struct scene *scene)
{
    const struct trace *trace = scene->trace;
    scene->mark_room = trace->node_count + trace->op_count + 2u * (size_t)trace->ranks + 1;
    scene->marks = scene_allocate(scene, scene->mark_room, sizeof *scene->marks);
    scene->link_room = trace->edge_count + 2 * trace->op_count + trace->node_count + 1;
    scene->links = scene_allocate(scene, scene->link_room, sizeof *scene->links);
}

void scene_collect(struct scene *scene)
{
    const struct trace *trace = scene->trace;
    scene->mark_of_node = scene_allocate(scene, trace->node_count, sizeof *scene->mark_of_node);
    scene->mark_of_op = scene_allocate(scene, trace->op_count, sizeof *scene->mark_of_op);
    bool *named = named_ops(scene);
    reserve(scene);
    if (!scene->exhausted) {
        memset(scene->mark_of_node, 0xFF, trace->node_count * sizeof *scene->mark_of_node);
        memset(scene->mark_of_op, 0xFF, trace->op_count * sizeof *scene->mark_of_op);
        collect_marks(scene, named);
    }
    free(named);
    if (!scene->exhausted) {
        collect_edges(scene);
        collect_transposed(scene);
        scene_ends(scene);
        scene_sequence(scene);
        collect_messages(scene);
        if (scene->view == VIZ_BOTH)
            collect_adjoints(scene);
        collect_groups(scene);
    }
    scene->total = scene->mark_count;
}
