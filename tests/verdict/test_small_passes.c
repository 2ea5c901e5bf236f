/* The partial order of small random passes against its rule (traces/trace/trace.h): in a pass in data
 * order, one operation comes before another only where both are of one node, or where the one's node
 * reaches the other's along the edges; everything else stands as it was recorded, what is of no node
 * of the pass, too, and parts it. Passes have several operations a node, nodes without any, edges
 * that lead out of them, and now and then a cycle. Whatever of two operations can come first is put
 * first: the order that results keeps the rule. SIMRUN_SOAK=N tries N programs, from SIMRUN_SEED on. */
#include "checker/context.h"
#include "checker/orders/partial_order.h"
#include "tests/checker/check_program.h"
#include "tests/dice.h"

enum { RANKS = 2, PASSES = 2, NODES_MAX = 12, OPS_MAX = 64 };

struct small {
    uint64_t dice;
    struct program program;
    struct check_options options;
    struct check_context context;
    struct check_partial_order reach;
    struct trace_edge more[OPS_MAX];
    size_t more_count;
    uint32_t node_count, op_count, pass_of_node[2 * NODES_MAX * RANKS];
    bool reaches[2 * NODES_MAX * RANKS][2 * NODES_MAX * RANKS]; /* inside of a pass */
    bool cyclic[RANKS][PASSES + 1];
    enum pass_mode modes[RANKS][PASSES + 1];
    uint32_t node_of[OPS_MAX], pass_of[OPS_MAX]; /* TRACE_NO: of none; the pass that stands there */
    uint32_t rank_of[OPS_MAX];
    bool talks[OPS_MAX];
    uint32_t calls[RANKS], open;                            /* a request that nobody waited for */
    bool graph[OPS_MAX][OPS_MAX], before[OPS_MAX][OPS_MAX]; /* see the rule */
};

static uint32_t below(struct small *small, uint32_t n)
{
    return dice_below(&small->dice, n);
}

/* ---- the program ---- */

static void add_nodes(struct small *small, uint32_t rank, uint32_t pass)
{
    uint32_t first = small->node_count, count = below(small, NODES_MAX + 1);
    bool may_turn = below(small, 5) == 0;
    for (uint32_t i = 0; i < count; i++) {
        small->pass_of_node[small->node_count++] = pass;
        trace_add_node(small->program.trace, &(struct trace_node){.rank = rank,
                                                                  .id = first + i + 1,
                                                                  .pass = pass,
                                                                  .kind = OP_ALLREDUCE,
                                                                  .state = STATE_COMPLETE,
                                                                  .forward = TRACE_NO,
                                                                  .site = TRACE_NO,
                                                                  .name = TRACE_NO});
    }
    for (uint32_t edges = count ? below(small, 2 * count) : 0; edges-- > 0;) {
        uint32_t from = first + below(small, count), to = first + below(small, count);
        bool turned = may_turn && below(small, 4) == 0, later = below(small, 3) == 0;
        uint32_t low = from < to ? from : to, high = from < to ? to : from;
        if (low == high && !turned)
            continue;
        struct trace_edge edge = {.from = turned ? high : low, .to = turned ? low : high};
        small->reaches[edge.from][edge.to] = true;
        if (later && small->more_count < OPS_MAX)
            small->more[small->more_count++] = edge;
        else
            trace_add_edge(small->program.trace, edge.from, edge.to, EDGE_DATA);
    }
    for (uint32_t k = first; k < small->node_count; k++)
        for (uint32_t i = first; i < small->node_count; i++)
            for (uint32_t j = first; j < small->node_count; j++)
                small->reaches[i][j] |= small->reaches[i][k] && small->reaches[k][j];
    for (uint32_t i = first; i < small->node_count; i++)
        small->cyclic[rank][pass] |= small->reaches[i][i];
}

