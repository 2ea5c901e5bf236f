/* about: two allreduces of independent values, whose adjoints only data order
 * ranks: 2,4,18
 * options: --order data
 * arguments: equal
 * expect: R002
 * variant: unequal; arguments: unequal; expect: R001
 * variant: chained; arguments: chained; expect: OK
 * variant: program; arguments: equal; options: --order program; expect: OK
 *
 * Nothing says which of the two adjoint allreduces comes first. With equal sizes two ranks that choose differently add up
 * each other's cotangents and nobody notices; with unequal sizes the allreduces do not fit. */
#include <diff.h>
#include <mpi.h>
#include <words.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const char *form = word_alone(argc, argv, "form", "equal", "equal unequal chained");
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    size_t count = strcmp(form, "unequal") ? 2 : 3;
    double first[2] = {0.5 + rank, 1.5}, second[3] = {2.0, 0.25 * rank, 1.0}, weights[3] = {1.0 + rank, -2.0, 0.5};
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){2}, first);
    struct diff_tensor *y = diff_input(tape, "y", DIFF_DOUBLE, 1, &count, second);
    struct diff_tensor *x_sum = diff_allreduce(x, MPI_SUM, MPI_COMM_WORLD);
    struct diff_tensor *y_sum = diff_allreduce(strcmp(form, "chained") ? y : diff_mul(y, x_sum), MPI_SUM, MPI_COMM_WORLD);
    struct diff_tensor *wx = diff_constant(tape, DIFF_DOUBLE, 1, (size_t[]){2}, weights);
    struct diff_tensor *wy = diff_constant(tape, DIFF_DOUBLE, 1, &count, weights);
    diff_backward(diff_add(diff_dot(x_sum, wx), diff_dot(y_sum, wy)));
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}
