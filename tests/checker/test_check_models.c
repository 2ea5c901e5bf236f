/* The progress-model table of the catalogue: every program under eager, rendezvous and atomic
 * batch. */
#include "tests/change_op.h"
#include "tests/checker/check_program.h"

enum { STAGES_MAX = 8 };

/* Programs are sequences of batches per rank: an op outside a batch is blocking. */
struct pipe {
    struct program program;
    uint32_t batches;
    uint32_t starts[8];
    size_t open;
    int line;
};

static struct pipe pipe_new(uint32_t ranks)
{
    return (struct pipe){.program = program_new(ranks)};
}

static void send(struct pipe *pipe, int rank, int to, int tag)
{
    program_p2p(&pipe->program, (uint32_t)rank, OP_SEND, to, tag, ++pipe->line);
}

static void receive(struct pipe *pipe, int rank, int from, int tag)
{
    program_p2p(&pipe->program, (uint32_t)rank, OP_RECV, from, tag, ++pipe->line);
}

static void batch_begin(struct pipe *pipe)
{
    pipe->program.batch = ++pipe->batches;
    pipe->open = 0;
}

static void batch_send(struct pipe *pipe, int rank, int to, int tag)
{
    pipe->starts[pipe->open++] =
        program_p2p(&pipe->program, (uint32_t)rank, OP_ISEND, to, tag, ++pipe->line);
}

static void batch_receive(struct pipe *pipe, int rank, int from, int tag)
{
    pipe->starts[pipe->open++] =
        program_p2p(&pipe->program, (uint32_t)rank, OP_IRECV, from, tag, ++pipe->line);
}

static void batch_wait(struct pipe *pipe, int rank)
{
    pipe->program.batch = 0;
    if (pipe->open)
        program_waitall(&pipe->program, (uint32_t)rank, pipe->starts, pipe->open, ++pipe->line);
}

/* Forward messages have tag 0, backward ones tag 1; the ends of the pipeline have fewer neighbours.
 */
struct stage {
    struct pipe *pipe;
    int rank, last;
};

static void send_forward(struct stage *s)
{
    if (s->rank < s->last)
        send(s->pipe, s->rank, s->rank + 1, 0);
}

static void receive_forward(struct stage *s)
{
    if (s->rank > 0)
        receive(s->pipe, s->rank, s->rank - 1, 0);
}

static void send_backward(struct stage *s)
{
    if (s->rank > 0)
        send(s->pipe, s->rank, s->rank - 1, 1);
}

static void receive_backward(struct stage *s)
{
    if (s->rank < s->last)
        receive(s->pipe, s->rank, s->rank + 1, 1);
}

static void batch_forward_backward(struct stage *s)
{
    batch_begin(s->pipe);
    if (s->rank < s->last) {
        batch_send(s->pipe, s->rank, s->rank + 1, 0);
        batch_receive(s->pipe, s->rank, s->rank + 1, 1);
    }
    batch_wait(s->pipe, s->rank);
}

static void batch_backward_forward(struct stage *s, bool forward)
{
    batch_begin(s->pipe);
    if (s->rank > 0) {
        batch_send(s->pipe, s->rank, s->rank - 1, 1);
        if (forward)
            batch_receive(s->pipe, s->rank, s->rank - 1, 0);
    }
    batch_wait(s->pipe, s->rank);
}

static struct pipe gpipe(int stages, int microbatches)
{
    struct pipe pipe = pipe_new((uint32_t)stages);
    for (int rank = 0; rank < stages; rank++) {
        struct stage s = {&pipe, rank, stages - 1};
        for (int m = 0; m < microbatches; m++) {
            receive_forward(&s);
            send_forward(&s);
        }
        for (int m = 0; m < microbatches; m++) {
            receive_backward(&s);
            send_backward(&s);
        }
    }
    return pipe;
}

/* One forward, one backward, with (Megatron) or without the send of one fused with the receive of
 * the other. */
