/* Finishing a trace: rows are moved and numbers change, and everything still refers to what it
 * referred to. Random traces in any order of ranks; an operation is known by its count, a node by
 * the step at which it began. */
#include "tests/dice.h"
#include "tests/tap.h"
#include "traces/trace/memory.h"
#include "traces/trace/trace.h"

#include <stdlib.h>
#include <string.h>

enum { TRACES = 4000, RANKS = 3, ROWS_MAX = 12 };

struct built {
    struct trace *trace;
    uint32_t ops, nodes, rows;
    uint32_t op_rank[ROWS_MAX], op_node[ROWS_MAX], op_pass[ROWS_MAX], adjoint_of[ROWS_MAX];
    uint32_t node_rank[ROWS_MAX], forward[ROWS_MAX];
    uint32_t count_op[ROWS_MAX], note_op[ROWS_MAX], note_node[ROWS_MAX];
    uint32_t from[ROWS_MAX], to[ROWS_MAX], type[ROWS_MAX];
    uint32_t wait[ROWS_MAX], start[ROWS_MAX], completed[ROWS_MAX], fold_op[ROWS_MAX];
    struct trace_times times[ROWS_MAX];
};

static uint32_t some(uint64_t *dice, uint32_t count)
{
    return count && dice_below(dice, 3) ? dice_below(dice, count) : TRACE_NO;
}

static void build_nodes(struct built *b, uint64_t *dice)
{
    b->nodes = dice_below(dice, ROWS_MAX);
    for (uint32_t i = 0; i < b->nodes; i++) {
        b->node_rank[i] = dice_below(dice, RANKS);
        b->forward[i] = some(dice, i);
        struct trace_node node = {.rank = b->node_rank[i],
                                  .id = i + 1,
                                  .forward = b->forward[i],
                                  .site = TRACE_NO,
                                  .name = trace_add_string(b->trace, "n"),
                                  .begin = i};
        trace_add_node(b->trace, &node);
    }
}

static void build_ops(struct built *b, uint64_t *dice)
{
    b->ops = dice_below(dice, ROWS_MAX);
    for (uint32_t i = 0; i < b->ops; i++) {
        struct trace_plain_op op = trace_op_none(dice_below(dice, RANKS), OP_COMPUTE);
        b->op_rank[i] = op.rank;
        b->op_pass[i] = op.pass = dice_below(dice, 3);
        b->op_node[i] = op.node = some(dice, b->nodes);
        b->adjoint_of[i] = op.adjoint_of = some(dice, i);
        op.count = i;
        trace_add_op(b->trace, &op);
        if (dice_below(dice, 3) == 0)
            b->times[i] = (struct trace_times){.begin_ns = 10 + i, .end_ns = 30 + i};
        trace_set_times(b->trace, i, b->times[i].begin_ns, b->times[i].end_ns);
    }
}

static void build_rows(struct built *b, uint64_t *dice)
{
    char text[] = "t";
    b->rows = dice_below(dice, ROWS_MAX);
    for (uint32_t i = 0; i < b->rows; i++) {
        int64_t counts[2] = {i, 7};
        b->count_op[i] = b->ops ? dice_below(dice, b->ops) : TRACE_NO;
        if (b->ops)
            trace_add_counts(b->trace, b->count_op[i], 2, counts, NULL);
        b->note_op[i] = some(dice, b->ops);
        b->note_node[i] = some(dice, b->nodes);
        struct trace_note note = {.code = "N001",
                                  .op = b->note_op[i],
                                  .node = b->note_node[i],
                                  .site = TRACE_NO,
                                  .text = text};
        trace_add_note(b->trace, &note);
        b->from[i] = b->to[i] = TRACE_NO;
        if (!b->nodes)
            continue;
        b->from[i] = dice_below(dice, b->nodes);
        b->to[i] = dice_below(dice, b->nodes);
        b->type[i] = dice_below(dice, 2);
        trace_add_edge(b->trace, b->from[i], b->to[i], (enum edge_type)b->type[i]);
    }
}

