/* Writes time-independent traces, which SMPI replays. See docs/formats.md.
 *
 * They know one communicator, the world, and only blocking collectives; what cannot be said is
 * refused, never left out silently, except what moves nothing: probes, communicators made and
 * freed. A nonblocking collective is written where it was started. */
#include "traces/formats/ti.h"
#include "traces/input/write.h"

#include <inttypes.h>

struct writer {
    const struct trace *trace;
    FILE *out;
    struct failure *failure;
};

static bool refuse(const struct writer *writer, const struct trace_op *op, const char *why)
{
    failure_set(writer->failure, FAILURE_INPUT, "%s: operation %u of rank %u: %s",
                writer->trace->program, trace_op_seq(writer->trace, op), op->rank, why);
    return false;
}

/* Types SMPI does not number are written as bytes. */
static int type_of(const struct trace_op *op, int64_t *unit)
{
    int number = ti_number_of_type(op->form->type);
    *unit = number < 0 ? (int64_t)trace_type_size(op->form->type) : 1;
    return number < 0 ? ti_number_of_type(0x247) : number;
}

/* Sizes stay exact in a double; what is larger is cut, a receive's unknown room is -1. */
static int64_t scaled(int64_t count, int64_t unit)
{
    static const int64_t largest = (int64_t)1 << 53;
    int64_t size;
    return __builtin_mul_overflow(count, unit, &size) || size > largest ? largest
           : size < 0                                                   ? 0
                                                                        : size;
}

static void begin(const struct writer *writer, const struct trace_op *op, const char *action)
{
    fprintf(writer->out, "%" PRIu32 " %s", op->rank, action);
}

static int32_t any(int32_t posted, int32_t matched, int32_t wildcard)
{
    return posted != TRACE_ANY ? posted : matched >= 0 ? matched : wildcard;
}

enum { SMPI_ANY_SOURCE = -555, SMPI_ANY_TAG = -444 };

static bool write_message(const struct writer *writer, const struct trace_op *op,
                          const char *action)
{
    int64_t unit;
    int type = type_of(op, &unit);
    int64_t size = op->count >= (int64_t)1 << 53 ? -1 : scaled(op->count, unit);
    if (op->peer == TRACE_NONE)
        return true;
    begin(writer, op, action);
    fprintf(writer->out, " %" PRId32 " %" PRId32 " %" PRId64 " %d\n",
            any(op->peer, trace_op_peer_matched(op), SMPI_ANY_SOURCE),
            any(op->tag, trace_op_tag_matched(op), SMPI_ANY_TAG), size, type);
    return true;
}

static void write_wait_of(const struct writer *writer, const struct trace_op *wait,
                          const struct trace_op *start, const char *action)
{
    bool sends = op_kind_class(start->kind) == CLASS_SEND;
    int32_t peer = any(start->peer, trace_op_peer_matched(start), SMPI_ANY_SOURCE),
            me = (int32_t)start->rank;
    if ((!sends && op_kind_class(start->kind) != CLASS_RECEIVE) || start->peer == TRACE_NONE)
        return;
    begin(writer, wait, action);
    fprintf(writer->out, " %" PRId32 " %" PRId32 " %" PRId32 "\n", sends ? me : peer,
            sends ? peer : me, any(start->tag, trace_op_tag_matched(start), SMPI_ANY_TAG));
}

/* One line for each request that it completed. */
static void write_waits(const struct writer *writer, uint32_t index, size_t *row,
                        const char *action)
{
    const struct trace *trace = writer->trace;
    const struct trace_op *op = &trace->ops[index];
    bool rows = false;
    for (; *row < trace->wait_count && trace->waits[*row].wait == index; ++*row, rows = true)
        if (trace->waits[*row].completed)
            write_wait_of(writer, op, &trace->ops[trace->waits[*row].start], action);
    if (!rows && op->request < trace->op_count && op->state == STATE_COMPLETE)
        write_wait_of(writer, op, &trace->ops[op->request], action);
}

static void write_list(const struct writer *writer, const int64_t *counts, int64_t total,
                       int64_t unit)
{
    uint32_t ranks = writer->trace->ranks;
    for (uint32_t i = 0; i < ranks; i++) /* an unknown list: equal shares */
        fprintf(writer->out, " %" PRId64, scaled(counts ? counts[i] : total / ranks, unit));
}

static int64_t own(const int64_t *counts, const struct trace_op *op, uint32_t ranks)
{
    return counts ? counts[op->rank] : op->count / ranks;
}

static void write_lists(const struct writer *writer, uint32_t index, const char *action)
{
    const struct trace_op *op = &writer->trace->ops[index];
    const struct trace_counts *counts = trace_op_counts(writer->trace, index);
    const int64_t *send = counts && counts->n == writer->trace->ranks ? counts->send : NULL;
    const int64_t *receive = counts && counts->n == writer->trace->ranks ? counts->receive : NULL;
    int64_t unit, mine;
    int type = type_of(op, &unit);
    begin(writer, op, action);
    switch (op->kind) {
    case OP_GATHERV:
    case OP_ALLGATHERV:
        mine = receive ? receive[op->rank] : own(send, op, writer->trace->ranks);
        fprintf(writer->out, " %" PRId64, scaled(mine, unit));
        write_list(writer, receive, op->count, unit);
        break;
    case OP_SCATTERV:
        write_list(writer, send, op->count, unit);
        fprintf(writer->out, " %" PRId64, scaled(own(send, op, writer->trace->ranks), unit));
        break;
    case OP_ALLTOALLV:
        fprintf(writer->out, " %" PRId64, scaled(op->count, unit));
        write_list(writer, send, op->count, unit);
        fprintf(writer->out, " %" PRId64, scaled(op->count, unit));
        write_list(writer, receive, op->count, unit);
        break;
    default: /* OP_REDUCE_SCATTER */
        write_list(writer, receive, op->count, unit);
        fputs(" 0", writer->out);
        break;
    }
    if (op->kind == OP_GATHERV || op->kind == OP_SCATTERV)
        fprintf(writer->out, " %" PRId32, op->peer);
    fprintf(writer->out, op->kind == OP_REDUCE_SCATTER ? " %d\n" : " %d %d\n", type, type);
}

