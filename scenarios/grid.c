/* about: a 2x2 grid with an allreduce over rows and one over columns, independent of each other
 * ranks: 4
 * options: --order data
 * expect: D002
 * variant: ordered; arguments: ordered; expect: OK
 * variant: program; options: --order program; expect: OK
 *
 * No two ranks share both communicators, so comparing pairs finds nothing: the cycle goes through all four. */
#include <diff.h>
#include <mpi.h>
#include <words.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, ordered = switch_alone(argc, argv, "form", "apart", "ordered");
    MPI_Comm row, column;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &row);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &column);
    double values[2] = {0.5 + rank, 1.5}, weights[2] = {1.0 + rank, -2.0};
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){2}, values);
    struct diff_tensor *w = diff_constant(tape, DIFF_DOUBLE, 1, (size_t[]){2}, weights);
    struct diff_tensor *over_row = diff_allreduce(x, MPI_SUM, row);
    struct diff_tensor *input = ordered ? diff_join(x, 1, &over_row) : x; /* row before column everywhere */
    struct diff_tensor *over_column = diff_allreduce(input, MPI_SUM, column);
    diff_backward(diff_add(diff_dot(over_row, w), diff_dot(over_column, w)));
    diff_tape_free(tape);
    MPI_Comm_free(&row);
    MPI_Comm_free(&column);
    MPI_Finalize();
    return 0;
}
