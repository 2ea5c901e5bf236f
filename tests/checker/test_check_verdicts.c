/* Verdicts about the run that happened: each program shows exactly the codes it deserves, its twin
 * none. */
#include "tests/checker/check_program.h"

static void set_blocked(struct program *program, uint32_t rank, uint32_t op)
{
    program->trace->outcome = OUTCOME_DEADLOCK;
    program->trace->rank_info[rank].state = RANK_BLOCKED;
    program->trace->ops[op].state = STATE_BLOCKED;
}

static void expect(struct program *program, const char *codes, const char *name)
{
    char found[256];
    program_finish(program);
    tap_is_str(program_codes(program, NULL, found, sizeof found), codes, "%s", name);
    trace_free(program->trace);
}

/* One finding's text, for what it must say. The trace must be finished. */
static bool says(struct program *program, const char *code, const char *phrase)
{
    struct check_options options;
    struct findings findings;
    bool said = false;
    check_options_init(&options);
    findings_init(&findings);
    check_trace(program->trace, &options, &findings);
    said_trace(program->trace, &options, &findings);
    for (size_t i = 0; i < findings.count; i++)
        said |=
            strcmp(findings.items[i].code, code) == 0 &&
            (strstr(findings.items[i].detail, phrase) || strstr(findings.items[i].title, phrase));
    for (size_t i = 0; !said && i < findings.count; i++)
        tap_note("%s %s | %s", findings.items[i].code, findings.items[i].title,
                 findings.items[i].detail);
    findings_release(&findings);
    return said;
}

static void receive_ring(void)
{
    struct program p = program_new(4);
    for (uint32_t rank = 0; rank < 3; rank++)
        set_blocked(&p, rank, program_p2p(&p, rank, OP_RECV, (int)(rank + 2) % 3, 0, 7));
    set_blocked(&p, 3, program_p2p(&p, 3, OP_RECV, 0, 0, 9));
    program_finish(&p);
    tap_ok(says(&p, "D001", "cycle of 3 blocked ranks: Recv at p.c:7"),
           "a ring of receives is a cycle of its ranks");
    tap_ok(says(&p, "D001", "Only waits: rank 3"), "a rank that waits for the cycle is not blamed");
    trace_free(p.trace);
}

static void finished_partner(void)
{
    struct program p = program_new(3);
    program_p2p(&p, 0, OP_SEND, 1, 17, 3);
    set_blocked(&p, 1, program_p2p(&p, 1, OP_RECV, 0, 7, 4));
    set_blocked(&p, 2, program_p2p(&p, 2, OP_RECV, 1, 0, 5));
    program_finish(&p);
    tap_ok(says(&p, "D001", "a partner never comes: Recv at p.c:4"),
           "a wait for a rank that has finished is the cause");
    tap_ok(says(&p, "D001", "Nearest partner: rank 0, Send to 1 tag 17"),
           "a message with another tag is named as the nearest partner");
    tap_ok(says(&p, "D001", "Only waits: rank 2"), "who waits for the waiting one is not blamed");
    trace_free(p.trace);
}

static void wildcard_waits(bool alive)
{
    struct program p = program_new(3);
    set_blocked(&p, 0, program_p2p(&p, 0, OP_RECV, TRACE_ANY, 0, 1));
    set_blocked(&p, 1, program_p2p(&p, 1, OP_RECV, 0, 0, 2));
    if (alive)
        p.trace->rank_info[2].state = RANK_RUNNING;
    expect(&p, alive ? "" : "D001",
           alive ? "a wildcard receive waits on while somebody may still send"
                 : "a wildcard receive hangs when nobody is left to send");
}