static void build_waits(struct built *b, uint64_t *dice)
{
    for (uint32_t i = 0; i < b->rows && b->ops; i++) {
        b->wait[i] = dice_below(dice, b->ops);
        b->start[i] = dice_below(dice, b->ops);
        b->completed[i] = dice_below(dice, 2);
        trace_add_wait(b->trace, b->wait[i], b->start[i], b->completed[i]);
        b->fold_op[i] = dice_below(dice, b->ops);
        trace_add_fold(b->trace, &(struct trace_fold){.op = b->fold_op[i], .times = i});
    }
}

static bool is_op(const struct trace *trace, uint32_t index, uint32_t known)
{
    return known == TRACE_NO ? index == TRACE_NO
                             : index < trace->op_count && trace->ops[index].count == known;
}

static bool is_node(const struct trace *trace, uint32_t index, uint32_t known)
{
    return known == TRACE_NO ? index == TRACE_NO
                             : index < trace->node_count && trace->nodes[index].begin == known;
}

static bool ops_are_right(const struct built *b)
{
    const struct trace *trace = b->trace;
    size_t at = 0;
    bool good = trace->op_count == b->ops;
    for (uint32_t rank = 0; rank < RANKS && good; rank++) {
        uint32_t seq = 0;
        good = trace->rank_begin[rank] == at;
        for (uint32_t i = 0; i < b->ops && good; i++) {
            if (b->op_rank[i] != rank)
                continue;
            const struct trace_op *op = &trace->ops[at++];
            good = op->count == i && op->rank == rank && trace_op_seq(trace, op) == seq++ &&
                   is_node(trace, op->node, b->op_node[i]) &&
                   is_op(trace, trace_op_adjoint_of(trace, op), b->adjoint_of[i]) &&
                   trace_op_times(trace, op).begin_ns == b->times[i].begin_ns &&
                   trace_op_times(trace, op).end_ns == b->times[i].end_ns;
        }
    }
    return good && trace->rank_begin[RANKS] == at;
}

static bool nodes_are_right(const struct built *b)
{
    const struct trace *trace = b->trace;
    size_t at = 0;
    bool good = trace->node_count == b->nodes;
    for (uint32_t rank = 0; rank < RANKS && good; rank++) {
        good = trace->node_begin[rank] == at;
        for (uint32_t i = 0; i < b->nodes && good; i++)
            if (b->node_rank[i] == rank) {
                const struct trace_node *node = &trace->nodes[at++];
                good = node->begin == i && is_node(trace, node->forward, b->forward[i]);
            }
    }
    return good && trace->node_begin[RANKS] == at;
}

/* Edges in order of their begin, end and type, each once. */
static bool edges_are_right(const struct built *b)
{
    const struct trace *trace = b->trace;
    size_t distinct = 0;
    for (uint32_t i = 0; i < b->rows && b->nodes; i++) {
        bool first = true, found = false;
        for (uint32_t k = 0; k < i; k++)
            first = first &&
                    (b->from[k] != b->from[i] || b->to[k] != b->to[i] || b->type[k] != b->type[i]);
        for (size_t k = 0; k < trace->edge_count; k++)
            found = found || (is_node(trace, trace->edges[k].from, b->from[i]) &&
                              is_node(trace, trace->edges[k].to, b->to[i]) &&
                              trace->edges[k].type == b->type[i]);
        distinct += first;
        if (!found)
            return false;
    }
    for (size_t k = 1; k < trace->edge_count; k++) {
        const struct trace_edge *one = &trace->edges[k - 1], *next = one + 1;
        if (one->from > next->from ||
            (one->from == next->from &&
             (one->to > next->to || (one->to == next->to && one->type >= next->type))))
            return false;
    }
    return trace->edge_count == distinct;
}

static bool rows_are_right(const struct built *b)
{
    const struct trace *trace = b->trace;
    bool good = trace->note_count == b->rows && trace->counts_count == (b->ops ? b->rows : 0);
    for (uint32_t i = 0; i < b->rows && good; i++)
        good = is_op(trace, trace->notes[i].op, b->note_op[i]) &&
               is_node(trace, trace->notes[i].node, b->note_node[i]);
    for (size_t i = 0; i < trace->counts_count && good; i++) {
        const struct trace_counts *row = &trace->counts[i];
        good = row->n == 2 && row->send[1] == 7 &&
               is_op(trace, row->op, b->count_op[row->send[0]]) &&
               (i == 0 || row[-1].op <= row->op);
    }
    return good;
}

