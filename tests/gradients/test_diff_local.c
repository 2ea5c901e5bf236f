/* Local operations, each in a program that also communicates: its values against a naive reference,
 * its gradient and second derivative against forward mode and differences, and its adjoint with one
 * sign turned, which is found. */
#include "tests/diff_world.h"

#include <complex.h>
#include <math.h>
#include <string.h>

enum { ROWS = 2, COLUMNS = 3, N = ROWS * COLUMNS, MOST = 4 * N };

struct operation {
    const char *name;
    struct diff_tensor *(*apply)(struct diff_tensor *x, struct diff_tensor *w);
    size_t (*reference)(const double *x, const double *w, double *y); /* how many */
    bool complex_too;
    const char *node; /* whose adjoint gets a sign wrong; NULL: of its own name */
};

static const struct operation *operation;
static enum diff_type type;
static bool second;
static int values_wrong;

/* ---- the operations, and the same done naively ---- */

static struct diff_tensor *matrix(struct diff_tensor *x)
{
    return diff_reshape(x, 2, (size_t[]){ROWS, COLUMNS});
}

#define ELEMENTWISE(name, CALL, FORMULA)                                                           \
    static struct diff_tensor *name##_apply(struct diff_tensor *x, struct diff_tensor *w)          \
    {                                                                                              \
        (void)w;                                                                                   \
        return CALL;                                                                               \
    }                                                                                              \
    static size_t name##_expect(const double *x, const double *w, double *y)                       \
    {                                                                                              \
        (void)w;                                                                                   \
        for (size_t i = 0; i < N; i++)                                                             \
            y[i] = FORMULA;                                                                        \
        return N;                                                                                  \
    }

static const bool chosen[N] = {true, false, true, true, false};

ELEMENTWISE(sqrt, diff_sqrt(x), sqrt(x[i]))
ELEMENTWISE(sin, diff_sin(x), sin(x[i]))
ELEMENTWISE(cos, diff_cos(x), cos(x[i]))
ELEMENTWISE(power, diff_power(x, 2.5), pow(x[i], 2.5))
ELEMENTWISE(abs, diff_abs(diff_shift(x, -1)), fabs(x[i] - 1))
ELEMENTWISE(maximum, diff_maximum(x, diff_mul(w, x)), fmax(x[i], w[i] * x[i]))
ELEMENTWISE(minimum, diff_minimum(x, diff_mul(w, x)), fmin(x[i], w[i] * x[i]))
ELEMENTWISE(where, diff_where(chosen, diff_mul(x, x), diff_mul(w, x)),
            chosen[i] ? x[i] * x[i] : w[i] * x[i])

static struct diff_tensor *broadcast_apply(struct diff_tensor *x, struct diff_tensor *w)
{
    (void)w;
    return diff_broadcast(diff_reshape(x, 3, (size_t[]){ROWS, 1, COLUMNS}), 3,
                          (size_t[]){ROWS, 2, COLUMNS});
}

static size_t broadcast_expect(const double *x, const double *w, double *y)
{
    (void)w;
    for (size_t r = 0; r < ROWS; r++)
        for (size_t k = 0; k < 2; k++)
            memcpy(y + (r * 2 + k) * COLUMNS, x + r * COLUMNS, sizeof(double[COLUMNS]));
    return 2 * N;
}

static struct diff_tensor *rows_apply(struct diff_tensor *x, struct diff_tensor *w)
{
    (void)w;
    return diff_sum_axis(matrix(x), 0);
}

static size_t rows_expect(const double *x, const double *w, double *y)
{
    (void)w;
    for (size_t k = 0; k < COLUMNS; k++)
        y[k] = x[k] + x[COLUMNS + k];
    return COLUMNS;
}

static struct diff_tensor *columns_apply(struct diff_tensor *x, struct diff_tensor *w)
{
    (void)w;
    return diff_sum_axis(matrix(x), 1);
}

static size_t columns_expect(const double *x, const double *w, double *y)
{
    (void)w;
    for (size_t r = 0; r < ROWS; r++)
        y[r] = x[r * COLUMNS] + x[r * COLUMNS + 1] + x[r * COLUMNS + 2];
    return ROWS;
}

static struct diff_tensor *max_apply(struct diff_tensor *x, struct diff_tensor *w)
{
    return diff_max_axis(matrix(diff_mul(x, w)), 1);
}

