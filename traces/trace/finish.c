/* Finishing a trace: groups by rank, renumbers, links requests, finds passes, matches. See trace.h.
 *
 * Every step is linear. A table whose rows already stand in order (a loader's, a store's) is not
 * moved. */
#include "traces/trace/memory.h"
#include "traces/trace/trace.h"

#include <stdlib.h>
#include <string.h>

static bool out_of_memory(struct failure *failure)
{
    failure_set(failure, FAILURE_INTERNAL, "out of memory while building a trace");
    return false;
}

/* Stable counting sort of rows by a 32-bit key at `key_offset`. Fills `begin` (keys + 1 entries).
 * `moved`, when not NULL, receives a new array old index -> new index; it stays NULL when nothing moved.
 */
struct sort {
    void **rows;
    size_t count, size, key_offset, keys;
    size_t *begin;
    uint32_t **moved;
};

static uint32_t sort_key(const struct sort *sort, size_t row)
{
    uint32_t key;
    memcpy(&key, (const char *)*sort->rows + row * sort->size + sort->key_offset, sizeof key);
    return key;
}

static bool sort_count(const struct sort *sort)
{
    bool sorted = true;
    memset(sort->begin, 0, (sort->keys + 1) * sizeof *sort->begin);
    for (size_t i = 0; i < sort->count; i++) {
        uint32_t key = sort_key(sort, i);
        sort->begin[key + 1]++;
        sorted = sorted && (i == 0 || sort_key(sort, i - 1) <= key);
    }
    for (size_t key = 0; key < sort->keys; key++)
        sort->begin[key + 1] += sort->begin[key];
    return sorted;
}

static bool sort_rows(const struct sort *sort)
{
    if (sort_count(sort))
        return true;
    size_t *next = malloc(sort->keys * sizeof *next);
    uint32_t *moved = malloc(sort->count * sizeof *moved);
    char *rows = malloc(sort->count * sort->size);
    if (!next || !moved || !rows) {
        free(next);
        free(moved);
        free(rows);
        return false;
    }
    memcpy(next, sort->begin, sort->keys * sizeof *next);
    for (size_t i = 0; i < sort->count; i++) {
        size_t to = next[sort_key(sort, i)]++;
        memcpy(rows + to * sort->size, (const char *)*sort->rows + i * sort->size, sort->size);
        moved[i] = (uint32_t)to;
    }
    free(next);
    free(*sort->rows);
    *sort->rows = rows;
    if (sort->moved)
        *sort->moved = moved;
    else
        free(moved);
    return true;
}

static bool is_sorted(const struct sort *sort)
{
    for (size_t i = 1; i < sort->count; i++)
        if (sort_key(sort, i - 1) > sort_key(sort, i))
            return false;
    return true;
}

/* Sorts a table by an op or node index; the begin array is only needed on the way, and then takes
 * more than the table. */
static bool sort_by_index(void *table, size_t count, size_t size, size_t keys)
{
    if (is_sorted(&(struct sort){.rows = table, .count = count, .size = size}))
        return true;
    size_t *begin = malloc((keys + 1) * sizeof *begin);
    if (!begin)
        return false;
    bool done = sort_rows(&(struct sort){table, count, size, 0, keys, begin, NULL});
    free(begin);
    return done;
}

static void renumber(uint32_t *index, const uint32_t *moved, size_t count)
{
    if (moved && *index < count)
        *index = moved[*index];
}

static void renumber_ops(struct trace *trace, const uint32_t *moved)
{
    for (size_t i = 0; i < trace->op_count; i++) {
        struct trace_op *op = &trace->ops[i];
        renumber(&op->request, moved, trace->op_count);
        renumber(&op->match, moved, trace->op_count);
    }
    for (size_t i = 0; i < trace->wait_count; i++) {
        uint32_t start = trace->waits[i].start;
        renumber(&start, moved, trace->op_count);
        trace->waits[i].start = start & TRACE_OPS_MAX;
        renumber(&trace->waits[i].wait, moved, trace->op_count);
    }
    for (size_t i = 0; i < trace->counts_count; i++)
        renumber(&trace->counts[i].op, moved, trace->op_count);
    for (size_t i = 0; i < trace->note_count; i++)
        renumber(&trace->notes[i].op, moved, trace->op_count);
    for (size_t i = 0; i < trace->fold_count; i++)
        renumber(&trace->folds[i].op, moved, trace->op_count);
}

/* False: out of memory. */
static bool move_times(struct trace *trace, const uint32_t *moved)
{
    if (!moved || trace->time_count == 0)
        return true;
    struct trace_times *times = calloc(trace->op_count, sizeof *times);
    if (!times)
        return false;
    for (size_t i = 0; i < trace->time_count; i++)
        times[moved[i]] = trace->times[i];
    free(trace->times);
    trace->times = times;
    trace->time_count = trace->store->time_room = trace->op_count;
    return true;
}

