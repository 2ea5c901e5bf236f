/* Time-independent traces: actions to operations, waits to requests, back again, refusals. */
#include "traces/formats/ti.h"

#include "tests/traces/format_samples.h"

#include <mpi.h>

static const char ring[] = "0 init\n"
                           "0 location ring.c 12\n"
                           "0 isend 1 7 1e3 0\n"
                           "0 irecv 1 7 1000 0\n"
                           "0 compute 1e9\n"
                           "0 waitall 2\n"
                           "1 init\n"
                           "1 isend 0 7 1000 0\n"
                           "1 isend 0 7 1000 0\n"
                           "1 recv 0 7 -1 0\n"
                           "1 wait 1 0 7\n"
                           "0 recv 1 7 1000 0\n"
                           "1 test 1 0 7\n"
                           "0 allReduce 4 100 1\n"
                           "1 allreduce 4 100 1\n"
                           "0 gatherv 3 3 5 1 5 5\n"
                           "1 gatherv 5 3 5 1 5 5\n"
                           "0 finalize\n"
                           "1 finalize\n";

/* As SMPI numbers them (smpi_datatype.cpp). */
static void test_types(void)
{
    const MPI_Datatype types[] = {MPI_DOUBLE,         MPI_INT,
                                  MPI_CHAR,           MPI_SHORT,
                                  MPI_LONG,           MPI_FLOAT,
                                  MPI_BYTE,           MPI_LONG_LONG,
                                  MPI_SIGNED_CHAR,    MPI_UNSIGNED_CHAR,
                                  MPI_UNSIGNED_SHORT, MPI_UNSIGNED,
                                  MPI_UNSIGNED_LONG,  MPI_UNSIGNED_LONG_LONG,
                                  MPI_LONG_DOUBLE,    MPI_WCHAR};
    int right = 0;
    for (int i = 0; i < 16; i++)
        right += ti_type_of_number(i) == (uint32_t)(uintptr_t)types[i] &&
                 ti_number_of_type((uint32_t)(uintptr_t)types[i]) == i;
    tap_is_int(right, 16, "types have SMPI's numbers");
    tap_ok(!ti_type_of_number(-1) && !ti_type_of_number(16) && ti_number_of_type(1) == -1,
           "and no others have one");
}

static void test_actions(void)
{
    struct failure failure;
    struct trace *trace = sample_read("r.txt", ring, &failure);
    if (!tap_ok(trace, "a trace is read: %s", failure.text))
        return;
    const struct trace_op *ops = trace->ops, *other = ops + trace->rank_begin[1];
    tap_is_int(trace->ranks, 2, "ranks are counted");
    tap_is_int(ops[1].count, 1000, "a size may be written as a double");
    tap_is_int(ops[1].form->type, 0x214, "type 0 is double");
    tap_is_int(trace->sites[ops[1].form->site].line, 12, "a location is the site of what follows");
    tap_is_int(ops[1].request, 4, "a waitall takes what is pending");
    tap_is_int(ops[2].request, 4, "all of it");
    tap_is_int(other[1].request, trace->rank_begin[1] + 4,
               "a wait takes the oldest request like it");
    tap_is_int(other[2].request, trace->rank_begin[1] + 5,
               "a test that nobody follows up completed its request");
    tap_is_int(other[3].match, 1, "messages are matched");
    tap_is_int(ops[6].kind, OP_ALLREDUCE, "actions are known in older spelling");
    tap_is_int(ops[7].count, 8, "lists are summed");
    tap_is_int(ops[7].peer, 1, "the root stands behind them");
    tap_is_int(trace_op_counts(trace, 7)->receive[1], 5, "and kept");
    trace_free(trace);
}

