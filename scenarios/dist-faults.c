/* about: workers that die and messages that are lost or come twice: errors, and nobody hangs
 * ranks: 4
 * options: --no-gradients
 * arguments: none
 * expect: OK
 * variant: crash-before; arguments: crash-before; expect: OK
 * variant: crash-during; arguments: crash-during; expect: OK
 * variant: crash-after; arguments: crash-after; expect: OK
 * variant: crash-in-call; arguments: crash-in-call; expect: OK
 * variant: crash-before-answer; arguments: crash-before-answer; expect: OK
 * variant: originator-dies; arguments: originator-dies; expect: OK
 * variant: lose-call; arguments: lose-call; expect: OK
 * variant: lose-reply; arguments: lose-reply; expect: OK
 * variant: lose-gradient; arguments: lose-gradient; expect: OK
 * variant: lose-answer; arguments: lose-answer; expect: OK
 * variant: lose-gradient-impatient; arguments: lose-gradient-impatient; expect: D001
 * variant: lose-release; arguments: lose-release; expect: OK
 * variant: lose-release-answer; arguments: lose-release-answer; expect: OK
 * variant: twice-call; arguments: twice-call; expect: OK
 * variant: twice-gradient; arguments: twice-gradient; expect: OK
 * variant: twice-everything; arguments: twice-everything; expect: OK
 *
 * Worker 0 calls through 1 and 2 to 3 and differentiates. The fault strikes at worker 2, whose gradient goes to 3 (or at 0
 * where it is the originator). Where the pass cannot succeed it must return an error that names the cause, leave no
 * gradient, no context and nobody in the pass; where it can (duplicates, lost releases) it must be right.
 * Without patience a lost message is what it is in MPI: a wait for ever. */
#include <mpi.h>
#include <rpc.h>
#include <stdio.h>
#include <words.h>

static struct diff_tensor *weight;
static int wrong;

static void check(int good, const char *what)
{
    if (!good)
        printf("worker %d: %s\n", rpc_worker(), what);
    wrong += !good;
}

static void chain(struct rpc_call *call)
{
    struct diff_tensor *x = diff_mul(rpc_argument(call, 0), weight);
    if (rpc_worker() < 3) {
        struct rpc_future *future = rpc_sync(rpc_worker() + 1, "chain", 1, &x);
        if (rpc_error(future)) {
            rpc_fail(call, "%s", rpc_error(future));
            return;
        }
        x = rpc_result(future, 0);
    }
    rpc_reply(call, 1, &x);
}

static const struct fault {
    const char *name;
    int worker;
    enum rpc_fault fault;
    const char *kind;
    unsigned number;
    unsigned patience;
    int call_good, pass_good, release_good;
    const char *says;
} faults[] = {
    {"none", 2, RPC_FAULT_LOSE, "gradient", 99, 0, 1, 1, 1, ""},
    {"crash-before", 2, RPC_FAULT_CRASH_BEFORE, "gradient", 1, 0, 1, 0, 1, "worker 2 died"},
    {"crash-during", 2, RPC_FAULT_CRASH_DURING, "gradient", 1, 0, 1, 0, 1, "worker 2 died"},
    {"crash-after", 2, RPC_FAULT_CRASH_AFTER, "gradient", 1, 0, 1, 0, 1, "worker 2 died"},
    {"crash-in-call", 2, RPC_FAULT_CRASH_BEFORE, "reply", 1, 0, 0, 0, 1, "worker 2 died"},
    {"crash-before-answer", 3, RPC_FAULT_CRASH_BEFORE, "gradient-answer", 1, 0, 1, 0, 1, "worker 3 died"},
    {"originator-dies", 0, RPC_FAULT_CRASH_AFTER, "gradient", 1, 0, 1, 0, 0, "died"},
    {"lose-call", 2, RPC_FAULT_LOSE, "call", 1, 40, 0, 0, 1, "did not answer a call"},
    {"lose-reply", 2, RPC_FAULT_LOSE, "reply", 1, 40, 0, 0, 1, "did not answer a call"},
    {"lose-gradient", 2, RPC_FAULT_LOSE, "gradient", 1, 40, 1, 0, 1, "did not answer a gradient"},
    {"lose-answer", 3, RPC_FAULT_LOSE, "gradient-answer", 1, 40, 1, 0, 1, "did not answer a gradient"},
    {"lose-gradient-impatient", 2, RPC_FAULT_LOSE, "gradient", 1, 0, 1, 0, 1, ""},
    {"lose-release", 1, RPC_FAULT_LOSE, "release", 1, 40, 1, 1, 1, ""},
    {"lose-release-answer", 2, RPC_FAULT_LOSE, "release-answer", 1, 40, 1, 1, 1, ""},
    {"twice-call", 2, RPC_FAULT_DUPLICATE, "call", 1, 0, 1, 1, 1, ""},
    {"twice-gradient", 2, RPC_FAULT_DUPLICATE, "gradient", 1, 0, 1, 1, 1, ""},
    {"twice-everything", -1, RPC_FAULT_DUPLICATE, "any", 0, 0, 1, 1, 1, ""},
};

