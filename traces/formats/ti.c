/* Reads time-independent traces, SMPI's replay format: a line is RANK ACTION ARGUMENTS. See
 * docs/formats.md. */
#include "traces/formats/ti.h"

#include "traces/input/input.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* SMPI numbers types in this order. */
static const uint32_t types[] = {0x214, 0x209, 0x243, 0x208, 0x20a, 0x210, 0x247, 0x20b,
                                 0x244, 0x245, 0x20c, 0x20d, 0x20e, 0x20f, 0x220, 0x23c};
enum { TYPE_BYTE = 6, TYPES = sizeof types / sizeof *types };

int ti_number_of_type(uint32_t type)
{
    for (int i = 0; i < TYPES; i++)
        if (types[i] == type)
            return i;
    return -1;
}

uint32_t ti_type_of_number(long number)
{
    return number >= 0 && number < TYPES ? types[number] : 0;
}

/* ---- words of a line ---- */

static void blanks(struct ti_reader *reader)
{
    const unsigned char *data = reader->input->data;
    while (reader->at < reader->end &&
           (data[reader->at] == ' ' || data[reader->at] == '\t' || data[reader->at] == '\r'))
        reader->at++;
}

/* The next word, empty at the end of the line. */
static size_t word(struct ti_reader *reader, const char **text)
{
    const unsigned char *data = reader->input->data;
    blanks(reader);
    size_t begin = reader->at;
    while (reader->at < reader->end && data[reader->at] > ' ')
        reader->at++;
    *text = (const char *)data + begin;
    return reader->at - begin;
}

static bool has_word(struct ti_reader *reader)
{
    blanks(reader);
    return reader->at < reader->end;
}

enum { WORD_MAX = 64 };

/* A number as SMPI prints them: an integer or a double. */
static bool number(struct ti_reader *reader, const char *what, double low, double high,
                   double *value)
{
    const char *text;
    char copy[WORD_MAX], *end;
    size_t length = word(reader, &text);
    size_t begin = reader->at - length;
    if (length == 0)
        return format_refuse(reader->input, begin, "%s expected", what);
    if (length >= sizeof copy)
        return format_refuse(reader->input, begin, "%s of at most %d characters expected", what,
                             WORD_MAX - 1);
    memcpy(copy, text, length);
    copy[length] = 0;
    *value = strtod(copy, &end);
    if (*end || strspn(copy, "+-.0123456789eE") != length)
        return format_refuse(reader->input, begin, "%s expected, not \"%s\"", what, copy);
    if (!(*value >= low && *value <= high))
        return format_refuse(reader->input, begin, "%s from %.15g to %.15g expected", what, low,
                             high);
    return true;
}

static bool integer(struct ti_reader *reader, const char *what, int64_t low, int64_t high,
                    int64_t *value)
{
    double real;
    blanks(reader);
    size_t begin = reader->at;
    if (!number(reader, what, (double)low, (double)high, &real))
        return false;
    if (trunc(real) != real)
        return format_refuse(reader->input, begin, "%s expected, not a fraction", what);
    *value = (int64_t)real;
    return true;
}

static const double SIZE_MAX_EXACT = 9007199254740992.0;

/* A size; -1 where the receiver does not know. */
static bool size_of(struct ti_reader *reader, int64_t *count)
{
    double real;
    if (!number(reader, "a size", -1, SIZE_MAX_EXACT, &real))
        return false;
    *count = real < 0 ? -1 : (int64_t)real;
    return true;
}

static bool type_of(struct ti_reader *reader, uint32_t *type)
{
    int64_t value;
    *type = reader->type;
    if (!has_word(reader))
        return true;
    if (!integer(reader, "the number of a type", 0, TYPES - 1, &value))
        return false;
    *type = ti_type_of_number((long)value);
    return true;
}

/* Ranks as numbers; every negative one is SMPI's "any". */
static bool who(struct ti_reader *reader, const char *what, int64_t limit, int32_t *rank)
{
    int64_t value;
    if (!integer(reader, what, -1000, limit, &value))
        return false;
    *rank = value < 0 ? TRACE_ANY : (int32_t)value;
    return true;
}

/* ---- actions ---- */

static struct trace_plain_op op_new(struct ti_reader *reader, enum op_kind kind)
{
    struct trace_plain_op op = trace_op_none(reader->rank, kind);
    op.site = reader->sites[reader->rank];
    if (op_kind_class((int)kind) != CLASS_WAIT && kind != OP_COMPUTE && kind != OP_INIT)
        op.comm = reader->comm;
    if (op_kind_class((int)kind) == CLASS_COLLECTIVE)
        op.comm_seq = reader->comm_seqs[reader->rank]++;
    return op;
}

