/* The checker's front: a trace in, findings out.
 *
 * Every property has one file and one row in the table of check.c: name, function, the codes it can
 * report, one line.
 * `--check LIST` and `simrun explain` read that table and nothing else. */
#ifndef CHECKER_CHECK_H
#define CHECKER_CHECK_H

#include "checker/options.h"
#include "traces/base/failure.h"
#include "traces/trace/finding.h"
#include "traces/trace/trace.h"

#include <stdint.h>

/* "deadlock,order", "all", "-race": names of rows, a minus takes one away. FAILURE_USAGE for an
 * unknown name. */
int check_options_parse(struct check_options *options, const char *list, struct failure *failure);

/* Appends what is wrong with the trace, consequences of a reported cause folded, sorted. The
 * trace is only read. */
void check_trace(const struct trace *trace, const struct check_options *options,
                 struct findings *findings);

struct check_context;
struct check_property {
    const char *name;
    void (*run)(const struct check_context *context, struct findings *findings);
    const char *codes; /* "D001 D005" */
    const char *description;
};
const struct check_property *check_property_at(size_t index); /* NULL past the end */

/* All names, with commas, into `text`, returned. */
char *check_names(char *text, size_t size);

#endif