/* Rank 0 takes anybody's message. */
static void wildcard_knot(uint32_t standing, const char *others)
{
    struct program p = program_new(standing + 1);
    char words[80];
    set_blocked(&p, 0, program_p2p(&p, 0, OP_RECV, TRACE_ANY, 0, 1));
    for (uint32_t rank = 1; rank <= standing; rank++)
        set_blocked(&p, rank, program_p2p(&p, rank, OP_RECV, 0, 0, (int)rank + 1));
    program_finish(&p);
    snprintf(words, sizeof words, "at p.c:1, waits for rank 1%s.", others);
    tap_ok(says(&p, "D001", words), "anybody: %u may still send", standing);
    for (uint32_t rank = 1; rank <= standing; rank++) {
        snprintf(words, sizeof words, "%s: rank %u,", rank == 1 ? "In the cycle" : "Stands, too",
                 rank);
        tap_ok(says(&p, "D001", words), "rank %u stands, too", rank);
    }
    trace_free(p.trace);
}

static void absent_and_late(void)
{
    struct program p = program_new(4);
    program_collective(&p, 0, OP_BARRIER, p.world, 0, 1);
    for (uint32_t rank = 1; rank < 3; rank++) {
        program_collective(&p, rank, OP_BARRIER, p.world, 0, 1);
        set_blocked(&p, rank, program_collective(&p, rank, OP_ALLREDUCE, p.world, 1, 2));
    }
    program_collective(&p, 3, OP_BARRIER, p.world, 0, 1);
    set_blocked(&p, 3, program_p2p(&p, 3, OP_RECV, 1, 0, 3));
    program_finish(&p);
    tap_ok(says(&p, "D001",
                "Rank 0 has finished and is absent: it made 1 collective call on world, this is "
                "number 2."),
           "an absent rank is named with what it called");
    tap_ok(says(&p, "D001", "Stands, too: rank 3"), "a late rank is told from an absent one");
    char codes[64];
    tap_is_str(program_codes(&p, NULL, codes, sizeof codes), "D001", "one hang is one finding");
    trace_free(p.trace);
}

static void early_finalize(void)
{
    struct program p = program_new(3);
    for (uint32_t rank = 0; rank < 2; rank++)
        set_blocked(&p, rank, program_collective(&p, rank, OP_BARRIER, p.world, 0, 1));
    program_collective(&p, 2, OP_FINALIZE, p.world, 0, 2);
    expect(&p, "D001", "who finalizes early is absent from the collectives of the others");
    p = program_new(2);
    set_blocked(&p, 0, program_p2p(&p, 0, OP_RECV, 1, 0, 1));
    set_blocked(&p, 1, program_collective(&p, 1, OP_FINALIZE, p.world, 0, 2));
    program_finish(&p);
    tap_ok(says(&p, "D001", "cycle of 2 blocked ranks"),
           "standing in Finalize is waiting for who has not come");
    trace_free(p.trace);
}

static void waits_on_requests(void)
{
    struct program p = program_new(2);
    for (uint32_t rank = 0; rank < 2; rank++) {
        uint32_t start = program_p2p(&p, rank, OP_IRECV, 1 - (int)rank, 0, 1);
        p.trace->ops[start].state = STATE_POSTED;
        struct trace_plain_op wait = program_op(&p, rank, OP_WAIT, 2);
        wait.request = start;
        set_blocked(&p, rank, trace_add_op(p.trace, &wait));
    }
    program_finish(&p);
    tap_ok(says(&p, "D001", "cycle of 2 blocked ranks: Wait at p.c:2"),
           "a wait hangs through what its request waits for");
    tap_ok(says(&p, "D001", "for Irecv from 1"), "the request behind the wait is named");
    trace_free(p.trace);
}

/* Each stands in a Waitall for a message that came (or needs no partner) and for one that does not
 * come: only the latter is waited for. */
static void waits_for_some(int other_peer, const char *name)
{
    struct program p = program_new(3);
    for (uint32_t rank = 0; rank < 2; rank++) {
        uint32_t starts[2] = {program_p2p(&p, rank, OP_IRECV, other_peer, 0, 1),
                              program_p2p(&p, rank, OP_IRECV, 1 - (int)rank, 0, 1)};
        p.trace->ops[starts[0]].state = p.trace->ops[starts[1]].state = STATE_POSTED;
        struct trace_plain_op wait = program_op(&p, rank, OP_WAITALL, 2);
        uint32_t op = trace_add_op(p.trace, &wait);
        for (int i = 0; i < 2; i++)
            trace_add_wait(p.trace, op, starts[i], false);
        set_blocked(&p, rank, op);
        if (other_peer == 2)
            program_p2p(&p, 2, OP_SEND, (int)rank, 0, 3);
    }
    program_finish(&p);
    tap_ok(says(&p, "D001", "cycle of 2 blocked ranks: Waitall at p.c:2"), "%s", name);
    tap_ok(!says(&p, "D001", "Unmatched"), "and is not said to be unmatched");
    trace_free(p.trace);
}

