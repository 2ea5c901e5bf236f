/* What the checks look up of a trace (checker/context.h), each against the sentence that says it, of random operations: any kind, any state,
 * any field. No rule of MPI holds for these; whatever a file may say is asked. */
#include "checker/context.h"
#include "tests/checker/check_program.h"
#include "tests/dice.h"

enum { TRACES = 120, COMMS = 4 };

static uint64_t dice;

static uint32_t below(uint32_t n)
{
    return dice_below(&dice, n);
}

static struct trace_plain_op draw(struct program *p, uint32_t rank)
{
    static const uint8_t often[] = {
        OP_SEND,      OP_ISEND,  OP_RECV,  OP_IRECV,    OP_BSEND,   OP_IBSEND,          OP_SSEND,
        OP_ISSEND,    OP_IRSEND, OP_MRECV, OP_IMRECV,   OP_WAIT,    OP_ALLREDUCE,       OP_FINALIZE,
        OP_COMM_FREE, OP_PROBE,  OP_PUT,   OP_COMM_DUP, OP_WAITALL, OP_INTERCOMM_CREATE};
    static const uint16_t flags[] = {
        0, 0, 0, OP_NONBLOCKING, OP_PERSISTENT, OP_INACTIVE, OP_BUFFER_CHANGED, OP_ADJOINT, OP_CUT};
    struct trace_plain_op op = trace_op_none(rank, (enum op_kind)often[below(sizeof often)]);
    op.state = below(3) ? STATE_COMPLETE : (uint8_t)below(STATE_CANCELLED + 1);
    op.flags = flags[below(sizeof flags / sizeof *flags)];
    op.comm = below(9) ? below(COMMS) : TRACE_NO;
    op.comm_seq = below(3);
    op.site = trace_add_site(p->trace, "p.c", 1, "main");
    op.type = PROGRAM_DOUBLE + (below(6) == 0);
    op.signature = 1 + (below(6) == 0);
    op.count = below(40) ? below(3) : (INT64_C(1) << 30) + below(2);
    op.count = below(40) ? op.count : -1;
    op.error = below(12) == 0;
    op.batch = below(400) == 0;
    op.thread = below(50) ? 0 : below(4);
    op.pass = below(200) == 0;
    op.peer = (int32_t)below(3) - (below(9) == 0);
    op.tag = 1;
    if (op_kind_class((int)op.kind) == CLASS_RECEIVE && below(100) == 0)
        op.peer = TRACE_ANY;
    if (below(15) == 0)
        op.peer = TRACE_NONE;
    return op;
}

static bool is_directed(const struct trace_op *op)
{
    int class = (int)op_kind_class(op->kind);
    return class == CLASS_SEND || class == CLASS_RECEIVE || class == CLASS_PROBE;
}

/* Something that completes through a request: MPI's calls with an I before what they do, and those of persistent requests. */
static bool is_start(const struct trace_op *op)
{
    static const uint8_t kinds[] = {OP_ISEND, OP_ISSEND, OP_IBSEND, OP_IRSEND, OP_IRECV, OP_IMRECV};
    return memchr(kinds, op->kind, sizeof kinds) || op->flags & (OP_NONBLOCKING | OP_PERSISTENT);
}

/* Of a message: both agree in type, and what was sent has room; and both or none are of a backward pass. Of much room nothing is promised. */
static bool is_plain(const struct trace_op *send, const struct trace_op *receive)
{
    bool same = send->form->type == receive->form->type &&
                send->form->signature == receive->form->signature;
    bool room = send->count >= 0 && send->count <= receive->count && receive->count <= 1 << 30;
    return same && room && !(send->flags & OP_ADJOINT) == !(receive->flags & OP_ADJOINT);
}

static bool is_odd(const struct trace *trace, const struct trace_op *op)
{
    bool somebody = is_directed(op) && op->peer != TRACE_NONE;
    bool receives = somebody && op_kind_class(op->kind) == CLASS_RECEIVE;
    bool sends = somebody && op_kind_class(op->kind) == CLASS_SEND;
    bool refused = op->form->error != 0, lost = sends && op->match == TRACE_NO;
    bool unlike = receives && op->match != TRACE_NO && !is_plain(&trace->ops[op->match], op);
    bool none = op->kind == OP_WAIT && op->flags & OP_INACTIVE;
    bool left = is_start(op) && op_kind_class(op->kind) != CLASS_NONE && !(op->flags & OP_CUT) &&
                (op->request == TRACE_NO || op->state == STATE_POSTED);
    return refused || lost || unlike || none || left;
}

static bool is_noted(const struct trace *trace, uint32_t op)
{
    bool noted = false;
    for (size_t i = 0; i < trace->note_count; i++)
        noted = noted || (trace->notes[i].op == op && !strcmp(trace->notes[i].code, "M009"));
    return noted && trace->ops[op].form->error;
}

