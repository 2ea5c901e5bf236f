/* about: engines with few threads: each pass holds one on every worker until all it waits for is done
 * ranks: 4
 * arguments: 1 2
 * expect: D001
 * variant: one; arguments: 1 1; expect: OK
 * variant: two; arguments: 2 2; expect: OK
 * variant: two-four; arguments: 2 4; expect: D001
 * variant: two-three; arguments: 2 3; expect: OK
 * variant: async; arguments: 0 4; expect: OK
 *
 * Arguments: threads of each worker, passes. A pass from worker 0 goes to 1 and from there to 2, one from worker 3 goes to
 * 2 and from there to 1. With N threads, N passes of each kind fill worker 1 with passes that wait for a thread of worker 2,
 * and the reverse: with one thread, two passes are one too many. An engine whose passes hold no thread while they wait (0) has no such limit. */
#include <mpi.h>
#include <rpc.h>
#include <stdlib.h>
#include <string.h>

static struct diff_tensor *weight;

static void near_function(struct rpc_call *call)
{
    struct diff_tensor *x = diff_mul(rpc_argument(call, 0), weight);
    int next = rpc_worker() == 1 ? 2 : 1;
    struct diff_tensor *y = rpc_result(rpc_sync(next, "far", 1, &x), 0);
    rpc_reply(call, 1, &y);
}

static void far_function(struct rpc_call *call)
{
    struct diff_tensor *y = diff_mul(rpc_argument(call, 0), weight);
    rpc_reply(call, 1, &y);
}

enum { PASSES_MAX = 16 };
static uint64_t contexts[PASSES_MAX];
static struct diff_tensor *losses[PASSES_MAX];
static int passes;

/* The forward part of all passes that begin here. */
static void prepare(struct rpc_call *call)
{
    size_t size;
    memcpy(&passes, rpc_argument_bytes(call, &size), sizeof passes);
    for (int i = 0; i < passes; i++) {
        contexts[i] = dist_context_new(DIST_FAST);
        losses[i] = diff_sum(rpc_result(rpc_sync(rpc_worker() == 0 ? 1 : 2, "near", 1, &weight), 0));
        dist_context_leave();
    }
}

/* While one waits for its answers the next begins. */
static void pass(struct rpc_call *call)
{
    size_t size;
    int number;
    memcpy(&number, rpc_argument_bytes(call, &size), sizeof number);
    if (!dist_backward(contexts[number], 1, &losses[number], 0))
        rpc_fail(call, "%s", dist_error());
}

static struct rpc_future *tell(int worker, const char *function, int number)
{
    return rpc_async_with(worker, function, &(struct rpc_arguments){.size = sizeof number, .bytes = &number});
}

static int drive(int count)
{
    struct rpc_future *futures[PASSES_MAX];
    int wrong = !rpc_wait(tell(0, "prepare", (count + 1) / 2)) + !rpc_wait(tell(3, "prepare", count / 2));
    for (int i = 0; i < count; i++)
        futures[i] = tell(i % 2 ? 3 : 0, "pass", i / 2);
    for (int i = 0; i < count; i++)
        wrong += !rpc_wait(futures[i]);
    return wrong;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int threads = argc > 1 ? atoi(argv[1]) : 1, count = argc > 2 ? atoi(argv[2]) : 2, wrong = 0;
    rpc_init(MPI_COMM_WORLD);
    rpc_register("near", near_function);
    rpc_register("far", far_function);
    rpc_register("prepare", prepare);
    rpc_register("pass", pass);
    dist_engine_limit((unsigned)threads);
    weight = diff_input(rpc_tape(), "weight", DIFF_DOUBLE, 1, (size_t[]){1}, &(double){1.5 + rpc_worker()});
    if (rpc_worker() == 0)
        wrong = drive(count < PASSES_MAX ? count : PASSES_MAX);
    for (int i = 0; i < passes; i++)
        wrong += !dist_context_release(contexts[i]);
    rpc_shutdown();
    MPI_Finalize();
    return wrong;
}
