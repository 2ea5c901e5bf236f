/* about: distributed autograd: every case of remote calls, against one process that does all by itself
 * ranks: 4
 * expect: OK
 * variant: builtin; arguments: builtin; expect: OK
 * variant: function; arguments: function; expect: OK
 * variant: remote; arguments: remote; expect: OK
 * variant: nested; arguments: nested; expect: OK
 * variant: back; arguments: back; expect: OK
 * variant: alternate; arguments: alternate; expect: OK
 * variant: only-result; arguments: only-result; expect: OK
 * variant: plain; arguments: plain; expect: OK
 * variant: unused-output; arguments: unused-output; expect: OK
 * variant: trips; arguments: trips; expect: OK
 * variant: roots; arguments: roots; expect: OK
 * variant: shapes; arguments: shapes; expect: OK
 * variant: outputs; arguments: outputs; expect: OK
 * variant: thousand; arguments: thousand; expect: OK
 * variant: second-pass; arguments: second-pass; expect: OK
 * variant: refusals; arguments: refusals; expect: OK
 * variant: deep-error; arguments: deep-error; expect: OK
 * variant: release-in-pass; arguments: release-in-pass; expect: OK
 * variant: contexts; arguments: contexts; expect: OK
 * variant: recovery; arguments: recovery; expect: OK
 * variant: hooks; arguments: hooks; expect: OK
 * variant: server; arguments: server; expect: OK
 * variant: optimizer; arguments: optimizer; expect: OK
 * variant: fast-unused-send; arguments: unused-send fast; expect: D001
 * variant: smart-unused-send; arguments: unused-send lineage; expect: OK
 * variant: mark-unused-send; arguments: unused-send mark; expect: OK
 * variant: fast-unused-later; arguments: unused-later fast; expect: D001
 * variant: smart-unused-later; arguments: unused-later lineage; expect: OK
 * variant: mark-unused-later; arguments: unused-later mark; expect: OK
 * variant: fast-detached; arguments: detached fast; expect: D001
 * variant: smart-detached; arguments: detached lineage; expect: OK
 * variant: mark-detached; arguments: detached mark; expect: OK
 * variant: fast-added; arguments: added fast; expect: D001
 * variant: smart-added; arguments: added lineage; expect: OK
 * variant: mark-added; arguments: added mark; expect: OK
 *
 * Worker 0 drives, the others serve; each worker has a weight. Every case runs twice: by remote calls within a context and
 * dist_backward, and with all calls done locally on copies of the weights and diff_backward. All gradients on all workers
 * must agree. Without arguments every case runs in every mode that can run it (large ones in one mode): FAST counts every send of the context, so
 * that a send no gradient returns for makes it wait for ever; SMART knows which sends lie on a path to the roots. */
#include "dist_errors.h"
#include "dist_training.h"
#include "dist_values.h"

#include <words.h>

/* ---- cases that FAST can not finish ---- */

static struct diff_tensor *loss_unused_send(void)
{
    call_one(1, "weigh", y); /* its result is not used */
    return diff_sum(call_one(2, "weigh", x));
}

/* What the loss needs waits for the gradient of a call behind it. */
static struct diff_tensor *loss_unused_later(void)
{
    struct diff_tensor *needed = call_one(2, "weigh", x);
    call_one(1, "weigh", needed);
    return diff_sum(needed);
}

static struct diff_tensor *loss_detached(void)
{
    struct diff_tensor *z = unchecked(); /* what is detached counts for the gradient check */
    return diff_sum(diff_mul(diff_detach(call_one(1, "first", z)), call_one(2, "weigh", x)));
}

static void case_unused_send(void) { case_of(loss_unused_send); }
static void case_unused_later(void) { case_of(loss_unused_later); }
static void case_detached(void) { case_of(loss_detached); }

static void case_added(void)
{
    uint64_t context = open_context();
    struct diff_tensor *root = loss_function();
    check(dist_backward(context, 1, &root, DIST_RETAIN), "the first pass");
    call_one(1, "weigh", y);
    check(dist_backward(context, 1, &root, DIST_RETAIN), "the pass after the call");
    dist_context_leave();
    compare(context, loss_function, 2);
    close_context(context);
}

/* ---- the program ---- */

