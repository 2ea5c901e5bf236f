/* Two persistent sums and a product, made once and started in every step of a loop: in another order
 * on odd ranks, as MPI allows it, and all under way at once. */
#include <diff.h>
#include <mpi.h>

enum { COUNT = 3, STEPS = 4 };

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    double start[COUNT] = {0.3 + 0.1 * rank, -0.4, 0.2};
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){COUNT}, start), *y = x;
    struct diff_call call = {.kind = DIFF_ALLREDUCE, .x = x, .comm = MPI_COMM_WORLD, .op = MPI_SUM};
    struct diff_persistent *sum = diff_collective_init(&call), *mean, *scan;
    call.op = DIFF_AVG;
    mean = diff_collective_init(&call);
    call.kind = DIFF_SCAN;
    call.op = MPI_PROD;
    scan = diff_collective_init(&call);
    for (int step = 0; step < STEPS; step++) {
        struct diff_tensor *parts[] = {diff_tanh(y), diff_sin(y), diff_cos(y)}, *handles[3],
                           *got[3];
        struct diff_persistent *requests[] = {sum, mean, scan};
        for (int i = 0; i < 3; i++) {
            int k = rank % 2 ? 2 - i : i;
            handles[k] = diff_start(requests[k], parts[k]);
        }
        diff_waitall(3, handles, got);
        y = diff_add(diff_mul(got[0], got[1]), diff_scale(got[2], 0.5));
    }
    diff_backward(diff_dot(y, x));
    diff_persistent_free(sum);
    diff_persistent_free(mean);
    diff_persistent_free(scan);
    diff_tape_free(tape);
    MPI_Finalize();
}
