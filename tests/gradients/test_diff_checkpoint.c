/* Checkpointed loops: the same bits as plain ones, in values and gradients; their gradients are
 * checked like any others; no step runs more often than promised; misuse is told. */
#include "tests/diff_world.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N = 3, STEPS_MOST = 512, RANKS_MOST = 4 };

/* What a body does to its state besides the ring. */
enum form { PLAIN, COLLECTIVES, STARTED, SUBCOMMUNICATOR, NESTED, SINGLE, FORMS };
static const char *const names[FORMS] = {
    "messages",          "collectives",   "nonblocking messages",
    "a subcommunicator", "a loop within", "float"};

static struct plan {
    enum form form;
    enum diff_order order;
    size_t steps, memory;
    bool checkpoints;
} plan;
static struct seen {
    double value, gradients[2 * N];
    int runs[STEPS_MOST], most;
} seen[2][RANKS_MOST];

struct context {
    int rank, size;
    MPI_Comm pair;
};

static struct diff_tensor *around(const struct context *at, struct diff_tensor *x)
{
    return diff_sendrecv(x, (at->rank + 1) % at->size, 0, x, (at->rank + at->size - 1) % at->size,
                         0, MPI_COMM_WORLD);
}

static struct diff_tensor *started(const struct context *at, struct diff_tensor *x)
{
    struct diff_tensor *in =
        diff_irecv(diff_scale(x, 0.5), (at->rank + at->size - 1) % at->size, 4, MPI_COMM_WORLD);
    struct diff_tensor *out = diff_isend(x, (at->rank + 1) % at->size, 4, MPI_COMM_WORLD);
    struct diff_tensor *got = diff_wait(in);
    diff_wait(out);
    return got;
}

static void mixed(struct diff_tape *tape, size_t step, size_t count, struct diff_tensor **state,
                  void *context)
{
    double drift[N] = {0.01, 0.02 * (double)(step % 7), -0.01};
    float narrow[N] = {0.01F, 0.02F * (float)(step % 7), -0.01F};
    size_t shape = N;
    struct diff_tensor *u = state[0], *w = state[1], *g = around(context, u);
    (void)count;
    g = diff_add(g, diff_constant(tape, diff_type_of(u), 1, &shape,
                                  diff_type_of(u) == DIFF_FLOAT ? (void *)narrow : drift));
    state[0] = diff_tanh(diff_add(diff_mul(u, w), diff_scale(diff_mul(g, g), 0.3)));
}

static void body(struct diff_tape *tape, size_t step, size_t count, struct diff_tensor **state,
                 void *context)
{
    const struct context *at = context;
    struct seen *mine = &seen[plan.checkpoints][at->rank];
    if (!diff_is_repeated() && ++mine->runs[step] > mine->most)
        mine->most = mine->runs[step];
    struct diff_tensor *u = state[0];
    switch (plan.form) {
    case COLLECTIVES:
        u = diff_scale(diff_allreduce(u, MPI_SUM, MPI_COMM_WORLD), 1.0 / at->size);
        state[0] =
            diff_add(u, diff_slice(diff_allgather(diff_mul(u, state[1]), MPI_COMM_WORLD), 0, N));
        break;
    case STARTED:
        state[0] = diff_add(u, diff_scale(started(at, u), 0.2));
        break;
    case SUBCOMMUNICATOR:
        state[0] = diff_add(u, diff_scale(diff_allreduce(u, MPI_MAX, at->pair), 0.1));
        break;
    case NESTED:
        diff_checkpoint(tape, 3, 1, mixed, count, state, context);
        return;
    default:
        break;
    }
    mixed(tape, step, count, state, context);
}

