/* Which elements the gradient check looks at: every one where they are few, stretches of like lengths where they are many or the
 * worlds are large, those of some ranks where there are too many inputs; against a table and what every plan must
 * be. And a small formula with a stretch in which one element is wrong: the halves find it. */
#include "collectives/gradcheck/internal.h"
#include "tests/tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A base world with nothing but inputs: `inputs` on each rank, of `count` values. */
static bool base_make(struct diff_probe *base, int ranks, int inputs, size_t count,
                      enum diff_type type)
{
    if (!diff_probe_init(base, ranks))
        return false;
    for (int r = 0; r < ranks; r++) {
        base->rows[r].inputs = calloc((size_t)inputs + 1, sizeof *base->rows[r].inputs);
        base->rows[r].input_count = (size_t)inputs;
        for (int i = 0; i < inputs; i++) {
            base->rows[r].inputs[i].name = strdup("x");
            base->rows[r].inputs[i].count = count;
            base->rows[r].inputs[i].type = type;
        }
    }
    return true;
}

struct row {
    int ranks, inputs;
    size_t count, elements_max;
    uint64_t steps;
    size_t each;  /* rows of an input */
    int together; /* ranks that are looked at with the others only */
    const char *what;
};

/* Rows cover every part of an input once, in order, and their lengths differ by one at most. */
static bool covers(const struct gradcheck_result *result, const struct row *row, size_t parts)
{
    size_t at = 0;
    int seen = 0;
    while (at < result->row_count) {
        uint32_t rank = result->rows[at].check.rank, input = result->rows[at].check.variable;
        size_t next = 0, least = SIZE_MAX, most = 0, rows = 0;
        for (; at < result->row_count && result->rows[at].check.rank == rank &&
               result->rows[at].check.variable == input;
             at++, rows++) {
            const struct trace_gradient *check = &result->rows[at].check;
            if ((size_t)check->index != next || strcmp(result->rows[at].name, "x") != 0)
                return false;
            next += check->elements;
            least = check->elements < least ? check->elements : least;
            most = check->elements > most ? check->elements : most;
        }
        if (next != parts || most > least + 1 || rows != row->each)
            return false;
        seen++;
    }
    return seen == (row->ranks - row->together) * row->inputs || !parts;
}

