/* about: receives from any source, run once more by a recomputed forward pass
 * ranks: 3,4,18
 * arguments: wildcard
 * expect: R003
 * variant: named; arguments: named; expect: OK
 *
 * The second run of the receives may match in another order than the first, and then the backward pass uses activations
 * that the loss never saw. Recomputation must name the sources that matched. */
#include <mpi.h>
#include <words.h>

/* The weighted sum of what the others sent: the order of arrival matters. */
static double gather(int rank, int size, double mine, int named)
{
    double total = 0, got;
    if (rank > 0)
        MPI_Send(&mine, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
    for (int i = 1; rank == 0 && i < size; i++) {
        MPI_Recv(&got, 1, MPI_DOUBLE, named ? i : MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        total += i * got;
    }
    return total;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, named = switch_alone(argc, argv, "form", "wildcard", "named");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double forward = gather(rank, size, 1.0 + rank, named);
    MPI_Barrier(MPI_COMM_WORLD);
    double again = gather(rank, size, 1.0 + rank, named);
    MPI_Finalize();
    return forward != again;
}
