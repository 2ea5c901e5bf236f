/* Trace files of others and our own: read into a trace, written from one. Described in
 * docs/formats.md.
 *
 * Rules:
 *  1. A format is recognised by content, never by the file's name.
 *  2. Input is hostile: sizes, counts and depth are bounded, arithmetic is checked, work is near
 *     linear in the size.
 *  3. A refusal is FAILURE_INPUT with "FILE:LINE:COLUMN: sentence" (binary formats: "FILE: byte N:
 *     sentence"); nothing half-built is left. A file that cannot be opened is FAILURE_INPUT too;
 *     memory and output are FAILURE_INTERNAL.
 *
 * What it does not do: judge. A trace that is well-formed and wrong is for checker/. */
#ifndef TRACES_FORMATS_FORMAT_H
#define TRACES_FORMATS_FORMAT_H

#include "traces/base/failure.h"
#include "traces/base/progress.h"
#include "traces/trace/finding.h"
#include "traces/trace/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct format {
    const char *name; /* as --format takes it: "jsonl", "csv", "chrome", "ti", "flight-recorder" */
    bool reads, writes;
    const char *description; /* one line */
};

/* The table of formats; NULL past the end. */
const struct format *format_at(size_t index);
/* NULL for an unknown name. */
const struct format *format_by_name(const char *name);

/* The trace a file holds, finished and checked; free with trace_free. A folder holds one file per
 * rank (Flight Recorder dumps, or time-independent traces). `path` "-" reads standard input. NULL
 * and a failure otherwise. */
struct trace *format_read(const char *path, struct failure *failure);
/* The same, telling how far it is. */
struct trace *format_read_slowly(const char *path, struct progress *progress,
                                 struct failure *failure);
/* The same from memory; `name` stands for the file in sites and messages. */
struct trace *format_read_memory(const char *name, const void *data, size_t size,
                                 struct failure *failure);

/* Writes a finished trace. `findings` may be NULL; formats that cannot hold findings leave them
 * out. FAILURE_USAGE for a format that does not exist or cannot be written, FAILURE_INPUT for a
 * trace the format cannot hold, FAILURE_INTERNAL when writing fails. */
bool format_write(const struct trace *trace, const struct findings *findings,
                  const char *format_name, FILE *out, struct failure *failure);

#endif
