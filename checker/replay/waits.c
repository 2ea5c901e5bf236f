#include "checker/replay/waits.h"

#include "checker/memory.h"
#include "checker/replay/holders.h"

#include <stdlib.h>
#include <string.h>

enum { REQUESTS_STACK = 64 };

static uint32_t add_node(struct wait_graph *graph, enum wait_kind kind, uint32_t op)
{
    graph->nodes = check_grow(graph->nodes, &graph->room, graph->count + 1, sizeof *graph->nodes);
    graph->nodes[graph->count] = (struct wait_node){
        .kind = (uint8_t)kind, .op = op, .edge = TRACE_NO, .component = TRACE_NO, .own = TRACE_NO};
    return (uint32_t)graph->count++;
}

static void add_edge(struct wait_graph *graph, uint32_t from, uint32_t to)
{
    graph->edges =
        check_grow(graph->edges, &graph->edge_room, graph->edge_count + 1, sizeof *graph->edges);
    graph->edges[graph->edge_count] = (struct wait_edge){.to = to, .next = graph->nodes[from].edge};
    graph->nodes[from].edge = (uint32_t)graph->edge_count++;
}

static bool took_part(const struct check_context *context, const struct check_group *group,
                      uint32_t rank)
{
    for (uint32_t i = 0; i < group->count; i++)
        if (context->trace->ops[context->group_ops[group->first + i]].rank == rank)
            return true;
    return false;
}

/* The ops of a group are in rank order, and so, usually, are the members; an index per rank keeps
 * this linear. */
static void wait_for_absent(struct wait_graph *graph, uint32_t node,
                            const struct check_group *group)
{
    const struct check_context *context = graph->context;
    const struct trace *trace = context->trace;
    bool *present = check_new(trace->ranks, sizeof *present);
    for (uint32_t i = 0; i < group->count; i++)
        present[trace->ops[context->group_ops[group->first + i]].rank] = true;
    uint32_t size = check_comm_size(trace, group->comm);
    for (uint32_t i = size; i-- > 0;) {
        uint32_t member = check_comm_member(trace, group->comm, i);
        if (member < trace->ranks && !present[member])
            add_edge(graph, node, member);
    }
    free(present);
}

/* Waiting in a collective: for its root where only the root's data is missing, else for everybody
 * who is not there. */
static void wait_in_collective(struct wait_graph *graph, uint32_t node, uint32_t op)
{
    const struct check_context *context = graph->context;
    uint32_t number = check_group_of(context, op);
    if (number == TRACE_NO)
        return;
    const struct check_group *group = &context->groups[number];
    const struct trace_op *call = &context->trace->ops[op];
    bool from_root =
        call->kind == OP_BCAST || call->kind == OP_SCATTER || call->kind == OP_SCATTERV;
    if (from_root && call->peer >= 0 && (uint32_t)call->peer < context->trace->ranks &&
        !took_part(context, group, (uint32_t)call->peer)) {
        add_edge(graph, node, (uint32_t)call->peer);
        return;
    }
    if (graph->node_of_group[number] == TRACE_NO) {
        graph->node_of_group[number] = add_node(graph, WAIT_ALL, op);
        wait_for_absent(graph, graph->node_of_group[number], group);
    }
    add_edge(graph, node, graph->node_of_group[number]);
}

/* Stands in this call, too: nobody has come out of it who is in it now. */
static bool meets(const struct check_context *context, uint32_t rank, const struct trace_op *call)
{
    uint32_t op = rank < context->trace->ranks ? context->blocked[rank] : TRACE_NO;
    if (op == TRACE_NO)
        return false;
    const struct trace_op *other = &context->trace->ops[op];
    return other->kind == call->kind && other->form->comm == call->form->comm &&
           other->comm_seq == call->comm_seq;
}

/* Two groups become one communicator: each waits for those of its own who are not there, then its leader for the
 * other leader. */