static void program(void)
{
    struct context at;
    double u[N], w[N], weights[N];
    float narrow[3][N];
    size_t shape = N;
    MPI_Comm_rank(MPI_COMM_WORLD, &at.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &at.size);
    MPI_Comm_split(MPI_COMM_WORLD, at.rank / 2, 0, &at.pair);
    for (int i = 0; i < N; i++) {
        narrow[0][i] = (float)(u[i] = 0.3 * i - 0.2 * at.rank + 0.1);
        narrow[1][i] = (float)(w[i] = 0.8 + 0.05 * i - 0.02 * at.rank);
        narrow[2][i] = (float)(weights[i] = 1 + at.rank - i);
    }
    bool single = plan.form == SINGLE;
    enum diff_type type = single ? DIFF_FLOAT : DIFF_DOUBLE;
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    diff_tape_order(tape, plan.order);
    diff_comm_register(tape, at.pair);
    struct diff_tensor *x = diff_input(tape, "u", type, 1, &shape, single ? (void *)narrow[0] : u);
    struct diff_tensor *y = diff_input(tape, "w", type, 1, &shape, single ? (void *)narrow[1] : w);
    struct diff_tensor *state[2] = {diff_scale(x, 1.1), y};
    if (plan.checkpoints)
        diff_checkpoint(tape, plan.steps, plan.memory, body, 2, state, &at);
    else
        for (size_t step = 0; step < plan.steps; step++)
            body(tape, step, 2, state, &at);
    struct diff_tensor *loss = diff_dot(
        state[0], diff_constant(tape, type, 1, &shape, single ? (void *)narrow[2] : weights));
    diff_backward(loss);
    struct seen *mine = &seen[plan.checkpoints][at.rank];
    for (int i = 0; i < 2 * N && !diff_is_repeated(); i++) {
        const void *gradient = diff_gradient(i < N ? x : y);
        mine->gradients[i] =
            single ? (double)((const float *)gradient)[i % N] : ((const double *)gradient)[i % N];
    }
    if (!diff_is_repeated())
        mine->value = diff_scalar(loss);
    diff_tape_free(tape);
    MPI_Comm_free(&at.pair);
}

static int outcome_of(bool checkpoints, int ranks)
{
    plan.checkpoints = checkpoints;
    memset(seen[checkpoints], 0, sizeof seen[checkpoints]);
    return diff_world_outcome(program, ranks);
}

static bool same_bits(int ranks)
{
    for (int r = 0; r < ranks; r++)
        if (memcmp(&seen[0][r].value, &seen[1][r].value, sizeof seen[0][r].value) != 0 ||
            memcmp(seen[0][r].gradients, seen[1][r].gradients, sizeof seen[0][r].gradients) != 0 ||
            !isfinite(seen[1][r].value) || seen[1][r].value == 0)
            return false;
    return true;
}

static void forms_compare(void)
{
    static const size_t steps[] = {1, 2, 3, 5, 17, 60}, memories[] = {0, 1, 130, 300, 1 << 20};
    unsigned long long number = 0;
    for (plan.form = 0; plan.form < FORMS; plan.form++)
        for (plan.order = 0; plan.order < 2; plan.order++) {
            bool well = true;
            char text[100] = "same bits";
            for (size_t s = 0; s < 6 && well; s++)
                for (size_t m = 0; m < 5 && well; m++) {
                    if (!dice_takes(number++))
                        continue;
                    plan.steps = plan.form == NESTED && steps[s] > 5 ? 5 : steps[s];
                    plan.memory = memories[m];
                    well = outcome_of(false, 3) == OUTCOME_FINISHED &&
                           outcome_of(true, 3) == OUTCOME_FINISHED && same_bits(3);
                    if (!well)
                        snprintf(text, sizeof text, "%zu steps, %zu bytes", plan.steps,
                                 plan.memory);
                }
            tap_test_str(text, "same bits", TAP_HERE, "%s, %s order: checkpointed or not",
                         names[plan.form], plan.order ? "data" : "program");
        }
}

static void gradients_check(void)
{
    plan = (struct plan){.steps = 12, .memory = 130, .checkpoints = true};
    for (plan.form = 0; plan.form < FORMS; plan.form++)
        gradients_are_right(names[plan.form], program, 1, 2, 4);
}

static void runs_count(void)
{
    plan = (struct plan){.steps = STEPS_MOST};
    outcome_of(true, 2);
    tap_ok(seen[1][0].most >= 3 && seen[1][0].most <= 5,
           "no step of 512 runs more than 5 times: %d", seen[1][0].most);
    plan.memory = 1 << 20;
    outcome_of(true, 2);
    tap_ok(seen[1][0].most == 2, "with room for all states each runs twice: %d", seen[1][0].most);
    plan = (struct plan){.steps = 20, .memory = 1};
    outcome_of(true, 2);
    tap_ok(seen[1][0].most == 21, "with room for one the first runs for every step: %d",
           seen[1][0].most);
}

/* ---- the spacing ---- */

enum { SPACED_MOST = 40, CALLS_MOST = 1000 };

static struct spacing {
    size_t steps, room, calls, at[CALLS_MOST]; /* which step was run */
} spacing;
static size_t fewest[SPACED_MOST + 1][SPACED_MOST + 1];

/* To undo so many steps, of which the state before the first one is kept, with room for so many states: how many
 * runs that record nothing it takes at least. The next state is kept behind some of the steps: those are run, the rest
 * undone, then these. */