/* False: out of memory. */
static bool move_adjoints(struct trace *trace, const uint32_t *moved)
{
    if (!moved || trace->adjoint_count == 0)
        return true;
    uint32_t *adjoints = malloc(trace->op_count * sizeof *adjoints);
    if (!adjoints)
        return false;
    memset(adjoints, 0xff, trace->op_count * sizeof *adjoints);
    for (size_t i = 0; i < trace->adjoint_count; i++) {
        adjoints[moved[i]] = trace->adjoints[i];
        renumber(&adjoints[moved[i]], moved, trace->op_count);
    }
    free(trace->adjoints);
    trace->adjoints = adjoints;
    trace->adjoint_count = trace->store->adjoint_room = trace->op_count;
    return true;
}

static void renumber_nodes(struct trace *trace, const uint32_t *moved)
{
    for (size_t i = 0; i < trace->op_count; i++)
        renumber(&trace->ops[i].node, moved, trace->node_count);
    for (size_t i = 0; i < trace->node_count; i++)
        renumber(&trace->nodes[i].forward, moved, trace->node_count);
    for (size_t i = 0; i < trace->edge_count; i++) {
        renumber(&trace->edges[i].from, moved, trace->node_count);
        renumber(&trace->edges[i].to, moved, trace->node_count);
    }
    for (size_t i = 0; i < trace->note_count; i++)
        renumber(&trace->notes[i].node, moved, trace->node_count);
}

/* The rows a sort needs keys from must be in range before it runs; the rest is trace_check's. */
static bool keys_valid(const struct trace *trace, struct failure *failure)
{
    for (size_t i = 0; i < trace->wait_count; i++)
        if (trace->waits[i].wait >= trace->op_count || trace->waits[i].start >= trace->op_count)
            return failure_set(failure, FAILURE_INPUT, "trace: row %zu of waits: no such operation",
                               i) == 0;
    for (size_t i = 0; i < trace->counts_count; i++)
        if (trace->counts[i].op >= trace->op_count)
            return failure_set(failure, FAILURE_INPUT,
                               "trace: row %zu of counts: no such operation", i) == 0;
    for (size_t i = 0; i < trace->edge_count; i++)
        if (trace->edges[i].from >= trace->node_count || trace->edges[i].to >= trace->node_count)
            return failure_set(failure, FAILURE_INPUT, "trace: row %zu of edges: no such node",
                               i) == 0;
    return true;
}

static int edge_order(const void *left, const void *right)
{
    const struct trace_edge *a = left, *b = right;
    if (a->to != b->to)
        return a->to < b->to ? -1 : 1;
    return (a->type > b->type) - (a->type < b->type);
}

/* Edges of one node in order of their ends, each once: a trace has one form whoever built it. */
static void order_edges(struct trace *trace)
{
    size_t kept = 0;
    for (size_t first = 0, end; first < trace->edge_count; first = end) {
        for (end = first + 1;
             end < trace->edge_count && trace->edges[end].from == trace->edges[first].from; end++)
            ;
        qsort(trace->edges + first, end - first, sizeof *trace->edges, edge_order);
        for (size_t i = first; i < end; i++)
            if (i == first || edge_order(&trace->edges[i], &trace->edges[kept - 1]))
                trace->edges[kept++] = trace->edges[i];
    }
    trace->edge_count = kept;
}

