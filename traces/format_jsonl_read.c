/* Reads the JSONL format of docs/formats.md: one object per line, whose first key says what the
 * line is.
 *
 * Operations refer to each other by rank and id, in any order, so that lines are read first and
 * references resolved afterwards (format_jsonl_links.c). */
#include "traces/format_jsonl_read.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- values with a meaning ---- */

static bool read_u32(struct json *json, uint32_t *value)
{
    int64_t number;
    if (!json_integer(json, 0, UINT32_MAX - 1, &number))
        return false;
    *value = (uint32_t)number;
    return true;
}

static bool read_rank(struct jsonl_reader *reader, uint32_t *rank)
{
    int64_t number;
    if (!json_integer(&reader->json, 0, (int64_t)reader->trace->ranks - 1, &number))
        return false;
    *rank = (uint32_t)number;
    return true;
}

/* A word of a list. */
static bool read_word(struct json *json, enum jsonl_words list, unsigned *number)
{
    const char *text;
    if (!json_text(json, &text, NULL))
        return false;
    int found = jsonl_number(list, text);
    if (found < 0)
        return json_refuse(json, "unknown word \"%.40s\"", text);
    *number = (unsigned)found;
    return true;
}

/* NaN is null, infinities are texts. */
static bool read_double(struct json *json, double *value)
{
    const char *text;
    switch (json_peek(json)) {
    case JSON_NULL:
        *value = NAN;
        return json_null(json);
    case JSON_TEXT:
        if (!json_text(json, &text, NULL))
            return false;
        if (strcmp(text, "inf") != 0 && strcmp(text, "-inf") != 0)
            return json_refuse(json, "a number, null, \"inf\" or \"-inf\" expected");
        *value = *text == '-' ? -INFINITY : INFINITY;
        return true;
    default:
        return json_number(json, value, NULL, NULL);
    }
}

/* A copy of a text into a fixed field. */
static bool read_name(struct json *json, char *field, size_t size)
{
    const char *text;
    size_t length;
    if (!json_text(json, &text, &length))
        return false;
    if (length >= size)
        return json_refuse(json, "a text of at most %zu bytes expected", size - 1);
    memcpy(field, text, length + 1);
    return true;
}

static bool read_string(struct jsonl_reader *reader, uint32_t *string)
{
    const char *text;
    if (!json_text(&reader->json, &text, NULL))
        return false;
    *string = trace_add_string(reader->trace, text);
    return *string != TRACE_NO || format_no_memory(reader->input);
}

static bool site_add(struct jsonl_reader *reader, const char *file, int line, const char *function,
                     uint32_t *site)
{
    *site = trace_add_site(reader->trace, file, line, function);
    return *site != TRACE_NO || format_no_memory(reader->input);
}

/* [file, line, function] */
static bool read_site_list(struct jsonl_reader *reader, uint32_t *site)
{
    struct json *json = &reader->json;
    const char *text = NULL;
    char *file = NULL;
    int64_t line = 0;
    bool done = json_open(json, '[') && json_next(json) && json_text(json, &text, NULL);
    if (done && !(file = strdup(text)))
        done = format_no_memory(reader->input);
    done = done && json_next(json) && json_integer(json, INT32_MIN, INT32_MAX, &line) &&
           json_next(json) && json_text(json, &text, NULL);
    done = done && site_add(reader, file, (int)line, text, site);
    free(file);
    if (!done && !reader->input->refused)
        return json_refuse(json, "a site is [file, line, function]");
    return done && (!json_next(json) || json_refuse(json, "a site is [file, line, function]")) &&
           !reader->input->refused;
}

/* "file:line", "file" */
static bool read_site_text(struct jsonl_reader *reader, uint32_t *site)
{
    const char *text;
    if (!json_text(&reader->json, &text, NULL))
        return false;
    const char *colon = strrchr(text, ':');
    size_t count = colon ? strspn(colon + 1, "0123456789") : 0;
    if (count == 0 || count > 9 || colon[1 + count])
        return site_add(reader, text, 0, "", site);
    reader->json.text[colon - text] = 0;
    return site_add(reader, text, (int)strtol(colon + 1, NULL, 10), "", site);
}

