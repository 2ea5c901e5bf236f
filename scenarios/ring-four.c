/* about: Isend, Irecv and two Waits around a ring, their adjoints ordered by data edges only
 * ranks: 3,4
 * options: --order data
 * expect: eager=D002 rendezvous=D002
 * variant: joined; arguments: joined; expect: eager=OK rendezvous=OK
 * variant: program; options: --order program; expect: eager=OK rendezvous=OK
 *
 * The adjoint of each Wait starts a message and the adjoint of each start waits for it. A rank that waits for its
 * cotangent before it has started the one it owes hangs as soon as all ranks do it. The joins start both messages before
 * either is waited for. */
#include <diff.h>
#include <mpi.h>
#include <words.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, joined = switch_alone(argc, argv, "form", "apart", "joined");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    double value = 1.0 + rank;
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *a = diff_input(tape, "a", DIFF_DOUBLE, 1, (size_t[]){1}, &value);
    struct diff_tensor *sending = diff_isend(a, right, 0, MPI_COMM_WORLD);
    struct diff_tensor *receiving = diff_irecv(diff_neg(a), left, 0, MPI_COMM_WORLD);
    struct diff_tensor *received = diff_wait(joined ? diff_join_handle(receiving, 1, &sending) : receiving);
    struct diff_tensor *sent = diff_wait(joined ? diff_join_handle(sending, 1, &receiving) : sending);
    struct diff_tensor *loss = diff_mul(a, received);
    diff_backward(diff_join(loss, 1, &sent));
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}
