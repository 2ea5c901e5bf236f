/* about: a hand-written adjoint sends a cotangent and clears it before the message is complete
 * ranks: 2
 * arguments: straight
 * expect: eager=B001 rendezvous=B001 batch=B001
 * variant: copied; arguments: copied; expect: eager=OK rendezvous=OK batch=OK
 *
 * The adjoint of a receive sends the cotangent away and leaves zero behind. A nonblocking one has to send a copy. */
#include <diff.h>
#include <mpi.h>
#include <words.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, straight = switch_alone(argc, argv, "form", "copied", "straight");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double x = 0.5 + rank, y, gradient = 0;
    diff_mark_input("x", &x, 1);
    if (rank == 0) {
        MPI_Send(&x, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(&gradient, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Request request;
        MPI_Recv(&y, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        diff_mark_objective(y * y * x);
        double cotangent = 2 * y * x, copy = cotangent;
        MPI_Isend(straight ? &cotangent : &copy, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, &request);
        cotangent = 0;
        gradient = y * y + cotangent;
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    diff_mark_gradient("x", &gradient, 1);
    MPI_Finalize();
    return 0;
}
