/* The in-memory trace: building in any order, linking, matching, texts, hashes. */
#include "tests/change_op.h"
#include "tests/dice.h"
#include "tests/tap.h"
#include "traces/base/identity.h"
#include "traces/trace/trace.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static uint32_t add(struct trace *trace, uint32_t rank, enum op_kind kind, int peer, int tag)
{
    struct trace_plain_op op = trace_op_none(rank, kind);
    op.peer = peer;
    op.tag = tag;
    op.comm = 0;
    op.count = 4;
    op.type = 0x214;
    return trace_add_op(trace, &op);
}

static uint32_t add_recorded(struct trace *trace, uint32_t rank, int source, int tag)
{
    uint32_t index = add(trace, rank, OP_RECV, TRACE_ANY, TRACE_ANY);
    trace_op_set_matched(trace, index, source, tag);
    return index;
}

static struct trace *world(uint32_t ranks)
{
    struct trace *trace = trace_new(ranks);
    trace_add_comm(
        trace,
        &(struct trace_comm){
            .id = 1, .size = ranks, .parent = TRACE_NO, .adjoint_of = TRACE_NO, .name = "world"});
    return trace;
}

static bool finish(struct trace *trace)
{
    struct failure failure = {0};
    bool done = trace_finish(trace, &failure) && trace_check(trace, &failure);
    if (!done)
        tap_note("%s", failure.text);
    return done;
}

/* The partner of op `seq` of `rank` as rank * 100 + seq, -1 for none. */
static int partner(const struct trace *trace, uint32_t rank, size_t seq)
{
    uint32_t match = trace->ops[trace->rank_begin[rank] + seq].match;
    return match == TRACE_NO
               ? -1
               : (int)(trace->ops[match].rank * 100 + trace_op_seq(trace, &trace->ops[match]));
}

static void groups_ranks(void)
{
    struct trace *trace = world(2);
    uint32_t send = add(trace, 1, OP_ISEND, 0, 7);
    uint32_t receive = add(trace, 0, OP_RECV, 1, 7);
    uint32_t wait = add(trace, 1, OP_WAIT, TRACE_NONE, TRACE_NONE);
    trace->ops[wait].request = send;
    struct trace_node node = {.rank = 1,
                              .id = 1,
                              .forward = TRACE_NO,
                              .site = TRACE_NO,
                              .name = trace_add_string(trace, "send")};
    uint32_t late = trace_add_node(trace, &node);
    node.rank = 0;
    trace_add_node(trace, &node);
    trace->ops[send].node = late;
    tap_ok(finish(trace), "a trace added in mixed rank order finishes");
    tap_is_int(trace->ops[0].rank, 0, "operations are grouped by rank");
    tap_is_int(trace_op_seq(trace, &trace->ops[2]), 1,
               "operations are numbered in the order of their rank");
    tap_is_int(trace->nodes[trace->ops[1].node].rank, 1, "node indices follow the grouping");
    tap_is_int(trace->ops[1].request, 2, "a start leads to the wait that completed it");
    tap_is_int(trace->ops[2].request, 1, "a wait leads to the operation that started its request");
    tap_is_int(trace->ops[0].match, 1, "a receive finds its send");
    tap_is_int(trace_op_peer_matched(&trace->ops[0]), 1, "a complete receive learns its source");
    char text[64];
    tap_is_str(trace_op_text(trace, 2, text, sizeof text), "Wait for Isend to 0 tag 7",
               "a wait is told with what it waits for");
    tap_is_str(trace_op_text(trace, 2, text, 8), "Wait fo", "a text is cut at the buffer's end");
    CHANGE_OP(trace, 1, identity, trace_identity("head", 4));
    tap_is_str(trace_op_text(trace, 1, text, sizeof text), "Isend to 0 tag 7",
               "a name that the trace does not have is not told");
    trace_add_string(trace, "head");
    tap_is_str(trace_op_text(trace, 1, text, sizeof text), "Isend to 0 tag 7 (\"head\")",
               "what an operation moves is told by name");
    tap_ok(trace_identity("layer 0", 7) != trace_identity("layer 1", 7),
           "names that differ in their last letter are two");
    (void)receive;
    trace_free(trace);
}

