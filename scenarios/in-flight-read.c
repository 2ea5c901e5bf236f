/* about: an adjoint receives straight into a cotangent that another one adds to
 * ranks: 2
 * arguments: straight
 * expect: eager=B001 rendezvous=B001 batch=B001
 * variant: apart; arguments: apart; expect: eager=OK rendezvous=OK batch=OK
 *
 * x is sent away and used at home, so its cotangent has two parts. The adjoint of the send receives one of them; where it
 * receives into the cotangent itself, without waiting, the other part is added to memory that the message will overwrite. */
#include <diff.h>
#include <mpi.h>
#include <words.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, straight = switch_alone(argc, argv, "form", "apart", "straight");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double x = 0.5 + rank, y, gradient = 0, part = 0;
    diff_mark_input("x", &x, 1);
    if (rank == 0) {
        MPI_Request request;
        MPI_Send(&x, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
        diff_mark_objective(x * x);
        MPI_Irecv(straight ? &gradient : &part, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD, &request);
        gradient += 2 * x;
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        gradient += part;
    } else {
        MPI_Recv(&y, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        diff_mark_objective(y * y * x);
        double cotangent = 2 * y * x;
        MPI_Send(&cotangent, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
        gradient = y * y;
    }
    diff_mark_gradient("x", &gradient, 1);
    MPI_Finalize();
    return 0;
}
