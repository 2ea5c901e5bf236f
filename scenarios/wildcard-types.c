/* about: two messages of different types for two receives from anybody: right only in the order in which they usually come
 * ranks: 3
 * expect: eager=R003 rendezvous=R003
 * variant: tagged; arguments: tagged; expect: eager=OK rendezvous=OK
 *
 * The run that happens is well, and so are its results in every order, since nobody looks at the values: what is wrong
 * in the other order is that an int is received as a float (M008), which 'simrun explore' finds. With a tag for each type
 * there is only one order. */
#include <mpi.h>
#include <words.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, count = 0, tagged = switch_alone(argc, argv, "form", "untagged", "tagged");
    float value = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        MPI_Recv(&count, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(&value, 1, MPI_FLOAT, MPI_ANY_SOURCE, tagged, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Send(&count, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    } else if (rank == 2) {
        MPI_Send(&value, 1, MPI_FLOAT, 0, tagged, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
