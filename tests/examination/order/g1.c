#include <diff.h>
#include <mpi.h>
/* order of arrival changes the result: y = 2*y + x */
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int r, n;
    MPI_Comm_rank(MPI_COMM_WORLD, &r);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    double x = 0.5 + r;
    struct diff_tape *t = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *X = diff_input(t, "x", DIFF_DOUBLE, 1, (size_t[]){1}, &x);
    if (r) {
        diff_send(X, 0, 0, MPI_COMM_WORLD);
    } else {
        struct diff_tensor *acc = X;
        for (int i = 1; i < n; i++) {
            struct diff_tensor *g =
                diff_recv(t, DIFF_DOUBLE, 1, (size_t[]){1}, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD);
            acc = diff_add(diff_scale(acc, 2), g);
        }
        diff_backward(diff_sum(acc));
    }
    if (r) {
    }
    diff_tape_free(t);
    MPI_Finalize();
    return 0;
}
