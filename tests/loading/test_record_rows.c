/* What a record becomes: records written by hand, each number at its borders, are loaded, and the rows are what recorder/record.h says of
 * them. What a damaged file may say leaves no row. */
#include "tests/dice.h"
#include "tests/loading/written_records.h"

#include <limits.h>
#include <math.h>
#include <unistd.h>

/* ---- operations ---- */

static uint64_t dice = 20261129;

static uint32_t number32(void)
{
    static const uint32_t borders[] = {0, 1, 2, 255, 256, 65535, 65536, INT32_MAX, UINT32_MAX};
    uint32_t i = dice_below(&dice, 16);
    return i < sizeof borders / sizeof *borders ? borders[i] : (uint32_t)dice_next(&dice);
}

static int64_t number64(void)
{
    static const int64_t borders[] = {0, 1, INT32_MAX, UINT32_MAX, INT64_MAX, INT64_MIN};
    uint32_t i = dice_below(&dice, 12);
    return i < sizeof borders / sizeof *borders ? borders[i] : (int64_t)dice_next(&dice);
}

/* Of collectives: nobody's partner. */
static struct record_op some_op(uint32_t ranks, uint32_t ops)
{
    struct record_op op = plain();
    op.state = (uint8_t)dice_below(&dice, 6);
    op.thread = (uint8_t)number32();
    op.flags = (uint16_t)(number32() & (uint32_t)~OP_ADJOINT);
    op.peer = (int32_t)dice_below(&dice, ranks);
    op.peer_matched = (int32_t)dice_below(&dice, ranks);
    op.tag = (int32_t)number32();
    op.tag_matched = (int32_t)dice_below(&dice, 1 << 30);
    op.count = number64();
    op.count_matched = number64() & INT64_MAX;
    op.request = dice_below(&dice, 2) ? UINT32_MAX : dice_below(&dice, ops);
    op.comm_seq = number32();
    op.begin = (uint64_t)number64();
    op.end = dice_below(&dice, 3) ? (uint64_t)number64() : 0;
    op.pass = dice_below(&dice, 3);
    op.node = dice_below(&dice, 4);
    op.comm = dice_below(&dice, 4);
    op.error = (int32_t)dice_below(&dice, 3);
    op.type = number32();
    op.signature = number32();
    op.reduce_op = number32();
    op.batch = number32();
    op.identity = number32();
    op.buffer = (uint64_t)number64();
    op.extent = (uint64_t)number64();
    return op;
}

static bool same_op(uint32_t index, uint32_t rank, const struct record_op *record, int kind,
                    uint32_t first_op, uint32_t first_node, const uint32_t *comms)
{
    struct trace_plain_op op = trace_op_plain(trace, index);
    struct trace_place at = trace_op_place(trace, &trace->ops[index]);
    uint32_t request = record->request == UINT32_MAX ? TRACE_NO : first_op + record->request;
    uint32_t node = record->node ? first_node + record->node - 1 : TRACE_NO;
    return op.rank == rank && op.kind == kind && op.state == record->state &&
           op.flags == (record->flags & 0x3fff) && op.pass == record->pass && op.node == node &&
           op.comm == comms[record->comm] && op.comm_seq == record->comm_seq &&
           op.peer == record->peer && op.tag == record->tag &&
           op.peer_matched == record->peer_matched && op.tag_matched == record->tag_matched &&
           op.count == record->count && op.count_matched == record->count_matched &&
           op.type == record->type && op.signature == record->signature &&
           op.reduce_op == record->reduce_op && op.request == request &&
           op.batch == record->batch && op.identity == record->identity &&
           op.thread == record->thread && op.error == record->error && op.begin == record->begin &&
           op.end == record->end && at.buffer == record->buffer && at.extent == record->extent;
}

