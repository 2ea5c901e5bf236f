/* Traces and findings for the tests of viz/, built through the builder: small runs that show each
 * view.
 *
 * Every function returns a finished trace, to be freed by the caller, and adds its findings. Not a
 * test itself. */
#ifndef TESTS_VIZ_VIZ_SAMPLES_H
#define TESTS_VIZ_VIZ_SAMPLES_H

#include "traces/trace/finding.h"
#include "traces/trace/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLE_SUM = 0x21, SAMPLE_DOUBLE = 0x214 }; /* MPI_SUM and MPI_DOUBLE in the ABI */

static inline void sample_head(struct trace *trace, const char *program)
{
    int32_t members[64];
    for (uint32_t i = 0; i < trace->ranks && i < 64; i++)
        members[i] = (int32_t)i;
    struct trace_comm world = {.id = 1,
                               .size = trace->ranks < 64 ? trace->ranks : 64,
                               .members = members,
                               .parent = TRACE_NO,
                               .adjoint_of = TRACE_NO,
                               .name = "world"};
    snprintf(trace->program, sizeof trace->program, "%s", program);
    snprintf(trace->model, sizeof trace->model, "rendezvous");
    trace->seed = 7;
    trace_add_comm(trace, &world);
    trace_add_site(trace, "ring.c", 41, "step");
    trace_add_site(trace, "ring.c", 57, "step");
    trace_add_site(trace, "tp.c", 88, "block");
}

/* A node of rank's pass; `from` is its predecessor by a data edge, TRACE_NO for none. */
static inline uint32_t sample_node(struct trace *trace, uint32_t rank, uint32_t pass,
                                   const char *name, int kind, int state, uint32_t from)
{
    struct trace_node node = {.rank = rank,
                              .id = (uint32_t)trace->node_count + 1,
                              .pass = pass,
                              .kind = (uint8_t)kind,
                              .state = (uint8_t)state,
                              .forward = TRACE_NO,
                              .site = TRACE_NO,
                              .name = trace_add_string(trace, name)};
    uint32_t index = trace_add_node(trace, &node);
    if (from != TRACE_NO)
        trace_add_edge(trace, from, index, EDGE_DATA);
    return index;
}

/* An operation of a node; peer of a collective is its root. */
static inline uint32_t sample_op(struct trace *trace, uint32_t rank, uint32_t node, int kind,
                                 int32_t peer, int32_t tag, int state, uint32_t site)
{
    struct trace_plain_op op = trace_op_none(rank, (enum op_kind)kind);
    op.pass = node != TRACE_NO ? trace->nodes[node].pass : 0;
    op.node = node;
    op.comm = 0;
    op.peer = peer;
    op.tag = tag;
    op.count = 1024;
    op.type = SAMPLE_DOUBLE;
    op.site = site;
    op.state = (uint8_t)state;
    op.begin = trace->op_count + 1;
    op.end = state == STATE_COMPLETE ? op.begin + 3 : 0;
    if (op_kind_class(kind) == CLASS_COLLECTIVE)
        op.reduce_op = SAMPLE_SUM;
    return trace_add_op(trace, &op);
}

static inline void sample_gradient(struct trace *trace, uint32_t rank, const char *variable,
                                   double analytic, double numeric)
{
    double error = analytic > numeric ? analytic - numeric : numeric - analytic;
    double relative = error / (numeric > 0 ? numeric : -numeric);
    struct trace_gradient row = {.rank = rank,
                                 .variable = trace_add_string(trace, variable),
                                 .index = 0,
                                 .method = "central",
                                 .step = 1e-5,
                                 .analytic = analytic,
                                 .numeric = numeric,
                                 .error = error,
                                 .relative = relative,
                                 .tolerance = 1e-6,
                                 .ok = error <= 1e-6};
    trace_add_gradient(trace, &row);
}