static size_t max_expect(const double *x, const double *w, double *y)
{
    for (size_t r = 0; r < ROWS; r++) {
        y[r] = -INFINITY;
        for (size_t k = r * COLUMNS; k < (r + 1) * COLUMNS; k++)
            y[r] = fmax(y[r], x[k] * w[k]);
    }
    return ROWS;
}

static const size_t places[] = {4, 0, 4, 2, 5, 1};

static struct diff_tensor *take_apply(struct diff_tensor *x, struct diff_tensor *w)
{
    (void)w;
    return diff_take(x, 4, places);
}

static size_t take_expect(const double *x, const double *w, double *y)
{
    (void)w;
    for (size_t i = 0; i < 4; i++)
        y[i] = x[places[i]];
    return 4;
}

static struct diff_tensor *put_apply(struct diff_tensor *x, struct diff_tensor *w)
{
    (void)w;
    return diff_put(x, places, 8);
}

static size_t put_expect(const double *x, const double *w, double *y)
{
    (void)w;
    memset(y, 0, sizeof(double[8]));
    for (size_t i = 0; i < N; i++)
        y[places[i]] += x[i];
    return 8;
}

static struct diff_tensor *stack_apply(struct diff_tensor *x, struct diff_tensor *w)
{
    return diff_stack(2, (struct diff_tensor *[]){diff_mul(x, w), x});
}

static size_t stack_expect(const double *x, const double *w, double *y)
{
    for (size_t i = 0; i < N; i++) {
        y[i] = x[i] * w[i];
        y[N + i] = x[i];
    }
    return 2 * N;
}

static struct diff_tensor *split_apply(struct diff_tensor *x, struct diff_tensor *w)
{
    struct diff_tensor *parts[2];
    (void)w;
    diff_split(matrix(x), 2, (size_t[]){1, 1}, parts);
    return diff_sub(parts[0], parts[1]);
}

static size_t split_expect(const double *x, const double *w, double *y)
{
    (void)w;
    for (size_t k = 0; k < COLUMNS; k++)
        y[k] = x[k] - x[COLUMNS + k];
    return COLUMNS;
}

static struct diff_tensor *batch_apply(struct diff_tensor *x, struct diff_tensor *w)
{
    return diff_matmul_batched(diff_reshape(x, 3, (size_t[]){2, 1, 3}),
                               diff_reshape(diff_mul(w, x), 3, (size_t[]){2, 3, 1}));
}

static size_t batch_expect(const double *x, const double *w, double *y)
{
    y[0] = y[1] = 0;
    for (size_t i = 0; i < N; i++)
        y[i / 3] += x[i] * w[i] * x[i];
    return 2;
}

static struct diff_tensor *norm_apply(struct diff_tensor *x, struct diff_tensor *w)
{
    return diff_layer_norm(matrix(diff_mul(x, w)), 1e-3);
}

static size_t norm_expect(const double *x, const double *w, double *y)
{
    for (size_t r = 0; r < N; r += COLUMNS) {
        double mean = 0, variance = 0;
        for (size_t k = r; k < r + COLUMNS; k++)
            mean += x[k] * w[k] / COLUMNS;
        for (size_t k = r; k < r + COLUMNS; k++)
            variance += (x[k] * w[k] - mean) * (x[k] * w[k] - mean) / COLUMNS;
        for (size_t k = r; k < r + COLUMNS; k++)
            y[k] = (x[k] * w[k] - mean) / sqrt(variance + 1e-3);
    }
    return N;
}

#define OPERATION(name) #name, name##_apply, name##_expect
static const struct operation operations[] = {
    {OPERATION(sqrt), true, NULL},        {OPERATION(sin), true, NULL},
    {OPERATION(cos), true, NULL},         {OPERATION(power), false, NULL},
    {OPERATION(abs), false, "mask"},      {OPERATION(maximum), false, "take"},
    {OPERATION(minimum), false, "take"},  {OPERATION(where), true, "take"},
    {OPERATION(broadcast), true, "take"}, {OPERATION(rows), true, "put"},
    {OPERATION(columns), true, "put"},    {OPERATION(max), false, "take"},
    {OPERATION(take), true, NULL},        {OPERATION(put), true, NULL},
    {OPERATION(stack), true, "concat"},   {OPERATION(split), true, "slice"},
    {OPERATION(batch), true, "matmul"},   {OPERATION(norm), false, "div"},
};

/* ---- the program ---- */

static bool is_complex(void)
{
    return type == DIFF_COMPLEX_FLOAT || type == DIFF_COMPLEX_DOUBLE;
}