static void operations(void)
{
    enum { RANKS = 3, OPS = 120 };
    static const int kinds[] = {OP_BARRIER,   OP_BCAST, OP_REDUCE,
                                OP_ALLTOALLW, OP_SCAN,  OP_FINALIZE};
    static struct record_op_timed records[RANKS][OPS];
    static int kind_of[RANKS][OPS];
    int wrong = 0, times = 0;
    begin(RANKS);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        /* number 2 of each rank is the same one, 3 is its own */
        comm(rank, RECORD_COMM_WORLD, (struct record_comm){.number = 1, .size = RANKS, .id = 77},
             "");
        comm(rank, RECORD_COMM_RANGE,
             (struct record_comm){
                 .number = 2, .parent = 1, .size = 3, .start = 2, .stride = -1, .id = 1001},
             "all");
        comm(rank, RECORD_COMM_SELF | RECORD_COMM_RANGE,
             (struct record_comm){
                 .number = 3, .size = 1, .start = (int32_t)rank, .id = 5001 + 2 * rank},
             "");
        for (uint32_t i = 0; i < 3; i++)
            put(rank, RECORD_NODE, STATE_COMPLETE, ((struct record_node){.id = i + 1}));
        for (uint32_t i = 0; i < OPS; i++) {
            struct record_op_timed *timed = &records[rank][i];
            timed->op = some_op(RANKS, OPS);
            timed->begin_ns = (uint64_t)number64();
            timed->end_ns = (uint64_t)number64();
            kind_of[rank][i] = kinds[dice_below(&dice, 6)];
            if (dice_below(&dice, 2)) {
                put(rank, RECORD_OP, kind_of[rank][i], *timed);
            } else {
                timed->begin_ns = timed->end_ns = 0;
                put(rank, RECORD_OP, kind_of[rank][i], timed->op);
            }
        }
    }
    if (tap_ok(load() && trace->op_count == (size_t)RANKS * OPS, "each record is an operation"))
        for (uint32_t rank = 0; rank < RANKS; rank++)
            for (uint32_t i = 0; i < OPS; i++) {
                const uint32_t comms[] = {TRACE_NO, 0, 1, 2 + rank};
                const struct record_op_timed *timed = &records[rank][i];
                uint32_t index = rank * OPS + i;
                struct trace_times at = trace_op_times(trace, &trace->ops[index]);
                wrong += !same_op(index, rank, &timed->op, kind_of[rank][i], rank * OPS, rank * 3,
                                  comms);
                times += at.begin_ns != timed->begin_ns || at.end_ns != timed->end_ns;
            }
    tap_is_int(wrong, 0, "whatever its numbers are, they are those of the record");
    tap_is_int(times, 0, "wall times are there where the record has them");
    end();
}

/* A peer that is no rank makes its call fail, as MPI_ERR_RANK; what has failed already, has. */
static void peers(void)
{
    static const struct {
        int32_t peer, error;
        enum op_state state;
        bool refused;
    } cases[] = {
        {0, 0, STATE_COMPLETE, false},       {1, 0, STATE_COMPLETE, false},
        {2, 0, STATE_COMPLETE, true},        {INT32_MAX, 0, STATE_BLOCKED, true},
        {TRACE_ANY, 0, STATE_POSTED, false}, {-2, 0, STATE_POSTED, true},
        {TRACE_NONE, 0, STATE_NEVER, false}, {-4, 0, STATE_COMPLETE, true},
        {INT32_MIN, 0, STATE_BLOCKED, true}, {2, 5, STATE_COMPLETE, false},
        {2, 0, STATE_FAILED, false},         {2, 5, STATE_FAILED, false},
    };
    enum { CASES = sizeof cases / sizeof *cases, ERR_RANK = 6 };
    size_t notes = 0;
    begin(2);
    for (int i = 0; i < CASES; i++) {
        struct record_op op = plain();
        op.peer = cases[i].peer;
        op.error = cases[i].error;
        op.state = (uint8_t)cases[i].state;
        op.node = 1;
        put(1, RECORD_OP, OP_BCAST, op);
    }
    put(1, RECORD_NODE, 0, ((struct record_node){.id = 1}));
    load();
    for (uint32_t i = 0; trace && i < CASES; i++) {
        bool refused = cases[i].refused;
        char text[120];
        const struct trace_op *op = &trace->ops[i];
        const struct trace_note *note = notes < trace->note_count ? &trace->notes[notes] : NULL;
        snprintf(text, sizeof text,
                 "MPI_Bcast: MPI_ERR_RANK: %d is not a rank of this communicator", cases[i].peer);
        bool told = note && note->op == i && note->rank == 1 && note->node == 0 &&
                    !strcmp(note->code, "M009") && !strcmp(note->text, text);
        tap_ok(op->form->error == (refused ? ERR_RANK : cases[i].error) &&
                   op->state == (refused ? STATE_FAILED : cases[i].state) && told == refused,
               "peer %d, error %d, state %d: %s", cases[i].peer, cases[i].error, cases[i].state,
               refused ? "is refused" : "stays");
        notes += refused;
    }
    tap_is_int(trace->note_count, notes, "and no others are noted");
    end();
}

/* ---- communicators ---- */

static bool has_members(uint32_t index, const int32_t *members)
{
    const struct trace_comm *row = &trace->comms[index];
    return row->members && !memcmp(row->members, members, row->size * sizeof *members);
}

static void members(uint32_t rank, uint32_t number, uint32_t first, uint32_t n, size_t there,
                    const int32_t *list)
{
    struct record_members record = {.number = number, .first = first, .n = n};
    put_more(rank, RECORD_MEMBERS, 0, &record, sizeof record, list, there * sizeof *list);
}

