/* Whole programs: gradients of every kind of operation, checked by running them again and again. */
#include "tests/diff_world.h"

#include <math.h>

enum { N = 4 };

struct here {
    struct diff_tape *tape;
    int rank, size;
    struct diff_tensor *x, *w;
};

static struct here begin(enum diff_type type)
{
    struct here here;
    MPI_Comm_rank(MPI_COMM_WORLD, &here.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &here.size);
    here.tape = diff_tape_new(MPI_COMM_WORLD);
    double values[2 * N], weights[2 * N];
    float narrow[2 * N], narrow_weights[2 * N];
    for (int i = 0; i < 2 * N; i++) {
        values[i] = 0.8 + 0.21 * i - 0.37 * here.rank + 0.03 * i * here.rank;
        weights[i] = 1 + here.rank - 0.4 * i;
        narrow[i] = (float)values[i];
        narrow_weights[i] = (float)weights[i];
    }
    bool single = type == DIFF_FLOAT || type == DIFF_COMPLEX_FLOAT;
    size_t shape[] = {N};
    here.x = diff_input(here.tape, "x", type, 1, shape, single ? (void *)narrow : values);
    here.w = diff_constant(here.tape, type, 1, shape, single ? (void *)narrow_weights : weights);
    return here;
}

static void end(struct here *here, struct diff_tensor *y)
{
    diff_backward(diff_dot(y, here->w));
    diff_tape_free(here->tape);
}

static struct diff_tensor *room(const struct here *here)
{
    return diff_scale(here->x, 0.5);
}

static int right_of(const struct here *here)
{
    return (here->rank + 1) % here->size;
}

static int left_of(const struct here *here)
{
    return (here->rank + here->size - 1) % here->size;
}

/* ---- local operations ---- */

static void local_functions(enum diff_type type)
{
    struct here here = begin(type);
    struct diff_tensor *x = here.x;
    struct diff_tensor *y = diff_tanh(diff_mul(diff_exp(diff_scale(x, 0.3)), x));
    y = diff_div(diff_sub(y, diff_neg(x)), diff_shift(diff_mul(x, x), 3));
    y = diff_add(y, diff_sigmoid(diff_log(diff_shift(diff_mul(x, x), 2))));
    y = diff_scale_by(y, diff_dot(x, here.w));
    end(&here, diff_allreduce(y, MPI_SUM, MPI_COMM_WORLD));
}

static void local_double(void)
{
    local_functions(DIFF_DOUBLE);
}

static void local_float(void)
{
    local_functions(DIFF_FLOAT);
}

static void local_complex(void)
{
    local_functions(DIFF_COMPLEX_DOUBLE);
}

static void local_complex_float(void)
{
    local_functions(DIFF_COMPLEX_FLOAT);
}

static void layouts(void)
{
    struct here here = begin(DIFF_DOUBLE);
    struct diff_tensor *matrix = diff_reshape(here.x, 2, (size_t[]){2, 2});
    struct diff_tensor *rows = diff_gather_rows(matrix, 3, (size_t[]){1, 0, 1});
    struct diff_tensor *product = diff_matmul(rows, diff_transpose(matrix)); /* [3, 2] */
    struct diff_tensor *parts[] = {diff_slice(product, 1, 3), diff_slice(here.x, 2, 1)};
    struct diff_tensor *y = diff_concat(2, parts);
    end(&here, diff_cast(diff_cast(diff_relu(diff_shift(y, 0.05)), DIFF_DOUBLE), DIFF_DOUBLE));
}

static void classifier(void)
{
    struct here here = begin(DIFF_DOUBLE);
    struct diff_tensor *logits = diff_reshape(here.x, 2, (size_t[]){2, 2});
    struct diff_tensor *all = diff_allreduce(logits, DIFF_AVG, MPI_COMM_WORLD);
    struct diff_tensor *loss = diff_cross_entropy(all, (int[]){here.rank % 2, 1});
    struct diff_tensor *soft = diff_softmax(logits);
    diff_backward(diff_add(loss, diff_dot(diff_reshape(soft, 1, (size_t[]){N}), here.w)));
    diff_tape_free(here.tape);
}

