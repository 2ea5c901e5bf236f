/* Random numbers of tests (splitmix64): the same from the same seed, everywhere. */
#ifndef TESTS_DICE_H
#define TESTS_DICE_H

#include "tests/sanitized.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

static inline uint64_t dice_next(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    uint64_t z = *state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* One of 0 .. n-1. */
static inline uint32_t dice_below(uint64_t *state, uint32_t n)
{
    return (uint32_t)(dice_next(state) % n);
}

/* Which seeds a test of random programs takes: `usual` of them from 1 on (under a sanitizer, which is
 * there for the memory, a quarter), or as the environment says. */
struct dice_seeds {
    unsigned long long first, count;
};

static inline struct dice_seeds dice_seeds(unsigned long long usual)
{
    const char *count = getenv("SIMRUN_SOAK"), *first = getenv("SIMRUN_SEED");
    unsigned long long own = SANITIZED ? (usual + 3) / 4 : usual;
    return (struct dice_seeds){first ? strtoull(first, NULL, 10) : 1,
                               count ? strtoull(count, NULL, 10) : own};
}

/* Whether these are the programs that golden files tell of. */
static inline bool dice_usual(void)
{
    return !SANITIZED && !getenv("SIMRUN_SOAK") && !getenv("SIMRUN_SEED");
}

#endif