static void communicators(void)
{
    static const int32_t list[] = {3, 1, 0, 2, 9, 9, 9, 9};
    char longest[80], cut[64];
    memset(longest, 'n', sizeof longest);
    longest[70] = 0;
    memcpy(cut, longest, 63);
    cut[63] = 0;
    begin(4);
    for (uint32_t rank = 0; rank < 2; rank++) {
        comm(rank, RECORD_COMM_WORLD, (struct record_comm){.number = 1, .size = 4, .id = 11}, "W");
        comm(rank, 0, (struct record_comm){.number = 2, .size = 4, .id = 21}, rank ? "" : "first");
        comm(
            rank, RECORD_COMM_RANGE,
            (struct record_comm){
                .number = 3, .parent = rank ? 2 : 0, .size = 3, .start = 3, .stride = -1, .id = 31},
            rank ? longest : "earlier");
        comm(rank, RECORD_COMM_SELF | RECORD_COMM_RANGE,
             (struct record_comm){
                 .number = 4, .size = 1, .start = (int32_t)rank, .id = 41 + 2 * rank},
             "no name of it");
    }
    members(0, 2, 0, 2, 2, list);
    members(0, 2, 2, 2, 2, list + 2);
    /* none of these says anything */
    members(0, 2, 3, 2, 2, list + 4); /* one too many */
    members(0, 2, 5, 0, 2, list + 4); /* begins behind the end */
    members(0, 2, UINT32_MAX, 2, 2, list + 4);
    members(0, 2, 0, 4, 2, list + 4); /* more than are there */
    members(0, 1, 0, 2, 2, list + 4); /* of the world */
    members(0, 9, 0, 2, 2, list + 4); /* of none */
    members(3, 2, 0, 2, 2, list + 4); /* of none of that rank */
    comm(1, RECORD_COMM_ADJOINT, (struct record_comm){.number = 3, .adjoint_of = 2}, "");
    comm(1, RECORD_COMM_ADJOINT, (struct record_comm){.number = 9, .adjoint_of = 2}, "");
    comm(0, RECORD_COMM_ADJOINT, (struct record_comm){.number = 2, .adjoint_of = 9}, "");
    /* of another size than the first said; as many as two worlds, and one more */
    comm(2, RECORD_COMM_RANGE, (struct record_comm){.number = 1, .size = 2, .id = 21}, "");
    comm(2, RECORD_COMM_RANGE, (struct record_comm){.number = 2, .size = 8, .id = 51}, "");
    comm(2, RECORD_COMM_RANGE, (struct record_comm){.number = 3, .size = 9, .id = 61}, "");
    comm(2, RECORD_COMM_RANGE,
         (struct record_comm){
             .number = 4, .parent = 2, .size = 2, .start = 1, .stride = 2, .id = 71},
         "");
    comm(3, RECORD_COMM_RANGE, /* its parent and members were told; an even number is the same */
         (struct record_comm){
             .number = 4, .parent = 3, .size = 2, .start = 0, .stride = 1, .id = 70},
         "late");
    comm(3, RECORD_COMM_RANGE, (struct record_comm){.number = 3, .size = 3, .id = 81}, "");
    /* nobody lists its members, and whose range is of another size does not know them */
    comm(2, 0, (struct record_comm){.number = 5, .size = 3, .id = 91}, "");
    comm(3, RECORD_COMM_RANGE,
         (struct record_comm){.number = 5, .size = 2, .start = 1, .stride = 1, .id = 91}, "");
    if (!tap_ok(load() && trace->comm_count == 10, "equal identities are one communicator"))
        return;
    const struct trace_comm *rows = trace->comms;
    tap_ok(!strcmp(rows[0].name, "world") && has_members(0, (int32_t[]){0, 1, 2, 3}) &&
               rows[0].parent == TRACE_NO,
           "the world is known");
    tap_ok(has_members(1, list) && !strcmp(rows[1].name, "first") && rows[1].parent == TRACE_NO &&
               rows[1].size == 4 && rows[1].id == 2,
           "members come in parts, those of no communicator are left out");
    tap_ok(has_members(2, (int32_t[]){3, 2, 1}) && !strcmp(rows[2].name, cut) &&
               rows[2].parent == 1 && rows[2].id == 3,
           "a range, what one rank says of the parent and another of the name");
    tap_ok(rows[2].adjoint_of == 1 && rows[1].adjoint_of == TRACE_NO,
           "adjoint to another, or to none that is known");
    tap_ok(!strcmp(rows[3].name, "self") && has_members(3, (int32_t[]){0}) &&
               !strcmp(rows[4].name, "self") && has_members(4, (int32_t[]){1}),
           "each rank has its own self");
    tap_ok(rows[5].size == 8 && rows[5].members && rows[6].size == 9 && !rows[6].members,
           "no more members than two worlds have");
    tap_ok(has_members(7, (int32_t[]){1, 3}) && rows[7].parent == 5 &&
               !strcmp(rows[7].name, "late"),
           "the first to tell the parent and the members is right");
    tap_ok(rows[8].size == 3 && !rows[8].members, "a range of another size is not believed");
    end();
}

