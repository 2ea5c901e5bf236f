/* What random differentiable programs are made with and how what is said of them is counted: the
 * same numbers from the same seed, everywhere. */
#ifndef TESTS_GRADIENTS_GENERATED_H
#define TESTS_GRADIENTS_GENERATED_H

#include "tests/dice.h"
#include "tests/diff_world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The seed of the program that is made. */
static uint64_t generated_seed;

static inline uint64_t generated_mixed(uint64_t z)
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* A number between -1 and 1 that depends on what it is for only. */
static inline double number(uint64_t what, uint64_t which)
{
    uint64_t z =
        generated_mixed(generated_seed * 0x9e3779b97f4a7c15u + what * 0x2545f4914f6cdd1du + which);
    return (double)(z >> 11) * 0x1p-52 - 1;
}

static inline uint64_t choice(uint64_t what, uint64_t below)
{
    return generated_mixed(generated_seed * 0x9e3779b97f4a7c15u + what * 0x2545f4914f6cdd1du + 77) %
           below;
}

struct tally {
    int right, wrong, undecided, false_alarms, false_rights, spared;
};

static inline void tally_title(void)
{
    tap_note("%-20s %6s %6s %9s %12s %12s", "category", "right", "wrong", "undecided",
             "false alarm", "false right");
}

static inline void tally_line(const char *name, const struct tally *tally)
{
    tap_note("%-20s %6d %6d %9d %12d %12d", name, tally->right, tally->wrong, tally->undecided,
             tally->false_alarms, tally->false_rights);
}

/* The program whose gradients are right. */
static inline void tally_right(struct tally *tally, const struct gradcheck_result *result,
                               const char *name)
{
    struct trace_answers answers = {0};
    for (size_t i = 0; i < result->row_count; i++)
        trace_answers_add(&answers, &result->rows[i].check);
    if (answers.wrong || result->base_failed || result->broken_worlds) {
        char text[4096];
        gradcheck_print(result, text, sizeof text);
        tap_note("false alarm: %s, seed %llu, worlds that broke: %d:\n# %s", name,
                 (unsigned long long)generated_seed, result->broken_worlds, text);
        tally->false_alarms++;
    } else if (answers.undecided)
        tally->undecided++;
    else
        tally->right++;
}

/* Its twin with one wrong term: every row that says right although the term spoils it by more than
 * rounding is a false one. Whether it is said to be wrong. */
static inline bool tally_wrong(struct tally *tally, const struct gradcheck_result *result,
                               const struct gradcheck_result *right, const char *name)
{
    bool spoiled = false, false_right = false;
    struct trace_answers answers = {0};
    for (size_t i = 0; i < result->row_count && i < right->row_count; i++) {
        const struct trace_gradient *row = &result->rows[i].check, *twin = &right->rows[i].check;
        double error = fabs(row->analytic - twin->analytic);
        trace_answers_add(&answers, row);
        if (row->index < 0 || row->elements > 1 || !(error > 1e-9 * fabs(twin->analytic)) ||
            twin->undecided)
            continue;
        spoiled = spoiled || error > twin->tolerance;
        false_right = false_right || (row->ok && error > twin->tolerance + row->tolerance);
    }
    if (false_right) {
        tap_note("false right: %s, seed %llu", name, (unsigned long long)generated_seed);
        tally->false_rights++;
    } else if (answers.wrong)
        tally->wrong++;
    else if (spoiled || answers.undecided)
        tally->undecided++;
    else
        tally->spared++; /* its cotangent is zero there, or below the tolerance that is printed */
    return answers.wrong > 0;
}

#endif
