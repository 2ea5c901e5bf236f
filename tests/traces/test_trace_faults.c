/* Building a trace when memory runs out: every allocation fails once, until the body passes
 * untouched. */
#include "tests/traces/failing_memory.h"

#include "traces/trace/trace.h"

#include <stdlib.h>

#if SANITIZED

int main(void)
{
    return failing_memory_skip();
}

#else

/* Operations in an order that has to be grouped, with everything a trace can hold; true when the
 * whole was built. */
static bool body(struct failure *failure)
{
    struct trace *trace = trace_new(3);
    if (!trace)
        return false;
    trace_add_comm(trace, &(struct trace_comm){.id = 1,
                                               .size = 3,
                                               .members = (int32_t[]){0, 1, 2},
                                               .parent = TRACE_NO,
                                               .adjoint_of = TRACE_NO});
    uint32_t last = TRACE_NO;
    for (int i = 0; i < 120; i++) {
        uint32_t rank = (uint32_t)(i + 1) % 3;
        struct trace_plain_op op = trace_op_none(rank, i % 2 ? OP_ISEND : OP_IRECV);
        char name[32];
        snprintf(name, sizeof name, "name %d", i);
        op.peer = i % 4 ? (int)(rank + 1) % 3 : TRACE_ANY;
        op.tag = i % 5 ? 1 : TRACE_ANY;
        op.comm = 0;
        op.pass = i > 100;
        op.site = trace_add_site(trace, name, i, "f");
        uint32_t node =
            trace_add_node(trace, &(struct trace_node){.rank = rank,
                                                       .id = (uint32_t)i + 1,
                                                       .forward = TRACE_NO,
                                                       .site = op.site,
                                                       .name = trace_add_string(trace, name)});
        op.node = node;
        last = trace_add_op(trace, &op);
        if (i >= 3)
            trace_add_edge(trace, node - 3, node, EDGE_DATA);
    }
    struct trace_plain_op wait = trace_op_none(0, OP_WAITALL);
    uint32_t index = trace_add_op(trace, &wait);
    trace_add_wait(trace, index, last, false);
    trace_add_counts(trace, index, 2, (int64_t[]){1, 2}, NULL);
    char text[] = "note";
    trace_add_note(
        trace, &(struct trace_note){
                   .code = "G005", .op = last, .node = TRACE_NO, .site = TRACE_NO, .text = text});
    trace_add_metric(trace, "m", -1, 1, "");
    trace_add_gradient(trace, &(struct trace_gradient){.method = "dot"});
    bool done = trace_finish(trace, failure);
    trace_free(trace);
    return done;
}

int main(void)
{
    long rounds = 0, silent = 0, wrong = 0;
    for (long n = 1;; n++, rounds++) {
        struct failure failure = {0};
        failed = 0;
        countdown = n;
        bool done = body(&failure);
        countdown = 0;
        if (failed == 0) {
            tap_ok(done, "the body passes when nothing fails: %s", failure.text);
            break;
        }
        silent += done;
        wrong += !done && failure.code != 0 && failure.code != FAILURE_INTERNAL;
    }
    tap_ok(rounds > 20, "memory ran out often enough: %ld times", rounds);
    tap_is_int(silent, 0, "a trace that could not be built is never passed as whole");
    tap_is_int(wrong, 0, "and it is not called the input's fault");
    return tap_done();
}

#endif
