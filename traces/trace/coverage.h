/* Coverage: what the checks did not look at. A gap is no finding: nothing is wrong there, as far as
 * anybody knows; nobody looked.
 *
 * Rules:
 *  1. The code that skips something reports the gap; nothing else knows why.
 *  2. Gaps of one check and one sentence add up to one.
 *  3. Coverage is a notebook beside the trace: checkers, which only read a trace, write in it. One
 *     thread at a time.
 *  4. Running out of memory is a gap, too: the coverage is then never complete. */
#ifndef TRACES_TRACE_COVERAGE_H
#define TRACES_TRACE_COVERAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct coverage_gap {
    char check[24]; /* a name of `--check`, or "run", "gradients", "memory", "explore", "import" */
    uint64_t count; /* things that were not looked at */
    char *text;     /* a sentence without period: names the things and the bound */
};

struct coverage {
    struct coverage_gap *gaps; /* in the order in which they were reported */
    size_t count, room;
    bool failed; /* a gap was lost to want of memory */
};

void coverage_init(struct coverage *coverage);
void coverage_release(struct coverage *coverage);
/* Adds `count` things; false, and never complete again, when memory ran out. */
bool coverage_add(struct coverage *coverage, const char *check, uint64_t count, const char *text);
/* The gaps of another; those of the same check and sentence add up. */
bool coverage_merge(struct coverage *coverage, const struct coverage *other);
/* Takes a gap away that something else has closed since; `check` NULL: of every check. */
void coverage_close(struct coverage *coverage, const char *check, const char *beginning);

/* What `--require` may ask for. */
enum coverage_demand {
    COVERAGE_COMPLETE = 1,  /* nothing was left out */
    COVERAGE_GRADIENTS = 2, /* gradients were checked, all of them */
    COVERAGE_DECIDED = 4    /* none of them stayed undecided */
};
/* "complete,gradients" as a mask; 0 for a word that is none of them. */
unsigned coverage_demands(const char *list);
/* Which of the demands the gaps leave open. */
unsigned coverage_missed(const struct coverage *coverage, unsigned demands);
/* The words of a mask, separated by commas, into `text`, returned. */
char *coverage_demands_text(unsigned demands, char *text, size_t size);

/* "not covered: what, what (3 times)"; at most `limit` gaps, then how many more. Empty when
 * complete. Free the text. */
char *coverage_line(const struct coverage *coverage, size_t limit);

#endif
