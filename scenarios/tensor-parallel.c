/* about: a layer split by columns and the next by rows, as Megatron does, with and without split sequences
 * ranks: 1,2,4
 * arguments: replicated
 * expect: OK
 * variant: sequence; arguments: sequence; ranks: 1,2,3,4; expect: OK
 * variant: without-f; arguments: without-f; ranks: 2,4; expect: G001
 * variant: allreduce; arguments: allreduce; ranks: 2,4; expect: G001
 * variant: without-f-alone; arguments: without-f; ranks: 1; expect: OK
 *
 * Every rank has some columns of a and the same rows of b: y = sum over ranks of tanh(x a_r) b_r. Replicated: x, the
 * sum and the loss are alike on all ranks. f passes x on and sums the cotangents of its copies, g sums y and passes
 * the cotangent on. Without f each rank sees its own part of the gradient of x only. With a plain allreduce in place
 * of g the equal cotangents are summed, and everything is as many times too large as there are ranks: one rank alone
 * never shows either. Sequence: each rank holds some rows of x, gathers all of them before a, and reduce-scatters the
 * sum, so that neither x nor y is ever replicated. */
#include <diff.h>
#include <math.h>
#include <mpi.h>
#include <schedule.h>
#include <stdio.h>
#include <words.h>

enum { ROWS_EACH = 2, IN = 3, HIDDEN_EACH = 2, OUT = 2, RANKS_MAX = 16 };
enum { ROWS_MAX = RANKS_MAX * ROWS_EACH };

static int rank, size;

static void fill(double *values, int count, double seed)
{
    for (int i = 0; i < count; i++)
        values[i] = 0.7 * sin(seed + 1.7 * i);
}

/* The serial computation on rank 0, from the values the ranks used. */
static int differs(int rows, const double *x_grad, const double *a, const double *a_grad,
                   const double *b, const double *b_grad, const double *x, const double *target)
{
    enum { A = IN * HIDDEN_EACH, B = HIDDEN_EACH * OUT };
    double parts[RANKS_MAX * A], all_a[RANKS_MAX * A], all_b[RANKS_MAX * B], a_parts[RANKS_MAX * A],
        b_all[RANKS_MAX * B];
    double grads[3][RANKS_MAX * (A + B) + ROWS_MAX * IN] = {{0}};
    int hidden = size * HIDDEN_EACH;
    MPI_Gather(a, A, MPI_DOUBLE, parts, A, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Gather(a_grad, A, MPI_DOUBLE, a_parts, A, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Gather(b, B, MPI_DOUBLE, all_b, B, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Gather(b_grad, B, MPI_DOUBLE, b_all, B, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (rank)
        return 0;
    for (int r = 0; r < size; r++)
        for (int i = 0; i < IN; i++)
            for (int h = 0; h < HIDDEN_EACH; h++)
                all_a[i * hidden + r * HIDDEN_EACH + h] = parts[r * A + i * HIDDEN_EACH + h];
    struct perceptron model = {rows,  IN,     hidden,   OUT,      x,       all_a,
                               all_b, target, grads[0], grads[1], grads[2]};
    perceptron_serial(&model);
    double got_a[RANKS_MAX * A];
    for (int r = 0; r < size; r++)
        for (int i = 0; i < IN; i++)
            for (int h = 0; h < HIDDEN_EACH; h++)
                got_a[i * hidden + r * HIDDEN_EACH + h] = a_parts[r * A + i * HIDDEN_EACH + h];
    double worst = fmax(serial_distance(got_a, grads[1], (size_t)(size * A)),
                        serial_distance(b_all, grads[2], (size_t)(size * B)));
    worst = fmax(worst, serial_distance(x_grad, grads[0], (size_t)(rows * IN)));
    if (!(worst <= 1e-11))
        fprintf(stderr, "tensor-parallel: %.2g away from the serial computation\n", worst);
    return !(worst <= 1e-11);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const char *form =
        word_alone(argc, argv, "form", "replicated", "replicated sequence without-f allreduce");
    int sequence = !strcmp(form, "sequence"), bad = !sequence && strcmp(form, "replicated");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    ranks_at_most(size, RANKS_MAX);
    int rows = sequence ? size * ROWS_EACH : ROWS_EACH, first = sequence ? rank * ROWS_EACH : 0;
    double x_values[ROWS_MAX * IN], targets[ROWS_MAX * OUT], a_values[IN * HIDDEN_EACH],
        b_values[HIDDEN_EACH * OUT];
    fill(x_values, rows * IN, 0.3);
    fill(targets, rows * OUT, 2.1);
    fill(a_values, IN * HIDDEN_EACH, 1.0 + rank);
    fill(b_values, HIDDEN_EACH * OUT, 4.0 - rank);

    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *a =
        diff_input(tape, "a", DIFF_DOUBLE, 2, (size_t[]){IN, HIDDEN_EACH}, a_values);
    struct diff_tensor *b =
        diff_input(tape, "b", DIFF_DOUBLE, 2, (size_t[]){HIDDEN_EACH, OUT}, b_values);
    struct diff_tensor *target =
        diff_constant(tape, DIFF_DOUBLE, 2, (size_t[]){ROWS_EACH, OUT}, targets + first * OUT);
    size_t shape[] = {ROWS_EACH, IN};
    struct diff_tensor *x =
        sequence ? diff_input(tape, "x", DIFF_DOUBLE, 2, shape, x_values + first * IN)
                 : diff_input_replicated(tape, "x", DIFF_DOUBLE, 2, shape, x_values);
    struct diff_tensor *all = x, *y;
    if (sequence)
        all = diff_reshape(diff_allgather(x, MPI_COMM_WORLD), 2, (size_t[]){(size_t)rows, IN});
    else if (strcmp(form, "without-f"))
        all = diff_replicate(x, MPI_COMM_WORLD);
    y = diff_matmul(diff_tanh(diff_matmul(all, a)), b);
    if (sequence)
        y = diff_reshape(diff_reduce_scatter_block(y, MPI_SUM, MPI_COMM_WORLD), 2,
                         (size_t[]){ROWS_EACH, OUT});
    else
        y = !strcmp(form, "allreduce") ? diff_allreduce(y, MPI_SUM, MPI_COMM_WORLD)
                                       : diff_reduce_invariant(y, MPI_COMM_WORLD);
    struct diff_tensor *difference = diff_sub(y, target);
    struct diff_tensor *loss = diff_scale(diff_dot(difference, difference), 0.5);
    if (sequence)
        diff_backward(loss);
    else
        diff_backward_replicated(loss);

    double used[ROWS_MAX * IN], x_grad[ROWS_MAX * IN];
    memcpy(used, diff_values(x), ROWS_EACH * IN * sizeof *used);
    memcpy(x_grad, diff_gradient(x), ROWS_EACH * IN * sizeof *x_grad);
    if (sequence) {
        MPI_Gather(diff_values(x), ROWS_EACH * IN, MPI_DOUBLE, used, ROWS_EACH * IN, MPI_DOUBLE, 0,
                   MPI_COMM_WORLD);
        MPI_Gather(diff_gradient(x), ROWS_EACH * IN, MPI_DOUBLE, x_grad, ROWS_EACH * IN, MPI_DOUBLE,
                   0, MPI_COMM_WORLD);
    }
    int wrong = !bad && differs(rows, x_grad, diff_values(a), diff_gradient(a), diff_values(b),
                                diff_gradient(b), used, targets);
    diff_tape_free(tape);
    MPI_Finalize();
    return wrong;
}
