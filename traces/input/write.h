/* What writers of text formats share. Private to traces/format*.c. */
#ifndef TRACES_INPUT_WRITE_H
#define TRACES_INPUT_WRITE_H

#include "traces/trace/finding.h"
#include "traces/trace/trace.h"

#include <stdio.h>

/* A JSON text with its quotes; bytes that are not UTF-8 become lone surrogates (base/json.h, rule
 * 2). */
void json_write_text(FILE *out, const char *text);
/* Shortest text that reads back to the same value; NaN is null, infinities are texts. */
void json_write_double(FILE *out, double value);

/* One per format that is written; output errors are noticed by the caller through ferror. */
bool format_jsonl_write(const struct trace *trace, const struct findings *findings, FILE *out,
                        struct failure *failure);
bool format_chrome_write(const struct trace *trace, const struct findings *findings, FILE *out,
                         struct failure *failure);
bool format_csv_write(const struct trace *trace, const struct findings *findings, FILE *out,
                      struct failure *failure);
bool format_ti_write(const struct trace *trace, const struct findings *findings, FILE *out,
                     struct failure *failure);

#endif
