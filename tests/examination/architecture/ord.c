#include <diff.h>
#include <mpi.h>
#include <stdlib.h>
int main(int c, char **v)
{
    MPI_Init(&c, &v);
    int r, n, K = atoi(v[1]);
    MPI_Comm_rank(MPI_COMM_WORLD, &r);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    double val[2] = {1.0 + r, 0.5};
    struct diff_tape *t = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = diff_input(t, "x", DIFF_DOUBLE, 1, (size_t[]){2}, val);
    struct diff_tensor *w = diff_constant(t, DIFF_DOUBLE, 1, (size_t[]){2}, val);
    struct diff_tensor *s = NULL, *y = x;
    for (int i = 0; i < K; i++) {
        struct diff_tensor *a = atoi(v[2]) ? diff_allreduce(diff_mul(x, w), MPI_SUM, MPI_COMM_WORLD)
                                           : (y = diff_allreduce(y, MPI_MAX, MPI_COMM_WORLD));
        s = s ? diff_add(s, a) : a;
    }
    diff_backward(diff_dot(s, w));
    diff_tape_free(t);
    MPI_Finalize();
    return 0;
}