static void fewest_find(void)
{
    for (size_t room = 1; room <= SPACED_MOST; room++)
        for (size_t steps = 2; steps <= SPACED_MOST; steps++) {
            size_t best = steps * (steps - 1) / 2;
            for (size_t k = 1; k < steps && room > 1; k++) {
                size_t all = k + fewest[steps - k][room - 1] + fewest[k][room];
                best = all < best ? all : best;
            }
            fewest[steps][room] = best;
        }
}

static void spaced_step(struct diff_tape *tape, size_t step, size_t count,
                        struct diff_tensor **state, void *context)
{
    const int *rank = context;
    (void)tape, (void)count;
    if (*rank == 0 && spacing.calls < CALLS_MOST)
        spacing.at[spacing.calls] = step;
    spacing.calls += *rank == 0;
    state[0] = diff_scale(state[0], 1.5);
}

/* The last rank has room for so many states and a little more, the others for two more. */
static void spaced(void)
{
    int rank, size;
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){1}, (double[]){0.5});
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    size_t memory = (spacing.room + (rank < size - 1 ? 2 : 0)) * sizeof(double);
    spacing.calls = 0;
    diff_checkpoint(tape, spacing.steps, spacing.room ? memory + spacing.room % sizeof(double) : 0,
                    spaced_step, 1, &x, &rank);
    diff_backward(x);
    diff_tape_free(tape);
}

/* Every step runs once forward and once to be recorded. Those that go from kept state to kept state at first are
 * part of the forward sweep, so that only the way from the last of them is gone anew. */
static bool spaced_best(int ranks)
{
    size_t room = spacing.room ? spacing.room : 1;
    if (diff_world_outcome(spaced, ranks) != OUTCOME_FINISHED || spacing.calls > CALLS_MOST)
        return false;
    while (!spacing.room && (room + 1) * (room + 2) * (room + 3) / 6 < spacing.steps)
        room++; /* room + 3 over 3 steps, if none runs more than thrice between two states */
    size_t last = spacing.steps - 1, anew = last - spacing.at[spacing.steps];
    return spacing.calls == 2 * spacing.steps + fewest[spacing.steps][room] - last + anew;
}

/* Three times between two states, forward, and to be recorded. */
static bool spaced_within(void)
{
    int runs[SPACED_MOST] = {0}, most = 0;
    for (size_t i = 0; i < spacing.calls; i++)
        most = ++runs[spacing.at[i]] > most ? runs[spacing.at[i]] : most;
    return most <= 5;
}

static void spacing_check(void)
{
    int wrong = 0, beyond = 0;
    fewest_find();
    for (spacing.steps = 1; spacing.steps <= SPACED_MOST; spacing.steps += 1 + spacing.steps / 12) {
        for (spacing.room = 1; spacing.room <= spacing.steps; spacing.room++) {
            bool right = spaced_best(1 + (int)(spacing.room % 4 == 1));
            if (!right && !wrong++)
                tap_note("%zu steps, %zu states: %zu runs", spacing.steps, spacing.room,
                         spacing.calls);
        }
        spacing.room = 0;
        beyond += !spaced_best(1) || !spaced_within();
    }
    tap_is_int(wrong, 0, "with room for any number of states no spacing takes fewer runs");
    tap_is_int(beyond, 0, "and where no room is given, none runs more than five times");
}

/* ---- more than two tensors ---- */

static void turns(struct diff_tape *tape, size_t step, size_t count, struct diff_tensor **state,
                  void *context)
{
    struct diff_tensor *first = state[0];
    (void)tape, (void)step, (void)context;
    for (size_t i = 0; i + 1 < count; i++)
        state[i] = diff_sin(diff_mul(state[i], state[i + 1]));
    state[count - 1] = diff_add(first, state[count - 1]);
}

static void many(void)
{
    enum { MANY = 5 };
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *state[MANY], *sum = NULL;
    for (int i = 0; i < MANY; i++)
        state[i] = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){2},
                              (double[]){0.4 + 0.1 * i, 0.9 - 0.2 * i});
    diff_checkpoint(tape, 6, 100, turns, MANY, state, NULL);
    for (int i = 0; i < MANY; i++)
        sum = sum ? diff_add(sum, diff_scale(state[i], 1 + i)) : state[i];
    diff_backward(diff_sum(sum));
    diff_tape_free(tape);
}

/* ---- what the loss does not depend on ---- */

static int depends; /* of three tensors of a state, as bits */