static bool read_site(struct jsonl_reader *reader, uint32_t *site)
{
    uint32_t number;
    switch (json_peek(&reader->json)) {
    case JSON_NULL:
        return json_null(&reader->json);
    case JSON_TEXT:
        return read_site_text(reader, site);
    case JSON_LIST:
        return read_site_list(reader, site);
    default:
        if (!read_u32(&reader->json, &number))
            return false;
        if (number >= reader->site_count)
            return json_refuse(&reader->json, "site %u is not declared above", number);
        *site = reader->sites[number];
        return true;
    }
}

/* "Iallreduce" is Allreduce with the flag. */
static enum op_kind kind_by_name(const char *name, uint16_t *flags)
{
    enum op_kind kind = op_kind_by_name(name);
    if (kind == OP_NONE && name[0] == 'I' && name[1] >= 'a' && name[1] <= 'z' &&
        strlen(name) < 40) {
        char upper[40];
        memcpy(upper, name + 1, strlen(name));
        upper[0] = (char)(upper[0] - 'a' + 'A');
        kind = op_kind_by_name(upper);
        if (op_kind_class((int)kind) != CLASS_COLLECTIVE)
            return OP_NONE;
        *flags |= OP_NONBLOCKING;
    }
    return kind;
}

static bool read_kind(struct json *json, uint8_t *kind, uint16_t *flags)
{
    const char *text;
    if (!json_text(json, &text, NULL))
        return false;
    *kind = (uint8_t)kind_by_name(text, flags);
    return *kind != OP_NONE || strcmp(text, "none") == 0 ||
           json_refuse(json, "unknown operation \"%.40s\"", text);
}

static bool read_type(struct jsonl_reader *reader, uint32_t *type)
{
    const char *text;
    if (json_peek(&reader->json) != JSON_TEXT)
        return read_u32(&reader->json, type);
    if (!json_text(&reader->json, &text, NULL))
        return false;
    if (strcmp(text, reader->type_name) != 0) { /* few types repeat over many lines */
        uint32_t found = format_type_by_name(text);
        if (found == 0)
            return json_refuse(&reader->json, "unknown type \"%.40s\"", text);
        reader->type = found;
        snprintf(reader->type_name, sizeof reader->type_name, "%s", text);
    }
    *type = reader->type;
    return true;
}

static bool read_reduce(struct json *json, uint32_t *reduce)
{
    const char *text;
    if (json_peek(json) != JSON_TEXT)
        return read_u32(json, reduce);
    if (!json_text(json, &text, NULL))
        return false;
    *reduce = format_reduce_by_name(text);
    return *reduce != 0 || json_refuse(json, "unknown reduction \"%.40s\"", text);
}

static bool read_identity(struct json *json, uint32_t *identity)
{
    const char *text;
    size_t length;
    int64_t number;
    if (json_peek(json) != JSON_TEXT) {
        if (!json_integer(json, 0, UINT32_MAX, &number))
            return false;
        *identity = (uint32_t)number;
        return true;
    }
    if (!json_text(json, &text, &length))
        return false;
    *identity = format_identity(text, length);
    return true;
}

static bool read_flags(struct json *json, uint16_t *flags)
{
    unsigned number;
    if (!json_open(json, '['))
        return false;
    while (json_next(json)) {
        if (!read_word(json, JSONL_FLAGS, &number))
            return false;
        *flags = (uint16_t)(*flags | 1u << number);
    }
    return !json->input->refused;
}

static bool read_who(struct json *json, int32_t *who)
{
    const char *text;
    int64_t number;
    switch (json_peek(json)) {
    case JSON_NULL:
        *who = TRACE_NONE;
        return json_null(json);
    case JSON_TEXT:
        if (!json_text(json, &text, NULL))
            return false;
        *who = TRACE_ANY;
        return strcmp(text, "any") == 0 || json_refuse(json, "a number, \"any\" or null expected");
    default:
        if (!json_integer(json, INT32_MIN, INT32_MAX, &number))
            return false;
        *who = (int32_t)number;
        return true;
    }
}

static bool read_field(struct json *json, const struct jsonl_field *field, struct trace_op *op)
{
    char *place = (char *)op + field->offset;
    int32_t who;
    int64_t number = 0;
    uint64_t large = 0;
    switch (field->type) {
    case JSONL_WHO:
        if (!read_who(json, &who))
            return false;
        memcpy(place, &who, sizeof who);
        return true;
    case JSONL_U64:
        if (!json_unsigned(json, &large))
            return false;
        memcpy(place, &large, sizeof large);
        return true;
    case JSONL_I64:
        if (!json_integer(json, -FORMAT_COUNT_MAX, FORMAT_COUNT_MAX, &number))
            return false;
        memcpy(place, &number, sizeof number);
        return true;
    case JSONL_U32:
        if (!json_integer(json, 0, UINT32_MAX, &number))
            return false;
        break;
    case JSONL_I32:
        if (!json_integer(json, INT32_MIN, INT32_MAX, &number))
            return false;
        break;
    }
    uint32_t low = (uint32_t)number;
    memcpy(place, &low, sizeof low);
    return true;
}

