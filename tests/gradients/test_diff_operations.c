/* Random programs over all operations, in kinds that differ in what they are made of: local
 * operations, collectives of every form, messages, windows, neighbourhoods, two groups, complex
 * numbers, floats with ties, second derivatives, checkpoints, replicated values. No right gradient
 * is called wrong. Half of them get one wrong term: of any node of the tape, on one rank, by a sign,
 * or by a factor down to 1 + 1e-9; no wrong gradient is called right, and who is blamed is that
 * node. */
#include "tests/gradients/generated_calls.h"

#include "collectives/tape/tape.h"

#include <complex.h>
#include <malloc.h>

enum kind {
    LOCAL,
    COLLECTIVES,
    MESSAGES,
    WINDOWS,
    TWO_GROUPS,
    COMPLEX,
    TIES,
    SECOND,
    CHECKPOINTS,
    REPLICATED,
    STAIRS,
    ALL,
    KINDS
};
static const char *const names[KINDS] = {
    "local operations", "collectives",  "messages",    "windows",    "two groups", "complex",
    "float32, ties",    "second order", "checkpoints", "replicated", "stairs",     "all of them"};

enum { COUNT = 4, STEPS_MOST = 7 };

static struct {
    enum kind kind;
    int ranks, steps;
    bool marked, opaque; /* marks around it; an operation without a tangent in it */
    uint32_t nodes;      /* of the longest tape */
} program;

/* ---- local steps ---- */

static struct diff_tensor *constant(struct diff_tape *tape, enum diff_type type, uint64_t what,
                                    size_t count)
{
    double complex values[64];
    double *doubles = (double *)values;
    float *floats = (float *)values;
    double numbers[128];
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    size_t parts = count * (type > DIFF_DOUBLE ? 2 : 1);
    for (size_t i = 0; i < parts; i++)
        numbers[i] = number(what * 8 + (uint64_t)rank, i);
    for (size_t i = 0; i < parts; i++)
        if (type == DIFF_FLOAT || type == DIFF_COMPLEX_FLOAT)
            floats[i] = (float)numbers[i];
        else
            doubles[i] = numbers[i];
    return diff_constant(tape, type, 1, &count, values);
}

/* x sin x, whose tangent nobody has. */
static void opaque_forward(size_t count, const void *x, void *y, void *context)
{
    (void)context;
    for (size_t i = 0; i < count; i++)
        ((double *)y)[i] = ((const double *)x)[i] * sin(((const double *)x)[i]);
}

static void opaque_vjp(size_t count, const void *x, const void *y_bar, void *x_bar, void *context)
{
    (void)context;
    for (size_t i = 0; i < count; i++) {
        double at = ((const double *)x)[i];
        ((double *)x_bar)[i] = (sin(at) + at * cos(at)) * ((const double *)y_bar)[i];
    }
}

static const struct diff_custom_rules opaque = {"opaque", NULL, opaque_forward, opaque_vjp, NULL};

static const size_t places[COUNT] = {2, 0, 2, 3};

static struct diff_tensor *squared(struct diff_tensor *x)
{
    return diff_mul(x, x);
}

static struct diff_tensor *flat(struct diff_tensor *x)
{
    return diff_reshape(x, 1, (size_t[]){COUNT});
}

