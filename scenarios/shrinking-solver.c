/* about: a solver and a training loop that go on without the ranks that fail
 * ranks: 1..8
 * arguments: solver
 * expect: ok
 * variant: training; arguments: training; ranks: 2,4; expect: ok
 *
 * Every rank has all unknowns and computes its share of them. A step whose values did not reach everybody is done again by those
 * who are left, so the result is that of the undisturbed run, bit by bit (docs/faults.md). One place is not handled: where rank 0
 * fails before the others have the problem, nobody else knows it. */
#include <mpi-ext.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <words.h>

enum { ROWS = 12, STEPS = 3, WEIGHTS = 3 };

static double problem[ROWS];

/* One unknown of a relaxation on a ring. */
static double relax(const double *x, int row)
{
    return (x[(row + ROWS - 1) % ROWS] + x[(row + 1) % ROWS] + problem[row]) / 2.5;
}

/* Sample `row / WEIGHTS` and its part of the gradient by one weight: of (w . sample - 1)^2. */
static double slope(const double *weights, int row)
{
    const double *sample = &problem[row / WEIGHTS * WEIGHTS];
    double error = -1;
    for (int i = 0; i < WEIGHTS; i++)
        error += weights[i] * sample[i];
    return 2 * error * sample[row % WEIGHTS];
}

/* In the order of the samples, whoever computed them. */
static void descend(double *weights, const double *slopes, double *gradient)
{
    for (int i = 0; i < WEIGHTS; i++) {
        gradient[i] = 0;
        for (int row = i; row < ROWS; row += WEIGHTS)
            gradient[i] += slopes[row];
        weights[i] -= 0.05 * gradient[i];
    }
}

/* What all have computed of all rows; false when somebody has failed, for everybody. */
static int share(MPI_Comm comm, const double *mine, double *all)
{
    int fine = MPI_Allreduce(mine, all, ROWS, MPI_DOUBLE, MPI_SUM, comm) == MPI_SUCCESS;
    return MPIX_Comm_agree(comm, &fine) == MPI_SUCCESS && fine;
}

static MPI_Comm without_failed(MPI_Comm comm)
{
    MPI_Comm left;
    MPIX_Comm_revoke(comm);
    MPIX_Comm_shrink(comm, &left);
    MPI_Comm_free(&comm);
    return left;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int world, rank, size,
        training =
            strcmp(word_of(argc, argv, 1, "problem", "solver", "solver training"), "training") == 0;
    words_end(argc, argv, 1);
    double state[ROWS], next[ROWS], mine[ROWS], gradient[WEIGHTS] = {0};
    MPI_Comm_rank(MPI_COMM_WORLD, &world);
    for (int row = 0; row < ROWS; row++)
        problem[row] = world ? 0 : 0.1 * (row % 5) + 0.3;
    MPI_Bcast(problem, ROWS, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Comm comm;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (MPI_Comm_dup(MPI_COMM_WORLD, &comm) != MPI_SUCCESS)
        MPIX_Comm_shrink(MPI_COMM_WORLD, &comm);
    memcpy(state, problem, sizeof state);
    for (int step = 0; step < STEPS;) {
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &size);
        for (int row = 0; row < ROWS; row++)
            mine[row] = row % size != rank ? 0 : training ? slope(state, row) : relax(state, row);
        if (!share(comm, mine, next)) {
            comm = without_failed(comm);
            continue;
        }
        if (training)
            descend(state, next, gradient);
        else
            memcpy(state, next, sizeof state);
        step++;
    }
    if (training)
        printf("gradient on rank %d: %a %a %a\n", world, gradient[0], gradient[1], gradient[2]);
    else
        printf("solution on rank %d: %a %a %a\n", world, state[0], state[5], state[11]);
    MPI_Comm_free(&comm);
    MPI_Finalize();
}
