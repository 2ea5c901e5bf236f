/* about: the program of the manual: a remote call and its gradient
 * ranks: 2,4
 * expect: OK
 *
 * Worker 1 squares what it is sent; its weight is a variable too, and its gradient stays there. */
#include <mpi.h>
#include <rpc.h>

static struct diff_tensor *weight;

static void square(struct rpc_call *call)
{
    struct diff_tensor *x = rpc_argument(call, 0);
    struct diff_tensor *y = diff_mul(diff_mul(x, x), weight);
    rpc_reply(call, 1, &y);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    rpc_init(MPI_COMM_WORLD);
    rpc_register("square", square);
    double values[2] = {0.5, 1.5 + rpc_worker()};
    weight = diff_input(rpc_tape(), "weight", DIFF_DOUBLE, 1, (size_t[]){2}, values);

    if (rpc_worker() == 0) {
        uint64_t context = dist_context_new(DIST_FAST);
        struct rpc_future *answer = rpc_async(1, "square", 1, &weight);
        if (rpc_wait(answer)) {
            struct diff_tensor *loss = diff_sum(rpc_result(answer, 0));
            dist_backward(context, 1, &loss, 0);
            /* dist_gradient(context, weight) is worker 0's; worker 1 has its own. */
        }
        dist_context_leave();
        dist_context_release(context);
    }
    rpc_shutdown(); /* serves the others until all are done */
    MPI_Finalize();
    return 0;
}
