#include "checker/orders/partial_order.h"

#include "checker/memory.h"

#include <stdlib.h>
#include <string.h>

/* Rows of one pass, if they have nothing in common, and those of all passes that are kept may take
 * this many bytes; beyond, the pass is taken as recorded and the result is called bounded. */
static const size_t row_bytes_max = (size_t)3 << 30;

static bool communicates(const struct trace_op *op)
{
    enum op_class class = check_class(op);
    return class == CLASS_SEND || class == CLASS_RECEIVE || class == CLASS_PROBE ||
           class == CLASS_COLLECTIVE || class == CLASS_WAIT;
}

static struct reach_segment *add_segment(struct check_partial_order *reach, uint32_t rank,
                                         uint32_t first, uint32_t end)
{
    reach->segments = check_grow(reach->segments, &reach->segment_room, reach->segment_count + 1,
                                 sizeof *reach->segments);
    for (uint32_t op = first; op < end; op++)
        reach->segment_of[op] = (uint32_t)reach->segment_count;
    struct reach_segment *segment = &reach->segments[reach->segment_count++];
    *segment = (struct reach_segment){.rank = rank, .first = first, .end = end};
    return segment;
}

/* ---- the DAG of one pass ---- */

struct pass_graph {
    const struct trace *trace;
    const struct trace_edge *edges;
    size_t edge_count;
    uint32_t *nodes; /* the pass's nodes, global indices, topologically sorted once `sorted` */
    uint32_t *local; /* per node of the rank (minus node_begin): index in nodes, TRACE_NO */
    uint32_t count;
    uint32_t base; /* node_begin of the rank */
};