static bool op_store(struct ti_reader *reader, const struct trace_plain_op *op)
{
    return trace_add_op(reader->trace, op) != TRACE_NO || format_no_memory(reader->input);
}

static bool point_to_point(struct ti_reader *reader, enum op_kind kind)
{
    struct trace_plain_op op = op_new(reader, kind);
    bool sends = op_kind_class((int)kind) == CLASS_SEND;
    struct ti_request request = {.rank = reader->rank, .op = (uint32_t)reader->trace->op_count};
    if (!who(reader, "a rank of the trace", (int64_t)reader->ranks - 1, &op.peer) ||
        !who(reader, "a tag", INT32_MAX, &op.tag) || !size_of(reader, &op.count) ||
        !type_of(reader, &op.type))
        return false;
    if (op.count < 0)
        op.count = sends ? 0 : (int64_t)SIZE_MAX_EXACT;
    if (sends && (op.peer == TRACE_ANY || op.tag == TRACE_ANY))
        return format_refuse(reader->input, reader->line, "a send to any rank or with any tag");
    op.signature = op.type;
    request.source = sends ? (int32_t)reader->rank : op.peer;
    request.destination = sends ? op.peer : (int32_t)reader->rank;
    request.tag = op.tag;
    if (kind == OP_ISEND || kind == OP_IRECV) {
        if (!format_grow(reader->input, &reader->requests, reader->request_count,
                         &reader->request_room, sizeof *reader->requests))
            return false;
        reader->requests[reader->request_count++] = request;
    }
    return op_store(reader, &op);
}

static bool wait(struct ti_reader *reader, enum ti_settle what)
{
    static const enum op_kind kinds[] = {OP_WAIT, OP_TEST, OP_WAITALL};
    struct trace_plain_op op = op_new(reader, kinds[what]);
    struct ti_waiting row = {.key = {.rank = reader->rank, .op = (uint32_t)reader->trace->op_count},
                             .what = what};
    const char *text;
    if (what == TI_SETTLE_ALL)
        word(reader, &text); /* how many there are: known */
    else if (!who(reader, "a rank of the trace", (int64_t)reader->ranks - 1, &row.key.source) ||
             !who(reader, "a rank of the trace", (int64_t)reader->ranks - 1,
                  &row.key.destination) ||
             !who(reader, "a tag", INT32_MAX, &row.key.tag))
        return false;
    if (!format_grow(reader->input, &reader->waits, reader->wait_count, &reader->wait_room,
                     sizeof *reader->waits))
        return false;
    reader->waits[reader->wait_count++] = row;
    return op_store(reader, &op);
}

enum form {
    FORM_NONE,     /* */
    FORM_AMOUNT,   /* amount */
    FORM_ROOTED,   /* size, root */
    FORM_REDUCED,  /* size, amount of computation, root */
    FORM_COMBINED, /* size, amount of computation */
    FORM_PAIR,     /* sent, received */
    FORM_PAIR_ROOTED,
    FORM_GATHERV,  /* sent, list received, root */
    FORM_SCATTERV, /* list sent, received, root */
    FORM_ALLGATHERV,
    FORM_ALLTOALLV,     /* room, list sent, room, list received */
    FORM_REDUCE_SCATTER /* list, amount of computation */
};

static bool list(struct ti_reader *reader, int64_t *counts, int64_t *sum)
{
    *sum = 0;
    for (uint32_t i = 0; i < reader->ranks; i++)
        if (!size_of(reader, &counts[i]) || counts[i] < 0 || counts[i] > FORMAT_PART_MAX ||
            __builtin_add_overflow(*sum, counts[i], sum))
            return format_refuse(reader->input, reader->at, "%u sizes from 0 to 2^36 expected",
                                 reader->ranks);
    return true;
}

static bool root_of(struct ti_reader *reader, int32_t *root)
{
    int64_t value = 0;
    bool done = !has_word(reader) ||
                integer(reader, "a rank of the trace", 0, (int64_t)reader->ranks - 1, &value);
    *root = (int32_t)value;
    return done;
}

static bool skip_amount(struct ti_reader *reader)
{
    double amount;
    return number(reader, "an amount of computation", -1, 1e300, &amount);
}

static bool counts_store(struct ti_reader *reader, const struct trace_plain_op *op,
                         const int64_t *send, const int64_t *receive)
{
    uint32_t index = (uint32_t)reader->trace->op_count;
    return op_store(reader, op) &&
           (trace_add_counts(reader->trace, index, reader->ranks, send, receive) != TRACE_NO ||
            format_no_memory(reader->input));
}

