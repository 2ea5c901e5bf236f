/* The three answers of a gradient check. What is right is right whatever its scale, precision and
 * cancellation; what is wrong is never right; and where nothing can be seen it says so. Each right
 * program stands beside the wrong one. */
#include "tests/diff_world.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 3 };

/* What the bodies are asked for: the parameter of a program, and the factor of its wrong twin. */
static double parameter, factor;

static int rank_get(void)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

/* ---- marks ---- */

static void marked(double *values, size_t count, double loss, double *gradient)
{
    (void)values;
    diff_mark_objective(loss);
    diff_mark_gradient("x", gradient, count);
}

/* A sum beside a constant of any size. */
static void beside_a_constant(void)
{
    double x[2] = {0.4 + rank_get(), 0.7}, s[2];
    diff_mark_input("x", x, 2);
    MPI_Allreduce(x, s, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    double loss = parameter * (1 + rank_get()) + s[0] * s[0] * s[0] + 2 * s[1];
    marked(x, 2, loss, (double[]){factor * 9 * s[0] * s[0], factor * 6});
}

/* Nothing but the constant can be seen: tanh is flat where steps would be large enough. */
static void hidden(void)
{
    double x = 0.3 + 0.1 * rank_get();
    diff_mark_input("x", &x, 1);
    double t = tanh(x);
    marked(&x, 1, parameter + t, (double[]){factor * (1 - t * t)});
}

static void single_precision(void)
{
    double x = 0.3 + 0.1 * rank_get();
    diff_mark_input("x", &x, 1);
    float own = (float)x, s;
    MPI_Allreduce(&own, &s, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    float t = tanhf(s / RANKS);
    marked(&x, 1, t * t, (double[]){factor * RANKS * 2 * t * (1 - t * t) / RANKS});
}

static void single_beside_a_constant(void)
{
    double x = 0.5;
    diff_mark_input("x", &x, 1);
    float own = (float)(1e-4 * x), s;
    MPI_Allreduce(&own, &s, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    marked(&x, 1, 1000.0f + s, (double[]){factor * 1e-4 * RANKS});
}

static void quartic(void)
{
    double x[4], s[4], y[4], g[4], h[4], loss = 0;
    int rank = rank_get();
    for (int i = 0; i < 4; i++)
        x[i] = 0.6 * sin(1.3 * i + 2.1 * rank + 1);
    diff_mark_input("x", x, 4);
    for (int i = 0; i < 4; i++)
        s[i] = x[i] * x[i];
    MPI_Allreduce(s, y, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < 4; i++) {
        loss += (1 + 0.3 * rank) * y[i] * y[i];
        g[i] = 2 * (1 + 0.3 * rank) * y[i];
    }
    MPI_Allreduce(g, h, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < 4; i++)
        g[i] = 2 * x[i] * h[i] * factor;
    marked(x, 4, loss, g);
}

/* Many elements, of which the last rank's last but ten is wrong. */
static void one_of_many(void)
{
    enum { MANY = 20000 };
    double *x = malloc(sizeof(double[MANY])), *g = malloc(sizeof(double[MANY])), loss = 0;
    int rank = rank_get();
    if (!x || !g)
        abort();
    for (int i = 0; i < MANY; i++)
        x[i] = 0.6 * sin(1.3 * i + 2.1 * rank + 1) + 1;
    diff_mark_input("x", x, MANY);
    for (int i = 0; i < MANY; i++) {
        loss += x[i] * x[i] * (1 + 0.1 * (i % 7));
        g[i] = 2 * x[i] * (1 + 0.1 * (i % 7));
    }
    if (rank == RANKS - 1)
        g[MANY - 11] *= factor;
    marked(x, MANY, loss, g);
    free(x);
    free(g);
}

static void zero(void)
{
    double x[2] = {0.5, 0.25};
    diff_mark_input("x", x, 2);
    marked(x, 2, x[0] * x[0] + 1, (double[]){2 * x[0], factor - 1});
}

/* max(x, 0) of a zero: the slope to either side and the middle are subgradients that people take. */
static void at_a_kink(void)
{
    double x[2] = {0, 0.5};
    diff_mark_input("x", x, 2);
    double loss = 3 * fmax(x[0], 0) + x[1];
    double slope = x[0] > 0 ? 1 : x[0] < 0 ? 0 : factor;
    marked(x, 2, loss, (double[]){3 * slope, 1});
}

static void no_number(void)
{
    double x = 0.5;
    diff_mark_input("x", &x, 1);
    marked(&x, 1, x, (double[]){factor == 1 ? 1 : NAN});
}

/* ---- tapes ---- */

static void sin_forward(size_t count, const void *x, void *y, void *context)
{
    (void)context;
    for (size_t i = 0; i < count; i++)
        ((double *)y)[i] = sin(((const double *)x)[i]);
}

static void sin_vjp(size_t count, const void *x, const void *y_bar, void *x_bar, void *context)
{
    (void)context;
    for (size_t i = 0; i < count; i++)
        ((double *)x_bar)[i] =
            cos(((const double *)x)[i]) * ((const double *)y_bar)[i] * (i == 1 ? factor : 1);
}

static void sin_jvp(size_t count, const void *x, const void *x_dot, void *y_dot, void *context)
{
    (void)context;
    for (size_t i = 0; i < count; i++)
        ((double *)y_dot)[i] = cos(((const double *)x)[i]) * ((const double *)x_dot)[i];
}

static const struct diff_custom_rules sine = {"sine", NULL, sin_forward, sin_vjp, sin_jvp};

/* The identity, whose adjoint is off. */
static void linear_forward(size_t count, const void *x, void *y, void *context)
{
    (void)context;
    memcpy(y, x, count * sizeof(double));
}

static void linear_vjp(size_t count, const void *x, const void *y_bar, void *x_bar, void *context)
{
    (void)x, (void)context;
    for (size_t i = 0; i < count; i++)
        ((double *)x_bar)[i] = ((const double *)y_bar)[i] * (i == 1 ? factor : 1);
}

static void linear_jvp(size_t count, const void *x, const void *x_dot, void *y_dot, void *context)
{
    (void)x;
    linear_forward(count, x_dot, y_dot, context);
}

static const struct diff_custom_rules linear = {"linear", NULL, linear_forward, linear_vjp,
                                                linear_jvp};

static struct diff_tensor *taped(struct diff_tape **tape, double scale)
{
    double values[3] = {0.3 * scale * (1 + rank_get()), -0.7 * scale, 0.1 * scale};
    *tape = diff_tape_new(MPI_COMM_WORLD);
    return diff_input(*tape, "x", DIFF_DOUBLE, 1, (size_t[]){3}, values);
}

static void scaled(void)
{
    struct diff_tape *tape;
    struct diff_tensor *x = taped(&tape, parameter);
    struct diff_tensor *y = diff_custom(diff_scale(x, 1 / parameter), &sine, NULL);
    y = diff_allreduce(y, MPI_SUM, MPI_COMM_WORLD);
    diff_backward(diff_sum(diff_mul(y, y)));
    diff_tape_free(tape);
}

static void cancelled(void)
{
    struct diff_tape *tape;
    struct diff_tensor *x = diff_custom(taped(&tape, 1), &sine, NULL);
    struct diff_tensor *y = diff_allreduce(x, MPI_SUM, MPI_COMM_WORLD);
    y = diff_shift(diff_shift(y, parameter), -parameter);
    diff_backward(diff_sum(diff_mul(y, y)));
    diff_tape_free(tape);
}

/* Newton's step: the gradient is cleared between the two passes. */
static void cleared_between(void)
{
    struct diff_tape *tape;
    struct diff_tensor *x = taped(&tape, 1), *s = diff_allreduce(x, MPI_SUM, MPI_COMM_WORLD);
    struct diff_tensor *loss = diff_sum(diff_mul(s, diff_mul(s, s)));
    struct diff_tensor *w = diff_constant(tape, DIFF_DOUBLE, 1, (size_t[]){3}, (double[]){1, 2, 3});
    diff_backward_from(tape, 1, &loss, NULL, DIFF_GRAPH);
    struct diff_tensor *product = diff_dot(diff_gradient_tensor(x), w);
    diff_gradient_clear(x);
    diff_backward(product);
    diff_tape_free(tape);
}

/* A pass from cotangents that the program gives, as in checkpointing by hand: of what it is the
 * gradient nobody has said. */
static void cotangents_only(void)
{
    struct diff_tape *tape;
    struct diff_tensor *x = taped(&tape, 1), *s = diff_allreduce(x, MPI_SUM, MPI_COMM_WORLD);
    struct diff_tensor *w = diff_constant(tape, DIFF_DOUBLE, 1, (size_t[]){3}, (double[]){1, 2, 3});
    diff_backward_from(tape, 1, &s, &w, 0);
    diff_tape_free(tape);
}

/* Second order through neighbours whose graph is not its own reverse. */
static void over_neighbours(void)
{
    struct diff_tape *tape;
    int rank = rank_get(), next = (rank + 1) % RANKS, last = (rank + RANKS - 1) % RANKS;
    MPI_Comm graph;
    const int one = 1;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &last, &one, 1, &next, &one, MPI_INFO_NULL, 0,
                                   &graph);
    struct diff_tensor *x = taped(&tape, 1), *h = diff_neighbor_allgather(x, graph);
    struct diff_tensor *loss = diff_sum(diff_mul(h, diff_mul(h, h)));
    double weights[3] = {1 + rank, 2, -1};
    struct diff_tensor *w = diff_constant(tape, DIFF_DOUBLE, 1, (size_t[]){3}, weights);
    diff_backward_from(tape, 1, &loss, NULL, DIFF_GRAPH);
    diff_backward(diff_dot(diff_gradient_tensor(x), w));
    MPI_Comm_free(&graph);
    diff_tape_free(tape);
}

/* A product of small factors, rounded where numbers have few digits left. */
static void vanishing(void)
{
    struct diff_tape *tape;
    struct diff_tensor *x = taped(&tape, 1), *y = x;
    for (int i = 0; i < 2; i++)
        y = diff_tanh(
            diff_scale(diff_allreduce(diff_mul(y, x), MPI_SUM, MPI_COMM_WORLD), parameter));
    diff_backward(diff_sum(y));
    diff_tape_free(tape);
}

/* Shares that add up to one, so that the gradient is what rounding leaves of a zero; and of stairs,
 * where no neighbour of the point rounds otherwise. `parameter` is weighed beside them. */
static void shares(void)
{
    struct diff_tape *tape;
    struct diff_tensor *x = diff_allreduce(taped(&tape, 5), MPI_SUM, MPI_COMM_WORLD);
    struct diff_tensor *y = diff_shift(diff_shift(x, 0x1p50), -0x1p50);
    double weights[3] = {0.3 + parameter, 0.3, 0.3};
    struct diff_tensor *w = diff_constant(tape, DIFF_DOUBLE, 1, (size_t[]){3}, weights);
    y = diff_reshape(diff_softmax(diff_reshape(y, 2, (size_t[]){1, 3})), 1, (size_t[]){3});
    diff_backward(diff_dot(diff_custom(y, &linear, NULL), w));
    diff_tape_free(tape);
}

/* ---- what is asked ---- */

enum expected { RIGHT, WRONG, UNDECIDED, NOT_RIGHT, NOT_WRONG, NO_RIGHT_FIRST };

static const struct {
    const char *name;
    void (*body)(void);
    double parameter, factor;
    enum expected expected;
    int64_t wrong_at; /* the only element that is not right, -1: whichever */
} cases[] = {
    {"beside 1e3", beside_a_constant, 1e3, 1, RIGHT, -1},
    {"beside 1e3, the wrong sign", beside_a_constant, 1e3, -1, WRONG, -1},
    {"beside 1e10", beside_a_constant, 1e10, 1, RIGHT, -1},
    {"beside 1e10, one percent off", beside_a_constant, 1e10, 1.01, WRONG, -1},
    {"beside 1e14, the wrong sign", beside_a_constant, 1e14, -1, NOT_RIGHT, -1},
    {"hidden by 1e17", hidden, 1e17, 1, UNDECIDED, -1},
    {"hidden by 1e17, the wrong sign", hidden, 1e17, -1, UNDECIDED, -1},
    {"hidden by 1e17, zero", hidden, 1e17, 0, UNDECIDED, -1},
    {"visible beside 1e5", hidden, 1e5, 1, RIGHT, -1},
    {"visible beside 1e5, zero", hidden, 1e5, 0, WRONG, -1},
    {"floats", single_precision, 0, 1, RIGHT, -1},
    {"floats, one percent off", single_precision, 0, 1.01, WRONG, -1},
    {"floats beside a constant", single_beside_a_constant, 0, 1, RIGHT, -1},
    {"floats beside a constant, twice", single_beside_a_constant, 0, 2, NOT_RIGHT, -1},
    {"a quartic", quartic, 0, 1, RIGHT, -1},
    {"a quartic off by 1e-6", quartic, 0, 1 + 1e-6, WRONG, -1},
    {"a quartic off by 1e-9", quartic, 0, 1 + 1e-9, WRONG, -1},
    {"60,000 elements", one_of_many, 0, 1, RIGHT, -1},
    {"one of 60,000 elements off by 0.1 %", one_of_many, 0, 1.001, WRONG, 19989},
    {"a true zero beside others", zero, 0, 1, RIGHT, -1},
    {"no zero where one is due", zero, 0, 1.001, WRONG, 1},
    {"a kink, the slope to the left", at_a_kink, 0, 0, RIGHT, -1},
    {"a kink, the slope to the right", at_a_kink, 0, 1, RIGHT, -1},
    {"a kink, the middle", at_a_kink, 0, 0.5, RIGHT, -1},
    {"a kink, nearly the slope to the right", at_a_kink, 0, 1 - 1e-6, NO_RIGHT_FIRST, 0},
    {"a kink, somewhere between", at_a_kink, 0, 0.7, NO_RIGHT_FIRST, 0},
    {"a kink, beyond", at_a_kink, 0, 1.01, NO_RIGHT_FIRST, 0},
    {"a number", no_number, 0, 1, RIGHT, -1},
    {"no number", no_number, 0, 0, WRONG, -1},
    {"an input of 1e-12", scaled, 1e-12, 1, RIGHT, -1},
    {"an input of 1e-12, off by 1e-10", scaled, 1e-12, 1 + 1e-10, WRONG, 1},
    {"an input of 1e12", scaled, 1e12, 1, RIGHT, -1},
    {"an input of 1e12, off by 1e-10", scaled, 1e12, 1 + 1e-10, WRONG, 1},
    {"an ordinary input, off by 1e-10", scaled, 1, 1 + 1e-10, WRONG, 1},
    {"1e6 added and taken away", cancelled, 1e6, 1, RIGHT, -1},
    {"1e8 added and taken away", cancelled, 1e8, 1, RIGHT, -1},
    {"1e8 added and taken away, off by 1e-10", cancelled, 1e8, 1 + 1e-10, WRONG, 1},
    {"a gradient below the smallest number", vanishing, 1e-161, 1, NOT_WRONG, -1},
    {"a zero of stairs", shares, 0, 1, NOT_WRONG, -1},
    {"a zero of stairs, off by 1e-12", shares, 0, 1 + 1e-12, WRONG, -1},
    {"shares of stairs", shares, 1, 1, NOT_WRONG, -1},
    {"shares of stairs, off by 1e-10", shares, 1, 1 + 1e-10, WRONG, -1},
    {"a gradient cleared between passes", cleared_between, 0, 1, RIGHT, -1},
    {"second order over neighbours", over_neighbours, 0, 1, RIGHT, -1},
    {"no objective", cotangents_only, 0, 1, UNDECIDED, -1},
};

static bool is_right_at(const struct gradcheck_result *result, int64_t index)
{
    for (size_t i = 0; i < result->row_count; i++)
        if (result->rows[i].check.index == index && result->rows[i].check.ok)
            return true;
    return false;
}

static struct trace_answers answers_of(const struct gradcheck_result *result, int64_t wrong_at,
                                       bool *elsewhere)
{
    struct trace_answers answers = {0};
    *elsewhere = false;
    for (size_t i = 0; i < result->row_count; i++) {
        const struct trace_gradient *row = &result->rows[i].check;
        trace_answers_add(&answers, row);
        if (trace_gradient_wrong(row) && row->index >= 0 && wrong_at >= 0)
            *elsewhere |= row->index != wrong_at || row->elements != 1;
    }
    return answers;
}

/* ---- the same program again ---- */

/* What another run of it does otherwise: an element of one rank's gradient by a share of its own, or another input. */
static struct again {
    int rank, index; /* -1: nothing */
    double share;
    bool longer, more;
} again;

static void otherwise(void)
{
    double x[4] = {0.4 + rank_get(), 0.7, -0.2, 0.1}, loss = 0, gradient[4];
    const double weights[4] = {1, -8, 2, 0.5};
    const bool here = rank_get() == again.rank && diff_is_repeated();
    if (here && again.more)
        diff_mark_input("y", x, 1);
    const size_t count = here && again.longer ? 4 : 3;
    diff_mark_input("x", x, count);
    for (size_t i = 0; i < count; i++) {
        loss += weights[i] * x[i];
        gradient[i] = weights[i] * (1 + rank_get());
    }
    loss *= 1 + rank_get();
    if (here && again.index >= 0)
        gradient[again.index] *= 1 + again.share;
    marked(x, count, loss, gradient);
}

static void repetitions(void)
{
    static const struct {
        const char *name;
        struct again again;
        double spread; /* by the largest, in units of the precision */
    } rows[] = {
        {"nothing", {-1, -1, 0, false, false}, 0},
        {"the largest element of the first rank", {0, 1, 0x1p-20, false, false}, 0x1p32},
        {"the largest element of the last rank", {2, 1, -0x1p-20, false, false}, 0x1p32},
        {"a small element", {1, 0, 0x1p-20, false, false}, 0x1p29},
        {"the last element", {1, 2, 1, false, false}, 0x1p50},
        {"the last place of an element", {1, 1, 0x1p-50, false, false}, 4},
        {"no number", {1, 1, NAN, false, false}, INFINITY},
        {"a longer input", {2, -1, 0, true, false}, INFINITY},
        {"an input more", {0, -1, 0, false, true}, INFINITY},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct gradcheck_options options = gradcheck_options_default();
        options.repeat = 1 + (int)i % 3;
        again = rows[i].again;
        struct gradcheck_result result = diff_world_check(otherwise, RANKS, &options);
        const struct gradcheck_repeat *repeat = &result.repeat;
        bool near = rows[i].spread == 0 || isinf(rows[i].spread)
                        ? repeat->spread == rows[i].spread
                        : fabs(repeat->spread / rows[i].spread - 1) <= 0.26;
        tap_ok(near, "another run changes %s: the spread is %g", rows[i].name, repeat->spread);
        tap_is_int(repeat->worlds, options.repeat, "so many worlds were repeated");
        tap_ok(repeat->bound >= 1000 * RANKS && repeat->bound < 0x1p24,
               "the bound is one of rounding");
        if (rows[i].again.index >= 0)
            tap_ok(repeat->rank == rows[i].again.rank && repeat->index == rows[i].again.index &&
                       !strcmp(repeat->name, "x"),
                   "it is where it is: rank %d, %s[%d]", repeat->rank, repeat->name,
                   (int)repeat->index);
        gradcheck_release(&result);
    }
}

/* ---- how much is looked at ---- */

static int inputs_of, parts_of;

static void cubes(void)
{
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *loss = NULL;
    const double values[3] = {0.4, 0.9, -1.3};
    size_t count = (size_t)parts_of;
    for (int i = 0; i < inputs_of; i++) {
        struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, &count, values);
        struct diff_tensor *term = diff_sum(diff_mul(x, diff_mul(x, x)));
        loss = loss ? diff_add(loss, term) : term;
    }
    if (!loss)
        loss = diff_sum(diff_constant(tape, DIFF_DOUBLE, 1, &count, values));
    diff_backward(loss);
    diff_tape_free(tape);
}

/* A row for every element, and for every direction where there is something to move. */
static void rows_count(void)
{
    struct gradcheck_options options = gradcheck_options_default();
    options.points = 1;
    for (int ranks = 1; ranks <= 2; ranks++)
        for (inputs_of = 0; inputs_of <= 2; inputs_of++)
            for (parts_of = 1; parts_of <= 3; parts_of += 2) {
                struct gradcheck_result result = diff_world_check(cubes, ranks, &options);
                int elements = ranks * inputs_of * parts_of, rows = 0, directions = 0;
                for (size_t i = 0; i < result.row_count; i++) {
                    rows += result.rows[i].check.index >= 0;
                    directions += strcmp(result.rows[i].check.method, "dot") == 0;
                }
                tap_is_int(rows, elements, "%d elements have a row each", elements);
                tap_is_int(directions, elements ? options.directions : 0,
                           "and so has each direction that moves one of them");
                gradcheck_release(&result);
            }
}

int main(void)
{
    (void)checked_open("diff_answers");
    static const char *const words[] = {"right",     "wrong",     "undecided",
                                        "not right", "not wrong", "the first element is not right"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool elsewhere;
        if (!checked_takes())
            continue;
        parameter = cases[i].parameter;
        factor = cases[i].factor;
        struct gradcheck_result result = diff_world_check(cases[i].body, RANKS, NULL);
        struct trace_answers answers = answers_of(&result, cases[i].wrong_at, &elsewhere);
        enum expected expected = cases[i].expected;
        bool as = expected == RIGHT   ? answers.right > 0 && !answers.wrong && !answers.undecided
                  : expected == WRONG ? answers.wrong > 0 && !elsewhere
                  : expected == UNDECIDED
                      ? answers.undecided > 0 && !answers.wrong && !answers.right
                  : expected == NO_RIGHT_FIRST ? answers.right > 0 && !is_right_at(&result, 0)
                  : expected == NOT_RIGHT      ? answers.right == 0
                                               : answers.wrong == 0;
        char text[200];
        trace_answers_text(&answers, "", text, sizeof text);
        if (!tap_ok(as && !result.base_failed, "%s: %s", cases[i].name, words[expected])) {
            char rows[4096];
            gradcheck_print(&result, rows, sizeof rows);
            tap_note("%s\n# %s", text, rows);
        }
        gradcheck_release(&result);
    }
    checked_close();
    if (checked_takes())
        repetitions();
    if (checked_takes())
        rows_count();
    return tap_done();
}