static void matches_in_order(void)
{
    struct trace *trace = world(3);
    add(trace, 0, OP_SEND, 2, 1);
    add(trace, 0, OP_SEND, 2, 2);
    add(trace, 0, OP_SEND, 2, 1);
    add(trace, 1, OP_SEND, 2, 1);
    add(trace, 2, OP_RECV, 0, 2);
    add_recorded(trace, 2, 1, 1);
    add(trace, 2, OP_RECV, 0, TRACE_ANY);
    add(trace, 2, OP_RECV, TRACE_ANY, 1);
    tap_ok(finish(trace), "sends with wildcard receives finish");
    tap_is_int(partner(trace, 2, 0), 1, "a tag picks its message");
    tap_is_int(partner(trace, 2, 1), 100, "a recorded match is trusted");
    tap_is_int(partner(trace, 2, 2), 0, "any tag takes the first message left of its source");
    tap_is_int(partner(trace, 2, 3), 2, "any source takes what fits and is left");
    trace_free(trace);
}

static void pending_takes_its_place(void)
{
    struct trace *trace = world(2);
    add(trace, 0, OP_SEND, 1, 1);
    add(trace, 0, OP_SEND, 1, 1);
    uint32_t pending = add(trace, 1, OP_IRECV, 0, 1);
    trace->ops[pending].state = STATE_POSTED;
    uint32_t second = add(trace, 1, OP_RECV, 0, 1);
    trace_op_set_matched(trace, second, 0, 1);
    uint32_t nobody = add(trace, 1, OP_RECV, TRACE_NONE, 1);
    uint32_t cancelled = add(trace, 1, OP_IRECV, 0, 1);
    trace->ops[cancelled].state = STATE_CANCELLED;
    tap_ok(finish(trace), "pending receives finish");
    tap_is_int(partner(trace, 1, 0), 0,
               "a pending receive keeps the message its place in the order gives it");
    tap_is_int(partner(trace, 1, 1), 1, "the receive after it gets the next message");
    tap_is_int(partner(trace, 1, nobody - pending), -1, "a receive from nobody matches nothing");
    tap_is_int(partner(trace, 1, cancelled - pending), -1, "a cancelled receive matches nothing");
    trace_free(trace);
}

static void matched_probe(void)
{
    struct trace *trace = world(2);
    add(trace, 0, OP_SEND, 1, 1);
    add(trace, 0, OP_SEND, 1, 1);
    uint32_t probe = add(trace, 1, OP_MPROBE, 0, 1);
    add(trace, 1, OP_RECV, 0, 1);
    uint32_t receive = add(trace, 1, OP_MRECV, 0, 1);
    trace->ops[probe].request = receive;
    trace->ops[receive].request = probe;
    tap_ok(finish(trace), "a matched probe finishes");
    tap_is_int(partner(trace, 1, 2), 0, "a matched receive gets the message its probe took");
    tap_is_int(partner(trace, 1, 1), 1, "a receive between them gets the next one");
    trace_free(trace);
}

static void several_waits(void)
{
    struct trace *trace = world(2);
    uint32_t first = add(trace, 1, OP_ISEND, 0, 1), second = add(trace, 1, OP_ISEND, 0, 2);
    uint32_t wait = add(trace, 1, OP_WAITANY, TRACE_NONE, TRACE_NONE);
    trace_add_wait(trace, wait, second, true);
    trace_add_wait(trace, wait, first, false);
    add(trace, 0, OP_RECV, 1, 2);
    tap_ok(finish(trace), "a wait on several finishes");
    uint32_t starts[1] = {TRACE_NO};
    tap_is_int(trace_op_requests(trace, 3, starts, 1), 2, "a wait on several counts its requests");
    tap_is_int(starts[0], 2, "requests of a wait keep their order");
    tap_is_int(trace->ops[2].request, 3, "the completed start leads to the wait");
    tap_is_int(trace->ops[1].request, TRACE_NO, "a start that did not complete leads nowhere");
    trace_free(trace);
}

static void passes(void)
{
    struct trace *trace = world(1);
    add(trace, 0, OP_BARRIER, TRACE_NONE, TRACE_NONE);
    for (int i = 0; i < 2; i++)
        add(trace, 0, OP_BARRIER, TRACE_NONE, TRACE_NONE);
    CHANGE_OP(trace, 1, pass, 2);
    CHANGE_OP(trace, 2, pass, 2);
    trace_add_pass(trace, &(struct trace_pass){.pass = 2, .mode = PASS_DATA, .complete = true});
    trace_add_pass(trace, &(struct trace_pass){.pass = 1, .mode = PASS_DATA});
    tap_ok(finish(trace), "passes finish");
    tap_is_int(trace->passes[1].first_op, 1, "a pass begins at its first operation");
    tap_is_int(trace->passes[1].op_end, 3, "a pass ends after its last operation");
    tap_ok(trace->passes[0].first_op == trace->passes[0].op_end, "a pass may be empty");
    trace_free(trace);
}

