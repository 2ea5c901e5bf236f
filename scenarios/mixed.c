/* about: a message and an allreduce, unordered in the backward pass
 * ranks: 2
 * options: --order data
 * expect: D002
 * variant: ordered; arguments: ordered; expect: OK
 * variant: program; options: --order program; expect: OK
 *
 * Rank 0 may wait for its cotangent while rank 1 is in the allreduce that rank 0 has not come to. */
#include <diff.h>
#include <mpi.h>
#include <words.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, ordered = switch_alone(argc, argv, "form", "apart", "ordered");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double values[2] = {0.5 + rank, 1.5}, weights[2] = {1.0 + rank, -2.0};
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){2}, values);
    struct diff_tensor *w = diff_constant(tape, DIFF_DOUBLE, 1, (size_t[]){2}, weights);
    struct diff_tensor *message = rank == 0 ? diff_send(x, 1, 0, MPI_COMM_WORLD)
                                            : diff_recv(diff_neg(x), 0, 0, MPI_COMM_WORLD);
    struct diff_tensor *sum = diff_allreduce(ordered ? diff_join(x, 1, &message) : x, MPI_SUM, MPI_COMM_WORLD);
    struct diff_tensor *loss = diff_dot(sum, w);
    diff_backward(rank == 0 ? diff_join(loss, 1, &message) : diff_add(loss, diff_dot(message, message)));
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}