static struct diff_tensor *shaped(struct diff_tape *tape, struct diff_tensor *x, uint64_t what)
{
    enum diff_type type = diff_type_of(x);
    struct diff_tensor *c = constant(tape, type, what, COUNT);
    struct diff_tensor *m = diff_reshape(x, 2, (size_t[]){2, 2}), *parts[2];
    size_t sizes[] = {1, 1};
    switch (choice(what, 13)) {
    case 0:
        return flat(diff_mul(
            diff_broadcast(diff_sum_axis(m, choice(what + 1, 2)), 2, (size_t[]){2, 2}), m));
    case 1:
        return flat(diff_matmul(m, diff_transpose(m)));
    case 2:
        return diff_mul(diff_take(x, COUNT, places), c);
    case 3:
        return diff_put(x, places, COUNT);
    case 4:
        return diff_slice(diff_reshape(diff_stack(2, (struct diff_tensor *[]){x, diff_mul(c, x)}),
                                       1, (size_t[]){2 * COUNT}),
                          2, COUNT);
    case 5:
        diff_split(m, 2, sizes, parts);
        return diff_concat(2, (struct diff_tensor *[]){parts[1], diff_scale(parts[0], 1.5)});
    case 6:
        return flat(diff_matmul_batched(diff_reshape(x, 3, (size_t[]){2, 1, 2}),
                                        diff_broadcast(m, 3, (size_t[]){2, 2, 2})));
    case 7:
        return flat(diff_gather_rows(m, 2, (size_t[]){1, choice(what + 1, 2)}));
    case 8:
        return diff_add(x, diff_scale(diff_concat(1, (struct diff_tensor *[]){x}), 0.3));
    case 9:
        return type > DIFF_DOUBLE ? diff_mul(x, c) : flat(diff_layer_norm(m, 0.1));
    case 10:
        return type > DIFF_DOUBLE ? diff_neg(x) : flat(diff_softmax(m));
    case 11:
        return type > DIFF_DOUBLE ? diff_sub(x, c)
                                  : diff_scale_by(x, diff_cross_entropy(m, (int[]){1, 0}));
    default:
        return diff_div(c, diff_shift(squared(x), 2.5));
    }
}

static struct diff_tensor *local(struct diff_tape *tape, struct diff_tensor *x, uint64_t what)
{
    static const bool condition[COUNT] = {true, false, false, true};
    enum diff_type type = diff_type_of(x);
    struct diff_tensor *c = constant(tape, type, what + 7, COUNT);
    if (type > DIFF_DOUBLE)
        return choice(what, 3) == 0   ? diff_exp(diff_scale(x, 0.3))
               : choice(what, 3) == 1 ? diff_tanh(diff_scale(x, 0.2))
                                      : shaped(tape, x, what + 8);
    switch (choice(what, 16)) {
    case 0:
        return diff_sqrt(diff_shift(squared(x), 0.5));
    case 1:
        return diff_power(diff_shift(squared(x), 1), -1.5);
    case 2:
        return diff_sin(diff_scale(x, 1.7));
    case 3:
        return diff_cos(diff_add(x, c));
    case 4:
        return diff_abs(diff_shift(x, -0.2));
    case 5:
        return diff_maximum(x, diff_mul(x, c));
    case 6:
        return diff_minimum(diff_mul(x, c), c);
    case 7:
        return diff_where(condition, squared(x), diff_neg(x));
    case 8:
        return diff_log(diff_shift(squared(x), 1.5));
    case 9:
        return diff_add(diff_scale_by(x, diff_mean(x)), c);
    case 10:
        return program.kind == TIES || program.kind == SECOND
                   ? x
                   : diff_stored(x, choice(what + 1, 2) ? DIFF_FLOAT16 : DIFF_BFLOAT16);
    case 11:
        return program.opaque ? diff_custom(x, &opaque, NULL) : diff_relu(x);
    default:
        return shaped(tape, x, what + 8);
    }
}

/* Equal numbers, on purpose: kinks on the spot. */
static struct diff_tensor *tied(const struct calls *calls, struct diff_tensor *x, uint64_t what)
{
    struct diff_tensor *m = diff_reshape(x, 2, (size_t[]){2, 2});
    switch (choice(what, 6)) {
    case 0:
        return diff_maximum(x, diff_take(x, COUNT, places));
    case 1:
        return flat(diff_broadcast(diff_max_axis(m, 1), 2, (size_t[]){2, 2}));
    case 2:
        return diff_allreduce(x, MPI_MAX, MPI_COMM_WORLD);
    case 3:
        return diff_scan(x, MPI_MIN, calls->shared);
    case 4:
        return diff_abs(x);
    default:
        return diff_relu(x);
    }
}

/* Up, and down again: what is left of the values are stairs. Where marks leave nothing but J to look
 * at, something of them must be left. */
static struct diff_tensor *stairs(struct diff_tensor *x, uint64_t what)
{
    double up = exp2(20 + (double)choice(what, program.marked ? 16 : 38));
    return diff_shift(diff_shift(x, up), -up);
}

