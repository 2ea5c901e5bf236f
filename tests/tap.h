/* tap.h: writes TAP 13 for one test program.
 *
 *   int main(void)
 *   {
 *       tap_plan(2);
 *       tap_ok(rank == 3, "a rank is found by its number");
 *       tap_is_int(size, 4, "a world of %d ranks has that size", 4);
 *       return tap_done();
 *   }
 *
 * A name is a sentence about behaviour and a printf format. A failing test prints, as the YAML
 * block of TAP 13, where it stands and what it got and expected. Every test returns whether it
 * passed, so that what depends on it can be skipped. Call from one thread only.
 */
#ifndef TESTS_TAP_H
#define TESTS_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct tap_state {
    int planned; /* -1: no plan was made; it is then written at the end */
    int run;
    int failed;
};
static struct tap_state tap_state = {-1, 0, 0};

struct tap_place {
    const char *file;
    int line;
};
#define TAP_HERE ((struct tap_place){__FILE__, __LINE__})

/* Says how many tests will run; first of all calls. tap_done fails when it was another number. */
static inline void tap_plan(int count)
{
    tap_state.planned = count;
    printf("TAP version 13\n1..%d\n", count);
    fflush(stdout);
}

/* A remark for the reader. */
static inline void __attribute__((format(printf, 1, 2))) tap_note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("# ");
    vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
}

static inline void __attribute__((format(printf, 2, 0)))
tap_line(bool passed, const char *format, va_list arguments)
{
    if (tap_state.planned < 0 && tap_state.run == 0)
        printf("TAP version 13\n");
    tap_state.run++;
    tap_state.failed += !passed;
    printf("%s %d - ", passed ? "ok" : "not ok", tap_state.run);
    vprintf(format, arguments);
}

static inline bool tap_explain(bool passed, struct tap_place place, const char *got,
                               const char *expected)
{
    printf("\n");
    if (!passed)
        printf("  ---\n  at: %s:%d\n  got: '%s'\n  expected: '%s'\n  ...\n", place.file, place.line,
               got, expected);
    fflush(stdout);
    return passed;
}

#define tap_ok(condition, ...) tap_test_ok((condition), TAP_HERE, #condition, __VA_ARGS__)
#define tap_is_int(got, expected, ...)                                                             \
    tap_test_int((long long)(got), (long long)(expected), TAP_HERE, __VA_ARGS__)
#define tap_is_str(got, expected, ...) tap_test_str((got), (expected), TAP_HERE, __VA_ARGS__)
/* Passes when got and expected differ by at most tolerance; never for NaN. */
#define tap_is_double(got, expected, tolerance, ...)                                               \
    tap_test_double((got), (expected), (tolerance), TAP_HERE, __VA_ARGS__)

static inline bool __attribute__((format(printf, 4, 5)))
tap_test_ok(bool passed, struct tap_place place, const char *condition, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    tap_line(passed, format, arguments);
    va_end(arguments);
    return tap_explain(passed, place, "false", condition);
}

static inline bool __attribute__((format(printf, 4, 5)))
tap_test_int(long long got, long long expected, struct tap_place place, const char *format, ...)
{
    char texts[2][32];
    va_list arguments;
    va_start(arguments, format);
    tap_line(got == expected, format, arguments);
    va_end(arguments);
    snprintf(texts[0], sizeof texts[0], "%lld", got);
    snprintf(texts[1], sizeof texts[1], "%lld", expected);
    return tap_explain(got == expected, place, texts[0], texts[1]);
}

static inline bool __attribute__((format(printf, 4, 5)))
tap_test_str(const char *got, const char *expected, struct tap_place place, const char *format, ...)
{
    bool passed = got && expected ? strcmp(got, expected) == 0 : got == expected;
    va_list arguments;
    va_start(arguments, format);
    tap_line(passed, format, arguments);
    va_end(arguments);
    return tap_explain(passed, place, got ? got : "(null)", expected ? expected : "(null)");
}

static inline bool __attribute__((format(printf, 5, 6)))
tap_test_double(double got, double expected, double tolerance, struct tap_place place,
                const char *format, ...)
{
    double difference = got < expected ? expected - got : got - expected;
    bool passed = difference <= tolerance || got == expected;
    char texts[2][64];
    va_list arguments;
    va_start(arguments, format);
    tap_line(passed, format, arguments);
    va_end(arguments);
    snprintf(texts[0], sizeof texts[0], "%.17g", got);
    snprintf(texts[1], sizeof texts[1], "%.17g, give or take %g", expected, tolerance);
    return tap_explain(passed, place, texts[0], texts[1]);
}

/* Counts the next `count` tests as not run, with the reason. */
static inline void __attribute__((format(printf, 2, 3)))
tap_skip(int count, const char *format, ...)
{
    for (int i = 0; i < count; i++) {
        va_list arguments;
        va_start(arguments, format);
        tap_line(true, "# SKIP ", arguments);
        vprintf(format, arguments);
        va_end(arguments);
        printf("\n");
    }
    fflush(stdout);
}

/* Ends the program's report; returns main's exit status: 0 when all planned tests ran and passed.
 */
static inline int tap_done(void)
{
    if (tap_state.planned < 0)
        printf("1..%d\n", tap_state.planned = tap_state.run);
    if (tap_state.planned != tap_state.run)
        tap_note("planned %d tests, ran %d", tap_state.planned, tap_state.run);
    if (tap_state.failed)
        tap_note("%d of %d failed", tap_state.failed, tap_state.run);
    fflush(stdout);
    return tap_state.failed || tap_state.planned != tap_state.run;
}

#endif
