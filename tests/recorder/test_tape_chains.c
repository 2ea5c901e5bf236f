/* Random programs on a tape, right ones and such with an operation of their own whose adjoint is wrong on one rank: that one is blamed,
 * there; of two the one nearer to the loss; nobody where all are right. */
#include "tests/diff_world.h"

#include <math.h>

enum { RANKS_MOST = 4, EACH = 2, N_MOST = RANKS_MOST * EACH, STEPS = 12 };

enum step_kind {
    SINE,
    PRODUCT,
    SUM_OF_TWO,
    TURNED, /* the values in another order */
    OWN,    /* an operation of the program's */
    LEAVES, /* on one rank the values go on as a constant */
    ALLREDUCE,
    BCAST,
    ROUND,
    ALLTOALL,
    SCAN,
    ALLGATHER,
    STEP_KINDS
};

static struct {
    int ranks, n, count, who, wrong, second; /* steps; `second` is nearer to the input, -1: none */
    enum diff_type type;
    bool looped; /* own operations run in a loop of two steps that keeps few states */
    struct step {
        enum step_kind kind;
        int from, other, at; /* values; root, or how far */
    } steps[STEPS];
} plan;

static uint64_t dice;

static int below(int n)
{
    return (int)dice_below(&dice, (uint32_t)n);
}

/* ---- the operation ---- */

static double value_at(const void *values, size_t i)
{
    return plan.type == DIFF_FLOAT ? (double)((const float *)values)[i]
                                   : ((const double *)values)[i];
}

static void value_set(void *values, size_t i, double value)
{
    if (plan.type == DIFF_FLOAT)
        ((float *)values)[i] = (float)value;
    else
        ((double *)values)[i] = value;
}

static void own_forward(size_t count, const void *x, void *y, void *context)
{
    (void)context;
    for (size_t i = 0; i < count; i++)
        value_set(y, i, sin(1.3 * value_at(x, i)));
}

static void own_vjp(size_t count, const void *x, const void *y_bar, void *x_bar, void *context)
{
    const double *factor = context;
    for (size_t i = 0; i < count; i++)
        value_set(x_bar, i, *factor * 1.3 * cos(1.3 * value_at(x, i)) * value_at(y_bar, i));
}

static const struct diff_custom_rules rules = {
    .name = "own", .forward = own_forward, .vjp = own_vjp};
static double once = 1, too_much = 1.4;

/* ---- the program ---- */

static struct diff_tensor *vector(struct diff_tape *tape, const char *name, const double *values)
{
    float narrow[N_MOST];
    for (int i = 0; i < plan.n; i++)
        narrow[i] = (float)values[i];
    const void *data = plan.type == DIFF_FLOAT ? (const void *)narrow : values;
    size_t shape = (size_t)plan.n;
    return name ? diff_input(tape, name, plan.type, 1, &shape, data)
                : diff_constant(tape, plan.type, 1, &shape, data);
}

/* Each is called at a line of its own, by which it is known. */
static __attribute__((noinline)) struct diff_tensor *own_right(struct diff_tensor *x)
{
    struct diff_tensor *y = diff_custom(x, &rules, &once);
    return y;
}

static __attribute__((noinline)) struct diff_tensor *own_wrong(struct diff_tensor *x, bool wrong)
{
    struct diff_tensor *y = diff_custom(x, &rules, wrong ? &too_much : &once);
    return y;
}

static __attribute__((noinline)) struct diff_tensor *own_second(struct diff_tensor *x, bool wrong)
{
    struct diff_tensor *y = diff_custom(x, &rules, wrong ? &too_much : &once);
    return y;
}

static struct diff_tensor *own(struct diff_tensor *x, int number, int rank)
{
    bool wrong = rank == plan.who;
    return number == plan.wrong    ? own_wrong(x, wrong)
           : number == plan.second ? own_second(x, wrong)
                                   : own_right(x);
}

/* Whether the last of these functions that begins before the place is own_wrong. */
static bool is_in_wrong(const void *site)
{
    uintptr_t at = (uintptr_t)site, wrong = (uintptr_t)own_wrong;
    uintptr_t others[] = {(uintptr_t)own_right, (uintptr_t)own_second, (uintptr_t)own,
                          (uintptr_t)own_vjp};
    bool between = false;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        between = between || (others[i] > wrong && others[i] <= at);
    return at > wrong && at - wrong < 4096 && !between;
}

static struct diff_tensor *leave(struct diff_tape *tape, struct diff_tensor *x, int rank)
{
    size_t shape = (size_t)plan.n;
    return rank == plan.who ? diff_constant(tape, plan.type, 1, &shape, diff_values(x)) : x;
}

struct loop {
    int number, rank;
};

static void loop_step(struct diff_tape *tape, size_t step, size_t count, struct diff_tensor **state,
                      void *context)
{
    const struct loop *loop = context;
    (void)tape, (void)count;
    state[0] = step ? diff_sin(state[0]) : own(state[0], loop->number, loop->rank);
}

static struct diff_tensor *own_looped(struct diff_tape *tape, struct diff_tensor *x,
                                      struct loop *loop)
{
    diff_checkpoint(tape, 2, 0, loop_step, 1, &x, loop);
    return x;
}