/* The trace says that its message came, and yet the rank stands: there is a finding. */
static void stands_without_reason(void)
{
    struct program p = program_new(2);
    program_p2p(&p, 1, OP_SEND, 0, 0, 1);
    uint32_t start = program_p2p(&p, 0, OP_IRECV, 1, 0, 1);
    p.trace->ops[start].state = STATE_POSTED;
    struct trace_plain_op wait = program_op(&p, 0, OP_WAIT, 2);
    wait.request = start;
    set_blocked(&p, 0, trace_add_op(p.trace, &wait));
    expect(&p, "D001", "a hang that the trace does not explain is a finding nonetheless");
}

static void crash_hides_the_hang(void)
{
    struct program p = program_new(2);
    program_collective(&p, 0, OP_BARRIER, p.world, 0, 1);
    program_collective(&p, 1, OP_BARRIER, p.world, 0, 1);
    set_blocked(&p, 0, program_p2p(&p, 0, OP_RECV, 1, 0, 4));
    p.trace->rank_info[1].state = RANK_CRASHED;
    p.trace->rank_info[1].exit_code = 11;
    expect(&p, "X001", "who waits for a crashed rank is not a deadlock of its own");
}

enum change {
    CHANGE_NOTHING,
    CHANGE_KIND,
    CHANGE_FORM,
    CHANGE_ROOT,
    CHANGE_OP,
    CHANGE_TYPE,
    CHANGE_COUNT,
    CHANGE_IDENTITY,
    CHANGE_ADJOINT
};

static void collectives_differ(enum change change, const char *codes, const char *name)
{
    struct program p = program_new(3);
    for (uint32_t rank = 0; rank < 3; rank++) {
        struct trace_plain_op op = program_op(&p, rank, OP_REDUCE, 5);
        bool odd = rank == 2;
        op.comm_seq = 0;
        op.peer = odd && change == CHANGE_ROOT;
        op.reduce_op = odd && change == CHANGE_OP ? 4 : 3;
        op.count = odd && change == CHANGE_COUNT ? 2 : 1;
        op.signature = odd && change == CHANGE_TYPE ? 2 : 1;
        op.kind = odd && change == CHANGE_KIND ? OP_ALLREDUCE : OP_REDUCE;
        op.identity = odd && change == CHANGE_IDENTITY ? 8 : 7;
        op.flags = odd && change == CHANGE_ADJOINT ? OP_ADJOINT : 0;
        uint32_t index = trace_add_op(p.trace, &op);
        if (odd && change == CHANGE_FORM) {
            p.trace->ops[index].flags |= OP_NONBLOCKING;
            program_wait(&p, rank, index, 6);
        }
    }
    expect(&p, codes, name);
}

static void splits_disagree(bool wrong)
{
    struct program p = program_new(2);
    for (uint32_t rank = 0; rank < 2; rank++) {
        struct trace_plain_op op = program_op(&p, rank, OP_ALLTOALLV, 5);
        op.comm_seq = 0;
        uint32_t index = trace_add_op(p.trace, &op);
        int64_t send[2] = {1, rank == 0 ? 2 : 1}, receive[2] = {1, 1};
        receive[0] = rank == 1 ? 2 + wrong : 1;
        trace_add_counts(p.trace, index, 2, send, receive);
    }
    expect(&p, wrong ? "M005" : "",
           wrong ? "splits of an alltoall that disagree are found" : "splits that agree are well");
}