/* What most operations do not have, or have of one another, takes no room in each of them. */
static void aside(void)
{
    enum { ROUNDS = 3000 };
    struct trace *trace = world(2);
    for (uint32_t i = 0; i < 2 * ROUNDS; i++) { /* of both ranks in turn: they are to be moved */
        struct trace_whole_op whole = {.op = trace_op_none(i % 2, OP_COMPUTE),
                                       .at = {1000 + i % 2, 8 + i % 4}};
        if (i > ROUNDS)
            whole.times = (struct trace_times){i, i + 1};
        trace_add_whole_op(trace, &whole);
    }
    tap_is_int(trace->place_count, 1 + 4, "buffers that are used again and again are kept once");
    bool finished = finish(trace);
    size_t right = 0;
    for (uint32_t i = 0; finished && i < 2 * ROUNDS; i++) {
        uint32_t was = i < ROUNDS ? 2 * i : 2 * (i - ROUNDS) + 1;
        struct trace_whole_op whole;
        trace_whole_op(trace, i, &whole);
        right += whole.at.buffer == 1000 + was % 2 && whole.at.extent == 8 + was % 4 &&
                 whole.times.begin_ns == (was > ROUNDS ? was : 0) &&
                 whole.times.end_ns == (was > ROUNDS ? was + 1 : 0);
    }
    tap_is_int(right, 2 * ROUNDS, "each finds its buffer and its times, wherever it is moved to");
    struct trace *other = world(1);
    for (uint64_t i = 0; i < ROUNDS; i++) {
        struct trace_whole_op whole = {.op = trace_op_none(0, OP_COMPUTE), .at = {i, i / 2}};
        trace_add_whole_op(other, &whole);
    }
    right = 0;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        struct trace_place at = trace_op_place(other, &other->ops[i]);
        right += at.buffer == i && at.extent == i / 2;
    }
    tap_is_int(right, ROUNDS, "more of them than are remembered are right, too");
    tap_ok(!other->times, "without wall times there is no table of them");
    tap_ok(sizeof(struct trace_op) <= 64, "an operation takes 64 bytes");
    trace_free(other);
    trace_free(trace);
}

static struct trace *hashed(const char *file, int tag, uint64_t wall)
{
    struct trace *trace = world(2);
    uint32_t send = add(trace, 0, OP_SEND, 1, tag);
    CHANGE_OP(trace, send, site, trace_add_site(trace, file, 41, "main"));
    trace_set_times(trace, send, wall, 0);
    add(trace, 1, OP_RECV, 0, tag);
    finish(trace);
    return trace;
}

static void hashes(void)
{
    struct trace *a = hashed("x/ring.c", 1, 5), *b = hashed("y/ring.c", 1, 6);
    struct trace *c = hashed("x/ring.c", 2, 5), *d = hashed("x/rong.c", 1, 5);
    tap_ok(trace_hash(a) == trace_hash(b), "wall time and folders do not change a hash");
    tap_ok(trace_hash(a) != trace_hash(c), "a tag changes the hash");
    tap_ok(trace_hash(a) != trace_hash(d), "a call site changes the hash");
    tap_ok(trace_rank_hash(a, 0) != trace_rank_hash(c, 0), "a rank's hash sees the tag");
    trace_free(a);
    trace_free(b);
    trace_free(c);
    trace_free(d);
}

#define FIELD(name)                                                                                \
    {                                                                                              \
        offsetof(struct trace_plain_op, name), sizeof((struct trace_plain_op){0}.name)             \
    }
static const struct {
    size_t at, size;
} hashed_fields[] = {
    FIELD(kind),      FIELD(state),       FIELD(flags),         FIELD(pass),   FIELD(comm),
    FIELD(comm_seq),  FIELD(peer),        FIELD(tag),           FIELD(begin),  FIELD(end),
    FIELD(count),     FIELD(tag_matched), FIELD(count_matched), FIELD(type),   FIELD(signature),
    FIELD(reduce_op), FIELD(batch),       FIELD(peer_matched),  FIELD(error),  FIELD(request),
    FIELD(match),     FIELD(adjoint_of),  FIELD(identity),      FIELD(thread), FIELD(site)};

