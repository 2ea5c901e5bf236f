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

/* The same in its parts, for whoever must be able to end it. First each check; after each of them
 * `told`, if there is one, hears of all findings so far, which are neither folded nor sorted yet,
 * and which checks they are of (as in check_options.checks). */
typedef void check_told(void *context, uint64_t done, const struct findings *findings);
void check_each(const struct trace *trace, const struct check_options *options,
                struct findings *findings, check_told *told, void *context);
/* Then what to make of them; those before `first` belong to the caller. */
void check_finish(const struct trace *trace, size_t first, struct findings *findings);
/* Of the checks asked for those that are of use to this trace. */
uint64_t check_kept(const struct trace *trace, const struct check_options *options);

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
