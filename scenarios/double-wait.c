/* about: one handle waited for in two branches
 * ranks: 2
 * expect: M009
 *
 * The adjoint would start the message back twice, and the second has no partner. The library refuses the second wait and
 * names both places, so the hang is never reached. */
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
    struct diff_tensor *handle = rank == 0 ? diff_isend(x, 1, 0, MPI_COMM_WORLD) : diff_irecv(x, 0, 0, MPI_COMM_WORLD);
    struct diff_tensor *once = diff_wait(handle), *twice = diff_wait(handle);
    diff_backward(rank == 0 ? diff_sum(x) : diff_dot(once, twice));
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}