static void square_plus(size_t count, const void *x, void *y, void *context)
{
    for (size_t i = 0; i < count; i++)
        ((double *)y)[i] = ((const double *)x)[i] * ((const double *)x)[i] + *(double *)context;
}

static void square_vjp(size_t count, const void *x, const void *y_bar, void *x_bar, void *context)
{
    (void)context;
    for (size_t i = 0; i < count; i++)
        ((double *)x_bar)[i] = 2 * ((const double *)x)[i] * ((const double *)y_bar)[i];
}

static void custom(void)
{
    struct here here = begin(DIFF_DOUBLE);
    static const struct diff_custom_rules rules = {
        .name = "square", .forward = square_plus, .vjp = square_vjp};
    double added = 0.5;
    end(&here, diff_allreduce(diff_custom(here.x, &rules, &added), MPI_PROD, MPI_COMM_WORLD));
}

static void halves(enum diff_type type, size_t count, const void *x, void *y, void *context)
{
    (void)context, (void)type;
    for (size_t i = 0; i < count; i++)
        ((double *)y)[i] = floor(((const double *)x)[i] * 4) / 4;
}

static void lossy(void)
{
    struct here here = begin(DIFF_DOUBLE);
    static const struct diff_coder coder = {.name = "quarters", .code = halves};
    struct diff_tensor *coded = diff_coded(diff_mul(here.x, here.x), &coder);
    end(&here, diff_allreduce(coded, MPI_SUM, MPI_COMM_WORLD));
}

/* ---- messages ---- */

static void blocking(void)
{
    struct here here = begin(DIFF_DOUBLE);
    struct diff_tensor *y = here.x;
    if (here.rank > 0)
        y = diff_recv(room(&here), here.rank - 1, 3, MPI_COMM_WORLD);
    y = diff_mul(y, here.x);
    if (here.rank + 1 < here.size)
        diff_ssend(y, here.rank + 1, 3, MPI_COMM_WORLD);
    end(&here, y);
}

/* A shorter message leaves the tail of the buffer; PROC_NULL leaves all of it. */
static void tails(void)
{
    struct here here = begin(DIFF_DOUBLE);
    int next = here.rank + 1 < here.size ? here.rank + 1 : MPI_PROC_NULL;
    int previous = here.rank > 0 ? here.rank - 1 : MPI_PROC_NULL;
    struct diff_tensor *front = diff_slice(here.x, 0, 2);
    struct diff_tensor *handle = diff_irecv(diff_mul(here.x, here.x), previous, 1, MPI_COMM_WORLD);
    diff_send(front, next, 1, MPI_COMM_WORLD);
    struct diff_tensor *y = diff_wait(handle);
    y = diff_sendrecv(front, next, 2, y, previous, 2, MPI_COMM_WORLD);
    end(&here, y);
}

/* The messages' order of arrival is the machine's business; who sent what is recorded. */
static void wildcards(void)
{
    struct here here = begin(DIFF_DOUBLE);
    struct diff_tensor *y = here.x;
    if (here.rank > 0)
        diff_send(diff_scale(here.x, here.rank), 0, here.rank, MPI_COMM_WORLD);
    for (int i = 1; i < here.size && here.rank == 0; i++) {
        MPI_Status status;
        MPI_Message message;
        struct diff_tensor *got;
        if (i % 3 == 0) {
            MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
            got = diff_mrecv(room(&here), &message, MPI_COMM_WORLD);
        } else if (i % 3 == 1) {
            got = diff_recv(room(&here), MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD);
        } else {
            got = diff_wait(diff_irecv(room(&here), MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD));
        }
        int source;
        diff_received(got, &source, NULL, NULL);
        y = diff_add(y, diff_scale(diff_mul(got, here.x), 1.0 / (1 + source)));
    }
    end(&here, y);
}

static void replace(void)
{
    struct here here = begin(DIFF_DOUBLE);
    struct diff_tensor *y =
        diff_sendrecv_replace(diff_exp(diff_scale(here.x, 0.2)), right_of(&here), here.rank,
                              left_of(&here), left_of(&here), MPI_COMM_WORLD);
    end(&here, diff_mul(y, here.x));
}