static bool lists_read(struct ti_reader *reader, struct trace_plain_op *op, enum form form)
{
    int64_t *send = reader->counts, *receive = reader->counts + reader->ranks, other = 0, total = 0;
    switch (form) {
    case FORM_GATHERV:
    case FORM_ALLGATHERV:
        if (!size_of(reader, &other) || !list(reader, receive, &op->count) ||
            (form == FORM_GATHERV && !root_of(reader, &op->peer)))
            return false;
        send = NULL;
        break;
    case FORM_SCATTERV:
        if (!list(reader, send, &op->count) || !size_of(reader, &other) ||
            !root_of(reader, &op->peer))
            return false;
        receive = NULL;
        break;
    case FORM_ALLTOALLV:
        if (!size_of(reader, &other) || !list(reader, send, &op->count) ||
            !size_of(reader, &other) || !list(reader, receive, &total))
            return false;
        break;
    default: /* FORM_REDUCE_SCATTER */
        if (!list(reader, receive, &op->count) || !skip_amount(reader))
            return false;
        send = NULL;
        break;
    }
    if (!type_of(reader, &op->type))
        return false;
    op->signature = op->type;
    return counts_store(reader, op, send, receive);
}

static bool collective(struct ti_reader *reader, enum op_kind kind, enum form form)
{
    struct trace_plain_op op = op_new(reader, kind);
    int64_t other;
    if (form >= FORM_GATHERV)
        return lists_read(reader, &op, form);
    if (form == FORM_NONE)
        return op_store(reader, &op);
    if (!size_of(reader, &op.count))
        return false;
    op.count = op.count < 0 ? 0 : op.count;
    if ((form == FORM_REDUCED || form == FORM_COMBINED) && !skip_amount(reader))
        return false;
    if ((form == FORM_PAIR || form == FORM_PAIR_ROOTED) && !size_of(reader, &other))
        return false;
    if ((form == FORM_ROOTED || form == FORM_REDUCED || form == FORM_PAIR_ROOTED) &&
        !root_of(reader, &op.peer))
        return false;
    if (!type_of(reader, &op.type))
        return false;
    op.signature = op.type;
    if (form == FORM_REDUCED || form == FORM_COMBINED)
        op.reduce_op = 1; /* the trace does not say which */
    return op_store(reader, &op);
}

static bool location(struct ti_reader *reader)
{
    const char *text;
    char file[512];
    int64_t line;
    size_t length = word(reader, &text);
    if (length == 0 || length >= sizeof file)
        return format_refuse(reader->input, reader->at - length,
                             "a file name of at most %zu bytes expected", sizeof file - 1);
    memcpy(file, text, length);
    file[length] = 0;
    if (!integer(reader, "a line number", 0, INT32_MAX, &line))
        return false;
    reader->sites[reader->rank] = trace_add_site(reader->trace, file, (int)line, "");
    return reader->sites[reader->rank] != TRACE_NO || format_no_memory(reader->input);
}

static bool computes(struct ti_reader *reader)
{
    struct trace_plain_op op = op_new(reader, OP_COMPUTE);
    return skip_amount(reader) && op_store(reader, &op);
}

/* "init" with an argument: sizes count doubles unless a type is given; without: bytes. */
static bool starts(struct ti_reader *reader)
{
    struct trace_plain_op op = op_new(reader, OP_INIT);
    const char *text;
    reader->type = types[word(reader, &text) ? 0 : TYPE_BYTE];
    return op_store(reader, &op);
}

static const struct {
    const char *name;
    enum op_kind kind;
    enum form form;
} collectives[] = {
    {"barrier", OP_BARRIER, FORM_NONE},
    {"finalize", OP_FINALIZE, FORM_NONE},
    {"bcast", OP_BCAST, FORM_ROOTED},
    {"reduce", OP_REDUCE, FORM_REDUCED},
    {"allreduce", OP_ALLREDUCE, FORM_COMBINED},
    {"alltoall", OP_ALLTOALL, FORM_PAIR},
    {"alltoallv", OP_ALLTOALLV, FORM_ALLTOALLV},
    {"gather", OP_GATHER, FORM_PAIR_ROOTED},
    {"gatherv", OP_GATHERV, FORM_GATHERV},
    {"scatter", OP_SCATTER, FORM_PAIR_ROOTED},
    {"scatterv", OP_SCATTERV, FORM_SCATTERV},
    {"allgather", OP_ALLGATHER, FORM_PAIR},
    {"allgatherv", OP_ALLGATHERV, FORM_ALLGATHERV},
    {"reducescatter", OP_REDUCE_SCATTER, FORM_REDUCE_SCATTER},
    {"scan", OP_SCAN, FORM_COMBINED},
    {"exscan", OP_EXSCAN, FORM_COMBINED},
};