static void wait_in_meeting(struct wait_graph *graph, uint32_t node, uint32_t op)
{
    const struct check_context *context = graph->context;
    const struct trace *trace = context->trace;
    const struct trace_op *call = &trace->ops[op];
    if (call->form->comm >= trace->comm_count)
        return;
    uint32_t *meeting = &graph->node_of_meeting[call->form->comm];
    uint32_t size = check_comm_size(trace, call->form->comm);
    if (*meeting == TRACE_NO) {
        uint32_t leader = TRACE_NO;
        *meeting = add_node(graph, WAIT_ALL, op);
        for (uint32_t i = size; i-- > 0;) {
            uint32_t member = check_comm_member(trace, call->form->comm, i);
            if (!meets(context, member, call) && member < trace->ranks)
                add_edge(graph, *meeting, member);
            else if (member < trace->ranks && trace->ops[context->blocked[member]].peer >= 0)
                leader = member;
        }
        if (graph->nodes[*meeting].edge == TRACE_NO && leader != TRACE_NO &&
            (uint32_t)trace->ops[context->blocked[leader]].peer < trace->ranks)
            add_edge(graph, *meeting, (uint32_t)trace->ops[context->blocked[leader]].peer);
        if (graph->nodes[*meeting].edge == TRACE_NO) /* the trace does not say who leads */
            graph->nodes[*meeting].kind = WAIT_FREE;
    }
    if (graph->nodes[*meeting].kind != WAIT_FREE)
        add_edge(graph, node, *meeting);
}

static bool has_finalized(const struct trace *trace, uint32_t rank)
{
    size_t end = trace->rank_begin[rank + 1];
    return end > trace->rank_begin[rank] && trace->ops[end - 1].kind == OP_FINALIZE;
}

static void wait_in_finalize(struct wait_graph *graph, uint32_t node, uint32_t op)
{
    const struct trace *trace = graph->context->trace;
    if (graph->finalize == TRACE_NO) {
        graph->finalize = add_node(graph, WAIT_ALL, op);
        for (uint32_t rank = trace->ranks; rank-- > 0;)
            if (!has_finalized(trace, rank))
                add_edge(graph, graph->finalize, rank);
    }
    add_edge(graph, node, graph->finalize);
}

/* A matched message that does not move waits for the unmatched members of its batch and of the
 * batches tied to it. */
static void wait_in_batch(struct wait_graph *graph, uint32_t node, uint32_t op)
{
    const struct trace *trace = graph->context->trace;
    bool *seen = check_new(trace->op_count, sizeof *seen);
    uint32_t *stack = check_new(trace->op_count, sizeof *stack);
    size_t top = 0;
    stack[top++] = op;
    seen[op] = true;
    while (top) {
        const struct trace_op *at = &trace->ops[stack[--top]];
        size_t first = (size_t)(at - trace->ops), end = first + 1;
        while (at->form->batch && first > trace->rank_begin[at->rank] &&
               trace->ops[first - 1].form->batch == at->form->batch)
            first--;
        while (at->form->batch && end < trace->rank_begin[at->rank + 1] &&
               trace->ops[end].form->batch == at->form->batch)
            end++;
        for (size_t i = first; i < end; i++) {
            const struct trace_op *mate = &trace->ops[i];
            if (mate->match != TRACE_NO && !seen[mate->match]) {
                seen[mate->match] = true;
                stack[top++] = mate->match;
            } else if (mate->match == TRACE_NO && mate->peer >= 0 &&
                       (uint32_t)mate->peer < trace->ranks) {
                uint32_t held = add_node(graph, WAIT_ALL, (uint32_t)i);
                add_edge(graph, node, held);
                add_edge(graph, held, (uint32_t)mate->peer);
            }
        }
    }
    free(seen);
    free(stack);
}

bool wait_is_over(const struct wait_graph *graph, uint32_t node)
{
    const struct trace *trace = graph->context->trace;
    return node < trace->ranks && graph->nodes[node].kind == WAIT_NEVER &&
           graph->nodes[node].op == TRACE_NO && trace->rank_info[node].state == RANK_FINISHED;
}

