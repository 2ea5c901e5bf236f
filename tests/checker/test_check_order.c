/* The catalogue's rows about backward order, written down as the traces their runs leave: exact
 * codes, good twins included. */
#include "tests/checker/check_program.h"

/* A pass in data mode on every rank; each node is one call of `node`. */
struct pass {
    struct program program;
    uint32_t ids[16];
};

static struct pass pass_new(uint32_t ranks)
{
    struct pass pass = {.program = program_new(ranks)};
    pass.program.pass = 1;
    for (uint32_t rank = 0; rank < ranks; rank++)
        trace_add_pass(
            pass.program.trace,
            &(struct trace_pass){.rank = rank, .pass = 1, .mode = PASS_DATA, .complete = true});
    return pass;
}

static uint32_t node(struct pass *pass, uint32_t rank)
{
    struct trace_node node = {.rank = rank,
                              .id = ++pass->ids[rank],
                              .pass = 1,
                              .kind = OP_SEND,
                              .state = STATE_COMPLETE,
                              .forward = TRACE_NO,
                              .site = TRACE_NO,
                              .name = TRACE_NO};
    return pass->program.node = trace_add_node(pass->program.trace, &node);
}

static void before(struct pass *pass, uint32_t a, uint32_t b)
{
    trace_add_edge(pass->program.trace, a, b, EDGE_ORDER);
}

static void expect(struct pass *pass, unsigned models, const char *codes, const char *name)
{
    struct check_options options;
    char found[128];
    check_options_init(&options);
    options.models = models;
    program_finish(&pass->program);
    tap_is_str(program_codes(&pass->program, &options, found, sizeof found), codes, "%s", name);
    trace_free(pass->program.trace);
}

enum { BOTH = CHECK_EAGER | CHECK_RENDEZVOUS };

/* Two allreduces on the communicators a and b, recorded in this order, chained or not. */
static void two_allreduces(bool two_comms, int64_t second_count, bool chained, const char *codes,
                           const char *name)
{
    struct pass pass = pass_new(2);
    uint32_t a = pass.program.world,
             b = two_comms ? program_comm(&pass.program, 2, (int32_t[]){0, 1}) : a;
    for (uint32_t rank = 0; rank < 2; rank++) {
        uint32_t first = node(&pass, rank);
        program_collective(&pass.program, rank, OP_ALLREDUCE, a, 0, 1);
        uint32_t second = node(&pass, rank);
        struct trace_plain_op op = program_op(&pass.program, rank, OP_ALLREDUCE, 2);
        op.comm = b;
        op.comm_seq = !two_comms;
        op.reduce_op = 3;
        op.count = second_count;
        trace_add_op(pass.program.trace, &op);
        if (chained)
            before(&pass, first, second);
    }
    expect(&pass, BOTH, codes, name);
}

static void two_roots(void)
{
    struct pass pass = pass_new(2);
    for (uint32_t rank = 0; rank < 2; rank++)
        for (int root = 0; root < 2; root++) {
            node(&pass, rank);
            struct trace_plain_op op = program_op(&pass.program, rank, OP_REDUCE, 1 + root);
            op.comm_seq = (uint32_t)root;
            op.peer = root;
            op.reduce_op = 3;
            trace_add_op(pass.program.trace, &op);
        }
    expect(&pass, BOTH, "R001",
           "two reductions to different roots that nothing orders cross loudly");
}

static void grid(bool ordered)
{
    struct pass pass = pass_new(4);
    uint32_t rows[2] = {program_comm(&pass.program, 2, (int32_t[]){0, 1}),
                        program_comm(&pass.program, 2, (int32_t[]){2, 3})};
    uint32_t columns[2] = {program_comm(&pass.program, 2, (int32_t[]){0, 2}),
                           program_comm(&pass.program, 2, (int32_t[]){1, 3})};
    for (uint32_t rank = 0; rank < 4; rank++) {
        uint32_t row = node(&pass, rank);
        program_collective(&pass.program, rank, OP_ALLREDUCE, rows[rank / 2], 0, 1);
        uint32_t column = node(&pass, rank);
        program_collective(&pass.program, rank, OP_ALLREDUCE, columns[rank % 2], 0, 2);
        if (ordered)
            before(&pass, row, column);
    }
    expect(&pass, BOTH, ordered ? "" : "D002",
           ordered ? "a grid that reduces rows before columns is safe"
                   : "a grid whose rows and columns nothing orders can hang in a cycle of four");
}

/* The backward pass of a ring: the wait's adjoint starts a receive, the receive's adjoint sends,
 * the start's adjoint waits. */