static void missing_participant(void)
{
    struct program p = program_new(2);
    struct trace_plain_op op = program_op(&p, 0, OP_BCAST, 5);
    op.peer = 0;
    op.comm_seq = 0;
    trace_add_op(p.trace, &op);
    struct check_options only;
    char found[64];
    check_options_init(&only);
    check_options_parse(&only, "collective", NULL);
    program_finish(&p);
    tap_is_str(program_codes(&p, NULL, found, sizeof found), "D002",
               "a broadcast that nobody else called would hang if it waited for them");
    tap_is_str(program_codes(&p, &only, found, sizeof found), "M010",
               "who looks at collectives only is told who is missing");
    trace_free(p.trace);
}

static void messages(int64_t room, uint32_t signature, bool adjoint, const char *codes,
                     const char *name)
{
    struct program p = program_new(2);
    struct trace_plain_op op = program_op(&p, 0, OP_SEND, 1);
    op.peer = 1;
    op.count = 4;
    op.tag = 0;
    trace_add_op(p.trace, &op);
    op = program_op(&p, 1, OP_RECV, 2);
    op.peer = 0;
    op.tag = 0;
    op.count = room;
    op.signature = signature;
    op.flags = adjoint ? OP_ADJOINT : 0;
    trace_add_op(p.trace, &op);
    expect(&p, codes, name);
}

static void leftovers(void)
{
    struct program p = program_new(2);
    program_p2p(&p, 0, OP_SEND, 1, 0, 1);
    expect(&p, "D003", "a message that nobody receives deadlocks without buffering");
    p = program_new(2);
    program_p2p(&p, 0, OP_SEND, 1, 0, 1);
    program_p2p(&p, 1, OP_IRECV, 0, 0, 2);
    expect(&p, "L001", "a request that nobody waits for is left over");
    p = program_new(2);
    program_p2p(&p, 0, OP_SEND, TRACE_NONE, 0, 1);
    program_p2p(&p, 1, OP_RECV, TRACE_NONE, 0, 2);
    expect(&p, "", "messages to nobody are nothing");
    p = program_new(2);
    uint32_t start = program_p2p(&p, 0, OP_IRECV, 1, 0, 1);
    p.trace->ops[start].state = STATE_POSTED;
    program_collective(&p, 0, OP_FINALIZE, p.world, 0, 2);
    program_collective(&p, 1, OP_FINALIZE, p.world, 0, 2);
    expect(&p, "X006", "finalizing with a request pending is one finding");
}

static void gradients(void)
{
    struct program p = program_new(2);
    uint32_t x = trace_add_string(p.trace, "x"), y = trace_add_string(p.trace, "y");
    struct trace_gradient row = {.variable = x,
                                 .method = "central",
                                 .analytic = 1,
                                 .numeric = 2,
                                 .error = 1,
                                 .tolerance = 1e-6};
    trace_add_gradient(p.trace, &row);
    row.rank = 1;
    row.index = 3;
    row.analytic = 9;
    row.error = 7;
    trace_add_gradient(p.trace, &row);
    row = (struct trace_gradient){.variable = y, .method = "central", .ok = true};
    trace_add_gradient(p.trace, &row);
    program_finish(&p);
    char codes[64];
    tap_is_str(program_codes(&p, NULL, codes, sizeof codes), "G001",
               "a wrong gradient is one finding for its variable");
    tap_ok(says(&p, "G001", "rank 1, x[3]"), "the worst element is named");
    tap_ok(says(&p, "G001", "2 of 2 checks of x fail"), "the failures are counted");
    trace_free(p.trace);
}

/* Forward: rank 0 sends to rank 1, then all reduce. Backward in data mode; bit r of a mask: rank r
 * runs that adjoint. */