static const char *single_ops(const struct check_context *context)
{
    const struct trace *trace = context->trace;
    bool kinds[256] = {false}, batches = false, any = false, probed = false, changes = false,
         passes = false;
    uint32_t thread = 0;
    size_t odd = 0;
    for (uint32_t i = 0; i < trace->op_count; i++) {
        const struct trace_op *op = &trace->ops[i];
        kinds[op->kind] = true;
        batches = batches || op->form->batch;
        any = any || (op_kind_class(op->kind) == CLASS_RECEIVE && op->peer == TRACE_ANY);
        probed = probed || (op_kind_class(op->kind) == CLASS_PROBE && op->peer == TRACE_ANY);
        changes = changes || op->flags & OP_BUFFER_CHANGED;
        passes = passes || op->form->pass;
        thread = thread < op->form->thread ? op->form->thread : thread;
        if (is_odd(trace, op) && (odd >= context->odd_count || context->odd[odd++] != i))
            return "odd ones";
        if (check_is_refused(context, i) != is_noted(trace, i))
            return "refused ones";
        if (check_is_start(op) != is_start(op))
            return "starts";
        if (check_class(op) !=
            (is_directed(op) && op->peer == TRACE_NONE ? CLASS_NONE : op_kind_class(op->kind)))
            return "classes";
    }
    return odd != context->odd_count                          ? "more odd ones"
           : memcmp(kinds, context->kinds, sizeof kinds) != 0 ? "kinds"
           : batches != context->has_batches                  ? "batches"
           : any != context->has_wildcards                    ? "wildcards"
           : (any || probed) != context->has_any_source       ? "receives or probes from any"
           : changes != context->has_changes                  ? "changed buffers"
           : passes != context->has_passes                    ? "operations of passes"
           : thread != context->last_thread                   ? "threads"
                                                              : NULL;
}

static const char *ranks(const struct check_context *context)
{
    const struct trace *trace = context->trace;
    bool hung = false, worked = false, dead = false, data = false;
    size_t pass = 0;
    for (uint32_t rank = 0; rank < trace->ranks; rank++) {
        uint32_t blocked = TRACE_NO, finalize = TRACE_NO;
        enum rank_state state = trace->rank_info[rank].state;
        for (size_t i = trace->rank_begin[rank]; i < trace->rank_begin[rank + 1]; i++) {
            blocked = trace->ops[i].state == STATE_BLOCKED ? (uint32_t)i : blocked;
            finalize = trace->ops[i].kind == OP_FINALIZE ? (uint32_t)i : finalize;
        }
        bool works = trace->outcome == OUTCOME_TIMEOUT && state == RANK_RUNNING;
        blocked = works ? TRACE_NO : blocked;
        worked = worked || works;
        hung = hung || blocked != TRACE_NO;
        dead = dead || state == RANK_CRASHED || state == RANK_ABORTED;
        if (context->blocked[rank] != blocked || context->finalize[rank] != finalize)
            return "where a rank stood, or its Finalize";
        if (context->pass_begin[rank] != pass)
            return "passes";
        while (pass < trace->pass_count && trace->passes[pass].rank == rank)
            pass++;
    }
    for (size_t i = 0; i < trace->pass_count; i++)
        data = data || trace->passes[i].mode == PASS_DATA;
    bool whole = trace->outcome == OUTCOME_FINISHED || trace->outcome == OUTCOME_IMPORTED;
    return context->hung != hung                            ? "hung"
           : context->worked != worked                      ? "worked"
           : context->cut_short != (hung || dead || !whole) ? "cut short"
           : context->has_data_passes != data               ? "passes of data"
           : context->pass_begin[trace->ranks] != pass      ? "the last passes"
                                                            : NULL;
}

/* A communicator without members is one of all ranks. */
static const char *communicators(const struct trace *trace)
{
    for (uint32_t comm = 0; comm <= trace->comm_count; comm++) {
        const struct trace_comm *known =
            comm < trace->comm_count && trace->comms[comm].members ? &trace->comms[comm] : NULL;
        uint32_t size = known ? known->size : trace->ranks;
        if (check_comm_size(trace, comm) != size)
            return "the size of a communicator";
        for (uint32_t i = 0; i < size; i++)
            if (check_comm_member(trace, comm, i) != (known ? (uint32_t)known->members[i] : i))
                return "members";
        for (uint32_t rank = 0; rank < trace->ranks; rank++) {
            bool has = !known;
            for (uint32_t i = 0; i < size; i++)
                has = has || check_comm_member(trace, comm, i) == rank;
            if (check_comm_has(trace, comm, rank) != has)
                return "who is a member";
        }
    }
    return NULL;
}