/* Edges are sorted by their source. */
static size_t first_edge(const struct pass_graph *graph, uint32_t node)
{
    size_t low = 0, high = graph->edge_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (graph->edges[middle].from < node)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The local number an edge leads to, TRACE_NO where it leaves the pass. */
static uint32_t local_of(const struct pass_graph *graph, uint32_t node)
{
    return graph->local[node - graph->base];
}

static void gather_nodes(struct pass_graph *graph, const struct check_partial_order *reach,
                         const struct trace_pass *pass)
{
    const struct trace *trace = reach->context->trace;
    size_t begin = trace->node_begin[pass->rank], end = trace->node_begin[pass->rank + 1];
    *graph = (struct pass_graph){.trace = trace,
                                 .edges = reach->edges,
                                 .edge_count = reach->edge_count,
                                 .base = (uint32_t)begin};
    graph->nodes = check_new(end - begin, sizeof *graph->nodes);
    graph->local = check_new(end - begin, sizeof *graph->local);
    for (size_t n = begin; n < end; n++) {
        bool inside = trace->nodes[n].pass == pass->pass;
        graph->local[n - begin] = inside ? graph->count : TRACE_NO;
        if (inside)
            graph->nodes[graph->count++] = (uint32_t)n;
    }
}

/* Kahn's algorithm; false when the edges have a cycle. */
static bool sort_nodes(struct pass_graph *graph)
{
    uint32_t *missing = check_new(graph->count, sizeof *missing);
    uint32_t *sorted = check_new(graph->count, sizeof *sorted);
    uint32_t head = 0, tail = 0;
    for (uint32_t n = 0; n < graph->count; n++)
        for (size_t e = first_edge(graph, graph->nodes[n]);
             e < graph->edge_count && graph->edges[e].from == graph->nodes[n]; e++) {
            uint32_t to = local_of(graph, graph->edges[e].to);
            if (to != TRACE_NO)
                missing[to]++;
        }
    for (uint32_t n = 0; n < graph->count; n++)
        if (!missing[n])
            sorted[tail++] = graph->nodes[n];
    while (head < tail) {
        uint32_t node = sorted[head++];
        for (size_t e = first_edge(graph, node);
             e < graph->edge_count && graph->edges[e].from == node; e++) {
            uint32_t to = local_of(graph, graph->edges[e].to);
            if (to != TRACE_NO && --missing[to] == 0)
                sorted[tail++] = graph->nodes[to];
        }
    }
    free(missing);
    bool acyclic = tail == graph->count;
    if (acyclic) {
        free(graph->nodes);
        graph->nodes = sorted;
        for (uint32_t n = 0; n < graph->count; n++)
            graph->local[graph->nodes[n] - graph->base] = n;
    } else {
        free(sorted);
    }
    return acyclic;
}

static void release_graph(struct pass_graph *graph)
{
    free(graph->nodes);
    free(graph->local);
}

/* ---- items and their rows ---- */

/* Numbers the nodes that communicate in [first, end) in order of their first op; fills item_of and
 * the op lists. */
static void number_items(struct check_partial_order *reach, struct reach_segment *segment,
                         const struct pass_graph *graph, uint32_t *item_of_node)
{
    const struct trace *trace = graph->trace;
    memset(item_of_node, 0xff, graph->count * sizeof *item_of_node);
    segment->item_ops = check_new(segment->end - segment->first, sizeof *segment->item_ops);
    segment->item_begin =
        check_new((size_t)(segment->end - segment->first) + 2, sizeof *segment->item_begin);
    for (uint32_t op = segment->first; op < segment->end; op++) {
        if (!communicates(&trace->ops[op]))
            continue;
        uint32_t node = local_of(graph, trace->ops[op].node);
        if (item_of_node[node] == TRACE_NO)
            item_of_node[node] = segment->item_count++;
        reach->item_of[op] = item_of_node[node];
        segment->item_begin[reach->item_of[op] + 1]++;
    }
    for (uint32_t i = 0; i < segment->item_count; i++)
        segment->item_begin[i + 1] += segment->item_begin[i];
    uint32_t *fill = check_new(segment->item_count, sizeof *fill);
    for (uint32_t op = segment->first; op < segment->end; op++)
        if (reach->item_of[op] != TRACE_NO)
            segment
                ->item_ops[segment->item_begin[reach->item_of[op]] + fill[reach->item_of[op]]++] =
                op;
    free(fill);
}

/* A row of its own item for every node that has one. */
static uint32_t *own_rows(struct check_partial_order *reach, const struct reach_segment *segment,
                          const struct pass_graph *graph, const uint32_t *item_of_node)
{
    uint32_t *rows = check_new(graph->count * segment->pieces, sizeof *rows);
    for (uint32_t n = 0; n < graph->count; n++)
        if (item_of_node[n] != TRACE_NO)
            bit_row_set(&reach->pool, rows + n * segment->pieces, item_of_node[n]);
    return rows;
}

/* The rows of nodes that are items, item by item; frees `rows`. */
static uint32_t *item_rows(const struct reach_segment *segment, const struct pass_graph *graph,
                           const uint32_t *item_of_node, uint32_t *rows)
{
    size_t pieces = segment->pieces;
    uint32_t *items = check_new(segment->item_count * pieces, sizeof *items);
    for (uint32_t n = 0; n < graph->count; n++)
        if (item_of_node[n] != TRACE_NO)
            memcpy(items + item_of_node[n] * pieces, rows + n * pieces, pieces * sizeof *rows);
    free(rows);
    return items;
}

/* Predecessors are pushed along the edges in topological order, successors pulled in the reverse. */
static void fill_rows(struct check_partial_order *reach, struct reach_segment *segment,
                      const struct pass_graph *graph, const uint32_t *item_of_node)
{
    size_t pieces = segment->pieces = bit_row_pieces(segment->item_count);
    for (int backwards = REACH_BEFORE; backwards <= REACH_AFTER; backwards++) {
        uint32_t *rows = own_rows(reach, segment, graph, item_of_node);
        for (uint32_t i = 0; i < graph->count; i++) {
            uint32_t n = backwards ? graph->count - 1 - i : i;
            for (size_t e = first_edge(graph, graph->nodes[n]);
                 e < graph->edge_count && graph->edges[e].from == graph->nodes[n]; e++) {
                uint32_t to = local_of(graph, graph->edges[e].to);
                if (to != TRACE_NO)
                    bit_row_merge(&reach->pool, rows + (backwards ? n : to) * pieces,
                                  rows + (backwards ? to : n) * pieces, pieces);
            }
        }
        segment->rows[backwards] = item_rows(segment, graph, item_of_node, rows);
    }
}

static void take_as_recorded(struct check_partial_order *reach, uint32_t op)
{
    reach->bounded_at = reach->bounded ? reach->bounded_at : op;
    reach->bounded = true;
}

static void add_partial(struct check_partial_order *reach, const struct pass_graph *graph,
                        uint32_t rank, uint32_t first, uint32_t end)
{
    if (first == end)
        return;
    struct reach_segment *segment = add_segment(reach, rank, first, end);
    uint32_t *item_of_node = check_new(graph->count, sizeof *item_of_node);
    number_items(reach, segment, graph, item_of_node);
    size_t bytes = ((size_t)segment->item_count / 64 + 1) * sizeof(uint64_t) * graph->count;
    if (bytes > row_bytes_max || bit_pool_bytes(&reach->pool) > row_bytes_max) {
        take_as_recorded(reach, first);
        segment->item_count = 0;
    } else if (segment->item_count) {
        fill_rows(reach, segment, graph, item_of_node);
    }
    for (uint32_t op = first; op < end && !segment->item_count; op++)
        reach->item_of[op] = TRACE_NO;
    free(item_of_node);
}

/* An op of the pass that belongs to none of its nodes stands where it was issued and parts the
 * pass. */
static bool parts(const struct pass_graph *graph, uint32_t op)
{
    const struct trace_op *at = &graph->trace->ops[op];
    return communicates(at) && (at->node == TRACE_NO || local_of(graph, at->node) == TRACE_NO);
}

static void add_pass(struct check_partial_order *reach, const struct trace_pass *pass)
{
    struct pass_graph graph;
    gather_nodes(&graph, reach, pass);
    bool sorted = graph.count && sort_nodes(&graph);
    uint32_t from = pass->first_op;
    for (uint32_t op = pass->first_op; op < pass->op_end && sorted; op++) {
        if (!parts(&graph, op))
            continue;
        add_partial(reach, &graph, pass->rank, from, op);
        add_segment(reach, pass->rank, op, op + 1);
        from = op + 1;
    }
    if (sorted)
        add_partial(reach, &graph, pass->rank, from, pass->op_end);
    else if (pass->first_op < pass->op_end)
        add_segment(reach, pass->rank, pass->first_op, pass->op_end);
    if (graph.count && !sorted && pass->first_op < pass->op_end)
        take_as_recorded(reach, pass->first_op);
    release_graph(&graph);
}

static void add_rank(struct check_partial_order *reach, uint32_t rank)
{
    const struct check_context *context = reach->context;
    const struct trace *trace = context->trace;
    uint32_t at = (uint32_t)trace->rank_begin[rank], end = (uint32_t)trace->rank_begin[rank + 1];
    for (size_t i = context->pass_begin[rank]; i < context->pass_begin[rank + 1]; i++) {
        const struct trace_pass *pass = &trace->passes[i];
        if (pass->mode != PASS_DATA || pass->first_op < at || pass->op_end > end ||
            pass->op_end < pass->first_op)
            continue;
        if (at < pass->first_op)
            add_segment(reach, rank, at, pass->first_op);
        add_pass(reach, pass);
        at = pass->op_end;
    }
    if (at < end)
        add_segment(reach, rank, at, end);
}

static int by_source(const void *a, const void *b)
{
    const struct trace_edge *x = a, *y = b;
    return x->from < y->from ? -1 : x->from > y->from;
}

void check_partial_order_init(struct check_partial_order *reach,
                              const struct check_context *context)
{
    check_partial_order_init_with(reach, context, NULL, 0);
}

void check_partial_order_init_with(struct check_partial_order *reach,
                                   const struct check_context *context,
                                   const struct trace_edge *more, size_t more_count)
{
    const struct trace *trace = context->trace;
    *reach = (struct check_partial_order){
        .context = context, .edges = trace->edges, .edge_count = trace->edge_count};
    if (more_count) {
        reach->edge_count += more_count;
        reach->own_edges = check_new(reach->edge_count, sizeof *reach->own_edges);
        if (trace->edge_count)
            memcpy(reach->own_edges, trace->edges, trace->edge_count * sizeof *more);
        memcpy(reach->own_edges + trace->edge_count, more, more_count * sizeof *more);
        qsort(reach->own_edges, reach->edge_count, sizeof *reach->own_edges, by_source);
        reach->edges = reach->own_edges;
    }
    bit_pool_init(&reach->pool);
    reach->segment_of = check_new(trace->op_count, sizeof *reach->segment_of);
    reach->item_of = check_new(trace->op_count, sizeof *reach->item_of);
    memset(reach->item_of, 0xff, trace->op_count * sizeof *reach->item_of);
    reach->segment_begin = check_new((size_t)trace->ranks + 1, sizeof *reach->segment_begin);
    for (uint32_t rank = 0; rank < trace->ranks; rank++) {
        reach->segment_begin[rank] = (uint32_t)reach->segment_count;
        add_rank(reach, rank);
    }
    reach->segment_begin[trace->ranks] = (uint32_t)reach->segment_count;
}

void check_partial_order_release(struct check_partial_order *reach)
{
    for (size_t s = 0; s < reach->segment_count; s++) {
        for (int side = REACH_BEFORE; side <= REACH_AFTER; side++) {
            free(reach->segments[s].rows[side]);
            free(reach->segments[s].flat[side]);
        }
        free(reach->segments[s].item_ops);
        free(reach->segments[s].item_begin);
    }
    bit_pool_release(&reach->pool);
    free(reach->own_edges);
    free(reach->segments);
    free(reach->segment_begin);
    free(reach->segment_of);
    free(reach->item_of);
    *reach = (struct check_partial_order){0};
}

bool check_partial_order_before(const struct check_partial_order *reach, uint32_t a, uint32_t b)
{
    if (reach->segment_of[a] != reach->segment_of[b])
        return a < b;
    const struct reach_segment *segment = &reach->segments[reach->segment_of[a]];
    uint32_t item_a = reach->item_of[a], item_b = reach->item_of[b];
    if (!segment->item_count || item_a == item_b || item_a == TRACE_NO || item_b == TRACE_NO)
        return a < b;
    return reach_before(reach, segment, item_a, item_b);
}

bool check_partial_order_possible(const struct check_partial_order *reach, uint32_t a, uint32_t b)
{
    return a != b && !check_partial_order_before(reach, b, a);
}

/* Rows that change one by one have less and less in common. */
static void flatten(const struct check_partial_order *reach, struct reach_segment *segment,
                    int side)
{
    if (segment->flat[side])
        return;
    size_t count = segment->item_count * segment->pieces;
    uint64_t *flat = check_new(count * BIT_PIECE_WORDS, sizeof *flat);
    for (size_t i = 0; i < count; i++)
        memcpy(flat + i * BIT_PIECE_WORDS, bit_piece(&reach->pool, segment->rows[side][i]),
               BIT_PIECE_WORDS * sizeof *flat);
    segment->flat[side] = flat;
}

static void merge_row(uint64_t *into, const uint64_t *from, size_t words)
{
    for (size_t w = 0; w < words; w++)
        into[w] |= from[w];
}

void check_partial_order_sort(struct check_partial_order *reach, uint32_t a, uint32_t b)
{
    struct reach_segment *segment = &reach->segments[reach->segment_of[a]];
    uint32_t from = reach->item_of[a], to = reach->item_of[b];
    flatten(reach, segment, REACH_BEFORE);
    flatten(reach, segment, REACH_AFTER);
    uint64_t *before = segment->flat[REACH_BEFORE], *after = segment->flat[REACH_AFTER];
    size_t stride = segment->pieces * BIT_PIECE_WORDS, words = (segment->item_count + 63) / 64;
    uint64_t *earlier = check_new(words, sizeof *earlier), *later = check_new(words, sizeof *later);
    memcpy(earlier, before + from * stride, words * sizeof *earlier);
    memcpy(later, after + to * stride, words * sizeof *later);
    for (uint32_t i = 0; i < segment->item_count; i++) {
        if (later[i / 64] >> (i % 64) & 1)
            merge_row(before + i * stride, earlier, words);
        if (earlier[i / 64] >> (i % 64) & 1)
            merge_row(after + i * stride, later, words);
    }
    free(earlier);
    free(later);
}

void check_partial_order_linearize(const struct check_partial_order *reach, uint32_t x, uint32_t y,
                                   uint32_t *order)
{
    const struct reach_segment *segment = &reach->segments[reach->segment_of[x]];
    if (x < y || reach->segment_of[x] != reach->segment_of[y])
        return;
    uint32_t needed = reach->item_of[x];
    uint32_t at = segment->first;
    while (at < y && reach->item_of[at] != reach->item_of[y])
        at++; /* nothing of y's item has run before here */
    uint32_t from = at, fill = at;
    for (uint32_t op = from; op < segment->end; op++)
        if (reach->item_of[op] != TRACE_NO &&
            reach_before(reach, segment, reach->item_of[op], needed))
            order[fill++] = op;
    for (uint32_t op = from; op < segment->end; op++)
        if (reach->item_of[op] == TRACE_NO ||
            !reach_before(reach, segment, reach->item_of[op], needed))
            order[fill++] = op;
}
