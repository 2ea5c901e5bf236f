/* about: a ready send that a barrier makes right, and a hand-written adjoint without the barrier
 * ranks: 2
 * arguments: pruned
 * expect: M009
 * variant: barrier; arguments: barrier; expect: OK
 *
 * A barrier carries no value, so whoever prunes dead nodes prunes it. The ready send of the cotangent then comes before
 * its receive is posted, which MPI forbids: rank 1 is still waiting for the loss. */
#include <diff.h>
#include <mpi.h>
#include <words.h>

/* One message from `source` to the other rank, ready because the receive is there before the barrier. */
static void transfer(double *value, int rank, int source, int with_barrier)
{
    MPI_Request request = MPI_REQUEST_NULL;
    if (rank != source && with_barrier)
        MPI_Irecv(value, 1, MPI_DOUBLE, source, 0, MPI_COMM_WORLD, &request);
    if (with_barrier)
        MPI_Barrier(MPI_COMM_WORLD);
    if (rank == source)
        MPI_Rsend(value, 1, MPI_DOUBLE, 1 - source, 0, MPI_COMM_WORLD);
    else if (with_barrier)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    else
        MPI_Recv(value, 1, MPI_DOUBLE, source, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double x = 0.5 + rank, y, cotangent = 0, objective = 0;
    diff_mark_input("x", &x, 1);
    y = x;
    transfer(&y, rank, 1, 1);
    if (rank == 0) {
        objective = y * y * x;
        diff_mark_objective(objective);
        cotangent = 2 * y * x;
    }
    MPI_Bcast(&objective, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD); /* everybody prints the loss */
    double gradient = rank == 0 ? y * y : 0;
    transfer(&cotangent, rank, 0, !switch_alone(argc, argv, "form", "barrier", "pruned"));
    if (rank == 1)
        gradient += cotangent;
    diff_mark_gradient("x", &gradient, 1);
    MPI_Finalize();
    return 0;
}