static void activity(unsigned message, unsigned reduction, const char *codes, const char *name)
{
    struct program p = program_new(2);
    uint32_t first[2], second[2];
    for (uint32_t rank = 0; rank < 2; rank++) {
        struct trace_node node = {.rank = rank,
                                  .id = 1,
                                  .kind = rank ? OP_RECV : OP_SEND,
                                  .state = STATE_COMPLETE,
                                  .forward = TRACE_NO,
                                  .site = trace_add_site(p.trace, "p.c", 1 + (int)rank, "main"),
                                  .name = trace_add_string(p.trace, "message")};
        p.node = first[rank] = trace_add_node(p.trace, &node);
        program_p2p(&p, rank, rank ? OP_RECV : OP_SEND, 1 - (int)rank, 0, 1 + (int)rank);
        node.id = 2;
        node.kind = OP_ALLREDUCE;
        node.site = trace_add_site(p.trace, "p.c", 3, "main");
        p.node = second[rank] = trace_add_node(p.trace, &node);
        program_collective(&p, rank, OP_ALLREDUCE, p.world, 0, 3);
    }
    p.pass = 1;
    for (uint32_t rank = 0; rank < 2; rank++) {
        struct trace_node node = {.rank = rank,
                                  .id = 3,
                                  .pass = 1,
                                  .kind = OP_ALLREDUCE,
                                  .state = STATE_COMPLETE,
                                  .forward = second[rank],
                                  .site = TRACE_NO,
                                  .name = TRACE_NO};
        uint32_t before = TRACE_NO;
        if (reduction >> rank & 1) {
            p.node = before = trace_add_node(p.trace, &node);
            if (reduction == 3) {
                program_collective(&p, rank, OP_ALLREDUCE, p.world, 1, 4);
            }
        }
        node.id = 4;
        node.forward = first[rank];
        if (message >> rank & 1) {
            p.node = trace_add_node(p.trace, &node);
            if (before != TRACE_NO)
                trace_add_edge(p.trace, before, p.node, EDGE_DATA);
            if (message == 3 || rank == 1)
                program_p2p(&p, rank, rank ? OP_SEND : OP_RECV, 1 - (int)rank, 0, 5);
        }
        trace_add_pass(p.trace, &(struct trace_pass){
                                    .rank = rank, .pass = 1, .mode = PASS_DATA, .complete = true});
    }
    expect(&p, codes, name);
}

/* A receive is pending on 8 doubles at 1000; then a send of one double from `address`. */
static void buffers(uint64_t address, bool wait_first, bool changed, const char *codes,
                    const char *name)
{
    struct program p = program_new(2);
    struct trace_plain_op op = program_op(&p, 0, OP_IRECV, 1);
    op.peer = 1;
    op.tag = 0;
    op.count = 8;
    op.place = trace_add_place(p.trace, 1000, 8 * trace_type_size(op.type));
    uint32_t start = trace_add_op(p.trace, &op);
    if (wait_first)
        program_wait(&p, 0, start, 2);
    op = program_op(&p, 0, OP_SEND, 3);
    op.peer = 1;
    op.tag = 0;
    op.place = trace_add_place(p.trace, address, trace_type_size(op.type));
    op.flags = changed ? OP_BUFFER_CHANGED : 0;
    trace_add_op(p.trace, &op);
    if (!wait_first)
        program_wait(&p, 0, start, 2);
    program_p2p(&p, 1, OP_ISEND, 0, 0, 4);
    p.trace->ops[p.trace->op_count - 1].count = 8;
    uint32_t sent = (uint32_t)p.trace->op_count - 1;
    program_p2p(&p, 1, OP_RECV, 0, 0, 5);
    program_wait(&p, 1, sent, 6);
    expect(&p, codes, name);
}

/* Rank 0 starts many receives, each into memory of its own, the last perhaps into that of the
 * `meets`-th, before it waits. */
static void many_pending(uint32_t meets, const char *codes, const char *name)
{
    enum { COUNT = 20000 };
    const uint32_t count = COUNT;
    struct program p = program_new(2);
    uint32_t *starts = calloc(count, sizeof *starts);
    for (uint32_t i = 0; i < count; i++) {
        struct trace_plain_op op = program_op(&p, 0, OP_IRECV, 1);
        op.peer = 1;
        op.tag = 0;
        uint64_t extent = trace_type_size(op.type);
        op.place = trace_add_place(p.trace, 1000 + (i == COUNT - 1 ? meets : i) * extent, extent);
        starts[i] = trace_add_op(p.trace, &op);
    }
    program_waitall(&p, 0, starts, count, 2);
    for (uint32_t i = 0; i < count; i++)
        program_p2p(&p, 1, OP_SEND, 0, 0, 3);
    free(starts);
    expect(&p, codes, name);
}