/* The first operation of a later rank: they are in order, and the wanted one is often near. */
static size_t rank_end(const struct trace *trace, uint32_t rank, size_t from)
{
    size_t low = from, step = 1, high;
    while (low + step < trace->op_count && trace->ops[low + step].rank <= rank) {
        low += step;
        step *= 2;
    }
    high = low + step < trace->op_count ? low + step : trace->op_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (trace->ops[middle].rank <= rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* False: out of memory. */
static bool group_ops(struct trace *trace)
{
    uint32_t *moved = NULL;
    if (!trace->store->disordered) {
        trace->rank_begin[0] = 0;
        for (uint32_t rank = 0; rank < trace->ranks; rank++)
            trace->rank_begin[rank + 1] = rank_end(trace, rank, trace->rank_begin[rank]);
        return true;
    }
    struct sort ops = {(void **)&trace->ops,
                       trace->op_count,
                       sizeof *trace->ops,
                       offsetof(struct trace_op, rank),
                       trace->ranks,
                       trace->rank_begin,
                       &moved};
    if (!sort_rows(&ops))
        return false;
    trace->store->disordered = false;
    renumber_ops(trace, moved);
    bool done = move_times(trace, moved) && move_adjoints(trace, moved);
    free(moved);
    return done;
}

static bool group(struct trace *trace)
{
    uint32_t *moved = NULL;
    if (!group_ops(trace))
        return false;
    struct sort nodes = {(void **)&trace->nodes,
                         trace->node_count,
                         sizeof *trace->nodes,
                         offsetof(struct trace_node, rank),
                         trace->ranks,
                         trace->node_begin,
                         &moved};
    if (!sort_rows(&nodes))
        return false;
    if (moved)
        renumber_nodes(trace, moved);
    free(moved);
    return sort_by_index((void *)&trace->waits, trace->wait_count, sizeof *trace->waits,
                         trace->op_count) &&
           sort_by_index((void *)&trace->counts, trace->counts_count, sizeof *trace->counts,
                         trace->op_count) &&
           sort_by_index((void *)&trace->edges, trace->edge_count, sizeof *trace->edges,
                         trace->node_count);
}

static bool waits_on_one(const struct trace_op *op)
{
    return op->kind == OP_WAIT || op->kind == OP_TEST;
}

/* `request` leads from a start to the wait that completed it and from a wait on one request to its
 * start. Whichever side the builder gave, both are there afterwards. */
static void link_requests(struct trace *trace)
{
    for (size_t i = 0; i < trace->wait_count; i++) {
        const struct trace_wait *row = &trace->waits[i];
        struct trace_op *start = &trace->ops[row->start], *wait = &trace->ops[row->wait];
        if (row->completed && start->request == TRACE_NO)
            start->request = row->wait;
        if (waits_on_one(wait) && wait->request == TRACE_NO)
            wait->request = row->start;
    }
    for (uint32_t i = 0; i < trace->op_count; i++) {
        struct trace_op *op = &trace->ops[i];
        if (op->request >= trace->op_count)
            continue;
        struct trace_op *other = &trace->ops[op->request];
        if (waits_on_one(op) && op->state == STATE_COMPLETE && other->request == TRACE_NO)
            other->request = i;
        else if (!waits_on_one(op) && waits_on_one(other) && other->request == TRACE_NO)
            other->request = i;
    }
}

static int pass_order(const void *left, const void *right)
{
    const struct trace_pass *a = left, *b = right;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return (a->pass > b->pass) - (a->pass < b->pass);
}

static struct trace_pass *pass_find(struct trace *trace, uint32_t rank, uint32_t pass)
{
    struct trace_pass key = {.rank = rank, .pass = pass};
    return trace->pass_count
               ? bsearch(&key, trace->passes, trace->pass_count, sizeof *trace->passes, pass_order)
               : NULL;
}

/* Ranges of operations; a pass nobody described is one in program order. */
static bool find_passes(struct trace *trace)
{
    if (trace->pass_count)
        qsort(trace->passes, trace->pass_count, sizeof *trace->passes, pass_order);
    size_t known = trace->pass_count;
    for (size_t i = 0; i < known; i++)
        trace->passes[i].first_op = trace->passes[i].op_end = TRACE_NO;
    struct trace_pass *row = NULL;
    for (uint32_t i = 0; trace->store->passes && i < trace->op_count; i++) {
        const struct trace_op *op = &trace->ops[i];
        if (op->form->pass == 0)
            continue;
        if (!row || row->rank != op->rank || row->pass != op->form->pass)
            row = pass_find(trace, op->rank, op->form->pass);
        if (!row) {
            struct trace_pass added = {.rank = op->rank,
                                       .pass = op->form->pass,
                                       .first_op = i,
                                       .op_end = i + 1,
                                       .complete = true};
            if (trace_add_pass(trace, &added) == TRACE_NO)
                return false;
            qsort(trace->passes, trace->pass_count, sizeof *trace->passes, pass_order);
            row = pass_find(trace, op->rank, op->form->pass);
        }
        if (row->first_op == TRACE_NO)
            row->first_op = i;
        row->op_end = i + 1;
    }
    for (size_t i = 0; i < trace->pass_count; i++)
        if (trace->passes[i].first_op == TRACE_NO)
            trace->passes[i].first_op = trace->passes[i].op_end =
                (uint32_t)trace->rank_begin[trace->passes[i].rank + 1];
    return true;
}

bool trace_finish(struct trace *trace, struct failure *failure)
{
    if (trace->store->failed)
        return out_of_memory(failure);
    if (!keys_valid(trace, failure))
        return false;
    if (!group(trace) || !find_passes(trace))
        return out_of_memory(failure);
    order_edges(trace);
    link_requests(trace);
    if (!trace_match(trace) || trace->store->failed)
        return out_of_memory(failure);
    return true;
}