/* Numbers of communicators and texts, in any order and with gaps. */
static void numbers(void)
{
    enum { NUMBERS = 200, LARGEST = (1 << 24) - 1 };
    uint32_t order[NUMBERS];
    int wrong = 0;
    for (int reversed = 0; reversed < 3; reversed++) {
        begin(1);
        for (uint32_t i = 0; i < NUMBERS; i++)
            order[i] = reversed == 1 ? NUMBERS - i : i + 1;
        for (uint32_t i = NUMBERS - 1; reversed == 2 && i > 0; i--) {
            uint32_t k = dice_below(&dice, i + 1), kept = order[i];
            order[i] = order[k];
            order[k] = kept;
        }
        bool known[2 * NUMBERS + 40] = {false};
        uint32_t asked = 0, answers[NUMBERS * 4];
        bool due[NUMBERS * 4];
        for (uint32_t i = 0; i < NUMBERS; i++) {
            char text[16];
            if (order[i] % 7 != 3) { /* some are never told */
                snprintf(text, sizeof text, "t%u", order[i]);
                string(0, order[i], text);
                known[order[i]] = true;
            }
            const uint32_t ask[] = {order[i], dice_below(&dice, 2 * NUMBERS), order[i] + 1};
            for (int k = 0; k < 3; k++) {
                answers[asked] = ask[k];
                due[asked++] = known[ask[k]];
                put(0, RECORD_METRIC, 0, ((struct record_metric){.name = ask[k]}));
            }
        }
        wrong += !load() || trace->metric_count != asked;
        for (uint32_t i = 0; trace && i < asked; i++) {
            char text[16] = "";
            if (due[i])
                snprintf(text, sizeof text, "t%u", answers[i]);
            wrong += strcmp(text_of(trace->metrics[i].name), text) != 0;
        }
        end();
    }
    tap_is_int(wrong, 0, "a number names what was told of it before, whatever the order");
    begin(2);
    for (uint32_t i = 0; i < 2; i++) {
        string(0, LARGEST + i, i ? "too large" : "largest");
        put(0, RECORD_METRIC, 0, ((struct record_metric){.name = LARGEST + i}));
    }
    put(1, RECORD_METRIC, 0, ((struct record_metric){.name = LARGEST}));
    string(1, 5, "of the second");
    put(1, RECORD_METRIC, 0, ((struct record_metric){.name = 5}));
    put(1, RECORD_METRIC, 0, ((struct record_metric){.name = 4}));
    tap_ok(load() && trace->metric_count == 5 &&
               !strcmp(text_of(trace->metrics[0].name), "largest") &&
               !text_of(trace->metrics[1].name)[0],
           "there is a largest number");
    tap_ok(trace && !text_of(trace->metrics[2].name)[0] && !text_of(trace->metrics[4].name)[0] &&
               !strcmp(text_of(trace->metrics[3].name), "of the second"),
           "each rank has its own");
    end();
}

/* ---- waits and counts ---- */

static void waits(void)
{
    static const uint32_t starts[] = {0, 1u << 31 | 1, 2, 1u << 31 | 3};
    begin(2);
    for (uint32_t rank = 0; rank < 2; rank++) {
        for (int i = 0; i < 4; i++)
            put(rank, RECORD_OP, OP_ALLREDUCE, plain());
        put(rank, RECORD_OP, OP_WAITALL, plain());
        struct record_waits record = {.op = 4, .n = 4};
        put_more(rank, RECORD_WAITS, 0, &record, sizeof record, starts, sizeof starts);
        record.n = 5; /* more than are there: without meaning */
        put_more(rank, RECORD_WAITS, 0, &record, sizeof record, starts, sizeof starts);
        record.n = UINT32_MAX;
        put_more(rank, RECORD_WAITS, 0, &record, sizeof record, starts, sizeof starts);
    }
    int wrong = 0;
    if (tap_ok(load() && trace->wait_count == 8, "each start that is waited for is a row"))
        for (uint32_t i = 0; i < 8; i++) {
            uint32_t rank = i / 4, start = i % 4;
            const struct trace_wait *row = &trace->waits[i];
            wrong += row->wait != rank * 5 + 4 || row->start != rank * 5 + start ||
                     row->completed != start % 2 ||
                     trace->ops[row->start].request != (start % 2 ? row->wait : TRACE_NO);
        }
    tap_is_int(wrong, 0, "with whether that wait completed it");
    end();
}

static void counts_of(uint32_t rank, uint32_t op, int receive, uint32_t total, uint32_t first,
                      uint32_t n, int64_t value)
{
    static int64_t values[5000];
    struct record_counts record = {.op = op, .total = total, .first = first};
    for (uint32_t i = 0; i < n; i++)
        values[i] = value + i;
    put_more(rank, RECORD_COUNTS, receive, &record, sizeof record, values, n * sizeof *values);
}

static bool has_counts(uint32_t row, uint32_t op, uint32_t n, int64_t send, int64_t receive)
{
    const struct trace_counts *counts = &trace->counts[row];
    if (row >= trace->counts_count || counts->op != op || counts->n != n ||
        !counts->send != (send < 0) || !counts->receive != (receive < 0))
        return false;
    for (uint32_t i = 0; i < n; i++)
        if ((counts->send && counts->send[i] != send + i) ||
            (counts->receive && counts->receive[i] != receive + i))
            return false;
    return true;
}