/* Rows of one wait stand together, in the order in which they came; the first that completes a start is
 * what the start knows. */
static bool waits_are_right(const struct built *b)
{
    const struct trace *trace = b->trace;
    uint32_t request[ROWS_MAX];
    size_t at = 0;
    memset(request, 0xff, sizeof request);
    for (uint32_t op = 0; op < trace->op_count; op++)
        for (uint32_t i = 0; i < b->rows; i++) {
            if (!is_op(trace, op, b->wait[i]))
                continue;
            const struct trace_wait *row = &trace->waits[at++];
            if (at > trace->wait_count || row->wait != op || row->completed != b->completed[i] ||
                !is_op(trace, row->start, b->start[i]))
                return false;
            if (row->completed && request[b->start[i]] == TRACE_NO)
                request[b->start[i]] = op;
        }
    for (uint32_t op = 0; op < trace->op_count; op++)
        if (trace->ops[op].request != request[trace->ops[op].count])
            return false;
    for (size_t i = 0; i < trace->fold_count; i++)
        if (!is_op(trace, trace->folds[i].op, b->fold_op[trace->folds[i].times]))
            return false;
    return at == trace->wait_count && trace->fold_count == (b->ops ? b->rows : 0);
}

static bool rises(const uint32_t *keys, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++)
        if (keys[i - 1] > keys[i])
            return false;
    return true;
}

/* A table whose rows stand in order stays where it is. */
static bool finishes_in_place(const struct built *b, struct failure *failure, bool *finished)
{
    const struct trace *trace = b->trace;
    const void *ops = trace->ops, *nodes = trace->nodes, *waits = trace->waits;
    bool in_order = rises(b->op_rank, b->ops);
    *finished = trace_finish(b->trace, failure);
    return (trace->ops == ops || !in_order) &&
           (trace->nodes == nodes || !rises(b->node_rank, b->nodes)) &&
           (trace->waits == waits || !in_order || !rises(b->wait, b->ops ? b->rows : 0));
}

/* Each pass of a rank has one row, from its first operation to its last. */
static bool passes_are_right(const struct built *b)
{
    const struct trace *trace = b->trace;
    size_t expected = 0;
    for (uint32_t rank = 0; rank < RANKS; rank++)
        for (uint32_t pass = 1; pass < 3; pass++) {
            uint32_t first = TRACE_NO, end = TRACE_NO;
            for (uint32_t i = 0; i < trace->op_count; i++)
                if (trace->ops[i].rank == rank && trace->ops[i].form->pass == pass) {
                    first = first == TRACE_NO ? i : first;
                    end = i + 1;
                }
            if (first == TRACE_NO)
                continue;
            if (expected >= trace->pass_count)
                return false;
            const struct trace_pass *row = &trace->passes[expected++];
            if (row->rank != rank || row->pass != pass || row->first_op != first ||
                row->op_end != end || !row->complete)
                return false;
        }
    return trace->pass_count == expected;
}

static void random_traces(void)
{
    uint64_t dice = 3;
    int wrong[7] = {0}, unfinished = 0;
    for (int i = 0; i < TRACES; i++) {
        struct built b = {.trace = trace_new(RANKS)};
        struct failure failure = {0};
        build_nodes(&b, &dice);
        build_ops(&b, &dice);
        build_rows(&b, &dice);
        build_waits(&b, &dice);
        bool finished;
        wrong[6] += !finishes_in_place(&b, &failure, &finished);
        unfinished += !finished;
        wrong[0] += !ops_are_right(&b);
        wrong[1] += !nodes_are_right(&b);
        wrong[2] += !edges_are_right(&b);
        wrong[3] += !rows_are_right(&b);
        wrong[4] += !passes_are_right(&b);
        wrong[5] += !waits_are_right(&b);
        trace_free(b.trace);
    }
    tap_is_int(unfinished, 0, "%d random traces finish", TRACES);
    tap_is_int(wrong[0], 0, "operations stand by rank, in their order, and refer as before");
    tap_is_int(wrong[1], 0, "so do nodes");
    tap_is_int(wrong[2], 0, "edges join the same nodes, in one order, each once");
    tap_is_int(wrong[3], 0, "notes and counts belong to the same operations and nodes");
    tap_is_int(wrong[4], 0, "a pass reaches from its first operation to its last");
    tap_is_int(wrong[5], 0, "waits and loops are those of the same operations, in their order");
    tap_is_int(wrong[6], 0, "and nothing is moved that stands in order");
}

