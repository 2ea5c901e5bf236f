/* an allowed mismatch hides a silent ordering race elsewhere */
#include <diff.h>
#include <mpi.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double a[2] = {1.0 + rank, 2.0}, b[2] = {0.5, -1}, w[2] = {1, 1};
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){2}, a);
    struct diff_tensor *y = diff_input(tape, "y", DIFF_DOUBLE, 1, (size_t[]){2}, b);
    struct diff_tensor *u = diff_allreduce(x, MPI_SUM, MPI_COMM_WORLD);
    struct diff_tensor *v = diff_allreduce(y, MPI_SUM, MPI_COMM_WORLD);
    struct diff_tensor *ww = diff_constant(tape, DIFF_DOUBLE, 1, (size_t[]){2}, w);
    diff_backward(diff_add(diff_dot(u, ww), diff_dot(v, ww)));
    diff_tape_free(tape);
    if (argc > 1) { /* M008: int sent, float received, same size */
        int i = 1;
        float f = 0;
        if (rank == 0)
            MPI_Send(&i, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        if (rank == 1)
            MPI_Recv(&f, 1, MPI_FLOAT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