static struct diff_tensor *step_take(const struct calls *calls, struct diff_tensor *x,
                                     uint64_t what)
{
    static const enum kind mixed[] = {LOCAL, COLLECTIVES, MESSAGES, WINDOWS, TWO_GROUPS};
    enum kind kind = program.kind;
    if (kind >= COMPLEX || choice(what, 3) == 0)
        kind = mixed[choice(what + 1, 5)];
    if (program.kind == TIES && choice(what + 2, 2))
        return tied(calls, x, what + 3);
    if (program.kind == STAIRS && choice(what + 2, 2))
        return stairs(x, what + 3);
    switch (kind) {
    case COLLECTIVES:
        return call_made(calls, x, what + 10);
    case MESSAGES:
        return call_message(calls, x, what + 10);
    case WINDOWS:
        return call_window(calls, x, what + 10);
    case TWO_GROUPS:
        return call_between(calls, x, what + 10);
    default:
        return local(calls->tape, x, what + 10);
    }
}

static void looped(struct diff_tape *tape, size_t step, size_t count, struct diff_tensor **state,
                   void *context)
{
    struct calls calls = *(const struct calls *)context;
    calls.tape = tape;
    (void)count;
    struct diff_tensor *y = local(tape, state[0], 700 + choice(700 + step % 2, 50));
    state[0] = diff_tanh(diff_add(call_message(&calls, y, 900), diff_scale(state[1], 0.5)));
    state[1] = diff_allreduce(diff_scale(state[0], 0.4), MPI_SUM, MPI_COMM_WORLD);
}

/* ---- programs ---- */

static struct diff_tensor *chain(struct calls *calls, struct diff_tensor *x)
{
    struct diff_tensor *y = x;
    for (int step = 0; step < program.steps; step++) {
        y = step_take(calls, y, 1000 * (uint64_t)(step + 1));
        if (step % 2)
            y = diff_add(diff_scale(y, 0.5), diff_scale(x, 0.1)); /* used again */
        if (calls->type <= DIFF_DOUBLE && program.kind != STAIRS)
            y = diff_tanh(y);
    }
    if (program.kind == CHECKPOINTS) {
        struct diff_tensor *state[] = {y, x};
        diff_checkpoint(calls->tape, 2 + choice(30, 5), 1 + choice(31, 200), looped, 2, state,
                        calls);
        y = diff_add(state[0], state[1]);
    }
    return y;
}

static struct diff_tensor *loss_of(struct calls *calls, struct diff_tensor *y)
{
    struct diff_tensor *c = constant(calls->tape, calls->type, 7, COUNT);
    if (program.kind == REPLICATED) {
        /* Half of it is one number that all have, half the same for being summed by all. */
        struct diff_tensor *own = diff_dot(squared(y), c);
        return diff_reduce_invariant(own, MPI_COMM_WORLD);
    }
    return diff_dot(squared(y), c);
}

static void passes(struct calls *calls, struct diff_tensor *x, struct diff_tensor *loss)
{
    if (program.kind == REPLICATED) {
        diff_backward_replicated(loss);
        return;
    }
    if (program.kind != SECOND) {
        diff_backward(loss);
        return;
    }
    diff_backward_from(calls->tape, 1, &loss, NULL, DIFF_GRAPH);
    struct diff_tensor *g = diff_gradient_tensor(x);
    if (choice(40, 2))
        diff_gradient_clear(x);
    diff_backward(diff_dot(g ? g : diff_scale(x, 0), constant(calls->tape, calls->type, 8, COUNT)));
}

