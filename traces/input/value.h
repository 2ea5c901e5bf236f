/* A value of a dump, read from JSON or a pickle: one tree for both. Private to the Flight
 * Recorder's reader.
 *
 * Rules:
 *  1. Values live until value_pool_release. A pickle may share values and even make one contain
 *     itself: readers walk by the dump's shape, never by recursion, and pay every step from a
 *     budget in proportion to the file (value_at, value_get), so that sharing cannot make a small
 *     file large.
 *  2. Texts have a length and may hold anything. */
#ifndef TRACES_INPUT_VALUE_H
#define TRACES_INPUT_VALUE_H

#include "traces/input/input.h"

enum value_type {
    VALUE_NULL,
    VALUE_BOOL,
    VALUE_INTEGER,
    VALUE_REAL,
    VALUE_TEXT,
    VALUE_LIST,
    VALUE_DICT
};

struct value {
    enum value_type type;
    uint32_t count, room; /* items of a list; keys and values of a dict, in turn */
    size_t offset;        /* in the input, for messages */
    union {
        bool truth;
        int64_t integer;
        double real;
        struct {
            const char *start;
            size_t length;
        } text;
        struct value **items;
    } as;
};

struct value_block;
struct value_pool {
    struct format_input *input;
    struct value_block *blocks;
    uint64_t budget;
};

void value_pool_init(struct value_pool *pool, struct format_input *input);
void value_pool_release(struct value_pool *pool);
/* NULL (and FAILURE_INTERNAL) when memory ran out. */
struct value *value_new(struct value_pool *pool, enum value_type type, size_t offset);
void *value_memory(struct value_pool *pool, size_t size);
bool value_append(struct value_pool *pool, struct value *list, struct value *item);

/* The whole input as one value; NULL after a refusal. */
struct value *value_read_json(struct value_pool *pool);
struct value *value_read_pickle(struct value_pool *pool);

/* The member of a dict, NULL if absent (or not a dict). Texts and integers serve as keys. */
const struct value *value_get(struct value_pool *pool, const struct value *dict, const char *key);
/* The item of a list; NULL past its end or when it is no list. */
const struct value *value_at(struct value_pool *pool, const struct value *list, uint32_t index);
/* Conveniences that take NULL for absent. */
bool value_is_text(const struct value *value, const char *text);
int64_t value_integer(const struct value *value, int64_t otherwise);
/* Cut at `size` and at a zero byte; integers as digits; "" for the rest. */
char *value_copy(const struct value *value, char *text, size_t size);

#endif