static bool change(struct trace *trace, size_t index, size_t field)
{
    struct trace_plain_op op = trace_op_plain(trace, (uint32_t)index);
    if (field >= sizeof hashed_fields / sizeof *hashed_fields)
        return false;
    unsigned char *bytes = (unsigned char *)&op + hashed_fields[field].at;
    bool none = hashed_fields[field].size == 4 && !memcmp(bytes, &(uint32_t){TRACE_NO}, 4);
    if (none)
        memset(bytes, 0, 4);
    else
        bytes[0] ^= 1;
    return trace_op_change(trace, (uint32_t)index, &op);
}

/* Whatever the number of ranks and of their operations: ranks are hashed several at a time. */
static void every_field_is_hashed(void)
{
    int wrong = 0;
    size_t fields = 0;
    for (uint32_t ranks = 1; ranks <= 9; ranks++) {
        struct trace *trace = world(ranks);
        for (uint32_t rank = 0; rank < ranks; rank++)
            for (uint32_t i = 0; i < 3 + rank * 5 % 4; i++) {
                uint32_t op = add(trace, rank, OP_SEND, 0, (int)i);
                CHANGE_OP(trace, op, site, trace_add_site(trace, "x/p.c", (int)i, "main"));
            }
        finish(trace);
        uint64_t before = trace_hash(trace);
        trace_hash_ranks(trace);
        for (uint32_t rank = 0; rank < ranks; rank++) {
            wrong += trace->rank_info[rank].hash != trace_rank_hash(trace, rank);
            for (uint32_t other = 0; other < rank; other++)
                wrong += trace->rank_info[rank].hash == trace->rank_info[other].hash;
        }
        for (size_t at = 0; at < trace->op_count; at++) {
            struct trace_op kept = trace->ops[at];
            for (fields = 0; change(trace, at, fields); fields++) {
                wrong += trace_hash(trace) == before;
                for (uint32_t rank = 0; rank < ranks; rank++)
                    wrong += (trace_rank_hash(trace, rank) == trace->rank_info[rank].hash) ==
                             (rank == kept.rank);
                trace->ops[at] = kept;
                trace_op_set_adjoint(trace, (uint32_t)at, TRACE_NO);
            }
        }
        trace->outcome = OUTCOME_DEADLOCK;
        wrong += trace_hash(trace) == before;
        trace_free(trace);
    }
    tap_is_int(wrong, 0, "each of %zu fields of an operation is in its rank's hash, no other's",
               fields);
}

/* Folds belong to the rank of their operation, and their number of times counts. */
static void folds_are_hashed(void)
{
    int wrong = 0;
    for (uint32_t folded = 0; folded < 1u << 4; folded++) {
        struct trace *trace = world(4);
        for (uint32_t rank = 0; rank < 4; rank++)
            for (int i = 0; i < 2; i++)
                add(trace, rank, OP_SEND, 0, i);
        for (uint32_t rank = 0; rank < 4; rank++)
            if (folded >> rank & 1)
                trace_add_fold(trace,
                               &(struct trace_fold){.op = 2 * rank + 1, .body = 1, .times = 3});
        finish(trace);
        uint64_t hashes[4];
        for (uint32_t rank = 0; rank < 4; rank++)
            hashes[rank] = trace_rank_hash(trace, rank);
        for (size_t fold = 0; fold < trace->fold_count; fold++) {
            trace->folds[fold].times++;
            for (uint32_t rank = 0; rank < 4; rank++)
                wrong += (trace_rank_hash(trace, rank) == hashes[rank]) ==
                         (trace->ops[trace->folds[fold].op].rank == rank);
            trace->folds[fold].times--;
        }
        wrong += trace->fold_count != (size_t)__builtin_popcount(folded);
        trace_free(trace);
    }
    tap_is_int(wrong, 0, "so is each fold, of any ranks");
}