static struct diff_tensor *communicate(struct diff_tensor *x, const struct step *step, int rank)
{
    int ranks = plan.ranks;
    size_t n = (size_t)plan.n;
    switch (step->kind) {
    case ALLREDUCE:
        return diff_allreduce(x, MPI_SUM, MPI_COMM_WORLD);
    case BCAST:
        return diff_bcast(x, step->at, MPI_COMM_WORLD);
    case ROUND:
        return diff_sendrecv(x, (rank + step->at) % ranks, 0, x, (rank + ranks - step->at) % ranks,
                             0, MPI_COMM_WORLD);
    case ALLTOALL:
        return diff_alltoall(x, MPI_COMM_WORLD);
    case SCAN:
        return diff_scan(x, MPI_SUM, MPI_COMM_WORLD);
    default:
        return diff_slice(diff_allgather(x, MPI_COMM_WORLD), n * (size_t)step->at, n);
    }
}

static void program(void)
{
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *values[STEPS + 1], *loss = NULL;
    double numbers[N_MOST], weights[N_MOST];
    struct loop loops[STEPS];
    size_t half = (size_t)plan.n / 2;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < plan.n; i++) {
        numbers[i] = 0.5 * sin(1.7 * i + 2.3 * rank + 0.4);
        weights[i] = 1 + 0.2 * rank - 0.1 * i;
    }
    values[0] = vector(tape, "x", numbers);
    struct diff_tensor *weight = vector(tape, NULL, weights);
    for (int s = 0; s < plan.count; s++) {
        const struct step *step = &plan.steps[s];
        loops[s] = (struct loop){s, rank};
        struct diff_tensor *x = values[step->from], *y = values[step->other];
        if (step->kind == SINE)
            x = diff_sin(x);
        else if (step->kind == PRODUCT)
            x = diff_mul(x, y);
        else if (step->kind == SUM_OF_TWO)
            x = diff_scale(diff_add(x, y), 0.5);
        else if (step->kind == TURNED)
            x = diff_concat(
                2, (struct diff_tensor *[]){diff_slice(x, half, half), diff_slice(y, 0, half)});
        else if (step->kind == LEAVES)
            x = leave(tape, x, rank);
        else if (step->kind == OWN)
            x = plan.looped ? own_looped(tape, x, &loops[s]) : own(x, s, rank);
        else
            x = diff_scale(communicate(x, step, rank), 0.6);
        values[s + 1] = x;
        struct diff_tensor *term = diff_dot(x, weight);
        loss = loss ? diff_add(loss, term) : term;
    }
    diff_backward(loss);
    diff_tape_free(tape);
}

/* ---- judging ---- */

static void plan_draw(int wrong)
{
    plan.ranks = 1 + below(RANKS_MOST);
    plan.n = plan.ranks * EACH;
    plan.type = wrong || below(4) ? DIFF_DOUBLE : DIFF_FLOAT;
    plan.looped = wrong < 3 && below(3) == 0;
    plan.count = 3 + below(STEPS - 2);
    plan.who = below(plan.ranks);
    plan.wrong = plan.second = -1;
    for (int s = 0; s < plan.count; s++) {
        struct step *step = &plan.steps[s];
        step->kind = (enum step_kind)below(STEP_KINDS);
        step->kind = step->kind == LEAVES ? SINE : step->kind;
        step->from = below(s + 1);
        step->other = below(s + 1);
        step->at = below(plan.ranks);
    }
    if (wrong == 3) {
        plan.steps[below(plan.count)].kind = LEAVES;
    } else if (wrong > 0) {
        plan.wrong = wrong - 1 + below(plan.count - wrong + 1);
        plan.steps[plan.wrong].kind = OWN;
    }
    if (wrong == 2) {
        plan.second = below(plan.wrong);
        plan.steps[plan.second].kind = OWN;
    }
}

static bool holds(int wrong)
{
    struct diff_world world = {plan.ranks, program, SIM_SEND_RENDEZVOUS, 0};
    struct diff_runner runner = {diff_world_run, &world, plan.ranks, 1};
    struct gradcheck_options options = gradcheck_options_default();
    struct gradcheck_result result;
    options.points = 1;
    options.elements_max = 2;
    gradcheck_run(&runner, &options, &result);
    const struct gradcheck_culprit *culprit = &result.culprit;
    bool right = !result.base_failed && (result.failed > 0) == (wrong > 0);
    char place[80];
    snprintf(place, sizeof place, " rank %d moves with ", plan.who);
    if (wrong == 3) /* an operand on the rank, or its loss */
        right = right && culprit->rank == plan.who && strstr(culprit->text, place) &&
                strstr(culprit->text, ", but is a constant to the tape");
    else
        right = right && culprit->found == (wrong > 0);
    if (wrong == 1 || wrong == 2)
        right = right && is_in_wrong(culprit->site) && culprit->rank == plan.who &&
                !culprit->marked && !culprit->missing && !culprit->outside && !culprit->never_ran &&
                culprit->defect != 0;
    if (!right)
        tap_note("%d ranks, %s, %zu failed; rank %d is wrong at step %d of %d, and %d; blamed: %s "
                 "of rank %d, %s",
                 plan.ranks, plan.type == DIFF_FLOAT ? "float" : "double", result.failed, plan.who,
                 plan.wrong, plan.count, plan.second, culprit->name, culprit->rank, culprit->text);
    gradcheck_release(&result);
    return right;
}

int main(void)
{
    static const char *const names[] = {
        "of right ones nobody is blamed", "a wrong adjoint of one rank is found there",
        "of two the one nearer to the loss", "what goes on as a constant is told where it is used"};
    struct dice_seeds seeds = dice_seeds(16);
    for (int wrong = 0; wrong < 4; wrong++) {
        int missed = 0;
        for (unsigned long long i = 0; i < seeds.count; i++) {
            dice = (seeds.first + i) * 4 + (unsigned)wrong;
            plan_draw(wrong);
            missed += !holds(wrong);
        }
        tap_is_int(missed, 0, "random programs on a tape: %s", names[wrong]);
    }
    return tap_done();
}
