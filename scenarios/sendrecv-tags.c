/* about: a ring of Sendrecv whose tags are ranks, transposed by swapping the ranks but not the tags
 * ranks: 3,4,18
 * options: --mutant sendrecv-tags
 * expect: D001
 * variant: two; ranks: 2; expect: OK
 * variant: swapped; ranks: 2,3,4; options: --order program; expect: OK
 *
 * Everybody sends with its own rank as the tag. On two ranks left and right are the same neighbor and the mistake does
 * not show. */
#include <diff.h>
#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    double value = 1.0 + rank;
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *a = diff_input(tape, "a", DIFF_DOUBLE, 1, (size_t[]){1}, &value);
    struct diff_tensor *room = diff_zeros(tape, DIFF_DOUBLE, 1, (size_t[]){1});
    struct diff_tensor *received = diff_sendrecv(a, right, rank, room, left, left, MPI_COMM_WORLD);
    diff_backward(diff_mul(a, received));
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}