static void refuses(void)
{
    struct failure failure = {0};
    struct trace *trace = world(2);
    struct trace_node node = {
        .rank = 0, .id = 1, .forward = TRACE_NO, .site = TRACE_NO, .name = TRACE_NO};
    uint32_t here = trace_add_node(trace, &node);
    node.rank = 1;
    uint32_t there = trace_add_node(trace, &node);
    trace_add_edge(trace, here, there, EDGE_DATA);
    tap_ok(trace_finish(trace, &failure) && !trace_check(trace, &failure),
           "an edge to another rank is refused: %s", failure.text);
    trace_free(trace);
    trace = world(2);
    trace_add_wait(trace, 5, 6, true);
    tap_ok(!trace_finish(trace, &failure), "a wait of an operation that does not exist is refused");
    tap_is_int(failure.code, FAILURE_INPUT, "and it is the input's fault");
    trace_free(trace);
    trace = world(2);
    add(trace, 0, OP_SEND, 5, 1);
    tap_ok(trace_finish(trace, &failure) && !trace_check(trace, &failure),
           "a peer outside the run is refused");
    trace_free(trace);
    trace = world(1);
    uint32_t one = add(trace, 0, OP_WAITALL, TRACE_NONE, 0),
             other = add(trace, 0, OP_WAITANY, TRACE_NONE, 0);
    trace_add_wait(trace, one, other, false);
    trace_add_wait(trace, other, one, false);
    tap_ok(trace_finish(trace, &failure) && !trace_check(trace, &failure),
           "waits that wait for each other are refused: %s", failure.text);
    trace_free(trace);
    trace = world(1);
    uint32_t itself = add(trace, 0, OP_WAIT, TRACE_NONE, 0);
    trace->ops[itself].request = itself;
    tap_ok(trace_finish(trace, &failure) && !trace_check(trace, &failure),
           "so is one that waits for itself: %s", failure.text);
    trace_free(trace);
}

/* With this number in the field at `offset` of an operation. */
static bool takes(struct trace *trace, uint32_t op, size_t offset, uint32_t number)
{
    struct failure failure = {0};
    struct trace_plain_op plain = trace_op_plain(trace, op);
    memcpy((char *)&plain + offset, &number, sizeof number);
    return trace_op_change(trace, op, &plain) && trace_check(trace, &failure);
}

/* What an operation refers to: the last of the table is taken, one past it is not, and neither is taken for the other. */
static void refuses_each_index(void)
{
    static const struct {
        const char *name;
        size_t offset;
    } fields[] = {{"communicator", offsetof(struct trace_plain_op, comm)},
                  {"site", offsetof(struct trace_plain_op, site)},
                  {"node", offsetof(struct trace_plain_op, node)},
                  {"request", offsetof(struct trace_plain_op, request)},
                  {"adjoint", offsetof(struct trace_plain_op, adjoint_of)},
                  {"match", offsetof(struct trace_plain_op, match)}};
    struct trace *trace = world(1);
    uint32_t site = trace_add_site(trace, "a.c", 1, "main");
    struct trace_node node = {.id = 1, .forward = TRACE_NO, .site = TRACE_NO, .name = TRACE_NO};
    trace_add_node(trace, &node);
    uint32_t receive = add(trace, 0, OP_IRECV, 0, 7), send = add(trace, 0, OP_SEND, 0, 7);
    tap_ok(finish(trace), "an operation without references is taken");
    const size_t counts[] = {trace->comm_count, site + 1,        trace->node_count,
                             trace->op_count,   trace->op_count, trace->op_count};
    for (size_t f = 0; f < sizeof fields / sizeof *fields; f++) {
        const struct trace_op kept = trace->ops[receive];
        bool last =
            takes(trace, receive, fields[f].offset, f == 5 ? send : (uint32_t)counts[f] - 1);
        bool beyond = takes(trace, receive, fields[f].offset, (uint32_t)counts[f]);
        bool none = takes(trace, receive, fields[f].offset, f == 5 ? kept.match : TRACE_NO);
        trace->ops[receive] = kept;
        tap_ok(last && !beyond && none, "the last %s is taken, one past it is not, none is",
               fields[f].name);
    }
    trace_free(trace);
}

/* A million operations in one channel with mixed tags: a quadratic matching would not end within
 * the test's time. */
static void is_linear(void)
{
    enum { MESSAGES = 200000 };
    struct trace *trace = world(2);
    for (int i = 0; i < MESSAGES; i++)
        add(trace, 0, OP_SEND, 1, i & 7);
    for (int i = 0; i < MESSAGES; i++)
        add(trace, 1, OP_RECV, i & 64 ? 0 : TRACE_ANY, (i / 2) & 7);
    tap_ok(finish(trace), "a long channel finishes");
    size_t unmatched = 0, wrong = 0;
    for (size_t i = 0; i < trace->op_count; i++) {
        const struct trace_op *op = &trace->ops[i];
        unmatched += op->match == TRACE_NO;
        wrong += op->match != TRACE_NO && trace->ops[op->match].tag != op->tag;
    }
    tap_is_int(wrong, 0, "no receive gets another tag");
    tap_is_int(unmatched, 0, "every message of a balanced channel is matched");
    trace_free(trace);
}