static void persistent(void)
{
    struct here here = begin(DIFF_DOUBLE);
    struct diff_persistent *out =
        diff_send_init(here.tape, DIFF_DOUBLE, N, right_of(&here), 5, MPI_COMM_WORLD);
    struct diff_persistent *in =
        diff_recv_init(here.tape, DIFF_DOUBLE, N, left_of(&here), 5, MPI_COMM_WORLD);
    struct diff_tensor *y = here.x;
    for (int step = 0; step < 3; step++) {
        struct diff_tensor *handles[] = {diff_start(in, room(&here)), diff_start(out, y)};
        struct diff_tensor *results[2];
        diff_waitall(2, handles, results);
        y = diff_mul(results[0], here.x);
    }
    diff_persistent_free(out);
    diff_persistent_free(in);
    end(&here, y);
}

static void many_waits(void)
{
    struct here here = begin(DIFF_DOUBLE);
    struct diff_tensor *handles[4], *y = here.x;
    handles[0] = diff_irecv(room(&here), left_of(&here), 1, MPI_COMM_WORLD);
    handles[1] = diff_irecv(room(&here), left_of(&here), 2, MPI_COMM_WORLD);
    handles[2] = diff_isend(here.x, right_of(&here), 2, MPI_COMM_WORLD);
    handles[3] = diff_isend(diff_mul(here.x, here.x), right_of(&here), 1, MPI_COMM_WORLD);
    size_t index;
    struct diff_tensor *got;
    while ((got = diff_waitany(4, handles, &index)) != NULL)
        if (index < 2)
            y = diff_add(y, diff_scale(diff_mul(got, here.x), 1 + (double)index));
    struct diff_tensor *sum = diff_iallreduce(y, MPI_SUM, MPI_COMM_WORLD), *done;
    while (!(done = diff_test(sum)))
        ;
    end(&here, done);
}

/* Two messages of one tag, waited for in the opposite order on one side. */
static void crossed_waits(void)
{
    struct here here = begin(DIFF_DOUBLE);
    struct diff_tensor *in[2], *out[2], *got[2];
    for (int i = 0; i < 2; i++)
        in[i] = diff_irecv(room(&here), left_of(&here), 1, MPI_COMM_WORLD);
    for (int i = 0; i < 2; i++)
        out[i] = diff_isend(diff_scale(here.x, 1 + i), right_of(&here), 1, MPI_COMM_WORLD);
    bool backwards = here.rank % 2;
    for (int i = 0; i < 2; i++)
        got[backwards ? 1 - i : i] = diff_wait(in[backwards ? 1 - i : i]);
    for (int i = 0; i < 2; i++)
        diff_wait(out[i]);
    end(&here, diff_mul(diff_scale(got[0], 3), got[1]));
}

static void datatypes(void)
{
    struct here here = begin(DIFF_DOUBLE);
    MPI_Datatype strided;
    MPI_Type_vector(2, 1, 2, MPI_DOUBLE, &strided);
    MPI_Type_commit(&strided);
    struct diff_tensor *packed = diff_pack(diff_mul(here.x, here.x), 1, strided);
    struct diff_tensor *sum = diff_allreduce(packed, MPI_SUM, MPI_COMM_WORLD);
    struct diff_tensor *y = diff_unpack(sum, 1, strided, here.x);
    MPI_Type_free(&strided);
    end(&here, y);
}

static void freed_communicator(void)
{
    struct here here = begin(DIFF_DOUBLE);
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, here.rank % 2, -here.rank, &half);
    struct diff_tensor *y = diff_allreduce(diff_mul(here.x, here.x), MPI_SUM, half);
    MPI_Comm_free(&half);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -here.rank, &half);
    y = diff_allreduce(diff_mul(y, here.x), MPI_SUM, half);
    MPI_Comm_free(&half);
    end(&here, y);
}

static void grid(void)
{
    struct here here = begin(DIFF_DOUBLE);
    int dims[2] = {0, 0}, periodic[2] = {1, 0};
    MPI_Dims_create(here.size, 2, dims);
    MPI_Comm cart;
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periodic, 0, &cart);
    struct diff_tensor *all = diff_neighbor_alltoall(diff_mul(here.x, here.x), cart);
    struct diff_tensor *each = diff_neighbor_allgather(diff_slice(here.x, 0, 1), cart);
    MPI_Comm_free(&cart);
    end(&here, diff_mul(all, each));
}

