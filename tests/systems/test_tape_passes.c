/* Backward passes of random programs on one to three ranks, in both orders: what is added up where values are used often, kept in the middle,
 * cleared, seeded by losses and by cotangents, by several roots and in several passes, with regions that record nothing, and where many nodes are
 * ready at once. The test computes every rank's values by itself, and each derivative by carrying one small change of one number through all ranks. */
#include "tests/world_harness.h"

#include <diff.h>
#include <math.h>
#include <omp.h>

enum {
    N = 2,
    INPUTS = 2,
    STEPS = 9,
    ALL = INPUTS + STEPS,
    RANKS = 3,
    ROOTS = 2,
    PASSES = 3,
    WIDE = 40,
    MANY = 10,
    PROGRAMS = 400
};
enum kind {
    ADD,
    MUL,
    SCALE,
    SINE,
    TURN,
    ALLREDUCE,
    STARTED,
    SHIFT,
    BCAST,
    SCAN,
    EXSCAN,
    GATHERED,
    DETACH,
    UNRECORDED,
    JOINED,
    COLLECTED,
    SPREAD,
    KINDS
};

struct step {
    enum kind kind;
    int a, b;
    double factor;
    bool kept; /* its gradient is asked for */
    int parts[MANY];
};

struct pass {
    int roots, of[ROOTS];
    bool loss[ROOTS]; /* a number made of the tensor, or the tensor itself with a cotangent */
    double weight[RANKS][ROOTS][N];
    bool clears; /* the first input's gradient, before the pass */
};

static struct step steps[ALL]; /* the first ones are the inputs */
static struct pass passes[PASSES];
static int pass_count, ranks;
static enum diff_order order;
static double inputs[RANKS][INPUTS][N];

/* What the product gave: of inputs and steps that are kept. */
static double values[RANKS][ALL][N], gradients[RANKS][ALL][N];
static bool variable[RANKS][ALL];

/* ---- drawing ---- */

static uint64_t dice;

static int below(int limit)
{
    return (int)dice_below(&dice, (uint32_t)limit);
}

static double number(void)
{
    return 0.25 * (below(13) - 6) + 0.125;
}

static void draw(void)
{
    ranks = 1 + below(RANKS);
    order = below(2) ? DIFF_ORDER_DATA : DIFF_ORDER_PROGRAM;
    pass_count = 1 + below(PASSES);
    memset(steps, 0, sizeof steps);
    for (int i = INPUTS; i < ALL; i++) {
        steps[i] = (struct step){.kind = (enum kind)below(KINDS),
                                 .a = below(i),
                                 .b = below(i),
                                 .factor = number(),
                                 .kept = below(3) == 0};
        for (int k = 0; k < MANY; k++)
            steps[i].parts[k] = below(i);
    }
    for (int r = 0; r < RANKS; r++)
        for (int i = 0; i < INPUTS * N; i++)
            inputs[r][i / N][i % N] = number();
    for (int p = 0; p < pass_count; p++) {
        passes[p].roots = 1 + below(ROOTS);
        passes[p].clears = p > 0 && below(2) == 0;
        for (int i = 0; i < passes[p].roots; i++) {
            passes[p].of[i] = below(3) ? ALL - 1 - below(3) : below(ALL);
            passes[p].loss[i] = below(2);
            for (int r = 0; r < RANKS; r++)
                for (int k = 0; k < N; k++)
                    passes[p].weight[r][i][k] = number();
        }
    }
}

/* ---- by hand: all ranks together ---- */

struct world {
    double value[RANKS][ALL][N], change[RANKS][ALL][N];
};

/* Which number is changed, of which rank. */
struct place {
    int rank, tensor, element;
};

static double part_of(double all[RANKS][ALL][N], int rank, const struct step *step, int k)
{
    const double *a = all[rank][step->a];
    double sum = 0;
    switch (step->kind) {
    case TURN:
        return a[(k + 1) % N];
    case ALLREDUCE:
    case STARTED:
    case UNRECORDED:
        for (int r = 0; r < ranks; r++)
            sum += all[r][step->a][k];
        return sum;
    case SHIFT: /* from the rank before */
        return all[(rank + ranks - 1) % ranks][step->a][k];
    case BCAST:
        return all[ranks - 1][step->a][k];
    case SCAN:
        for (int r = 0; r <= rank; r++)
            sum += all[r][step->a][k];
        return sum;
    case EXSCAN:
        for (int r = 0; r < rank; r++)
            sum += all[r][step->a][k];
        return sum;
    case GATHERED: /* of all values the last ones */
        return all[ranks - 1][step->a][k];
    case COLLECTED:
        return all[rank][step->parts[k == 0 ? 3 : MANY - 1]][k == 0 ? 1 : 0];
    case SPREAD:
        return a[k] * (WIDE - 1);
    default:
        return a[k];
    }
}

