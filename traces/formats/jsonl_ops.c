/* Operation lines of a JSONL file. See jsonl_read.h.
 *
 * An operation goes into the trace with ids where indices belong; jsonl_links.c replaces
 * them. */
#include "traces/formats/jsonl_read.h"

#include <stdlib.h>
#include <string.h>

/* The keys of an operation line: first the numbers of jsonl_fields, then these. */
enum op_key {
    KEY_RANK = 16,
    KEY_ID,
    KEY_ROOT,
    KEY_COMM,
    KEY_COMM_SEQ,
    KEY_TYPE,
    KEY_SIGNATURE,
    KEY_REDUCE,
    KEY_IDENTITY,
    KEY_SITE,
    KEY_NAME,
    KEY_FLAGS,
    KEY_STATE,
    KEY_REQUEST,
    KEY_NODE,
    KEY_MATCH,
    KEY_ADJOINT_OF,
    KEY_REQUESTS,
    KEY_COMPLETED,
    KEY_DEPS,
    KEY_ORDER_DEPS,
    KEY_SEND_COUNTS,
    KEY_RECEIVE_COUNTS,
    KEYS,
    KEY_NONE = KEYS
};
_Static_assert((int)KEYS <= (int)JSONL_OP_KEYS, "key_after has room for all of them");

#define KEY(text)                                                                                  \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }
static const struct {
    const char *name;
    size_t length;
} keys[] = {
#define X(key, member, type, absent) KEY(key),
    JSONL_FIELDS(X)
#undef X
        [KEY_RANK] = KEY("rank"),
    [KEY_ID] = KEY("id"),
    [KEY_ROOT] = KEY("root"),
    [KEY_COMM] = KEY("comm"),
    [KEY_COMM_SEQ] = KEY("comm_seq"),
    [KEY_TYPE] = KEY("type"),
    [KEY_SIGNATURE] = KEY("signature"),
    [KEY_REDUCE] = KEY("reduce"),
    [KEY_IDENTITY] = KEY("identity"),
    [KEY_SITE] = KEY("site"),
    [KEY_NAME] = KEY("name"),
    [KEY_FLAGS] = KEY("flags"),
    [KEY_STATE] = KEY("state"),
    [KEY_REQUEST] = KEY("request"),
    [KEY_NODE] = KEY("node"),
    [KEY_MATCH] = KEY("match"),
    [KEY_ADJOINT_OF] = KEY("adjoint_of"),
    [KEY_REQUESTS] = KEY("requests"),
    [KEY_COMPLETED] = KEY("completed"),
    [KEY_DEPS] = KEY("deps"),
    [KEY_ORDER_DEPS] = KEY("order_deps"),
    [KEY_SEND_COUNTS] = KEY("send_counts"),
    [KEY_RECEIVE_COUNTS] = KEY("receive_counts"),
};
_Static_assert(sizeof keys / sizeof *keys == KEYS, "one name each");
enum { KEY_PASS = 3 };

static unsigned key_number(const char *text)
{
    unsigned key = 0;
    while (key < KEYS && (keys[key].name[0] != text[0] || strcmp(keys[key].name, text) != 0))
        key++;
    return key;
}

/* Lines are written by programs, which order their keys alike: the key that came after this one the
 * last time an operation of this kind was read is looked for first, without taking its text out of
 * the file. */
static bool key_next(struct jsonl_reader *reader, uint8_t *after, unsigned *key, const char **text)
{
    unsigned guess = *after;
    if (json_key_is(&reader->json, keys[guess].name, keys[guess].length)) {
        *key = guess;
        return true;
    }
    if (!json_key(&reader->json, text))
        return false;
    *key = key_number(*text);
    if (*key != KEY_NONE)
        *after = (uint8_t)*key;
    return true;
}

bool jsonl_reference_add(struct jsonl_reader *reader, enum jsonl_reference_to to, uint32_t row,
                         uint32_t rank, uint32_t id, bool flag)
{
    if (!format_grow(reader->input, &reader->references, reader->reference_count,
                     &reader->reference_room, sizeof *reader->references))
        return false;
    reader->references[reader->reference_count++] =
        (struct jsonl_reference){.to = (uint8_t)to,
                                 .row = row,
                                 .rank = rank,
                                 .id = id,
                                 .flag = flag,
                                 .offset = reader->line};
    return true;
}

bool jsonl_read_ids(struct jsonl_reader *reader, enum jsonl_reference_to to, uint32_t row,
                    bool flag)
{
    uint32_t id;
    if (!json_open(&reader->json, '['))
        return false;
    while (json_next(&reader->json))
        if (!jsonl_read_u32(&reader->json, &id) ||
            !jsonl_reference_add(reader, to, row, TRACE_NO, id, flag))
            return false;
    return !reader->input->refused;
}

