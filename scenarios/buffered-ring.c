/* about: a ring in which everybody sends, then receives: right only where messages are buffered
 * ranks: 3,4
 * expect: eager=D003 rendezvous=D001 batch=D001
 *
 * The backward pass adds none of its own: its sends come first again, but in program order nobody waits for them
 * (op-bsend). */
#include <diff.h>
#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double value = 1.0 + rank;
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *a = diff_input(tape, "a", DIFF_DOUBLE, 1, (size_t[]){1}, &value);
    diff_send(a, (rank + 1) % size, 0, MPI_COMM_WORLD);
    struct diff_tensor *room = diff_zeros(tape, DIFF_DOUBLE, 1, (size_t[]){1});
    struct diff_tensor *received = diff_recv(room, (rank + size - 1) % size, 0, MPI_COMM_WORLD);
    diff_backward(diff_mul(a, received));
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}
