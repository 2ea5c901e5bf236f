/* Operation lines of a JSONL file. See format_jsonl_read.h.
 *
 * An operation goes into the trace with ids where indices belong; format_jsonl_links.c replaces
 * them. */
#include "traces/format_jsonl_read.h"

#include <stdlib.h>
#include <string.h>

/* Keys are compared many times an operation: most differ in their first letter. */
static bool is_key(const char *key, const char *name)
{
    return *key == *name && strcmp(key, name) == 0;
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
    struct trace_op op;
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
    line->op.comm = TRACE_NO;
    if (json_peek(&reader->json) == JSON_NULL)
        return json_null(&reader->json);
    return jsonl_read_u32(&reader->json, &line->op.comm);
}

static bool read_reference(struct jsonl_reader *reader, struct op_line *line,
                           enum jsonl_reference_to to)
{
    uint32_t rank = TRACE_NO, id;
    return jsonl_read_place(reader, &rank, &id) &&
           jsonl_reference_add(reader, to, line->index, rank, id, false);
}

static bool read_op_key(struct jsonl_reader *reader, struct op_line *line, const char *key)
{
    struct json *json = &reader->json;
    struct trace_op *op = &line->op;
    unsigned word;
    int64_t number;
    for (size_t i = 0; i < jsonl_field_count; i++)
        if (is_key(key, jsonl_fields[i].key)) {
            line->has_pass |= is_key(key, "pass");
            return jsonl_read_field(json, &jsonl_fields[i], op);
        }
    if (is_key(key, "rank"))
        return (line->has_rank = true) && jsonl_read_rank(reader, &op->rank);
    if (is_key(key, "id"))
        return (line->has_id = true) && jsonl_read_u32(json, &line->id);
    if (is_key(key, "root"))
        return jsonl_read_who(json, &op->peer);
    if (is_key(key, "comm"))
        return read_comm_of_op(reader, line);
    if (is_key(key, "comm_seq"))
        return (line->has_comm_seq = true) && jsonl_read_u32(json, &op->comm_seq);
    if (is_key(key, "type"))
        return jsonl_read_type(reader, &op->type);
    if (is_key(key, "signature")) {
        line->has_signature = json_integer(json, 0, UINT32_MAX, &number);
        op->signature = (uint32_t)number;
        return line->has_signature;
    }
    if (is_key(key, "reduce"))
        return jsonl_read_reduce(json, &op->reduce_op);
    if (is_key(key, "identity"))
        return jsonl_read_identity(reader, &op->identity);
    if (is_key(key, "site"))
        return jsonl_read_site(reader, &op->site);
    if (is_key(key, "name"))
        return jsonl_read_string(reader, &line->name);
    if (is_key(key, "flags"))
        return jsonl_read_flags(json, &op->flags);
    if (is_key(key, "state")) {
        bool done = jsonl_read_word(json, JSONL_STATES, &word);
        op->state = done ? (uint8_t)word : op->state;
        return done;
    }
    if (is_key(key, "request"))
        return jsonl_read_u32(json, &op->request);
    if (is_key(key, "node"))
        return jsonl_read_u32(json, &op->node);
    if (is_key(key, "match"))
        return read_reference(reader, line, JSONL_TO_MATCH);
    if (is_key(key, "adjoint_of"))
        return read_reference(reader, line, JSONL_TO_ADJOINT);
    if (is_key(key, "requests"))
        return jsonl_read_ids(reader, JSONL_TO_WAITED, line->index, true);
    if (is_key(key, "completed"))
        return (line->has_completed = true) && read_completed(reader, line->first_reference);
    if (is_key(key, "deps"))
        return (line->has_deps = true) && jsonl_read_ids(reader, JSONL_TO_DEP, line->index, false);
    if (is_key(key, "order_deps"))
        return (line->has_deps = true) && jsonl_read_ids(reader, JSONL_TO_DEP, line->index, true);
    if (is_key(key, "send_counts"))
        return read_numbers(reader, &line->send, &line->sends);
    if (is_key(key, "receive_counts"))
        return read_numbers(reader, &line->receive, &line->receives);
    return *key == '_' ? json_skip(json)
                       : json_refuse(json, "unknown key \"%.40s\" of an operation", key);
}

static bool has_peers(const struct trace_op *op)
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
    return rank == TRACE_ANY || rank == TRACE_NONE || (rank >= 0 && (uint32_t)rank < trace->ranks);
}

/* What missing keys stand for. */
static bool op_complete(struct jsonl_reader *reader, struct op_line *line)
{
    struct trace_op *op = &line->op;
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
    if (trace_add_op(reader->trace, &line->op) == TRACE_NO ||
        !format_index_add(reader->input, &reader->op_ids, (uint64_t)line->op.rank << 32 | line->id,
                          line->index))
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
    struct op_line line = {.op = trace_op_none(0, OP_NONE),
                           .index = (uint32_t)reader->trace->op_count,
                           .name = TRACE_NO,
                           .first_reference = reader->reference_count};
    const char *key;
    bool done = jsonl_read_kind(&reader->json, &line.op.kind, &line.op.flags);
    while (done && json_next(&reader->json))
        done = json_key(&reader->json, &key) && read_op_key(reader, &line, key);
    done = done && !reader->input->refused && op_complete(reader, &line) && op_store(reader, &line);
    free(line.send);
    free(line.receive);
    return done;
}
