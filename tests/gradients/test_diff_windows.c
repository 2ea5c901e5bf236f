/* Windows of the tape: random epochs of every kind in which nothing overlaps that must not, against
 * a reference that every rank computes for all of them, its differences, the tangents, and the
 * derivative of the gradient. */
#include "tests/diff_world.h"

#include <math.h>
#include <string.h>

enum { MOST = 5, LENGTH = 12, EPOCHS = 3, ACCESSES = 64, PROGRAMS = 5 };

enum kind { PUT, GET, SUM, REPLACE, FETCH_SUM, FETCH_REPLACE, FETCH_NOTHING, ONE, KINDS };

/* What an epoch is bounded by. */
enum sync { FENCES, GROUPS, LOCKS, LOCK_ALL, SYNCS, ANY_SYNC };

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
    enum sync sync[EPOCHS];
};

static uint64_t program;
static enum diff_type type;
static enum diff_order order;
static enum sync kind_of_sync = ANY_SYNC;

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
    static const enum kind under_shared_locks[KINDS] = {PUT, GET, SUM, REPLACE, SUM, PUT, GET, GET};
    enum kind kind = (enum kind)below(plan, KINDS);
    if (plan->sync[epoch] == LOCK_ALL)
        kind = under_shared_locks[kind];
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
        plan->sync[epoch] = kind_of_sync == ANY_SYNC ? (enum sync)below(plan, SYNCS) : kind_of_sync;
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
            got[i] += before * (1 + 0.25 * (int)a->kind);
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

/* The own accesses of an epoch, to one target or (-1) to all. */
static void accesses_start(const struct plan *plan, int epoch, int target,
                           struct diff_window *window, struct diff_tensor *u,
                           struct diff_tensor **got)
{
    int rank = MPIX_World_rank();
    for (size_t i = 0; i < plan->counts[epoch]; i++) {
        const struct access *a = &plan->accesses[epoch][i];
        if (a->origin == rank && (target < 0 || a->target == target))
            got[i] = access_start(window, a, u);
    }
}

/* The ranks that access this one's memory, or those that it accesses. */
static MPI_Group partners(const struct plan *plan, int epoch, bool origins)
{
    int rank = MPIX_World_rank(), count = 0, found[MOST];
    MPI_Group all, some;
    for (int r = 0; r < plan->size; r++) {
        bool meets = false;
        for (size_t i = 0; i < plan->counts[epoch]; i++) {
            const struct access *a = &plan->accesses[epoch][i];
            meets = meets || (origins ? a->target == rank && a->origin == r
                                      : a->origin == rank && a->target == r);
        }
        if (meets)
            found[count++] = r;
    }
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, count, found, &some);
    MPI_Group_free(&all);
    return some;
}

static void groups_do(const struct plan *plan, int epoch, struct diff_window *window,
                      struct diff_tensor *u, struct diff_tensor **got)
{
    MPI_Group origins = partners(plan, epoch, true), targets = partners(plan, epoch, false);
    diff_win_post(window, origins);
    diff_win_start(window, targets);
    accesses_start(plan, epoch, -1, window, u, got);
    diff_win_complete(window);
    diff_win_wait(window);
    if (origins != MPI_GROUP_EMPTY)
        MPI_Group_free(&origins);
    if (targets != MPI_GROUP_EMPTY)
        MPI_Group_free(&targets);
}

static void locks_do(const struct plan *plan, int epoch, struct diff_window *window,
                     struct diff_tensor *u, struct diff_tensor **got)
{
    diff_win_passive_begin(window);
    for (int k = 0; k < plan->size; k++) {
        int target = (MPIX_World_rank() + k) % plan->size;
        bool flushes = (target + epoch) % 2;
        diff_win_lock(window, MPI_LOCK_EXCLUSIVE, target);
        if (flushes)
            diff_win_flush(window, target);
        accesses_start(plan, epoch, target, window, u, got);
        if (flushes)
            diff_win_flush(window, target);
        diff_win_unlock(window, target);
    }
    diff_win_passive_end(window);
}

static void lock_all_do(const struct plan *plan, int epoch, struct diff_window *window,
                        struct diff_tensor *u, struct diff_tensor **got)
{
    diff_win_passive_begin(window);
    diff_win_lock_all(window);
    accesses_start(plan, epoch, -1, window, u, got);
    if (epoch % 2)
        diff_win_flush_all(window);
    diff_win_unlock_all(window);
    diff_win_passive_end(window);
}

static struct diff_tensor *epoch_do(const struct plan *plan, int epoch, struct diff_window *window,
                                    struct diff_tensor *u)
{
    static const size_t places[LENGTH] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    struct diff_tensor *got[ACCESSES] = {NULL}, *sum = diff_scale(u, 0);
    switch (plan->sync[epoch]) {
    case GROUPS:
        groups_do(plan, epoch, window, u, got);
        break;
    case LOCKS:
        locks_do(plan, epoch, window, u, got);
        break;
    case LOCK_ALL:
        lock_all_do(plan, epoch, window, u, got);
        break;
    default:
        diff_win_fence(window);
        accesses_start(plan, epoch, -1, window, u, got);
        diff_win_fence(window);
    }
    for (size_t i = 0; i < plan->counts[epoch]; i++)
        if (got[i]) {
            struct diff_tensor *all = diff_put(got[i], places, plan->length);
            double factor = 1 + 0.25 * (int)plan->accesses[epoch][i].kind;
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
    for (int epoch = 0; epoch < EPOCHS; epoch++)
        u = epoch_do(plan, epoch, window, u);
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

static bool close_to(double got, double wanted, double tolerance)
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
    struct diff_tensor *v[2] = {
        vector(run.tape, NULL, along[rank], plan.length),
        vector(run.tape, NULL, along[rank] + plan.length, plan.memory[rank])};
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

static void programs_test(const char *what, const char *epochs, world_body *body, const int *sizes)
{
    for (program = 1; program <= PROGRAMS; program++) {
        char text[120];
        snprintf(text, sizeof text, "%.40s, %.40s, random program %d", what, epochs, (int)program);
        world_test_sizes(text, body, WORLD_ANY, sizes);
    }
}

int main(void)
{
    static const int sizes[] = {1, 2, 3, 5, 0};
    static const char *const names[] = {[FENCES] = "fences",
                                        [GROUPS] = "post, start, complete, wait",
                                        [LOCKS] = "locks",
                                        [LOCK_ALL] = "locks of all",
                                        [ANY_SYNC] = "epochs of any kind"};
    type = DIFF_DOUBLE;
    for (kind_of_sync = FENCES; kind_of_sync <= ANY_SYNC; kind_of_sync++) {
        if (kind_of_sync == SYNCS)
            continue;
        programs_test("first order", names[kind_of_sync], first_order, sizes);
        programs_test("second order", names[kind_of_sync], second_order, sizes);
    }
    type = DIFF_FLOAT;
    kind_of_sync = ANY_SYNC;
    programs_test("float", names[ANY_SYNC], first_order, sizes);
    type = DIFF_DOUBLE;
    order = DIFF_ORDER_DATA;
    kind_of_sync = FENCES;
    programs_test("data order", names[FENCES], first_order, sizes);
    return tap_done();
}
