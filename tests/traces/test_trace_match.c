/* Matching of sends and receives in a trace, against the seven rules at the head of its file taken
 * word by word: random traces of a few operations in every state, and the cases one by one. */
#include "tests/dice.h"
#include "tests/tap.h"
#include "traces/trace/memory.h"
#include "traces/trace/trace.h"

#include <stdlib.h>
#include <string.h>

enum { RANKS = 3, TRACES = 20000, OPS_MAX = 14 };

/* ---- the rules, naively ---- */

static bool sends(const struct trace_op *op)
{
    return op_kind_class(op->kind) == CLASS_SEND && op->peer >= 0 && op->state != STATE_CANCELLED &&
           op->state != STATE_FAILED;
}

static bool receives(const struct trace_op *op)
{
    if (op->kind == OP_MPROBE || op->kind == OP_IMPROBE)
        return op->state == STATE_COMPLETE && op->peer != TRACE_NONE;
    return op_kind_class(op->kind) == CLASS_RECEIVE && op->peer != TRACE_NONE &&
           op->state != STATE_CANCELLED &&
           (op->state != STATE_FAILED || trace_op_peer_matched(op) >= 0);
}

static bool recorded(const struct trace_op *op)
{
    return trace_op_peer_matched(op) >= 0 && trace_op_tag_matched(op) >= 0;
}

static bool fits(const struct trace_op *receive, const struct trace_op *send)
{
    int source = recorded(receive) ? trace_op_peer_matched(receive) : receive->peer;
    int tag = recorded(receive) ? trace_op_tag_matched(receive) : receive->tag;
    return sends(send) && send->peer == (int)receive->rank &&
           send->form->comm == receive->form->comm &&
           (source == TRACE_ANY || source == (int)send->rank) &&
           (tag == TRACE_ANY || tag == send->tag);
}

/* What was given stays where the other one does not say otherwise, first come first served. */
static void keep(const struct trace_op *ops, size_t count, uint32_t *match)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t to = match[i];
        enum op_class mine = op_kind_class(ops[i].kind);
        enum op_class theirs = to < count ? op_kind_class(ops[to].kind) : CLASS_NONE;
        bool pair = (mine == CLASS_SEND && theirs == CLASS_RECEIVE) ||
                    (mine == CLASS_RECEIVE && theirs == CLASS_SEND);
        if (!pair || (match[to] != TRACE_NO && match[to] != i))
            match[i] = TRACE_NO;
        else
            match[to] = i;
    }
}

/* A receive that matches by its place in the order: not one that a probe has served. */
static bool wants(const struct trace_op *ops, uint32_t i)
{
    bool by_probe = (ops[i].kind == OP_MRECV || ops[i].kind == OP_IMRECV) &&
                    ops[i].request != TRACE_NO &&
                    op_kind_class(ops[ops[i].request].kind) == CLASS_PROBE;
    return receives(&ops[i]) && !by_probe;
}

static bool from_any(const struct trace_op *op)
{
    return !recorded(op) && op->peer == TRACE_ANY;
}

static bool has_threads(const struct trace_op *ops, size_t count)
{
    bool several = false;
    for (uint32_t i = 0; i < count; i++)
        several = several || ops[i].form->thread;
    return several;
}

/* The first free send of this rank (-1: any) that fits; with threads, of the amount received. */
static uint32_t first_free(const struct trace_op *ops, size_t count, const uint32_t *match,
                           const bool *taken, uint32_t i, int rank)
{
    bool by_amount = has_threads(ops, count) && trace_op_count_matched(&ops[i]) >= 0;
    for (int any = !by_amount; any < 2; any++)
        for (uint32_t s = 0; s < count; s++)
            if (match[s] == TRACE_NO && !(taken && taken[s]) && fits(&ops[i], &ops[s]) &&
                (rank < 0 || (int)ops[s].rank == rank) &&
                (any || ops[s].count == trace_op_count_matched(&ops[i])))
                return s;
    return TRACE_NO;
}

/* First those by name take what fits them, then those from any source: which rank's message they
 * got, or would have got first, is the source that is assumed of them. */
static void assume_naively(const struct trace_op *ops, size_t count, const uint32_t *match,
                           int *source)
{
    bool taken[OPS_MAX] = {false};
    for (int any = 0; any < 2; any++)
        for (uint32_t i = 0; i < count; i++) {
            if (!wants(ops, i) || match[i] != TRACE_NO || from_any(&ops[i]) != (any == 1))
                continue;
            uint32_t send = first_free(ops, count, match, taken, i, -1);
            for (uint32_t s = 0; s < count && send == TRACE_NO; s++)
                if (match[s] == TRACE_NO && fits(&ops[i], &ops[s]))
                    send = s;
            if (send != TRACE_NO)
                taken[send] = true;
            source[i] = any && send != TRACE_NO ? (int)ops[send].rank : -1;
        }
}

