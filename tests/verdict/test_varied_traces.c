/* Random traces of all that ranks do beside backward passes: messages by name and from anybody, probes, requests, collectives, locks and
 * epochs of windows, threads, batches; some end well, some stand still, some are plans. What is said of them, and of each with a few
 * values changed, is held word for word (golden_said.h). And whatever is said: asked again, or with other names for tags and another
 * begin of time, it is the same. */
#include "tests/checker/check_program.h"
#include "tests/dice.h"

enum { TRACES = 800, RANKS = 4, COMMS = 4, WINDOW = 3, EVENTS = 9, OPS_MOST = 40 };

static uint64_t dice;

static uint32_t below(uint32_t n)
{
    return dice_below(&dice, n);
}

struct varied {
    struct program p;
    uint32_t ranks, comms[COMMS], seq[RANKS][COMMS];
    uint32_t made[RANKS], limit[RANKS]; /* a rank stands in its last */
    uint64_t clock[RANKS], begin;
    int tags;
    bool hangs, threads;
};

/* Where it stands is told by what it is. TRACE_NO: the rank has not come so far. */
static uint32_t add(struct varied *v, uint32_t rank, struct trace_plain_op op, uint32_t thread)
{
    uint64_t pause = below(3), length = below(4);
    if (v->made[rank] >= v->limit[rank])
        return TRACE_NO;
    v->made[rank]++;
    op.thread = v->threads ? thread : 0;
    op.begin = v->begin + (v->clock[rank] += pause);
    op.end = op.begin + length;
    if (v->hangs && v->made[rank] == v->limit[rank]) {
        op.state = STATE_BLOCKED;
        op.end = 0;
        op.match = TRACE_NO;
        v->p.trace->rank_info[rank].state = RANK_BLOCKED;
    }
    return trace_add_op(v->p.trace, &op);
}

static struct trace_plain_op op_new(struct varied *v, uint32_t rank, enum op_kind kind,
                                    uint32_t comm)
{
    struct trace_plain_op op = program_op(&v->p, rank, kind, 1 + (int)kind);
    op.comm = v->comms[comm];
    return op;
}

static bool starts(uint8_t kind)
{
    return kind == OP_ISEND || kind == OP_ISSEND || kind == OP_IRECV;
}

static void wait_for(struct varied *v, uint32_t rank, uint32_t start, uint32_t thread)
{
    static const enum op_kind kinds[] = {OP_WAIT, OP_WAIT, OP_WAITALL, OP_WAITANY, OP_TEST};
    enum op_kind kind = kinds[below(5)];
    struct trace_plain_op op = op_new(v, rank, kind, 0);
    op.comm = TRACE_NO;
    op.request = kind == OP_WAIT || kind == OP_TEST ? start : TRACE_NO;
    if (start == TRACE_NO)
        return;
    uint32_t wait = add(v, rank, op, thread);
    if (wait != TRACE_NO)
        trace_add_wait(v->p.trace, wait, start, v->p.trace->ops[wait].state == STATE_COMPLETE);
}

static void add_message(struct varied *v)
{
    static const enum op_kind sends[] = {OP_SEND, OP_SEND, OP_SSEND, OP_ISEND, OP_ISSEND, OP_BSEND};
    static const enum op_kind receives[] = {OP_RECV, OP_RECV, OP_RECV, OP_IRECV};
    uint32_t from = below(v->ranks), to = (from + 1 + below(v->ranks - 1)) % v->ranks;
    uint32_t comm = below(2), thread = below(2), other = below(2), batch = below(8) == 0;
    struct trace_plain_op send = op_new(v, from, sends[below(6)], comm);
    struct trace_plain_op receive = op_new(v, to, receives[below(4)], comm);
    send.peer = (int32_t)to;
    receive.peer = below(4) ? (int32_t)from : TRACE_ANY;
    send.tag = v->tags + (int)below(2);
    receive.tag = below(8) ? send.tag : TRACE_ANY;
    if (below(24) == 0)
        send.tag = v->tags + 5; /* nobody takes it */
    send.count = receive.count = 1 + below(2);
    send.batch = receive.batch = batch;
    receive.peer_matched = (int32_t)from;
    receive.tag_matched = send.tag;
    if (below(6) == 0) {
        struct trace_plain_op probe = receive;
        probe.kind = below(3) ? OP_PROBE : OP_IPROBE;
        probe.site = trace_add_site(v->p.trace, "p.c", 1 + probe.kind, "main");
        probe.batch = 0;
        add(v, to, probe, other);
    }
    bool receive_first = below(2);
    uint32_t taken = receive_first ? add(v, to, receive, other) : TRACE_NO;
    uint32_t given = add(v, from, send, thread);
    taken = receive_first ? taken : add(v, to, receive, other);
    if (starts(send.kind) && below(12))
        wait_for(v, from, given, thread);
    if (starts(receive.kind) && below(12))
        wait_for(v, to, taken, other);
}