static bool read_numbers(struct jsonl_reader *reader, int64_t **numbers, size_t *count)
{
    size_t room = 0;
    *count = 0;
    if (*numbers)
        return json_refuse(&reader->json, "a key twice");
    if (!json_open(&reader->json, '['))
        return false;
    *numbers = malloc(sizeof **numbers);
    if (!*numbers)
        return format_no_memory(reader->input);
    room = 1;
    for (; json_next(&reader->json); ++*count)
        if (!format_grow(reader->input, numbers, *count, &room, sizeof **numbers) ||
            !json_integer(&reader->json, -FORMAT_PART_MAX, FORMAT_PART_MAX, &(*numbers)[*count]))
            return false;
    return !reader->input->refused;
}

/* "completed": which of the requests just listed the wait completed. */
static bool read_completed(struct jsonl_reader *reader, size_t first)
{
    bool value;
    size_t i = first;
    if (!json_open(&reader->json, '['))
        return false;
    for (; json_next(&reader->json); i++) {
        while (i < reader->reference_count && reader->references[i].to != JSONL_TO_WAITED)
            i++;
        if (!json_bool(&reader->json, &value))
            return false;
        if (i >= reader->reference_count)
            return json_refuse(&reader->json, "more than there are requests before it");
        reader->references[i].flag = value;
    }
    return !reader->input->refused;
}

struct op_line {
    struct trace_whole_op whole;
    uint32_t index;
    uint32_t id, name;
    bool has_id, has_rank, has_comm, has_comm_seq, has_pass, has_signature, has_deps, has_completed;
    size_t first_reference;
    int64_t *send, *receive;
    size_t sends, receives;
};

static bool read_comm_of_op(struct jsonl_reader *reader, struct op_line *line)
{
    line->has_comm = true;
    line->whole.op.comm = TRACE_NO;
    if (json_peek(&reader->json) == JSON_NULL)
        return json_null(&reader->json);
    return jsonl_read_u32(&reader->json, &line->whole.op.comm);
}

static bool read_reference(struct jsonl_reader *reader, struct op_line *line,
                           enum jsonl_reference_to to)
{
    uint32_t rank = TRACE_NO, id;
    return jsonl_read_place(reader, &rank, &id) &&
           jsonl_reference_add(reader, to, line->index, rank, id, false);
}

static bool read_state(struct jsonl_reader *reader, struct trace_plain_op *op)
{
    unsigned word;
    bool done = jsonl_read_word(&reader->json, JSONL_STATES, &word);
    op->state = done ? (uint8_t)word : op->state;
    return done;
}

static bool read_signature(struct jsonl_reader *reader, struct op_line *line)
{
    int64_t number = 0;
    line->has_signature = json_integer(&reader->json, 0, UINT32_MAX, &number);
    line->whole.op.signature = (uint32_t)number;
    return line->has_signature;
}

static bool read_deps(struct jsonl_reader *reader, struct op_line *line, bool order)
{
    line->has_deps = true;
    return jsonl_read_ids(reader, JSONL_TO_DEP, line->index, order);
}

static bool read_op_key(struct jsonl_reader *reader, struct op_line *line, unsigned key,
                        const char *text)
{
    struct json *json = &reader->json;
    struct trace_plain_op *op = &line->whole.op;
    if (key < KEY_RANK) {
        line->has_pass |= key == KEY_PASS;
        return jsonl_read_field(json, &jsonl_fields[key], &line->whole);
    }
    switch (key) {
    case KEY_RANK:
        return (line->has_rank = true) && jsonl_read_rank(reader, &op->rank);
    case KEY_ID:
        return (line->has_id = true) && jsonl_read_u32(json, &line->id);
    case KEY_ROOT:
        return jsonl_read_who(json, &op->peer);
    case KEY_COMM:
        return read_comm_of_op(reader, line);
    case KEY_COMM_SEQ:
        return (line->has_comm_seq = true) && jsonl_read_u32(json, &op->comm_seq);
    case KEY_TYPE:
        return jsonl_read_type(reader, &op->type);
    case KEY_SIGNATURE:
        return read_signature(reader, line);
    case KEY_REDUCE:
        return jsonl_read_reduce(reader, &op->reduce_op);
    case KEY_IDENTITY:
        return jsonl_read_identity(reader, &op->identity);
    case KEY_SITE:
        return jsonl_read_site(reader, &op->site);
    case KEY_NAME:
        return jsonl_read_string(reader, &line->name);
    case KEY_FLAGS:
        return jsonl_read_flags(json, &op->flags);
    case KEY_STATE:
        return read_state(reader, op);
    case KEY_REQUEST:
        return jsonl_read_u32(json, &op->request);
    case KEY_NODE:
        return jsonl_read_u32(json, &op->node);
    case KEY_MATCH:
        return read_reference(reader, line, JSONL_TO_MATCH);
    case KEY_ADJOINT_OF:
        return read_reference(reader, line, JSONL_TO_ADJOINT);
    case KEY_REQUESTS:
        return jsonl_read_ids(reader, JSONL_TO_WAITED, line->index, true);
    case KEY_COMPLETED:
        return (line->has_completed = true) && read_completed(reader, line->first_reference);
    case KEY_DEPS:
        return read_deps(reader, line, false);
    case KEY_ORDER_DEPS:
        return read_deps(reader, line, true);
    case KEY_SEND_COUNTS:
        return read_numbers(reader, &line->send, &line->sends);
    case KEY_RECEIVE_COUNTS:
        return read_numbers(reader, &line->receive, &line->receives);
    default:
        return *text == '_' ? json_skip(json)
                            : json_refuse(json, "unknown key \"%.40s\" of an operation", text);
    }
}