static void match_naively(const struct trace_op *ops, size_t count, uint32_t *match)
{
    int source[OPS_MAX] = {0};
    keep(ops, count, match);
    assume_naively(ops, count, match, source);
    for (uint32_t i = 0; i < count; i++) {
        bool any = from_any(&ops[i]);
        if (!wants(ops, i) || match[i] != TRACE_NO || (any && source[i] < 0))
            continue;
        uint32_t send = first_free(ops, count, match, NULL, i, any ? source[i] : -1);
        if (send != TRACE_NO) {
            match[i] = send;
            match[send] = i;
        }
    }
}

/* ---- random traces ---- */

static struct trace_plain_op random_op(uint64_t *state, uint32_t rank, uint32_t count, bool threads)
{
    static const enum op_kind kinds[] = {OP_SEND,  OP_ISEND, OP_BSEND, OP_SSEND,  OP_SEND,
                                         OP_ISEND, OP_RECV,  OP_IRECV, OP_IRECV,  OP_RECV,
                                         OP_RECV,  OP_WAIT,  OP_PROBE, OP_COMPUTE};
    static const enum op_state states[] = {STATE_COMPLETE,  STATE_COMPLETE, STATE_COMPLETE,
                                           STATE_POSTED,    STATE_BLOCKED,  STATE_FAILED,
                                           STATE_CANCELLED, STATE_COMPLETE};
    struct trace_plain_op op =
        trace_op_none(rank, kinds[dice_below(state, sizeof kinds / sizeof *kinds)]);
    op.state = (uint8_t)states[dice_below(state, 8)];
    op.comm = dice_below(state, 4) == 0;
    op.count = 4;
    bool receive = op_kind_class(op.kind) == CLASS_RECEIVE;
    op.peer = (int32_t)dice_below(state, RANKS);
    op.tag = (int32_t)dice_below(state, 2);
    if (receive && dice_below(state, 3) == 0)
        op.peer = TRACE_ANY;
    if (receive && dice_below(state, 3) == 0)
        op.tag = TRACE_ANY;
    if (!receive && dice_below(state, 16) == 0)
        op.tag = TRACE_ANY; /* in a file, a tag like others */
    if (dice_below(state, 12) == 0)
        op.peer = TRACE_NONE;
    if (receive && op.peer == TRACE_ANY && dice_below(state, 3) == 0) {
        op.peer_matched = (int32_t)dice_below(state, RANKS);
        op.tag_matched = (int32_t)dice_below(state, 2);
    }
    if (dice_below(state, 10) == 0)
        op.match = dice_below(state, count);
    if (threads) {
        op.type = 0x209;
        op.thread = dice_below(state, 2);
        op.count = 4 + 4 * dice_below(state, 3);
        if (receive && dice_below(state, 2))
            op.count_matched = 4 + 4 * dice_below(state, 3);
    }
    return op;
}

static struct trace *comms_of(uint32_t ranks)
{
    struct trace *trace = trace_new(ranks);
    for (uint32_t id = 1; id < 3; id++)
        trace_add_comm(
            trace,
            &(struct trace_comm){
                .id = id, .size = ranks, .parent = TRACE_NO, .adjoint_of = TRACE_NO, .name = "c"});
    return trace;
}

/* A send that is complete knows its partner; one that is not has learnt nothing. */
static bool learnt(const struct trace_op *before, const struct trace_op *op,
                   const struct trace_op *ops)
{
    bool complete = op->match != TRACE_NO && op->state == STATE_COMPLETE;
    if (op_kind_class(op->kind) == CLASS_SEND)
        return trace_op_peer_matched(op) == (complete ? op->peer : trace_op_peer_matched(before)) &&
               trace_op_tag_matched(op) == (complete ? op->tag : trace_op_tag_matched(before));
    int source = complete ? (int)ops[op->match].rank : trace_op_peer_matched(before);
    int tag = complete ? ops[op->match].tag : trace_op_tag_matched(before);
    return trace_op_peer_matched(op) == source && trace_op_tag_matched(op) == tag;
}

