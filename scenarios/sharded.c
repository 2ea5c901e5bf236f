/* about: fully sharded training: weights are gathered where they are used, their gradients reduce-scattered
 * ranks: 1,2,4
 * arguments: plain
 * expect: eager=OK rendezvous=OK batch=OK
 * variant: prefetch; arguments: prefetch; expect: eager=OK rendezvous=OK batch=OK
 * variant: alone; arguments: alone; ranks: 2,4; expect: M001
 * variant: alone-apart; arguments: alone-apart; expect: eager=OK rendezvous=OK batch=OK
 * variant: alone-blocking; arguments: alone-blocking; ranks: 2,4; expect: eager=D001 rendezvous=D001 batch=D001
 * variant: own-part; arguments: own-part; ranks: 2,4; expect: G001
 * variant: own-part-alone; arguments: own-part; ranks: 1; expect: OK
 *
 * Each of the P ranks keeps one row of the P x P weights a and b. Forward gathers a, computes, forgets it, gathers b;
 * backward gathers b again, reduce-scatters its gradient, and does the same with a. Prefetching starts to gather a
 * before b's gradient goes out, on every rank. If rank 0 alone does so, its gather meets the others' reduce-scatter;
 * with a communicator for each of the two it does not, as long as the gather is not waited for at once. Keeping the
 * own part of the gradient instead of reducing all parts is right on one rank only. */
#include <diff.h>
#include <math.h>
#include <mpi.h>
#include <schedule.h>
#include <stdio.h>
#include <words.h>

enum { RANKS_MAX = 8, ROWS = 2, WEIGHTS_MAX = RANKS_MAX * RANKS_MAX };

static const char *form;
static int rank, size;
static MPI_Comm gathers, scatters;
static double x[ROWS * RANKS_MAX], target[ROWS * RANKS_MAX];
static double a[RANKS_MAX], b[RANKS_MAX], a_grad[RANKS_MAX],
    b_grad[RANKS_MAX]; /* this rank's rows */

static int is_form(const char *name)
{
    return !strcmp(form, name);
}

static int prefetches(void)
{
    return is_form("prefetch") || (rank == 0 && !strncmp(form, "alone", 5));
}

static void fill(double *values, int count, double seed)
{
    for (int i = 0; i < count; i++)
        values[i] = 0.6 * sin(seed + 1.3 * i);
}

static void gather(const double *row, double *all)
{
    MPI_Allgather(row, size, MPI_DOUBLE, all, size, MPI_DOUBLE, gathers);
}

static void reduce(double *all_grad, double *row_grad)
{
    if (is_form("own-part"))
        memcpy(row_grad, all_grad + rank * size, (size_t)size * sizeof *row_grad);
    else
        MPI_Reduce_scatter_block(all_grad, row_grad, size, MPI_DOUBLE, MPI_SUM, scatters);
}

static double train(void)
{
    double all[WEIGHTS_MAX], next[WEIGHTS_MAX], all_grad[WEIGHTS_MAX];
    double h[ROWS * RANKS_MAX], y[ROWS * RANKS_MAX], h_grad[ROWS * RANKS_MAX] = {0}, loss = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    gather(a, all);
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < size; c++) {
            h[r * size + c] = 0;
            for (int i = 0; i < size; i++)
                h[r * size + c] += x[r * size + i] * all[i * size + c];
            h[r * size + c] = tanh(h[r * size + c]);
        }
    gather(b, all);
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < size; c++) {
            y[r * size + c] = -target[r * size + c];
            for (int i = 0; i < size; i++)
                y[r * size + c] += h[r * size + i] * all[i * size + c];
            loss += 0.5 * y[r * size + c] * y[r * size + c];
        }
    gather(b, all);
    memset(all_grad, 0, sizeof all_grad);
    for (int r = 0; r < ROWS; r++)
        for (int i = 0; i < size; i++)
            for (int c = 0; c < size; c++) {
                all_grad[i * size + c] += h[r * size + i] * y[r * size + c];
                h_grad[r * size + i] += all[i * size + c] * y[r * size + c];
            }
    if (prefetches())
        MPI_Iallgather(a, size, MPI_DOUBLE, next, size, MPI_DOUBLE, gathers, &request);
    if (is_form("alone-blocking"))
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    reduce(all_grad, b_grad);
    if (!prefetches()) /* in the same form as those who do: blocking calls and nonblocking ones must not meet */
        MPI_Iallgather(a, size, MPI_DOUBLE, next, size, MPI_DOUBLE, gathers, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    memset(all_grad, 0, sizeof all_grad);
    for (int r = 0; r < ROWS; r++)
        for (int i = 0; i < size; i++)
            for (int c = 0; c < size; c++)
                all_grad[i * size + c] += x[r * size + i] * h_grad[r * size + c] *
                                          (1 - h[r * size + c] * h[r * size + c]);
    reduce(all_grad, a_grad);
    return loss;
}

/* All rows and all weights on rank 0. */
static int differs(void)
{
    double all[6][RANKS_MAX * ROWS * RANKS_MAX] = {{0}}, serial[2][WEIGHTS_MAX] = {{0}};
    const double *parts[6] = {x, target, a, b, a_grad, b_grad};
    for (int i = 0; i < 6; i++) {
        int count = i < 2 ? ROWS * size : size;
        MPI_Gather(parts[i], count, MPI_DOUBLE, all[i], count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    }
    if (rank)
        return 0;
    struct perceptron model = {size * ROWS, size,   size, size,      all[0],   all[2],
                               all[3],      all[1], NULL, serial[0], serial[1]};
    perceptron_serial(&model);
    double worst = serial_distance(all[4], serial[0], (size_t)(size * size)),
           of_b = serial_distance(all[5], serial[1], (size_t)(size * size));
    int wrong = !(worst <= 1e-11 && of_b <= 1e-11);
    if (wrong)
        fprintf(stderr, "sharded: %.2g and %.2g away from the serial computation\n", worst, of_b);
    return wrong;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    form = word_alone(argc, argv, "form", "plain",
                      "plain prefetch alone alone-apart alone-blocking own-part");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    ranks_at_most(size, RANKS_MAX);
    MPI_Comm_dup(MPI_COMM_WORLD, &gathers);
    scatters = gathers;
    if (is_form("alone-apart") || is_form("alone-blocking"))
        MPI_Comm_dup(MPI_COMM_WORLD, &scatters);
    fill(x, ROWS * size, 0.5 + rank);
    fill(target, ROWS * size, 3.0 - rank);
    fill(a, size, 1.0 + 0.9 * rank);
    fill(b, size, 2.0 - 1.1 * rank);
    diff_mark_input("a", a, (size_t)size);
    diff_mark_input("b", b, (size_t)size);
    diff_mark_objective(train());
    diff_mark_gradient("a", a_grad, (size_t)size);
    diff_mark_gradient("b", b_grad, (size_t)size);
    int wrong = !is_form("own-part") && differs();
    if (scatters != gathers)
        MPI_Comm_free(&scatters);
    MPI_Comm_free(&gathers);
    MPI_Finalize();
    return wrong;
}