static bool is(const char *text, size_t length, const char *name)
{
    return strlen(name) == length && strncasecmp(text, name, length) == 0;
}

static bool action(struct ti_reader *reader)
{
    const char *text;
    size_t length = word(reader, &text), begin = reader->at - length;
    static const struct {
        const char *name;
        enum op_kind kind;
    } messages[] = {{"send", OP_SEND}, {"isend", OP_ISEND}, {"recv", OP_RECV}, {"irecv", OP_IRECV}};
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++)
        if (is(text, length, messages[i].name))
            return point_to_point(reader, messages[i].kind);
    for (size_t i = 0; i < sizeof collectives / sizeof *collectives; i++)
        if (is(text, length, collectives[i].name))
            return collective(reader, collectives[i].kind, collectives[i].form);
    if (is(text, length, "wait"))
        return wait(reader, TI_SETTLE_WAIT);
    if (is(text, length, "test"))
        return wait(reader, TI_SETTLE_TEST);
    if (is(text, length, "waitall"))
        return wait(reader, TI_SETTLE_ALL);
    if (is(text, length, "compute") || is(text, length, "sleep"))
        return computes(reader);
    if (is(text, length, "location"))
        return location(reader);
    if (is(text, length, "init"))
        return starts(reader);
    if (is(text, length, "comm_size") || is(text, length, "comm_split") ||
        is(text, length, "comm_dup"))
        reader->at = reader->end; /* SMPI ignores them too */
    else
        return format_refuse(reader->input, begin, "unknown action \"%.*s\"",
                             length < 40 ? (int)length : 40, text);
    return true;
}

/* ---- lines ---- */

static bool line_read(struct ti_reader *reader)
{
    int64_t rank;
    if (!integer(reader, "a rank", 0, (int64_t)reader->ranks - 1, &rank))
        return false;
    reader->rank = (uint32_t)rank;
    return action(reader);
}

static bool line_rank(struct ti_reader *reader)
{
    int64_t rank;
    if (!integer(reader, "a rank", 0, FORMAT_RANKS_MAX - 1, &rank))
        return false;
    if ((uint32_t)rank >= reader->ranks)
        reader->ranks = (uint32_t)rank + 1;
    return true;
}

static bool lines(struct ti_reader *reader, bool (*each)(struct ti_reader *reader))
{
    const struct format_input *input = reader->input;
    for (size_t at = format_text_begin(input); at < input->size;) {
        const unsigned char *newline = memchr(input->data + at, '\n', input->size - at);
        size_t end = newline ? (size_t)(newline - input->data) : input->size;
        reader->at = reader->line = at;
        reader->end = end;
        at = end + 1;
        if (has_word(reader) && input->data[reader->at] != '#' && !each(reader))
            return false;
    }
    return true;
}

static bool begin(struct ti_reader *reader)
{
    reader->trace = trace_new(reader->ranks);
    reader->sites = malloc(reader->ranks * sizeof *reader->sites);
    reader->comm_seqs = calloc(reader->ranks, sizeof *reader->comm_seqs);
    reader->counts = malloc(2 * (size_t)reader->ranks * sizeof *reader->counts);
    if (!reader->trace || !reader->sites || !reader->comm_seqs || !reader->counts)
        return format_no_memory(reader->input);
    memset(reader->sites, 0xff, reader->ranks * sizeof *reader->sites);
    reader->trace->outcome = OUTCOME_IMPORTED;
    snprintf(reader->trace->program, sizeof reader->trace->program, "%s", reader->input->name);
    reader->comm = format_world_add(reader->input, reader->trace, "world");
    return reader->comm != TRACE_NO;
}

struct trace *format_ti_read(struct format_input *inputs, size_t count)
{
    struct ti_reader reader = {.input = inputs, .type = types[TYPE_BYTE]};
    bool done = true;
    for (size_t i = 0; i < count && done; i++) {
        reader.input = &inputs[i];
        done = lines(&reader, line_rank);
    }
    if (done && reader.ranks == 0)
        done = format_refuse(inputs, 0, "a trace without actions");
    done = done && begin(&reader);
    for (size_t i = 0; i < count && done; i++) {
        reader.input = &inputs[i];
        done = lines(&reader, line_read);
    }
    done = done && ti_settle_all(&reader);
    free(reader.sites);
    free(reader.comm_seqs);
    free(reader.counts);
    free(reader.requests);
    free(reader.waits);
    if (done)
        return format_finish(reader.input, reader.trace);
    trace_free(reader.trace);
    return NULL;
}
