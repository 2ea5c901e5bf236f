/* Random numbers of tests (splitmix64): the same from the same seed, everywhere. */
#ifndef TESTS_DICE_H
#define TESTS_DICE_H

#include "tests/sanitized.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
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

/* SIMRUN_PART=3/16: of 16 parts of a test's cases only number 3, from 0 on (make mutate asks dear tests so). */
struct dice_part {
    unsigned long long number, of;
};

static inline struct dice_part dice_part(void)
{
    const char *asked = getenv("SIMRUN_PART");
    struct dice_part part = {0, 1};
    if (asked &&
        (sscanf(asked, "%llu/%llu", &part.number, &part.of) != 2 || part.number >= part.of))
        part = (struct dice_part){0, 1};
    return part;
}

/* Whether case `number` is of the part that is asked. */
static inline bool dice_takes(unsigned long long number)
{
    struct dice_part part = dice_part();
    return number % part.of == part.number;
}

/* The same of few cases, `number` of `count`: where the parts are more, each asks one case. */
static inline bool dice_takes_of(unsigned long long number, unsigned long long count)
{
    struct dice_part part = dice_part();
    return part.of > count ? part.number * count / part.of == number : dice_takes(number);
}

/* The tests of a program in groups, 0 to 5, each of which one of the parts that make mutate asks of a dear program has, and those that are dear
 * themselves, which it does not ask. */
enum { DICE_DEAR = 6 };

static inline bool dice_takes_group(unsigned group)
{
    return dice_takes_of(group, DICE_DEAR + 1);
}

/* Which seeds a test of random programs takes: `usual` of them from 1 on (under a sanitizer, which is
 * there for the memory, a quarter), or as the environment says; of a part, its share. */
struct dice_seeds {
    unsigned long long first, count;
};

static inline struct dice_seeds dice_seeds(unsigned long long usual)
{
    const char *count = getenv("SIMRUN_SOAK"), *first = getenv("SIMRUN_SEED");
    unsigned long long own = SANITIZED ? (usual + 3) / 4 : usual;
    struct dice_seeds seeds = {first ? strtoull(first, NULL, 10) : 1,
                               count ? strtoull(count, NULL, 10) : own};
    struct dice_part part = dice_part();
    seeds.count = (seeds.count + part.of - 1) / part.of;
    seeds.first += part.number * seeds.count;
    return seeds;
}

/* Whether these are the programs that golden files tell of; of a part, some of them. */
static inline bool dice_usual(void)
{
    return !SANITIZED && !getenv("SIMRUN_SOAK") && !getenv("SIMRUN_SEED");
}

#endif
