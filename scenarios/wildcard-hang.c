/* about: a receive from anybody, then one by name: hangs when the first took the named one's message
 * ranks: 3,5,18
 * arguments: named
 * expect: D002 R003
 * variant: other; arguments: other; expect: R003
 * variant: started; arguments: started; expect: eager=D002+R003 rendezvous=D002+R003 batch=D002+R003
 * variant: two-tags; arguments: two-tags; ranks: 3; expect: eager=D002+R003 rendezvous=D002+R003
 *
 * The run that happens to take the message of rank 1 first ends well. The good twin asks whom it has heard and waits for the
 * others by name: which message comes first still differs, nothing else does. Started, all are waited for by one Waitall. With
 * two tags, rank 1 must have got rid of its first message to send the second: only where sends wait does another first hang. */
#include <mpi.h>
#include <stdlib.h>
#include <words.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const char *form = word_alone(argc, argv, "form", "named", "named other started two-tags");
    int rank, size, value = 0, other = !strcmp(form, "other");
    MPI_Status status;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0 && !strcmp(form, "started")) {
        int *values = malloc((size_t)size * sizeof *values);
        MPI_Request *requests = malloc((size_t)size * sizeof *requests);
        for (int source = 1; source < size; source++)
            MPI_Irecv(&values[source - 1], 1, MPI_INT, source > 1 ? source : MPI_ANY_SOURCE, 0, MPI_COMM_WORLD,
                      &requests[source - 1]);
        MPI_Waitall(size - 1, requests, MPI_STATUSES_IGNORE);
        free(values);
        free(requests);
    } else if (rank == 0 && !strcmp(form, "two-tags")) {
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 2; i < size; i++)
            MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 0) {
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
        int heard = other ? status.MPI_SOURCE : 1;
        for (int source = 1; source < size; source++)
            if (source != heard)
                MPI_Recv(&value, 1, MPI_INT, source, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        if (rank == 1 && !strcmp(form, "two-tags"))
            MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
