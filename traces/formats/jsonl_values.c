/* Values of a JSONL file that mean more than their JSON: ranks, sites, kinds, types, wildcards. See
 * jsonl_read.h. */
#include "traces/base/identity.h"
#include "traces/formats/jsonl_read.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool jsonl_read_u32(struct json *json, uint32_t *value)
{
    int64_t number;
    if (!json_integer(json, 0, UINT32_MAX - 1, &number))
        return false;
    *value = (uint32_t)number;
    return true;
}

bool jsonl_read_rank(struct jsonl_reader *reader, uint32_t *rank)
{
    int64_t number;
    if (!json_integer(&reader->json, 0, (int64_t)reader->trace->ranks - 1, &number))
        return false;
    *rank = (uint32_t)number;
    return true;
}

/* A word of a list. */
bool jsonl_read_word(struct json *json, enum jsonl_words list, unsigned *number)
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
bool jsonl_read_double(struct json *json, double *value)
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
bool jsonl_read_name(struct json *json, char *field, size_t size)
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

bool jsonl_read_string(struct jsonl_reader *reader, uint32_t *string)
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
bool jsonl_read_site_list(struct jsonl_reader *reader, uint32_t *site)
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

bool jsonl_read_site(struct jsonl_reader *reader, uint32_t *site)
{
    uint32_t number;
    switch (json_peek(&reader->json)) {
    case JSON_NULL:
        return json_null(&reader->json);
    case JSON_TEXT:
        return read_site_text(reader, site);
    case JSON_LIST:
        return jsonl_read_site_list(reader, site);
    default:
        if (!jsonl_read_u32(&reader->json, &number))
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

bool jsonl_read_kind(struct jsonl_reader *reader, uint8_t *kind, uint16_t *flags)
{
    const char *text;
    size_t length;
    uint16_t own = 0;
    if (!json_text(&reader->json, &text, &length))
        return false;
    size_t slot =
        length
            ? ((unsigned char)text[0] * 7u + (unsigned char)text[length - 1] + length) % JSONL_KINDS
            : 0;
    struct jsonl_kind *known = &reader->kinds[slot];
    if (length && length < sizeof known->name && strcmp(known->name, text) == 0) {
        *kind = known->kind;
        *flags |= known->flags;
        return true;
    }
    *kind = (uint8_t)kind_by_name(text, &own);
    *flags |= own;
    if (*kind == OP_NONE)
        return strcmp(text, "none") == 0 ||
               json_refuse(&reader->json, "unknown operation \"%.40s\"", text);
    if (length < sizeof known->name) {
        *known = (struct jsonl_kind){.kind = *kind, .flags = own};
        memcpy(known->name, text, length);
    }
    return true;
}

bool jsonl_read_type(struct jsonl_reader *reader, uint32_t *type)
{
    struct json *json = &reader->json;
    const char *text;
    if (json_peek(json) != JSON_TEXT)
        return jsonl_read_u32(json, type);
    if (!json_text(json, &text, NULL))
        return false;
    if (strcmp(text, reader->type_name) != 0) { /* few types repeat over many lines */
        uint32_t found = format_type_by_name(text);
        if (found == 0)
            return json_refuse(json, "unknown type \"%.40s\"", text);
        reader->type = found;
        snprintf(reader->type_name, sizeof reader->type_name, "%s", text);
    }
    *type = reader->type;
    return *type != 0 || json_refuse(json, "unknown type \"%.40s\"", text);
}

bool jsonl_read_reduce(struct jsonl_reader *reader, uint32_t *reduce)
{
    struct json *json = &reader->json;
    const char *text;
    if (json_peek(json) != JSON_TEXT)
        return jsonl_read_u32(json, reduce);
    if (!json_text(json, &text, NULL))
        return false;
    if (strcmp(text, reader->reduce_name) != 0) {
        uint32_t found = format_reduce_by_name(text);
        if (found == 0)
            return json_refuse(json, "unknown reduction \"%.40s\"", text);
        reader->reduce = found;
        snprintf(reader->reduce_name, sizeof reader->reduce_name, "%s", text);
    }
    *reduce = reader->reduce;
    return *reduce != 0 || json_refuse(json, "unknown reduction \"%.40s\"", text);
}

bool jsonl_read_identity(struct jsonl_reader *reader, uint32_t *identity)
{
    struct json *json = &reader->json;
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
    *identity = trace_identity(text, length);
    return trace_add_string(reader->trace, text) != TRACE_NO || format_no_memory(reader->input);
}

bool jsonl_read_flags(struct json *json, uint16_t *flags)
{
    unsigned number;
    if (!json_open(json, '['))
        return false;
    while (json_next(json)) {
        if (!jsonl_read_word(json, JSONL_FLAGS, &number))
            return false;
        *flags = (uint16_t)(*flags | 1u << number);
    }
    return !json->input->refused;
}

bool jsonl_read_who(struct json *json, int32_t *who)
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

bool jsonl_read_field(struct json *json, const struct jsonl_field *field,
                      struct trace_whole_op *whole)
{
    char *place = (char *)whole + field->offset;
    int32_t who;
    int64_t number = 0;
    uint64_t large = 0;
    switch (field->type) {
    case JSONL_WHO:
        if (!jsonl_read_who(json, &who))
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
bool jsonl_read_place(struct jsonl_reader *reader, uint32_t *rank, uint32_t *id)
{
    struct json *json = &reader->json;
    if (json_peek(json) != JSON_LIST)
        return jsonl_read_u32(json, id);
    bool done = json_open(json, '[') && json_next(json) && jsonl_read_rank(reader, rank) &&
                json_next(json) && jsonl_read_u32(json, id);
    if (done && !json_next(json))
        return !reader->input->refused;
    return json_refuse(json, "an operation elsewhere is [rank, id]");
}