/* Four ranks, allreduce and a ring of messages, everything right. */
static inline struct trace *sample_healthy(void)
{
    struct trace *trace = trace_new(4);
    sample_head(trace, "scenarios/ring-halo.c");
    for (uint32_t r = 0; r < 4; r++) {
        uint32_t seed = sample_node(trace, r, 1, "seed", OP_COMPUTE, STATE_COMPLETE, TRACE_NO);
        uint32_t all = sample_node(trace, r, 1, "Allreduce*", OP_ALLREDUCE, STATE_COMPLETE, seed);
        uint32_t sum = sample_node(trace, r, 1, "sum*", OP_COMPUTE, STATE_COMPLETE, all);
        uint32_t mul = sample_node(trace, r, 1, "mul*", OP_COMPUTE, STATE_COMPLETE, sum);
        uint32_t receive = sample_node(trace, r, 1, "Recv*", OP_RECV, STATE_COMPLETE, mul);
        uint32_t send = sample_node(trace, r, 1, "Send*", OP_SEND, STATE_COMPLETE, TRACE_NO);
        uint32_t leaf = sample_node(trace, r, 1, "dL/dx", OP_COMPUTE, STATE_COMPLETE, send);
        trace_add_edge(trace, receive, send, EDGE_ORDER);
        trace_add_edge(trace, mul, leaf, EDGE_DATA);
        sample_op(trace, r, all, OP_ALLREDUCE, TRACE_NONE, TRACE_NONE, STATE_COMPLETE, 0);
        sample_op(trace, r, receive, OP_SEND, (int32_t)((r + 3) % 4), 10, STATE_COMPLETE, 0);
        sample_op(trace, r, send, OP_RECV, (int32_t)((r + 1) % 4), 10, STATE_COMPLETE, 1);
        sample_gradient(trace, r, "x", 0.25 + r, 0.25 + r + 3e-10);
    }
    return trace_finish(trace, NULL) ? trace : NULL;
}

/* Three ranks send before they receive; the fourth waits for the first of them. */
static inline struct trace *sample_deadlock(struct findings *findings)
{
    struct trace *trace = trace_new(4);
    uint32_t blocked[4];
    sample_head(trace, "scenarios/send-first-ring.c");
    trace->outcome = OUTCOME_DEADLOCK;
    for (uint32_t r = 0; r < 4; r++) {
        uint32_t seed = sample_node(trace, r, 1, "seed", OP_COMPUTE, STATE_COMPLETE, TRACE_NO);
        uint32_t mul = sample_node(trace, r, 1, "mul*", OP_COMPUTE, STATE_COMPLETE, seed);
        uint32_t stuck = sample_node(trace, r, 1, r == 3 ? "Send*" : "Recv*",
                                     r == 3 ? OP_SEND : OP_RECV, STATE_BLOCKED, mul);
        uint32_t never = sample_node(trace, r, 1, r == 3 ? "sum*" : "Send*",
                                     r == 3 ? OP_COMPUTE : OP_SEND, STATE_NEVER, stuck);
        (void)never;
        blocked[r] = r == 3 ? sample_op(trace, r, stuck, OP_RECV, 0, 11, STATE_BLOCKED, 1)
                            : sample_op(trace, r, stuck, OP_SEND, (int32_t)((r + 1) % 3), 10,
                                        STATE_BLOCKED, 0);
        trace->rank_info[r].state = RANK_BLOCKED;
    }
    if (!trace_finish(trace, NULL))
        return NULL;
    struct finding *finding = findings_add(
        findings, "D001", "cycle of 3 blocked ranks: 0 waits for 1 waits for 2 waits for 0");
    finding_detail(
        finding,
        "Ranks 0, 1 and 2 all send first, and no send completes before its receive is posted. "
        "Rank 3 waits for the cycle.");
    for (uint32_t r = 0; r < 4; r++)
        finding_op_add(finding, blocked[r], r == 3 ? "waits" : "core");
    finding->site = 0;
    finding->confirmation = CONFIRM_HAPPENED;
    finding->repair = strdup("ring.c:41: let one rank receive before it sends, or use Sendrecv");
    finding_seal(finding, trace);
    return trace;
}

