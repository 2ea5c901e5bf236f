/* Remote calls as such: worlds of several sizes under every executor and progress model. */
#include "tests/world_harness.h"

#include <rpc.h>

/* ---- calls ---- */

static void twice(struct rpc_call *call)
{
    struct diff_tensor *y = diff_scale(rpc_argument(call, 0), 2);
    rpc_reply(call, 1, &y);
}

static void echo(struct rpc_call *call)
{
    size_t size;
    const void *bytes = rpc_argument_bytes(call, &size);
    rpc_reply_bytes(call, bytes, size);
}

static void nothing(struct rpc_call *call)
{
    (void)call;
}

static void refuse(struct rpc_call *call)
{
    rpc_fail(call, "not from %d", rpc_caller(call));
}

static struct diff_tensor *number(double value)
{
    return diff_constant(rpc_tape(), DIFF_DOUBLE, 1, (size_t[]){1}, &value);
}

static void begin(void)
{
    rpc_init(MPI_COMM_WORLD);
    rpc_register("twice", twice);
    rpc_register("echo", echo);
    rpc_register("nothing", nothing);
    rpc_register("refuse", refuse);
}

/* Everybody asks everybody, itself included, all at once; answers are taken in the reverse order.
 */
static void all_to_all(int rank, int size)
{
    struct rpc_future *futures[16];
    begin();
    for (int to = 0; to < size; to++) {
        struct diff_tensor *x = number(100.0 * rank + to);
        futures[to] = rpc_async(to, "twice", 1, &x);
    }
    for (int to = size; to-- > 0;) {
        expect(rpc_wait(futures[to]), "%s", rpc_error(futures[to]));
        expect(diff_scalar(rpc_result(futures[to], 0)) == 200.0 * rank + 2 * to, "from %d", to);
        rpc_future_free(futures[to]);
    }
    rpc_shutdown();
}

/* Larger than a piece of the transport, exactly one piece, and nothing at all. */
static void sizes(int rank, int size)
{
    static const size_t lengths[] = {0, 1, 8191, 8192, 8193, 100000};
    begin();
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        unsigned char *bytes = malloc(lengths[i] + 1);
        for (size_t k = 0; k < lengths[i]; k++)
            bytes[k] = (unsigned char)(k * 7 + (size_t)rank);
        struct rpc_future *future = rpc_async_with(
            (rank + 1) % size, "echo", &(struct rpc_arguments){.size = lengths[i], .bytes = bytes});
        size_t got;
        expect(rpc_wait(future), "%s", rpc_error(future));
        const void *back = rpc_result_bytes(future, &got);
        expect(got == lengths[i] && !memcmp(back, bytes, got), "%zu of %zu bytes", got, lengths[i]);
        free(bytes);
    }
    rpc_shutdown();
}

static void errors_travel(int rank, int size)
{
    char said[80];
    begin();
    struct rpc_future *future = rpc_sync((rank + 1) % size, "refuse", 0, NULL);
    snprintf(said, sizeof said, "Error on Node %d: not from %d", (rank + 1) % size, rank);
    expect(rpc_error(future) && !strcmp(rpc_error(future), said), "%s", rpc_error(future));
    future = rpc_sync(rank, "absent", 0, NULL);
    expect(rpc_error(future) && strstr(rpc_error(future), "registered as 'absent'"), "%s",
           rpc_error(future));
    future = rpc_sync(rank, "nothing", 0, NULL);
    expect(!rpc_error(future) && rpc_result_count(future) == 0, "an empty answer");
    rpc_shutdown();
}

/* A library may be begun again. */
static void begun_twice(int rank, int size)
{
    for (int i = 0; i < 2; i++) {
        begin();
        struct diff_tensor *x = number(rank);
        expect(diff_scalar(rpc_result(rpc_sync(size - 1, "twice", 1, &x), 0)) == 2 * rank,
               "round %d", i);
        rpc_shutdown();
    }
}

/* ---- references ---- */

static struct rpc_reference *last[16]; /* per rank: what it was given to keep */

static void keep(struct rpc_call *call)
{
    last[rpc_worker()] = rpc_argument_reference(call, 0);
}

static void drop(struct rpc_call *call)
{
    (void)call;
    rpc_reference_free(last[rpc_worker()]);
}

static void read_kept(struct rpc_call *call)
{
    struct rpc_future *future = rpc_reference_fetch(last[rpc_worker()]);
    rpc_wait(future);
    struct diff_tensor *value = rpc_result(future, 0);
    rpc_reply(call, 1, &value);
}

static void ask_1(struct rpc_call *call)
{
    (void)call;
    rpc_sync(1, "nothing", 0, NULL);
}

