/* Values of dumps: see value.h. Pickles are read by pickle.c. */
#include "traces/input/value.h"

#include "traces/input/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_SIZE = 1 << 16, STEPS_FREE = 1 << 16, STEPS_PER_BYTE = 64 };

struct value_block {
    struct value_block *next;
    size_t used, size;
    max_align_t data[];
};

void value_pool_init(struct value_pool *pool, struct format_input *input)
{
    *pool = (struct value_pool){.input = input,
                                .budget = STEPS_FREE + (uint64_t)input->size * STEPS_PER_BYTE};
}

void value_pool_release(struct value_pool *pool)
{
    while (pool->blocks) {
        struct value_block *next = pool->blocks->next;
        free(pool->blocks);
        pool->blocks = next;
    }
}

void *value_memory(struct value_pool *pool, size_t size)
{
    size_t aligned = (size + 15) & ~(size_t)15;
    struct value_block *block = pool->blocks;
    if (!block || block->size - block->used < aligned) {
        size_t room = aligned > BLOCK_SIZE ? aligned : BLOCK_SIZE;
        block = malloc(sizeof *block + room);
        if (!block) {
            format_no_memory(pool->input);
            return NULL;
        }
        *block = (struct value_block){.next = pool->blocks, .size = room};
        pool->blocks = block;
    }
    void *place = (char *)block->data + block->used;
    block->used += aligned;
    return place;
}

struct value *value_new(struct value_pool *pool, enum value_type type, size_t offset)
{
    struct value *value = value_memory(pool, sizeof *value);
    if (value)
        *value = (struct value){.type = type, .offset = offset};
    return value;
}

bool value_append(struct value_pool *pool, struct value *list, struct value *item)
{
    if (list->count == list->room) {
        uint32_t room = list->room ? list->room * 2 : 4;
        if (room > FORMAT_ROWS_MAX)
            return format_no_memory(pool->input);
        struct value **items = value_memory(pool, room * sizeof *items);
        if (!items)
            return false;
        if (list->count)
            memcpy(items, list->as.items, list->count * sizeof *items);
        list->as.items = items;
        list->room = room;
    }
    list->as.items[list->count++] = item;
    return true;
}

/* ---- JSON ---- */

static bool json_scalar(struct value_pool *pool, struct json *json, struct value *value)
{
    const char *text;
    bool whole;
    int64_t exact;
    double real;
    char *copy;
    switch (value->type) {
    case VALUE_NULL:
        return json_null(json);
    case VALUE_BOOL:
        return json_bool(json, &value->as.truth);
    case VALUE_TEXT:
        if (!json_text(json, &text, &value->as.text.length))
            return false;
        copy = value_memory(pool, value->as.text.length + 1);
        if (!copy)
            return false;
        value->as.text.start = memcpy(copy, text, value->as.text.length + 1);
        return true;
    default:
        if (!json_number(json, &real, &whole, &exact))
            return false;
        value->type = whole ? VALUE_INTEGER : VALUE_REAL;
        if (whole)
            value->as.integer = exact;
        else
            value->as.real = real;
        return true;
    }
}

/* One value without what a list or object holds; those are opened. */
static struct value *json_value(struct value_pool *pool, struct json *json)
{
    static const enum value_type types[] = {
        [JSON_NULL] = VALUE_NULL, [JSON_BOOL] = VALUE_BOOL, [JSON_NUMBER] = VALUE_REAL,
        [JSON_TEXT] = VALUE_TEXT, [JSON_LIST] = VALUE_LIST, [JSON_OBJECT] = VALUE_DICT};
    enum json_type found = json_peek(json);
    if (found == JSON_NONE)
        return NULL;
    struct value *value = value_new(pool, types[found], json->offset);
    if (!value)
        return NULL;
    bool done = found == JSON_LIST     ? json_open(json, '[')
                : found == JSON_OBJECT ? json_open(json, '{')
                                       : json_scalar(pool, json, value);
    return done ? value : NULL;
}

static bool json_member_key(struct value_pool *pool, struct json *json, struct value *dict)
{
    struct value *key = json_value(pool, json);
    if (!key)
        return false;
    if (key->type != VALUE_TEXT)
        return json_refuse(json, "a key expected");
    json->offset = json->start; /* json_key reads it again, with its colon */
    const char *text;
    return json_key(json, &text) && value_append(pool, dict, key);
}

/* A stack of open lists and objects instead of recursion. */
static struct value *json_tree(struct value_pool *pool, struct json *json)
{
    struct value *open[JSON_DEPTH_MAX], *root = json_value(pool, json);
    if (root)
        open[0] = root;
    if (!root || json->depth == 0)
        return root;
    for (;;) {
        while (!json_next(json)) {
            if (pool->input->refused)
                return NULL;
            if (json->depth == 0)
                return root;
        }
        struct value *parent = open[json->depth - 1];
        if (parent->type == VALUE_DICT && json_peek(json) != JSON_TEXT) {
            json_refuse(json, "a key expected");
            return NULL;
        }
        if (parent->type == VALUE_DICT && !json_member_key(pool, json, parent))
            return NULL;
        struct value *item = json_value(pool, json);
        if (!item || !value_append(pool, parent, item))
            return NULL;
        if (item->type == VALUE_LIST || item->type == VALUE_DICT)
            open[json->depth - 1] = item;
    }
}

struct value *value_read_json(struct value_pool *pool)
{
    struct json json = {0};
    json_init(&json, pool->input, format_text_begin(pool->input), pool->input->size);
    struct value *root = json_tree(pool, &json);
    if (root && !json_end(&json))
        root = NULL;
    json_release(&json);
    return root;
}

/* ---- asking ---- */

static bool pay(struct value_pool *pool, const struct value *value)
{
    if (pool->budget > 0) {
        pool->budget--;
        return true;
    }
    return format_refuse(pool->input, value->offset,
                         "shared values expand to more than the file could hold");
}

bool value_is_text(const struct value *value, const char *text)
{
    return value && value->type == VALUE_TEXT && value->as.text.length == strlen(text) &&
           memcmp(value->as.text.start, text, value->as.text.length) == 0;
}

const struct value *value_get(struct value_pool *pool, const struct value *dict, const char *key)
{
    if (!dict || dict->type != VALUE_DICT)
        return NULL;
    for (uint32_t i = 0; i + 1 < dict->count && pay(pool, dict); i += 2)
        if (value_is_text(dict->as.items[i], key))
            return dict->as.items[i + 1];
    return NULL;
}

const struct value *value_at(struct value_pool *pool, const struct value *list, uint32_t index)
{
    if (!list || list->type != VALUE_LIST || index >= list->count || !pay(pool, list))
        return NULL;
    return list->as.items[index];
}

int64_t value_integer(const struct value *value, int64_t otherwise)
{
    return value && value->type == VALUE_INTEGER ? value->as.integer : otherwise;
}

char *value_copy(const struct value *value, char *text, size_t size)
{
    text[0] = 0;
    if (value && value->type == VALUE_INTEGER)
        snprintf(text, size, "%lld", (long long)value->as.integer);
    if (value && value->type == VALUE_TEXT) {
        size_t length = value->as.text.length < size ? value->as.text.length : size - 1;
        if (length)
            memcpy(text, value->as.text.start, length);
        text[length] = 0;
    }
    return text;
}