/* An operation of a pass (0: of none) and of a node (TRACE_NO: of none). */
static void add_op(struct small *small, uint32_t rank, uint32_t pass, uint32_t node)
{
    struct program *program = &small->program;
    uint32_t op = small->op_count, kind = below(small, 7);
    if (op == OPS_MAX)
        return;
    small->op_count++;
    small->rank_of[op] = rank;
    small->pass_of[op] = pass;
    small->node_of[op] = node;
    small->talks[op] = kind < 6;
    program->pass = pass;
    program->node = node;
    int line = (int)op + 1, peer = (int)(1 - rank);
    if (kind == 0 && small->open != TRACE_NO)
        program_wait(program, rank, small->open, line);
    else if (kind == 1)
        program_p2p(program, rank, OP_RECV, peer, 1, line);
    else if (kind == 2)
        program_p2p(program, rank, OP_PROBE, peer, 1, line);
    else if (kind == 3)
        program_collective(program, rank, OP_ALLREDUCE, program->world, small->calls[rank]++, line);
    else if (kind == 6)
        program_p2p(program, rank, OP_SEND, TRACE_NONE, 1, line);
    else
        program_p2p(program, rank, kind == 4 ? OP_ISEND : OP_SEND, peer, 1, line);
    small->open = kind == 4 ? op : kind == 0 ? TRACE_NO : small->open;
}

/* The nodes' operations in an order that the edges allow, and some that are of none. */
static void add_pass(struct small *small, uint32_t rank, uint32_t pass, uint32_t own,
                     uint32_t first)
{
    uint32_t left[2 * NODES_MAX * RANKS] = {0}, ops = 1 + below(small, 12);
    for (uint32_t i = 0; i < ops && small->node_count > first; i++)
        left[first + below(small, small->node_count - first)]++;
    add_op(small, rank, pass, TRACE_NO);
    for (uint32_t tries = 0; tries < 200; tries++) {
        uint32_t node = first + below(small, small->node_count - first + 1);
        bool ready = node < small->node_count && left[node];
        for (uint32_t i = first; ready && i < small->node_count; i++)
            ready = !left[i] || i == node || !small->reaches[i][node] || small->cyclic[rank][pass];
        if (below(small, 40) == 0)
            add_op(small, rank, below(small, 2) ? pass : 0,
                   first > own && below(small, 2) ? first - 1 : TRACE_NO);
        if (!ready)
            continue;
        add_op(small, rank, pass, node);
        left[node]--;
    }
}

static void add_rank(struct small *small, uint32_t rank)
{
    uint32_t begin[PASSES + 2], own = small->node_count;
    small->open = TRACE_NO;
    for (uint32_t pass = 1; pass <= PASSES; pass++) {
        begin[pass] = small->node_count;
        add_nodes(small, rank, pass);
    }
    uint32_t count = small->node_count, second = begin[2];
    if (second > own && count > second) /* they lead out of their pass, this way and that */
        for (int i = 0; i < 3; i++) {
            uint32_t a = own + below(small, second - own),
                     b = second + below(small, count - second);
            bool back = below(small, 2);
            trace_add_edge(small->program.trace, back ? b : a, back ? a : b, EDGE_ORDER);
        }
    for (uint32_t pass = 1; pass <= PASSES; pass++) {
        if (below(small, 2))
            add_op(small, rank, 0, TRACE_NO);
        uint32_t nodes = small->node_count;
        small->node_count = pass < PASSES ? begin[pass + 1] : nodes;
        add_pass(small, rank, pass, own, begin[pass]);
        small->node_count = nodes;
        small->modes[rank][pass] = below(small, 8) ? PASS_DATA : PASS_PROGRAM;
        trace_add_pass(small->program.trace, &(struct trace_pass){.rank = rank,
                                                                  .pass = pass,
                                                                  .mode = small->modes[rank][pass],
                                                                  .complete = true});
    }
    if (below(small, 2))
        add_op(small, rank, 0, TRACE_NO);
}

/* ---- the rule ---- */

