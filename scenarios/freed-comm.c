/* about: a communicator is freed between the forward and the backward pass
 * ranks: 2,4
 * arguments: tape
 * expect: OK
 * variant: data; arguments: tape; options: --order data; expect: OK
 * variant: by-hand; arguments: by-hand; expect: X005
 *
 * The tape keeps what the backward pass needs. A hand-written adjoint that does not uses a handle of nothing. */
#include <diff.h>
#include <mpi.h>
#include <words.h>

static void with_tape(double *values, double *weights, MPI_Comm *comm)
{
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){2}, values);
    struct diff_tensor *w = diff_constant(tape, DIFF_DOUBLE, 1, (size_t[]){2}, weights);
    struct diff_tensor *sum = diff_allreduce(x, MPI_SUM, *comm);
    MPI_Comm_free(comm);
    diff_backward(diff_dot(sum, w));
    diff_tape_free(tape);
}

static void by_hand(double *x, double *weights, MPI_Comm *comm)
{
    double sum[2], gradient[2];
    diff_mark_input("x", x, 2);
    MPI_Allreduce(x, sum, 2, MPI_DOUBLE, MPI_SUM, *comm);
    diff_mark_objective(sum[0] * weights[0] + sum[1] * weights[1]);
    MPI_Comm kept = *comm;
    MPI_Comm_free(comm);
    MPI_Allreduce(weights, gradient, 2, MPI_DOUBLE, MPI_SUM, kept);
    diff_mark_gradient("x", gradient, 2);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm comm;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comm);
    double values[2] = {0.5 + rank, 1.5}, weights[2] = {1.0 + rank, -2.0};
    if (switch_alone(argc, argv, "form", "tape", "by-hand"))
        by_hand(values, weights, &comm);
    else
        with_tape(values, weights, &comm);
    MPI_Finalize();
    return 0;
}
