/* What a plan (replay/plan.h) makes of probes, tests and waits of random programs, held against the rows and matches of the trace, one
 * by one. SIMRUN_SOAK=N tries N programs, from SIMRUN_SEED on. */
#include "checker/replay/plan.h"
#include "tests/checker/check_program.h"
#include "tests/dice.h"

enum { RANKS = 3, CALLS = 14, TAGS = 2, STARTS_MAX = 40, ROWS_MAX = 4 };

static uint64_t dice;

static uint32_t below(uint32_t n)
{
    return dice_below(&dice, n);
}

/* A start is in the rows of one call that completed it, and of any before. */
struct opened {
    uint32_t starts[STARTS_MAX], count;
};

/* The world, or another communicator of all. */
static uint32_t comm_of(const struct program *p)
{
    return below(6) ? p->world : (uint32_t)p->trace->comm_count - 1;
}

static void add_start(struct program *p, uint32_t rank, struct opened *opened)
{
    uint32_t kind = below(2), peer = below(RANKS), tag = below(TAGS);
    struct trace_plain_op op = program_op(p, rank, kind ? OP_ISEND : OP_IRECV, 1);
    op.comm = comm_of(p);
    op.peer = (int32_t)peer;
    op.tag = (int32_t)tag;
    opened->starts[opened->count++] = trace_add_op(p->trace, &op);
}

static void add_message(struct program *p, uint32_t rank)
{
    uint32_t kind = below(2), peer = below(RANKS), tag = below(TAGS), any = below(3);
    struct trace_plain_op op = program_op(p, rank, kind ? OP_SEND : OP_RECV, 2);
    op.comm = comm_of(p);
    op.peer = (int32_t)peer;
    op.tag = (int32_t)tag;
    if (!kind) {
        op.peer_matched = op.peer;
        op.tag_matched = op.tag;
        op.tag = any == 0 ? TRACE_ANY : op.tag;
        op.peer = any == 1 ? TRACE_ANY : op.peer;
    }
    trace_add_op(p->trace, &op);
}

static void add_probe(struct program *p, uint32_t rank)
{
    static const uint8_t kinds[] = {OP_PROBE, OP_IPROBE, OP_MPROBE, OP_IMPROBE};
    static const uint8_t states[] = {STATE_COMPLETE, STATE_COMPLETE, STATE_BLOCKED, STATE_NEVER};
    uint32_t kind = below(4), peer = below(RANKS + 1), tag = below(TAGS + 1), state = below(4);
    struct trace_plain_op op = program_op(p, rank, (enum op_kind)kinds[kind], 3);
    op.comm = comm_of(p);
    op.peer = peer == RANKS ? TRACE_ANY : (int32_t)peer;
    op.tag = tag == TAGS ? TRACE_ANY : (int32_t)tag;
    op.state = states[state];
    if (op.state == STATE_COMPLETE && (kind >= 2 || below(2))) { /* it says what it found */
        op.peer_matched = op.peer < 0 ? (int32_t)below(RANKS) : op.peer;
        op.tag_matched = op.tag < 0 ? (int32_t)below(TAGS) : op.tag;
    }
    uint32_t probe = trace_add_op(p->trace, &op);
    if (op.state != STATE_COMPLETE || kind < 2 || below(4) == 0)
        return;
    if (below(2))
        add_message(p, rank);
    op.kind = below(2) ? OP_MRECV : OP_IMRECV;
    op.request = op.kind == OP_MRECV ? probe : TRACE_NO;
    uint32_t receive = trace_add_op(p->trace, &op);
    p->trace->ops[probe].request = receive;
}

static void add_wait(struct program *p, uint32_t rank, struct opened *opened)
{
    static const uint8_t kinds[] = {OP_WAIT,    OP_WAITALL, OP_WAITANY, OP_WAITSOME,
                                    OP_TESTALL, OP_TESTANY, OP_TESTSOME};
    uint32_t kind = below(7), rows = 1 + below(ROWS_MAX - 1), fails = below(4);
    rows = kind == 0 ? 1 : rows;
    if (opened->count < rows)
        return;
    struct trace_plain_op op = program_op(p, rank, (enum op_kind)kinds[kind], 4);
    op.comm = TRACE_NO;
    op.state = kind >= 4 && !fails ? STATE_NEVER : STATE_COMPLETE;
    uint32_t wait = trace_add_op(p->trace, &op);
    for (uint32_t i = opened->count - rows; i < opened->count; i++) {
        bool done = below(3) || kind == 4; /* Testall finds all or none */
        trace_add_wait(p->trace, wait, opened->starts[i], op.state == STATE_COMPLETE && done);
    }
    opened->count -= rows;
}

static struct program program_random(void)
{
    struct program p = program_new(RANKS);
    program_comm(&p, RANKS, (int32_t[]){0, 1, 2});
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        struct opened opened = {.count = 0};
        for (int i = 0; i < CALLS; i++) {
            uint32_t what = below(8);
            if (what < 3)
                add_start(&p, rank, &opened);
            else if (what < 5)
                add_message(&p, rank);
            else if (what < 6)
                add_probe(&p, rank);
            else
                add_wait(&p, rank, &opened);
        }
    }
    program_finish(&p);
    return p;
}

/* ---- what is expected ---- */