/* A wrong adjoint of an allreduce, and two operations of rank 1 without an order. */
static inline struct trace *sample_wrong(struct findings *findings)
{
    struct trace *trace = trace_new(3);
    uint32_t culprits[3], isend = TRACE_NO, irecv = TRACE_NO, unordered[2];
    sample_head(trace, "scenarios/tp-linear.c");
    for (uint32_t r = 0; r < 3; r++) {
        uint32_t seed = sample_node(trace, r, 1, "seed", OP_COMPUTE, STATE_COMPLETE, TRACE_NO);
        uint32_t relu = sample_node(trace, r, 1, "relu*", OP_COMPUTE, STATE_COMPLETE, seed);
        uint32_t all = sample_node(trace, r, 1, "Allreduce*", OP_ALLREDUCE, STATE_COMPLETE, relu);
        uint32_t matmul = sample_node(trace, r, 1, "matmul*", OP_COMPUTE, STATE_COMPLETE, all);
        culprits[r] =
            sample_op(trace, r, all, OP_ALLREDUCE, TRACE_NONE, TRACE_NONE, STATE_COMPLETE, 2);
        uint32_t last[2] = {matmul, TRACE_NO};
        if (r == 0) {
            last[0] = sample_node(trace, r, 1, "Recv*", OP_RECV, STATE_COMPLETE, matmul);
            sample_op(trace, r, last[0], OP_RECV, 1, 3, STATE_COMPLETE, 1);
        } else if (r == 1) {
            last[0] = unordered[0] =
                sample_node(trace, r, 1, "Isend*", OP_ISEND, STATE_COMPLETE, matmul);
            last[1] = unordered[1] =
                sample_node(trace, r, 1, "Irecv*", OP_IRECV, STATE_COMPLETE, matmul);
            isend = sample_op(trace, r, last[0], OP_ISEND, 0, 3, STATE_COMPLETE, 0);
            irecv = sample_op(trace, r, last[1], OP_IRECV, 2, 3, STATE_COMPLETE, 1);
        } else {
            last[0] = sample_node(trace, r, 1, "Send*", OP_SEND, STATE_COMPLETE, matmul);
            sample_op(trace, r, last[0], OP_SEND, 1, 3, STATE_COMPLETE, 0);
        }
        uint32_t leaf = sample_node(trace, r, 1, "dL/dW", OP_COMPUTE, STATE_COMPLETE, last[0]);
        if (last[1] != TRACE_NO)
            trace_add_edge(trace, last[1], leaf, EDGE_DATA);
        sample_gradient(trace, r, "W", 0.5012, 1.5036);
        struct trace_pass pass = {.rank = r, .pass = 1, .mode = PASS_DATA, .complete = true};
        trace_add_pass(trace, &pass);
    }
    if (!trace_finish(trace, NULL))
        return NULL;
    struct finding *wrong = findings_add(
        findings, "G001", "the first wrong adjoint is Allreduce* #0 (identity, expected sum)");
    finding_detail(wrong, "The adjoint of Allreduce returned the incoming cotangent unchanged; "
                          "expected the sum over 3 "
                          "ranks. Everything that depends on it is affected.");
    for (uint32_t r = 0; r < 3; r++)
        finding_op_add(wrong, culprits[r], "culprit");
    wrong->site = 2;
    finding_seal(wrong, trace);
    struct finding *race =
        findings_add(findings, "R001", "Isend* and Irecv* on rank 1 have no path between them");
    finding_op_add(race, isend, "culprit");
    finding_op_add(race, irecv, "partner");
    finding_seal(race, trace);
    return trace;
}