/* Everybody gets one message from anybody: that of the rank before. */
static void many_wildcards(uint32_t ranks, const char *codes, const char *name)
{
    struct program p = program_new(ranks);
    for (uint32_t rank = 0; rank < ranks; rank++) {
        int from = (int)((rank + ranks - 1) % ranks);
        program_p2p(&p, rank, OP_SEND, (int)((rank + 1) % ranks), 0, 1);
        struct trace_plain_op op = program_op(&p, rank, OP_RECV, 2);
        op.peer = TRACE_ANY;
        op.tag = op.tag_matched = 0;
        op.peer_matched = from;
        trace_add_op(p.trace, &op);
    }
    struct check_options options;
    char found[64];
    check_options_init(&options);
    check_options_parse(&options, "race", NULL);
    program_finish(&p);
    tap_is_str(program_codes(&p, &options, found, sizeof found), codes, "%s", name);
    trace_free(p.trace);
}

int main(void)
{
    said_open("check_verdicts", 100);
    many_pending(19999, "", "20,000 pending receives are compared");
    many_pending(0, "B002", "the last with the first");
    many_pending(12345, "B002", "and with any other");
    many_wildcards(1000, "", "a thousand wildcards that have one sender each do not race");
    many_wildcards(12000, "N001", "where clocks take too much memory that is told");
    buffers(1008, false, false, "B002",
            "a send from memory that a pending receive writes is found");
    buffers(5000, false, false, "", "a send from elsewhere is well");
    buffers(1008, true, false, "", "a send after the wait is well");
    buffers(5000, false, true, "B001", "a send buffer changed under way is found");
    receive_ring();
    finished_partner();
    wildcard_waits(true);
    wildcard_waits(false);
    wildcard_knot(1, "");
    wildcard_knot(2, " or another one, which stands, too");
    wildcard_knot(5, " or any of 4 others, which stand, too");
    absent_and_late();
    early_finalize();
    waits_on_requests();
    waits_for_some(TRACE_NONE, "a request to MPI_PROC_NULL does not hide a cycle");
    waits_for_some(2, "nor does one that is matched and not yet told complete");
    stands_without_reason();
    crash_hides_the_hang();
    collectives_differ(CHANGE_NOTHING, "", "ranks that agree about a collective are well");
    collectives_differ(CHANGE_KIND, "M001", "different collectives that meet are found");
    collectives_differ(CHANGE_FORM, "M001",
                       "a blocking and a nonblocking form that meet are found");
    collectives_differ(CHANGE_ROOT, "M002", "different roots are found");
    collectives_differ(CHANGE_OP, "M003", "different reductions are found");
    collectives_differ(CHANGE_TYPE, "M004", "different types are found");
    collectives_differ(CHANGE_COUNT, "M005", "different counts are found");
    collectives_differ(CHANGE_IDENTITY, "R002",
                       "different tensors of one size are found by their names");
    collectives_differ(CHANGE_ADJOINT, "R005", "adjoint and forward traffic that met is found");
    splits_disagree(true);
    splits_disagree(false);
    missing_participant();
    messages(4, 1, false, "", "a message that fits is well");
    messages(9, 1, false, "", "a receive may have more room");
    messages(3, 1, false, "M007", "a message longer than its receive is found");
    messages(4, 2, false, "M008", "a message of another type is found");
    messages(4, 1, true, "R005", "an adjoint that received a forward message is found");
    leftovers();
    gradients();
    activity(3, 3, "", "a backward pass that runs every adjoint is well");
    activity(0, 3, "G002",
             "a message whose adjoints are left out on both sides carries no gradient");
    activity(3, 1, "G003", "a collective's adjoint left out on one rank is a divergence");
    activity(2, 3, "G004", "an adjoint message without a partner is an orphan, and nothing else");
    said_close();
    return tap_done();
}
