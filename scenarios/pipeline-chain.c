/* about: a pipeline in which every message depends on the one before
 * ranks: 2,4,7
 * options: --order data
 * expect: eager=OK rendezvous=OK batch=OK
 * variant: program; options: --order program; expect: eager=OK rendezvous=OK batch=OK
 *
 * The data edges alone order the backward pass: each rank receives a cotangent and only then can it send one. */
#include <diff.h>
#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double value = 0.3 + 0.1 * rank;
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *weight = diff_input(tape, "weight", DIFF_DOUBLE, 1, (size_t[]){1}, &value);
    struct diff_tensor *x = weight;
    if (rank > 0)
        x = diff_mul(weight, diff_recv(diff_neg(weight), rank - 1, 0, MPI_COMM_WORLD));
    struct diff_tensor *y = diff_tanh(x);
    if (rank == size - 1) {
        diff_backward(y);
    } else {
        struct diff_tensor *sent = diff_send(y, rank + 1, 0, MPI_COMM_WORLD);
        diff_backward(diff_join(diff_scale(weight, 0), 1, &sent));
    }
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}