/* The receive of the message that leaves the mailbox with this operation: its own, or that of what the matched probe found. */
static uint32_t receive_at(const struct trace *trace, uint32_t op)
{
    switch (trace->ops[op].kind) {
    case OP_RECV:
    case OP_IRECV:
        return op;
    case OP_MPROBE:
    case OP_IMPROBE:
        return trace->ops[op].request;
    default:
        return TRACE_NO;
    }
}

/* A matched probe sees what it takes, another what leaves first of what is like the message that it found; or what the same sender sent
 * before, if that leaves later. */
static uint32_t seen_by(const struct trace *trace, uint32_t probe)
{
    const struct trace_op *look = &trace->ops[probe];
    bool matched = look->kind == OP_MPROBE || look->kind == OP_IMPROBE;
    int32_t source =
        look->peer < 0 && look->form->peer_matched >= 0 ? look->form->peer_matched : look->peer;
    int32_t tag =
        look->tag < 0 && look->form->tag_matched >= 0 ? look->form->tag_matched : look->tag;
    if (look->state != STATE_COMPLETE && look->state != STATE_BLOCKED)
        return TRACE_NO;
    uint32_t seen = TRACE_NO;
    for (uint32_t op = probe; op < trace->op_count; op++) {
        uint32_t receive = trace->ops[op].rank == look->rank ? receive_at(trace, op) : TRACE_NO;
        uint32_t message = receive == TRACE_NO ? TRACE_NO : trace->ops[receive].match;
        if (matched)
            return message;
        if (message == TRACE_NO)
            continue;
        const struct trace_op *send = &trace->ops[message];
        if (look->form->comm == send->form->comm && (source < 0 || source == (int32_t)send->rank) &&
            (tag < 0 || tag == send->tag) &&
            (seen == TRACE_NO || (trace->ops[seen].rank == send->rank && message < seen)))
            seen = message;
    }
    return seen;
}

static bool probe_is_right(const struct check_plan *plan, uint32_t op)
{
    const struct plan_step *step = &plan->steps[op];
    const struct trace *trace = plan->context->trace;
    uint32_t send = seen_by(trace, op);
    bool may_fail = trace->ops[op].kind == OP_IPROBE || trace->ops[op].kind == OP_IMPROBE;
    return step->target == send && step->tested == may_fail &&
           step->action == (send == TRACE_NO ? PLAN_PASS : PLAN_PROBE);
}

static bool wait_is_right(const struct check_plan *plan, uint32_t op)
{
    const struct plan_step *step = &plan->steps[op];
    const struct trace *trace = plan->context->trace;
    const uint8_t kind = trace->ops[op].kind;
    uint32_t rows[ROWS_MAX], count = 0, done = TRACE_NO;
    for (size_t row = 0; row < trace->wait_count; row++) {
        if (trace->waits[row].wait != op)
            continue;
        rows[count++] = trace->waits[row].start;
        if (done == TRACE_NO && trace->waits[row].completed)
            done = trace->waits[row].start;
    }
    bool waits = kind == OP_WAIT || kind == OP_WAITALL || kind == OP_WAITANY || kind == OP_WAITSOME;
    bool any = kind == OP_WAITANY || kind == OP_WAITSOME;
    if (!waits && done == TRACE_NO) /* it found nothing */
        return step->action == PLAN_PASS;
    if (!waits && kind != OP_TESTALL) { /* what it found first */
        rows[0] = done;
        count = 1;
    }
    enum plan_action action = any ? PLAN_WAIT_ANY : PLAN_WAIT_ALL;
    bool right = step->tested == !waits &&
                 (step->action == action || (count == 1 && step->action == PLAN_WAIT_ONE));
    for (uint32_t i = 0; i < count; i++)
        right = right && plan_request(plan, op, i) == rows[i];
    return right && plan_request(plan, op, count) == TRACE_NO;
}

int main(void)
{
    struct dice_seeds seeds = dice_seeds(1000);
    unsigned probes = 0, waits = 0, wrong_probes = 0, wrong_waits = 0;
    for (unsigned long long seed = seeds.first; seed < seeds.first + seeds.count; seed++) {
        struct check_options options;
        struct check_context context;
        struct check_plan plan;
        dice = seed;
        struct program p = program_random();
        check_options_init(&options);
        check_context_init(&context, p.trace, &options);
        check_plan_init(&plan, &context, &(struct plan_options){0});
        for (uint32_t op = 0; op < p.trace->op_count; op++) {
            enum op_class class = op_kind_class(p.trace->ops[op].kind);
            bool right = class == CLASS_PROBE  ? probe_is_right(&plan, op)
                         : class == CLASS_WAIT ? wait_is_right(&plan, op)
                                               : true;
            probes += class == CLASS_PROBE && plan.steps[op].action == PLAN_PROBE;
            waits += class == CLASS_WAIT && plan.steps[op].action != PLAN_PASS;
            wrong_probes += class == CLASS_PROBE && !right;
            wrong_waits += class == CLASS_WAIT && !right;
            if (!right)
                printf("# seed %llu, op %u: kind %s, action %u, target %u\n", seed, op,
                       op_kind_name(p.trace->ops[op].kind), plan.steps[op].action,
                       plan.steps[op].target);
        }
        check_plan_release(&plan);
        check_context_release(&context);
        trace_free(p.trace);
    }
    tap_is_int(wrong_probes, 0, "a probe waits for what is received next of what it sees");
    tap_is_int(wrong_waits, 0, "a wait waits for its requests, a test for what it found");
    tap_ok(probes > seeds.count / 5 && waits > seeds.count, "%u probes and %u waits were asked",
           probes, waits);
    return tap_done();
}
