/* Traces of a few rows, and what check_windows finds in them. */
#ifndef TESTS_WINDOWS_WINDOW_ROWS_H
#define TESTS_WINDOWS_WINDOW_ROWS_H

#include "checker/properties.h"
#include "tests/tap.h"
#include "traces/trace/finding.h"

#include <stdio.h>

static uint64_t now;

static inline uint32_t add_op(struct trace *trace, uint32_t rank, enum op_kind kind)
{
    struct trace_plain_op op = trace_op_none(rank, kind);
    op.begin = ++now;
    op.end = ++now;
    return trace_add_op(trace, &op);
}

static inline void finish(struct trace *trace)
{
    struct failure failure;
    if (!trace_finish(trace, &failure))
        tap_note("%s", failure.text);
}

static struct findings findings;
static bool found_before; /* by another property */

/* The gap that begins with these words. */
static inline uint64_t gap(const struct trace *trace, const char *words)
{
    for (size_t i = 0; i < trace->coverage->count; i++)
        if (strncmp(trace->coverage->gaps[i].text, words, strlen(words)) == 0)
            return trace->coverage->gaps[i].count;
    return 0;
}

static inline void ask(const struct trace *trace)
{
    struct check_options options;
    struct check_context context;
    check_options_init(&options);
    check_context_init(&context, trace, &options);
    findings_release(&findings);
    findings_init(&findings);
    if (found_before)
        findings_add(&findings, "D001", "something else");
    check_windows(&context, &findings);
    check_context_release(&context);
}

static inline struct trace_access touch(uint32_t rank, enum access_kind kind, uint32_t op)
{
    return (struct trace_access){.rank = rank,
                                 .op = op,
                                 .done = UINT32_MAX,
                                 .target = 0,
                                 .kind = (uint8_t)kind,
                                 .site = TRACE_NO,
                                 .begin = 0,
                                 .end = 4};
}

static inline void add_touch(struct trace *trace, uint32_t rank, enum access_kind kind, uint32_t op)
{
    struct trace_access access = touch(rank, kind, op);
    trace_add_access(trace, &access);
}

/* A message of an int from one rank to another, received at once. */
static inline void add_message(struct trace *trace, uint32_t comm, uint32_t from, uint32_t to)
{
    struct trace_plain_op send = trace_op_none(from, OP_SEND), receive = trace_op_none(to, OP_RECV);
    send.comm = receive.comm = comm;
    send.peer = send.peer_matched = (int32_t)to;
    receive.peer = receive.peer_matched = (int32_t)from;
    send.tag = receive.tag = send.tag_matched = receive.tag_matched = 0;
    send.begin = ++now;
    send.end = ++now;
    receive.begin = ++now;
    receive.end = ++now;
    trace_add_op(trace, &send);
    trace_add_op(trace, &receive);
}

static inline uint32_t add_world(struct trace *trace)
{
    return trace_add_comm(
        trace, &(struct trace_comm){
                   .id = 1, .size = trace->ranks, .parent = TRACE_NO, .adjoint_of = TRACE_NO});
}

static inline struct trace *two_stores(uint64_t begin, uint64_t end, uint64_t from, uint64_t to)
{
    struct trace *trace = trace_new(2);
    for (uint32_t rank = 0; rank < 2; rank++) {
        add_op(trace, rank, OP_WIN_LOCK_ALL);
        trace_add_access(trace, &(struct trace_access){.rank = rank,
                                                       .op = 1,
                                                       .done = UINT32_MAX,
                                                       .target = 0,
                                                       .kind = ACCESS_STORE,
                                                       .site = TRACE_NO,
                                                       .begin = rank ? from : begin,
                                                       .end = rank ? to : end});
    }
    finish(trace);
    return trace;
}

#endif