static struct wait_anybody *anybody_on(const struct wait_graph *graph, uint32_t comm)
{
    size_t none = graph->context->trace->comm_count;
    return &graph->anybody[comm < none ? comm : none];
}

const struct wait_anybody *wait_anybody_of(const struct wait_graph *graph, uint32_t node)
{
    if (graph->nodes[node].own == TRACE_NO)
        return NULL;
    return anybody_on(graph, graph->context->trace->ops[graph->nodes[node].op].form->comm);
}

/* Edges are put before others: those that are over last. */
static void add_members(struct wait_graph *graph, struct wait_anybody *anybody, uint32_t comm,
                        bool over)
{
    const struct trace *trace = graph->context->trace;
    for (uint32_t i = check_comm_size(trace, comm); i-- > 0;) {
        uint32_t member = check_comm_member(trace, comm, i);
        if (member >= trace->ranks || wait_is_over(graph, member) != over)
            continue;
        add_edge(graph, anybody->node, member);
        if (!over) {
            anybody->open++;
            anybody->opened = member;
        }
    }
}

/* Whoever receives from any source: the others of the communicator. Itself is a member of the node
 * that they share, too: it goes only if another one does, so that this makes nobody go. */
static void wait_for_anybody(struct wait_graph *graph, uint32_t node, const struct trace_op *call)
{
    struct wait_anybody *anybody = anybody_on(graph, call->form->comm);
    if (anybody->node == TRACE_NO) {
        anybody->node = add_node(graph, WAIT_ANY, TRACE_NO);
        add_members(graph, anybody, call->form->comm, false);
        add_members(graph, anybody, call->form->comm, true);
    }
    uint32_t first = graph->nodes[anybody->node].edge;
    bool others = first != TRACE_NO &&
                  (graph->edges[first].to != call->rank || graph->edges[first].next != TRACE_NO);
    if (!others) { /* nobody else is there: it waits for itself */
        if (first != TRACE_NO)
            add_edge(graph, node, call->rank);
        return;
    }
    graph->nodes[node].own = call->rank;
    add_edge(graph, node, anybody->node);
}

static void wait_for_peer(struct wait_graph *graph, uint32_t node, uint32_t op)
{
    const struct trace *trace = graph->context->trace;
    const struct trace_op *call = &trace->ops[op];
    if (call->match != TRACE_NO) {
        wait_in_batch(graph, node, op);
        return;
    }
    if (call->peer != TRACE_ANY) {
        if (call->peer >= 0 && (uint32_t)call->peer < trace->ranks)
            add_edge(graph, node, (uint32_t)call->peer);
        return;
    }
    uint32_t any = add_node(graph, WAIT_ANY, op);
    add_edge(graph, node, any);
    wait_for_anybody(graph, any, call);
}

static void wait_for_lock(struct wait_graph *graph, uint32_t node, uint32_t op)
{
    const struct trace *trace = graph->context->trace;
    if (!graph->holders) {
        graph->holders = check_new(1, sizeof *graph->holders);
        holders_init(graph->holders, trace);
    }
    for (size_t i = holders_find(graph->holders, &trace->ops[op]); i-- > 0;)
        if (graph->holders->found[i] != trace->ops[op].rank)
            add_edge(graph, node, graph->holders->found[i]);
}

/* A start waits for a post, a wait for a complete: the trace says whose. */
static void wait_in_window(struct wait_graph *graph, uint32_t node, uint32_t op)
{
    const struct trace_op *call = &graph->context->trace->ops[op];
    if (call->kind == OP_WIN_LOCK || call->kind == OP_WIN_LOCK_ALL)
        wait_for_lock(graph, node, op);
    else if ((call->kind == OP_WIN_START || call->kind == OP_WIN_WAIT) && call->peer >= 0 &&
             (uint32_t)call->peer < graph->context->trace->ranks)
        add_edge(graph, node, (uint32_t)call->peer);
}