static void three_apart(struct diff_tape *tape, size_t step, size_t count,
                        struct diff_tensor **state, void *context)
{
    (void)tape, (void)step, (void)context;
    for (size_t i = 0; i < count; i++)
        state[i] = diff_sin(diff_scale(state[i], 1.25));
}

/* As without checkpoints: there is no gradient, rather than one of zeros. */
static void apart(void)
{
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *inputs[3], *state[3], *loss = NULL;
    for (int i = 0; i < 3; i++)
        state[i] = inputs[i] =
            diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){1}, (double[]){0.4 + i});
    diff_checkpoint(tape, 5, 2 * 3 * sizeof(double), three_apart, 3, state, NULL);
    for (int i = 0; i < 3; i++)
        if (depends >> i & 1)
            loss = loss ? diff_add(loss, state[i]) : state[i];
    diff_backward(loss);
    for (int i = 0; i < 3; i++)
        expect((diff_gradient_tensor(inputs[i]) != NULL) == (depends >> i & 1),
               "of %d: tensor %d has a gradient or none", depends, i);
    diff_tape_free(tape);
}

static void apart_program(int rank, int size)
{
    (void)rank, (void)size;
    apart();
}

static void apart_check(void)
{
    for (depends = 1; depends < 8; depends++)
        world_test_sizes("only what the loss depends on has a gradient", apart_program,
                         WORLD_FIBERS | WORLD_DEFAULT | WORLD_MINIMAL, WORLD_SIZES(1));
}

/* ---- wrong use ---- */

static void grows(struct diff_tape *tape, size_t step, size_t count, struct diff_tensor **state,
                  void *context)
{
    (void)tape, (void)step, (void)count, (void)context;
    state[0] = diff_concat(2, (struct diff_tensor *[]){state[0], state[0]});
}

static void narrows(struct diff_tape *tape, size_t step, size_t count, struct diff_tensor **state,
                    void *context)
{
    (void)tape, (void)step, (void)count, (void)context;
    state[0] = diff_cast(state[0], DIFF_FLOAT);
}

static void forgets(struct diff_tape *tape, size_t step, size_t count, struct diff_tensor **state,
                    void *context)
{
    (void)tape, (void)step, (void)count, (void)context;
    state[0] = NULL;
}

static void asks(struct diff_tape *tape, size_t step, size_t count, struct diff_tensor **state,
                 void *context)
{
    (void)step, (void)count, (void)context;
    state[0] =
        diff_mul(state[0], diff_input(tape, "more", DIFF_DOUBLE, 1, (size_t[]){1}, (double[]){2}));
}

static void squares(struct diff_tape *tape, size_t step, size_t count, struct diff_tensor **state,
                    void *context)
{
    (void)tape, (void)step, (void)count, (void)context;
    state[0] = diff_mul(state[0], state[0]);
}

static void misuse(diff_step *step, unsigned flags)
{
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){1}, (double[]){0.5});
    diff_checkpoint(tape, 4, 0, step, 1, &x, NULL);
    struct diff_tensor *loss = diff_sum(x);
    diff_backward_from(tape, 1, &loss, NULL, flags);
    diff_tape_free(tape);
}

static void state_grows(void)
{
    misuse(grows, 0);
}

static void state_narrows(void)
{
    misuse(narrows, 0);
}

static void state_forgotten(void)
{
    misuse(forgets, 0);
}

static void input_within(void)
{
    misuse(asks, 0);
}

static void recorded_pass(void)
{
    misuse(squares, DIFF_GRAPH);
}

static void nothing_wrong(void)
{
    misuse(squares, DIFF_RETAIN);
}

static void misuse_check(void)
{
    tap_ok(diff_world_outcome(nothing_wrong, 2) == OUTCOME_FINISHED, "a step that squares is fine");
    tap_ok(diff_world_outcome(state_grows, 2) != OUTCOME_FINISHED, "a state that grows is refused");
    tap_ok(diff_world_outcome(state_narrows, 2) == OUTCOME_ABORTED, "one of another type");
    tap_ok(diff_world_outcome(state_forgotten, 2) == OUTCOME_ABORTED, "and none");
    tap_ok(diff_world_outcome(input_within, 2) != OUTCOME_FINISHED,
           "an input in a step is refused");
    tap_ok(diff_world_outcome(recorded_pass, 2) != OUTCOME_FINISHED,
           "a second derivative is refused");
}

int main(void)
{
    forms_compare();
    gradients_check();
    runs_count();
    spacing_check();
    gradients_are_right("a state of five tensors", many, 1, 2);
    apart_check();
    misuse_check();
    return tap_done();
}
