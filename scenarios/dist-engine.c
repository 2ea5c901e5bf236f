/* about: engines with few threads: each pass holds one on every worker until all it waits for is done
 * ranks: 4
 * arguments: nested 1 2
 * expect: D001
 * variant: nested-one; arguments: nested 1 1; expect: OK
 * variant: nested-three; arguments: nested 3 3; expect: OK
 * variant: nested-three-four; arguments: nested 3 4; expect: D001
 * variant: nested-eight; arguments: nested 8 8; expect: OK
 * variant: nested-eight-nine; arguments: nested 8 9; expect: D001
 * variant: nested-async; arguments: nested 0 9; expect: OK
 * variant: crossing; arguments: crossing 1 2; expect: D001
 * variant: crossing-two-three; arguments: crossing 2 3; expect: OK
 * variant: crossing-two-four; arguments: crossing 2 4; expect: D001
 * variant: crossing-async; arguments: crossing 0 4; expect: OK
 *
 * Words: form, threads of each worker (0: passes hold none), passes. Nested: a hook of each pass on worker 1 asks worker 0
 * for the next pass and waits for it, so that all are in flight at once and each holds a thread of worker 1: with N
 * threads, N + 1 passes are one too many. Crossing: passes from worker 0 go to 1 and from there to 2, passes from worker 3
 * go to 2 and from there to 1; N of each kind fill worker 1 with passes that wait for a thread of worker 2, and the
 * reverse. An engine whose passes hold no thread while they wait has neither limit. */
#include <mpi.h>
#include <rpc.h>
#include <words.h>

enum { PASSES_MAX = 16 };

static struct diff_tensor *weight;
static uint64_t contexts[PASSES_MAX];
static struct diff_tensor *losses[PASSES_MAX];
static bool begun[PASSES_MAX];
static int passes; /* that begin on this worker */

static struct rpc_future *tell(int worker, const char *function, int number)
{
    return rpc_async_with(worker, function, &(struct rpc_arguments){.size = sizeof number, .bytes = &number});
}

static int number_told(const struct rpc_call *call)
{
    size_t size;
    int number;
    memcpy(&number, rpc_argument_bytes(call, &size), sizeof number);
    return number;
}

static void far_function(struct rpc_call *call)
{
    struct diff_tensor *y = diff_mul(rpc_argument(call, 0), weight);
    rpc_reply(call, 1, &y);
}

/* Passes that begin here one inside the other differ in who is asked first, and in what happens on the way back. */
static void through_function(struct rpc_call *call)
{
    struct diff_tensor *x = diff_mul(rpc_argument(call, 0), weight);
    int next = rpc_worker() == 1 ? 2 : 1;
    struct diff_tensor *y = rpc_result(rpc_sync(next, "far", 1, &x), 0);
    rpc_reply(call, 1, &y);
}

/* Runs on worker 1 in the middle of a pass, which holds its thread meanwhile. */
static const char *next_pass(struct diff_tensor *gradient, void *number)
{
    (void)gradient;
    return rpc_wait(tell(0, "pass", *(int *)number + 1)) ? NULL : "the pass inside failed";
}

static int numbers[PASSES_MAX], last;

static void nested_function(struct rpc_call *call)
{
    size_t size;
    int number = *(const int *)rpc_argument_bytes(call, &size);
    struct diff_tensor *y = diff_mul(rpc_argument(call, 0), weight);
    numbers[number] = number;
    if (number < last)
        dist_hook_add(y, DIST_AFTER, next_pass, &numbers[number]);
    rpc_reply(call, 1, &y);
}

static struct diff_tensor *forward_nested(int number)
{
    struct rpc_future *future =
        rpc_async_with(1, "nested", &(struct rpc_arguments){1, &weight, sizeof number, &number, 0, NULL});
    rpc_wait(future);
    return rpc_result(future, 0);
}

/* The forward part of all passes that begin here; a negative number: as many, nested. */
static void prepare(struct rpc_call *call)
{
    int count = number_told(call);
    passes = abs(count);
    for (int i = 0; i < passes; i++) {
        contexts[i] = dist_context_new(DIST_FAST);
        losses[i] = diff_sum(
            count < 0 ? forward_nested(i)
                      : rpc_result(rpc_sync(rpc_worker() == 0 ? 1 : 2, "through", 1, &weight), 0));
        dist_context_leave();
    }
}

/* While one waits for its answers the next begins. */
static void pass(struct rpc_call *call)
{
    int number = number_told(call);
    if (begun[number])
        return;
    begun[number] = true;
    if (!dist_backward(contexts[number], 1, &losses[number], 0))
        rpc_fail(call, "%s", dist_error());
}

static int drive_crossing(int count)
{
    struct rpc_future *futures[PASSES_MAX];
    int wrong = !rpc_wait(tell(0, "prepare", (count + 1) / 2)) + !rpc_wait(tell(3, "prepare", count / 2));
    for (int i = 0; i < count; i++)
        futures[i] = tell(i % 2 ? 3 : 0, "pass", i / 2);
    for (int i = 0; i < count; i++)
        wrong += !rpc_wait(futures[i]);
    return wrong;
}

/* The first pass brings the others with it, where it runs at all: the gradient check's worlds have no passes. */
static int drive_nested(int count)
{
    int wrong = !rpc_wait(tell(0, "prepare", -count));
    for (int i = 0; i < count; i++)
        wrong += !rpc_wait(tell(0, "pass", i));
    return wrong;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    bool crossing = switch_of(argc, argv, 1, "form", "nested", "crossing");
    int threads = (int)number_of(argc, argv, 2, "threads", 1, 0, PASSES_MAX), wrong = 0;
    int count = (int)number_of(argc, argv, 3, "passes", 2, 1, PASSES_MAX);
    words_end(argc, argv, 3);
    last = count - 1;
    rpc_init(MPI_COMM_WORLD);
    rpc_register("through", through_function);
    rpc_register("far", far_function);
    rpc_register("nested", nested_function);
    rpc_register("prepare", prepare);
    rpc_register("pass", pass);
    dist_engine_limit((unsigned)threads);
    weight = diff_input(rpc_tape(), "weight", DIFF_DOUBLE, 1, (size_t[]){1}, &(double){1.5 + rpc_worker()});
    if (rpc_worker() == 0)
        wrong = crossing ? drive_crossing(count) : drive_nested(count);
    for (int i = 0; i < passes; i++)
        wrong += !dist_context_release(contexts[i]);
    rpc_shutdown();
    MPI_Finalize();
    return wrong;
}
