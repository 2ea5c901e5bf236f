/* What a probe makes of a program on tapes: a small one on three ranks, whose losses and gradients the test writes down by itself,
 * run as a probe can ask for it: plainly, for one rank's loss alone, with other seeds, with tangents, moved, pushed
 * at, in another order, with one term of one adjoint changed, twice on one tape, with cotangents of its own. */
#include "tests/diff_world.h"

#include "collectives/tape/tape.h"

#include <math.h>

enum { RANKS = 3, N = 4, ALONE = -1 };

enum how { ONE_PASS, TWO_PASSES, CLEARED, TWO_EPOCHS, GIVEN, LATE, HOWS };

/* Loss of a rank: of x and the sum y of all ranks' x. */
static double weight(int rank, int k)
{
    return 0.5 + 0.25 * rank + 0.125 * k;
}

static double start(int rank, int k)
{
    return (k % 2 ? -1 : 1) * (0.75 + 0.25 * rank + 0.0625 * k);
}

static enum how how;

static struct diff_tensor *constant(struct diff_tape *tape, int rank, double factor)
{
    double values[N];
    for (int k = 0; k < N; k++)
        values[k] = factor * weight(rank, k);
    return diff_constant(tape, DIFF_DOUBLE, 1, (size_t[]){N}, values);
}

static struct diff_tensor *loss_of(struct diff_tensor *x, struct diff_tape *tape, int rank)
{
    struct diff_tensor *y = diff_allreduce(x, MPI_SUM, MPI_COMM_WORLD);
    struct diff_tensor *own = diff_mul(diff_mul(x, x), constant(tape, rank, 1));
    return diff_sum(diff_add(own, diff_mul(diff_mul(y, x), constant(tape, rank, 2))));
}

static void program(void)
{
    int rank;
    double values[N];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int k = 0; k < N; k++)
        values[k] = start(rank, k);
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){N}, values);
    if (how == GIVEN) { /* of the sum over ranks: each takes twice its weights */
        struct diff_tensor *y = diff_allreduce(x, MPI_SUM, MPI_COMM_WORLD),
                           *seed = constant(tape, rank, 2);
        diff_backward_from(tape, 1, &y, &seed, 0);
        diff_tape_free(tape);
        return;
    }
    diff_backward(loss_of(x, tape, rank));
    if (how == CLEARED)
        diff_gradient_clear(x);
    if (how == TWO_PASSES || how == CLEARED)
        diff_backward(diff_sum(diff_mul(x, constant(tape, rank, 1))));
    if (how == LATE) {
        struct diff_tensor *z = diff_input(tape, "z", DIFF_DOUBLE, 1, (size_t[]){N}, values);
        diff_backward(diff_sum(diff_mul(z, z)));
    }
    if (how == TWO_EPOCHS) {
        diff_tape_clear(tape);
        for (int k = 0; k < N; k++)
            values[k] *= 2;
        x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){N}, values);
        diff_backward(loss_of(x, tape, rank));
    }
    diff_tape_free(tape);
}

/* ---- the same by hand ---- */

struct point {
    double x[RANKS][N];
};

static struct point point_of(double scale)
{
    struct point point;
    for (int r = 0; r < RANKS; r++)
        for (int k = 0; k < N; k++)
            point.x[r][k] = scale * start(r, k);
    return point;
}

static double loss_by_hand(const struct point *at, int rank)
{
    double sum = 0;
    for (int k = 0; k < N; k++)
        sum += weight(rank, k) * at->x[rank][k] *
               (at->x[rank][k] + 2 * (at->x[0][k] + at->x[1][k] + at->x[2][k]));
    return sum;
}

/* Of the loss of rank `of`, ALONE: of all together. */
static double slope_by_hand(const struct point *at, int of, int rank, int k)
{
    double slope = 0;
    for (int s = 0; s < RANKS; s++) {
        if (of != ALONE && s != of)
            continue;
        slope += 2 * weight(s, k) * at->x[s][k];
        if (s == rank)
            slope +=
                weight(s, k) * (2 * at->x[s][k] + 2 * (at->x[0][k] + at->x[1][k] + at->x[2][k]));
    }
    return slope;
}

static int wrong;

static void near(double got, double wanted, const char *what)
{
    if (!(fabs(got - wanted) <= 1e-12 * (1 + fabs(wanted))) && wrong++ < 5)
        tap_note("%s: %.17g, not %.17g", what, got, wanted);
}