/* ---- data order, marks, replicas ---- */

static void joined_ring(void)
{
    struct here here = begin(DIFF_DOUBLE);
    diff_tape_order(here.tape, DIFF_ORDER_DATA);
    struct diff_tensor *sending = diff_isend(here.x, right_of(&here), 0, MPI_COMM_WORLD);
    struct diff_tensor *buffer =
        diff_join(diff_zeros(here.tape, DIFF_DOUBLE, 1, (size_t[]){N}), 1, &sending);
    struct diff_tensor *got = diff_recv(buffer, left_of(&here), 0, MPI_COMM_WORLD);
    struct diff_tensor *sent = diff_wait(diff_join_handle(sending, 1, &got));
    end(&here, diff_join(diff_mul(here.x, got), 1, &sent));
}

static void replicated(void)
{
    struct here here = begin(DIFF_DOUBLE);
    double values[N] = {0.3, -0.4, 1.2, 0.9};
    struct diff_tensor *theta =
        diff_input_replicated(here.tape, "theta", DIFF_DOUBLE, 1, (size_t[]){N}, values);
    struct diff_tensor *local = diff_mul(diff_replicate(theta, MPI_COMM_WORLD), here.x);
    struct diff_tensor *y = diff_reduce_invariant(local, MPI_COMM_WORLD);
    diff_backward_replicated(diff_sum(diff_mul(y, diff_tanh(y))));
    diff_tape_free(here.tape);
}

/* The objective is made of a gradient: |d/dx <w, f(x)>|^2. */
static void second_objective(enum diff_type type)
{
    struct here here = begin(type);
    struct diff_tensor *y = diff_tanh(diff_div(diff_exp(diff_scale(here.x, 0.2)), here.w));
    y = diff_dot(diff_allreduce(y, MPI_PROD, MPI_COMM_WORLD), here.w);
    struct diff_tensor *one =
        diff_constant(here.tape, DIFF_DOUBLE, 1, (size_t[]){1}, (double[]){1});
    diff_backward_from(here.tape, 1, &y, &one, DIFF_GRAPH);
    struct diff_tensor *gradient = diff_gradient_tensor(here.x);
    diff_gradient_clear(here.x);
    diff_backward(diff_dot(gradient, gradient));
    diff_tape_free(here.tape);
}

static void second_objective_double(void)
{
    second_objective(DIFF_DOUBLE);
}

static void second_objective_complex(void)
{
    second_objective(DIFF_COMPLEX_DOUBLE);
}

/* Elements that a datatype lists twice add up. */
static void overlapping(void)
{
    struct here here = begin(DIFF_DOUBLE);
    MPI_Datatype twice;
    MPI_Type_indexed(3, (int[]){2, 2, 2}, (int[]){0, 1, 2}, MPI_DOUBLE, &twice);
    MPI_Type_commit(&twice);
    struct diff_tensor *packed = diff_pack(diff_mul(here.x, here.x), 1, twice);
    MPI_Type_free(&twice);
    packed = diff_allreduce(packed, MPI_PROD, MPI_COMM_WORLD);
    end(&here, diff_slice(packed, 1, N));
}

static void sine(size_t count, const void *x, void *y, void *context)
{
    (void)context;
    for (size_t i = 0; i < count; i++)
        ((double *)y)[i] = sin(((const double *)x)[i]);
}

static void sine_vjp(size_t count, const void *x, const void *y_bar, void *x_bar, void *context)
{
    (void)context;
    for (size_t i = 0; i < count; i++)
        ((double *)x_bar)[i] = cos(((const double *)x)[i]) * ((const double *)y_bar)[i];
}

static double jvp_factor;

static void sine_jvp(size_t count, const void *x, const void *x_dot, void *y_dot, void *context)
{
    (void)context;
    for (size_t i = 0; i < count; i++)
        ((double *)y_dot)[i] =
            jvp_factor * cos(((const double *)x)[i]) * ((const double *)x_dot)[i];
}

static void wrong_tangent(void)
{
    struct here here = begin(DIFF_DOUBLE);
    static const struct diff_custom_rules rules = {
        .name = "sine", .forward = sine, .vjp = sine_vjp, .jvp = sine_jvp};
    end(&here, diff_custom(here.x, &rules, NULL));
}

