/* about: a scatter whose blocks overlap in the root's buffer
 * ranks: 2,3,4
 * arguments: tape
 * expect: OK
 * variant: by-hand; arguments: by-hand; expect: OK
 * variant: plain-gatherv; arguments: plain-gatherv; expect: B002
 *
 * An element that goes to two ranks gets the sum of their cotangents. A gather to the same displacements writes the one
 * over the other: such a call is erroneous (MPI 4.1, Gatherv: no location on the root may be written more than once),
 * which B002 says; that the gradient is wrong, too, follows from it. */
#include <diff.h>
#include <mpi.h>
#include <words.h>

enum { BLOCK = 3, STEP = 2, MOST = 4, ROOM = STEP * MOST + BLOCK };

static const int counts[MOST] = {BLOCK, BLOCK, BLOCK, BLOCK};
static const int overlapping[MOST] = {0, STEP, 2 * STEP, 3 * STEP}, apart[MOST] = {0, BLOCK, 2 * BLOCK, 3 * BLOCK};

static void with_tape(double *values, double *weights)
{
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){ROOM}, values);
    struct diff_tensor *w = diff_constant(tape, DIFF_DOUBLE, 1, (size_t[]){BLOCK}, weights);
    struct diff_tensor *block = diff_scatterv(x, counts, overlapping, BLOCK, 0, MPI_COMM_WORLD);
    diff_backward(diff_dot(block, w));
    diff_tape_free(tape);
}

static void by_hand(double *x, double *weights, int plain)
{
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double block[BLOCK], objective = 0, gradient[ROOM] = {0}, parts[BLOCK * MOST] = {0};
    diff_mark_input("x", x, ROOM);
    MPI_Scatterv(x, counts, overlapping, MPI_DOUBLE, block, BLOCK, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int i = 0; i < BLOCK; i++)
        objective += block[i] * weights[i];
    diff_mark_objective(objective);
    MPI_Gatherv(weights, BLOCK, MPI_DOUBLE, plain ? gradient : parts, counts, plain ? overlapping : apart, MPI_DOUBLE, 0,
                MPI_COMM_WORLD);
    for (int i = 0; !plain && rank == 0 && i < BLOCK * size; i++)
        gradient[i / BLOCK * STEP + i % BLOCK] += parts[i];
    diff_mark_gradient("x", gradient, ROOM);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const char *form = word_alone(argc, argv, "form", "tape", "tape by-hand plain-gatherv");
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double values[ROOM], weights[BLOCK] = {1.0 + rank, -2.0, 0.5 * rank + 0.25};
    for (int i = 0; i < ROOM; i++)
        values[i] = 0.1 * i + rank;
    if (!strcmp(form, "tape"))
        with_tape(values, weights);
    else
        by_hand(values, weights, !strcmp(form, "plain-gatherv"));
    MPI_Finalize();
    return 0;
}