/* The pass in data order in whose range the operation stands; 0: in none. */
static uint32_t range_of(const struct small *small, uint32_t op)
{
    const struct trace *trace = small->program.trace;
    for (size_t i = 0; i < trace->pass_count; i++)
        if (trace->passes[i].first_op <= op && op < trace->passes[i].op_end)
            return trace->passes[i].mode == PASS_DATA ? trace->passes[i].pass : 0;
    return 0;
}

static bool parts(const struct small *small, uint32_t op, uint32_t pass)
{
    return small->talks[op] &&
           (small->node_of[op] == TRACE_NO || small->pass_of_node[small->node_of[op]] != pass);
}

static bool has_nodes(const struct small *small, uint32_t rank, uint32_t pass)
{
    const struct trace *trace = small->program.trace;
    for (size_t n = trace->node_begin[rank]; n < trace->node_begin[rank + 1]; n++)
        if (trace->nodes[n].pass == pass)
            return true;
    return false;
}

/* Whether the graph has a say: nothing parts the two. */
static bool is_open(const struct small *small, uint32_t a, uint32_t b)
{
    if (small->rank_of[a] != small->rank_of[b])
        return false;
    uint32_t pass = range_of(small, a), low = a < b ? a : b, high = a < b ? b : a;
    if (!pass || pass != range_of(small, b) || !small->talks[a] || !small->talks[b] ||
        small->cyclic[small->rank_of[a]][pass])
        return false;
    for (uint32_t op = low; op <= high; op++)
        if (parts(small, op, pass))
            return false;
    return true;
}

static void find_rule(struct small *small)
{
    for (uint32_t a = 0; a < small->op_count; a++)
        for (uint32_t b = 0; b < small->op_count; b++) {
            bool open = small->graph[a][b] = is_open(small, a, b);
            small->before[a][b] = open && small->node_of[a] != small->node_of[b]
                                      ? small->reaches[small->node_of[a]][small->node_of[b]]
                                      : a < b && small->rank_of[a] == small->rank_of[b];
        }
}

/* The first operation of the first pass that is taken as it was recorded. */
static uint32_t bounded_at(const struct small *small)
{
    for (uint32_t op = 0; op < small->op_count; op++) {
        uint32_t pass = range_of(small, op);
        if (pass && small->cyclic[small->rank_of[op]][pass] &&
            has_nodes(small, small->rank_of[op], pass))
            return op;
    }
    return TRACE_NO;
}

static void small_init(struct small *small, unsigned long long seed)
{
    *small = (struct small){.dice = seed, .program = program_new(RANKS)};
    for (uint32_t rank = 0; rank < RANKS; rank++)
        add_rank(small, rank);
    program_finish(&small->program);
    check_options_init(&small->options);
    check_context_init(&small->context, small->program.trace, &small->options);
    find_rule(small);
    check_partial_order_init_with(&small->reach, &small->context, small->more, small->more_count);
}

static void small_release(struct small *small)
{
    check_partial_order_release(&small->reach);
    check_context_release(&small->context);
    trace_free(small->program.trace);
}

/* ---- what is asked ---- */

static uint32_t count_differences(const struct small *small)
{
    uint32_t wrong = 0;
    for (uint32_t a = 0; a < small->op_count; a++)
        for (uint32_t b = 0; b < small->op_count; b++) {
            if (small->rank_of[a] != small->rank_of[b])
                continue;
            wrong += check_partial_order_before(&small->reach, a, b) != small->before[a][b];
            wrong += check_partial_order_possible(&small->reach, a, b) !=
                     (a != b && !small->before[b][a]);
        }
    return wrong;
}