static void wrong_tangent_test(void)
{
    static const char *const said[] = {"no wrong adjoint but a wrong tangent",
                                       "not each other's transpose"};
    for (int small = 0; small < 2; small++) {
        jvp_factor = small ? 1 + 1e-8 : 2;
        struct gradcheck_result result = diff_world_check(wrong_tangent, 2, NULL);
        const struct gradcheck_culprit *culprit = &result.culprit;
        tap_ok(result.failed > 0 && culprit->found && strcmp(culprit->name, "custom") == 0 &&
                   strstr(culprit->text, said[small]),
               small ? "of a slight difference neither jvp nor vjp is accused alone"
                     : "a wrong jvp is told from a wrong vjp");
        gradcheck_release(&result);
    }
}

static void several_passes(void)
{
    struct here here = begin(DIFF_DOUBLE);
    struct diff_tensor *y = diff_allreduce(diff_mul(here.x, here.x), MPI_SUM, MPI_COMM_WORLD);
    struct diff_tensor *roots[] = {diff_dot(y, here.w), diff_sum(y)};
    diff_backward_from(here.tape, 2, roots, NULL, DIFF_RETAIN);
    diff_backward(diff_scale(diff_sum(y), 3));
    diff_tape_free(here.tape);
}

static void two_tapes(void)
{
    for (int step = 0; step < 2; step++) {
        struct here here = begin(DIFF_DOUBLE);
        diff_backward(diff_dot(diff_scan(here.x, MPI_PROD, MPI_COMM_WORLD), here.w));
        diff_tape_clear(here.tape);
        double more[2] = {1.5, step};
        struct diff_tensor *z = diff_input(here.tape, "z", DIFF_DOUBLE, 1, (size_t[]){2}, more);
        diff_backward(diff_sum(diff_exp(diff_allreduce(z, DIFF_AVG, MPI_COMM_WORLD))));
        diff_tape_free(here.tape);
    }
}

/* A hand-written adjoint: y = sum over ranks of x_r^2, loss weight_r * y. */
static void marks_with(double factor)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double x[2] = {0.5 + rank, -1.5}, squares[2], y[2], y_bar[2], sum[2], x_bar[2];
    diff_mark_input("x", x, 2);
    for (int i = 0; i < 2; i++)
        squares[i] = x[i] * x[i];
    MPI_Allreduce(squares, y, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    double loss = 0;
    for (int i = 0; i < 2; i++) {
        y_bar[i] = 1 + rank + i;
        loss += y_bar[i] * y[i];
    }
    diff_mark_objective(loss);
    MPI_Allreduce(y_bar, sum, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < 2; i++)
        x_bar[i] = factor * 2 * x[i] * sum[i];
    diff_mark_gradient("x", x_bar, 2);
}

static void marks_right(void)
{
    marks_with(1);
}

static void marks_wrong(void)
{
    marks_with(1.000001);
}

/* ---- wrong ones ---- */

static void expect_wrong(const char *name, void (*body)(void), int ranks)
{
    struct gradcheck_result result = diff_world_check(body, ranks, NULL);
    tap_ok(!result.base_failed && result.failed > 0, "%s", name);
    gradcheck_release(&result);
}

/* g under a summed objective is off by the factor P. */
static void g_summed(void)
{
    struct here here = begin(DIFF_DOUBLE);
    end(&here, diff_reduce_invariant(here.x, MPI_COMM_WORLD));
}

static void not_a_number(void)
{
    struct here here = begin(DIFF_DOUBLE);
    struct diff_tensor *y = diff_log(diff_scale(here.x, here.rank == 0 ? 0 : 1));
    end(&here, diff_allreduce(y, MPI_SUM, MPI_COMM_WORLD));
}

/* ---- any sign gone wrong is noticed, and its place told ---- */

