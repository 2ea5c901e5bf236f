/* What a person reads on stdout after a run: the verdict in one line, then every finding. */
#ifndef CLI_PRESENT_H
#define CLI_PRESENT_H

#include "cli/job.h"
#include "traces/finding.h"

#include <stdio.h>

struct present {
    FILE *out;
    bool color;
    int width;          /* columns */
    const char *replay; /* command that repeats the run */
    const char *draw;   /* command that draws a finding: its index is appended */
};

/* For a stream: colours only on a terminal and without NO_COLOR; 80 columns where the width is not
 * known. */
void present_init(struct present *present, FILE *out, const char *color);
/* "PASS ring, 16 ranks: 3 inputs right, no findings (1.2 ms)". */
void present_verdict(const struct present *present, const struct job *job,
                     const struct job_result *result, const struct findings *findings, bool passed);
void present_finding(const struct present *present, const struct trace *trace,
                     const struct finding *finding, size_t index);
/* Prints text wrapped to the width, every line indented. */
void present_wrapped(const struct present *present, int indent, const char *text);

#endif