static struct pipe one_f_one_b(int stages, int microbatches, bool fused)
{
    struct pipe pipe = pipe_new((uint32_t)stages);
    for (int rank = 0; rank < stages; rank++) {
        struct stage s = {&pipe, rank, stages - 1};
        int warmup = stages - rank - 1 < microbatches ? stages - rank - 1 : microbatches;
        for (int m = 0; m < warmup; m++) {
            receive_forward(&s);
            send_forward(&s);
        }
        if (microbatches > warmup)
            receive_forward(&s);
        for (int m = warmup; m < microbatches; m++) {
            bool more = m + 1 < microbatches;
            if (fused) {
                batch_forward_backward(&s);
                batch_backward_forward(&s, more);
                continue;
            }
            send_forward(&s);
            receive_backward(&s);
            send_backward(&s);
            if (more)
                receive_forward(&s);
        }
        for (int m = 0; m < warmup; m++) {
            receive_backward(&s);
            send_backward(&s);
        }
    }
    return pipe;
}

/* The warm-up goes one microbatch further, and its last send joins the first backward receive. */
static struct pipe batched_pairs(int stages, int microbatches)
{
    struct pipe pipe = pipe_new((uint32_t)stages);
    for (int rank = 0; rank < stages; rank++) {
        struct stage s = {&pipe, rank, stages - 1};
        int warmup = stages - rank < microbatches ? stages - rank : microbatches, forward = 0,
            backward = 0;
        for (; forward < warmup; forward++) {
            receive_forward(&s);
            if (forward + 1 < warmup)
                send_forward(&s);
        }
        for (;;) {
            batch_forward_backward(&s);
            backward++;
            bool more = forward < microbatches;
            batch_backward_forward(&s, more);
            if (!more)
                break;
            forward++;
        }
        for (; backward < microbatches; backward++) {
            receive_backward(&s);
            send_backward(&s);
        }
    }
    return pipe;
}

static struct pipe ring(int ranks, int receive_first_from, bool by_parity)
{
    struct pipe pipe = pipe_new((uint32_t)ranks);
    for (int rank = 0; rank < ranks; rank++) {
        bool receives_first = by_parity ? rank % 2 == 1 : rank >= receive_first_from;
        if (receives_first)
            receive(&pipe, rank, (rank + ranks - 1) % ranks, 0);
        send(&pipe, rank, (rank + 1) % ranks, 0);
        if (!receives_first)
            receive(&pipe, rank, (rank + ranks - 1) % ranks, 0);
    }
    return pipe;
}

/* Rank 0 feeds rank 1 and, past it, rank 2; rank 2 takes both in one batch or one after the other.
 */
static struct pipe skip(bool split)
{
    struct pipe pipe = pipe_new(3);
    batch_begin(&pipe);
    batch_send(&pipe, 0, 1, 0);
    batch_send(&pipe, 0, 2, 0);
    batch_wait(&pipe, 0);
    receive(&pipe, 1, 0, 0);
    send(&pipe, 1, 2, 0);
    batch_begin(&pipe);
    batch_receive(&pipe, 2, 0, 0);
    if (split) {
        batch_wait(&pipe, 2);
        batch_begin(&pipe);
    }
    batch_receive(&pipe, 2, 1, 0);
    batch_wait(&pipe, 2);
    return pipe;
}

static struct pipe interleaved(void)
{
    struct pipe pipe = pipe_new(2);
    send(&pipe, 0, 1, 1);
    receive(&pipe, 0, 1, 2);
    send(&pipe, 1, 0, 2);
    receive(&pipe, 1, 0, 1);
    return pipe;
}

static struct pipe four_groups(bool ordered)
{
    struct pipe pipe = pipe_new(4);
    uint32_t rows[2] = {program_comm(&pipe.program, 2, (int32_t[]){0, 1}),
                        program_comm(&pipe.program, 2, (int32_t[]){2, 3})};
    uint32_t columns[2] = {program_comm(&pipe.program, 2, (int32_t[]){0, 2}),
                           program_comm(&pipe.program, 2, (int32_t[]){1, 3})};
    for (uint32_t rank = 0; rank < 4; rank++) {
        bool row_first = ordered || rank == 0 || rank == 3;
        if (row_first)
            program_collective(&pipe.program, rank, OP_ALLREDUCE, rows[rank / 2], 0, 1);
        program_collective(&pipe.program, rank, OP_ALLREDUCE, columns[rank % 2], 0, 2);
        if (!row_first)
            program_collective(&pipe.program, rank, OP_ALLREDUCE, rows[rank / 2], 0, 1);
    }
    return pipe;
}

/* The verdict under one model alone. The trace is a plan that nobody has run, so that a hang in
 * every model is one too. */
static bool hangs(struct pipe *pipe, unsigned model)
{
    struct check_options options;
    char codes[64];
    check_options_init(&options);
    options.models = model;
    if (check_options_parse(&options, "models", NULL) != 0)
        return false;
    return *program_codes(&pipe->program, &options, codes, sizeof codes) != 0;
}

