/* Windows of the tape: random epochs in which nothing overlaps that must not, against a reference
 * that every rank computes for all of them, its differences, the tangents, and the derivative of the
 * gradient. And the epochs that have no derivative end the rank. */
#include "tests/diff_world.h"

#include <math.h>
#include <string.h>

enum { MOST = 5, LENGTH = 12, EPOCHS = 3, ACCESSES = 64, PROGRAMS = 8 };

enum kind { PUT, GET, SUM, REPLACE, FETCH_SUM, FETCH_REPLACE, FETCH_NOTHING, ONE, KINDS };

struct access {
    enum kind kind;
    int origin, target;
    size_t begin, count;
};

struct plan {
    uint64_t state;
    int size;
    size_t memory[MOST], length; /* of the windows, and of every rank's vector */
    struct access accesses[EPOCHS][ACCESSES];
    size_t counts[EPOCHS];
};

static uint64_t program;
static enum diff_type type;
static enum diff_order order;

static unsigned below(struct plan *plan, unsigned n)
{
    plan->state += 0x9e3779b97f4a7c15u;
    uint64_t z = plan->state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (unsigned)((z ^ z >> 31) >> 33) % n;
}

static void access_add(struct plan *plan, int epoch, struct access access)
{
    if (plan->counts[epoch] < ACCESSES)
        plan->accesses[epoch][plan->counts[epoch]++] = access;
}

/* A part of a target's memory belongs to one access, or to several that get or that add. */
static void part_use(struct plan *plan, int epoch, int target, size_t begin, size_t count)
{
    enum kind kind = (enum kind)below(plan, KINDS);
    bool shared = kind == GET || kind == SUM || kind == FETCH_NOTHING;
    for (unsigned n = shared ? 1 + below(plan, 3) : 1; n > 0; n--) {
        size_t at = begin, many = count;
        if (shared && count > 1) {
            at = begin + below(plan, (unsigned)count);
            many = below(plan, (unsigned)(begin + count - at) + 1);
        }
        if (kind == ONE)
            many = count > 0;
        int origin = (int)below(plan, (unsigned)plan->size);
        access_add(plan, epoch, (struct access){kind, origin, target, at, many});
    }
}

static void plan_make(struct plan *plan, int size)
{
    *plan = (struct plan){.state = program * 1000 + (uint64_t)size, .size = size};
    plan->length = program % 2 ? LENGTH : 3;
    for (int r = 0; r < size; r++)
        plan->memory[r] = below(plan, 4) == 0 ? 0 : 1 + below(plan, (unsigned)plan->length);
    for (int epoch = 0; epoch < EPOCHS; epoch++)
        for (int r = 0; r < size; r++)
            for (size_t at = 0; at < plan->memory[r];) {
                size_t count = below(plan, (unsigned)(plan->memory[r] - at) + 1);
                if (below(plan, 4) > 0)
                    part_use(plan, epoch, r, at, count);
                at += count + (count == 0);
            }
}

/* Every rank's vector first, then what its window holds. */
static size_t inputs_of(const struct plan *plan, int rank)
{
    return plan->length + plan->memory[rank];
}

static double number(int rank, size_t i, double by)
{
    double value = sin(1.0 + by * (rank + 1) + 0.7 * (double)i * by);
    return type == DIFF_FLOAT ? (double)(float)value : value;
}

/* ---- the reference: one process does what all of them do ---- */

static bool brings(enum kind kind)
{
    return kind != PUT && kind != SUM && kind != REPLACE;
}

static void access_do(const struct access *a, const double *x, double *memory, double *got)
{
    for (size_t i = 0; i < a->count; i++) {
        double *at = &memory[a->begin + i], before = *at;
        if (a->kind == PUT || a->kind == REPLACE || a->kind == FETCH_REPLACE)
            *at = x[i];
        if (a->kind == SUM || a->kind == FETCH_SUM || a->kind == ONE)
            *at += x[i];
        if (brings(a->kind))
            got[i] += before * (1 + 0.25 * a->kind);
    }
}