/* An attached buffer is given back when all messages have left it. */
static void wait_for_buffered(struct wait_graph *graph, uint32_t node, uint32_t op)
{
    const struct trace *trace = graph->context->trace;
    for (size_t i = trace->rank_begin[trace->ops[op].rank]; i < op; i++) {
        const struct trace_op *send = &trace->ops[i];
        if (!check_is_buffered(send) || send->match != TRACE_NO || send->peer < 0 ||
            (uint32_t)send->peer >= trace->ranks || send->state == STATE_FAILED)
            continue;
        uint32_t message = add_node(graph, WAIT_ALL, (uint32_t)i);
        add_edge(graph, node, message);
        add_edge(graph, message, (uint32_t)send->peer);
    }
}

static void wait_for_op(struct wait_graph *graph, uint32_t node, uint32_t op);

/* A message that is matched, and that no batch holds back, and one to or from MPI_PROC_NULL: only
 * the call that waits for it has not returned yet. */
static bool is_over(const struct trace_op *message)
{
    return message->match != TRACE_NO || message->peer == TRACE_NONE;
}

static void wait_for_start(struct wait_graph *graph, uint32_t node, uint32_t start)
{
    const struct trace *trace = graph->context->trace;
    if (start >= trace->op_count || trace->ops[start].state != STATE_POSTED)
        return;
    uint32_t request = add_node(graph, WAIT_ALL, start);
    add_edge(graph, node, request);
    wait_for_op(graph, request, start);
    if (graph->nodes[request].kind == WAIT_NEVER && is_over(&trace->ops[start]))
        graph->nodes[request].kind = WAIT_FREE;
}

/* Where one request is enough, the halves of an Isendrecv are one: both must be over. */
static uint32_t node_of_pair(struct wait_graph *graph, uint32_t node, uint32_t second)
{
    uint32_t both = add_node(graph, WAIT_ALL, second);
    add_edge(graph, node, both);
    return both;
}

static void wait_for_requests(struct wait_graph *graph, uint32_t node, uint32_t op)
{
    const struct trace *trace = graph->context->trace;
    uint32_t few[REQUESTS_STACK], *starts = few;
    size_t count = trace_op_requests(trace, op, few, REQUESTS_STACK);
    if (count > REQUESTS_STACK) {
        starts = check_new(count, sizeof *starts);
        count = trace_op_requests(trace, op, starts, count);
    }
    bool any = graph->nodes[node].kind == WAIT_ANY && count > 2;
    for (size_t i = count; i-- > 0;) {
        uint32_t from = node;
        if (any && i && check_are_halves(trace, starts[i - 1], starts[i]) &&
            trace->ops[starts[i]].state == STATE_POSTED) {
            from = node_of_pair(graph, node, starts[i]);
            wait_for_start(graph, from, starts[i--]);
        }
        wait_for_start(graph, from, starts[i]);
    }
    if (count == 2 && check_are_halves(trace, starts[0], starts[1]))
        graph->nodes[node].kind = WAIT_ALL;
    if (starts != few)
        free(starts);
}

static void wait_for_op(struct wait_graph *graph, uint32_t node, uint32_t op)
{
    switch (check_class(&graph->context->trace->ops[op])) {
    case CLASS_SEND:
    case CLASS_RECEIVE:
    case CLASS_PROBE:
        wait_for_peer(graph, node, op);
        break;
    case CLASS_COLLECTIVE:
        if (graph->context->trace->ops[op].kind == OP_FINALIZE)
            wait_in_finalize(graph, node, op);
        else if (graph->context->trace->ops[op].kind == OP_INTERCOMM_CREATE)
            wait_in_meeting(graph, node, op);
        else
            wait_in_collective(graph, node, op);
        break;
    case CLASS_WAIT:
        wait_for_requests(graph, node, op);
        break;
    default:
        if (graph->context->trace->ops[op].kind == OP_BUFFER_DETACH ||
            graph->context->trace->ops[op].kind == OP_BUFFER_FLUSH)
            wait_for_buffered(graph, node, op);
        else
            wait_in_window(graph, node, op);
        break;
    }
    /* What the trace does not explain can not be shown to go: it stands, a cause of its own. When
     * time ran out with a rank at work, that rank may just be serving it. */
    if (graph->nodes[node].edge == TRACE_NO)
        graph->nodes[node].kind = graph->context->worked ? WAIT_FREE : WAIT_NEVER;
}