/* ---- requests ---- */

enum given { BY_ROW, BY_WAIT, BY_START, NOT_COMPLETED };

/* A start and what completes it, told to the trace from one side. */
static void link_from(enum op_kind kind, enum given given, bool other_rank_first)
{
    struct trace *trace = trace_new(2);
    struct failure failure = {0};
    uint32_t filler = 0;
    if (other_rank_first) {
        struct trace_plain_op op = trace_op_none(1, OP_COMPUTE);
        filler = trace_add_op(trace, &op) + 1;
    }
    struct trace_plain_op start = trace_op_none(0, OP_ISEND), wait = trace_op_none(0, kind);
    start.peer = wait.peer = TRACE_NONE;
    wait.state = given == NOT_COMPLETED ? STATE_POSTED : STATE_COMPLETE;
    if (given == BY_START)
        start.request = filler + 1;
    if (given == BY_WAIT || given == NOT_COMPLETED)
        wait.request = filler;
    uint32_t one = trace_add_op(trace, &start), other = trace_add_op(trace, &wait);
    if (given == BY_ROW)
        trace_add_wait(trace, other, one, true);
    bool single = kind == OP_WAIT || kind == OP_TEST;
    bool done = trace_finish(trace, &failure);
    bool forth = trace->ops[0].request == 1, back = trace->ops[1].request == 0;
    tap_ok(done && forth == (given != NOT_COMPLETED) && (back == single),
           "%s: start and wait know each other, %s", op_kind_name((int)kind),
           given == BY_ROW     ? "by a row of waits"
           : given == BY_WAIT  ? "by the wait"
           : given == BY_START ? "by the start"
                               : "but where the wait did not complete it the start has none");
    trace_free(trace);
}

/* ---- adjoints ---- */

enum { MIRRORED = 3000, NODES = 5, SENDS = 0, RECEIVES = 1, COLLECTIVES = 2, NO_SORT = 3 };

static const struct {
    enum op_kind kind;
    int sort, mirror;
} mirror_kinds[] = {{OP_SEND, SENDS, RECEIVES},
                    {OP_ISEND, SENDS, RECEIVES},
                    {OP_IRECV, RECEIVES, SENDS},
                    {OP_RECV, RECEIVES, SENDS},
                    {OP_ALLREDUCE, COLLECTIVES, COLLECTIVES},
                    {OP_WAIT, NO_SORT, NO_SORT},
                    {OP_COMPUTE, NO_SORT, NO_SORT}};
enum { MIRROR_KINDS = sizeof mirror_kinds / sizeof *mirror_kinds, WAITS = 5 };

struct mirror {
    uint32_t ops, nodes;
    uint32_t kind[ROWS_MAX], node[ROWS_MAX], request[ROWS_MAX], given[ROWS_MAX];
    uint32_t forward[NODES];
};

/* What operation `op` mirrors: of its sort the how many-th of its node it is, so many-th of the forward
 * node's, where a wait stands for what it waits for. */
