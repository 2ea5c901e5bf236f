/* The gradient check in words: per input the worst element. */
#include "collectives/gradcheck/gradcheck.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct text {
    char *at;
    size_t room;
    int length;
};

static void say(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(text->at, text->room, format, arguments);
    va_end(arguments);
    text->length += n;
    size_t used = (size_t)n < text->room ? (size_t)n : text->room;
    text->at += used;
    text->room -= used;
}

static double badness(const struct gradcheck_row *row)
{
    const struct trace_gradient *check = &row->check;
    if (check->undecided)
        return 1e200;
    if (!(check->error <= check->tolerance))
        return check->error == check->error ? 1e300 + check->error : 1e308;
    return check->tolerance > 0 ? check->error / check->tolerance : 0;
}

/* The worst row among those of this name; rows before `from` are other names or said already. */
static const struct gradcheck_row *worst_of(const struct gradcheck_result *result, size_t from,
                                            size_t *count, size_t *wrong)
{
    const struct gradcheck_row *worst = &result->rows[from];
    *count = *wrong = 0;
    for (size_t i = from; i < result->row_count; i++) {
        const struct gradcheck_row *row = &result->rows[i];
        if (strcmp(row->name, result->rows[from].name) != 0)
            continue;
        ++*count;
        *wrong += trace_gradient_wrong(&row->check);
        if (badness(row) > badness(worst))
            worst = row;
    }
    return worst;
}

static bool said_before(const struct gradcheck_result *result, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (strcmp(result->rows[i].name, result->rows[at].name) == 0)
            return true;
    return false;
}

int gradcheck_print(const struct gradcheck_result *result, char *text, size_t size)
{
    struct text out = {text, size, 0};
    if (size > 0)
        text[0] = '\0';
    if (result->base_failed)
        say(&out, "the program did not finish%s%s: no gradient was checked\n",
            result->stuck[0] ? ", ended within the adjoint of " : "", result->stuck);
    for (size_t i = 0; i < result->row_count; i++) {
        if (said_before(result, i))
            continue;
        size_t count, wrong;
        const struct gradcheck_row *row = worst_of(result, i, &count, &wrong);
        const struct trace_gradient *check = &row->check;
        say(&out, "%s: %s, %zu values", row->name,
            wrong                  ? "WRONG"
            : row->check.undecided ? "undecided"
                                   : "ok",
            count);
        if (wrong)
            say(&out, ", %zu wrong", wrong);
        if (check->index >= 0)
            say(&out, "; worst: rank %u element %lld", (unsigned)check->rank,
                (long long)check->index);
        say(&out, ": computed %.12g, measured %.12g, error %.2g, tolerance %.2g (%s, step %.2g)\n",
            check->analytic, check->numeric, check->error, check->tolerance, check->method,
            check->step);
    }
    if (result->culprit.found && result->culprit.marked)
        say(&out, "first wrong gradient: %s, on rank %d%s%s\n", result->culprit.name,
            result->culprit.rank, result->culprit.before[0] ? "; right before it: " : "",
            result->culprit.before);
    else if (result->culprit.text[0])
        say(&out, "%s\n", result->culprit.text);
    else if (result->culprit.found)
        say(&out, "first wrong adjoint: %s%s%s%s, node %u of rank %d%s\n", result->culprit.name,
            *result->culprit.label ? " \"" : "", result->culprit.label,
            *result->culprit.label ? "\"" : "", (unsigned)result->culprit.sequence,
            result->culprit.rank, result->culprit.never_ran ? ", which never ran" : "");
    return out.length;
}
