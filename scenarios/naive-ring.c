/* about: Isend to the right, Recv from the left, Wait, and nothing that tells the adjoints of each other
 * ranks: 3,4
 * options: --order data
 * arguments: naive
 * expect: G001 G002
 * variant: joined; arguments: joined; expect: eager=OK rendezvous=OK
 * variant: minus-one; arguments: minus-one; expect: eager=D002 rendezvous=D002
 * variant: program; arguments: naive; options: --order program; expect: OK
 *
 * The received value does not depend on anything that needs a gradient, so its adjoint, the message that carries the
 * cotangent back, is pruned: the gradient is 1 instead of 2. The three joins of mpi4torch make the chain; without the
 * edge from the receive to the wait the backward pass may wait for a message that is sent only afterwards. */
#include <diff.h>
#include <mpi.h>
#include <words.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const char *form = word_alone(argc, argv, "form", "naive", "naive joined minus-one");
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int right = (rank + 1) % size, left = (rank + size - 1) % size, joined = strcmp(form, "naive") != 0;
    double value = 1.0 + rank;
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *a = diff_input(tape, "a", DIFF_DOUBLE, 1, (size_t[]){1}, &value);
    struct diff_tensor *buffer = diff_zeros(tape, DIFF_DOUBLE, 1, (size_t[]){1});
    struct diff_tensor *handle = diff_isend(a, right, 0, MPI_COMM_WORLD);
    struct diff_tensor *b = diff_recv(joined ? diff_join(buffer, 1, &handle) : buffer, left, 0, MPI_COMM_WORLD);
    struct diff_tensor *waiting = !strcmp(form, "joined") ? diff_join_handle(handle, 1, &b) : handle;
    struct diff_tensor *sent = diff_wait(waiting);
    struct diff_tensor *result = diff_add(a, b);
    diff_backward(joined ? diff_join(result, 1, &sent) : result);
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}