static uint32_t mirrored(const struct mirror *m, uint32_t op)
{
    int sort = mirror_kinds[m->kind[op]].sort, before = 0;
    if (m->given[op] != TRACE_NO || sort == NO_SORT || m->node[op] >= m->nodes ||
        m->forward[m->node[op]] >= m->nodes)
        return m->given[op];
    for (uint32_t i = 0; i < op; i++)
        before += m->node[i] == m->node[op] && m->given[i] == TRACE_NO &&
                  mirror_kinds[m->kind[i]].sort == sort;
    for (uint32_t i = 0; i < m->ops; i++) {
        uint32_t meant = m->kind[i] == WAITS && m->request[i] < m->ops ? m->request[i] : i;
        if (m->node[i] == m->forward[m->node[op]] &&
            mirror_kinds[m->kind[meant]].sort == mirror_kinds[m->kind[op]].mirror && before-- == 0)
            return meant;
    }
    return TRACE_NO;
}

static struct trace *mirror_draw(struct mirror *m, uint64_t *dice)
{
    struct trace *trace = trace_new(1);
    m->nodes = dice_below(dice, NODES + 1);
    m->ops = dice_below(dice, ROWS_MAX + 1);
    for (uint32_t i = 0; i < m->nodes; i++) {
        m->forward[i] = some(dice, m->nodes);
        trace_add_node(
            trace, &(struct trace_node){
                       .id = i + 1, .forward = m->forward[i], .site = TRACE_NO, .name = TRACE_NO});
    }
    for (uint32_t i = 0; i < m->ops; i++) {
        m->kind[i] = dice_below(dice, MIRROR_KINDS);
        struct trace_plain_op op = trace_op_none(0, mirror_kinds[m->kind[i]].kind);
        op.node = m->node[i] = some(dice, m->nodes);
        op.request = m->request[i] = m->kind[i] == WAITS ? some(dice, m->ops) : TRACE_NO;
        op.adjoint_of = m->given[i] = dice_below(dice, 6) ? TRACE_NO : dice_below(dice, m->ops);
        trace_add_op(trace, &op);
    }
    return trace;
}

static void adjoints_are_mirrored(void)
{
    uint64_t dice = 5;
    int wrong = 0, found = 0;
    for (int i = 0; i < MIRRORED; i++) {
        struct mirror m;
        struct failure failure = {0};
        struct trace *trace = mirror_draw(&m, &dice);
        wrong += !trace_link_adjoints(trace, &failure);
        for (uint32_t op = 0; op < m.ops; op++) {
            uint32_t wanted = mirrored(&m, op);
            wrong += trace_op_adjoint_of(trace, &trace->ops[op]) != wanted;
            found += wanted != m.given[op];
        }
        trace_free(trace);
    }
    tap_is_int(wrong, 0, "an operation of a backward node mirrors one of the forward node");
    tap_ok(found > MIRRORED / 4, "which %d do", found);
}

/* Nothing is added to a trace that has as many operations as can be told apart; it is not finished then. */
static void full_trace(void)
{
    struct trace *trace = trace_new(1);
    struct failure failure = {0};
    struct trace_plain_op op = trace_op_none(0, OP_COMPUTE);
    tap_ok(op.peer == TRACE_NONE && op.tag == TRACE_NONE && op.peer_matched == TRACE_NONE &&
               op.tag_matched == TRACE_NONE && op.count_matched == -1 && op.comm == TRACE_NO &&
               op.request == TRACE_NO && op.node == TRACE_NO && op.adjoint_of == TRACE_NO &&
               op.match == TRACE_NO && op.site == TRACE_NO && op.state == STATE_COMPLETE,
           "an operation of which nothing is known has nothing");
    trace_add_op(trace, &op);
    trace->op_count = TRACE_OPS_MAX;
    tap_ok(trace_add_op(trace, &op) == TRACE_NO && trace->op_count == TRACE_OPS_MAX,
           "a full trace takes no operation");
    trace->op_count = 1;
    tap_ok(!trace_finish(trace, &failure) && failure.code == FAILURE_INTERNAL,
           "and says so in the end: %s", failure.text);
    trace_free(trace);
}

int main(void)
{
    random_traces();
    full_trace();
    adjoints_are_mirrored();
    for (int first = 0; first < 2; first++) {
        link_from(OP_WAITALL, BY_ROW, first);
        for (int given = BY_ROW; given <= NOT_COMPLETED; given++) {
            link_from(OP_WAIT, (enum given)given, first);
            link_from(OP_TEST, (enum given)given, first);
        }
    }
    return tap_done();
}
