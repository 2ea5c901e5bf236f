/* about: the protocol of distributed autograd with one rule broken: each invariant seen failing
 * ranks: 3
 * arguments: none
 * options: --no-gradients
 * expect: OK
 * variant: recv-twice; arguments: recv-twice; expect: A001
 * variant: gradient-twice; arguments: gradient-twice; expect: A002
 * variant: early-node; arguments: early-node; expect: A003
 * variant: idle-twice; arguments: idle-twice; expect: A004
 * variant: ack-early; arguments: ack-early; expect: A005
 * variant: root-early; arguments: root-early; expect: A006
 * variant: root-early-late; arguments: root-early 70; expect: A006
 * variant: value-changed; arguments: value-changed; expect: A007
 * variant: gradient-sign; arguments: gradient-sign; options: ; expect: G001
 * variant: tangent-lost; arguments: tangent-lost; options: ; expect: G001
 * variant: contexts-mixed; arguments: contexts-mixed; expect: A009
 * variant: released-again; arguments: released-again; expect: A010
 * variant: after-error; arguments: after-error; expect: A011
 * variant: release-local; arguments: release-local; expect: A012
 * variant: id-reused; arguments: id-reused; expect: A013
 *
 * Worker 0 calls through 1 to 2 and back in two contexts that share a leaf, with a pass that fails, a second pass without
 * retain and releases, after as many good passes as a second word says. rpc_break breaks one rule on all workers; the checks read the trace alone. That leaf gradients are
 * derivatives (invariant 8) is what finite differences and forward mode say. */
#include <mpi.h>
#include <rpc.h>
#include <words.h>

static const char *rule;
static int good; /* passes before the rule is broken */
static bool hook_fails;

static const char *hook(struct diff_tensor *gradient, void *unused)
{
    (void)gradient, (void)unused;
    return hook_fails ? "simulated error" : NULL;
}

static void twice(struct rpc_call *call)
{
    struct diff_tensor *x = rpc_argument(call, 0), *y = diff_mul(x, x);
    if (rpc_worker() == 1)
        y = diff_add(y, rpc_result(rpc_sync(2, "twice", 1, &y), 0));
    rpc_reply(call, 1, &y);
}

static struct diff_tensor *loss_of(struct diff_tensor *x)
{
    struct diff_tensor *result = rpc_result(rpc_sync(1, "twice", 1, &x), 0);
    struct diff_tensor *other = rpc_result(rpc_sync(2, "twice", 1, &x), 0);
    return diff_sum(diff_add(diff_mul(result, result), diff_mul(x, other)));
}

static void break_rule(struct rpc_call *call)
{
    (void)call;
    rpc_break(rule);
}

/* Passes that keep all rules, and then no more. */
static void drive_well(struct diff_tensor *x)
{
    for (int i = 0; i < good; i++) {
        uint64_t context = dist_context_new(DIST_FAST);
        struct diff_tensor *loss = loss_of(x);
        dist_backward(context, 1, &loss, 0);
        dist_context_leave();
        dist_context_release(context);
    }
    for (int worker = 0; worker < rpc_workers(); worker++)
        rpc_sync(worker, "break", 0, NULL);
}

static void drive(struct diff_tensor *x)
{
    uint64_t contexts[2];
    struct diff_tensor *losses[2];
    for (int i = 0; i < 2; i++) {
        contexts[i] = dist_context_new(DIST_FAST);
        losses[i] = loss_of(x);
        dist_context_leave();
    }
    for (int i = 0; i < 2; i++)
        dist_backward(contexts[i], 1, &losses[i], 0);
    dist_backward(contexts[1], 1, &losses[1], 0); /* not retained */
    for (int i = 0; i < 2; i++)
        dist_context_release(contexts[i]);
    if (!strcmp(rule, "gradient-sign") || !strcmp(rule, "tangent-lost"))
        return; /* the gradient check has no passes that fail */
    uint64_t context = dist_context_new(DIST_FAST);
    struct diff_tensor *y = diff_exp(x), *loss = diff_sub(diff_sum(diff_mul(y, y)), loss_of(x));
    dist_hook_add(y, DIST_BEFORE, hook, NULL);
    hook_fails = true;
    dist_backward(context, 1, &loss, 0);
    dist_context_leave();
    dist_context_release(context);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    rule = word_of(argc, argv, 1, "rule to break", "none",
                   "none recv-twice gradient-twice early-node idle-twice ack-early root-early value-changed "
                   "gradient-sign tangent-lost contexts-mixed released-again after-error release-local id-reused");
    good = (int)number_of(argc, argv, 2, "good passes", 0, 0, 1000);
    words_end(argc, argv, 2);
    rpc_init(MPI_COMM_WORLD);
    rpc_register("twice", twice);
    rpc_register("break", break_rule);
    struct diff_tensor *x = diff_input(rpc_tape(), "x", DIFF_DOUBLE, 1, (size_t[]){2}, (double[]){0.5, 1.5});
    if (!good)
        rpc_break(rule);
    else if (rpc_worker() == 0)
        drive_well(x);
    if (rpc_worker() == 0)
        drive(x);
    rpc_shutdown();
    MPI_Finalize();
    return 0;
}