static const struct {
    const char *name;
    void (*run)(void);
    enum { EVERY_MODE, SMART_ONLY, LARGE } kind; /* LARGE: of all cases together in one mode only */
} cases[] = {{"builtin", case_builtin, EVERY_MODE},
             {"function", case_function, EVERY_MODE},
             {"remote", case_remote, EVERY_MODE},
             {"nested", case_nested, EVERY_MODE},
             {"back", case_back, EVERY_MODE},
             {"alternate", case_alternate, EVERY_MODE},
             {"only-result", case_only_result, EVERY_MODE},
             {"plain", case_plain, EVERY_MODE},
             {"unused-output", case_unused_output, EVERY_MODE},
             {"trips", case_trips, EVERY_MODE},
             {"roots", case_roots, EVERY_MODE},
             {"shapes", case_shapes, EVERY_MODE},
             {"outputs", case_outputs, EVERY_MODE},
             {"thousand", case_thousand, LARGE},
             {"second-pass", case_second_pass, EVERY_MODE},
             {"refusals", case_refusals, EVERY_MODE},
             {"deep-error", case_deep_error, EVERY_MODE},
             {"release-in-pass", case_release_in_pass, EVERY_MODE},
             {"contexts", case_contexts, LARGE},
             {"recovery", case_recovery, LARGE},
             {"hooks", case_hooks, EVERY_MODE},
             {"server", case_server, EVERY_MODE},
             {"optimizer", case_optimizer, LARGE},
             {"unused-send", case_unused_send, SMART_ONLY},
             {"unused-later", case_unused_later, SMART_ONLY},
             {"detached", case_detached, SMART_ONLY},
             {"added", case_added, SMART_ONLY}};

static void drive(const char *wanted, const char *wanted_mode)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (mode = DIST_FAST; mode <= DIST_SMART_MARK; mode++) {
            bool named = wanted && !strcmp(wanted, cases[i].name);
            running = cases[i].name;
            if ((wanted && !named) || (wanted_mode && strcmp(wanted_mode, mode_names[mode])) ||
                (!wanted_mode && cases[i].kind == SMART_ONLY && mode == DIST_FAST) ||
                (!named && cases[i].kind == LARGE && mode != (enum dist_mode)(i % 3)))
                continue;
            cases[i].run();
        }
}

/* The case and the mode that the words name, NULL: all. A case that FAST cannot finish runs in FAST only when told to. */
static void read_words(int argc, char **argv, const char **wanted, const char **wanted_mode)
{
    char known[600] = "";
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", i ? " " : "", cases[i].name);
    words_end(argc, argv, 2);
    *wanted = word_of(argc, argv, 1, "case", NULL, known);
    *wanted_mode = word_of(argc, argv, 2, "mode", NULL, "fast lineage mark");
}

static void leaves_make(void)
{
    for (int worker = 0; worker < WORKERS; worker++) {
        double values[2] = {0.5 + 0.1 * worker, 1.25 - 0.2 * worker};
        weights[worker] = worker == here ? diff_input(rpc_tape(), "weight", DIFF_DOUBLE, 1, (size_t[]){2}, values)
                                         : rpc_variable(DIFF_DOUBLE, 1, (size_t[]){2}, values);
        diff_retain_gradient(weights[worker]);
    }
    if (here)
        return;
    x = diff_input(rpc_tape(), "x", DIFF_DOUBLE, 1, (size_t[]){2}, (double[]){0.5, -0.75});
    y = diff_input(rpc_tape(), "y", DIFF_DOUBLE, 1, (size_t[]){2}, (double[]){1.5, 0.25});
}

int main(int argc, char **argv)
{
    const char *wanted, *wanted_mode;
    MPI_Init(&argc, &argv);
    read_words(argc, argv, &wanted, &wanted_mode);
    rpc_init(MPI_COMM_WORLD);
    here = rpc_worker();
    for (size_t i = 0; i < FUNCTIONS; i++)
        rpc_register(functions[i].name, handlers[i]);
    rpc_register("split", split_handler);
    rpc_register("report", report_handler);
    rpc_register("known", known_handler);
    rpc_register("fragile", fragile_handler);
    rpc_register("deep", deep_handler);
    rpc_register("train", train_handler);
    rpc_register("parameter", parameter_handler);
    rpc_register("shared", shared_handler);
    rpc_register("shared-gradient", shared_gradient_handler);
    leaves_make();
    if (rpc_workers() != WORKERS)
        failures = here == 0 && printf("this program is for %d ranks\n", WORKERS);
    else if (here == 0)
        drive(wanted, wanted_mode);
    if (here == 0 && !failures)
        printf("%d comparisons\n", checks);
    rpc_shutdown();
    MPI_Finalize();
    return failures != 0;
}