static void joined_ring(bool receive_to_wait, bool send_before_wait, const char *codes,
                        const char *name)
{
    struct pass pass = pass_new(3);
    uint32_t starts[3], nodes[3][3];
    for (uint32_t rank = 0; rank < 3; rank++) {
        nodes[rank][0] = node(&pass, rank);
        starts[rank] = program_p2p(&pass.program, rank, OP_IRECV, (int)(rank + 1) % 3, 0, 1);
    }
    for (uint32_t rank = 0; rank < 3; rank++) {
        nodes[rank][1] = node(&pass, rank);
        program_p2p(&pass.program, rank, OP_SEND, (int)(rank + 2) % 3, 0, 2);
    }
    for (uint32_t rank = 0; rank < 3; rank++) {
        nodes[rank][2] = node(&pass, rank);
        program_wait(&pass.program, rank, starts[rank], 3);
        before(&pass, nodes[rank][0], nodes[rank][2]);
        if (receive_to_wait)
            before(&pass, nodes[rank][0], nodes[rank][1]);
        if (send_before_wait)
            before(&pass, nodes[rank][1], nodes[rank][2]);
    }
    expect(&pass, BOTH, codes, name);
}

static void exchange(bool ordered)
{
    struct pass pass = pass_new(2);
    uint32_t nodes[2][2];
    nodes[1][0] = node(&pass, 1);
    program_p2p(&pass.program, 1, OP_SEND, 0, 0, 1);
    nodes[0][0] = node(&pass, 0);
    program_p2p(&pass.program, 0, OP_RECV, 1, 0, 2);
    nodes[0][1] = node(&pass, 0);
    program_p2p(&pass.program, 0, OP_SEND, 1, 0, 3);
    nodes[1][1] = node(&pass, 1);
    program_p2p(&pass.program, 1, OP_RECV, 0, 0, 4);
    for (uint32_t rank = 0; rank < 2 && ordered; rank++)
        before(&pass, nodes[rank][0], nodes[rank][1]);
    expect(&pass, BOTH, ordered ? "" : "D002",
           ordered ? "an exchange with its adjoints in reverse order is safe"
                   : "an exchange whose adjoints nothing orders can hang");
}

/* Two messages from rank 0 to rank 1 forward; backward rank 1 sends and rank 0 receives, each in
 * the order given. */
static void two_messages(bool same_tag, bool ordered, bool one_reversed, unsigned models,
                         const char *codes, const char *name)
{
    struct pass pass = pass_new(2);
    uint32_t forward[2][2];
    pass.program.pass = 0;
    pass.program.node = TRACE_NO;
    for (int i = 0; i < 2; i++)
        for (uint32_t rank = 0; rank < 2; rank++)
            forward[rank][i] = program_p2p(&pass.program, rank, rank ? OP_RECV : OP_SEND,
                                           1 - (int)rank, same_tag ? 0 : i, 1 + i);
    pass.program.pass = 1;
    for (uint32_t rank = 0; rank < 2; rank++) {
        uint32_t last = TRACE_NO;
        for (int i = 0; i < 2; i++) {
            int which = one_reversed && rank == 0 ? i : 1 - i;
            uint32_t at = node(&pass, rank);
            struct trace_plain_op op =
                program_op(&pass.program, rank, rank ? OP_SEND : OP_RECV, 5 + which);
            op.peer = 1 - (int)rank;
            op.tag = same_tag ? 0 : which;
            op.adjoint_of = forward[rank][which];
            trace_add_op(pass.program.trace, &op);
            if (ordered && last != TRACE_NO)
                before(&pass, last, at);
            last = at;
        }
    }
    expect(&pass, models, codes, name);
}

static void mixed(bool ordered)
{
    struct pass pass = pass_new(2);
    for (uint32_t rank = 0; rank < 2; rank++) {
        uint32_t message = node(&pass, rank);
        program_p2p(&pass.program, rank, rank ? OP_RECV : OP_SEND, 1 - (int)rank, 0, 1);
        uint32_t reduction = node(&pass, rank);
        program_collective(&pass.program, rank, OP_ALLREDUCE, pass.program.world, 0, 2);
        if (ordered)
            before(&pass, message, reduction);
    }
    expect(&pass, BOTH, ordered ? "" : "D002",
           ordered ? "a message before a reduction is safe"
                   : "a message and a reduction that nothing orders can hang");
}