static void kept(struct rpc_call *call)
{
    rpc_reply_bytes(call, &(size_t){rpc_references_kept()}, sizeof(size_t));
}

static size_t kept_by(int worker)
{
    size_t size;
    return *(const size_t *)rpc_result_bytes(rpc_sync(worker, "kept", 0, NULL), &size);
}

/* A value of worker 1 is passed to 2, which outlives the first holder. */
static void passed_on(int rank, int size)
{
    (void)size;
    begin();
    rpc_register("keep", keep);
    rpc_register("drop", drop);
    rpc_register("read", read_kept);
    rpc_register("kept", kept);
    rpc_register("ask-1", ask_1);
    if (rank == 0) {
        struct diff_tensor *x = number(21);
        struct rpc_reference *reference = rpc_remote(1, "twice", 1, &x);
        expect(rpc_reference_owner(reference) == 1, "the owner is %d",
               rpc_reference_owner(reference));
        rpc_wait(rpc_async_with(
            2, "keep", &(struct rpc_arguments){.reference_count = 1, .references = &reference}));
        rpc_reference_free(reference);
        expect(kept_by(1) == 1, "the owner keeps %zu values for one holder", kept_by(1));
        double value = diff_scalar(rpc_result(rpc_sync(2, "read", 0, NULL), 0));
        expect(value == 42, "the value is %g", value);
        rpc_sync(2, "drop", 0, NULL);
        rpc_sync(2, "ask-1", 0, NULL); /* on the way that the drop took */
        expect(kept_by(1) == 0, "the owner keeps %zu values for nobody", kept_by(1));
    }
    rpc_shutdown();
    expect(true, "shut down");
}

/* ---- wrong use ends the rank ---- */

static void before_init(int rank, int size)
{
    (void)rank, (void)size;
    rpc_sync(0, "twice", 0, NULL);
}

static void no_such_worker(int rank, int size)
{
    (void)rank;
    begin();
    rpc_sync(size, "nothing", 0, NULL);
}

static void second_context(int rank, int size)
{
    (void)rank, (void)size;
    begin();
    dist_context_new(DIST_FAST);
    dist_context_new(DIST_FAST);
}

static void result_of_failure(int rank, int size)
{
    (void)size;
    begin();
    rpc_result(rpc_sync(rank, "refuse", 0, NULL), 0);
}

static void unknown_rule(int rank, int size)
{
    (void)rank, (void)size;
    begin();
    rpc_break("everything");
}

static void plain_backward(int rank, int size)
{
    (void)size;
    begin();
    struct diff_tensor *x = rpc_variable(DIFF_DOUBLE, 1, (size_t[]){1}, &(double){1});
    uint64_t context = dist_context_new(DIST_FAST);
    struct diff_tensor *y = rpc_result(rpc_sync(rank, "twice", 1, &x), 0);
    (void)context;
    diff_backward(diff_sum(y));
}

static void other_tape(int rank, int size)
{
    (void)size;
    begin();
    struct diff_tensor *x =
        diff_constant(diff_tape_new(MPI_COMM_SELF), DIFF_DOUBLE, 1, (size_t[]){1}, NULL);
    rpc_async(rank, "twice", 1, &x);
}

/* Ranks that a wrong call ends keep what their frames held: these bodies, and no other one, may
 * leak. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:before_init\nleak:no_such_worker\nleak:second_context\nleak:result_of_"
           "failure\nleak:unknown_rule\n"
           "leak:plain_backward\nleak:other_tape\n";
}

int main(void)
{
    world_test("everybody calls everybody at once", all_to_all, WORLD_ANY);
    world_test("messages of all sizes arrive whole", sizes, WORLD_ANY);
    world_test("errors travel with the worker's number", errors_travel, WORLD_ANY);
    world_test("the library can be begun again", begun_twice, WORLD_ANY);
    world_test_sizes("a reference passed on outlives the one it came from", passed_on, WORLD_ANY,
                     WORLD_SIZES(3, 5));
    struct sim_world_options options = world_options(2);
    world_outcome_is("a call before rpc_init ends the rank", options, before_init, OUTCOME_ABORTED);
    world_outcome_is("so does one to a worker that is not there", options, no_such_worker,
                     OUTCOME_ABORTED);
    world_outcome_is("so does a second current context", options, second_context, OUTCOME_ABORTED);
    world_outcome_is("so does a result of a call that failed", options, result_of_failure,
                     OUTCOME_ABORTED);
    world_outcome_is("so does a rule that is not there", options, unknown_rule, OUTCOME_ABORTED);
    world_outcome_is("so does diff_backward through a remote call", options, plain_backward,
                     OUTCOME_ABORTED);
    world_outcome_is("so does a tensor of another tape", options, other_tape, OUTCOME_ABORTED);
    return tap_done();
}