/* Operations that are told apart by one field each. */
static const char *likenesses(const struct trace *trace)
{
    for (uint32_t i = 0; i + 1 < trace->op_count && i < 300; i++) {
        const struct trace_op *a = &trace->ops[i], *b = a + 1;
        uint32_t one = a->form->signature, two = b->form->signature;
        bool same = a->kind == b->kind && a->count == b->count && one == two &&
                    a->form->type == b->form->type && a->form->reduce_op == b->form->reduce_op;
        if (check_same_signature(a, b) != same)
            return "who is like whom";
        if (check_signatures_differ(a, b) != (one != two && one != 0 && two != 0))
            return "known signatures";
    }
    return NULL;
}

static void add_rest(struct program *p)
{
    static const char *const codes[] = {"M009", "M009", "M008"};
    static const int outcomes[] = {OUTCOME_FINISHED, OUTCOME_IMPORTED, OUTCOME_TIMEOUT,
                                   OUTCOME_FINISHED, OUTCOME_DEADLOCK, OUTCOME_CRASHED};
    struct trace *trace = p->trace;
    char text[] = "note";
    for (uint32_t i = below(30); i-- > 0;) {
        struct trace_note note = {.op = below(8) ? below((uint32_t)trace->op_count) : TRACE_NO,
                                  .node = TRACE_NO,
                                  .site = TRACE_NO,
                                  .text = text};
        snprintf(note.code, sizeof note.code, "%s", codes[below(3)]);
        trace_add_note(trace, &note);
    }
    for (uint32_t i = below(4); i-- > 0;) {
        struct trace_pass pass = {
            .rank = below(trace->ranks), .pass = i + 1, .mode = below(6) ? 0 : PASS_DATA};
        trace_add_pass(trace, &pass);
    }
    trace->outcome = (enum trace_outcome)outcomes[below(6)];
    for (uint32_t rank = 0; rank < trace->ranks; rank++)
        trace->rank_info[rank].state = below(2 * trace->ranks) ? RANK_FINISHED
                                       : below(2)              ? RANK_RUNNING
                                       : below(2)              ? RANK_CRASHED
                                                               : RANK_ABORTED;
}

/* Of many ranks each has more operations than are walked over at once. */
static struct program build(unsigned long long seed)
{
    dice = seed;
    bool many = seed % 40 == 0;
    uint32_t ranks = many ? 280 : 3;
    struct program p = program_new(ranks);
    program_comm(&p, 2, (int32_t[]){2, 0});
    program_comm(&p, 1, (int32_t[]){1});
    struct trace_comm unknown = {
        .id = 9, .size = 1, .parent = TRACE_NO, .adjoint_of = TRACE_NO, .name = "unknown"};
    trace_add_comm(p.trace, &unknown);
    for (uint32_t rank = 0; rank < ranks; rank++)
        for (uint32_t i = many ? 60 + below(12) : below(30); i-- > 0;) {
            struct trace_plain_op op = draw(&p, rank);
            if (many && below(30))
                op = program_op(&p, rank, OP_BARRIER, 1);
            uint32_t index = trace_add_op(p.trace, &op), wait;
            if (below(2) == 0 && is_start(&p.trace->ops[index])) {
                op = program_op(&p, rank, OP_WAIT, 2);
                wait = trace_add_op(p.trace, &op);
                trace_add_wait(p.trace, wait, index, true);
            }
        }
    if (p.trace->op_count)
        add_rest(&p);
    return p;
}

int main(void)
{
    struct dice_seeds seeds = dice_seeds(TRACES);
    unsigned long long odd = 0, refused = 0, ops = 0, wrong = 0, built = 0;
    for (unsigned long long seed = seeds.first; seed < seeds.first + seeds.count; seed++) {
        struct program p = build(seed);
        struct failure failure = {0};
        struct check_options options;
        struct check_context context;
        if (trace_finish(p.trace, &failure)) {
            built++;
            check_options_init(&options);
            check_context_init(&context, p.trace, &options);
            const char *what = single_ops(&context);
            what = what ? what : ranks(&context);
            what = what ? what : p.trace->ranks < 10 ? communicators(p.trace) : NULL;
            what = what ? what : likenesses(p.trace);
            if (what && !wrong++)
                tap_note("seed %llu: %s", seed, what);
            odd += context.odd_count;
            refused += context.refused_count;
            ops += p.trace->op_count;
            check_context_release(&context);
        }
        trace_free(p.trace);
    }
    tap_is_int(built, seeds.count, "random operations are traces");
    tap_ok(odd > 10 * seeds.count && odd * 2 < ops && refused > seeds.count / 4,
           "of %llu operations %llu are odd, %llu refused", ops, odd, refused);
    tap_is_int(wrong, 0, "what is looked up of them is what its sentence says");
    return tap_done();
}