static void add_rank(struct wait_graph *graph, uint32_t rank)
{
    const struct check_context *context = graph->context;
    enum rank_state state = context->trace->rank_info[rank].state;
    bool over = state == RANK_FINISHED || state == RANK_ABORTED || state == RANK_CRASHED;
    uint32_t op = context->blocked[rank];
    enum wait_kind kind = over ? WAIT_NEVER : WAIT_FREE;
    if (op != TRACE_NO && state != RANK_ABORTED && state != RANK_CRASHED) {
        int call = context->trace->ops[op].kind;
        kind = call == OP_WAITANY || call == OP_WAITSOME ? WAIT_ANY : WAIT_ALL;
    }
    graph->nodes[rank].kind = (uint8_t)kind;
    graph->nodes[rank].op = op;
}

/* Signal reduction: from those who can go, backwards along the edges. */
static void reduce(struct wait_graph *graph)
{
    uint32_t *before = check_new(graph->count + 1, sizeof *before); /* reverse edges by node */
    uint32_t *from = check_new(graph->edge_count, sizeof *from);
    uint32_t *missing = check_new(graph->count, sizeof *missing);
    uint32_t *stack = check_new(graph->count, sizeof *stack);
    for (size_t e = 0; e < graph->edge_count; e++)
        before[graph->edges[e].to + 1]++;
    for (size_t n = 0; n < graph->count; n++)
        before[n + 1] += before[n];
    uint32_t *fill = check_new(graph->count, sizeof *fill);
    size_t top = 0;
    for (size_t n = 0; n < graph->count; n++) {
        for (uint32_t e = graph->nodes[n].edge; e != TRACE_NO; e = graph->edges[e].next) {
            uint32_t to = graph->edges[e].to;
            from[before[to] + fill[to]++] = (uint32_t)n;
            missing[n]++;
        }
        if (graph->nodes[n].kind == WAIT_ANY && missing[n])
            missing[n] = 1;
        if (graph->nodes[n].kind == WAIT_FREE) {
            graph->nodes[n].goes = true;
            stack[top++] = (uint32_t)n;
        }
    }
    while (top) {
        uint32_t node = stack[--top];
        for (uint32_t i = before[node]; i < before[node + 1]; i++) {
            struct wait_node *waiting = &graph->nodes[from[i]];
            if (waiting->goes || waiting->kind == WAIT_NEVER || --missing[from[i]] > 0)
                continue;
            waiting->goes = true;
            stack[top++] = from[i];
        }
    }
    free(before);
    free(from);
    free(missing);
    free(stack);
    free(fill);
}

struct tarjan {
    struct wait_graph *graph;
    uint32_t *index, *low, *next, *stack, *path;
    size_t top, depth;
    uint32_t clock;
};

static void enter(struct tarjan *walk, uint32_t node)
{
    walk->index[node] = walk->low[node] = ++walk->clock;
    walk->next[node] = walk->graph->nodes[node].edge;
    walk->stack[walk->top++] = node;
    walk->path[walk->depth++] = node;
}

static void leave(struct tarjan *walk)
{
    uint32_t node = walk->path[--walk->depth];
    if (walk->depth && walk->low[node] < walk->low[walk->path[walk->depth - 1]])
        walk->low[walk->path[walk->depth - 1]] = walk->low[node];
    if (walk->low[node] != walk->index[node])
        return;
    uint32_t member;
    do {
        member = walk->stack[--walk->top];
        walk->graph->nodes[member].component = walk->graph->component_count;
    } while (member != node);
    walk->graph->component_count++;
}