static void test_written(void)
{
    struct failure failure;
    size_t size;
    struct trace *trace = sample_read("r.txt", ring, &failure);
    char *text = trace ? sample_write(trace, "ti", &size) : NULL;
    struct trace *again = text ? sample_read("again.txt", text, &failure) : NULL;
    size_t same = 0;
    if (tap_ok(again, "what is written is read: %s", failure.text))
        for (uint32_t i = 0, k = 0; i < again->op_count && k < trace->op_count; i++, k++) {
            k += trace->ops[k].kind == OP_WAITALL; /* written as a wait for each */
            const struct trace_op *a = &trace->ops[k], *b = &again->ops[i];
            if (b->kind == OP_WAIT && a->kind != OP_WAIT && a->kind != OP_TEST) {
                k--;
                continue;
            }
            same += a->kind == b->kind && a->peer == b->peer && a->tag == b->tag &&
                    a->count == b->count && a->form->type == b->form->type;
        }
    tap_is_int(same, trace ? trace->op_count - 1 : 0, "with the same operations");
    free(text);
    trace_free(trace);
    trace_free(again);
    trace =
        sample_read("t",
                    "{\"simrun\":1,\"ranks\":2,\"program\":\"p\"}\n{\"comm\":2,\"members\":[0,1]}\n"
                    "{\"op\":\"Barrier\",\"rank\":0,\"comm\":2}\n",
                    &failure);
    FILE *out = fopen("/dev/null", "w");
    tap_ok(trace && out && !format_write(trace, NULL, "ti", out, &failure),
           "what cannot be said is not written");
    tap_is_str(
        failure.text,
        "p: operation 0 of rank 0: time-independent traces know no communicator but the world",
        "with the reason");
    fclose(out);
    trace_free(trace);
}

static const struct {
    const char *text, *expected;
} malformed[] = {
    {"0 init\n0 sned 1 0 1", "t:2:3: unknown action \"sned\""},
    {"0 init\n5 init\n0 send 6 0 1", "t:3:8: a rank of the trace from -1000 to 5 expected"},
    {"0 send 0 0", "t:1:11: a size expected"},
    {"0 send 0 0 12x", "t:1:12: a size expected, not \"12x\""},
    {"0 send 0 0 nan", "t:1:12: a size expected, not \"nan\""},
    {"0 send 0 0 1e99", "t:1:12: a size from -1 to 9.00719925474099e+15 expected"},
    {"0 send 0 0.5 1", "t:1:10: a tag expected, not a fraction"},
    {"0 send 0 0 1 77", "t:1:14: the number of a type from 0 to 15 expected"},
    {"0 send -1 0 1", "t:1:1: a send to any rank or with any tag"},
    {"1048576 init", "t:1:1: a rank from 0 to 1048575 expected"},
    {"0 init\nx init", "t:2:1: a rank expected, not \"x\""},
    {"0 alltoallv 1 1 1", "t:1:18: a size expected"},
    {"1 init\n0 reducescatter 1 -1 0", "t:2:21: 2 sizes from 0 to 2^36 expected"},
    {"0 bcast 1 4", "t:1:11: a rank of the trace from 0 to 0 expected"},
    {"0 location a.c", "t:1:15: a line number expected"},
};

static void test_refusals(void)
{
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++)
        sample_refused("t", malformed[i].text, strlen(malformed[i].text), malformed[i].expected);
}

/* Many requests of one name and as many waits: linear, or this would not end. */
static void test_large(void)
{
    enum { REQUESTS = 30000 };
    struct failure failure = {0};
    char *text = malloc((size_t)REQUESTS * 32 + 64);
    size_t used = 0;
    for (int i = 0; i < REQUESTS; i++)
        used += (size_t)sprintf(text + used, "0 irecv 0 1 8\n");
    for (int i = 0; i < REQUESTS; i++)
        used += (size_t)sprintf(text + used, "0 wait 0 0 1\n");
    struct trace *trace = format_read_memory("large", text, used, &failure);
    tap_is_int(trace ? trace->wait_count : 0, REQUESTS,
               "many alike requests are waited for in order");
    tap_ok(trace && trace->ops[REQUESTS - 1].request == 2 * REQUESTS - 1, "the last by the last");
    trace_free(trace);
    free(text);
}

int main(void)
{
    test_types();
    test_actions();
    test_written();
    test_refusals();
    test_large();
    return tap_done();
}
