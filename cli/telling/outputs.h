/* Files a run leaves behind: pictures and reports. The name's ending says what a picture is. */
#ifndef CLI_TELLING_OUTPUTS_H
#define CLI_TELLING_OUTPUTS_H

#include "traces/base/failure.h"
#include "traces/trace/finding.h"
#include "viz/lanes/graph.h"
#include "viz/report/report.h"

#include <stdio.h>

/* Writes with `write` to a temporary file beside `path` and renames it, so that nothing is ever
 * half written; "-" is stdout. */
typedef bool output_writer(void *context, FILE *out, struct failure *failure);
bool output_write(const char *path, output_writer *write, void *context, struct failure *failure);
/* Writes to `path`.tmp and renames, so that nothing is ever half written; "-" is stdout. */
bool output_graph(const char *path, const struct trace *trace, const struct findings *findings,
                  const struct viz_options *options, struct failure *failure);
bool output_report(const char *path, const struct viz_report_run *runs, size_t count,
                   struct failure *failure);

struct run_options;
/* Whether the files asked for can be made, looked at before anything runs; one sentence on stderr for
 * each that cannot. */
bool outputs_can_be_written(const struct run_options *options);

#endif
