/* about: a receive from anybody, then one by name: hangs when the first took the named one's message
 * ranks: 3,5
 * arguments: named
 * expect: D002 R003
 * variant: other; arguments: other; expect: R003
 *
 * The run that happens to take the message of rank 1 first ends well. The good twin asks whom it has heard and waits for the
 * others by name: which message comes first still differs, nothing else does. */
#include <mpi.h>
#include <words.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, value = 0, other = switch_alone(argc, argv, "form", "named", "other");
    MPI_Status status;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0) {
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
        int heard = other ? status.MPI_SOURCE : 1;
        for (int source = 1; source < size; source++)
            if (source != heard)
                MPI_Recv(&value, 1, MPI_INT, source, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
