/* about: the ring of naive-ring with the three joins that tell its adjoints of each other, and with one of them missing
 * ranks: 3,4
 * options: --order data
 * expect: eager=OK rendezvous=OK
 * variant: minus-one; arguments: minus-one; expect: eager=D002 rendezvous=D002
 * variant: program; arguments: minus-one; options: --order program; expect: eager=OK rendezvous=OK
 *
 * The three joins of mpi4torch make the chain: the send before the receive, the receive before the wait, the wait before
 * the loss. Without the edge from the receive to the wait the backward pass may wait for a message that is sent only
 * afterwards. */
#include <diff.h>
#include <mpi.h>
#include <words.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, all = !switch_alone(argc, argv, "form", "all", "minus-one");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    double value = 1.0 + rank;
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *a = diff_input(tape, "a", DIFF_DOUBLE, 1, (size_t[]){1}, &value);
    struct diff_tensor *buffer = diff_zeros(tape, DIFF_DOUBLE, 1, (size_t[]){1});
    struct diff_tensor *handle = diff_isend(a, right, 0, MPI_COMM_WORLD);
    struct diff_tensor *b = diff_recv(diff_join(buffer, 1, &handle), left, 0, MPI_COMM_WORLD);
    struct diff_tensor *sent = diff_wait(all ? diff_join_handle(handle, 1, &b) : handle);
    diff_backward(diff_join(diff_add(a, b), 1, &sent));
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}