static double reference(const struct plan *plan, double inputs[MOST][2 * LENGTH])
{
    double u[MOST][LENGTH], memory[MOST][LENGTH], got[MOST][LENGTH], objective = 0;
    for (int r = 0; r < plan->size; r++) {
        memcpy(u[r], inputs[r], plan->length * sizeof(double));
        memcpy(memory[r], inputs[r] + plan->length, plan->memory[r] * sizeof(double));
    }
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        memset(got, 0, sizeof got);
        for (size_t i = 0; i < plan->counts[epoch]; i++) {
            const struct access *a = &plan->accesses[epoch][i];
            access_do(a, u[a->origin], memory[a->target], got[a->origin]);
        }
        for (int r = 0; r < plan->size; r++) {
            for (size_t i = 0; i < plan->length; i++)
                u[r][i] = u[r][i] * u[r][i] * 0.5 + tanh(got[r][i]);
            for (size_t i = 0; i < plan->memory[r]; i++)
                memory[r][i] = tanh(memory[r][i]);
        }
    }
    for (int r = 0; r < plan->size; r++) {
        for (size_t i = 0; i < plan->length; i++)
            objective += u[r][i] * number(r, i, 2.3);
        for (size_t i = 0; i < plan->memory[r]; i++)
            objective += memory[r][i] * number(r, i, 3.1);
    }
    return objective;
}

/* ---- the same on the tape ---- */

static struct diff_tensor *vector(struct diff_tape *tape, const char *name, const double *values,
                                  size_t count)
{
    float narrow[2 * LENGTH] = {0};
    for (size_t i = 0; i < count; i++)
        narrow[i] = (float)values[i];
    const void *given = type == DIFF_FLOAT ? (const void *)narrow : values;
    return name ? diff_input(tape, name, type, 1, &count, given)
                : diff_constant(tape, type, 1, &count, given);
}

static struct diff_tensor *access_start(struct diff_window *window, const struct access *a,
                                        struct diff_tensor *u)
{
    struct diff_tensor *x = diff_slice(u, 0, a->count);
    switch (a->kind) {
    case PUT:
        diff_win_put(window, x, a->target, a->begin);
        return NULL;
    case SUM:
    case REPLACE:
        diff_win_accumulate(window, x, a->target, a->begin, a->kind == SUM ? MPI_SUM : MPI_REPLACE);
        return NULL;
    case GET:
        return diff_win_get(window, a->count, a->target, a->begin);
    case ONE:
        if (a->count == 1)
            return diff_win_fetch_and_op(window, x, a->target, a->begin, MPI_SUM);
        return diff_win_get(window, 0, MPI_PROC_NULL, 7);
    default:
        return diff_win_get_accumulate(window, x, a->target, a->begin,
                                       a->kind == FETCH_SUM       ? MPI_SUM
                                       : a->kind == FETCH_REPLACE ? MPI_REPLACE
                                                                  : MPI_NO_OP);
    }
}

static struct diff_tensor *epoch_do(const struct plan *plan, int epoch, int rank,
                                    struct diff_window *window, struct diff_tensor *u)
{
    static const size_t places[LENGTH] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    struct diff_tensor *got[ACCESSES], *sum = diff_scale(u, 0);
    for (size_t i = 0; i < plan->counts[epoch]; i++) {
        const struct access *a = &plan->accesses[epoch][i];
        got[i] = a->origin == rank ? access_start(window, a, u) : NULL;
    }
    diff_win_fence(window);
    for (size_t i = 0; i < plan->counts[epoch]; i++)
        if (got[i]) {
            struct diff_tensor *all = diff_put(got[i], places, plan->length);
            double factor = 1 + 0.25 * plan->accesses[epoch][i].kind;
            sum = diff_add(sum, diff_scale(all, factor));
        }
    diff_win_store(window, diff_tanh(diff_win_memory(window)));
    return diff_add(diff_scale(diff_mul(u, u), 0.5), diff_tanh(sum));
}

struct run {
    struct diff_tape *tape;
    struct diff_tensor *x[2], *loss;
};

static struct run run_make(const struct plan *plan, int rank, double inputs[MOST][2 * LENGTH])
{
    struct run run = {.tape = diff_tape_new(MPI_COMM_WORLD)};
    size_t length = plan->length, memory = plan->memory[rank];
    double weights[2 * LENGTH];
    diff_tape_order(run.tape, order);
    run.x[0] = vector(run.tape, "u", inputs[rank], length);
    run.x[1] = vector(run.tape, "memory", inputs[rank] + length, memory);
    struct diff_tensor *u = run.x[0];
    struct diff_window *window = diff_win_create(run.x[1], MPI_COMM_WORLD);
    diff_win_fence(window);
    for (int epoch = 0; epoch < EPOCHS; epoch++)
        u = epoch_do(plan, epoch, rank, window, u);
    for (size_t i = 0; i < length; i++)
        weights[i] = number(rank, i, 2.3);
    for (size_t i = 0; i < memory; i++)
        weights[length + i] = number(rank, i, 3.1);
    struct diff_tensor *all[] = {u, diff_win_memory(window)};
    run.loss = diff_dot(diff_concat(2, all), vector(run.tape, NULL, weights, length + memory));
    return run;
}