static bool has_peers(const struct trace_plain_op *op)
{
    switch (op_kind_class(op->kind)) {
    case CLASS_SEND:
    case CLASS_RECEIVE:
    case CLASS_PROBE:
    case CLASS_COLLECTIVE:
        return true;
    default:
        return false;
    }
}

static bool rank_valid(const struct trace *trace, int32_t rank)
{
    return rank == TRACE_ANY || rank == TRACE_NONE || (uint32_t)rank < trace->ranks;
}

/* What missing keys stand for. */
static bool op_complete(struct jsonl_reader *reader, struct op_line *line)
{
    struct trace_plain_op *op = &line->whole.op;
    if (!line->has_rank)
        return format_refuse(reader->input, reader->line, "an operation without \"rank\"");
    if (line->has_deps && !line->has_pass)
        op->pass = 1;
    if (line->has_deps && op->pass == 0)
        return format_refuse(reader->input, reader->line,
                             "operations of pass 0 are in program order: no deps");
    if (!line->has_comm && has_peers(op))
        op->comm = 1;
    if (!line->has_signature)
        op->signature = op->type;
    if ((!rank_valid(reader->trace, op->peer) && !op->error) ||
        !rank_valid(reader->trace, op->peer_matched))
        return format_refuse(reader->input, reader->line, "peer %d is not a rank",
                             rank_valid(reader->trace, op->peer) ? op->peer_matched : op->peer);
    if (!line->has_id)
        line->id = reader->rank_ops[op->rank];
    reader->rank_ops[op->rank]++;
    if (!line->has_completed && op->state != STATE_COMPLETE)
        for (size_t i = line->first_reference; i < reader->reference_count; i++)
            if (reader->references[i].to == JSONL_TO_WAITED)
                reader->references[i].flag = false;
    for (size_t i = line->first_reference; i < reader->reference_count; i++)
        if (reader->references[i].rank == TRACE_NO)
            reader->references[i].rank = op->rank;
    return true;
}

static bool op_store(struct jsonl_reader *reader, struct op_line *line)
{
    struct jsonl_op extra = {.offset = reader->line,
                             .name = line->name,
                             .id = line->id,
                             .numbered = line->has_comm_seq,
                             .has_deps = line->has_deps};
    if (!format_grow(reader->input, &reader->ops, line->index, &reader->op_room,
                     sizeof *reader->ops))
        return false;
    reader->ops[line->index] = extra;
    reader->deps_on_ops |= line->has_deps;
    if (trace_add_whole_op(reader->trace, &line->whole) == TRACE_NO ||
        !format_index_add(reader->input, &reader->op_ids,
                          (uint64_t)line->whole.op.rank << 32 | line->id, line->index))
        return format_no_memory(reader->input);
    if (!line->send && !line->receive)
        return true;
    if (line->send && line->receive && line->sends != line->receives)
        return format_refuse(reader->input, reader->line,
                             "send_counts and receive_counts of different length");
    uint32_t n = (uint32_t)(line->send ? line->sends : line->receives);
    return trace_add_counts(reader->trace, line->index, n, line->send, line->receive) != TRACE_NO ||
           format_no_memory(reader->input);
}

bool jsonl_read_op(struct jsonl_reader *reader)
{
    struct op_line line = {.whole = {.op = trace_op_none(0, OP_NONE)},
                           .index = (uint32_t)reader->trace->op_count,
                           .name = TRACE_NO,
                           .first_reference = reader->reference_count};
    const char *text = "";
    unsigned key = KEY_NONE;
    bool done = jsonl_read_kind(reader, &line.whole.op.kind, &line.whole.op.flags);
    while (json_next(&reader->json))
        done = key_next(reader, &reader->key_after[line.whole.op.kind][key], &key, &text) &&
               read_op_key(reader, &line, key, text);
    done = done && !reader->input->refused && op_complete(reader, &line) && op_store(reader, &line);
    free(line.send);
    free(line.receive);
    return done;
}