static void buffered_ring(bool backward_too)
{
    struct program p = program_new(3);
    for (uint32_t pass = 0; pass < 1u + backward_too; pass++) {
        p.pass = pass;
        for (uint32_t rank = 0; rank < 3; rank++) {
            program_p2p(&p, rank, OP_SEND, (int)(rank + 1) % 3, 0, 1);
            program_p2p(&p, rank, OP_RECV, (int)(rank + 2) % 3, 0, 2);
        }
    }
    struct check_options options;
    struct findings findings;
    check_options_init(&options);
    findings_init(&findings);
    program_finish(&p);
    check_trace(p.trace, &options, &findings);
    said_trace(p.trace, &options, &findings);
    tap_ok(findings.count == 1 && strcmp(findings.items[0].code, "D003") == 0 &&
               findings.items[0].inherited == backward_too,
           "a ring that relies on buffering is one finding, %s",
           backward_too ? "inherited by its backward pass" : "not inherited by anything");
    findings_release(&findings);
    trace_free(p.trace);
}

/* Two senders, one wildcard receiver; the second message may be sent because of the first. */
/* Edges in a circle give no order to search. */
static void circle(void)
{
    struct pass pass = pass_new(2);
    for (uint32_t rank = 0; rank < 2; rank++) {
        uint32_t first = node(&pass, rank);
        program_collective(&pass.program, rank, OP_ALLREDUCE, pass.program.world, 0, 1);
        uint32_t second = node(&pass, rank);
        program_collective(&pass.program, rank, OP_ALLREDUCE, pass.program.world, 1, 2);
        before(&pass, first, second);
        before(&pass, second, first);
    }
    expect(&pass, BOTH, "N001",
           "a pass whose edges go in a circle is judged as recorded, and told");
}

static void race_on(const char *comm, bool caused, const char *codes, const char *name)
{
    struct program p = program_new(3);
    snprintf(p.trace->comms[p.world].name, sizeof p.trace->comms[p.world].name, "%s", comm);
    program_p2p(&p, 1, OP_SEND, 0, 0, 1);
    struct trace_plain_op op = program_op(&p, 0, OP_RECV, 2);
    op.peer = TRACE_ANY;
    op.tag = 0;
    op.peer_matched = 1;
    op.tag_matched = 0;
    trace_add_op(p.trace, &op);
    if (caused) {
        program_p2p(&p, 0, OP_SEND, 2, 0, 3);
        program_p2p(&p, 2, OP_RECV, 0, 0, 4);
    }
    program_p2p(&p, 2, OP_SEND, 0, 0, 5);
    program_p2p(&p, 0, OP_RECV, 2, 0, 6);
    char found[64];
    program_finish(&p);
    tap_is_str(program_codes(&p, NULL, found, sizeof found), codes, "%s", name);
    trace_free(p.trace);
}

static void race(bool caused, const char *codes, const char *name)
{
    race_on("world", caused, codes, name);
}

/* A communicator may say that its receivers make the same of every order. */
static void races_that_are_free(void)
{
    static const struct {
        const char *name, *codes;
    } rows[] = {{"work: any order", ""},     {": any order", ""},
                {"any order", "R003"},       {"work: any orders", "R003"},
                {"work: any orde", "R003"},  {"any order: work", "R003"},
                {"work: many order", "R003"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        race_on(rows[i].name, false, rows[i].codes, rows[i].name);
}

int main(void)
{
    said_open("check_order", 300);
    two_allreduces(false, 1, false, "R002",
                   "two equal allreduces that nothing orders cross silently");
    two_allreduces(false, 2, false, "R001",
                   "two unequal allreduces that nothing orders cross loudly");
    two_allreduces(false, 2, true, "", "two chained allreduces are safe");
    two_allreduces(true, 1, false, "D002",
                   "allreduces on two communicators that nothing orders can hang");
    two_allreduces(true, 1, true, "", "chained allreduces on two communicators are safe");
    circle();
    two_roots();
    grid(false);
    grid(true);
    joined_ring(true, true, "", "a joined ring is safe");
    joined_ring(true, false, "D002", "a ring without the join that sends before waiting can hang");
    joined_ring(false, false, "D002", "a ring without joins can hang");
    exchange(false);
    exchange(true);
    two_messages(true, false, false, BOTH, "R002",
                 "two messages of one tag whose adjoints nothing orders cross silently");
    two_messages(true, true, false, BOTH, "",
                 "two messages of one tag with both sides reversed are safe");
    two_messages(true, true, true, BOTH, "R004",
                 "one side reversed sends the cotangents to the wrong messages");
    two_messages(false, false, false, CHECK_EAGER, "",
                 "two messages of two tags in any order are safe when sends are buffered");
    two_messages(false, false, false, CHECK_RENDEZVOUS, "D002", "and can hang when sends wait");
    mixed(false);
    mixed(true);
    buffered_ring(false);
    buffered_ring(true);
    race(false, "R003", "a wildcard receive with two concurrent senders is a race");
    race(true, "", "a message sent because of the receive is no race");
    said_close();
    races_that_are_free();
    return tap_done();
}
