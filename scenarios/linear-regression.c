/* about: linear regression over rows that the ranks share out, with two allreduces
 * ranks: 1,2,5,7
 * expect: OK
 * variant: no-average; arguments: no-average; ranks: 2,5; expect: OK
 * variant: every-loss; arguments: every-loss; ranks: 2,5; expect: OK
 * variant: data; options: --order data; ranks: 2,5; expect: OK
 * variant: none; arguments: none; ranks: 2,5; expect: OK
 * variant: none-data; arguments: none; options: --order data --strict; ranks: 2,5; expect: D001 G003
 *
 * Every rank holds a copy of the three parameters and four rows. The first allreduce averages the copies; backward it
 * tells every copy its share of what all rows say. The second one sums the losses. If rank 0's sum is the objective,
 * all copies' gradients together are those of the problem computed on one rank. If every rank takes its own sum as
 * its loss, the objective is counted once for each rank, and so are the gradients. Without the average a copy hears of its own
 * rows only: right for that objective, and not what one wants. In data order a rank without a loss never comes to the
 * adjoint allreduce, and rank 0 waits for it: the others must pass zero times the loss. */
#include <diff.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <words.h>

enum { ROWS = 4, PARAMETERS = 3 };

static double feature(int rank, int row, int i)
{
    double t = 0.3 * rank + 0.21 * row;
    return i == 0 ? 1 : i == 1 ? t : t * t;
}

static double observed(int rank, int row)
{
    return sin(1.0 + rank + 1.3 * row);
}

/* The gradient of 0.5 |X p - y|^2 over the rows of ranks first to last. */
static void serial(const double *p, int first, int last, double *gradient)
{
    memset(gradient, 0, PARAMETERS * sizeof *gradient);
    for (int r = first; r <= last; r++)
        for (int row = 0; row < ROWS; row++) {
            double residual = -observed(r, row);
            for (int i = 0; i < PARAMETERS; i++)
                residual += feature(r, row, i) * p[i];
            for (int i = 0; i < PARAMETERS; i++)
                gradient[i] += residual * feature(r, row, i);
        }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const char *form = word_alone(argc, argv, "form", "average", "average no-average every-loss none");
    int rank, size, average = strcmp(form, "no-average"), every = !strcmp(form, "every-loss");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double x[ROWS * PARAMETERS], y[ROWS], start[PARAMETERS] = {0.5, -0.25, 0.125}, used[PARAMETERS],
                                          expected[PARAMETERS];
    for (int row = 0; row < ROWS; row++) {
        y[row] = observed(rank, row);
        for (int i = 0; i < PARAMETERS; i++)
            x[row * PARAMETERS + i] = feature(rank, row, i);
    }
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *rows = diff_constant(tape, DIFF_DOUBLE, 2, (size_t[]){ROWS, PARAMETERS}, x);
    struct diff_tensor *wanted = diff_constant(tape, DIFF_DOUBLE, 2, (size_t[]){ROWS, 1}, y);
    struct diff_tensor *copy = diff_input(tape, "parameters", DIFF_DOUBLE, 1, (size_t[]){PARAMETERS}, start);

    struct diff_tensor *p = average ? diff_allreduce(copy, DIFF_AVG, MPI_COMM_WORLD) : copy;
    struct diff_tensor *residual = diff_sub(diff_matmul(rows, diff_reshape(p, 2, (size_t[]){PARAMETERS, 1})), wanted);
    struct diff_tensor *total = diff_allreduce(diff_scale(diff_dot(residual, residual), 0.5), MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0 || every)
        diff_backward(total);
    else if (!strcmp(form, "none"))
        diff_backward_none(tape);
    else
        diff_backward(diff_scale(total, 0));

    int wrong = 0;
    double times = (every ? size : 1) / (average ? (double)size : 1.0);
    memcpy(used, diff_values(p), sizeof used);
    serial(used, average ? 0 : rank, average ? size - 1 : rank, expected);
    for (int i = 0; i < PARAMETERS; i++)
        wrong |= !(fabs(((const double *)diff_gradient(copy))[i] - times * expected[i]) <=
                   1e-12 * (1 + fabs(expected[i]) * size));
    wrong = wrong && strcmp(form, "none");
    if (wrong)
        fprintf(stderr, "linear-regression: another gradient than the serial computation's\n");
    diff_tape_free(tape);
    MPI_Finalize();
    return wrong;
}
