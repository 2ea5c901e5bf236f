/* Backward passes of random programs on one to three ranks, in both orders: what is added up where values are used often, kept in the middle,
 * cleared, seeded by losses and by cotangents, by several roots and in several passes, with regions that record nothing, and where many nodes are
 * ready at once. The test computes every rank's values by itself, and each derivative by carrying one small change of one number through all ranks.
 * The newest of what is ready runs first. What is recorded of a pass is the graph of the forward pass turned round, as far as the pass may reach it. */
#include "tests/world_harness.h"

#include "collectives/experiment/mutant.h"
#include "collectives/tape/tape.h"
#include "recorder/recording.h"

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
    PROGRAMS = 400,
    RECORDED = 6 /* one of how many */
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
    NOTED, /* an operation of the program's, which notes that its adjoint runs */
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

/* Who noted something, and what was noted in one pass. */
static struct note {
    int rank, step;
} notes[RANKS][ALL];
static int last_noted[RANKS], disorder;
static bool chosen; /* the order of what is ready */

/* The recorder's numbers of the roots' nodes, 0 for none. */
static uint32_t root_records[RANKS][PASSES][ROOTS];

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

/* `whole`: nothing is left out of the tape. */
static void draw(bool whole)
{
    ranks = 1 + below(RANKS);
    order = below(2) ? DIFF_ORDER_DATA : DIFF_ORDER_PROGRAM;
    pass_count = 1 + below(PASSES);
    memset(steps, 0, sizeof steps);
    memset(root_records, 0, sizeof root_records);
    for (int i = INPUTS; i < ALL; i++) {
        steps[i] = (struct step){.kind = below(4) ? (enum kind)below(KINDS) : NOTED,
                                 .a = below(i),
                                 .b = below(i),
                                 .factor = number(),
                                 .kept = below(3) == 0};
        for (int k = 0; k < MANY; k++)
            steps[i].parts[k] = below(i);
        if (whole && (steps[i].kind == DETACH || steps[i].kind == UNRECORDED))
            steps[i].kind = NOTED;
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

static void note_forward(size_t count, const void *x, void *y, void *context)
{
    (void)context;
    memcpy(y, x, count * sizeof(double));
}

static void note_vjp(size_t count, const void *x, const void *y_bar, void *x_bar, void *context)
{
    const struct note *note = context;
    (void)x;
    memcpy(x_bar, y_bar, count * sizeof(double));
    disorder += !chosen && note->step >= last_noted[note->rank];
    last_noted[note->rank] = note->step;
}

static const struct diff_custom_rules noting = {
    .name = "noted", .forward = note_forward, .vjp = note_vjp};

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
    case NOTED:
        notes[rank][step - steps] = (struct note){rank, (int)(step - steps)};
        return diff_custom(a, &noting, &notes[rank][step - steps]);
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
    for (int i = 0; i < pass->roots; i++)
        root_records[rank][number_of][i] =
            roots[i]->node && diff_requires_gradient(roots[i]) ? roots[i]->node->record : 0;
    last_noted[rank] = ALL;
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

/* ---- what is recorded ---- */

enum { NODES = 1024 };

/* Whether the pass may reach a forward node: what the roots depend on, in program order also all that communicates. */
static void reach(const struct trace *trace, int rank, int pass, bool *reached)
{
    bool more = true;
    for (size_t n = trace->node_begin[rank]; n < trace->node_begin[rank + 1]; n++) {
        const struct trace_node *node = &trace->nodes[n];
        reached[n] = node->pass == 0 && order == DIFF_ORDER_PROGRAM && node->kind != OP_COMPUTE;
        for (int i = 0; i < passes[pass].roots; i++)
            reached[n] |= node->id == root_records[rank][pass][i];
    }
    while (more) {
        more = false;
        for (size_t e = 0; e < trace->edge_count; e++) {
            const struct trace_edge *edge = &trace->edges[e];
            if (trace->nodes[edge->to].pass == 0 && reached[edge->to] && !reached[edge->from])
                more = reached[edge->from] = true;
        }
    }
}

static bool has_edge(const struct trace *trace, uint32_t from, uint32_t to, uint32_t edge_type)
{
    for (size_t e = 0; e < trace->edge_count; e++)
        if (trace->edges[e].from == from && trace->edges[e].to == to &&
            trace->edges[e].type == edge_type)
            return true;
    return false;
}

static const char *pass_difference(const struct trace *trace, int rank, int pass)
{
    static bool reached[NODES];
    static uint32_t back[NODES];
    size_t begin = trace->node_begin[rank], end = trace->node_begin[rank + 1];
    uint32_t seed = TRACE_NO;
    memset(reached, 0, sizeof reached);
    reach(trace, rank, pass, reached);
    for (size_t n = begin; n < end; n++)
        back[n] = TRACE_NO;
    for (size_t n = begin; n < end; n++) {
        const struct trace_node *node = &trace->nodes[n];
        const char *name = trace_string(trace, node->name);
        if (node->pass != (uint32_t)pass + 1)
            continue;
        if (strcmp(name, "seed") == 0) {
            if (seed != TRACE_NO || node->kind != OP_COMPUTE)
                return "another seed";
            seed = (uint32_t)n;
            continue;
        }
        if (node->forward == TRACE_NO || !reached[node->forward] || back[node->forward] != TRACE_NO)
            return "a node that the pass does not reach, or twice";
        const struct trace_node *forward = &trace->nodes[node->forward];
        const char *plain = trace_string(trace, forward->name);
        size_t length = strlen(plain);
        if (strncmp(name, plain, length) != 0 || strcmp(name + length, "*") != 0 ||
            node->kind != forward->kind)
            return "a name or a kind";
        back[node->forward] = (uint32_t)n;
    }
    for (size_t n = begin; n < end; n++)
        if (reached[n] && back[n] == TRACE_NO)
            return "a node is missing";
    for (int i = 0; i < passes[pass].roots; i++)
        for (size_t n = begin; n < end; n++)
            if (trace->nodes[n].pass == 0 && trace->nodes[n].id == root_records[rank][pass][i] &&
                !has_edge(trace, seed, back[n], EDGE_DATA))
                return "an edge of the seed is missing";
    for (size_t e = 0; e < trace->edge_count; e++) {
        const struct trace_edge *edge = &trace->edges[e];
        const struct trace_node *to = &trace->nodes[edge->to];
        if (to->rank != (uint32_t)rank)
            continue;
        if (to->pass == 0 && reached[edge->to] &&
            !has_edge(trace, back[edge->to], back[edge->from], edge->type))
            return "an edge is missing";
        if (to->pass != (uint32_t)pass + 1 || edge->from == seed)
            continue;
        const struct trace_node *from = &trace->nodes[edge->from];
        if (from->pass != to->pass || !has_edge(trace, to->forward, from->forward, edge->type))
            return "an edge that the forward pass has not";
    }
    return NULL;
}

static const char *record_difference(const struct trace *trace)
{
    if (trace->node_count > NODES)
        return "too many nodes";
    if (trace->pass_count != (size_t)(ranks * pass_count))
        return "the number of passes";
    for (size_t i = 0; i < trace->pass_count; i++)
        if ((trace->passes[i].mode == PASS_DATA) != (order == DIFF_ORDER_DATA))
            return "the order of a pass";
    for (int r = 0; r < ranks; r++)
        for (int p = 0; p < pass_count; p++) {
            const char *difference = pass_difference(trace, r, p);
            if (difference)
                return difference;
        }
    return NULL;
}

static struct recording *recording;

static int enter(void *context, int rank)
{
    (void)context;
    recording_rank_begin(recording);
    MPI_Init(NULL, NULL);
    program(rank, ranks);
    world_calls_left();
    MPI_Finalize();
    return 0;
}

/* The same program once more, recorded. */
static const char *recorded_difference(void)
{
    struct failure failure = {0};
    struct sim_world_options options = world_options(ranks);
    struct recording_result result = {.program = "passes", .model = "eager"};
    struct world_report report = {.size = ranks};
    pthread_mutex_init(&report.lock, NULL);
    options.slots[MPIX_SLOT_SPARE1] = &report;
    recording = recording_new((uint32_t)ranks, RECORD_LEVEL_OPS, &failure);
    struct sim_world *world = sim_world_new(&options, &failure);
    result.outcome = sim_world_run(world, enter, NULL);
    for (int i = 0; i < ranks; i++) {
        recording_rank_end(recording, (uint32_t)i, sim_world_rank_state(world, i),
                           sim_world_exit_code(world, i), NULL);
        diff_state_release(sim_world_slots(world, i)[MPIX_SLOT_DIFF]);
    }
    sim_world_free(world);
    struct trace *trace = recording_load(recording, &result, &failure);
    const char *difference = trace ? record_difference(trace) : failure.text;
    trace_free(trace);
    recording_free(recording);
    pthread_mutex_destroy(&report.lock);
    return difference;
}

/* ---- levels, and the library's own mistake ---- */

/* Each pass that is recorded itself talks on a communicator of its own, and so does the one that goes through all of them. */
static void levels(int rank, int size)
{
    (void)size;
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = diff_leaf(tape, DIFF_DOUBLE, 1, (size_t[]){N}, (double[]){1 + rank, 2});
    struct diff_tensor *y = diff_allreduce(x, MPI_PROD, MPI_COMM_WORLD), *loss = diff_dot(y, y);
    for (size_t level = 1; level <= 3; level++) {
        MPI_Comm comms[8] = {MPI_COMM_WORLD};
        size_t count = 1;
        diff_backward_from(tape, 1, &loss, NULL, DIFF_GRAPH);
        struct diff_tensor *gradient = diff_gradient_tensor(x);
        diff_gradient_clear(x);
        loss = diff_dot(gradient, gradient);
        for (const struct diff_channel *c = tape->channels; c->adjoint != c && count < 8;
             c = c->adjoint) {
            comms[count] = c->adjoint->comm;
            for (size_t i = 0; i < count; i++)
                expect(comms[i] != comms[count], "levels %zu and %zu share one", i, count);
            count++;
        }
        expect(count == level + 2, "%zu communicators for %zu recorded passes", count, level);
    }
    diff_tape_free(tape);
}

/* Taking cotangents of zeros for none is a mistake that the library can make on purpose. It is one where some rank alone has them, and none
 * where every rank has others: these are the last rank's. */
static double last_seed[2 * N];

static void shortcut(int rank, int size)
{
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    double others[2 * N] = {1, 0, 1, 0};
    tape->state->mutant = MUTANT_ZERO_SHORTCUT;
    struct diff_tensor *x = diff_leaf(tape, DIFF_COMPLEX_DOUBLE, 1, (size_t[]){N}, NULL);
    struct diff_tensor *seed = diff_constant(tape, DIFF_COMPLEX_DOUBLE, 1, (size_t[]){N},
                                             rank == size - 1 ? last_seed : others);
    struct diff_tensor *y = diff_allreduce(x, MPI_SUM, MPI_COMM_WORLD);
    diff_backward_from(tape, 1, &y, &seed, 0);
    const double *gradient = diff_gradient(x);
    for (int k = 0; k < 2 * N; k++)
        expect(gradient[k] == (size - 1) * others[k] + last_seed[k], "%d: %g", k, gradient[k]);
    diff_tape_free(tape);
}

static void test_shortcut(void)
{
    struct sim_world_options options = world_options(3);
    unsigned right = 0;
    for (int k = 0; k <= 2 * N; k++) {
        for (int i = 0; i < 2 * N; i++)
            last_seed[i] = i == k ? 2 : 0;
        struct world_result result = world_try(options, shortcut);
        right += k == 2 * N
                     ? result.outcome == OUTCOME_DEADLOCK || result.outcome == OUTCOME_ABORTED
                     : result.outcome == OUTCOME_FINISHED && !result.failed;
    }
    for (int i = 0; i < 2 * N; i++)
        last_seed[i] = 1;
    struct world_result ones = world_try(options, shortcut);
    tap_is_int(right, 2 * N + 1, "zeros are taken for nothing where all are zeros, and only there");
    tap_ok(ones.outcome == OUTCOME_FINISHED && !ones.failed, "and ones are no zeros");
}

int main(void)
{
    struct dice_seeds seeds = dice_seeds(PROGRAMS);
    char text[200] = "";
    unsigned long long i;
    (void)omp_get_max_threads(); /* what it registers for the end is the process's, not a rank's */
    for (i = 0; i < seeds.count; i++) {
        dice = seeds.first + i;
        draw(i % RECORDED == 0);
        struct sim_world_options options = world_options(ranks);
        if (below(2) &&
            ranks == 1) { /* of several, each might choose another order of what all do */
            options.driver = SIM_CHOOSE_SEED;
            options.seed = dice;
        }
        chosen = options.driver == SIM_CHOOSE_SEED;
        struct world_result result = world_try(options, program);
        if (result.outcome != OUTCOME_FINISHED)
            snprintf(text, sizeof text, "%s", world_outcomes[result.outcome]);
        if (result.outcome != OUTCOME_FINISHED || !compare(text, sizeof text))
            break;
        const char *difference = i % RECORDED == 0 ? recorded_difference() : NULL;
        if (difference) {
            snprintf(text, sizeof text, "recorded: %s", difference);
            break;
        }
    }
    tap_test_str(text, "", TAP_HERE, "the passes of %llu random programs are right (program %llu)",
                 seeds.count, seeds.first + i);
    tap_is_int(disorder, 0, "the newest adjoint runs first");
    test_shortcut();
    world_test_sizes("each level of passes has a communicator of its own", levels, WORLD_FIBERS,
                     WORLD_SIZES(2));
    return tap_done();
}