static void counts(void)
{
    enum { MOST = 4096 };
    begin(2);
    put(0, RECORD_OP, OP_BARRIER, plain());
    for (int i = 0; i < 4; i++)
        put(1, RECORD_OP, OP_ALLTOALLV, plain());
    counts_of(1, 0, 0, 6, 0, 4, 100);
    counts_of(1, 0, 0, 6, 4, 2, 104);
    counts_of(1, 0, 1, 6, 0, 6, 200);
    counts_of(1, 1, 1, 6, 0, 6, 300); /* another operation, as many */
    counts_of(1, 2, 0, MOST, 0, MOST, 400);
    counts_of(1, 2, 0, 3, 0, 3, 500); /* of another number: a row of its own */
    /* without meaning */
    counts_of(1, 3, 0, MOST + 1, 0, 10, 600);
    counts_of(1, 3, 0, 6, 0, 7, 600);
    counts_of(1, 3, 0, 6, 4, 3, 600);
    counts_of(1, 3, 0, 6, 7, 0, 600);
    counts_of(1, 3, 0, 6, UINT32_MAX, 2, 600);
    counts_of(1, 3, 0, 6, 6, 0, 700); /* nothing of six */
    tap_ok(load() && trace->counts_count == 5, "counts of one operation are one row");
    tap_ok(has_counts(0, 1, 6, 100, 200), "of parts, sent and received");
    tap_ok(has_counts(1, 2, 6, -1, 300), "of one side only");
    tap_ok(has_counts(2, 3, MOST, 400, -1) && has_counts(3, 3, 3, 500, -1), "and so many at most");
    tap_ok(trace && trace->counts_count == 5 && trace->counts[4].op == 4 &&
               trace->counts[4].n == 6 && !trace->counts[4].receive,
           "of what was told of no member only the number is known");
    end();
}

/* ---- the others ---- */

static void graphs(void)
{
    begin(2);
    for (uint32_t rank = 0; rank < 2; rank++) {
        string(rank, 1, rank ? "later" : "sooner");
        for (uint32_t i = 1; i <= 3; i++)
            put(rank, RECORD_NODE, (int)i,
                ((struct record_node){.id = i,
                                      .pass = 7 + i,
                                      .forward = i - 1,
                                      .name = 1,
                                      .kind = OP_ISEND + i,
                                      .begin = 10 * i,
                                      .end = 10 * i + rank}));
        put(rank, RECORD_EDGE, EDGE_ORDER, ((struct record_edge){.from = 1, .to = 3}));
        put(rank, RECORD_EDGE, EDGE_DATA, ((struct record_edge){.from = 1, .to = 2}));
        put(rank, RECORD_EDGE, EDGE_DATA, ((struct record_edge){.from = 2, .to = 3}));
        for (uint32_t i = 0; i < 4; i++) /* pass 0 is none */
            put(rank, RECORD_PASS, i % 2 ? PASS_DATA : PASS_PROGRAM,
                ((struct record_pass){.pass = i, .complete = i == 3 ? 2 : i == 2}));
    }
    int wrong = 0;
    if (tap_ok(load() && trace->node_count == 6 && trace->edge_count == 6 && trace->pass_count == 6,
               "nodes, edges and passes"))
        for (uint32_t rank = 0; rank < 2; rank++)
            for (uint32_t i = 0; i < 3; i++) {
                static const uint32_t edges[][3] = {
                    {0, 1, EDGE_DATA}, {0, 2, EDGE_ORDER}, {1, 2, EDGE_DATA}};
                const struct trace_node *node = &trace->nodes[3 * rank + i];
                const struct trace_edge *edge = &trace->edges[3 * rank + i];
                const struct trace_pass *pass = &trace->passes[3 * rank + i];
                wrong += node->rank != rank || node->id != i + 1 || node->pass != i + 8 ||
                         node->kind != OP_ISEND + i + 1 || node->state != i + 1 ||
                         node->forward != (i ? 3 * rank + i - 1 : TRACE_NO) ||
                         node->site != TRACE_NO || node->begin != 10 * i + 10 ||
                         node->end != 10 * i + 10 + rank ||
                         strcmp(text_of(node->name), rank ? "later" : "sooner") != 0;
                wrong += edge->from != 3 * rank + edges[i][0] ||
                         edge->to != 3 * rank + edges[i][1] || edge->type != edges[i][2];
                wrong += pass->rank != rank || pass->pass != i + 1 ||
                         pass->mode != (i % 2 ? PASS_PROGRAM : PASS_DATA) ||
                         pass->complete != (i > 0);
            }
    tap_is_int(wrong, 0, "are those of the records, on their rank");
    end();
}

