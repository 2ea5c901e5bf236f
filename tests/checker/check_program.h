/* Programs written down as traces, for the tests of the checkers.
 *
 * A program has ranks that issue operations in the order of the calls; every call names the line at
 * which it stands. What the run did (complete, blocked) is set afterwards where it matters. */
#ifndef TESTS_CHECKER_CHECK_PROGRAM_H
#define TESTS_CHECKER_CHECK_PROGRAM_H

#include "checker/check.h"
#include "tests/golden_said.h"
#include "tests/tap.h"

#include <stdlib.h>

struct program {
    struct trace *trace;
    uint32_t world;
    uint32_t node;  /* what is issued belongs to this node */
    uint32_t pass;  /* and to this pass */
    uint32_t batch; /* and to this batch */
};

static inline struct program program_new(uint32_t ranks)
{
    struct program program = {.trace = trace_new(ranks), .node = TRACE_NO};
    int32_t *members = calloc(ranks, sizeof *members);
    for (uint32_t i = 0; i < ranks; i++)
        members[i] = (int32_t)i;
    struct trace_comm world = {.id = 1,
                               .size = ranks,
                               .members = members,
                               .parent = TRACE_NO,
                               .adjoint_of = TRACE_NO,
                               .name = "world"};
    program.world = trace_add_comm(program.trace, &world);
    free(members);
    snprintf(program.trace->program, sizeof program.trace->program, "test");
    snprintf(program.trace->model, sizeof program.trace->model, "eager");
    return program;
}

static inline uint32_t program_comm(struct program *program, uint32_t size, const int32_t *members)
{
    struct trace_comm comm = {.id = (uint32_t)program->trace->comm_count + 1,
                              .size = size,
                              .parent = program->world,
                              .adjoint_of = TRACE_NO};
    comm.members = calloc(size, sizeof *comm.members);
    memcpy(comm.members, members, size * sizeof *members);
    uint32_t index = trace_add_comm(program->trace, &comm);
    free(comm.members);
    return index;
}

static inline struct trace_plain_op program_op(struct program *program, uint32_t rank,
                                               enum op_kind kind, int line)
{
    struct trace_plain_op op = trace_op_none(rank, kind);
    op.state = STATE_COMPLETE;
    op.comm = program->world;
    op.node = program->node;
    op.pass = program->pass;
    op.batch = program->batch;
    op.site = trace_add_site(program->trace, "p.c", line, "main");
    op.count = 1;
    op.type = PROGRAM_DOUBLE;
    op.signature = 1;
    return op;
}

static inline uint32_t program_p2p(struct program *program, uint32_t rank, enum op_kind kind,
                                   int peer, int tag, int line)
{
    struct trace_plain_op op = program_op(program, rank, kind, line);
    op.peer = peer;
    op.tag = tag;
    return trace_add_op(program->trace, &op);
}

/* The caller counts the collectives of each rank and communicator. */
static inline uint32_t program_collective(struct program *program, uint32_t rank, enum op_kind kind,
                                          uint32_t comm, uint32_t seq, int line)
{
    struct trace_plain_op op = program_op(program, rank, kind, line);
    op.comm = comm;
    op.comm_seq = seq;
    op.reduce_op = kind == OP_ALLREDUCE ? 3 : 0;
    return trace_add_op(program->trace, &op);
}

static inline uint32_t program_wait(struct program *program, uint32_t rank, uint32_t start,
                                    int line)
{
    struct trace_plain_op op = program_op(program, rank, OP_WAIT, line);
    op.comm = TRACE_NO;
    op.request = start;
    uint32_t wait = trace_add_op(program->trace, &op);
    trace_add_wait(program->trace, wait, start, true);
    return wait;
}

static inline uint32_t program_waitall(struct program *program, uint32_t rank,
                                       const uint32_t *starts, size_t count, int line)
{
    struct trace_plain_op op = program_op(program, rank, OP_WAITALL, line);
    op.comm = TRACE_NO;
    uint32_t wait = trace_add_op(program->trace, &op);
    for (size_t i = 0; i < count; i++)
        trace_add_wait(program->trace, wait, starts[i], true);
    return wait;
}

static inline void program_finish(struct program *program)
{
    struct failure failure = {0};
    bool good = trace_finish(program->trace, &failure) && trace_check(program->trace, &failure);
    if (!good) {
        printf("Bail out! %s\n", failure.text);
        exit(1);
    }
}

/* And all that is said of it is held (golden_said.h), beside what the test looks at. */
static inline void program_finish_said(struct program *program)
{
    program_finish(program);
    said_whole(program->trace);
}

/* The distinct codes found, sorted by severity and code, separated by spaces; "" for none. */
static inline const char *
program_codes(struct program *program, const struct check_options *options, char *text, size_t size)
{
    struct check_options all;
    struct findings findings;
    check_options_init(&all);
    findings_init(&findings);
    check_trace(program->trace, options ? options : &all, &findings);
    said_trace(program->trace, options ? options : &all, &findings);
    text[0] = 0;
    for (size_t i = 0; i < findings.count; i++)
        if (!strstr(text, findings.items[i].code))
            snprintf(text + strlen(text), size - strlen(text), "%s%s", *text ? " " : "",
                     findings.items[i].code);
    findings_release(&findings);
    return text;
}

#endif