static bool run(struct diff_probe *probe)
{
    struct diff_world world = {RANKS, program, SIM_SEND_EAGER, 0};
    return diff_world_run(&world, probe, 0) == OUTCOME_FINISHED;
}

static struct diff_probe probe_new(enum how asked)
{
    struct diff_probe probe;
    diff_probe_init(&probe, RANKS);
    how = asked;
    wrong = 0;
    return probe;
}

static void gradients_are(const struct diff_probe *probe, size_t input, const struct point *at,
                          int of, double factor)
{
    for (int r = 0; r < RANKS; r++) {
        const struct probe_input *x = &probe->rows[r].inputs[input];
        for (int k = 0; k < N; k++) {
            near(x->values[k], at->x[r][k], "a value");
            near(x->gradient ? x->gradient[k] : NAN, factor * slope_by_hand(at, of, r, k),
                 "a gradient");
        }
    }
}

static void losses_are(const struct diff_probe *probe, uint32_t epoch, const struct point *at,
                       size_t terms)
{
    for (int r = 0; r < RANKS; r++) {
        const struct probe_objective *objective = &probe->rows[r].objectives[epoch];
        double sum = 0, size = 0;
        for (size_t i = 0; i < objective->term_count; i++) {
            sum += objective->terms[i].value;
            size += fabs(objective->terms[i].value);
        }
        near((double)objective->term_count, (double)terms, "the number of losses");
        near(objective->terms[0].value, loss_by_hand(at, r), "a loss");
        near(objective->value, sum, "their sum");
        near(objective->magnitude, size, "their magnitude");
        near(objective->present && !objective->given && !objective->team.size, 1,
             "what is said of them");
    }
}

static void said(bool ran, const char *what)
{
    tap_ok(ran && !wrong, "%s", what);
}

static void passes(void)
{
    struct point plain = point_of(1), twice = point_of(2);
    struct diff_probe probe = probe_new(ONE_PASS);
    bool ran = run(&probe);
    gradients_are(&probe, 0, &plain, ALONE, 1);
    losses_are(&probe, 1, &plain, 1);
    near((double)probe.rows[0].epoch_count, 2, "epochs");
    near((double)probe.rows[1].inputs[0].first_pass, 0, "all passes count");
    near(probe.rows[1].inputs[0].epoch, 1, "the epoch");
    said(ran, "a plain run: values, losses, gradients");
    diff_probe_release(&probe);
    for (int s = 0; s < RANKS; s++) {
        probe = probe_new(ONE_PASS);
        probe.seed_rank = s;
        ran = run(&probe);
        gradients_are(&probe, 0, &plain, s, 1);
        losses_are(&probe, 1, &plain, 1);
        said(ran, "one rank's loss alone is differentiated, all are told");
        diff_probe_release(&probe);
    }
    probe = probe_new(ONE_PASS);
    probe.factor = 3;
    ran = run(&probe);
    gradients_are(&probe, 0, &plain, ALONE, 3);
    losses_are(&probe, 1, &plain, 1);
    said(ran, "seeds with a factor");
    diff_probe_release(&probe);
    for (int order = DIFF_ORDER_PROGRAM; order <= DIFF_ORDER_DATA; order++) {
        probe = probe_new(ONE_PASS);
        probe.order = order;
        ran = run(&probe);
        gradients_are(&probe, 0, &plain, ALONE, 1);
        said(ran, "another order of the backward pass");
        diff_probe_release(&probe);
    }
    probe = probe_new(TWO_PASSES);
    ran = run(&probe);
    losses_are(&probe, 1, &plain, 2);
    for (int r = 0; r < RANKS; r++) {
        for (int k = 0; k < N; k++)
            near(probe.rows[r].inputs[0].gradient[k],
                 slope_by_hand(&plain, ALONE, r, k) + weight(r, k), "the sum of two");
        near((double)probe.rows[r].objectives[1].terms[0].pass, 1, "the pass of the first loss");
        near((double)probe.rows[r].objectives[1].terms[1].pass, 2, "and of the second");
    }
    said(ran, "two passes add up");
    diff_probe_release(&probe);
    probe = probe_new(CLEARED);
    ran = run(&probe);
    losses_are(&probe, 1, &plain, 2);
    for (int r = 0; r < RANKS; r++) {
        for (int k = 0; k < N; k++)
            near(probe.rows[r].inputs[0].gradient[k], weight(r, k), "the second alone");
        near((double)probe.rows[r].inputs[0].first_pass, 2, "which is the first that counts");
    }
    said(ran, "a gradient that is cleared between two passes");
    diff_probe_release(&probe);
    probe = probe_new(TWO_EPOCHS);
    ran = run(&probe);
    gradients_are(&probe, 0, &plain, ALONE, 1);
    gradients_are(&probe, 1, &twice, ALONE, 1);
    losses_are(&probe, 1, &plain, 1);
    losses_are(&probe, 2, &twice, 1);
    near(probe.rows[2].inputs[1].epoch, 2, "the second epoch");
    said(ran, "two fillings of a tape are two epochs");
    diff_probe_release(&probe);
    probe = probe_new(GIVEN);
    ran = run(&probe);
    for (int r = 0; r < RANKS; r++) {
        for (int k = 0; k < N; k++)
            near(probe.rows[r].inputs[0].gradient[k],
                 2 * (weight(0, k) + weight(1, k) + weight(2, k)), "of cotangents");
        near(probe.rows[r].objectives[1].given && !probe.rows[r].objectives[1].present, 1,
             "cotangents and no loss");
    }
    said(ran, "cotangents of the program's own");
    diff_probe_release(&probe);
    probe = probe_new(LATE);
    ran = run(&probe);
    near(!probe.rows[1].inputs[0].late && probe.rows[1].inputs[1].late, 1, "late");
    near((double)probe.rows[1].input_count, 2, "inputs");
    said(ran, "an input behind a pass is late");
    diff_probe_release(&probe);
}