static void body(void)
{
    struct calls calls = {.type = program.kind == TIES      ? DIFF_FLOAT
                                  : program.kind == COMPLEX ? DIFF_COMPLEX_DOUBLE
                                                            : DIFF_DOUBLE,
                          .count = COUNT};
    double values[2 * COUNT];
    float floats[COUNT];
    const size_t count = COUNT;
    calls_begin(&calls);
    calls.tape = diff_tape_new(MPI_COMM_WORLD);
    int whose = program.kind == REPLICATED ? 0 : calls.rank;
    for (size_t i = 0; i < 2 * COUNT; i++)
        values[i] = number((uint64_t)whose + 1, i);
    if (program.kind == TIES)
        for (size_t i = 0; i < COUNT; i++)
            values[i] = nearbyint(2 * number((uint64_t)whose % 2 + 1, i)) / 2;
    if (program.marked)
        diff_mark_input("x", values, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        floats[i] = (float)values[i];
    const void *start = calls.type == DIFF_FLOAT ? (const void *)floats : (const void *)values;
    struct diff_tensor *x =
        program.marked ? diff_leaf(calls.tape, calls.type, 1, &count, start)
        : program.kind == REPLICATED
            ? diff_input_replicated(calls.tape, "x", calls.type, 1, &count, start)
            : diff_input(calls.tape, "x", calls.type, 1, &count, start);
    struct diff_tensor *used = program.kind == REPLICATED ? diff_replicate(x, MPI_COMM_WORLD) : x;
    struct diff_tensor *loss = loss_of(&calls, chain(&calls, used));
    if (calls.tape->sequence > program.nodes)
        program.nodes = calls.tape->sequence;
    passes(&calls, x, loss);
    if (program.marked) {
        diff_mark_objective(diff_scalar(loss));
        diff_mark_gradient("x", diff_gradient(x), COUNT);
    }
    diff_tape_free(calls.tape);
    calls_end(&calls);
}

/* ---- what came of it ---- */

static void generate(enum kind kind, uint64_t seed)
{
    generated_seed = seed * KINDS + kind;
    program.kind = kind;
    program.nodes = 0;
    program.ranks = 1 + (int)choice(1, CALL_RANKS);
    program.steps = 1 + (int)choice(2, kind == SECOND ? 3 : STEPS_MOST);
    bool plain = kind <= TWO_GROUPS || kind == STAIRS || kind == ALL;
    program.marked = plain && choice(3, 4) == 0;
    program.opaque = plain && kind != STAIRS && choice(4, 4) == 0;
}

static struct gradcheck_options wrong_term(double *flipped)
{
    struct gradcheck_options options = gradcheck_options_default();
    options.flip = 1 + (uint32_t)choice(5, program.nodes ? program.nodes : 1);
    options.flip_part = 1 + choice(6, COUNT);
    options.flip_rank = 1 + (int)choice(7, (uint64_t)program.ranks);
    options.flipped = flipped;
    double least = program.kind == TIES ? 2 : program.marked || program.opaque ? 5 : 9;
    if (choice(8, 3))
        options.flip_factor =
            1 + (number(8, 0) < 0 ? -1 : 1) * pow(10, -least * (number(9, 0) + 1) / 2);
    return options;
}

/* Of the nodes that were spoiled, who was blamed. Both ends of a message, and all accesses of an
 * epoch, are one; checkpointed steps are numbered otherwise where they are followed. */
struct blamed {
    int well, partner, nobody, other;
};

static void blame_count(struct blamed *blamed, const struct gradcheck_culprit *culprit,
                        uint32_t node, int rank)
{
    static const char *const partners[] = {"Irecv", "Isend", "Issend",    "Recv",
                                           "Ssend", "Wait",  "Win_fence", "Sendrecv"};
    bool partner = culprit->rank != rank; /* who took part, too: its nodes have other numbers */
    for (size_t i = 0; i < sizeof partners / sizeof *partners; i++)
        partner = partner || strcmp(culprit->name, partners[i]) == 0;
    if (program.marked || program.opaque || program.kind == TIES || program.kind == CHECKPOINTS)
        return;
    ++*(!culprit->found             ? &blamed->nobody
        : culprit->sequence == node ? &blamed->well
        : partner                   ? &blamed->partner
                                    : &blamed->other);
    if (!culprit->found || (culprit->sequence != node && !partner))
        tap_note("seed %llu: node %u is wrong, blamed: %u %s %s",
                 (unsigned long long)generated_seed, (unsigned)node, (unsigned)culprit->sequence,
                 culprit->name, culprit->text);
}

/* Elements on a tape that tangents leave open: nothing but kinks may do that (floats with ties have
 * them beside the point, too), operations that have none, and zeros that rounding hides. */
static int elements_open;

static void elements_count(const struct gradcheck_result *result)
{
    double largest = 1e-10; /* where all of it is less, rounding may have left that, too */
    for (size_t i = 0; i < result->row_count; i++)
        if (result->rows[i].check.index >= 0)
            largest = fmax(largest, fabs(result->rows[i].check.analytic));
    for (size_t i = 0; i < result->row_count; i++) {
        const struct trace_gradient *row = &result->rows[i].check;
        bool open = row->index >= 0 && row->undecided && strcmp(row->undecided, "kink") != 0;
        bool zero = fabs(row->analytic) <= 1e-13 * largest; /* what rounding left of it */
        if (!open || zero || program.marked || program.opaque || program.kind == TIES)
            continue;
        tap_note("seed %llu: element %d of rank %u is undecided: %s by %s",
                 (unsigned long long)generated_seed, (int)row->index, (unsigned)row->rank,
                 row->undecided, row->method);
        elements_open++;
    }
}

static void judge(enum kind kind, uint64_t seed, struct tally *tally, struct blamed *blamed)
{
    double flipped[CALL_RANKS] = {0};
    generate(kind, seed);
    struct gradcheck_result right = diff_world_check(body, program.ranks, NULL);
    tally_right(tally, &right, names[kind]);
    elements_count(&right);
    if (seed % 2) {
        struct gradcheck_options options = wrong_term(flipped);
        struct gradcheck_result wrong = diff_world_check(body, program.ranks, &options);
        if (tally_wrong(tally, &wrong, &right, names[kind]))
            blame_count(blamed, &wrong.culprit, options.flip, options.flip_rank - 1);
        gradcheck_release(&wrong);
    }
    gradcheck_release(&right);
}

/* Programs that were judged falsely once. */
static const struct {
    enum kind kind;
    uint64_t seed;
} once[] = {{SECOND, 34},    /* adjoint messages met the program's own wildcards in moved worlds */
            {STAIRS, 1},     /* differences of stairs, taken for slopes; and */
            {STAIRS, 9},     /* an operation blamed for them */
            {STAIRS, 5},     /* the same with marks */
            {STAIRS, 77800}, /* another branch, far away, overruled what was seen on this one */
            {TIES, 15},     /* kinks on the spot, hidden from small steps by the noise of floats; */
            {TIES, 61},     /* several; */
            {TIES, 87},     /* and of one slope */
            {TIES, 100153}, /* several at once, which bend little together */
            {STAIRS, 100212},  /* zeros that rounding made 1e-18 of; */
            {STAIRS, 101955},  /* and no neighbour rounds otherwise on stairs, */
            {COMPLEX, 101343}, /* nor where products do not change with the point */
            {STAIRS, 101561},  /* another branch again, beside what is nearly resolved close by, */
            {STAIRS, 101700},  {STAIRS, 1218749},
            {TIES, 101881},   /* kinks that bend against each other: nothing is seen of them, */
            {TIES, 1310054}}; /* and none of them alone either */

int main(int argc, char **argv)
{
    struct dice_seeds seeds = dice_seeds(10); /* of each kind */
    struct tally tallies[KINDS] = {0};
    struct blamed blamed = {0};
    mallopt(M_PERTURB, 0xa5); /* what nobody has written is large, and decides nothing */
    if (argc > 1) {           /* one program, by what is said of it */
        unsigned long long one = strtoull(argv[1], NULL, 10);
        judge((enum kind)(one % KINDS), one / KINDS, tallies, &blamed);
        tally_line("this one", tallies);
        return 0;
    }
    tap_plan(2 * KINDS + 2 + (dice_part().of == 1 && checked_open("diff_operations")));
    for (int k = 0; k < KINDS; k++)
        for (unsigned long long i = 0; i < seeds.count; i++)
            judge((enum kind)k, seeds.first + i, &tallies[k], &blamed);
    for (size_t i = 0; i < sizeof once / sizeof *once; i++)
        if (dice_takes(i))
            judge(once[i].kind, once[i].seed, &tallies[once[i].kind], &blamed);
    tally_title();
    for (int k = 0; k < KINDS; k++)
        tally_line(names[k], &tallies[k]);
    for (int k = 0; k < KINDS; k++) {
        tap_is_int(tallies[k].false_alarms, 0, "%s: no right gradient is called wrong", names[k]);
        tap_is_int(tallies[k].false_rights, 0, "%s: no wrong gradient is called right", names[k]);
    }
    tap_ok(
        blamed.other == 0 && (blamed.well > 8 * blamed.partner || dice_part().of > 1),
        "who is blamed: %d times the wrong one, %d times its partner, %d times nobody or another",
        blamed.well, blamed.partner, blamed.other);
    tap_is_int(elements_open, 0, "tangents decide every element on a tape that no kink hides");
    checked_close();
    return tap_done();
}
