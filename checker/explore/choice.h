/* A choice of an exploration. */
#ifndef CHECKER_EXPLORE_CHOICE_H
#define CHECKER_EXPLORE_CHOICE_H

#include <stdint.h>

/* One choice, by name: for receives and probes the `object`-th of `rank` takes message `number` of
 * `source` in communicator context `box`; for Waitany `source` is the index of the request; for
 * locks the `object`-th of `rank` is had next after call `number` of `source`; a rank's own choice (EXPLORE_LOCAL) is its `object`-th, which picked `source`. */
struct explore_choice {
    uint32_t kind; /* enum sim_taker or EXPLORE_LOCAL */
    uint32_t rank, object, source, number, box;
};
enum { EXPLORE_LOCAL = 16 };

#endif
