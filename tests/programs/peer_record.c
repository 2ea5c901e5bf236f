/* Run by tests/recorder/test_record_peers.c under a real MPI with the recorder preloaded: a bit of
 * everything. */
#include <mpi.h>
#include <string.h>
#include <unistd.h>

static void exchange(int rank, int size)
{
    double x[6] = {0}, y[6];
    MPI_Request requests[2];
    MPI_Datatype vector;
    MPI_Type_vector(3, 1, 2, MPI_DOUBLE, &vector);
    MPI_Type_commit(&vector);
    MPI_Irecv(y, 3, MPI_DOUBLE, (rank + size - 1) % size, 7, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(x, 1, vector, (rank + 1) % size, 7, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Type_free(&vector);
    if (rank == 0)
        for (int i = 1; i < size; i++)
            MPI_Recv(y, 6, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    else
        MPI_Send(x, rank, MPI_DOUBLE, 0, 10 + rank, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int rank, size, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    exchange(rank, size);
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_MAX, half);
    MPI_Comm_free(&half);
    if (argc > 1 && strcmp(argv[1], "crash") == 0) {
        if (rank == 0)
            MPI_Ssend(&sum, 1, MPI_INT, 1, 99, MPI_COMM_WORLD);
        if (rank == 1) { /* dies once rank 0 stands in its Ssend */
            MPI_Probe(0, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            _exit(3);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
