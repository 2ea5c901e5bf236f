/* The bytes of a file being read, and how a reader refuses them. Private to the readers: traces/formats,
 * base/json.c, pickle.c.
 *
 * Rules:
 *  1. data[size] is 0, so that a look-ahead of one needs no check.
 *  2. The first refusal stays; later ones are ignored. Line and column (in bytes, from 1) are
 *     computed only then, so that readers carry offsets and stay linear.
 *
 * Room: sees traces/base, traces/trace. Seen by traces/formats; cli. */
#ifndef TRACES_INPUT_INPUT_H
#define TRACES_INPUT_INPUT_H

#include "traces/base/failure.h"
#include "traces/base/progress.h"
#include "traces/trace/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    FORMAT_RANKS_MAX = 1 << 20,
    FORMAT_ROWS_MAX = 1 << 30 /* rows of any one table */
};
/* Counts of elements that are believed: their bytes, and sums over a million ranks, stay within 64
 * bits. */
#define FORMAT_COUNT_MAX ((int64_t)1 << 57)
#define FORMAT_PART_MAX  ((int64_t)1 << 36) /* of one rank's part of a v-form */
#define FORMAT_BYTES_MAX ((size_t)8 << 30)

struct format_input {
    const char *name;          /* path as given, for messages and sites */
    const unsigned char *data; /* owned after format_input_open */
    size_t size;
    bool binary; /* places are byte offsets */
    bool refused;
    struct failure *failure;
    struct progress *progress; /* who shows how far it is, NULL: nobody */
};

/* Reads a whole file ("-": standard input); release it even after a failure. */
bool format_input_open(struct format_input *input, const char *path, struct failure *failure);
/* Copies bytes. */
bool format_input_copy(struct format_input *input, const char *name, const void *data, size_t size,
                       struct failure *failure);
void format_input_release(struct format_input *input);

/* The files of a folder in order of their names (hidden ones and folders left out), or one file;
 * both fill *inputs even when they fail: release. */
bool format_folder_open(const char *path, struct format_input **inputs, size_t *count,
                        struct failure *failure);
bool format_folder_one(const char *path, struct format_input **inputs, size_t *count,
                       struct failure *failure);
void format_folder_release(struct format_input *inputs, size_t count);

/* FAILURE_INPUT "NAME:LINE:COLUMN: sentence" (binary: "NAME: byte N: sentence"); returns false. */
bool format_refuse(struct format_input *input, size_t offset, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* FAILURE_INTERNAL; returns false. */
bool format_no_memory(struct format_input *input);

/* Room for one more row: doubles *table when count reaches *room. False and FAILURE_INTERNAL when
 * memory ran out. */
bool format_grow(struct format_input *input, void *table, size_t count, size_t *room, size_t size);

/* Keys to numbers: filled, then sorted once, then asked. No hashing, so no input makes it slow. */
struct format_index {
    struct format_index_row {
        uint64_t key;
        uint32_t value;
    } * rows;
    size_t count, room;
    bool sorted;
};
bool format_index_add(struct format_input *input, struct format_index *index, uint64_t key,
                      uint32_t value);
/* Stable by key; returns the number of a row (in sorted order) whose key repeats the one before, or
 * count. */
size_t format_index_sort(struct format_index *index);
/* The first row with this key, NULL if none; the rest follow it. */
const struct format_index_row *format_index_find(const struct format_index *index, uint64_t key);
void format_index_release(struct format_index *index);

/* Takes the last '/'-separated part. */
const char *format_base_name(const char *path);
/* Where a text begins: behind a byte order mark. */
size_t format_text_begin(const struct format_input *input);
/* Finishes and checks `trace`; frees it and returns NULL when it breaks a rule (named after the
 * input). */
struct trace *format_finish(struct format_input *input, struct trace *trace);
/* Adds communicator 1 of all ranks; its index, TRACE_NO (and FAILURE_INTERNAL) when memory ran out.
 */
uint32_t format_world_add(struct format_input *input, struct trace *trace, const char *name);
/* The number of the basic type with this name (as trace_type_name spells it), 0 if none. */
uint32_t format_type_by_name(const char *name);
uint32_t format_reduce_by_name(const char *name);

/* One per format. Readers own nothing of the input afterwards. */
struct trace *format_jsonl_read(struct format_input *input);
struct trace *format_csv_read(struct format_input *input);
struct trace *format_ti_read(struct format_input *inputs, size_t count);
struct trace *format_flight_read(struct format_input *inputs, size_t count);

#endif