static struct diff_tensor *made(struct diff_tape *tape, const char *name, const double *values)
{
    double complex all[MOST] = {0};
    for (int i = 0; i < N; i++)
        all[i] = values[i] + (is_complex() && name ? 0.1 * I * (i + 1) : 0);
    double reals[MOST];
    float floats[MOST];
    float complex narrow[MOST];
    for (int i = 0; i < N; i++) {
        reals[i] = creal(all[i]);
        floats[i] = (float)reals[i];
        narrow[i] = (float complex)all[i];
    }
    const void *data = type == DIFF_DOUBLE          ? (void *)reals
                       : type == DIFF_FLOAT         ? (void *)floats
                       : type == DIFF_COMPLEX_FLOAT ? (void *)narrow
                                                    : (void *)all;
    size_t shape = N;
    return name ? diff_input(tape, name, type, 1, &shape, data)
                : diff_constant(tape, type, 1, &shape, data);
}

static double real_at(const struct diff_tensor *y, size_t i)
{
    const void *values = diff_values(y);
    return type == DIFF_DOUBLE          ? ((const double *)values)[i]
           : type == DIFF_FLOAT         ? (double)((const float *)values)[i]
           : type == DIFF_COMPLEX_FLOAT ? (double)crealf(((const float complex *)values)[i])
                                        : creal(((const double complex *)values)[i]);
}

static void body(void)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double values[N], weights[N], expected[MOST];
    for (int i = 0; i < N; i++) {
        values[i] = 0.6 + 0.23 * i + 0.31 * rank;
        weights[i] = 0.4 + 0.37 * ((i * 5 + rank) % N);
    }
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = made(tape, "x", values), *w = made(tape, NULL, weights);
    struct diff_tensor *y = operation->apply(x, w);
    size_t count = operation->reference(values, weights, expected);
    if (!diff_is_repeated() && !is_complex()) {
        double slack = type == DIFF_FLOAT ? 1e-5 : 1e-13;
        values_wrong += diff_count(y) != count;
        for (size_t i = 0; i < count; i++)
            values_wrong += !(fabs(real_at(y, i) - expected[i]) <= slack * (1 + fabs(expected[i])));
    }
    y = diff_allreduce(diff_reshape(y, 1, &count), MPI_SUM, MPI_COMM_WORLD);
    struct diff_tensor *loss = diff_dot(diff_mul(y, y), y);
    if (second) {
        diff_backward_from(tape, 1, &loss, NULL, DIFF_GRAPH);
        loss = diff_dot(diff_gradient_tensor(x), w);
        diff_gradient_clear(x);
    }
    diff_backward(loss);
    diff_tape_free(tape);
}

static bool is_right(const char *flip)
{
    struct gradcheck_options options = gradcheck_options_default();
    options.flip_name = flip;
    options.flip_part = flip ? 1 : 0;
    struct gradcheck_result result = diff_world_check(body, 2, &options);
    struct trace_answers answers = {0};
    char text[2000];
    for (size_t i = 0; i < result.row_count; i++)
        trace_answers_add(&answers, &result.rows[i].check);
    bool decided = !answers.undecided || type == DIFF_FLOAT;
    bool right = !result.base_failed && !answers.wrong && decided && answers.right > N;
    if (right == (flip != NULL)) {
        gradcheck_print(&result, text, sizeof text);
        tap_note("%s, %d, %s: %s", operation->name, (int)type, flip ? flip : "", text);
    }
    gradcheck_release(&result);
    return right;
}

int main(void)
{
    (void)checked_open("diff_local");
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        bool right = true, again = true, found = true;
        if (!checked_takes())
            continue;
        operation = &operations[i];
        values_wrong = 0;
        for (int t = DIFF_FLOAT; t <= DIFF_COMPLEX_DOUBLE; t++) {
            type = (enum diff_type)t;
            if (is_complex() && !operation->complex_too)
                continue;
            second = false;
            right &= is_right(NULL);
            found &= !is_right(operation->node ? operation->node : operation->name);
            second = true;
            if (t != DIFF_FLOAT && t != DIFF_COMPLEX_FLOAT)
                again &= is_right(NULL);
        }
        tap_is_int(values_wrong, 0, "%s: its values", operation->name);
        tap_ok(right, "%s: its gradient, in all types", operation->name);
        tap_ok(again, "%s: its second derivative", operation->name);
        tap_ok(found, "%s: a wrong sign in its adjoint is found", operation->name);
    }
    checked_close();
    return tap_done();
}
