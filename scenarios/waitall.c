/* about: exchanges with both neighbors completed by one Waitall
 * ranks: 3,4
 * expect: eager=OK rendezvous=OK batch=OK
 *
 * The adjoint of the Waitall starts all messages back before the adjoint of the first start waits for one. */
#include <diff.h>
#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    double values[2] = {1.0 + rank, 0.5 * rank};
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *a = diff_input(tape, "a", DIFF_DOUBLE, 1, (size_t[]){2}, values);
    struct diff_tensor *room = diff_zeros(tape, DIFF_DOUBLE, 1, (size_t[]){2});
    struct diff_tensor *handles[4], *results[4];
    handles[0] = diff_isend(a, right, 1, MPI_COMM_WORLD);
    handles[1] = diff_isend(a, left, 2, MPI_COMM_WORLD);
    handles[2] = diff_irecv(room, left, 1, MPI_COMM_WORLD);
    handles[3] = diff_irecv(room, right, 2, MPI_COMM_WORLD);
    diff_waitall(4, handles, results);
    diff_backward(diff_dot(diff_mul(a, results[2]), results[3]));
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}
