/* golden.h: what a program said, held against what it said when somebody looked: rows of a file
 * below tests/golden.
 *
 *   struct golden golden = golden_open("tests/golden/random_runs.tsv");
 *   golden_row(&golden, "17 eager", "finished R003", hash);
 *   golden_close(&golden, "random programs say what they said");
 *
 * GOLDEN=update takes today's rows as right (make golden): look at git's difference. A test whose cases have rows of their own asks
 * golden_takes whether a case is of the part that is asked (tests/dice.h). */
#ifndef TESTS_GOLDEN_H
#define TESTS_GOLDEN_H

#include "tests/dice.h"
#include "tests/tap.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct golden {
    char path[200];
    FILE *then, *now; /* NULL where the other is */
    unsigned rows, wrong;
};

static inline struct golden golden_open(const char *path)
{
    const char *asked = getenv("GOLDEN");
    bool update = asked && strcmp(asked, "update") == 0;
    struct golden golden = {0};
    snprintf(golden.path, sizeof golden.path, "%s", path);
    *(update ? &golden.now : &golden.then) = fopen(path, update ? "w" : "r");
    if (!golden.now && !golden.then)
        tap_note("%s cannot be opened", path);
    return golden;
}

static inline bool golden_takes(const struct golden *golden, unsigned long long number)
{
    return golden->now || dice_takes(number);
}

/* The next row; of a part, the next with this key. */
static inline void golden_next(const struct golden *golden, const char *key, char *row, int size)
{
    bool part = dice_part().of > 1;
    size_t length = strlen(key);
    while (golden->then && fgets(row, size, golden->then))
        if (!part || (strncmp(row, key, length) == 0 && row[length] == '\t'))
            return;
    row[0] = 0;
}

/* False where the row is another than it was: who asks may say more. */
static inline bool golden_row(struct golden *golden, const char *key, const char *words,
                              uint64_t hash)
{
    char row[600], was[600];
    snprintf(row, sizeof row, "%s\t%s\t%016llx\n", key, words, (unsigned long long)hash);
    golden->rows++;
    if (golden->now)
        return fputs(row, golden->now) >= 0;
    golden_next(golden, key, was, sizeof was);
    if (strcmp(row, was) == 0)
        return true;
    if (golden->wrong++ < 5)
        tap_note("%s:%u: it was %sand is %s", golden->path, golden->rows, was, row);
    return false;
}

static inline void golden_close(struct golden *golden, const char *name)
{
    char more[600];
    bool part = dice_part().of > 1; /* which may have none */
    bool ended = golden->now || part || (golden->then && !fgets(more, sizeof more, golden->then));
    tap_ok((golden->rows || part) && !golden->wrong && ended, "%s", name);
    if (golden->wrong)
        tap_note("%u rows of %s differ; if they are meant: make golden, and look at git's "
                 "difference",
                 golden->wrong, golden->path);
    if (golden->now)
        fclose(golden->now);
    if (golden->then)
        fclose(golden->then);
}

static inline uint64_t golden_mix(uint64_t hash, uint64_t value)
{
    for (int i = 0; i < 8; i++, value >>= 8)
        hash = (hash ^ (value & 255)) * 0x100000001b3u;
    return hash;
}

static inline uint64_t golden_mix_text(uint64_t hash, const char *text)
{
    for (; text && *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return golden_mix(hash, text != NULL);
}

#endif
