/* The time a person waits for a verdict, split by what it was spent on. */
#ifndef CLI_PROCESSES_STOPWATCH_H
#define CLI_PROCESSES_STOPWATCH_H

#include <stddef.h>
#include <stdint.h>

enum stopwatch_part {
    STOPWATCH_COMPILING, /* and all else before the run */
    STOPWATCH_RUN,
    STOPWATCH_GRADIENTS,
    STOPWATCH_TRACE, /* made of what was recorded */
    STOPWATCH_CHECKS,
    STOPWATCH_WITNESSES, /* runs that confirm findings */
    STOPWATCH_OTHER_RUNS,
    STOPWATCH_STORING,
    STOPWATCH_PARTS
};

/* All zero: not started; then nothing is counted. */
struct stopwatch {
    uint64_t until; /* counted so far, monotonic ns */
    enum stopwatch_part part;
    uint64_t spent[STOPWATCH_PARTS]; /* ns */
};

uint64_t stopwatch_now(void); /* monotonic ns */

/* Starts it in the past: since then, time went to the first part. 0: since now. */
void stopwatch_start(struct stopwatch *watch, uint64_t since);
/* What was since the last call belongs to the part that was on; from now on it is this one. */
void stopwatch_next(struct stopwatch *watch, enum stopwatch_part part);
/* The same for an instant that somebody else noted; one that cannot be is moved to one that can. */
void stopwatch_next_at(struct stopwatch *watch, enum stopwatch_part part, uint64_t at);

double stopwatch_seconds(const struct stopwatch *watch);
/* "run 3.0 s, storing 20.9 s": the parts that are at least a twentieth of the whole. */
void stopwatch_text(const struct stopwatch *watch, char *text, size_t size);
const char *stopwatch_part_name(enum stopwatch_part part);

#endif