static void evaluate(struct world *world, struct place place)
{
    for (int i = 0; i < ALL; i++)
        for (int r = 0; r < ranks; r++)
            for (int k = 0; k < N; k++) {
                const struct step *step = &steps[i];
                double *value = &world->value[r][i][k], *change = &world->change[r][i][k];
                const double *a = &world->value[r][step->a][k], *b = &world->value[r][step->b][k],
                             *a_dot = &world->change[r][step->a][k],
                             *b_dot = &world->change[r][step->b][k];
                if (i < INPUTS) {
                    *value = inputs[r][i][k];
                    *change = 0;
                } else if (step->kind == ADD) {
                    *value = *a + *b;
                    *change = *a_dot + *b_dot;
                } else if (step->kind == MUL) {
                    *value = *a * *b;
                    *change = *a_dot * *b + *a * *b_dot;
                } else if (step->kind == SCALE) {
                    *value = *a * step->factor;
                    *change = *a_dot * step->factor;
                } else if (step->kind == SINE) {
                    *value = sin(*a);
                    *change = cos(*a) * *a_dot;
                } else { /* linear, and moves numbers about */
                    bool constant = step->kind == DETACH || step->kind == UNRECORDED;
                    *value = part_of(world->value, r, step, k);
                    *change = constant ? 0 : part_of(world->change, r, step, k);
                }
                if (r == place.rank && i == place.tensor && k == place.element)
                    *change += 1;
            }
}

/* The derivative of what the passes count for a tensor: for the first input those since it was last cleared. */
static double derivative(struct place place)
{
    static struct world world;
    double sum = 0;
    int first = 0;
    for (int p = 0; p < pass_count; p++)
        if (passes[p].clears && place.tensor == 0)
            first = p;
    evaluate(&world, place);
    for (int p = first; p < pass_count; p++)
        for (int i = 0; i < passes[p].roots; i++)
            for (int r = 0; r < ranks; r++)
                for (int k = 0; k < N; k++)
                    sum += passes[p].weight[r][i][k] * world.change[r][passes[p].of[i]][k];
    return sum;
}

/* ---- the program ---- */

static struct diff_tensor *collected(struct diff_tensor *const *made, const struct step *step)
{
    struct diff_tensor *parts[MANY];
    for (int i = 0; i < MANY; i++)
        parts[i] = made[step->parts[i]];
    struct diff_tensor *all = diff_concat(MANY, parts);
    return diff_take(all, N, (size_t[]){3 * N + 1, (MANY - 1) * N});
}

/* As many ways at once from a value to its sum. */
static struct diff_tensor *spread(struct diff_tensor *x)
{
    struct diff_tensor *parts[WIDE];
    for (int i = 0; i < WIDE; i++)
        parts[i] = diff_scale(x, i == 7 ? 0 : 1);
    return diff_sum_axis(diff_stack(WIDE, parts), 0);
}

static struct diff_tensor *apply(struct diff_tensor *const *made, const struct step *step, int rank)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    struct diff_tensor *a = made[step->a], *b = made[step->b];
    switch (step->kind) {
    case ADD:
        return diff_add(a, b);
    case MUL:
        return diff_mul(a, b);
    case SCALE:
        return diff_scale(a, step->factor);
    case SINE:
        return diff_sin(a);
    case TURN:
        return diff_take(a, N, (size_t[]){1, 0});
    case ALLREDUCE:
    case UNRECORDED:
        return diff_allreduce(a, MPI_SUM, comm);
    case STARTED:
        return diff_wait(diff_iallreduce(a, MPI_SUM, comm));
    case SHIFT:
        return diff_sendrecv(a, (rank + 1) % ranks, 5, a, (rank + ranks - 1) % ranks, 5, comm);
    case BCAST:
        return diff_bcast(a, ranks - 1, comm);
    case SCAN:
        return diff_scan(a, MPI_SUM, comm);
    case EXSCAN:
        return diff_exscan(a, MPI_SUM, comm);
    case GATHERED:
        return diff_slice(diff_allgather(a, comm), (size_t)(ranks - 1) * N, N);
    case DETACH:
        return diff_detach(a);
    case JOINED:
        return diff_join(a, 1, &b);
    case COLLECTED:
        return collected(made, step);
    case SPREAD:
        return spread(a);
    default:
        return a;
    }
}

static void pass_do(struct diff_tape *tape, struct diff_tensor *const *made, int number_of,
                    int rank)
{
    const struct pass *pass = &passes[number_of];
    struct diff_tensor *roots[ROOTS], *seeds[ROOTS];
    bool losses = true, last = number_of == pass_count - 1;
    if (pass->clears)
        diff_gradient_clear(made[0]);
    for (int i = 0; i < pass->roots; i++) {
        seeds[i] = diff_constant(tape, DIFF_DOUBLE, 1, (size_t[]){N}, pass->weight[rank][i]);
        roots[i] = made[pass->of[i]];
        losses = losses && pass->loss[i];
        if (!pass->loss[i])
            continue;
        roots[i] = diff_dot(roots[i], seeds[i]);
        seeds[i] = NULL;
    }
    diff_backward_from(tape, (size_t)pass->roots, roots, losses ? NULL : seeds,
                       last ? 0 : DIFF_RETAIN);
}