static double part_of(const void *values, size_t i)
{
    return type == DIFF_FLOAT ? (double)((const float *)values)[i] : ((const double *)values)[i];
}

/* Part `i` of a rank's gradient, or of another thing that has one value per input. */
static double gradient_at(const struct plan *plan, const struct run *run, size_t i)
{
    bool in_memory = i >= plan->length;
    return part_of(diff_gradient(run->x[in_memory]), in_memory ? i - plan->length : i);
}

static void inputs_fill(const struct plan *plan, double inputs[MOST][2 * LENGTH], double by)
{
    for (int r = 0; r < plan->size; r++)
        for (size_t i = 0; i < inputs_of(plan, r); i++)
            inputs[r][i] = number(r, i, by);
}

static double close_to(double got, double wanted, double tolerance)
{
    return fabs(got - wanted) <= tolerance * (1 + fabs(wanted));
}

static void first_order(int rank, int size)
{
    static const double h = 1e-5;
    struct plan plan;
    double inputs[MOST][2 * LENGTH], along[MOST][2 * LENGTH], total;
    double tolerance = type == DIFF_FLOAT ? 2e-4 : 1e-8;
    plan_make(&plan, size);
    inputs_fill(&plan, inputs, 1.7);
    inputs_fill(&plan, along, 0.9);
    struct run run = run_make(&plan, rank, inputs);
    double loss = diff_scalar(run.loss);
    MPI_Allreduce(&loss, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    expect(close_to(total, reference(&plan, inputs), tolerance), "the objective is %g", total);
    struct diff_tensor *v[2] = {vector(run.tape, NULL, along[rank], plan.length),
                                vector(run.tape, NULL, along[rank] + plan.length,
                                       plan.memory[rank])};
    diff_no_grad_begin(run.tape);
    diff_jvp(run.tape, 2, run.x, v);
    diff_no_grad_end(run.tape);
    double tangent = diff_scalar(diff_tangent(run.loss)), sides[2], products[2] = {tangent, 0};
    diff_backward(run.loss);
    for (size_t i = 0; i < inputs_of(&plan, rank); i++) {
        double kept = inputs[rank][i], got = gradient_at(&plan, &run, i);
        inputs[rank][i] = kept + h;
        double above = reference(&plan, inputs);
        inputs[rank][i] = kept - h;
        double measured = (above - reference(&plan, inputs)) / (2 * h);
        inputs[rank][i] = kept;
        expect(close_to(got, measured, tolerance), "gradient %zu is %g, measured %g", i, got,
               measured);
        products[1] += got * along[rank][i];
    }
    MPI_Allreduce(products, sides, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    expect(close_to(sides[0], sides[1], type == DIFF_FLOAT ? 1e-4 : 1e-12),
           "forward mode gives %.15g, backward %.15g", sides[0], sides[1]);
    diff_tape_free(run.tape);
}

/* The gradient's own: along a direction, against mixed differences of the reference. */
static void second_order(int rank, int size)
{
    static const double h = 1e-4;
    struct plan plan;
    double inputs[MOST][2 * LENGTH], along[MOST][2 * LENGTH];
    plan_make(&plan, size);
    inputs_fill(&plan, inputs, 1.7);
    inputs_fill(&plan, along, 0.9);
    struct run run = run_make(&plan, rank, inputs);
    diff_backward_from(run.tape, 1, &run.loss, NULL, DIFF_GRAPH);
    struct diff_tensor *g[2], *sum = NULL;
    for (int k = 0; k < 2; k++) {
        const double *v = along[rank] + (k ? plan.length : 0);
        g[k] = diff_gradient_tensor(run.x[k]);
        diff_gradient_clear(run.x[k]);
        if (!g[k])
            continue;
        struct diff_tensor *term = diff_dot(g[k], vector(run.tape, NULL, v, diff_count(run.x[k])));
        sum = sum ? diff_add(sum, term) : term;
    }
    diff_backward(sum);
    for (size_t i = 0; i < inputs_of(&plan, rank); i++) {
        double changed[MOST][2 * LENGTH], measured = 0;
        for (int corner = 0; corner < 4; corner++) {
            double e = corner & 1 ? h : -h, d = corner & 2 ? h : -h;
            for (int r = 0; r < size; r++)
                for (size_t j = 0; j < inputs_of(&plan, r); j++)
                    changed[r][j] = inputs[r][j] + d * along[r][j];
            changed[rank][i] += e;
            measured += (e * d > 0 ? 1 : -1) * reference(&plan, changed) / (4 * h * h);
        }
        double got = gradient_at(&plan, &run, i);
        expect(close_to(got, measured, 1e-5), "second derivative %zu is %g, measured %g", i, got,
               measured);
    }
    diff_tape_free(run.tape);
}

static void programs_test(const char *name, world_body *body, const int *sizes)
{
    for (program = 1; program <= PROGRAMS; program++) {
        char text[100];
        snprintf(text, sizeof text, "%s, random epochs %d", name, (int)program);
        world_test_sizes(text, body, WORLD_ANY, sizes);
    }
}

/* ---- a tape that is cleared, and one on half of the ranks ---- */

static void cleared(int rank, int size)
{
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    double start[2] = {0.5 + rank, 0.25};
    struct diff_window *window = NULL;
    for (int round = 0; round < 3; round++) {
        struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){2}, start);
        if (window)
            diff_win_store(window, x);
        else
            window = diff_win_create(x, MPI_COMM_WORLD);
        diff_win_fence(window);
        struct diff_tensor *got = diff_win_get(window, 2, (rank + 1) % size, 0);
        diff_win_fence(window);
        diff_backward(diff_scale(diff_dot(got, got), rank + 1));
        int left = (rank + size - 1) % size;
        const double *gradient = diff_gradient(x);
        expect(gradient[0] == 2 * (left + 1) * start[0], "round %d: %g", round, gradient[0]);
        diff_tape_clear(tape);
    }
    diff_tape_free(tape);
}

