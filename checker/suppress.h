/* Which findings are only consequences of others: one table, applied after all properties have run.
 */
#ifndef CHECKER_SUPPRESS_H
#define CHECKER_SUPPRESS_H

#include "traces/trace/finding.h"

enum suppress_scope {
    SUPPRESS_RUN, /* a path leads from one to the other: a place in common, the end of the run, an
                     earlier operation of the rank or the communicator, a tensor */
    SUPPRESS_ALWAYS,     /* both are about one protocol of the whole run */
    SUPPRESS_OP,         /* they name a common op or node */
    SUPPRESS_COLLECTIVE, /* the same, or operations of one collective */
    SUPPRESS_REQUEST,    /* the same, or one is about a wait for what the other is about */
    SUPPRESS_STATUS,     /* the effect is a wait that failed for what the cause is about */
    SUPPRESS_RANK,       /* they name ops or nodes of a common rank */
    SUPPRESS_BESIDE, /* the cause is about a collective beside another thread's, the effect about
                        one on the same communicator */
    SUPPRESS_WAIT    /* the effect is about a wait for a nonblocking collective */
};

struct suppress_rule {
    const char *cause, *effects; /* codes; a trailing * stands for the whole letter: "L*" */
    enum suppress_scope scope;
    const char *reason;
};

/* The rules, in the order in which they are applied; NULL past the end. */
const struct suppress_rule *suppress_rule_at(size_t index);

/* Folds consequences among findings[first..] under their roots; those before belong to the caller.
 * What is allowed is neither: it silences nothing but itself. */
void suppress_consequences(struct findings *findings, size_t first, const struct trace *trace);

#endif
