/* One verdict of several runs of a program: what another run found is added to the findings of the
 * first, and what is the same defect is reported once, with the progress models under which it
 * shows.
 */
#ifndef VERDICT_MERGE_H
#define VERDICT_MERGE_H

#include "traces/trace/finding.h"

/* How the other run differed from the first. */
struct merge_origin {
    const char *model;  /* its progress model: "rendezvous" */
    const char *base;   /* that of the first run */
    const char *how;    /* a sentence's part: "where every send waits for its receive" */
    const char *replay; /* the command that repeats it, NULL: none */
    bool explored;      /* it made other choices than the first */
};

/* Findings of `from` (whose operations are `other`'s) into `into` (whose operations are `trace`'s).
 * A hang of the other run where the first ended is a danger of the first: D003 where sends wait for
 * their receives, D004 where batches do, D002 else. */
void merge_findings(struct findings *into, struct trace *trace, const struct findings *from,
                    const struct trace *other, const struct merge_origin *origin);

#endif