/* The same where threads share a channel, of which amounts tell: one that nobody asks for stays in front of all. */
static void is_linear_by_amount(void)
{
    enum { MESSAGES = 200000 };
    struct trace *trace = world(2);
    for (int i = 0; i <= MESSAGES; i++) {
        uint32_t send = add(trace, 0, OP_SEND, 1, 7);
        trace->ops[send].count = i == 0 ? 9 : 1 + (i - 1) % 4;
    }
    for (int i = 0; i < MESSAGES; i++) {
        uint32_t receive = add(trace, 1, OP_RECV, 0, 7);
        trace_op_set_matched(trace, receive, 0, 7);
        CHANGE_OP(trace, receive, thread, (uint32_t)(i & 1));
        /* the other thread of each pair came first */
        CHANGE_OP(trace, receive, count_matched, 1 + (i + 2) % 4);
    }
    tap_ok(finish(trace), "a long channel of threads finishes");
    size_t unmatched = 0, wrong = 0;
    for (size_t i = 0; i < trace->op_count; i++) {
        const struct trace_op *op = &trace->ops[i];
        unmatched += op->match == TRACE_NO;
        wrong += op->kind == OP_RECV && op->match != TRACE_NO &&
                 trace->ops[op->match].count != trace_op_count_matched(op);
    }
    tap_is_int(wrong, 0, "each receive has a message of its amount");
    tap_is_int(unmatched, 1, "and what nobody asked for is left");
    trace_free(trace);
}

static void long_paths(void)
{
    struct trace *trace = world(1);
    char path[900], text[TRACE_SITE_TEXT], small[40];
    snprintf(path, sizeof path, "/%0*d/folder/file.c", 700, 0);
    uint32_t site = trace_add_site(trace, path, 41, "main");
    trace_site_text(trace, site, text, sizeof text);
    tap_ok(strlen(text) == sizeof text - 1 && strncmp(text, "...0", 4) == 0 &&
               strcmp(text + sizeof text - 18, "/folder/file.c:41") == 0,
           "a path without room is cut at its front: %s", text);
    tap_is_str(trace_at_text(trace, site, small, 18), " at .../file.c:41",
               "and keeps its line in a small room");
    site = trace_add_site(trace, "folder/file.c", 7, "main");
    tap_is_str(trace_at_text(trace, site, small, sizeof small), " at folder/file.c:7",
               "another is whole");
    tap_is_str(trace_at_text(trace, TRACE_NO, small, sizeof small), "", "none is nothing");
    trace_free(trace);
}

/* Calls that return before they are done have names of their own (MPI-4.1, A.3). */
static void names_of_starts(void)
{
    static const struct {
        enum op_kind kind;
        const char *name;
    } rows[] = {{OP_PUT, "Rput"},
                {OP_GET, "Rget"},
                {OP_ACCUMULATE, "Raccumulate"},
                {OP_GET_ACCUMULATE, "Rget_accumulate"},
                {OP_BARRIER, "Ibarrier"},
                {OP_BCAST, "Ibcast"},
                {OP_ALLREDUCE, "Iallreduce"},
                {OP_GATHER, "Igather"},
                {OP_SCAN, "Iscan"},
                {OP_REDUCE_SCATTER, "Ireduce_scatter"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct trace *trace = trace_new(1);
        char text[64];
        struct trace_plain_op op = trace_op_none(0, rows[i].kind);
        op.flags = OP_NONBLOCKING;
        op.state = STATE_COMPLETE;
        trace_add_op(trace, &op);
        tap_ok(finish(trace), "a trace of one call");
        trace_op_text(trace, 0, text, sizeof text);
        text[strcspn(text, " ")] = 0;
        tap_is_str(text, rows[i].name, "a started %s is told as it is called", rows[i].name + 1);
        trace_free(trace);
    }
}

int main(void)
{
    if (dice_takes_group(DICE_DEAR)) {
        is_linear();
        is_linear_by_amount();
    }
    if (!dice_takes_group(0))
        return tap_done();
    groups_ranks();
    matches_in_order();
    pending_takes_its_place();
    matched_probe();
    several_waits();
    passes();
    aside();
    hashes();
    every_field_is_hashed();
    folds_are_hashed();
    refuses();
    refuses_each_index();
    long_paths();
    names_of_starts();
    return tap_done();
}
