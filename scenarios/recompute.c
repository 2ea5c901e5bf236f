/* about: rank 0 computes a forward allreduce once more during the backward pass, rank 1 does not
 * ranks: 2
 * arguments: one
 * expect: D001
 * variant: both; arguments: both; expect: OK
 *
 * Recomputation is a collective decision. The tape's adjoints travel on a duplicate of the communicator, so rank 0's second
 * forward allreduce can meet nothing: it waits for ever, and adjoint and forward traffic stay apart (no R005). */
#include <diff.h>
#include <mpi.h>
#include <words.h>

struct plan {
    int recomputes;
    double total;
};

static void forward(size_t count, const void *x, void *y, void *context)
{
    struct plan *plan = context;
    const double *from = x;
    double *to = y;
    MPI_Allreduce(from, &plan->total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (size_t i = 0; i < count; i++)
        to[i] = from[i] * from[i];
}

/* Needs nothing but x; the sum is a statistic that takes no part in the derivative. */
static void vjp(size_t count, const void *x, const void *y_bar, void *x_bar, void *context)
{
    struct plan *plan = context;
    const double *from = x, *cotangent = y_bar;
    double *gradient = x_bar;
    if (plan->recomputes)
        MPI_Allreduce(from, &plan->total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (size_t i = 0; i < count; i++)
        gradient[i] = 2 * from[i] * cotangent[i];
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double values[2] = {0.5 + rank, 1.5}, weights[2] = {1.0 + rank, -2.0};
    struct plan plan = {.recomputes = rank == 0 || switch_alone(argc, argv, "form", "one", "both")};
    static const struct diff_custom_rules rules = {.name = "checkpoint", .forward = forward, .vjp = vjp};
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){2}, values);
    struct diff_tensor *w = diff_constant(tape, DIFF_DOUBLE, 1, (size_t[]){2}, weights);
    struct diff_tensor *sum = diff_allreduce(x, MPI_SUM, MPI_COMM_WORLD);
    struct diff_tensor *y = diff_custom(sum, &rules, &plan);
    diff_backward(diff_dot(y, w));
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}