/* Operations that were added rank by rank. */
static bool match_grouped(struct trace *trace)
{
    for (uint32_t i = 0; i < trace->op_count; i++)
        for (uint32_t later = trace->ops[i].rank + 1; later <= trace->ranks; later++)
            trace->rank_begin[later] = i + 1;
    return trace_match(trace);
}

static bool same(uint64_t *state)
{
    struct trace *trace = comms_of(RANKS);
    struct trace_op before[OPS_MAX];
    uint32_t match[OPS_MAX], count = 2 + dice_below(state, OPS_MAX - 1), rank = 0;
    bool threads = dice_below(state, 3) == 0;
    for (uint32_t i = 0; i < count; i++) {
        while (rank + 1 < RANKS && dice_below(state, count) < RANKS)
            rank++;
        struct trace_plain_op op = random_op(state, rank, count, threads);
        match[i] = op.match;
        trace_add_op(trace, &op);
        before[i] = trace->ops[i];
    }
    match_naively(before, count, match);
    bool good = match_grouped(trace);
    for (uint32_t i = 0; i < count && good; i++) {
        good = trace->ops[i].match == match[i] && learnt(&before[i], &trace->ops[i], trace->ops);
        if (!good)
            tap_note("op %u of %u, %s of rank %u: %d, by the rules %d; knows %d and %d", i, count,
                     op_kind_name(before[i].kind), before[i].rank, (int)trace->ops[i].match,
                     (int)match[i], trace_op_peer_matched(&trace->ops[i]),
                     trace_op_tag_matched(&trace->ops[i]));
    }
    trace_free(trace);
    return good;
}

static void random_traces(void)
{
    uint64_t state = 20261122;
    int wrong = 0;
    for (int i = 0; i < TRACES && !wrong; i++)
        wrong += !same(&state);
    tap_is_int(wrong, 0, "%d random traces are matched as the rules say", TRACES);
}

/* ---- every kind ---- */

/* A send of one kind, a receive of another, either in any state: only a pair that takes part
 * meets. */
static void every_kind_and_state(void)
{
    int wrong = 0, pairs = 0;
    for (int kind = 1; kind < OP_KIND_LIMIT; kind++)
        for (int other = 1; other < OP_KIND_LIMIT; other++)
            for (int state = STATE_POSTED; state <= STATE_FAILED; state++) {
                if (op_kind_class(kind) != CLASS_SEND || op_kind_class(other) == CLASS_NONE)
                    continue;
                struct trace *trace = comms_of(2);
                struct trace_plain_op send = trace_op_none(0, (enum op_kind)kind);
                struct trace_plain_op receive = trace_op_none(1, (enum op_kind)other);
                send.comm = receive.comm = 0;
                send.peer = 1;
                receive.peer = 0;
                send.tag = receive.tag = 5;
                send.state = (uint8_t)state;
                receive.state = STATE_COMPLETE;
                trace_add_op(trace, &send);
                trace_add_op(trace, &receive);
                bool meets = op_kind_class(other) == CLASS_RECEIVE && sends(&trace->ops[0]);
                wrong += !match_grouped(trace) || (trace->ops[1].match == 0) != meets;
                pairs += meets;
                trace_free(trace);
            }
    tap_ok(wrong == 0 && pairs > 0, "sends of every kind and state meet receives of every kind");
}

/* Two threads, each of which probes a message and receives what it has probed: the second came first.
 */
static void probes_of_threads(void)
{
    struct trace *trace = comms_of(2);
    for (int i = 0; i < 2; i++) {
        struct trace_plain_op send = trace_op_none(0, OP_SEND);
        send.comm = 0, send.peer = 1, send.tag = 5, send.count = 1 + i, send.type = 0x209;
        send.state = STATE_COMPLETE;
        trace_add_op(trace, &send);
    }
    for (uint32_t i = 0; i < 4; i++) {
        struct trace_plain_op op = trace_op_none(1, i < 2 ? OP_MPROBE : OP_MRECV);
        op.comm = 0, op.peer = 0, op.tag = 5, op.thread = i % 2, op.type = 0x209;
        op.state = STATE_COMPLETE;
        op.request = i < 2 ? 4 + i : i;
        op.count = op.count_matched = i < 2 ? -1 : i == 2 ? 2 : 1;
        trace_add_op(trace, &op);
    }
    tap_ok(match_grouped(trace) && trace->ops[4].match == 1 && trace->ops[5].match == 0,
           "of two threads that probe, each has the message whose amount it received");
    trace_free(trace);
}

int main(void)
{
    random_traces();
    probes_of_threads();
    every_kind_and_state();
    return tap_done();
}