static void notes(void)
{
    begin(2);
    put(0, RECORD_OP, OP_BARRIER, plain());
    put(1, RECORD_OP, OP_BARRIER, plain());
    put(1, RECORD_OP, OP_BARRIER, plain());
    note(1, "G005", 1, 0, "of the second");
    note(1, "G006", 2, 0, "of one that is not there");
    note(1, "LONGCODE", UINT32_MAX, 0, "");
    note(1, "N002", UINT32_MAX, 0, "race 3 things nobody saw");
    note(1, "N002", UINT32_MAX, 0, "memory 18446744073709551615 others");
    note(1, "N002", UINT32_MAX, 0, "abcdefghijklmnopqrstuvwxyz 1 too long");
    note(1, "N002", UINT32_MAX, 0, "race many");
    note(1, "N002", UINT32_MAX, 0, "");
    struct record_note open = {.code = "G007", .op = UINT32_MAX};
    put_more(1, RECORD_NOTE, 0, &open, sizeof open, "without",
             7); /* of eight bytes the last is 0 */
    put_more(1, RECORD_NOTE, 0, &open, sizeof open, "endless!", 8);
    put_more(1, RECORD_NOTE, 0, &open, sizeof open, "", 0);
    bool loaded = load() && trace->note_count == 6;
    const struct trace_note *rows = loaded ? trace->notes : NULL;
    tap_ok(rows && rows[0].rank == 1 && rows[0].op == 2 && !strcmp(rows[0].code, "G005") &&
               !strcmp(rows[0].text, "of the second") && rows[0].node == TRACE_NO &&
               rows[0].site == TRACE_NO,
           "a note of an operation");
    tap_ok(rows && rows[1].op == TRACE_NO && !strcmp(rows[1].text, "of one that is not there"),
           "of one that is not there");
    tap_ok(rows && !strcmp(rows[2].code, "LONGCOD") && !rows[2].text[0], "of a long code");
    tap_ok(rows && !strcmp(rows[3].text, "without") && !rows[4].text[0] && !rows[5].text[0],
           "a text that has no end within its record is none");
    const struct coverage *gaps = trace ? trace_coverage(trace) : NULL;
    tap_ok(gaps && gaps->count >= 2 && !strcmp(gaps->gaps[0].check, "race") &&
               gaps->gaps[0].count == 3 && !strcmp(gaps->gaps[0].text, "things nobody saw") &&
               !strcmp(gaps->gaps[1].check, "memory") && gaps->gaps[1].count == UINT64_MAX &&
               !strcmp(gaps->gaps[1].text, "others"),
           "what was not looked at");
    for (size_t i = 0; gaps && i < gaps->count; i++)
        if (strstr("many too long", gaps->gaps[i].text))
            gaps = NULL;
    tap_ok(gaps != NULL, "in words that say so");
    end();
}

static void gradients(void)
{
    static const char *const methods[] = {"central",   "complex", "dot",   "tangent",
                                          "one-sided", "value",   "magic", ""};
    enum { METHODS = sizeof methods / sizeof *methods };
    begin(2);
    string(1, 1, "weight");
    string(1, 2, "kink");
    string(1, 3, "no reason");
    for (uint32_t i = 0; i < METHODS; i++) {
        string(1, 10 + i, methods[i]);
        put(1, RECORD_GRADIENT, (int)(i % 2),
            ((struct record_gradient){.name = 1,
                                      .method = 10 + i,
                                      .undecided = i % 3 + 1,
                                      .elements = i,
                                      .index = (int64_t)i - 1,
                                      .step = 1 + i,
                                      .analytic = 2 + i,
                                      .numeric = 3 + i,
                                      .error = 4 + i,
                                      .tolerance = 5 + i,
                                      .relative = 6 + i}));
    }
    int wrong = 0;
    if (tap_ok(load() && trace->gradient_count == METHODS, "each comparison is a row"))
        for (uint32_t i = 0; i < METHODS; i++) {
            const struct trace_gradient *row = &trace->gradients[i];
            const char *method = i < 6 ? methods[i] : "value";
            wrong += row->rank != 1 || strcmp(text_of(row->variable), "weight") != 0 ||
                     strcmp(row->method, method) != 0 || row->ok != i % 2 || row->elements != i ||
                     row->index != (int64_t)i - 1 ||
                     (i % 3 == 1 ? !row->undecided || strcmp(row->undecided, "kink") != 0
                                 : row->undecided != NULL);
            const double values[] = {row->step,  row->analytic,  row->numeric,
                                     row->error, row->tolerance, row->relative};
            for (int k = 0; k < 6; k++)
                wrong += values[k] < k + 1 + (int)i || values[k] > k + 1 + (int)i;
        }
    tap_is_int(wrong, 0, "with its numbers and words");
    end();
}