/* An item's operations are those of one node, as issued; the first one's item is the first. */
static uint32_t count_misplaced(const struct small *small)
{
    const struct check_partial_order *reach = &small->reach;
    uint32_t wrong = 0, told = 0, expected = 0;
    for (size_t s = 0; s < reach->segment_count; s++) {
        const struct reach_segment *segment = &reach->segments[s];
        uint32_t last = 0;
        for (uint32_t i = 0; i < segment->item_count; i++) {
            uint32_t begin = segment->item_begin[i], end = segment->item_begin[i + 1];
            wrong += begin == end || (i && segment->item_ops[begin] < last);
            last = segment->item_ops[begin];
            for (uint32_t k = begin; k < end; k++, told++) {
                uint32_t op = segment->item_ops[k];
                wrong += small->node_of[op] != small->node_of[last] || reach->item_of[op] != i ||
                         (k > begin && segment->item_ops[k - 1] >= op);
            }
        }
    }
    for (uint32_t op = 0; op < small->op_count; op++) {
        expected += small->graph[op][op];
        wrong += (reach->item_of[op] == TRACE_NO) != !small->graph[op][op];
    }
    return wrong + (told != expected);
}

/* Where the operations of a legal order stand, and that x comes before y. */
static uint32_t count_broken(const struct small *small, const uint32_t *at)
{
    uint32_t wrong = 0;
    for (uint32_t a = 0; a < small->op_count; a++)
        for (uint32_t b = 0; b < small->op_count && at[a] != TRACE_NO; b++)
            wrong += small->talks[a] && small->talks[b] && small->before[a][b] && at[a] > at[b];
    return wrong;
}

/* What does not move: what is not in y's segment, or comes before all of y's node. */
static bool stays(const struct small *small, uint32_t op, uint32_t x, uint32_t y)
{
    uint32_t first = y;
    for (uint32_t other = 0; other < small->op_count; other++)
        if (other < first && small->graph[other][y] && small->node_of[other] == small->node_of[y])
            first = other;
    return x < y || !small->graph[op][y] || op < first;
}

/* Of each pair that can go so: an order in which x comes before y. */
static uint32_t count_illegal(const struct small *small)
{
    uint32_t wrong = 0, order[OPS_MAX], at[OPS_MAX];
    for (uint32_t x = 0; x < small->op_count; x++)
        for (uint32_t y = 0; y < small->op_count; y++) {
            if (x == y || small->rank_of[x] != small->rank_of[y] || !small->talks[x] ||
                !small->talks[y] || small->before[y][x])
                continue;
            memset(at, 0xff, sizeof at);
            for (uint32_t op = 0; op < small->op_count; op++)
                order[op] = op;
            check_partial_order_linearize(&small->reach, x, y, order);
            for (uint32_t i = 0; i < small->op_count; i++)
                at[order[i]] = i;
            for (uint32_t op = 0; op < small->op_count; op++)
                wrong += at[op] == TRACE_NO ||
                         (small->talks[op] && at[op] != op && stays(small, op, x, y));
            wrong += count_broken(small, at) + (at[x] > at[y]);
        }
    return wrong;
}

int main(void)
{
    struct dice_seeds seeds = dice_seeds(100);
    uint32_t differences = 0, misplaced = 0, illegal = 0, bounded = 0, open = 0;
    static struct small small;
    for (unsigned long long seed = seeds.first; seed < seeds.first + seeds.count; seed++) {
        small_init(&small, seed);
        uint32_t wrong = count_differences(&small), at = bounded_at(&small);
        differences += wrong;
        misplaced += count_misplaced(&small);
        illegal += count_illegal(&small);
        bounded += small.reach.bounded != (at != TRACE_NO) ||
                   (small.reach.bounded && small.reach.bounded_at != at);
        for (uint32_t op = 1; op < small.op_count; op++)
            open += small.graph[op - 1][op] && !small.before[op - 1][op];
        if (wrong)
            tap_note("seed %llu: %u differences", seed, wrong);
        small_release(&small);
    }
    tap_ok(open > seeds.count / 4, "%u neighbours of %llu programs may change places", open,
           seeds.count);
    tap_is_int(differences, 0, "what comes before what is what the edges say");
    tap_is_int(misplaced, 0, "each item has the operations of one node, as issued");
    tap_is_int(illegal, 0, "whichever of two can come first does in an order that keeps the rule");
    tap_is_int(bounded, 0, "a pass with a cycle is taken as it was recorded, and that is told");
    return tap_done();
}