static void step(struct tarjan *walk)
{
    uint32_t node = walk->path[walk->depth - 1], edge = walk->next[node];
    if (edge == TRACE_NO) {
        leave(walk);
        return;
    }
    walk->next[node] = walk->graph->edges[edge].next;
    uint32_t to = walk->graph->edges[edge].to;
    if (walk->graph->nodes[to].goes)
        return;
    if (!walk->index[to])
        enter(walk, to);
    else if (walk->graph->nodes[to].component == TRACE_NO && walk->index[to] < walk->low[node])
        walk->low[node] = walk->index[to];
}

static void find_components(struct wait_graph *graph)
{
    struct tarjan walk = {.graph = graph};
    uint32_t *memory = check_new(graph->count * 5, sizeof *memory);
    walk.index = memory;
    walk.low = memory + graph->count;
    walk.next = memory + graph->count * 2;
    walk.stack = memory + graph->count * 3;
    walk.path = memory + graph->count * 4;
    for (uint32_t node = 0; node < graph->count; node++)
        if (!graph->nodes[node].goes && !walk.index[node]) {
            enter(&walk, node);
            while (walk.depth)
                step(&walk);
        }
    free(memory);
}

static void find_sinks(struct wait_graph *graph)
{
    bool *leaves = check_new(graph->component_count, sizeof *leaves);
    for (size_t n = 0; n < graph->count; n++)
        for (uint32_t e = graph->nodes[n].edge; e != TRACE_NO && !graph->nodes[n].goes;
             e = graph->edges[e].next) {
            const struct wait_node *to = &graph->nodes[graph->edges[e].to];
            if (!to->goes && to->component != graph->nodes[n].component)
                leaves[graph->nodes[n].component] = true;
        }
    for (size_t n = 0; n < graph->count; n++)
        graph->nodes[n].sink = !graph->nodes[n].goes && !leaves[graph->nodes[n].component];
    free(leaves);
}

void wait_graph_init(struct wait_graph *graph, const struct check_context *context)
{
    *graph = (struct wait_graph){.context = context, .finalize = TRACE_NO};
    graph->node_of_group = check_new(context->group_count, sizeof *graph->node_of_group);
    memset(graph->node_of_group, 0xff, context->group_count * sizeof *graph->node_of_group);
    graph->node_of_meeting =
        check_new(context->trace->comm_count + 1, sizeof *graph->node_of_meeting);
    memset(graph->node_of_meeting, 0xff,
           (context->trace->comm_count + 1) * sizeof *graph->node_of_meeting);
    graph->anybody = check_new(context->trace->comm_count + 1, sizeof *graph->anybody);
    for (size_t i = 0; i <= context->trace->comm_count; i++)
        graph->anybody[i].node = TRACE_NO;
    for (uint32_t rank = 0; rank < context->trace->ranks; rank++)
        add_node(graph, WAIT_FREE, TRACE_NO);
    for (uint32_t rank = 0; rank < context->trace->ranks; rank++)
        add_rank(graph, rank);
    for (uint32_t rank = 0; rank < context->trace->ranks; rank++)
        if (graph->nodes[rank].kind == WAIT_ALL || graph->nodes[rank].kind == WAIT_ANY)
            wait_for_op(graph, rank, graph->nodes[rank].op);
    reduce(graph);
    find_components(graph);
    find_sinks(graph);
}

void wait_graph_release(struct wait_graph *graph)
{
    free(graph->nodes);
    free(graph->edges);
    free(graph->node_of_group);
    free(graph->node_of_meeting);
    free(graph->anybody);
    if (graph->holders)
        holders_release(graph->holders);
    free(graph->holders);
    *graph = (struct wait_graph){0};
}
