/* What a rank learned that its own code does not decide: who sent what it received from any source,
 * which of several requests was done, what its polls found. One run notes it in the order in which the
 * rank asked, another one gets the same answers. */
#ifndef SIM_BASE_ANSWERS_H
#define SIM_BASE_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sim_asked {
    SIM_ASKED_SENDER, /* who sent it; noted when it is known */
    SIM_ASKED_WHICH,  /* of these requests is done, -1: none yet */
    SIM_ASKED_SOME,   /* how many of them are done; then, each on its own, which */
    SIM_ASKED_POLL,   /* -1: not yet, else what was found */
    SIM_ASKED_TURN /* how many locks, or atomic operations, of a window's target came before its own */
};

struct sim_answer {
    int32_t value;
    uint32_t asked : 3, times : 29; /* so often in a row */
};

/* Of one rank. */
struct sim_answers {
    size_t count, room;
    struct sim_answer *of;
    size_t most;     /* answers that are kept; 0: as many as there is memory for */
    bool unsure;     /* those after it are not noted, as it asked what is not noted: it has threads,
                        cancelled a receive ... */
    uint64_t missed; /* how often it asked what was not noted */
};

/* Where a rank is that gets the answers of another run. */
struct sim_answers_place {
    uint32_t at;
    uint32_t times : 30;
    bool in_vain : 1; /* the last answer was "not yet", whatever there is */
    bool lost : 1; /* it asked something else there, or more: answers are as they come from here */
};

/* Another answer. Its number for answers_know; 0: it was not noted. */
size_t sim_answers_note(struct sim_answers *answers, enum sim_asked asked, int value);
/* The answer of that number is known now. */
void sim_answers_know(struct sim_answers *answers, size_t number, int value);
/* The next one; false: there is none. */
bool sim_answers_next(const struct sim_answers *answers, struct sim_answers_place *place,
                      enum sim_asked asked, int *value);

#endif