/* Two allreduces of equal size without an order: their values can swap. One edge repairs it. */
static inline struct trace *sample_race(struct findings *findings)
{
    struct trace *trace = trace_new(2);
    uint32_t ops[2][2], nodes[2][2];
    sample_head(trace, "scenarios/two-allreduce.c");
    for (uint32_t r = 0; r < 2; r++) {
        uint32_t seed = sample_node(trace, r, 1, "seed", OP_COMPUTE, STATE_COMPLETE, TRACE_NO);
        uint32_t add = sample_node(trace, r, 1, "add*", OP_COMPUTE, STATE_COMPLETE, seed);
        for (int k = 0; k < 2; k++) {
            nodes[r][k] = sample_node(trace, r, 1, "Allreduce*", OP_ALLREDUCE, STATE_COMPLETE, add);
            ops[r][k] = sample_op(trace, r, nodes[r][k], OP_ALLREDUCE, TRACE_NONE, TRACE_NONE,
                                  STATE_COMPLETE, (uint32_t)k);
            trace->ops[ops[r][k]].comm_seq = (uint32_t)k;
            sample_node(trace, r, 1, k ? "dL/db" : "dL/da", OP_COMPUTE, STATE_COMPLETE,
                        nodes[r][k]);
        }
        struct trace_pass pass = {.rank = r, .pass = 1, .mode = PASS_DATA, .complete = true};
        trace_add_pass(trace, &pass);
    }
    if (!trace_finish(trace, NULL))
        return NULL;
    struct finding *race = findings_add(
        findings, "R002", "two Allreduce* of equal signature have no order between them");
    for (uint32_t r = 0; r < 2; r++) {
        finding_op_add(race, ops[r][0], "culprit");
        finding_op_add(race, ops[r][1], "partner");
    }
    race->repair = strdup("join b into a at ring.c:41 on both ranks");
    race->repair_edges = calloc(2, sizeof *race->repair_edges);
    for (uint32_t r = 0; race->repair_edges && r < 2; r++)
        race->repair_edges[race->repair_count++] =
            (struct trace_edge){nodes[r][0], nodes[r][1], EDGE_ORDER};
    finding_seal(race, trace);
    return trace;
}

/* A ring that sends before it receives, lucky that its sends were buffered. Gradients without leaf
 * nodes. */
static inline struct trace *sample_possible(struct findings *findings)
{
    struct trace *trace = trace_new(3);
    uint32_t sends[3], receives[3];
    sample_head(trace, "scenarios/buffered-ring.c");
    for (uint32_t r = 0; r < 3; r++) {
        uint32_t seed = sample_node(trace, r, 1, "seed", OP_COMPUTE, STATE_COMPLETE, TRACE_NO);
        uint32_t mul = sample_node(trace, r, 1, "mul*", OP_COMPUTE, STATE_COMPLETE, seed);
        uint32_t first = sample_node(trace, r, 1, "Recv*", OP_RECV, STATE_COMPLETE, mul);
        uint32_t second = sample_node(trace, r, 1, "Send*", OP_SEND, STATE_COMPLETE, TRACE_NO);
        sends[r] =
            sample_op(trace, r, first, OP_SEND, (int32_t)((r + 1) % 3), 10, STATE_COMPLETE, 0);
        receives[r] =
            sample_op(trace, r, second, OP_RECV, (int32_t)((r + 2) % 3), 10, STATE_COMPLETE, 1);
        sample_gradient(trace, r, "x", 0.25 + r, 0.25 + r + 3e-10);
        sample_gradient(trace, r, "w", 2.0 + r, 2.0 + r + 1e-10);
    }
    if (!trace_finish(trace, NULL))
        return NULL;
    struct finding *finding =
        findings_add(findings, "D003", "hangs where sends wait for their receives: ring.c:41");
    for (uint32_t r = 0; r < 3; r++)
        finding_op_add(finding, sends[r], "core");
    for (uint32_t r = 0; r < 3; r++)
        finding_op_add(finding, receives[r], "partner");
    finding->confirmation = CONFIRM_ABSTRACT;
    finding_seal(finding, trace);
    return trace;
}

