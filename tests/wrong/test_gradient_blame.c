/* Who is named for a wrong gradient, in worlds that are recorded as a run's first one is, so that a call can be named:
 *
 *   an operation of the program's with a wrong adjoint: its node, as the recorder numbered it
 *   one element of an operand, or a factor or a shift, that was computed from x by hand: where it is used
 *   a value that went through a call of MPI and came back as a constant, or became the loss: the first call after it was made that is
 *       the program's own, and not of an operation on the tape
 *   a value that did so without a call, or as it was: no call
 *   a program that goes on otherwise a little beside the point: nobody, in whatever they differ
 *
 * Each in steps on the tape itself, and in a loop with checkpoints, whose nodes the recorder does not number: no call is named then. */
#include "tests/diff_world.h"

#include "collectives/tape/tape.h"
#include "collectives/tape/tensor.h"
#include "recorder/recorder.h"

#include <math.h>
#include <stdarg.h>

enum { RANKS = 3, N = 3, STEPS = 3 };
enum family {
    RIGHT,
    OWN,
    ELEMENT,
    FACTOR,
    SHIFT,
    CALLED,
    HANDED,
    INPUT_CALLED,
    INPUT_HANDED,
    LOSS,
    OTHERWISE,
    FAMILIES
};
enum difference { LENGTH, NAME, GIVEN, MADE, MORE, LESS, DIFFERENCES };

static struct {
    enum family family;
    int who, at; /* the rank; the element, the step, or in what the programs differ */
    bool looped;
} plan;

static bool recorded; /* the first world of a check alone is */

/* As that had it: the recorder's number of the node, and how many calls had begun when it was made. */
static uint32_t node_record, position;

/* ---- the program ---- */

static void same(size_t count, const void *x, void *y, void *context)
{
    (void)context;
    memcpy(y, x, count * sizeof(double));
}

static void same_back(size_t count, const void *x, const void *y_bar, void *x_bar, void *context)
{
    const bool *wrong = context;
    same(count, y_bar, x_bar, NULL);
    for (size_t i = 0; i < count && *wrong; i++)
        ((double *)x_bar)[i] *= 1.25;
    (void)x;
}

static const struct diff_custom_rules rules = {.name = "own", .forward = same, .vjp = same_back};
static bool right_adjoint = false, wrong_adjoint = true;

static struct diff_tensor *noted(struct diff_tensor *x)
{
    if (recorded)
        node_record = x->node->record;
    return x;
}

static void step(struct diff_tape *tape, size_t number, size_t count, struct diff_tensor **state,
                 void *context)
{
    const int *rank = context;
    bool wrong = plan.family == OWN && *rank == plan.who && (int)number == plan.at;
    (void)tape, (void)count;
    struct diff_tensor *y = diff_sin(diff_allreduce(state[0], MPI_SUM, MPI_COMM_WORLD));
    y = diff_custom(y, &rules, wrong ? &wrong_adjoint : &right_adjoint);
    if (wrong && !plan.looped)
        noted(y);
    state[0] = y;
}

static struct diff_tensor *steps(struct diff_tape *tape, struct diff_tensor *x, int *rank)
{
    if (plan.looped)
        diff_checkpoint(tape, STEPS, 0, step, 1, &x, rank);
    else
        for (size_t i = 0; i < STEPS; i++)
            step(tape, i, 1, &x, rank);
    return x;
}

static struct diff_tensor *constant(struct diff_tape *tape, const double *values)
{
    return diff_constant(tape, DIFF_DOUBLE, 1, (size_t[]){N}, values);
}

/* What adds nothing to the loss, but is of another form where x[0] has moved up: longer, another operation, with a longer operand
 * that it only waits for, with a longer result that nobody takes, or there at all. */
