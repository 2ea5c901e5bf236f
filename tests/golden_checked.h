/* golden_checked.h: what a gradient check said, held against what it said when somebody looked: every
 * row, who is blamed and in which words, curves, how many worlds were run. The tests themselves assert
 * that right is right and wrong is wrong.
 *
 *   checked_open("diff_kinks");     rows of tests/golden/checked/diff_kinks.tsv
 *   if (checked_takes())            before each case: of a part (tests/dice.h) only some are asked
 *   checked_hold(&result);          after each check; diff_world_check does it by itself
 *   checked_close();                before tap_done; checks behind it are not held
 *
 * Numbers are held to so many digits as all builds of gcc agree in. Another compiler, another libm or another kind of processor
 * rounds otherwise, and what is measured of noise, steps and kinks is then otherwise, too: nothing is held there. */
#ifndef TESTS_GOLDEN_CHECKED_H
#define TESTS_GOLDEN_CHECKED_H

#include "collectives/gradcheck/gradcheck.h"
#include "tests/dice.h"
#include "tests/golden.h"

#include <gnu/libc-version.h>
#include <math.h>

/* Whether functions round as they did when the rows were written: in Debian 12, on an x86-64 that multiplies and adds at once. */
static inline bool checked_as_written(void)
{
#if defined __clang__ || !defined __x86_64__
    return false;
#else
    return !strcmp(gnu_get_libc_version(), "2.36") && __builtin_cpu_supports("fma");
#endif
}

static struct {
    struct golden golden;
    bool open;
    unsigned cases, checks; /* checks of this case */
} checked_state;

/* False where nothing is held. */
static inline bool checked_open(const char *name)
{
    char path[200];
    if (!checked_as_written() || !dice_usual())
        return false;
    snprintf(path, sizeof path, "tests/golden/checked/%s.tsv", name);
    checked_state.golden = golden_open(path);
    checked_state.open = true;
    return true;
}

/* Whether the next case is of the part that is asked. Its checks are held under its number. */
static inline bool checked_takes(void)
{
    checked_state.checks = 0;
    return golden_takes(&checked_state.golden, checked_state.cases++);
}

static inline uint64_t checked_digits(uint64_t hash, int digits, double number)
{
    char text[40];
    snprintf(text, sizeof text, "%.*g", digits, isnan(number) ? 12345.0 : number);
    return golden_mix_text(hash, text);
}

