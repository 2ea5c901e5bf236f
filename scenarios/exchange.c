/* about: rank 0 sends, then receives; rank 1 receives, then sends something else; nothing orders the adjoints
 * ranks: 2
 * options: --order data
 * expect: eager=D002 rendezvous=D002
 * variant: joined; arguments: joined; expect: eager=OK rendezvous=OK
 * variant: program; options: --order program; expect: eager=OK rendezvous=OK
 *
 * The adjoint of a send is a receive. Both ranks may begin with theirs, and then neither sends. With the joins each rank
 * goes through its two messages in the reverse of the forward order. */
#include <diff.h>
#include <mpi.h>
#include <words.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, joined = switch_alone(argc, argv, "form", "apart", "joined");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double values[2] = {0.5 + rank, 1.5}, weights[2] = {1.0 + rank, -2.0};
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){2}, values);
    struct diff_tensor *w = diff_constant(tape, DIFF_DOUBLE, 1, (size_t[]){2}, weights);
    struct diff_tensor *sent, *received, *room = diff_neg(x);
    if (rank == 0) {
        sent = diff_send(x, 1, 0, MPI_COMM_WORLD);
        received = diff_recv(joined ? diff_join(room, 1, &sent) : room, 1, 0, MPI_COMM_WORLD);
    } else {
        received = diff_recv(room, 0, 0, MPI_COMM_WORLD);
        sent = diff_send(joined ? diff_join(x, 1, &received) : x, 0, 0, MPI_COMM_WORLD);
    }
    diff_backward(diff_join(diff_dot(diff_mul(received, received), w), 1, &sent));
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}
