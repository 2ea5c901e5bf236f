/* about: a ring of blocking sends and receives, in the three orders people write it
 * ranks: 4
 * arguments: send-first
 * expect: eager=D003 rendezvous=D001 batch=D001
 * variant: receive-first; arguments: receive-first; expect: eager=D001 rendezvous=D001 batch=D001
 * variant: parity; arguments: parity; ranks: 3,4; expect: eager=OK rendezvous=OK batch=OK
 *
 * Sending first is right only while the machine buffers; receiving first never is; by parity it is always. */
#include <mpi.h>
#include <stdio.h>
#include <words.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, mine, got = -1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    const char *order = word_alone(argc, argv, "order", "send-first", "send-first receive-first parity");
    int sends_first = !strcmp(order, "send-first") || (!strcmp(order, "parity") && rank % 2 == 0);
    mine = rank * rank;
    if (sends_first)
        MPI_Send(&mine, 1, MPI_INT, right, 0, MPI_COMM_WORLD);
    MPI_Recv(&got, 1, MPI_INT, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!sends_first)
        MPI_Send(&mine, 1, MPI_INT, right, 0, MPI_COMM_WORLD);
    if (got != left * left)
        printf("rank %d got %d instead of %d\n", rank, got, left * left);
    MPI_Finalize();
    return 0;
}