/* A stencil code without a DAG: `steps` rounds of Isend, Irecv, Waitall with both neighbours. */
static inline struct trace *sample_stencil(uint32_t ranks, uint32_t steps)
{
    struct trace *trace = trace_new(ranks);
    sample_head(trace, "stencil.ti");
    for (uint32_t r = 0; r < ranks; r++)
        for (uint32_t s = 0; s < steps; s++) {
            uint32_t starts[4], count = 0;
            int32_t tag = 1 + (int32_t)(s / 3); /* no four alike */
            for (int side = -1; side <= 1; side += 2) {
                int32_t peer = (int32_t)r + side;
                if (peer < 0 || peer >= (int32_t)ranks)
                    continue;
                starts[count++] =
                    sample_op(trace, r, TRACE_NO, OP_IRECV, peer, tag, STATE_COMPLETE, 0);
                starts[count++] =
                    sample_op(trace, r, TRACE_NO, OP_ISEND, peer, tag, STATE_COMPLETE, 0);
            }
            uint32_t wait = sample_op(trace, r, TRACE_NO, OP_WAITALL, TRACE_NONE, TRACE_NONE,
                                      STATE_COMPLETE, 1);
            for (uint32_t k = 0; k < count; k++)
                trace_add_wait(trace, wait, starts[k], true);
        }
    return trace_finish(trace, NULL) ? trace : NULL;
}

/* A long tape: `nodes` backward nodes over `ranks` ranks, local but for an allreduce every hundred.
 */
static inline struct trace *sample_long(uint32_t ranks, uint32_t nodes)
{
    struct trace *trace = trace_new(ranks);
    sample_head(trace, "long-tape.c");
    for (uint32_t r = 0; r < ranks; r++) {
        uint32_t previous = sample_node(trace, r, 1, "seed", OP_COMPUTE, STATE_COMPLETE, TRACE_NO);
        for (uint32_t i = 1; i < nodes / ranks; i++) {
            bool meets = i % 100 == 0;
            previous = sample_node(trace, r, 1, meets ? "Allreduce*" : "mul*",
                                   meets ? OP_ALLREDUCE : OP_COMPUTE, STATE_COMPLETE, previous);
            if (meets) {
                uint32_t op = sample_op(trace, r, previous, OP_ALLREDUCE, TRACE_NONE, TRACE_NONE,
                                        STATE_COMPLETE, 0);
                trace->ops[op].comm_seq = i / 100 - 1;
            }
        }
    }
    return trace_finish(trace, NULL) ? trace : NULL;
}

/* One F or B block of a pipeline stage with its messages. */
static inline void sample_block(struct trace *trace, uint32_t rank, char action, int microbatch,
                                uint64_t *time)
{
    char name[32];
    int32_t stages = (int32_t)trace->ranks, before = (int32_t)rank - 1, after = (int32_t)rank + 1;
    int32_t from = action == 'F' ? before : after, to = action == 'F' ? after : before;
    if (from >= 0 && from < stages) {
        uint32_t op = sample_op(trace, rank, TRACE_NO, OP_RECV, from, action * 1000 + microbatch,
                                STATE_COMPLETE, 0);
        trace->ops[op].begin = (*time)++;
    }
    snprintf(name, sizeof name, "%c%d", action, microbatch);
    uint32_t node = sample_node(trace, rank, 0, name, OP_COMPUTE, STATE_COMPLETE, TRACE_NO);
    trace->nodes[node].begin = (*time)++;
    if (to >= 0 && to < stages) {
        uint32_t op = sample_op(trace, rank, TRACE_NO, OP_SEND, to, action * 1000 + microbatch,
                                STATE_COMPLETE, 0);
        trace->ops[op].begin = (*time)++;
    }
}

/* A pipeline: GPipe, or 1F1B where `alternate`. */
static inline struct trace *sample_pipeline(uint32_t stages, int microbatches, bool alternate)
{
    struct trace *trace = trace_new(stages);
    sample_head(trace, alternate ? "1f1b.csv" : "gpipe.csv");
    for (uint32_t r = 0; r < stages; r++) {
        uint64_t time = 1;
        int warm = alternate ? (int)(stages - r) : microbatches, forward = 0;
        warm = warm < microbatches ? warm : microbatches;
        while (forward < warm)
            sample_block(trace, r, 'F', forward++, &time);
        for (int backward = 0; backward < microbatches; backward++) {
            sample_block(trace, r, 'B', backward, &time);
            if (forward < microbatches)
                sample_block(trace, r, 'F', forward++, &time);
        }
    }
    return trace_finish(trace, NULL) ? trace : NULL;
}

#endif
