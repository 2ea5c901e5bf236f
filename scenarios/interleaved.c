/* about: two ranks with two chunks of the model each, in an interleaved schedule
 * ranks: 2
 * arguments: send-first
 * expect: eager=D003 rendezvous=D001 batch=D001
 * variant: paired; arguments: paired; expect: eager=OK rendezvous=OK batch=OK
 *
 * Rank 0 sends microbatch 1 to rank 1's first chunk while rank 1 sends microbatch 0 to rank 0's second. Both send before
 * they receive. */
#include <mpi.h>
#include <words.h>

enum { FIRST_CHUNK = 0, SECOND_CHUNK = 10 };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, paired = switch_alone(argc, argv, "form", "send-first", "paired");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int other = 1 - rank, activation = FIRST_CHUNK + 1, result = SECOND_CHUNK;
    int send_tag = rank == 0 ? activation : result, receive_tag = rank == 0 ? result : activation;
    double mine = 1.0 + rank, got = 0;
    if (paired) {
        MPI_Sendrecv(&mine, 1, MPI_DOUBLE, other, send_tag, &got, 1, MPI_DOUBLE, other, receive_tag, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    } else {
        MPI_Send(&mine, 1, MPI_DOUBLE, other, send_tag, MPI_COMM_WORLD);
        MPI_Recv(&got, 1, MPI_DOUBLE, other, receive_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return got != 1.0 + other;
}