static struct diff_tensor *otherwise(struct diff_tape *tape, struct diff_tensor *x,
                                     struct diff_tensor *loss, bool moved)
{
    size_t length = moved ? 2 : 1;
    struct diff_tensor *y = x, *given = diff_constant(tape, DIFF_DOUBLE, 1, &length, NULL);
    if (plan.at == LENGTH)
        y = diff_slice(x, 0, length);
    else if (plan.at == NAME)
        y = moved ? diff_sin(x) : diff_cos(x);
    else if (plan.at == GIVEN)
        y = diff_join(x, 1, &given);
    loss = diff_add(loss, diff_scale(diff_sum(y), 0));
    if (plan.at == MADE)
        diff_slice(x, 0, length);
    else if (plan.at >= MORE && (plan.at == MORE) == moved)
        diff_sin(x);
    return loss;
}

/* A value that is no longer on the tape: through a call of all ranks, the program's own or one of an operation that is not recorded,
 * or by the program's hands, as it is (0) or changed (1). */
static void take_off(struct diff_tensor *x, bool here, bool by_call, double *off)
{
    const double *numbers = diff_values(x), others[N] = {0.5, 1, 2};
    size_t count = diff_count(x);
    if (recorded && here)
        position = record_position();
    if (plan.family == CALLED && plan.at == 2) {
        diff_no_grad_begin(x->tape);
        x = diff_allreduce(here ? x : constant(x->tape, others), MPI_SUM, MPI_COMM_WORLD);
        diff_no_grad_end(x->tape);
        memcpy(off, diff_values(x), count * sizeof *off);
    } else if (by_call) {
        MPI_Allreduce(here ? numbers : others, off, (int)count, MPI_DOUBLE, MPI_SUM,
                      MPI_COMM_WORLD);
    }
    for (size_t i = 0; i < count && !by_call; i++)
        off[i] = numbers[i] * (plan.at ? 2 : 1);
    if (by_call || plan.at == 0) /* which does not matter any more */
        MPI_Barrier(MPI_COMM_WORLD);
}

static struct diff_tensor *first_of(struct diff_tape *tape, struct diff_tensor *x, bool here)
{
    double off[N] = {0};
    if (plan.family != INPUT_CALLED && plan.family != INPUT_HANDED)
        return diff_scale(x, 1.5);
    take_off(x, here, plan.family == INPUT_CALLED, off);
    return here ? constant(tape, off)
                : diff_scale(x, 1.5); /* x itself is used by nobody else there */
}

static struct diff_tensor *loss_of(struct diff_tape *tape, struct diff_tensor *loss, bool here)
{
    double off[N] = {0};
    if (plan.family != LOSS)
        return loss;
    if (here)
        noted(loss);
    take_off(loss, here, plan.at == 2, off);
    return here ? diff_constant(tape, DIFF_DOUBLE, 1, (size_t[]){1}, off) : loss;
}

static void program(void)
{
    int rank;
    double values[N], weights[N], factors[N], off[N];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < N; i++) {
        values[i] = 0.35 + 0.1 * i - 0.2 * rank;
        weights[i] = 1.5 - 0.25 * i + rank;
        factors[i] = 0.75 + 0.5 * i;
    }
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){N}, values);
    const double *numbers = diff_values(x);
    if (plan.family == LOSS) /* another one, which is right */
        diff_backward(diff_dot(x, x));
    bool here = rank == plan.who, leaves = plan.family == CALLED || plan.family == HANDED;
    struct diff_tensor *left = leaves && plan.at == 1 ? diff_exp(x) : NULL; /* before all others */
    struct diff_tensor *y = steps(tape, first_of(tape, x, here), &rank), *z = y;
    if (here && plan.family == ELEMENT)
        factors[plan.at] = numbers[plan.at] * numbers[plan.at];
    if (leaves) {
        left = left ? left : diff_exp(y);
        z = diff_allreduce(y, MPI_SUM, MPI_COMM_WORLD); /* a call that is not the program's */
        if (here)
            noted(left);
        take_off(left, here, plan.family == CALLED, off);
        if (here)
            memcpy(factors, off, sizeof factors);
    }
    z = diff_mul(z, constant(tape, factors));
    if (here && plan.family == FACTOR)
        z = diff_scale(z, numbers[plan.at]);
    if (here && plan.family == SHIFT)
        z = diff_mul(z, diff_shift(z, numbers[plan.at]));
    struct diff_tensor *loss = diff_dot(z, constant(tape, weights));
    if (plan.family == OTHERWISE) {
        struct diff_tensor *wrong = diff_custom(x, &rules, &wrong_adjoint);
        loss = diff_add(loss, diff_dot(wrong, constant(tape, weights)));
        loss = otherwise(tape, x, loss, here && numbers[0] > 0.35 - 0.2 * rank);
    }
    diff_backward(loss_of(tape, loss, here));
    diff_tape_free(tape);
}

