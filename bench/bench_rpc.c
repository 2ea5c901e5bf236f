/* A chain of ten remote calls, forward and backward, over and over: microseconds for one, the median.
 *
 *   simrun -n 4 --record none --no-gradients bench/bench_rpc.c [hops [repetitions]]
 *
 * bench_rpc.py is the same program for torch.distributed. */
#include <mpi.h>
#include <rpc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct diff_tensor *weight;

/* The bytes hold how many hops are left. */
static void hop(struct rpc_call *call)
{
    size_t size;
    int left = *(const int *)rpc_argument_bytes(call, &size) - 1;
    struct diff_tensor *x = diff_mul(rpc_argument(call, 0), weight);
    if (left > 0) {
        struct rpc_future *future = rpc_async_with(
            (rpc_worker() + 1) % rpc_workers(), "hop",
            &(struct rpc_arguments){.count = 1, .tensors = &x, .size = sizeof left, .bytes = &left});
        rpc_wait(future);
        x = rpc_result(future, 0);
        rpc_future_free(future);
    }
    rpc_reply(call, 1, &x);
}

static double once(struct diff_tensor *x, int hops)
{
    double begin = MPI_Wtime();
    uint64_t context = dist_context_new(DIST_FAST);
    struct rpc_future *future = rpc_async_with(
        1 % rpc_workers(), "hop",
        &(struct rpc_arguments){.count = 1, .tensors = &x, .size = sizeof hops, .bytes = &hops});
    rpc_wait(future);
    struct diff_tensor *loss = diff_sum(rpc_result(future, 0));
    rpc_future_free(future);
    if (!dist_backward(context, 1, &loss, 0))
        printf("%s\n", dist_error());
    if (!dist_gradient(context, x))
        printf("no gradient\n");
    dist_context_leave();
    dist_context_release(context);
    return (MPI_Wtime() - begin) * 1e6;
}

static int ascending(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int hops = argc > 1 ? atoi(argv[1]) : 10, repetitions = argc > 2 ? atoi(argv[2]) : 300;
    double values[100], *times = calloc((size_t)repetitions, sizeof *times);
    rpc_init(MPI_COMM_WORLD);
    rpc_register("hop", hop);
    for (int i = 0; i < 100; i++)
        values[i] = 1 + 0.001 * i;
    weight = rpc_variable(DIFF_DOUBLE, 1, (size_t[]){100}, values);
    struct diff_tensor *x = rpc_variable(DIFF_DOUBLE, 1, (size_t[]){100}, values);
    if (rpc_worker() == 0 && times) {
        for (int i = 0; i < repetitions; i++)
            times[i] = once(x, hops);
        qsort(times, (size_t)repetitions, sizeof *times, ascending);
        printf("%.1f\n", times[repetitions / 2]);
    }
    rpc_shutdown();
    MPI_Finalize();
    free(times);
    return 0;
}
