/* about: derivatives that do not go through remote calls are refused by name, not computed wrongly
 * ranks: 2,3
 * arguments: gradient
 * expect: OK
 * variant: forward; arguments: forward; expect: M009
 * variant: graph; arguments: graph; expect: M009
 * variant: local; arguments: local; expect: M009
 *
 * y = w x^2 on worker 1. Its gradient goes through the call: dist_backward. A tangent does not (diff_jvp), nor does
 * a pass that could itself be differentiated (DIFF_GRAPH), nor a backward pass of the tape alone (diff_backward). Each
 * says which function it was and what there is instead. */
#include <mpi.h>
#include <rpc.h>
#include <words.h>

static struct diff_tensor *weight;

static void square(struct rpc_call *call)
{
    struct diff_tensor *x = rpc_argument(call, 0), *y = diff_mul(diff_mul(x, x), weight);
    rpc_reply(call, 1, &y);
}

static int drive(const char *form)
{
    struct diff_tensor *x = diff_input(rpc_tape(), "x", DIFF_DOUBLE, 1, (size_t[]){1}, (double[]){1.5});
    struct diff_tensor *one = diff_constant(rpc_tape(), DIFF_DOUBLE, 1, (size_t[]){1}, (double[]){1});
    uint64_t context = dist_context_new(DIST_FAST);
    struct diff_tensor *y = diff_sum(rpc_result(rpc_sync(1, "square", 1, &x), 0));
    if (!strcmp(form, "forward"))
        diff_jvp(rpc_tape(), 1, &x, &one);
    if (!strcmp(form, "local"))
        diff_backward(y);
    int wrong = !dist_backward(context, 1, &y, !strcmp(form, "graph") ? DIFF_GRAPH : DIST_RETAIN);
    struct diff_tensor *gradient = dist_gradient(context, x);
    wrong += gradient && diff_scalar(gradient) != 2 * 1.5 * 3;
    dist_context_leave();
    return wrong + !dist_context_release(context);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const char *form = word_alone(argc, argv, "form", "gradient", "gradient forward graph local");
    rpc_init(MPI_COMM_WORLD);
    rpc_register("square", square);
    weight = diff_input(rpc_tape(), "weight", DIFF_DOUBLE, 1, (size_t[]){1}, (double[]){3});
    int wrong = rpc_worker() == 0 ? drive(form) : 0;
    rpc_shutdown();
    MPI_Finalize();
    return wrong;
}