/* ---- worlds that are recorded ---- */

static int recorded_main(void *context, int rank)
{
    (void)rank;
    if (recorded)
        recording_rank_begin(context);
    MPI_Init(NULL, NULL);
    program();
    world_calls_left();
    MPI_Finalize();
    return 0;
}

static int recorded_run(void *context, struct diff_probe *probe, int worker)
{
    struct failure failure = {0};
    struct recording *recording =
        recorded ? recording_new(RANKS, RECORD_LEVEL_OPS, &failure) : NULL;
    struct sim_world_options options = world_options(RANKS);
    (void)context, (void)worker;
    options.slots[MPIX_SLOT_PROBE] = probe;
    struct sim_world *world = sim_world_new(&options, &failure);
    enum trace_outcome outcome = sim_world_run(world, recorded_main, recording);
    sim_world_free(world);
    if (recorded)
        recording_free(recording);
    recorded = false;
    return (int)outcome;
}

/* ---- judging ---- */

__attribute__((format(printf, 2, 3))) static bool says(const struct gradcheck_culprit *culprit,
                                                       const char *format, ...)
{
    char words[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    return strstr(culprit->text, words) != NULL;
}

static bool is_called(const struct gradcheck_culprit *culprit, const char *name, bool numbered)
{
    return culprit->outside && culprit->rank == plan.who && strcmp(culprit->name, name) == 0 &&
           (strcmp(name, "x") == 0 || culprit->record == (numbered ? node_record : 0)) &&
           culprit->position == (numbered ? position + 1 : 0) &&
           says(culprit, "used outside of the tape (detached, or by %s)",
                numbered ? "the call named here" : "a call after it");
}

static bool is_handed(const struct gradcheck_culprit *culprit, const char *name, bool numbered)
{
    return !culprit->outside && culprit->rank == plan.who && strcmp(culprit->name, name) == 0 &&
           (strcmp(name, "x") == 0 || culprit->record == (numbered ? node_record : 0)) &&
           !culprit->position && says(culprit, "taken off the tape (detached, or by diff_values)");
}

static bool is_due(const struct gradcheck_culprit *culprit)
{
    bool numbered = !plan.looped;
    switch (plan.family) {
    case RIGHT:
        return !culprit->found && !culprit->text[0];
    case OWN:
        return culprit->found && !culprit->outside && culprit->rank == plan.who &&
               strcmp(culprit->label, "own") == 0 && !culprit->text[0] && !culprit->position &&
               culprit->record == (numbered ? node_record : 0) && (!numbered || node_record);
    case ELEMENT:
        return culprit->rank == plan.who && !culprit->position &&
               says(culprit,
                    "an operand of mul on rank %d moves with the inputs, but is a constant",
                    plan.who);
    case FACTOR:
    case SHIFT: /* a shift is a factor of 1 and a summand */
        return culprit->rank == plan.who && !culprit->position &&
               says(culprit, "the factor or shift of scale on rank %d moves with the inputs",
                    plan.who);
    case CALLED:
        return is_called(culprit, "exp", numbered) &&
               says(culprit, ": an operand of mul on rank %d moves with it", plan.who);
    case HANDED: /* where nothing is numbered it is only known that it is the same value */
        return numbered || plan.at == 0 ? is_handed(culprit, "exp", numbered)
                                        : is_called(culprit, "exp", false);
    case INPUT_CALLED:
        return is_called(culprit, "x", true);
    case INPUT_HANDED:
        return is_handed(culprit, "x", true);
    case LOSS:
        return says(culprit, "the loss of rank %d moves with it", plan.who) &&
               (plan.at == 2               ? is_called(culprit, "dot", numbered)
                : numbered || plan.at == 0 ? is_handed(culprit, "dot", numbered)
                                           : is_called(culprit, "dot", false));
    default:
        return !culprit->found &&
               says(culprit, "a little away from these inputs the program runs other operations");
    }
}

static void check(void)
{
    static const char *const names[FAMILIES] = {"right",
                                                "a wrong adjoint",
                                                "an element",
                                                "a factor",
                                                "a shift",
                                                "what went through a call",
                                                "what was taken off",
                                                "x through a call",
                                                "x taken off",
                                                "a loss that is a constant",
                                                "otherwise beside the point"};
    struct diff_runner runner = {recorded_run, NULL, RANKS, 1};
    struct gradcheck_options options = gradcheck_options_default();
    struct gradcheck_result result;
    options.elements_max = 1;
    options.points = 1;
    recorded = true;
    gradcheck_run(&runner, &options, &result);
    const struct gradcheck_culprit *culprit = &result.culprit;
    char text[700];
    snprintf(text, sizeof text,
             "%zu wrong; %s of rank %d, record %u for %u, position %u for %u: %s", result.failed,
             culprit->name, culprit->rank, culprit->record, node_record, culprit->position,
             position, culprit->text);
    bool well =
        !result.base_failed && (result.failed > 0) == (plan.family != RIGHT) && is_due(culprit);
    tap_test_str(well ? "due" : text, "due", TAP_HERE, "%s, %d of rank %d%s", names[plan.family],
                 plan.at, plan.who, plan.looped ? ", with checkpoints" : "");
    gradcheck_release(&result);
}

/* The next call that is the program's, of random stretches that are not: by looking at every call. */
static void calls_after(void)
{
    enum { CALLS = 24 };
    uint64_t dice = 17;
    int wrong = 0;
    for (int i = 0; i < 2000; i++) {
        struct probe_calls stretches[CALLS];
        struct diff_probe_rank row = {.calls = stretches};
        bool own[CALLS + 2] = {false};
        for (uint32_t from = dice_below(&dice, 4), to; from < CALLS;
             from = to + dice_below(&dice, 3)) {
            to = from + 1 + dice_below(&dice, 4);
            to = to > CALLS ? CALLS : to;
            stretches[row.calls_count++] = (struct probe_calls){from, to};
            for (uint32_t call = from + 1; call <= to; call++)
                own[call] = true;
        }
        for (uint32_t at = 0; at <= CALLS; at++) {
            uint32_t next = at + 1;
            while (own[next])
                next++;
            wrong += probe_call_after(&row, at) != next;
        }
    }
    tap_is_int(wrong, 0, "which call is the next that is the program's own");
}

int main(void)
{
    calls_after();
    static const int kinds[FAMILIES] = {1, STEPS, N, N, N, 3, 2, 1, 2, 3, DIFFERENCES};
    unsigned long long number = 0;
    for (plan.family = 0; plan.family < FAMILIES; plan.family++)
        for (plan.at = 0; plan.at < kinds[plan.family]; plan.at++)
            for (plan.who = 0; plan.who < RANKS; plan.who++)
                for (int looped = 0; looped < 2; looped++) {
                    bool told = plan.family <= OWN || plan.family == CALLED ||
                                plan.family == HANDED || plan.family == LOSS;
                    plan.looped = looped;
                    if (plan.family >= ELEMENT && plan.family <= SHIFT && plan.who != plan.at)
                        continue;
                    if (looped && !told && (plan.at || plan.who))
                        continue;
                    if (dice_takes(number++))
                        check();
                }
    return tap_done();
}