static void halves(int rank, int size)
{
    MPI_Comm half;
    int own, members;
    (void)size;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    MPI_Comm_rank(half, &own);
    MPI_Comm_size(half, &members);
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    double value = 2.0 + rank;
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){1}, &value);
    struct diff_window *window =
        diff_win_create(diff_zeros(tape, DIFF_DOUBLE, 1, (size_t[]){(size_t)members}), half);
    diff_win_fence(window);
    MPI_Comm_free(&half); /* the window keeps what it needs */
    diff_win_put(window, diff_mul(x, x), 0, (size_t)own);
    diff_win_fence(window);
    diff_backward(diff_sum(diff_win_memory(window)));
    expect(*(const double *)diff_gradient(x) == 2 * value, "the gradient is %g",
           *(const double *)diff_gradient(x));
    diff_tape_free(tape);
}

static void complex_body(void)
{
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    double values[] = {0.3 + rank, -0.7, 1.1, 0.2 * rank};
    struct diff_tensor *z = diff_input(tape, "z", DIFF_COMPLEX_DOUBLE, 1, (size_t[]){2}, values);
    struct diff_window *window = diff_win_create(diff_mul(z, z), MPI_COMM_WORLD);
    diff_win_fence(window);
    diff_win_accumulate(window, z, (rank + 1) % size, 0, MPI_SUM);
    diff_win_fence(window);
    struct diff_tensor *got =
        diff_win_get_accumulate(window, diff_slice(z, 1, 1), (rank + 1) % size, 1, MPI_SUM);
    diff_win_fence(window);
    struct diff_tensor *all = diff_concat(2, (struct diff_tensor *[]){got, diff_win_memory(window)});
    diff_backward(diff_dot(all, diff_mul(all, all)));
    diff_tape_free(tape);
}

/* ---- what is refused ---- */

static struct diff_tape *tape;

static struct diff_window *opened(struct diff_tensor **x)
{
    tape = diff_tape_new(MPI_COMM_WORLD);
    *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){2}, (double[]){1, 2});
    struct diff_window *window = diff_win_create(*x, MPI_COMM_WORLD);
    diff_win_fence(window);
    return window;
}

#define REFUSED(name, ...)                                                                         \
    static void name(void)                                                                         \
    {                                                                                              \
        struct diff_tensor *x;                                                                     \
        struct diff_window *window = opened(&x);                                                   \
        __VA_ARGS__;                                                                               \
    }
REFUSED(two_puts, diff_win_put(window, x, 0, 0); diff_win_fence(window))
REFUSED(put_and_get, diff_win_put(window, x, 0, 0); diff_win_get(window, 1, 0, 1);
        diff_win_fence(window))
REFUSED(sum_and_get, diff_win_accumulate(window, x, 0, 0, MPI_SUM);
        diff_win_get_accumulate(window, x, 0, 0, MPI_NO_OP); diff_win_fence(window))
REFUSED(two_fetches, diff_win_fetch_and_op(window, diff_slice(x, 0, 1), 0, 1, MPI_SUM);
        diff_win_fence(window))