static void row(const char *name, struct pipe pipe, bool eager, bool rendezvous, bool batch)
{
    pipe.program.trace->outcome = OUTCOME_IMPORTED;
    program_finish(&pipe.program);
    tap_is_int(hangs(&pipe, CHECK_EAGER), eager, "%s, eager: %s", name,
               eager ? "hangs" : "is well");
    tap_is_int(hangs(&pipe, CHECK_RENDEZVOUS), rendezvous, "%s, rendezvous: %s", name,
               rendezvous ? "hangs" : "is well");
    tap_is_int(hangs(&pipe, CHECK_BATCH), batch, "%s, atomic batch: %s", name,
               batch ? "hangs" : "is well");
    trace_free(pipe.program.trace);
}

/* Every rank receives, then sends: by two threads the sends do not wait for the receives. */
static struct pipe threads(uint32_t sender)
{
    struct pipe pipe = pipe_new(2);
    for (int rank = 0; rank < 2; rank++) {
        receive(&pipe, rank, 1 - rank, 0);
        uint32_t op = program_p2p(&pipe.program, (uint32_t)rank, OP_SEND, 1 - rank, 0, ++pipe.line);
        CHANGE_OP(pipe.program.trace, op, thread, sender);
    }
    return pipe;
}

/* A rank waits for any of two messages: one that its other thread, or nobody, sends it, and one that
 * never comes. */
static struct pipe other_thread(bool sends)
{
    struct pipe pipe = pipe_new(1);
    if (sends) {
        uint32_t send = program_p2p(&pipe.program, 0, OP_SEND, 0, 7, 1);
        CHANGE_OP(pipe.program.trace, send, thread, 1);
    }
    uint32_t never = program_p2p(&pipe.program, 0, OP_IRECV, 0, 8, 2),
             comes = program_p2p(&pipe.program, 0, OP_IRECV, 0, 7, 3);
    struct trace_plain_op op = program_op(&pipe.program, 0, OP_WAITANY, 4);
    op.comm = TRACE_NO;
    uint32_t wait = trace_add_op(pipe.program.trace, &op);
    trace_add_wait(pipe.program.trace, wait, never, false);
    trace_add_wait(pipe.program.trace, wait, comes, false);
    return pipe;
}

/* Rank 0 broadcasts and then sends; rank 1 receives before it joins. As a file: nothing ran. */
static void waits_for_data_only(bool root_first)
{
    struct program p = program_new(2);
    struct findings findings;
    struct check_options options;
    for (uint32_t rank = 0; rank < 2; rank++) {
        struct trace_plain_op bcast = program_op(&p, rank, OP_BCAST, 1);
        bcast.comm = p.world;
        bcast.peer = root_first ? 0 : 1;
        if (rank == 1)
            program_p2p(&p, 1, OP_RECV, 0, 0, 2);
        trace_add_op(p.trace, &bcast);
        if (rank == 0)
            program_p2p(&p, 0, OP_SEND, 1, 0, 3);
    }
    p.trace->outcome = OUTCOME_IMPORTED;
    program_finish(&p);
    check_options_init(&options);
    check_options_parse(&options, "models", NULL);
    findings_init(&findings);
    check_trace(p.trace, &options, &findings);
    said_trace(p.trace, &options, &findings);
    const char *wanted = root_first ? "where collectives wait for everybody" : "every progress";
    tap_ok(findings.count == 1 && strstr(findings.items[0].title, wanted),
           "a broadcast before its message: hangs %s", wanted);
    findings_release(&findings);
    trace_free(p.trace);
}

/* Rank 2's message comes only after a reduction that rank 0 enters when it has a message. Where
 * reductions synchronise, a receive from anybody takes rank 1's; one from rank 2 hangs. So does that from anybody
 * where the reduction lets rank 2 go on and rank 0 not, as a tree of buffered messages does of which rank 0 is no leaf,
 * and rank 1's send waits: rank 0 then waits for rank 1, and rank 1 for rank 0. */