/* ---- tangents, and what is moved ---- */

static void tangents_and_moves(void)
{
    struct point plain = point_of(1), moved = plain, pushed;
    double direction[N] = {1, -0.5, 2, 0.25}, other[N] = {-1, 3, 0.5, 1};
    struct probe_push pushes[] = {
        {.rank = 1, .part = SIZE_MAX, .step = 0.5, .direction = direction},
        {.rank = 2, .part = SIZE_MAX, .step = -0.25, .direction = other}};
    for (int factor = 0; factor < 3; factor++) {
        struct diff_probe probe = probe_new(ONE_PASS);
        probe.tangent = true;
        probe.pushes = pushes;
        probe.push_count = 2;
        probe.factor = factor;
        bool ran = run(&probe);
        gradients_are(&probe, 0, &plain, ALONE, factor ? factor : 1);
        for (int r = 0; r < RANKS; r++) {
            double wanted = 0, got = 0;
            for (int k = 0; k < N; k++)
                wanted += slope_by_hand(&plain, r, 1, k) * direction[k] +
                          slope_by_hand(&plain, r, 2, k) * other[k];
            for (size_t i = 0; i < probe.rows[r].objectives[1].term_count; i++)
                got += probe.rows[r].objectives[1].terms[i].tangent;
            near(got, wanted * (factor ? factor : 1), "a tangent");
            near(!probe.rows[r].tangent_missing && !probe.rows[r].carrying, 1,
                 "all operations have one");
        }
        said(ran, "tangents of every loss along pushes, which move nothing");
        diff_probe_release(&probe);
    }
    for (int r = 1; r < RANKS; r++)
        for (int k = 0; k < N; k++)
            moved.x[r][k] += r == 1 ? 0.5 * direction[k] : -0.25 * other[k];
    struct diff_probe base = probe_new(ONE_PASS);
    base.shifts = pushes;
    base.shift_count = 2;
    bool ran = run(&base);
    gradients_are(&base, 0, &moved, ALONE, 1);
    losses_are(&base, 1, &moved, 1);
    said(ran, "another point");
    pushed = moved;
    pushed.x[0][2] += 0.125;
    for (int k = 0; k < N; k++)
        pushed.x[1][k] += 2 * other[k];
    struct probe_push more[] = {{.rank = 0, .part = 2, .step = 0.125},
                                {.rank = 1, .part = SIZE_MAX, .step = 2, .direction = other},
                                {.rank = 1, .input = 1, .part = 0, .step = 7},
                                {.rank = 2, .part = N, .step = 7}};
    struct diff_probe probe = probe_new(ONE_PASS);
    probe.mode = PROBE_PERTURBED;
    probe.base = &base;
    probe.shifts = pushes;
    probe.shift_count = 2;
    probe.pushes = more;
    probe.push_count = 4;
    ran = run(&probe);
    losses_are(&probe, 1, &pushed, 1);
    near(!probe.rows[0].input_count && probe.rows[0].inputs_seen == 1, 1,
         "inputs are met and not kept");
    said(ran, "a world that is pushed at there: one part, a whole input, and what is not there");
    diff_probe_release(&probe);
    diff_probe_release(&base);
}

