/* about: requests freed while active: what a partner takes is in order
 * ranks: 2,3
 * expect: ok
 * variant: cancelled; arguments: cancelled; expect: ok
 * variant: lost; arguments: lost; expect: L002 X006
 * variant: unmatched; arguments: unmatched; expect: X006
 *
 * MPI_Finalize completes an operation whose request was freed, so that freeing it is no mistake as
 * long as the other side does its part: without, Finalize waits for ever or a message is lost. */
#include <mpi.h>
#include <words.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, value = 7, got = 0, never = 0;
    const char *form =
        word_alone(argc, argv, "form", "received", "received cancelled lost unmatched");
    int cancelled = !strcmp(form, "cancelled"), lost = !strcmp(form, "lost");
    MPI_Request request;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        MPI_Isend(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
        MPI_Issend(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
    } else if (rank == 1) {
        MPI_Recv(&got, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (!lost)
            MPI_Recv(&got, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (cancelled || !strcmp(form, "unmatched")) {
        MPI_Irecv(&never, 1, MPI_INT, rank, 9, MPI_COMM_WORLD, &request);
        if (cancelled)
            MPI_Cancel(&request);
        MPI_Request_free(&request);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
