/* How fast traces are checked: totally ordered runs, partially ordered backward passes, and how the
 * time grows.
 *
 *   bench_checker [ops ranks nodes dag_ranks]     default: 1,000,000 over 1,000 and 10,000 over 64
 *   bench_checker --jsonl FILE ops ranks          writes the totally ordered run, for simrun check
 *
 * A totally ordered run is a ring exchange (Irecv, Isend, Waitall) and an allreduce, over and over.
 * A backward pass is that of layers: in each, a rank exchanges with two neighbours and reduces, and
 * several messages of one layer are unordered. */
#include "checker/check.h"
#include "traces/formats/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

/* Processor time: the figure does not depend on what else the machine does. */
static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double peak_gib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1048576.0;
}

static struct trace *new_trace(uint32_t ranks)
{
    struct trace *trace = trace_new(ranks);
    int32_t *members = calloc(ranks, sizeof *members);
    for (uint32_t i = 0; i < ranks; i++)
        members[i] = (int32_t)i;
    struct trace_comm world = {.id = 1,
                               .size = ranks,
                               .members = members,
                               .parent = TRACE_NO,
                               .adjoint_of = TRACE_NO,
                               .name = "world"};
    trace_add_comm(trace, &world);
    free(members);
    snprintf(trace->model, sizeof trace->model, "eager");
    return trace;
}

static struct trace_plain_op new_op(struct trace *trace, uint32_t rank, enum op_kind kind, int line)
{
    struct trace_plain_op op = trace_op_none(rank, kind);
    op.state = STATE_COMPLETE;
    op.comm = 0;
    op.site = trace_add_site(trace, "bench.c", line, "main");
    op.count = 8;
    op.signature = 1;
    return op;
}

static struct trace *totally_ordered(size_t ops, uint32_t ranks)
{
    struct trace *trace = new_trace(ranks);
    size_t rounds = ops / ranks / 4;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        struct trace_plain_op receive = new_op(trace, rank, OP_IRECV, 1),
                        send = new_op(trace, rank, OP_ISEND, 2);
        struct trace_plain_op wait = new_op(trace, rank, OP_WAITALL, 3),
                        reduce = new_op(trace, rank, OP_ALLREDUCE, 4);
        receive.peer = (int32_t)((rank + ranks - 1) % ranks);
        send.peer = (int32_t)((rank + 1) % ranks);
        receive.tag = send.tag = 0;
        wait.comm = TRACE_NO;
        reduce.reduce_op = 3;
        for (size_t round = 0; round < rounds; round++) {
            uint32_t starts[2] = {trace_add_op(trace, &receive), trace_add_op(trace, &send)};
            uint32_t waits = trace_add_op(trace, &wait);
            trace_add_wait(trace, waits, starts[0], true);
            trace_add_wait(trace, waits, starts[1], true);
            reduce.comm_seq = (uint32_t)round;
            trace_add_op(trace, &reduce);
        }
    }
    return trace;
}

static uint32_t add_node(struct trace *trace, uint32_t rank, uint32_t *id, enum op_kind kind)
{
    struct trace_node node = {.rank = rank,
                              .id = ++*id,
                              .pass = 1,
                              .kind = (uint8_t)kind,
                              .state = STATE_COMPLETE,
                              .forward = TRACE_NO,
                              .site = TRACE_NO,
                              .name = TRACE_NO};
    return trace_add_node(trace, &node);
}

/* One layer: both receives are started, in any order; then both sends, in any order; then the
 * waits, in any order, and all before the reduction. Safe, and with unordered pairs everywhere. */
