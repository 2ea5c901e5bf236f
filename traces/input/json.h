/* JSON, pulled: the reader asks for the value it expects, and what does not fit is refused at its
 * line and column. Private to the formats.
 *
 * SQLite's JSON functions would do without a parser here, but they say where an error stands only
 * from 3.42 on; Debian 12 has 3.40.
 *
 * Rules:
 *  1. Strictly RFC 8259: UTF-8 only, no comments, no trailing commas, depth at most JSON_DEPTH_MAX.
 *  2. Integers are exact up to 64 bits; texts may not hold U+0000. A lone surrogate \udc80..\udcff
 *     stands for the raw byte 0x80..0xff, as Python's "surrogateescape" has it, so that any C
 *     string survives.
 *  3. After a refusal every call returns false; ask the input. */
#ifndef TRACES_INPUT_JSON_H
#define TRACES_INPUT_JSON_H

#include "traces/input/input.h"

enum { JSON_DEPTH_MAX = 64 };

enum json_type { JSON_NONE, JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_TEXT, JSON_LIST, JSON_OBJECT };

struct json {
    struct format_input *input;
    size_t offset, end;
    size_t start; /* where the value or key last asked for began */
    unsigned depth;
    bool first[JSON_DEPTH_MAX]; /* no element of this level seen yet */
    char close[JSON_DEPTH_MAX];
    char *text; /* last text; valid until the next */
    size_t text_room;
};

/* Reads input from `offset` to `end`. */
void json_init(struct json *json, struct format_input *input, size_t offset, size_t end);
void json_release(struct json *json);

/* The kind of the next value; nothing is consumed. JSON_NONE (refused) where none stands. */
enum json_type json_peek(struct json *json);
bool json_null(struct json *json); /* where json_peek found one */
bool json_bool(struct json *json, bool *value);
bool json_integer(struct json *json, int64_t low, int64_t high, int64_t *value);
bool json_unsigned(struct json *json, uint64_t *value);
/* Any number; `integer` (may be NULL) tells whether *exact holds it. */
bool json_number(struct json *json, double *value, bool *integer, int64_t *exact);
/* Terminated, without zeros inside; belongs to the parser. */
bool json_text(struct json *json, const char **text, size_t *length);

/* for (json_open(json, '['); json_next(json);) value...; '{': json_key first. json_next is false at
 * the closing bracket, which it takes, and after a refusal. */
bool json_open(struct json *json, char bracket);
bool json_next(struct json *json);
bool json_key(struct json *json, const char **key);
/* Takes `"name":` where exactly that stands, and nothing else: for readers that can guess which key
 * comes next. */
bool json_key_is(struct json *json, const char *name, size_t length);
bool json_skip(struct json *json);
/* Nothing but blanks may be left. */
bool json_end(struct json *json);
/* Refuses the value last asked for. */
#define json_refuse(json, ...) format_refuse((json)->input, (json)->start, __VA_ARGS__)

#endif
