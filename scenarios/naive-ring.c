/* about: Isend to the right, Recv from the left, Wait, and nothing that tells the adjoints of each other
 * ranks: 3,4,18
 * options: --order data
 * expect: G001 G002
 * variant: program; options: --order program; expect: OK
 *
 * The received value does not depend on anything that needs a gradient, so its adjoint, the message that carries the
 * cotangent back, is pruned: the gradient is 1 instead of 2. joined-ring is its good twin. */
#include <diff.h>
#include <mpi.h>
#include <words.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    words_end(argc, argv, 0);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    double value = 1.0 + rank;
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *a = diff_input(tape, "a", DIFF_DOUBLE, 1, (size_t[]){1}, &value);
    struct diff_tensor *buffer = diff_zeros(tape, DIFF_DOUBLE, 1, (size_t[]){1});
    struct diff_tensor *handle = diff_isend(a, right, 0, MPI_COMM_WORLD);
    struct diff_tensor *b = diff_recv(buffer, left, 0, MPI_COMM_WORLD);
    diff_wait(handle);
    diff_backward(diff_add(a, b));
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}
