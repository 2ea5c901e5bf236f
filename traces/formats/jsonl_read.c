/* Reads the JSONL format of docs/formats.md: one object per line, whose first key says what the
 * line is. What is refused is so from then on: json_next has no further key, and a later refusal says nothing.
 *
 * Operations refer to each other by rank and id, in any order, so that lines are read first and
 * references resolved afterwards (jsonl_links.c). */
#include "traces/formats/jsonl_read.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool line_note(struct jsonl_reader *reader, struct jsonl_lines *list, size_t row)
{
    if (!format_grow(reader->input, &list->offsets, row, &list->room, sizeof *list->offsets))
        return false;
    list->offsets[row] = reader->line;
    return true;
}

/* What names no rank is of the line's, wherever that stands in it. */
static void of_rank(struct jsonl_reader *reader, size_t first, uint32_t rank)
{
    for (size_t i = first; i < reader->reference_count; i++)
        if (reader->references[i].rank == TRACE_NO)
            reader->references[i].rank = rank;
}

static bool read_node_key(struct jsonl_reader *reader, struct trace_node *node, const char *key,
                          uint32_t *forward)
{
    struct json *json = &reader->json;
    uint32_t index = (uint32_t)reader->trace->node_count;
    uint16_t ignored = 0;
    unsigned word;
    if (strcmp(key, "rank") == 0)
        return jsonl_read_rank(reader, &node->rank);
    if (strcmp(key, "pass") == 0)
        return jsonl_read_u32(json, &node->pass);
    if (strcmp(key, "kind") == 0)
        return jsonl_read_kind(reader, &node->kind, &ignored);
    if (strcmp(key, "state") == 0) {
        bool done = jsonl_read_word(json, JSONL_STATES, &word);
        node->state = done ? (uint8_t)word : node->state;
        return done;
    }
    if (strcmp(key, "forward") == 0)
        return jsonl_read_u32(json, forward);
    if (strcmp(key, "site") == 0)
        return jsonl_read_site(reader, &node->site);
    if (strcmp(key, "name") == 0)
        return jsonl_read_string(reader, &node->name);
    if (strcmp(key, "begin") == 0)
        return json_unsigned(json, &node->begin);
    if (strcmp(key, "end") == 0)
        return json_unsigned(json, &node->end);
    if (strcmp(key, "deps") == 0)
        return jsonl_read_ids(reader, JSONL_TO_NODE_DEP, index, false);
    if (strcmp(key, "order_deps") == 0)
        return jsonl_read_ids(reader, JSONL_TO_NODE_DEP, index, true);
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
    jsonl_read_u32(&reader->json, &node.id);
    while (json_next(&reader->json) && json_key(&reader->json, &key))
        read_node_key(reader, &node, key, &forward);
    if (reader->input->refused)
        return false;
    of_rank(reader, first, node.rank);
    reader->has_nodes = true;
    if (!line_note(reader, &reader->node_lines, index))
        return false;
    if (forward != TRACE_NO &&
        !jsonl_reference_add(reader, JSONL_TO_FORWARD, index, node.rank, forward, false))
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
    bool done = json_open(json, '[') && json_next(json) && jsonl_read_rank(reader, &rank) &&
                json_next(json) && jsonl_read_u32(json, &from) && json_next(json) &&
                jsonl_read_u32(json, &to);
    if (!done || json_next(json))
        return json_refuse(json, "an edge is [rank, from, to]");
    while (json_next(json) && json_key(json, &key)) {
        if (strcmp(key, "order") == 0)
            json_bool(json, &order);
        else
            json_refuse(json, "unknown key \"%.40s\" of an edge", key);
    }
    return !reader->input->refused &&
           jsonl_reference_add(reader, JSONL_TO_EDGE_FROM, 0, rank, from, order) &&
           jsonl_reference_add(reader, JSONL_TO_EDGE_TO, 0, rank, to, order);
}