REFUSED(maximum, diff_win_accumulate(window, x, 0, 0, MPI_MAX))
REFUSED(product, diff_win_get_accumulate(window, x, 0, 0, MPI_PROD))
REFUSED(fetch_many, diff_win_fetch_and_op(window, x, 0, 0, MPI_SUM))
REFUSED(beyond, diff_win_put(window, x, 0, 1))
REFUSED(nobody, diff_win_get(window, 1, 77, 0))
REFUSED(early, diff_scale(diff_win_get(window, 1, 0, 0), 2))
REFUSED(early_values, diff_values(diff_win_get(window, 1, 0, 0)))
REFUSED(changed, diff_win_put(window, x, 0, 0); diff_values_modify(x); diff_win_fence(window))
REFUSED(unfinished, diff_win_get(window, 1, 0, 0); diff_backward(diff_sum(x)))
REFUSED(freed_unfinished, diff_win_get(window, 1, 0, 0); diff_tape_free(tape))
REFUSED(forgotten, diff_tape_clear(tape); diff_win_memory(window))
REFUSED(other_count, diff_win_store(window, diff_slice(x, 0, 1)))
REFUSED(other_type, diff_win_put(window, diff_cast(x, DIFF_FLOAT), 0, 0))
REFUSED(shared_get, diff_win_get(window, 2, 0, 0); diff_win_fence(window);
        diff_backward(diff_sum(diff_win_memory(window))); diff_tape_free(tape))

static void unopened(void)
{
    struct diff_tape *own = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = diff_zeros(own, DIFF_DOUBLE, 1, (size_t[]){2});
    diff_win_get(diff_win_create(x, MPI_COMM_WORLD), 1, 0, 0);
}

static const struct {
    const char *name;
    void (*body)(void);
    const char *words;
} refusals[] = {
    {"two puts to one place", two_puts,
     "B003: node 1 (Win_fence): in one epoch rank 0's put and rank 1's put meet in values 0 to 1"},
    {"a put and a get of one place", put_and_get, "in values 1 to 1 of this window"},
    {"a sum and a get that no order decides", sum_and_get, "do one of them after a diff_win_fence"},
    {"two fetches of one place", two_fetches, "rank 0's get and accumulate and rank 1's"},
    {"a maximum", maximum, "M009: diff_win_accumulate: only MPI_SUM and MPI_REPLACE"},
    {"a product", product, "M009: diff_win_get_accumulate: only MPI_SUM, MPI_REPLACE and MPI_NO_OP"},
    {"a fetch of two values", fetch_many, "for more there is diff_win_get_accumulate"},
    {"a put beyond the end", beyond, "2 values from 1 on do not fit the 2 of rank 0's window"},
    {"a target outside", nobody, "the target 77 is no rank of the window's 2"},
    {"arithmetic with what a get has not brought", early, "M009"},
    {"the values of what a get has not brought", early_values, "the values of a handle"},
    {"an origin changed within the epoch", changed, "was changed before the fence"},
    {"backward within an epoch", unfinished, "backward in an epoch with 1 accesses"},
    {"the tape freed within an epoch", freed_unfinished, "diff_tape_free in an epoch with 1"},
    {"the memory of a cleared tape", forgotten, "diff_tape_clear has forgotten"},
    {"a store of another count", other_count, "diff_win_store of 1 values"},
    {"a put of another type", other_type, "diff_win_put of a float tensor"},
    {"an access before the first fence", unopened, "B004: diff_win_get before the first fence"},
};

static void refusal_test(const char *name, void (*body)(void), const char *words)
{
    char text[4096];
    int got = outcome_heard(body, text, sizeof text);
    bool good = got != OUTCOME_FINISHED && got != OUTCOME_DEADLOCK && strstr(text, words);
    tap_test_str(good ? words : text, words, TAP_HERE, "%s is refused", name);
}

int main(void)
{
    static const int sizes[] = {1, 2, 3, 5, 0};
    type = DIFF_DOUBLE;
    programs_test("first order", first_order, sizes);
    programs_test("second order", second_order, sizes);
    order = DIFF_ORDER_DATA;
    programs_test("data order", first_order, sizes);
    order = DIFF_ORDER_PROGRAM;
    type = DIFF_FLOAT;
    programs_test("float", first_order, sizes);
    type = DIFF_DOUBLE;
    world_test("a window lives on when its tape is cleared", cleared, WORLD_ANY);
    world_test("a window on half of the ranks, in another order", halves, WORLD_ANY);
    gradients_are_right("complex values", complex_body, 1, 2, 3, 5);
    tap_is_int(diff_world_outcome(shared_get, 3), OUTCOME_FINISHED,
               "gets of one place by all ranks are fine");
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        refusal_test(refusals[i].name, refusals[i].body, refusals[i].words);
    return tap_done();
}