static void takes_what_is_there(int from, const char *codes, const char *name)
{
    struct program p = program_new(3);
    char found[64];
    for (uint32_t rank = 0; rank < 3; rank++) {
        struct trace_plain_op reduce = program_op(&p, rank, OP_REDUCE, 2);
        reduce.peer = 1;
        if (rank == 0) {
            uint32_t first = program_p2p(&p, 0, OP_RECV, from, 0, 1);
            trace_op_set_matched(p.trace, first, 2, 0);
        }
        if (rank == 1)
            program_p2p(&p, 1, OP_SEND, 0, 0, 1);
        trace_add_op(p.trace, &reduce);
        if (rank == 2)
            program_p2p(&p, 2, OP_SEND, 0, 0, 3);
        if (rank == 0)
            program_p2p(&p, 0, OP_RECV, from < 0 ? TRACE_ANY : 1, 0, 3);
    }
    program_finish(&p);
    tap_is_str(program_codes(&p, NULL, found, sizeof found), codes, "%s", name);
    trace_free(p.trace);
}

/* The same of a receive that is pending while its rank waits for the barrier: rank 1's blocking send
 * comes before it, rank 2's after it, and the run took rank 2's first. Where sends wait, a receive
 * from anybody takes rank 1's; one from rank 2 leaves rank 1 before the barrier. */
static void pending_takes_what_is_there(int from, const char *codes, const char *name)
{
    struct program p = program_new(3);
    char found[64];
    for (uint32_t rank = 0; rank < 3; rank++) {
        uint32_t start = TRACE_NO;
        if (rank == 0) {
            start = program_p2p(&p, 0, OP_IRECV, from, 0, 1);
            trace_op_set_matched(p.trace, start, 2, 0);
        }
        if (rank == 1)
            program_p2p(&p, 1, OP_SEND, 0, 0, 1);
        struct trace_plain_op barrier = program_op(&p, rank, OP_BARRIER, 2);
        trace_add_op(p.trace, &barrier);
        if (rank == 2)
            program_p2p(&p, 2, OP_SEND, 0, 0, 3);
        if (rank == 0) {
            program_p2p(&p, 0, OP_RECV, from < 0 ? TRACE_ANY : 1, 0, 3);
            program_wait(&p, 0, start, 4);
        }
    }
    program_finish(&p);
    tap_is_str(program_codes(&p, NULL, found, sizeof found), codes, "%s", name);
    trace_free(p.trace);
}

int main(void)
{
    said_open("check_models", 200);
    pending_takes_what_is_there(2, "D003", "a send that nobody takes before a barrier hangs");
    pending_takes_what_is_there(TRACE_ANY, "R003", "a pending receive from anybody takes it");
    takes_what_is_there(2, "D002", "a receive by name that comes too early hangs");
    takes_what_is_there(TRACE_ANY, "D003 R003",
                        "one from anybody takes another message that is there, but if its rank "
                        "waits in the reduction and the sender has not");
    row("two ranks that receive first", threads(0), true, true, true);
    row("the same, sent by another thread", threads(1), false, false, false);
    waits_for_data_only(true);
    waits_for_data_only(false);
    row("a ring that sends first", ring(4, 4, false), false, true, true);
    row("a ring that receives first", ring(4, 0, false), true, true, true);
    row("a ring of 3 by parity", ring(3, 0, true), false, false, false);
    row("a ring of 4 by parity", ring(4, 0, true), false, false, false);
    row("GPipe (4, 8)", gpipe(4, 8), false, false, false);
    row("1F1B unfused (2, 4)", one_f_one_b(2, 4, false), false, true, true);
    row("1F1B unfused (4, 8)", one_f_one_b(4, 8, false), false, true, true);
    row("1F1B fused (4, 8)", one_f_one_b(4, 8, true), false, false, false);
    row("1F1B fused (4, 2)", one_f_one_b(4, 2, true), false, false, false);
    row("1F1B in batched pairs (4, 8)", batched_pairs(4, 8), false, false, false);
    row("1F1B in batched pairs (4, 1)", batched_pairs(4, 1), false, false, true);
    row("1F1B in batched pairs (4, 3)", batched_pairs(4, 3), false, false, true);
    row("a skip connection received in one batch", skip(false), false, false, true);
    row("a skip connection received one by one", skip(true), false, false, false);
    row("the interleaved schedule", interleaved(), false, true, true);
    row("four groups in a cycle", four_groups(false), true, true, true);
    row("four groups in one order", four_groups(true), false, false, false);
    row("any of two, one of them sent by another thread", other_thread(true), false, false, false);
    row("any of two that nobody sends", other_thread(false), true, true, true);
    said_close();
    return tap_done();
}