/* sizes: how often the size stands; computed: an amount of computation; rooted; types: how often
 * the type stands */
static const struct row {
    int kind;
    const char *action;
    int sizes;
    bool computed, rooted;
    int types;
} rows[] = {
    {OP_BARRIER, "barrier", 0, false, false, 0},
    {OP_BCAST, "bcast", 1, false, true, 1},
    {OP_REDUCE, "reduce", 1, true, true, 1},
    {OP_ALLREDUCE, "allreduce", 1, true, false, 1},
    {OP_ALLTOALL, "alltoall", 2, false, false, 2},
    {OP_GATHER, "gather", 2, false, true, 2},
    {OP_SCATTER, "scatter", 2, false, true, 2},
    {OP_ALLGATHER, "allgather", 2, false, false, 2},
    {OP_SCAN, "scan", 1, true, false, 1},
    {OP_EXSCAN, "exscan", 1, true, false, 1},
    {OP_GATHERV, "gatherv", -1, false, true, 2},
    {OP_SCATTERV, "scatterv", -1, false, true, 2},
    {OP_ALLGATHERV, "allgatherv", -1, false, false, 2},
    {OP_ALLTOALLV, "alltoallv", -1, false, false, 2},
    {OP_REDUCE_SCATTER, "reducescatter", -1, true, false, 1},
    {OP_FINALIZE, "finalize", 0, false, false, 0},
};

static bool write_collective(const struct writer *writer, uint32_t index)
{
    const struct trace_op *op = &writer->trace->ops[index];
    const struct row *row = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].kind == op->kind)
            row = &rows[i];
    if (op_kind_makes_comm(op->kind))
        return true;
    if (!row)
        return refuse(writer, op, "time-independent traces have no such collective");
    if (row->sizes < 0) {
        write_lists(writer, index, row->action);
        return true;
    }
    int64_t unit;
    int type = type_of(op, &unit);
    begin(writer, op, row->action);
    for (int i = 0; i < row->sizes; i++)
        fprintf(writer->out, " %" PRId64, scaled(op->count, unit));
    if (row->computed)
        fputs(" 0", writer->out);
    if (row->rooted)
        fprintf(writer->out, " %" PRId32, op->peer < 0 ? 0 : op->peer);
    for (int i = 0; i < row->types; i++)
        fprintf(writer->out, " %d", type);
    putc('\n', writer->out);
    return true;
}

static bool is_world(const struct trace *trace, const struct trace_op *op)
{
    return op->form->comm < trace->comm_count && trace->comms[op->form->comm].id == 1;
}

static bool write_op(const struct writer *writer, uint32_t index, size_t *row)
{
    const struct trace_op *op = &writer->trace->ops[index];
    enum op_class class = op_kind_class(op->kind);
    bool moves = class == CLASS_SEND || class == CLASS_RECEIVE ||
                 (class == CLASS_COLLECTIVE && !op_kind_makes_comm(op->kind));
    if (moves && !is_world(writer->trace, op))
        return refuse(writer, op, "time-independent traces know no communicator but the world");
    switch (class) {
    case CLASS_SEND:
        return write_message(writer, op, op->kind >= OP_ISEND ? "isend" : "send");
    case CLASS_RECEIVE:
        return write_message(writer, op,
                             op->kind == OP_IRECV || op->kind == OP_IMRECV ? "irecv" : "recv");
    case CLASS_WAIT:
        write_waits(writer, index, row, op->kind >= OP_TEST ? "test" : "wait");
        return true;
    case CLASS_COLLECTIVE:
        return write_collective(writer, index);
    case CLASS_COMPUTE:
        begin(writer, op, "compute 0\n");
        return true;
    case CLASS_PROBE:
    case CLASS_NONE:
        return true;
    case CLASS_CONTROL:
        break;
    }
    return op->kind == OP_INIT || op->kind == OP_REQUEST_FREE ||
           refuse(writer, op, "time-independent traces have nothing like it");
}

bool format_ti_write(const struct trace *trace, const struct findings *findings, FILE *out,
                     struct failure *failure)
{
    struct writer writer = {.trace = trace, .out = out, .failure = failure};
    size_t row = 0;
    (void)findings;
    for (uint32_t rank = 0; rank < trace->ranks; rank++) {
        bool finalized = false;
        fprintf(out, "%" PRIu32 " init\n", rank);
        for (size_t i = trace->rank_begin[rank]; i < trace->rank_begin[rank + 1]; i++) {
            if (!write_op(&writer, (uint32_t)i, &row))
                return false;
            finalized = finalized || trace->ops[i].kind == OP_FINALIZE;
        }
        if (!finalized)
            fprintf(out, "%" PRIu32 " finalize\n", rank);
    }
    return true;
}