static void accesses(void)
{
    begin(2);
    static const struct {
        int32_t target;
        uint64_t begin, end;
        bool kept;
    } cases[] = {{0, 10, 11, true},   {1, 10, 11, true},          {2, 10, 11, false},
                 {-1, 10, 11, false}, {INT32_MIN, 10, 11, false}, {1, 10, 10, false},
                 {1, 11, 10, false},  {1, 0, UINT64_MAX, true}};
    uint32_t kept = 0;
    int wrong = 0;
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++)
        put(1, RECORD_ACCESS, ACCESS_LOAD + (int)i % 5,
            ((struct record_access){.op = i,
                                    .done = i % 2 ? UINT32_MAX : i + 1,
                                    .target = cases[i].target,
                                    .reduction = 100 + i,
                                    .type = 200 + i,
                                    .lock = i % 3,
                                    .unordered = i % 2,
                                    .same_op = i / 2 % 2,
                                    .begin = cases[i].begin,
                                    .end = cases[i].end}));
    for (uint32_t i = 0; i < 4; i++)
        put(1, RECORD_SYNC, 0, ((struct record_sync){.op = 5 + i, .rank = i, .peer_op = 9 + i}));
    load();
    for (uint32_t i = 0; trace && i < sizeof cases / sizeof *cases; i++) {
        const struct trace_access *row = &trace->accesses[kept];
        if (!cases[i].kept || kept++ >= trace->access_count)
            continue;
        wrong += row->rank != 1 || row->op != i || row->done != (i % 2 ? UINT32_MAX : i + 1) ||
                 row->target != (uint32_t)cases[i].target || row->reduction != 100 + i ||
                 row->type != 200 + i || row->lock != i % 3 || row->unordered != i % 2 ||
                 row->same_op != i / 2 % 2 || row->kind != i % 5 || row->begin != cases[i].begin ||
                 row->end != cases[i].end || row->site != TRACE_NO;
    }
    tap_ok(trace && trace->access_count == kept && !wrong,
           "accesses of memory that there is, to ranks that there are");
    tap_ok(trace && trace->sync_count == 2 && trace->syncs[1].rank == 1 &&
               trace->syncs[1].op == 6 && trace->syncs[1].peer == 1 &&
               trace->syncs[1].peer_op == 10 && trace->syncs[0].peer == 0 &&
               trace->syncs[0].op == 5 && trace->syncs[0].peer_op == 9,
           "who knows what of ranks that there are");
    end();
}

static void values(void)
{
    char longest[300], due[320];
    begin(2);
    memset(longest, 'v', sizeof longest);
    longest[201] = 0;
    string(1, 1, "loss");
    string(1, 2, "J");
    string(1, 3, longest);
    put(1, RECORD_METRIC, 0,
        ((struct record_metric){.name = 1, .unit = 2, .step = 3, .value = 0.5}));
    put(1, RECORD_INPUT, 0, ((struct record_input){.name = 1, .count = 12}));
    put(1, RECORD_INPUT, 0, ((struct record_input){.name = 3, .count = -1}));
    put(0, RECORD_OBJECTIVE, 0, ((struct record_objective){.value = 0.25}));
    put(1, RECORD_OBJECTIVE, 0, ((struct record_objective){.value = 2}));
    put(1, RECORD_OBJECTIVE, 0, ((struct record_objective){.value = 4}));
    bool loaded = load() && trace->metric_count == 3;
    const struct trace_metric *rows = loaded ? trace->metrics : NULL;
    longest[200] = 0;
    snprintf(due, sizeof due, "input %s", longest);
    tap_ok(rows && !strcmp(text_of(rows[0].name), "loss") && !strcmp(text_of(rows[0].unit), "J") &&
               rows[0].rank == 1 && rows[0].step == 3 && rows[0].value == 0.5,
           "a metric");
    tap_ok(rows && !strcmp(text_of(rows[1].name), "input loss") && rows[1].value == 12 &&
               !strcmp(text_of(rows[1].unit), "elements") && rows[1].rank == 1 &&
               isnan(rows[1].step) && !strcmp(text_of(rows[2].name), due) && rows[2].value == -1,
           "inputs are metrics");
    tap_ok(trace && trace->objective == 6.25, "the objective is the sum of all ranks'");
    end();
    begin(1);
    put(0, RECORD_OP, OP_BARRIER, plain());
    tap_ok(load() && isnan(trace->objective), "a program without one has none");
    end();
}

/* Records that are shorter than their kind, which would be a row each. */
static void short_ones(void)
{
    static const struct {
        int type;
        size_t size;
    } kinds[] = {{RECORD_OP, sizeof(struct record_op)},
                 {RECORD_WAITS, sizeof(struct record_waits)},
                 {RECORD_COUNTS, sizeof(struct record_counts)},
                 {RECORD_STRING, sizeof(struct record_string)},
                 {RECORD_NODE, sizeof(struct record_node)},
                 {RECORD_EDGE, sizeof(struct record_edge)},
                 {RECORD_PASS, sizeof(struct record_pass)},
                 {RECORD_NOTE, sizeof(struct record_note)},
                 {RECORD_INPUT, sizeof(struct record_input)},
                 {RECORD_OBJECTIVE, sizeof(struct record_objective)},
                 {RECORD_GRADIENT, sizeof(struct record_gradient)},
                 {RECORD_METRIC, sizeof(struct record_metric)},
                 {RECORD_ACCESS, sizeof(struct record_access)},
                 {RECORD_SYNC, sizeof(struct record_sync)},
                 {RECORD_COMM, sizeof(struct record_comm)},
                 {RECORD_MEMBERS, sizeof(struct record_members)}};
    static const char ones[512] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    begin(1);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        put_more(0, kinds[i].type, 1, ones, (kinds[i].size - 1) / 8 * 8, "", 0);
    for (int type = RECORD_REPEAT + 1; type < 256; type++)
        put_more(0, type, 1, ones, 256, "", 0);
    tap_ok(load() && !trace->op_count && !trace->wait_count && !trace->counts_count &&
               !trace->node_count && !trace->edge_count && !trace->pass_count &&
               !trace->note_count && !trace->gradient_count && !trace->metric_count &&
               !trace->access_count && !trace->sync_count && trace->comm_count == 1 &&
               isnan(trace->objective),
           "records that are too short, or of no kind, are no rows");
    end();
}

