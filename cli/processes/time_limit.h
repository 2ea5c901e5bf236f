/* How long a run may still be looked at after it is over: loading what was recorded, judging it.
 *
 * The limit of the run (--timeout) holds for both together, but a short while is always given, so
 * that a run whose time passed says what it has. Whoever interrupts us waits no longer than that
 * while, either. */
#ifndef CLI_PROCESSES_TIME_LIMIT_H
#define CLI_PROCESSES_TIME_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

struct time_limit {
    uint64_t until; /* monotonic ns; 0: for ever, if nobody interrupts */
    bool passed;    /* somebody was told so, in this step or in one before */
};

/* From now on: `timeout` seconds, 0 for none, counted from `began_ns`. */
void time_limit_begin(struct time_limit *limit, double timeout, uint64_t began_ns);
/* A next step: it has the short while, too, whatever the one before took. */
void time_limit_step(struct time_limit *limit);
/* Whether it is over; remembered. `limit` is a struct time_limit. */
bool time_limit_passed(void *limit);
/* Seconds that are left, at least 0; infinite where there is no limit. */
double time_limit_left(struct time_limit *limit);

#endif
