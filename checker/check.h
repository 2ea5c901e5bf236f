/* The checker's front: a trace in, findings out.
 *
 * Every property has one file and one row in the table of check.c: name, function, the codes it can
 * report, one line.
 * `--check LIST` and `simrun explain` read that table and nothing else. */
#ifndef CHECKER_CHECK_H
#define CHECKER_CHECK_H

#include "traces/base/failure.h"
#include "traces/trace/finding.h"
#include "traces/trace/trace.h"

#include <stdint.h>

/* When a standard send completes: at once; when it is matched; together with its whole batch. */
enum check_model { CHECK_EAGER = 1, CHECK_RENDEZVOUS = 2, CHECK_BATCH = 4, CHECK_ALL_MODELS = 7 };

struct check_options {
    uint64_t checks;       /* bit i: row i of the table runs */
    unsigned models;       /* enum check_model: those to look for danger under */
    uint64_t search_limit; /* steps a search for a cycle or a matching may take before it says
                              "bounded" */
};

/* Every check, every model, a bound that ends within a second or so. */
void check_options_init(struct check_options *options);
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

/* "eager", "rendezvous", "batch". */
const char *check_model_name(enum check_model model);
/* The names of a mask, separated by spaces, into `text`, returned. */
char *check_models_text(unsigned models, char *text, size_t size);

#endif