/* ---- places in the source ---- */

static bool locate(void *context, uint32_t rank, uint64_t pc, const char **file, uint64_t *address)
{
    static const char *const names[2][2] = {{"/nowhere/a", "/nowhere/b"},
                                            {"/nowhere/c", "/nowhere/d"}};
    if (context != &result || pc >= 100000)
        return false;
    *file = names[rank][pc % 2];
    *address = pc;
    return true;
}

static void site_op(uint32_t rank, uint64_t pc)
{
    struct record_op op = plain();
    op.site = pc;
    put(rank, RECORD_OP, OP_BARRIER, op);
}

static const char *file_of(uint32_t op)
{
    uint32_t site = trace->ops[op].form->site;
    return site == TRACE_NO ? "" : trace->sites[site].file;
}

static void sites(void)
{
    enum { CALLS = 400 };
    uint64_t asked[CALLS];
    int wrong = 0;
    begin(2);
    for (uint32_t i = 0; i < CALLS; i++) {
        asked[i] = i % 4 && i ? asked[i - 1 - i % 3 % i] : 1 + dice_below(&dice, 99999);
        site_op(i >= CALLS / 2, asked[i]);
    }
    result.locate = locate;
    result.locate_context = &result;
    load();
    for (uint32_t i = 0; trace && i < CALLS; i++) {
        char due[16];
        snprintf(due, sizeof due, "/nowhere/%c",
                 (char)('a' + 2 * (i >= CALLS / 2) + (int)(asked[i] % 2)));
        wrong += strcmp(file_of(i), due) != 0;
    }
    tap_ok(trace && !wrong, "who runs the program may say where an address lies, for each rank");
    end();

    static const struct {
        uint64_t pc;
        const char *file;
    } cases[] = {{0, ""},           {999, ""},        {1000, ""} /* where it was linked: 0 */,
                 {1001, "/lib/a"},  {2000, "/lib/a"}, {2001, ""},
                 {3000, "/lib/b"},  {4000, "/lib/b"}, {4001, ""},
                 {5000, "/lib/own"}};
    enum { CASES = sizeof cases / sizeof *cases };
    begin(1);
    struct buffers_header *header = recording->buffers.header;
    header->image_count = 0;
    header->paths_used = 0;
    recording_image_add(recording, "/lib/a", 1000, 2000, 1000);
    recording_image_add(recording, "/lib/b", 3000, 4000, 10);
    recording_image_add(recording, "/lib/own", 5000, 6000, 10);
    for (int i = 0; i < CASES; i++)
        site_op(0, cases[i].pc);
    result.locate = locate; /* of somebody else */
    for (int damage = 0; damage < 4; damage++) {
        if (damage == 1)
            header->images[1].path = BUFFERS_PATHS;
        if (damage == 2) {
            memset(header->paths + 8000, 'x', BUFFERS_PATHS - 8000);
            header->images[1].path = BUFFERS_PATHS - 1;
        }
        if (damage == 3) { /* the last byte is an end: an empty path */
            header->paths[BUFFERS_PATHS - 1] = 0;
            header->images[1].path = 8000;
        }
        load();
        wrong = 0;
        for (uint32_t i = 0; trace && i < CASES; i++) {
            const char *file = file_of(i);
            bool of_b = !strcmp(cases[i].file, "/lib/b");
            wrong += damage == 3 && of_b ? file[0] != 'x'
                                         : strcmp(file, damage && of_b ? "" : cases[i].file) != 0;
        }
        tap_ok(trace && !wrong, "an address lies where its file was loaded%s",
               damage == 0   ? ""
               : damage == 1 ? ", which has a path"
               : damage == 2 ? ", which has an end"
                             : ", be it the last byte");
    }
    end();

    /* what follows the last image is not one, whatever it looks like */
    begin(1);
    header = recording->buffers.header;
    memset(header->images, 0, sizeof header->images);
    for (int i = 0; i < BUFFERS_IMAGES; i++)
        header->images[i] = (struct buffers_image){.start = 1, .end = 1};
    header->images[BUFFERS_IMAGES - 1] =
        (struct buffers_image){.path = 500, .start = 70, .end = 80};
    header->image_count = BUFFERS_IMAGES + 1;
    header->paths_used = 500;
    const uint64_t behind[] = {90, 99, 1};
    memcpy(header->paths, behind, sizeof behind);
    memcpy(header->paths + 500, "/lib/last", sizeof "/lib/last");
    site_op(0, 75);
    site_op(0, 95);
    tap_ok(load() && !strcmp(file_of(0), "/lib/last") && !file_of(1)[0], "there are so many files");
    end();
}

int main(void)
{
    void (*const all[])(void) = {operations, peers,      communicators, numbers,   waits,
                                 counts,     graphs,     notes,         gradients, accesses,
                                 values,     short_ones, sites};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        all[i]();
    return tap_done();
}