/* What an epoch's input is, a perturbed world takes from the base world where an earlier epoch had it. */
static void trained(void)
{
    struct point plain = point_of(1), twice = point_of(2);
    struct diff_probe base = probe_new(TWO_EPOCHS);
    bool ran = run(&base);
    for (int r = 0; r < RANKS; r++)
        for (int k = 0; k < N; k++) {
            twice.x[r][k] += 0.5;
            base.rows[r].inputs[1].values[k] += 0.5; /* as if it had been trained */
        }
    plain.x[2][1] += 0.25;
    twice.x[0][3] -= 0.5;
    struct probe_push pushes[] = {{.rank = 2, .part = 1, .step = 0.25},
                                  {.rank = 0, .input = 1, .part = 3, .step = -0.5}};
    struct diff_probe probe = probe_new(TWO_EPOCHS);
    probe.mode = PROBE_PERTURBED;
    probe.base = &base;
    probe.pushes = pushes;
    probe.push_count = 2;
    ran = ran && run(&probe);
    losses_are(&probe, 1, &plain, 1);
    losses_are(&probe, 2, &twice, 1);
    said(ran, "what is trained has the base world's values where it is pushed at");
    diff_probe_release(&probe);
    diff_probe_release(&base);
}

/* ---- what a trace tells ---- */

/* Node `number` of a rank, from 1 on, and what its k-th operand is: of another node, the input, a constant. */
struct traced {
    const struct diff_probe *probe;
    const double *direction; /* of the input, on every rank */
};

static const struct probe_node *node_at(const struct traced *traced, int rank, uint32_t number)
{
    return &traced->probe->rows[rank].nodes[number - 1];
}

static double value_in(const struct traced *traced, int rank, const struct probe_value *in, int k)
{
    return in->node ? node_at(traced, rank, in->node)->outputs[in->output].values[k]
                    : in->values[k];
}

static double tangent_in(const struct traced *traced, int rank, const struct probe_value *in, int k)
{
    if (in->node) {
        const double *tangent = node_at(traced, rank, in->node)->outputs[in->output].tangent;
        return tangent ? tangent[k] : 0;
    }
    return in->input ? traced->direction[k] : 0;
}

/* Of a node's only result: its seed, and what its users give. */
static double cotangent_of(const struct traced *traced, int rank, uint32_t number, int k)
{
    const struct diff_probe_rank *row = &traced->probe->rows[rank];
    const double *seed = row->nodes[number - 1].outputs[0].cotangent;
    double sum = seed ? seed[k] : 0;
    for (size_t i = 0; i < row->node_count; i++)
        for (uint32_t o = 0; o < row->nodes[i].input_count; o++) {
            const struct probe_value *in = &row->nodes[i].inputs[o];
            sum += in->node == number && in->cotangent ? in->cotangent[k] : 0;
        }
    return sum;
}

static void node_is_right(const struct traced *traced, int rank, uint32_t number)
{
    const struct probe_node *node = node_at(traced, rank, number);
    const struct probe_value *one = &node->inputs[0], *two = &node->inputs[node->input_count - 1],
                             *out = &node->outputs[0];
    bool sums = !strcmp(node->name, "sum"), shares = !strcmp(node->name, "Allreduce"),
         product = !strcmp(node->name, "mul");
    double all = 0, moved = 0;
    near(node->sequence == number && node->epoch == 1 && node->output_count == 1 && node->ran &&
             node->carried,
         1, "what a node is");
    near(sums || shares || product || !strcmp(node->name, "add"), 1, "its name");
    near((double)out->parts, sums ? 1 : N, "how many values it has");
    near(node->places[0].channel != 0, shares, "whether it communicates");
    near(shares ? node->places[0].source == -1 && node->places[0].target == -1 : 1, 1, "with whom");
    for (int k = 0; k < N; k++) {
        double a = value_in(traced, rank, one, k), b = value_in(traced, rank, two, k);
        double da = tangent_in(traced, rank, one, k), db = tangent_in(traced, rank, two, k);
        double due = cotangent_of(traced, rank, number, sums ? 0 : k);
        double value = product ? a * b : a + b, tangent = product ? a * db + b * da : da + db;
        for (int r = 0; shares && r < RANKS; r++) {
            const struct probe_value *in = &node_at(traced, r, number)->inputs[0];
            value = (r ? value : 0) + value_in(traced, r, in, k);
            tangent = (r ? tangent : 0) + tangent_in(traced, r, in, k);
            due += r == rank ? 0 : cotangent_of(traced, r, number, k);
        }
        all += a;
        moved += da;
        if (!sums) {
            near(out->values[k], value, "a node's value");
            near(out->tangent ? out->tangent[k] : 0, tangent, "its tangent");
        }
        for (uint32_t o = 0; o < node->input_count; o++) {
            const struct probe_value *in = &node->inputs[o];
            bool constant = !in->node && !in->input;
            near(in->untracked, constant, "a constant needs no gradient");
            near(!in->values == !!in->node, 1, "values of what no node made");
            near(in->cotangent ? in->cotangent[k] : 0,
                 constant  ? 0
                 : product ? due * value_in(traced, rank, &node->inputs[!o], k)
                           : due,
                 "what it gives to an operand");
        }
    }
    if (sums) {
        near(out->values[0], all, "a sum");
        near(out->tangent[0], moved, "its tangent");
    }
}