static void known(struct rpc_call *call)
{
    rpc_reply_bytes(call, &(size_t){dist_contexts()}, sizeof(size_t));
}

static void drive(const struct fault *fault, struct diff_tensor *x)
{
    uint64_t context = dist_context_new(DIST_FAST);
    struct rpc_future *future = rpc_sync(1, "chain", 1, &x);
    check((rpc_error(future) == NULL) == fault->call_good, rpc_error(future) ? rpc_error(future) : "the call succeeded");
    const char *error = rpc_error(future);
    bool good = false;
    if (!error) {
        struct diff_tensor *loss = diff_sum(rpc_result(future, 0));
        good = dist_backward(context, 1, &loss, 0);
        error = good ? "" : dist_error();
        check(good == fault->pass_good, good ? "the pass succeeded" : error);
    }
    check(strstr(error, fault->says) != NULL, error);
    struct diff_tensor *gradient = dist_gradient(context, x);
    check((gradient != NULL) == good, "a gradient, and only of a good pass");
    const double *values = gradient ? diff_values(gradient) : NULL; /* the product of the weights */
    check(!good || values[0] == 1.5 * 2 * 2.5, "the gradient");
    dist_context_leave();
    check(dist_context_release(context) == fault->release_good || fault->worker == 0, dist_error());
    check(dist_contexts() == 0, "the context is still known here");
    /* Who heard of the context from a dead worker is reported later: A012 sees to it. */
    for (int worker = 1; worker < rpc_workers() && fault->fault < RPC_FAULT_CRASH_BEFORE; worker++) {
        size_t size;
        struct rpc_future *asked = rpc_sync(worker, "known", 0, NULL);
        if (!rpc_error(asked))
            check(*(const size_t *)rpc_result_bytes(asked, &size) == 0, "the context is still known elsewhere");
    }
}

static const struct fault *fault_of(int argc, char **argv)
{
    char known[400] = "";
    const struct fault *fault = faults;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", i ? " " : "", faults[i].name);
    const char *name = word_alone(argc, argv, "fault", "none", known);
    while (strcmp(fault->name, name))
        fault++;
    return fault;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const struct fault *fault = fault_of(argc, argv);
    rpc_init(MPI_COMM_WORLD);
    int worker = rpc_worker();
    rpc_register("chain", chain);
    rpc_register("known", known);
    rpc_patience(fault->patience << (2 * (3 - (unsigned)worker))); /* who waits for more waits longer */
    for (unsigned i = 1; fault->worker < 0 && i < 40; i++)
        rpc_fault(fault->fault, fault->kind, i);
    if (worker == fault->worker)
        rpc_fault(fault->fault, fault->kind, fault->number);
    weight = rpc_variable(DIFF_DOUBLE, 1, (size_t[]){1}, &(double){1 + 0.5 * worker});
    struct diff_tensor *x = rpc_variable(DIFF_DOUBLE, 1, (size_t[]){1}, &(double){2});
    if (worker == 0)
        drive(fault, x);
    rpc_shutdown();
    MPI_Finalize();
    return wrong;
}