static void zoo(void)
{
    struct here here = begin(DIFF_DOUBLE);
    struct diff_tensor *x = here.x;
    struct diff_tensor *y = diff_allreduce(diff_exp(diff_scale(x, 0.2)), MPI_PROD, MPI_COMM_WORLD);
    y = diff_scan(diff_mul(y, x), MPI_SUM, MPI_COMM_WORLD);
    struct diff_tensor *in = diff_irecv(room(&here), left_of(&here), 1, MPI_COMM_WORLD);
    struct diff_tensor *out = diff_isend(y, right_of(&here), 1, MPI_COMM_WORLD);
    struct diff_tensor *got = diff_wait(in);
    diff_wait(out);
    struct diff_tensor *gathered = diff_allgather(diff_tanh(got), MPI_COMM_WORLD);
    struct diff_tensor *back = diff_reduce_scatter_block(gathered, MPI_SUM, MPI_COMM_WORLD);
    struct diff_tensor *all = diff_bcast(diff_mul(back, x), here.size - 1, MPI_COMM_WORLD);
    end(&here, diff_sendrecv(all, right_of(&here), 2, x, left_of(&here), 2, MPI_COMM_WORLD));
}

static void signs_are_noticed(void)
{
    /* 6, 7: what the buffer held is overwritten; 9, 10: waits hand on a handle. */
    static const uint32_t nodes[] = {1, 2, 3, 4, 5, 8, 11, 12, 13, 14, 15, 16, 17};
    enum { NODES = sizeof nodes / sizeof *nodes };
    int noticed = 0, told = 0;
    for (int i = 0; i < NODES; i++) {
        struct gradcheck_options options = gradcheck_options_default();
        options.flip = nodes[i];
        struct gradcheck_result result = diff_world_check(zoo, 3, &options);
        noticed += !result.base_failed && result.row_count > 0 && result.failed > 0;
        told += result.culprit.found && result.culprit.sequence == nodes[i];
        gradcheck_release(&result);
    }
    tap_is_int(noticed, NODES, "a sign gone wrong in any adjoint is noticed");
    tap_is_int(told, NODES, "and its node told as the first wrong adjoint");
}

int main(void)
{
    (void)checked_open("diff_programs");
    gradients_are_right("local functions of doubles", local_double, 1, 3);
    gradients_are_right("local functions of floats", local_float, 1, 3);
    gradients_are_right("local functions of complex doubles", local_complex, 1, 3);
    gradients_are_right("local functions of complex floats", local_complex_float, 2);
    gradients_are_right("reshape, gather rows, matmul, slice, concat, relu", layouts, 1, 2);
    gradients_are_right("softmax and cross entropy", classifier, 1, 4);
    gradients_are_right("a custom operation", custom, 1, 4);
    gradients_are_right("a lossy coder is passed straight through", lossy, 1, 3);
    gradients_are_right("blocking messages in a chain", blocking, 1, 2, 5);
    gradients_are_right("short messages and MPI_PROC_NULL", tails, 1, 2, 4);
    gradients_are_right("wildcards and matched probes", wildcards, 2, 5);
    gradients_are_right("Sendrecv_replace", replace, 1, 2, 3, 4);
    gradients_are_right("persistent messages started three times", persistent, 1, 2, 4);
    gradients_are_right("Waitany and Test", many_waits, 1, 2, 4);
    gradients_are_right("waits in another order than the messages", crossed_waits, 1, 2, 4);
    gradients_are_right("datatypes with gaps", datatypes, 1, 3);
    gradients_are_right("a communicator freed before backward", freed_communicator, 1, 4, 5);
    gradients_are_right("neighborhoods of a grid with borders", grid, 4, 6, 9);
    gradients_are_right("a joined ring in data order", joined_ring, 2, 3, 8);
    gradients_are_right("replicated values under a replicated loss", replicated, 1, 4);
    gradients_are_right("several roots and passes", several_passes, 1, 3);
    gradients_are_right("tapes one after the other", two_tapes, 1, 3);
    gradients_are_right("a hand-written adjoint with marks", marks_right, 1, 4);
    expect_wrong("a hand-written adjoint that is off by 1e-6 is noticed", marks_wrong, 4);
    expect_wrong("g under a summed objective is noticed", g_summed, 2);
    expect_wrong("a value that is not a number is noticed", not_a_number, 2);
    signs_are_noticed();
    gradients_are_right("an objective made of a gradient", second_objective_double, 1, 2, 3);
    gradients_are_right("and of complex numbers", second_objective_complex, 1, 2, 3);
    gradients_are_right("a datatype that lists elements twice", overlapping, 1, 2, 3);
    wrong_tangent_test();
    checked_close();
    return tap_done();
}