static bool read_mode(struct json *json, enum pass_mode *mode)
{
    const char *text;
    if (!json_text(json, &text, NULL))
        return false;
    *mode = strcmp(text, "data") == 0 ? PASS_DATA : PASS_PROGRAM;
    return *mode == PASS_DATA || strcmp(text, "program") == 0 ||
           json_refuse(json, "\"data\" or \"program\" expected");
}

static bool read_pass(struct jsonl_reader *reader)
{
    struct trace_pass pass = {.mode = PASS_PROGRAM, .complete = true};
    struct json *json = &reader->json;
    const char *key;
    if (jsonl_read_u32(json, &pass.pass) && pass.pass == 0)
        return json_refuse(json, "passes count from 1");
    while (json_next(json) && json_key(json, &key)) {
        if (strcmp(key, "rank") == 0)
            jsonl_read_rank(reader, &pass.rank);
        else if (strcmp(key, "mode") == 0)
            read_mode(json, &pass.mode);
        else if (strcmp(key, "complete") == 0)
            json_bool(json, &pass.complete);
        else
            json_refuse(json, "unknown key \"%.40s\" of a pass", key);
    }
    return !reader->input->refused &&
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
        if (!jsonl_read_rank(reader, &rank) ||
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
    bool has_size = false;
    uint32_t index = (uint32_t)reader->trace->comm_count, id;
    while (json_next(json) && json_key(json, &key)) {
        if (strcmp(key, "size") == 0 && has_size)
            json_refuse(json, "\"size\" stands before \"members\", once");
        else if (strcmp(key, "size") == 0)
            has_size = jsonl_read_u32(json, &comm->size);
        else if (strcmp(key, "members") == 0)
            read_members(reader, comm, &has_size);
        else if (strcmp(key, "name") == 0)
            jsonl_read_name(json, comm->name, sizeof comm->name);
        else if (strcmp(key, "parent") != 0 && strcmp(key, "adjoint_of") != 0)
            json_refuse(json, "unknown key \"%.40s\" of a communicator", key);
        else if (jsonl_read_u32(json, &id))
            jsonl_reference_add(reader, *key == 'p' ? JSONL_TO_PARENT : JSONL_TO_ORIGINAL, index, 0,
                                id, false);
    }
    return !reader->input->refused;
}

static bool read_comm(struct jsonl_reader *reader)
{
    struct trace_comm comm = {
        .parent = TRACE_NO, .adjoint_of = TRACE_NO, .size = reader->trace->ranks};
    uint32_t index = (uint32_t)reader->trace->comm_count;
    jsonl_read_u32(&reader->json, &comm.id);
    bool done = read_comm_keys(reader, &comm);
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
    if (!jsonl_read_u32(&reader->json, &number))
        return false;
    if (number != reader->site_count)
        return json_refuse(&reader->json, "sites are numbered from 0: %zu expected",
                           reader->site_count);
    if (!json_next(&reader->json) || !json_key(&reader->json, &key) || strcmp(key, "at") != 0 ||
        json_peek(&reader->json) != JSON_LIST)
        return json_refuse(&reader->json, "\"at\": [file, line, function] expected");
    if (!jsonl_read_site_list(reader, &site) || json_next(&reader->json))
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
        jsonl_read_string(reader, &string);
    if (json_next(&reader->json))
        json_refuse(&reader->json, "a line of strings has nothing else");
    return !reader->input->refused;
}

static bool read_rank_line(struct jsonl_reader *reader)
{
    struct json *json = &reader->json;
    uint32_t rank;
    const char *key;
    unsigned word;
    int64_t number;
    if (!jsonl_read_rank(reader, &rank))
        return false;
    struct trace_rank *info = &reader->trace->rank_info[rank];
    while (json_next(json) && json_key(json, &key)) {
        if (strcmp(key, "state") == 0) {
            if (jsonl_read_word(json, JSONL_RANK_STATES, &word))
                info->state = (enum rank_state)word;
        } else if (strcmp(key, "exit_code") == 0) {
            if (json_integer(json, INT32_MIN, INT32_MAX, &number))
                info->exit_code = (int)number;
        } else if (strcmp(key, "site") == 0)
            jsonl_read_site(reader, &info->site);
        else if (strcmp(key, "finalized") == 0)
            json_bool(json, &info->finalized);
        else if (strcmp(key, "bytes_sent") == 0)
            json_unsigned(json, &info->bytes_sent);
        else if (strcmp(key, "messages_sent") == 0)
            json_unsigned(json, &info->messages_sent);
        else if (strcmp(key, "hash") == 0)
            json_unsigned(json, &info->hash);
        else
            json_refuse(json, "unknown key \"%.40s\" of a rank", key);
    }
    return !reader->input->refused;
}

/* `id`, or [rank, id]. */
static void read_reference(struct jsonl_reader *reader, enum jsonl_reference_to to, uint32_t row)
{
    uint32_t rank = TRACE_NO, id;
    if (jsonl_read_place(reader, &rank, &id))
        jsonl_reference_add(reader, to, row, rank, id, false);
}

static bool read_note(struct jsonl_reader *reader)
{
    struct json *json = &reader->json;
    struct trace_note note = {.op = TRACE_NO, .node = TRACE_NO, .site = TRACE_NO};
    const char *key, *text;
    uint32_t index = (uint32_t)reader->trace->note_count;
    size_t first = reader->reference_count;
    jsonl_read_name(json, note.code, sizeof note.code);
    while (json_next(json) && json_key(json, &key)) {
        if (strcmp(key, "rank") == 0)
            jsonl_read_rank(reader, &note.rank);
        else if (strcmp(key, "site") == 0)
            jsonl_read_site(reader, &note.site);
        else if (strcmp(key, "op") == 0)
            read_reference(reader, JSONL_TO_NOTE_OP, index);
        else if (strcmp(key, "node") == 0)
            read_reference(reader, JSONL_TO_NOTE_NODE, index);
        else if (strcmp(key, "text") != 0)
            json_refuse(json, "unknown key \"%.40s\" of a note", key);
        else if (json_text(json, &text, NULL)) {
            free(note.text);
            if (!(note.text = strdup(text)))
                format_no_memory(reader->input);
        }
    }
    of_rank(reader, first, note.rank);
    bool done = !reader->input->refused && (trace_add_note(reader->trace, &note) != TRACE_NO ||
                                            format_no_memory(reader->input));
    free(note.text);
    return done;
}

static bool read_doubt(struct json *json, const char **undecided)
{
    const char *word;
    size_t length;
    if (!json_text(json, &word, &length))
        return false;
    *undecided = trace_doubt(word);
    return *undecided ||
           json_refuse(json, "\"%.40s\" is no reason to leave a gradient undecided", word);
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
    int64_t elements;
    jsonl_read_string(reader, &row.variable);
    while (json_next(json) && json_key(json, &key)) {
        size_t i = 0;
        while (i < 6 && strcmp(doubles[i].key, key) != 0)
            i++;
        if (i < 6)
            jsonl_read_double(json, doubles[i].value);
        else if (strcmp(key, "rank") == 0)
            jsonl_read_rank(reader, &row.rank);
        else if (strcmp(key, "index") == 0)
            json_integer(json, -1, INT64_MAX, &row.index);
        else if (strcmp(key, "ok") == 0)
            json_bool(json, &row.ok);
        else if (strcmp(key, "undecided") == 0)
            read_doubt(json, &row.undecided);
        else if (strcmp(key, "elements") == 0) {
            if (json_integer(json, 1, UINT32_MAX, &elements))
                row.elements = (uint32_t)elements;
        } else if (strcmp(key, "method") == 0) {
            if (jsonl_read_word(json, JSONL_METHODS, &word))
                row.method = jsonl_word(JSONL_METHODS, word);
        } else
            json_refuse(json, "unknown key \"%.40s\" of a gradient", key);
    }
    return !reader->input->refused &&
           (trace_add_gradient(reader->trace, &row) != TRACE_NO || format_no_memory(reader->input));
}

static bool read_metric(struct jsonl_reader *reader)
{
    struct json *json = &reader->json;
    const char *key;
    uint32_t name = TRACE_NO, unit = TRACE_NO;
    int64_t rank = -1;
    double value = NAN, step = NAN;
    jsonl_read_string(reader, &name);
    while (json_next(json) && json_key(json, &key)) {
        if (strcmp(key, "rank") == 0)
            json_integer(json, -1, (int64_t)reader->trace->ranks - 1, &rank);
        else if (strcmp(key, "value") == 0)
            jsonl_read_double(json, &value);
        else if (strcmp(key, "step") == 0)
            jsonl_read_double(json, &step);
        else if (strcmp(key, "unit") == 0)
            jsonl_read_string(reader, &unit);
        else
            json_refuse(json, "unknown key \"%.40s\" of a metric", key);
    }
    return !reader->input->refused &&
           (trace_add_metric_at(reader->trace, trace_string(reader->trace, name), (int32_t)rank,
                                step, value, trace_string(reader->trace, unit)) != TRACE_NO ||
            format_no_memory(reader->input));
}

/* Findings are verdicts about a trace, not part of it: whoever reads the trace judges anew. */
static bool read_finding(struct jsonl_reader *reader)
{
    const char *key;
    json_skip(&reader->json);
    while (json_next(&reader->json) && json_key(&reader->json, &key))
        json_skip(&reader->json);
    return !reader->input->refused;
}

static bool read_header_keys(struct jsonl_reader *reader, struct jsonl_header *header)
{
    struct json *json = &reader->json;
    const char *key;
    unsigned word;
    int64_t number;
    json_integer(json, 1, JSONL_VERSION, &number);
    while (json_next(json) && json_key(json, &key)) {
        if (strcmp(key, "ranks") == 0) {
            if (json_integer(json, 1, FORMAT_RANKS_MAX, &number))
                header->ranks = (uint32_t)number;
        } else if (strcmp(key, "program") == 0)
            jsonl_read_name(json, header->program, sizeof header->program);
        else if (strcmp(key, "model") == 0)
            jsonl_read_name(json, header->model, sizeof header->model);
        else if (strcmp(key, "outcome") == 0) {
            if (jsonl_read_word(json, JSONL_OUTCOMES, &word))
                header->outcome = (enum trace_outcome)word;
        } else if (strcmp(key, "seed") == 0)
            json_unsigned(json, &header->seed);
        else if (strcmp(key, "objective") == 0)
            jsonl_read_double(json, &header->objective);
        else if (*key == '_')
            json_skip(json);
        else
            json_refuse(json, "unknown key \"%.40s\" of the header", key);
    }
    return !reader->input->refused;
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
} lines[] = {{"op", jsonl_read_op},       {"node", read_node},      {"edge", read_edge},
             {"pass", read_pass},         {"comm", read_comm},      {"site", read_site_line},
             {"strings", read_strings},   {"rank", read_rank_line}, {"note", read_note},
             {"gradient", read_gradient}, {"metric", read_metric},  {"finding", read_finding}};

static bool read_line(struct jsonl_reader *reader)
{
    struct json *json = &reader->json;
    const char *key;
    if (!json_open(json, '{'))
        return false;
    if (!json_next(json))
        return json_refuse(json, "an empty object");
    if (reader->trace && json_key_is(json, "op", 2))
        return jsonl_read_op(reader);
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
    size_t number = 0;
    for (size_t begin = format_text_begin(input); begin < input->size;) {
        if (number++ % PROGRESS_ROWS == 0)
            progress_report(input->progress, "reading", begin, input->size, "bytes");
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
    assert(done || input->refused);
    if (!done) {
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
