/* about: a receive of any tag, whose adjoint uses the tag that was posted, plus 10
 * ranks: 2
 * options: --mutant tag-offset
 * expect: D001
 * variant: matched; options: --order program; expect: OK
 *
 * The adjoint must use the tag that matched. The posted one is a wildcard; with 10 added it is some tag that nobody
 * waits for. */
#include <diff.h>
#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double values[2] = {0.5 + rank, 1.5};
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){2}, values);
    if (rank == 0) {
        diff_send(x, 1, 7, MPI_COMM_WORLD);
        diff_backward(diff_dot(x, x));
    } else {
        struct diff_tensor *received = diff_recv(x, 0, MPI_ANY_TAG, MPI_COMM_WORLD);
        diff_backward(diff_dot(received, received));
    }
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}