/* The words and whole numbers; what was measured has the digits of checked_rows. */
static inline uint64_t checked_words(uint64_t hash, const char *text)
{
    while (*text) {
        const char *measured = strstr(text, ": computed"), *line = strchr(text, '\n');
        if (!line || (measured && measured < line))
            line = measured;
        size_t length = line ? (size_t)(line - text) : strlen(text);
        for (size_t i = 0; i < length; i++)
            hash = golden_mix(hash, (unsigned char)text[i]);
        text += length;
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
    return hash;
}

static inline uint64_t checked_rows(uint64_t hash, const struct gradcheck_result *result,
                                    struct trace_answers *answers)
{
    for (size_t i = 0; i < result->row_count; i++) {
        const struct gradcheck_row *row = &result->rows[i];
        const struct trace_gradient *check = &row->check;
        trace_answers_add(answers, check);
        hash = golden_mix(golden_mix(hash, check->rank), (uint64_t)check->index);
        hash = golden_mix(golden_mix(hash, check->elements), check->ok);
        hash = golden_mix_text(golden_mix_text(hash, check->method), check->undecided);
        hash = checked_digits(checked_digits(hash, 9, check->analytic), 6, check->numeric);
        hash = checked_digits(checked_digits(hash, 2, check->tolerance), 3, check->step);
        hash = golden_mix(golden_mix_text(hash, row->name), (uint64_t)row->evaluations);
        hash = golden_mix(golden_mix(hash, row->epoch), row->seed);
        hash = golden_mix(golden_mix(hash, row->constant), row->bends);
    }
    return hash;
}

static inline uint64_t checked_culprit(uint64_t hash, const struct gradcheck_culprit *culprit)
{
    hash = golden_mix(golden_mix(hash, culprit->found), (uint64_t)culprit->rank);
    hash = golden_mix(golden_mix(hash, culprit->sequence), culprit->record);
    hash = golden_mix_text(golden_mix_text(hash, culprit->name), culprit->before);
    hash = golden_mix(golden_mix(hash, culprit->position), culprit->marked);
    hash = golden_mix(golden_mix(hash, culprit->missing), culprit->outside);
    hash = golden_mix(hash, culprit->never_ran);
    for (const char *at = culprit->text; *at; at++)
        if (*at < '0' || *at > '9')
            hash = golden_mix(hash, (unsigned char)*at);
    return hash;
}

static inline uint64_t checked_whole(uint64_t hash, const struct gradcheck_result *result)
{
    const struct gradcheck_sweep *sweep = &result->sweep;
    const struct gradcheck_taylor *taylor = &result->taylor;
    hash = golden_mix(golden_mix(hash, result->failed), (uint64_t)result->points);
    hash = golden_mix(golden_mix(hash, (uint64_t)result->points_outside), (uint64_t)result->worlds);
    hash = golden_mix(hash, (uint64_t)result->ranks_together);
    hash = golden_mix(golden_mix(hash, (uint64_t)result->broken_worlds), result->base_failed);
    hash = golden_mix(golden_mix(hash, result->delivery_missed), result->memory_missed);
    hash = golden_mix(golden_mix(hash, result->step_refuted), result->non_finite);
    hash = golden_mix_text(checked_digits(hash, 9, result->objective), result->stuck);
    hash = golden_mix(golden_mix_text(hash, sweep->name), sweep->count);
    hash = golden_mix(golden_mix(hash, (uint64_t)sweep->rank), (uint64_t)sweep->index);
    for (size_t i = 0; i < sweep->count; i++)
        hash = checked_digits(hash, 3, sweep->step[i]);
    hash = golden_mix(checked_digits(hash, 3, sweep->chosen), taylor->count);
    for (size_t i = 0; i < taylor->count; i++)
        hash = checked_digits(hash, 3, taylor->step[i]);
    hash = checked_digits(checked_digits(hash, 2, taylor->orders[0]), 2, taylor->orders[1]);
    hash = golden_mix_text(golden_mix(hash, (uint64_t)result->repeat.worlds), result->repeat.name);
    return golden_mix(golden_mix(hash, (uint64_t)result->repeat.rank),
                      (uint64_t)result->repeat.index);
}

static inline void checked_hold(const struct gradcheck_result *result)
{
    char key[20], words[200], text[4000];
    struct trace_answers answers = {0};
    if (!checked_state.open)
        return;
    uint64_t hash = checked_rows(result->row_count, result, &answers);
    hash = checked_whole(checked_culprit(hash, &result->culprit), result);
    gradcheck_print(result, text, sizeof text);
    hash = checked_words(hash, text);
    unsigned check = ++checked_state.checks;
    if (checked_state.cases)
        snprintf(key, sizeof key, "%u.%u", checked_state.cases, check);
    else
        snprintf(key, sizeof key, "%u", check);
    snprintf(words, sizeof words, "%zu right, %zu wrong, %zu undecided%s%s", answers.right,
             answers.wrong, answers.undecided, result->culprit.found ? ": " : "",
             result->culprit.found ? result->culprit.name : "");
    golden_row(&checked_state.golden, key, words, hash);
}

static inline void checked_close(void)
{
    if (checked_state.open)
        golden_close(&checked_state.golden, "what the gradient check said is what it said");
    else
        printf("# what the gradient check said is not held here\n");
    checked_state.open = false;
}

#endif