/* `id` of this rank, or [rank, id]. */
static bool read_place(struct jsonl_reader *reader, uint32_t *rank, uint32_t *id)
{
    struct json *json = &reader->json;
    if (json_peek(json) != JSON_LIST)
        return read_u32(json, id);
    bool done = json_open(json, '[') && json_next(json) && read_rank(reader, rank) &&
                json_next(json) && read_u32(json, id);
    if (done && !json_next(json))
        return !reader->input->refused;
    return json_refuse(json, "an operation elsewhere is [rank, id]");
}

/* ---- lines ---- */

static bool reference_add(struct jsonl_reader *reader, enum jsonl_reference_to to, uint32_t row,
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

static bool read_ids(struct jsonl_reader *reader, enum jsonl_reference_to to, uint32_t row,
                     bool flag)
{
    uint32_t id;
    if (!json_open(&reader->json, '['))
        return false;
    while (json_next(&reader->json))
        if (!read_u32(&reader->json, &id) || !reference_add(reader, to, row, TRACE_NO, id, flag))
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
    return read_u32(&reader->json, &line->op.comm);
}

static bool read_reference(struct jsonl_reader *reader, struct op_line *line,
                           enum jsonl_reference_to to)
{
    uint32_t rank = TRACE_NO, id;
    return read_place(reader, &rank, &id) &&
           reference_add(reader, to, line->index, rank, id, false);
}

static bool read_op_key(struct jsonl_reader *reader, struct op_line *line, const char *key)
{
    struct json *json = &reader->json;
    struct trace_op *op = &line->op;
    unsigned word;
    int64_t number;
    for (size_t i = 0; i < jsonl_field_count; i++)
        if (strcmp(jsonl_fields[i].key, key) == 0) {
            line->has_pass |= strcmp(key, "pass") == 0;
            return read_field(json, &jsonl_fields[i], op);
        }
    if (strcmp(key, "rank") == 0)
        return (line->has_rank = true) && read_rank(reader, &op->rank);
    if (strcmp(key, "id") == 0)
        return (line->has_id = true) && read_u32(json, &line->id);
    if (strcmp(key, "root") == 0)
        return read_who(json, &op->peer);
    if (strcmp(key, "comm") == 0)
        return read_comm_of_op(reader, line);
    if (strcmp(key, "comm_seq") == 0)
        return (line->has_comm_seq = true) && read_u32(json, &op->comm_seq);
    if (strcmp(key, "type") == 0)
        return read_type(reader, &op->type);
    if (strcmp(key, "signature") == 0) {
        line->has_signature = json_integer(json, 0, UINT32_MAX, &number);
        op->signature = (uint32_t)number;
        return line->has_signature;
    }
    if (strcmp(key, "reduce") == 0)
        return read_reduce(json, &op->reduce_op);
    if (strcmp(key, "identity") == 0)
        return read_identity(json, &op->identity);
    if (strcmp(key, "site") == 0)
        return read_site(reader, &op->site);
    if (strcmp(key, "name") == 0)
        return read_string(reader, &line->name);
    if (strcmp(key, "flags") == 0)
        return read_flags(json, &op->flags);
    if (strcmp(key, "state") == 0) {
        bool done = read_word(json, JSONL_STATES, &word);
        op->state = done ? (uint8_t)word : op->state;
        return done;
    }
    if (strcmp(key, "request") == 0)
        return read_u32(json, &op->request);
    if (strcmp(key, "node") == 0)
        return read_u32(json, &op->node);
    if (strcmp(key, "match") == 0)
        return read_reference(reader, line, JSONL_TO_MATCH);
    if (strcmp(key, "adjoint_of") == 0)
        return read_reference(reader, line, JSONL_TO_ADJOINT);
    if (strcmp(key, "requests") == 0)
        return read_ids(reader, JSONL_TO_WAITED, line->index, true);
    if (strcmp(key, "completed") == 0)
        return (line->has_completed = true) && read_completed(reader, line->first_reference);
    if (strcmp(key, "deps") == 0)
        return (line->has_deps = true) && read_ids(reader, JSONL_TO_DEP, line->index, false);
    if (strcmp(key, "order_deps") == 0)
        return (line->has_deps = true) && read_ids(reader, JSONL_TO_DEP, line->index, true);
    if (strcmp(key, "send_counts") == 0)
        return read_numbers(reader, &line->send, &line->sends);
    if (strcmp(key, "receive_counts") == 0)
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

static bool read_op(struct jsonl_reader *reader)
{
    struct op_line line = {.op = trace_op_none(0, OP_NONE),
                           .index = (uint32_t)reader->trace->op_count,
                           .name = TRACE_NO,
                           .first_reference = reader->reference_count};
    const char *key;
    bool done = read_kind(&reader->json, &line.op.kind, &line.op.flags);
    while (done && json_next(&reader->json))
        done = json_key(&reader->json, &key) && read_op_key(reader, &line, key);
    done = done && !reader->input->refused && op_complete(reader, &line) && op_store(reader, &line);
    free(line.send);
    free(line.receive);
    return done;
}

static bool line_note(struct jsonl_reader *reader, struct jsonl_lines *list, size_t row)
{
    if (!format_grow(reader->input, &list->offsets, row, &list->room, sizeof *list->offsets))
        return false;
    list->offsets[row] = reader->line;
    return true;
}

static bool read_node_key(struct jsonl_reader *reader, struct trace_node *node, const char *key,
                          uint32_t *forward)
{
    struct json *json = &reader->json;
    uint32_t index = (uint32_t)reader->trace->node_count;
    uint16_t ignored = 0;
    unsigned word;
    if (strcmp(key, "rank") == 0)
        return read_rank(reader, &node->rank);
    if (strcmp(key, "pass") == 0)
        return read_u32(json, &node->pass);
    if (strcmp(key, "kind") == 0)
        return read_kind(json, &node->kind, &ignored);
    if (strcmp(key, "state") == 0) {
        bool done = read_word(json, JSONL_STATES, &word);
        node->state = done ? (uint8_t)word : node->state;
        return done;
    }
    if (strcmp(key, "forward") == 0)
        return read_u32(json, forward);
    if (strcmp(key, "site") == 0)
        return read_site(reader, &node->site);
    if (strcmp(key, "name") == 0)
        return read_string(reader, &node->name);
    if (strcmp(key, "begin") == 0)
        return json_unsigned(json, &node->begin);
    if (strcmp(key, "end") == 0)
        return json_unsigned(json, &node->end);
    if (strcmp(key, "deps") == 0)
        return read_ids(reader, JSONL_TO_NODE_DEP, index, false);
    if (strcmp(key, "order_deps") == 0)
        return read_ids(reader, JSONL_TO_NODE_DEP, index, true);
    return *key == '_' ? json_skip(json)
                       : json_refuse(json, "unknown key \"%.40s\" of a node", key);
}

static bool read_node(struct jsonl_reader *reader)
{
    struct trace_node node = {.kind = OP_COMPUTE,
                              .state = STATE_COMPLETE,
                              .forward = TRACE_NO,
                              .site = TRACE_NO,
                              .name = TRACE_NO};
    const char *key;
    uint32_t index = (uint32_t)reader->trace->node_count, forward = TRACE_NO;
    size_t first = reader->reference_count;
    bool done = read_u32(&reader->json, &node.id);
    while (done && json_next(&reader->json))
        done = json_key(&reader->json, &key) && read_node_key(reader, &node, key, &forward);
    if (!done || reader->input->refused)
        return false;
    for (size_t i = first; i < reader->reference_count; i++)
        reader->references[i].rank = node.rank;
    reader->has_nodes = true;
    if (!line_note(reader, &reader->node_lines, index))
        return false;
    if (forward != TRACE_NO &&
        !reference_add(reader, JSONL_TO_FORWARD, index, node.rank, forward, false))
        return false;
    return (trace_add_node(reader->trace, &node) != TRACE_NO || format_no_memory(reader->input)) &&
           format_index_add(reader->input, &reader->node_ids, (uint64_t)node.rank << 32 | node.id,
                            index);
}

/* {"edge": [rank, from, to], "order": true} */
static bool read_edge(struct jsonl_reader *reader)
{
    struct json *json = &reader->json;
    uint32_t rank = 0, from = 0, to = 0;
    const char *key;
    bool order = false;
    bool done = json_open(json, '[') && json_next(json) && read_rank(reader, &rank) &&
                json_next(json) && read_u32(json, &from) && json_next(json) && read_u32(json, &to);
    if (!done || json_next(json))
        return json_refuse(json, "an edge is [rank, from, to]");
    while (json_next(json)) {
        if (!json_key(json, &key))
            return false;
        if (strcmp(key, "order") != 0)
            return json_refuse(json, "unknown key \"%.40s\" of an edge", key);
        if (!json_bool(json, &order))
            return false;
    }
    return !reader->input->refused &&
           reference_add(reader, JSONL_TO_EDGE_FROM, 0, rank, from, order) &&
           reference_add(reader, JSONL_TO_EDGE_TO, 0, rank, to, order);
}

static bool read_pass(struct jsonl_reader *reader)
{
    struct trace_pass pass = {.mode = PASS_PROGRAM, .complete = true};
    struct json *json = &reader->json;
    const char *key, *mode;
    bool done = read_u32(json, &pass.pass);
    if (done && pass.pass == 0)
        return json_refuse(json, "passes count from 1");
    while (done && json_next(json)) {
        if (!json_key(json, &key))
            return false;
        if (strcmp(key, "rank") == 0) {
            done = read_rank(reader, &pass.rank);
        } else if (strcmp(key, "mode") == 0) {
            done = json_text(json, &mode, NULL);
            if (done && strcmp(mode, "data") != 0 && strcmp(mode, "program") != 0)
                return json_refuse(json, "\"data\" or \"program\" expected");
            pass.mode = done && *mode == 'd' ? PASS_DATA : PASS_PROGRAM;
        } else if (strcmp(key, "complete") == 0) {
            done = json_bool(json, &pass.complete);
        } else {
            return json_refuse(json, "unknown key \"%.40s\" of a pass", key);
        }
    }
    return done && !reader->input->refused &&
           line_note(reader, &reader->pass_lines, reader->trace->pass_count) &&
           format_index_add(reader->input, &reader->passes, (uint64_t)pass.rank << 32 | pass.pass,
                            (uint32_t)reader->trace->pass_count) &&
           (trace_add_pass(reader->trace, &pass) != TRACE_NO || format_no_memory(reader->input));
}

static bool read_members(struct jsonl_reader *reader, struct trace_comm *comm, bool *has_size)
{
    size_t room = 0, count = 0;
    int32_t *members = NULL;
    uint32_t rank;
    if (json_peek(&reader->json) == JSON_NULL)
        return json_null(&reader->json);
    if (!json_open(&reader->json, '['))
        return false;
    free(comm->members);
    comm->members = NULL;
    while (json_next(&reader->json)) {
        if (!read_rank(reader, &rank) ||
            !format_grow(reader->input, &members, count, &room, sizeof *members))
            break;
        members[count++] = (int32_t)rank;
    }
    comm->members = members;
    if (*has_size && comm->size != count)
        return json_refuse(&reader->json, "%u members expected", comm->size);
    comm->size = (uint32_t)count;
    *has_size = true;
    return !reader->input->refused;
}

static bool read_comm_keys(struct jsonl_reader *reader, struct trace_comm *comm)
{
    struct json *json = &reader->json;
    const char *key;
    bool has_size = false, done = true;
    uint32_t index = (uint32_t)reader->trace->comm_count, id;
    while (done && json_next(json)) {
        if (!json_key(json, &key))
            return false;
        if (strcmp(key, "size") == 0) {
            done = !has_size ? (has_size = read_u32(json, &comm->size))
                             : json_refuse(json, "\"size\" stands before \"members\", once");
        } else if (strcmp(key, "members") == 0) {
            done = read_members(reader, comm, &has_size);
        } else if (strcmp(key, "name") == 0) {
            done = read_name(json, comm->name, sizeof comm->name);
        } else if (strcmp(key, "parent") == 0) {
            done =
                read_u32(json, &id) && reference_add(reader, JSONL_TO_PARENT, index, 0, id, false);
        } else if (strcmp(key, "adjoint_of") == 0) {
            done = read_u32(json, &id) &&
                   reference_add(reader, JSONL_TO_ORIGINAL, index, 0, id, false);
        } else {
            return json_refuse(json, "unknown key \"%.40s\" of a communicator", key);
        }
    }
    return done && !reader->input->refused;
}

static bool read_comm(struct jsonl_reader *reader)
{
    struct trace_comm comm = {
        .parent = TRACE_NO, .adjoint_of = TRACE_NO, .size = reader->trace->ranks};
    uint32_t index = (uint32_t)reader->trace->comm_count;
    bool done = read_u32(&reader->json, &comm.id) && read_comm_keys(reader, &comm);
    if (done && comm.size > 2 * (uint64_t)reader->trace->ranks) /* local and remote */
        done = format_refuse(reader->input, reader->line, "more members than there are ranks");
    done = done && line_note(reader, &reader->comm_lines, index) &&
           (trace_add_comm(reader->trace, &comm) != TRACE_NO || format_no_memory(reader->input)) &&
           format_index_add(reader->input, &reader->comm_ids, comm.id, index);
    free(comm.members);
    return done;
}

static bool read_site_line(struct jsonl_reader *reader)
{
    uint32_t number, site = TRACE_NO;
    const char *key;
    if (!read_u32(&reader->json, &number))
        return false;
    if (number != reader->site_count)
        return json_refuse(&reader->json, "sites are numbered from 0: %zu expected",
                           reader->site_count);
    if (!json_next(&reader->json) || !json_key(&reader->json, &key) || strcmp(key, "at") != 0 ||
        json_peek(&reader->json) != JSON_LIST)
        return json_refuse(&reader->json, "\"at\": [file, line, function] expected");
    if (!read_site_list(reader, &site) || json_next(&reader->json))
        return json_refuse(&reader->json, "a site is its number and \"at\"");
    if (!format_grow(reader->input, &reader->sites, reader->site_count, &reader->site_room,
                     sizeof *reader->sites))
        return false;
    reader->sites[reader->site_count++] = site;
    return !reader->input->refused;
}

static bool read_strings(struct jsonl_reader *reader)
{
    uint32_t string;
    if (!json_open(&reader->json, '['))
        return false;
    while (json_next(&reader->json))
        if (!read_string(reader, &string))
            return false;
    return !reader->input->refused && !json_next(&reader->json) && !reader->input->refused;
}

static bool read_rank_line(struct jsonl_reader *reader)
{
    struct json *json = &reader->json;
    uint32_t rank;
    const char *key;
    unsigned word;
    int64_t number;
    if (!read_rank(reader, &rank))
        return false;
    struct trace_rank *info = &reader->trace->rank_info[rank];
    bool done = true;
    while (done && json_next(json)) {
        if (!json_key(json, &key))
            return false;
        if (strcmp(key, "state") == 0) {
            done = read_word(json, JSONL_RANK_STATES, &word);
            info->state = done ? (enum rank_state)word : info->state;
        } else if (strcmp(key, "exit_code") == 0) {
            done = json_integer(json, INT32_MIN, INT32_MAX, &number);
            info->exit_code = (int)number;
        } else if (strcmp(key, "site") == 0) {
            done = read_site(reader, &info->site);
        } else if (strcmp(key, "finalized") == 0) {
            done = json_bool(json, &info->finalized);
        } else if (strcmp(key, "bytes_sent") == 0) {
            done = json_unsigned(json, &info->bytes_sent);
        } else if (strcmp(key, "messages_sent") == 0) {
            done = json_unsigned(json, &info->messages_sent);
        } else if (strcmp(key, "hash") == 0) {
            done = json_unsigned(json, &info->hash);
        } else {
            return json_refuse(json, "unknown key \"%.40s\" of a rank", key);
        }
    }
    return done && !reader->input->refused;
}

static bool read_note(struct jsonl_reader *reader)
{
    struct json *json = &reader->json;
    struct trace_note note = {.op = TRACE_NO, .node = TRACE_NO, .site = TRACE_NO};
    const char *key, *text;
    uint32_t index = (uint32_t)reader->trace->note_count, rank, id;
    bool done = read_name(json, note.code, sizeof note.code);
    while (done && json_next(json)) {
        if (!json_key(json, &key)) {
            done = false;
        } else if (strcmp(key, "rank") == 0) {
            done = read_rank(reader, &note.rank);
        } else if (strcmp(key, "site") == 0) {
            done = read_site(reader, &note.site);
        } else if (strcmp(key, "op") == 0 || strcmp(key, "node") == 0) {
            bool op = key[0] == 'o';
            rank = note.rank;
            done = read_place(reader, &rank, &id) &&
                   reference_add(reader, op ? JSONL_TO_NOTE_OP : JSONL_TO_NOTE_NODE, index, rank,
                                 id, false);
        } else if (strcmp(key, "text") == 0) {
            done = json_text(json, &text, NULL);
            free(note.text);
            note.text = done ? strdup(text) : NULL;
            done = done && (note.text || format_no_memory(reader->input));
        } else {
            done = json_refuse(json, "unknown key \"%.40s\" of a note", key);
        }
    }
    done = done && !reader->input->refused &&
           (trace_add_note(reader->trace, &note) != TRACE_NO || format_no_memory(reader->input));
    free(note.text);
    return done;
}

static bool read_gradient(struct jsonl_reader *reader)
{
    struct json *json = &reader->json;
    struct trace_gradient row = {.index = -1,
                                 .method = "value",
                                 .step = NAN,
                                 .analytic = NAN,
                                 .numeric = NAN,
                                 .error = NAN,
                                 .tolerance = NAN,
                                 .relative = NAN};
    const struct {
        const char *key;
        double *value;
    } doubles[] = {{"step", &row.step},           {"analytic", &row.analytic},
                   {"numeric", &row.numeric},     {"error", &row.error},
                   {"tolerance", &row.tolerance}, {"relative", &row.relative}};
    const char *key;
    unsigned word;
    bool done = read_string(reader, &row.variable);
    while (done && json_next(json)) {
        size_t i = 0;
        if (!json_key(json, &key))
            return false;
        while (i < 6 && strcmp(doubles[i].key, key) != 0)
            i++;
        if (i < 6)
            done = read_double(json, doubles[i].value);
        else if (strcmp(key, "rank") == 0)
            done = read_rank(reader, &row.rank);
        else if (strcmp(key, "index") == 0)
            done = json_integer(json, -1, INT64_MAX, &row.index);
        else if (strcmp(key, "ok") == 0)
            done = json_bool(json, &row.ok);
        else if (strcmp(key, "method") == 0 && (done = read_word(json, JSONL_METHODS, &word)))
            row.method = jsonl_word(JSONL_METHODS, word);
        else if (done)
            return json_refuse(json, "unknown key \"%.40s\" of a gradient", key);
    }
    return done && !reader->input->refused &&
           (trace_add_gradient(reader->trace, &row) != TRACE_NO || format_no_memory(reader->input));
}

static bool read_metric(struct jsonl_reader *reader)
{
    struct json *json = &reader->json;
    const char *key;
    uint32_t name, unit = TRACE_NO;
    int64_t rank = -1;
    double value = NAN;
    bool done = read_string(reader, &name);
    while (done && json_next(json)) {
        if (!json_key(json, &key))
            return false;
        if (strcmp(key, "rank") == 0)
            done = json_integer(json, -1, (int64_t)reader->trace->ranks - 1, &rank);
        else if (strcmp(key, "value") == 0)
            done = read_double(json, &value);
        else if (strcmp(key, "unit") == 0)
            done = read_string(reader, &unit);
        else
            return json_refuse(json, "unknown key \"%.40s\" of a metric", key);
    }
    return done && !reader->input->refused &&
           (trace_add_metric(reader->trace, trace_string(reader->trace, name), (int32_t)rank, value,
                             trace_string(reader->trace, unit)) != TRACE_NO ||
            format_no_memory(reader->input));
}

/* Findings are verdicts about a trace, not part of it: whoever reads the trace judges anew. */
static bool read_finding(struct jsonl_reader *reader)
{
    const char *key;
    bool done = json_skip(&reader->json);
    while (done && json_next(&reader->json))
        done = json_key(&reader->json, &key) && json_skip(&reader->json);
    return done && !reader->input->refused;
}

static bool read_header_keys(struct jsonl_reader *reader, struct jsonl_header *header)
{
    struct json *json = &reader->json;
    const char *key;
    unsigned word;
    int64_t number;
    bool done = json_integer(json, 1, JSONL_VERSION, &number);
    while (done && json_next(json)) {
        if (!json_key(json, &key))
            return false;
        if (strcmp(key, "ranks") == 0) {
            done = json_integer(json, 1, FORMAT_RANKS_MAX, &number);
            header->ranks = (uint32_t)number;
        } else if (strcmp(key, "program") == 0) {
            done = read_name(json, header->program, sizeof header->program);
        } else if (strcmp(key, "model") == 0) {
            done = read_name(json, header->model, sizeof header->model);
        } else if (strcmp(key, "outcome") == 0) {
            done = read_word(json, JSONL_OUTCOMES, &word);
            header->outcome = done ? (enum trace_outcome)word : header->outcome;
        } else if (strcmp(key, "seed") == 0) {
            done = json_unsigned(json, &header->seed);
        } else if (strcmp(key, "objective") == 0) {
            done = read_double(json, &header->objective);
        } else {
            done = *key == '_' ? json_skip(json)
                               : json_refuse(json, "unknown key \"%.40s\" of the header", key);
        }
    }
    return done && !reader->input->refused;
}

static bool read_header(struct jsonl_reader *reader)
{
    struct jsonl_header header = {.outcome = OUTCOME_IMPORTED, .objective = NAN};
    if (!read_header_keys(reader, &header))
        return false;
    if (header.ranks == 0)
        return format_refuse(reader->input, reader->line, "a header without \"ranks\"");
    struct trace *trace = trace_new(header.ranks);
    reader->rank_ops = calloc(header.ranks, sizeof *reader->rank_ops);
    if (!trace || !reader->rank_ops) {
        trace_free(trace);
        return format_no_memory(reader->input);
    }
    trace->outcome = header.outcome;
    trace->seed = header.seed;
    trace->objective = header.objective;
    memcpy(trace->program, header.program, sizeof trace->program);
    memcpy(trace->model, header.model, sizeof trace->model);
    reader->trace = trace;
    return true;
}

static const struct {
    const char *key;
    bool (*read)(struct jsonl_reader *reader);
} lines[] = {{"op", read_op},           {"node", read_node},
             {"edge", read_edge},       {"pass", read_pass},
             {"comm", read_comm},       {"site", read_site_line},
             {"strings", read_strings}, {"rank", read_rank_line},
             {"note", read_note},       {"gradient", read_gradient},
             {"metric", read_metric},   {"finding", read_finding}};

static bool read_line(struct jsonl_reader *reader)
{
    struct json *json = &reader->json;
    const char *key;
    if (!json_open(json, '{'))
        return false;
    if (!json_next(json))
        return json_refuse(json, "an empty object");
    if (!json_key(json, &key))
        return false;
    if (!reader->trace) {
        if (strcmp(key, "simrun") != 0)
            return json_refuse(json, "the header {\"simrun\": 1, \"ranks\": ...} expected first");
        return read_header(reader);
    }
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (strcmp(lines[i].key, key) == 0)
            return lines[i].read(reader);
    return json_refuse(json, "a line begins with the key that says what it is; \"%.40s\" is none",
                       key);
}

static bool read_lines(struct jsonl_reader *reader)
{
    struct format_input *input = reader->input;
    for (size_t begin = 0; begin < input->size;) {
        const unsigned char *newline = memchr(input->data + begin, '\n', input->size - begin);
        size_t end = newline ? (size_t)(newline - input->data) : input->size;
        size_t first = begin;
        while (first < end && (input->data[first] == ' ' || input->data[first] == '\t' ||
                               input->data[first] == '\r'))
            first++;
        if (first < end) {
            reader->line = begin;
            json_init(&reader->json, input, begin, end);
            if (!read_line(reader) || !json_end(&reader->json))
                return false;
        }
        begin = end + 1;
    }
    return reader->trace || format_refuse(input, 0, "no header");
}

struct trace *format_jsonl_read(struct format_input *input)
{
    struct jsonl_reader reader = {.input = input};
    bool done = read_lines(&reader) && jsonl_link(&reader);
    if (!done) {
        if (!input->refused)
            json_refuse(&reader.json, "not understood");
        trace_free(reader.trace);
        reader.trace = NULL;
    }
    json_release(&reader.json);
    free(reader.rank_ops);
    free(reader.ops);
    free(reader.references);
    free(reader.sites);
    free(reader.node_lines.offsets);
    free(reader.comm_lines.offsets);
    free(reader.pass_lines.offsets);
    format_index_release(&reader.op_ids);
    format_index_release(&reader.node_ids);
    format_index_release(&reader.comm_ids);
    format_index_release(&reader.passes);
    return reader.trace ? format_finish(input, reader.trace) : NULL;
}