static void program(int rank, int size)
{
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *made[ALL];
    (void)size;
    diff_tape_order(tape, order);
    for (int i = 0; i < ALL; i++) {
        if (steps[i].kind == UNRECORDED && i >= INPUTS)
            diff_no_grad_begin(tape);
        made[i] = i < INPUTS ? diff_leaf(tape, DIFF_DOUBLE, 1, (size_t[]){N}, inputs[rank][i])
                             : apply(made, &steps[i], rank);
        if (steps[i].kind == UNRECORDED && i >= INPUTS)
            diff_no_grad_end(tape);
        variable[rank][i] = diff_requires_gradient(made[i]);
        memcpy(values[rank][i], diff_values(made[i]), sizeof values[rank][i]);
        if (steps[i].kept)
            diff_retain_gradient(made[i]);
    }
    for (int p = 0; p < pass_count; p++)
        pass_do(tape, made, p, rank);
    for (int i = 0; i < ALL; i++)
        if (i < INPUTS || (steps[i].kept && variable[rank][i]))
            memcpy(gradients[rank][i], diff_gradient(made[i]), sizeof gradients[rank][i]);
    diff_tape_free(tape);
    expect(true, "it ends");
}

/* ---- comparing ---- */

static bool near(double got, double expected)
{
    return fabs(got - expected) <= 1e-11 * (1 + fabs(expected));
}

static bool communicates(enum kind kind)
{
    return kind == ALLREDUCE || kind == STARTED || kind == SHIFT || kind == BCAST || kind == SCAN ||
           kind == EXSCAN || kind == GATHERED;
}

/* Whether a tensor depends on an input in a way that is recorded, or, in program order, on other ranks. */
static bool depends(int tensor)
{
    const struct step *step = &steps[tensor];
    if (tensor < INPUTS)
        return true;
    if (step->kind == DETACH || step->kind == UNRECORDED)
        return false;
    bool some = depends(step->a) || (order == DIFF_ORDER_PROGRAM && communicates(step->kind));
    if (step->kind == COLLECTED) {
        some = false;
        for (int k = 0; k < MANY; k++)
            some = some || depends(step->parts[k]);
    }
    return some ||
           ((step->kind == ADD || step->kind == MUL || step->kind == JOINED) && depends(step->b));
}

static bool compare(char *text, size_t size)
{
    static struct world world;
    bool right = true;
    evaluate(&world, (struct place){-1, 0, 0});
    for (int r = 0; r < ranks && right; r++)
        for (int i = 0; i < ALL && right; i++) {
            if (variable[r][i] != depends(i)) {
                snprintf(text, size, "rank %d, tensor %d (%d): a variable: %d", r, i,
                         (int)steps[i].kind, variable[r][i]);
                right = false;
            }
            for (int k = 0; k < N && right; k++) {
                double value = world.value[r][i][k], slope;
                right = near(values[r][i][k], value);
                if (!right)
                    snprintf(text, size, "rank %d, value %d of %d: %.17g, not %.17g", r, k, i,
                             values[r][i][k], value);
                if (!right || (i >= INPUTS && !(steps[i].kept && variable[r][i])))
                    continue;
                slope = derivative((struct place){r, i, k});
                right = near(gradients[r][i][k], slope);
                if (!right)
                    snprintf(text, size, "rank %d, gradient %d of %d (%d): %.17g, not %.17g", r, k,
                             i, (int)steps[i].kind, gradients[r][i][k], slope);
            }
        }
    return right;
}

int main(void)
{
    struct dice_seeds seeds = dice_seeds(PROGRAMS);
    char text[200] = "";
    unsigned long long i;
    (void)omp_get_max_threads(); /* what it registers for the end is the process's, not a rank's */
    for (i = 0; i < seeds.count; i++) {
        dice = seeds.first + i;
        draw();
        struct sim_world_options options = world_options(ranks);
        if (below(2) &&
            ranks == 1) { /* of several, each might choose another order of what all do */
            options.driver = SIM_CHOOSE_SEED;
            options.seed = dice;
        }
        struct world_result result = world_try(options, program);
        if (result.outcome != OUTCOME_FINISHED)
            snprintf(text, sizeof text, "%s", world_outcomes[result.outcome]);
        if (result.outcome != OUTCOME_FINISHED || !compare(text, sizeof text))
            break;
    }
    tap_test_str(text, "", TAP_HERE, "the passes of %llu random programs are right (program %llu)",
                 seeds.count, seeds.first + i);
    return tap_done();
}