static void add_collective(struct varied *v, enum op_kind kind, uint32_t comm)
{
    uint32_t absent = below(30) ? TRACE_NO : below(v->ranks), root = below(v->ranks);
    uint32_t thread = below(2);
    for (uint32_t rank = 0; rank < v->ranks; rank++) {
        struct trace_plain_op op = op_new(v, rank, kind, comm);
        if (rank == absent || (comm == 2 && rank == 0))
            continue;
        op.comm_seq = v->seq[rank][comm];
        op.peer = kind == OP_BCAST ? (int32_t)root : TRACE_NONE;
        op.reduce_op = kind == OP_ALLREDUCE ? 3 : 0;
        if (add(v, rank, op, thread) != TRACE_NO)
            v->seq[rank][comm]++;
    }
}

static void add_in_window(struct varied *v, uint32_t rank, enum op_kind kind, uint32_t peer)
{
    struct trace_plain_op op = op_new(v, rank, kind, WINDOW);
    op.peer = (int32_t)peer;
    add(v, rank, op, 0);
}

static void add_epoch(struct varied *v)
{
    uint32_t rank = below(v->ranks), target = below(v->ranks), how = below(4);
    if (how < 2) {
        add_in_window(v, rank, OP_WIN_LOCK, target);
        add_in_window(v, rank, OP_PUT, target);
        if (below(8))
            add_in_window(v, rank, OP_WIN_UNLOCK, target);
    } else if (how == 2 && target != rank) {
        add_in_window(v, target, OP_WIN_POST, rank);
        add_in_window(v, rank, OP_WIN_START, target);
        if (below(8))
            add_in_window(v, rank, OP_WIN_COMPLETE, target);
        add_in_window(v, target, OP_WIN_WAIT, rank);
    } else {
        add_collective(v, OP_WIN_FENCE, WINDOW);
    }
}

static struct varied varied_new(uint64_t seed, int tags, uint64_t begin)
{
    static const enum op_kind kinds[] = {OP_BARRIER, OP_BCAST, OP_ALLREDUCE};
    dice = seed;
    struct varied v = {.ranks = 2 + below(RANKS - 1), .tags = tags, .begin = begin};
    int32_t all[RANKS] = {0, 1, 2, 3};
    v.p = program_new(v.ranks);
    v.hangs = below(2);
    v.threads = below(4) == 0;
    bool windows = below(2), plan = !v.hangs && below(2);
    v.comms[0] = v.p.world;
    v.comms[1] = program_comm(&v.p, v.ranks, all);
    v.comms[2] = program_comm(&v.p, v.ranks - 1, all + 1);
    v.comms[WINDOW] = program_comm(&v.p, v.ranks, all);
    for (uint32_t rank = 0; rank < v.ranks; rank++) {
        uint32_t most = 1 + below(12);
        v.limit[rank] = v.hangs && below(4) ? most : OPS_MOST;
        v.p.trace->rank_info[rank].state = RANK_FINISHED;
        v.p.trace->rank_info[rank].finalized = true;
    }
    for (uint32_t i = 3 + below(EVENTS); i > 0; i--) {
        uint32_t how = below(8), kind = below(3), comm = below(3);
        if (how < 4)
            add_message(&v);
        else if (how < 6 || !windows)
            add_collective(&v, kinds[kind], comm);
        else
            add_epoch(&v);
    }
    v.p.trace->outcome = plan ? OUTCOME_IMPORTED : OUTCOME_FINISHED;
    for (uint32_t rank = 0; rank < v.ranks; rank++)
        if (v.p.trace->rank_info[rank].state == RANK_BLOCKED)
            v.p.trace->outcome = OUTCOME_DEADLOCK;
    return v;
}

/* Codes, and which operations have which role. */
static uint64_t told(const struct trace *trace, unsigned *count)
{
    struct check_options options;
    struct findings findings;
    check_options_init(&options);
    findings_init(&findings);
    check_trace(trace, &options, &findings);
    uint64_t hash = findings.count;
    for (size_t i = 0; i < findings.count; i++) {
        hash = golden_mix_text(hash, findings.items[i].code);
        for (size_t k = 0; k < findings.items[i].op_count; k++)
            hash = golden_mix_text(golden_mix(hash, findings.items[i].ops[k].op),
                                   findings.items[i].ops[k].role);
    }
    *count += findings.count > 0;
    findings_release(&findings);
    return hash;
}

int main(void)
{
    unsigned wrong = 0, again = 0, some = 0;
    said_open("varied_traces", 20);
    for (uint64_t seed = 1; seed <= TRACES; seed++) {
        struct varied v = varied_new(seed, 0, 1), other = varied_new(seed, 100, 1001);
        program_finish_said(&v.p);
        program_finish(&other.p);
        unsigned found = 0;
        uint64_t hash = told(v.p.trace, &some);
        again += hash != told(v.p.trace, &found);
        bool same = hash == told(other.p.trace, &found);
        wrong += !same;
        if (!same)
            tap_note("trace %llu", (unsigned long long)seed);
        trace_free(v.p.trace);
        trace_free(other.p.trace);
    }
    tap_is_int(again, 0, "asked again, the same is said");
    tap_is_int(wrong, 0, "other tags and another begin of time change nothing");
    tap_ok(some > TRACES / 4 && some < TRACES, "something is found in %u of %d", some, TRACES);
    said_close();
    return tap_done();
}
