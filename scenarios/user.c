/* about: the program of the manual: an allreduce under a weighted loss
 * ranks: 1..16
 * expect: ok
 *
 * The weights differ on every rank, so that a wrong root or a forgotten contribution shows. */
#include <diff.h>
#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double values[4], weight_values[4];
    for (int i = 0; i < 4; i++) {
        values[i] = 0.5 + i + 10 * rank;
        weight_values[i] = 1.0 / (1 + i + rank);
    }
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *weights = diff_constant(tape, DIFF_DOUBLE, 1, (size_t[]){4}, weight_values);

    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){4}, values);
    struct diff_tensor *y = diff_allreduce(x, MPI_SUM, MPI_COMM_WORLD);
    struct diff_tensor *loss = diff_dot(y, weights);
    diff_backward(loss); /* J is the sum over ranks */
    const double *g = diff_gradient(x);

    double expected = 0;
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int r = 0; r < size; r++)
        expected += 1.0 / (1 + r);
    int wrong = !(g[0] > expected - 1e-12 && g[0] < expected + 1e-12);
    diff_tape_free(tape);
    MPI_Finalize();
    return wrong;
}