static struct trace *partially_ordered(size_t nodes, uint32_t ranks, bool racy)
{
    struct trace *trace = new_trace(ranks);
    size_t layers = nodes / ranks / 7;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        uint32_t id = 0, last = TRACE_NO;
        int32_t sides[2] = {(int32_t)((rank + 1) % ranks), (int32_t)((rank + ranks - 1) % ranks)};
        trace_add_pass(trace, &(struct trace_pass){
                                  .rank = rank, .pass = 1, .mode = PASS_DATA, .complete = true});
        for (size_t layer = 0; layer < layers; layer++) {
            uint32_t starts[2], receives[2], sends[2], waits[2];
            for (int i = 0; i < 2; i++) {
                struct trace_plain_op op = new_op(trace, rank, OP_IRECV, 1 + i);
                op.pass = 1;
                op.peer = sides[i];
                op.tag = i;
                op.node = receives[i] = add_node(trace, rank, &id, OP_IRECV);
                starts[i] = trace_add_op(trace, &op);
                if (last != TRACE_NO)
                    trace_add_edge(trace, last, receives[i], EDGE_DATA);
            }
            for (int i = 0; i < 2; i++) {
                struct trace_plain_op op = new_op(trace, rank, OP_SEND, 3 + i);
                op.pass = 1;
                op.peer = sides[i];
                op.tag = !i;
                op.node = sends[i] = add_node(trace, rank, &id, OP_SEND);
                trace_add_op(trace, &op);
                for (int j = 0; j < 2; j++)
                    trace_add_edge(trace, receives[j], sends[i], EDGE_ORDER);
            }
            struct trace_plain_op reduce = new_op(trace, rank, OP_ALLREDUCE, 7);
            uint32_t reduction = TRACE_NO;
            for (int i = 0; i < 2; i++) {
                struct trace_plain_op op = new_op(trace, rank, OP_WAIT, 5 + i);
                op.pass = 1;
                op.comm = TRACE_NO;
                op.request = starts[i];
                op.node = waits[i] = add_node(trace, rank, &id, OP_WAIT);
                uint32_t wait = trace_add_op(trace, &op);
                trace_add_wait(trace, wait, starts[i], true);
                for (int j = 0; j < 2; j++)
                    trace_add_edge(trace, racy ? receives[j] : sends[j], waits[i], EDGE_ORDER);
            }
            reduction = add_node(trace, rank, &id, OP_ALLREDUCE);
            for (int i = 0; i < 2; i++) {
                trace_add_edge(trace, waits[i], reduction, EDGE_DATA);
                trace_add_edge(trace, sends[i], reduction, EDGE_ORDER);
            }
            reduce.pass = 1;
            reduce.node = reduction;
            reduce.reduce_op = 3;
            reduce.comm_seq = (uint32_t)layer;
            trace_add_op(trace, &reduce);
            last = reduction;
        }
    }
    return trace;
}

static void measure(const char *name, struct trace *trace)
{
    struct failure failure;
    struct check_options options;
    struct findings findings;
    if (!trace_finish(trace, &failure)) {
        fprintf(stderr, "bench_checker: %s\n", failure.text);
        exit(1);
    }
    check_options_init(&options);
    findings_init(&findings);
    double start = now();
    check_trace(trace, &options, &findings);
    double seconds = now() - start;
    printf(
        "%-20s %9zu operations %6u ranks %8.3f s %12.0f operations/s %6.2f GiB peak %zu findings\n",
        name, trace->op_count, trace->ranks, seconds, (double)trace->op_count / seconds, peak_gib(),
        findings.count);
    for (size_t i = 0; i < findings.count && i < 3; i++)
        printf("    %s %s\n", findings.items[i].code, findings.items[i].title);
    fflush(stdout);
    findings_release(&findings);
    trace_free(trace);
}

static int write_file(const char *path, size_t ops, uint32_t ranks)
{
    struct failure failure = {0};
    struct trace *trace = totally_ordered(ops, ranks);
    FILE *out = fopen(path, "w");
    bool good =
        out && trace_finish(trace, &failure) && format_write(trace, NULL, "jsonl", out, &failure);
    good = out && fclose(out) == 0 && good;
    if (!good)
        fprintf(stderr, "bench_checker: %s: %s\n", path,
                failure.text[0] ? failure.text : "cannot be written");
    trace_free(trace);
    return good ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc == 5 && !strcmp(argv[1], "--jsonl"))
        return write_file(argv[2], strtoull(argv[3], NULL, 10),
                          (uint32_t)strtoul(argv[4], NULL, 10));
    size_t ops = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000,
           nodes = argc > 3 ? strtoull(argv[3], NULL, 10) : 10000;
    uint32_t ranks = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 1000,
             dag_ranks = argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 10) : 64;
    if (!ranks || !dag_ranks) {
        fprintf(stderr, "usage: bench_checker [ops ranks nodes dag_ranks]\n");
        return 2;
    }
    for (size_t step = 100; step > 0; step /= 10)
        if (ops / step >= ranks * 4)
            measure("totally ordered", totally_ordered(ops / step, ranks));
    for (size_t step = 100; step > 0; step /= 10)
        if (nodes / step >= dag_ranks * 7)
            measure("partially ordered", partially_ordered(nodes / step, dag_ranks, false));
    for (size_t step = 100; step > 0; step /= 10)
        if (nodes / step >= dag_ranks * 7)
            measure("and unsafe", partially_ordered(nodes / step, dag_ranks, true));
    return 0;
}