static void plans(void)
{
    static const struct row rows[] = {
        {1, 1, 1, 0, 0, 1, 0, "one element"},
        {3, 2, 5, 0, 0, 5, 0, "few elements: all of them"},
        {1, 1, 1024, 0, 0, 1024, 0, "as many as there are rows"},
        {1, 1, 1025, 0, 0, 1024, 0, "one more"},
        {2, 2, 257, 0, 0, 256, 0, "of several inputs each has its share"},
        {16, 1, 100, 0, 0, 64, 0, "sixteen ranks are few"},
        {32, 1, 100, 0, 0, 16, 0, "of more ranks there are fewer rows"},
        {17, 1, 60, 0, 0, 56, 0, "... as many fewer as a world is larger"},
        {2, 600, 3, 0, 0, 1, 0, "more inputs than rows: one row for each"},
        {1, 1, 16384, 0, 0, 1024, 0, "so many values that the worlds are not dear yet"},
        {1, 1, 32768, 0, 0, 512, 0, "of twice as many there are half the rows"},
        {4, 1, 8192, 0, 0, 128, 0, "... whoever has them"},
        {3, 2, 5, 2, 0, 2, 0, "so many as were asked for"},
        {3, 2, 5, 7, 0, 5, 0, "or as there are"},
        {3, 1, 0, 0, 0, 0, 0, "inputs of nothing have no rows"},
        {4, 4, 1, 0, 1 << 20, 1, 3, "long worlds: one rank of four for sixteen inputs"},
        {4, 4, 1, 1, 1 << 20, 1, 0, "... all of them where rows were asked for"},
        {4, 1, 1, 0, 1 << 20, 1, 0, "... and of few inputs"},
        {6, 1, 2, 0, 1 << 20, 2, 3, "... every second rank, with twice as many inputs as worlds"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int type = DIFF_DOUBLE; type <= DIFF_COMPLEX_DOUBLE;
             type += DIFF_COMPLEX_DOUBLE - DIFF_DOUBLE) {
            const struct row *row = &rows[i];
            size_t values = type == DIFF_DOUBLE ? 1 : 2;
            if (row->count % values)
                continue; /* a complex number has two parts */
            struct gradcheck_options options = gradcheck_options_default();
            struct gradcheck_result result = {.ranks = row->ranks};
            struct gradcheck check = {.options = &options, .result = &result};
            options.elements_max = row->elements_max;
            if (!base_make(&check.base, row->ranks, row->inputs, row->count / values,
                           (enum diff_type)type))
                continue;
            check.base.steps = row->steps;
            bool planned = gradcheck_elements_plan(&check);
            tap_ok(planned && covers(&result, row, row->count) &&
                       check.element_rows == result.row_count,
                   "%s%s: %zu rows", row->what, values == 2 ? ", of complex numbers" : "",
                   result.row_count);
            tap_is_int(result.ranks_together, row->together, "%s: ranks looked at together",
                       row->what);
            diff_probe_release(&check.base);
            free(result.rows);
        }
}

/* ---- a stretch with one wrong element ---- */

enum { MANY = 8 };

struct sum { /* of the squares of MANY values on one rank */
    int wrong;
    double by;
};

static int run(void *context, struct diff_probe *probe, int worker)
{
    const struct sum *sum = context;
    double values[MANY], value = 0;
    (void)worker;
    for (int k = 0; k < MANY; k++)
        values[k] = 0.5 + 0.25 * k;
    for (size_t set = 0; set < 2; set++) {
        const struct probe_push *pushes = set ? probe->pushes : probe->shifts;
        size_t count = set ? probe->push_count : probe->shift_count;
        for (size_t p = 0; p < count; p++)
            for (int k = 0; k < MANY; k++)
                values[k] += pushes[p].part == SIZE_MAX    ? pushes[p].step * pushes[p].direction[k]
                             : pushes[p].part == (size_t)k ? pushes[p].step
                                                           : 0;
    }
    for (int k = 0; k < MANY; k++)
        value += values[k] * values[k];
    if (probe->mode == PROBE_BASE) {
        struct diff_probe_rank *row = &probe->rows[0];
        row->inputs = calloc(1, sizeof *row->inputs);
        row->input_count = 1;
        row->inputs[0] = (struct probe_input){.name = strdup("x"),
                                              .type = DIFF_DOUBLE,
                                              .count = MANY,
                                              .epoch = 1,
                                              .first_pass = 1,
                                              .values = calloc(MANY, sizeof(double)),
                                              .gradient = calloc(MANY, sizeof(double))};
        for (int k = 0; k < MANY; k++) {
            row->inputs[0].values[k] = values[k];
            row->inputs[0].gradient[k] = 2 * values[k] + (k == sum->wrong ? sum->by : 0);
        }
    }
    struct diff_probe_rank *row = &probe->rows[0];
    row->tangent_missing = true;
    row->epoch_count = 2;
    row->objectives = calloc(2, sizeof *row->objectives);
    row->objectives[1] = (struct probe_objective){.value = value,
                                                  .magnitude = value,
                                                  .term_count = 1,
                                                  .present = true,
                                                  .terms = calloc(1, sizeof(struct probe_term))};
    row->objectives[1].terms[0] = (struct probe_term){.value = value, .pass = 1};
    return 0;
}

static void stretches(void)
{
    for (size_t most = 1; most <= MANY; most++)
        for (int wrong = -1; wrong < MANY; wrong++) {
            struct sum sum = {wrong, 0.125};
            struct diff_runner runner = {run, &sum, 1, 1};
            struct gradcheck_options options = gradcheck_options_default();
            struct gradcheck_result result;
            size_t told = 0, others = 0;
            options.elements_max = most;
            gradcheck_run(&runner, &options, &result);
            for (size_t i = 0; i < most && i < result.row_count; i++) {
                const struct trace_gradient *check = &result.rows[i].check;
                bool is_it = trace_gradient_wrong(check) && check->index == wrong &&
                             check->elements == 1 && fabs(check->error - 0.125) < 1e-9;
                told += is_it;
                others += !is_it && !check->ok;
            }
            tap_ok(told == (wrong >= 0) && !others && !result.failed == (wrong < 0),
                   "element %d of %zu stretches", wrong, most);
            gradcheck_release(&result);
        }
}

int main(void)
{
    plans();
    stretches();
    return tap_done();
}
