/* What a person reads on stdout after a run: the verdict in one line, then every finding. */
#ifndef CLI_TELLING_PRESENT_H
#define CLI_TELLING_PRESENT_H

#include "traces/trace/finding.h"

#include <stdio.h>

struct result;

struct present {
    FILE *out;
    bool color;
    int width;          /* columns */
    const char *replay; /* command that replays the finding, NULL: none is printed */
    const char *draw;   /* command that draws it */
};

/* For a stream: colours only on a terminal that is not dumb, and without NO_COLOR ("always" and
 * "never" decide otherwise, NULL is "auto"); 80 columns where the width is not known. */
void present_init(struct present *present, FILE *out, const char *color);
/* "PASS ring, 16 ranks: finished, 12 of 12 gradients right (1.2 ms)". */
void present_verdict(const struct present *present, const struct result *result, bool model);
/* One line for each method of the gradient comparisons: what it is and where its tolerance comes
 * from. */
void present_methods(const struct present *present, const struct trace *trace);
/* Per input the worst of its checks: error, tolerance, and how both were found. */
void present_gradients(const struct present *present, const struct trace *trace, bool verbose);
/* Where a finding's operations are: what is one line for several of them is printed once. */
void present_places(const struct present *present, const struct trace *trace,
                    const struct finding *finding);
/* How many findings follow from a root; `all`: a line for each. */
void present_consequences(const struct present *present, const struct findings *findings,
                          size_t root, bool all);
void present_finding(const struct present *present, const struct trace *trace,
                     const struct finding *finding);
/* Prints text wrapped to the width, every line indented. */
void present_wrapped(const struct present *present, int indent, const char *text);
/* The rest of a line that has come to `column`, and its end: further lines are indented. */
void present_hanging(const struct present *present, int column, int indent, const char *text);
/* A copy of the text in which files are named relative to this folder, and those of the catalogue
 * begin with "scenarios/". free() it. */
char *present_short(const char *text);
/* A word in the colour of success or failure. */
void present_word(const struct present *present, const char *word, bool good);

/* Text of programs and of databases goes to terminals: nothing in it may steer one. */
const char *present_clean(char *room, size_t size, const char *text);

#endif