static void traces(void)
{
    static const char *const made[] = {"diff_allreduce", NULL, NULL, NULL, NULL, NULL, "diff_sum"};
    static const double direction[N] = {1, -0.5, 2, 0.25};
    struct probe_push pushes[RANKS];
    for (int r = 0; r < RANKS; r++)
        pushes[r] =
            (struct probe_push){.rank = r, .part = SIZE_MAX, .step = 1, .direction = direction};
    struct diff_probe probe = probe_new(ONE_PASS);
    probe.trace = probe.tangent = true;
    probe.pushes = pushes;
    probe.push_count = RANKS;
    bool ran = run(&probe);
    struct traced traced = {&probe, direction};
    for (int r = 0; ran && r < RANKS; r++) {
        near((double)probe.rows[r].node_count, 7, "the number of nodes");
        for (uint32_t i = 1; i <= probe.rows[r].node_count && i <= 7; i++) {
            const char *function = node_at(&traced, r, i)->function;
            near(!made[i - 1] || (function && !strcmp(function, made[i - 1])), 1,
                 "which function made it");
            node_is_right(&traced, r, i);
        }
    }
    said(ran, "a trace has every node's values, tangents, and what it gives to its operands");
    diff_probe_release(&probe);
}

/* ---- one wrong term ---- */

static double gradient_with(uint32_t flip, double factor, int flip_rank, double flipped[RANKS],
                            int rank, int k)
{
    struct diff_probe probe = probe_new(ONE_PASS);
    probe.flip = flip;
    probe.flip_factor = factor;
    probe.flip_part = 1;
    probe.flip_rank = flip_rank;
    probe.flipped = flipped;
    run(&probe);
    double gradient = probe.rows[rank].inputs[0].gradient[k];
    diff_probe_release(&probe);
    return gradient;
}

/* A factor of one changes nothing, another one in proportion; on one rank what it does there. */
static void terms(void)
{
    int seen = 0, bent = 0, apart = 0;
    for (uint32_t node = 1; node < 9; node++)
        for (int rank = 0; rank < RANKS; rank++) {
            double flipped[RANKS] = {0}, none[RANKS] = {0};
            double plain = gradient_with(0, 0, 0, none, rank, 0), sum = 0;
            double one = gradient_with(node, 1, 0, flipped, rank, 0) - plain;
            double two = gradient_with(node, 2, 0, flipped, rank, 0) - plain;
            double five = gradient_with(node, 5, 0, flipped, rank, 0) - plain;
            double sign = gradient_with(node, 0, 0, flipped, rank, 0) - plain;
            for (int r = 1; r <= RANKS; r++)
                sum += gradient_with(node, 2, r, flipped, rank, 0) - plain;
            bent += fabs(one) > 1e-12 || fabs(five - 4 * two) > 1e-11 * (1 + fabs(two)) ||
                    fabs(sign + 2 * two) > 1e-11 * (1 + fabs(two));
            apart += fabs(sum - two) > 1e-11 * (1 + fabs(two));
            seen += two != 0;
        }
    tap_is_int(bent, 0, "one term of an adjoint, changed: the gradient changes in proportion");
    tap_is_int(apart, 0, "what it does on all ranks is the sum of what it does on each");
    tap_ok(seen >= 10, "%d nodes of ranks matter", seen);
}

int main(void)
{
    passes();
    tangents_and_moves();
    trained();
    traces();
    terms();
    return tap_done();
}
