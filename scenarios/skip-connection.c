/* about: stage 0 feeds stage 2 directly and through stage 1
 * ranks: 3
 * arguments: together
 * expect: eager=D004 rendezvous=D004 batch=D001
 * variant: split; arguments: split; expect: eager=OK rendezvous=OK batch=OK
 *
 * Stage 0 serves the skip connection first. If stage 2 takes both inputs as one batch that moves as a whole, the skip
 * message waits for stage 1's, which waits for stage 0, which waits for the skip message. */
#include <mpi.h>
#include <mpix.h>
#include <words.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, together = switch_alone(argc, argv, "form", "split", "together");
    double x = 2, skip = 0, through = 0;
    MPI_Request requests[2];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        MPI_Send(&x, 1, MPI_DOUBLE, 2, 0, MPI_COMM_WORLD);
        MPI_Send(&x, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Recv(&x, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        x = x * x;
        MPI_Send(&x, 1, MPI_DOUBLE, 2, 0, MPI_COMM_WORLD);
    } else if (rank == 2 && together) {
        SIM_Batch_begin();
        MPI_Irecv(&skip, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(&through, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, &requests[1]);
        SIM_Batch_end();
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    } else if (rank == 2) {
        MPI_Recv(&skip, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(&through, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return rank == 2 && skip + through != 6;
}
