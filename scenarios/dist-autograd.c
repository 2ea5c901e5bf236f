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

static const struct dist_program cases[] = {{"builtin", case_builtin, ALWAYS},
             {"function", case_function, ALWAYS},
             {"remote", case_remote, ALWAYS},
             {"nested", case_nested, ALWAYS},
             {"back", case_back, ALWAYS},
             {"alternate", case_alternate, ALWAYS},
             {"only-result", case_only_result, ALWAYS},
             {"plain", case_plain, ALWAYS},
             {"unused-output", case_unused_output, ALWAYS},
             {"trips", case_trips, ALWAYS},
             {"roots", case_roots, ALWAYS},
             {"shapes", case_shapes, ALWAYS},
             {"outputs", case_outputs, ALWAYS},
             {"thousand", case_thousand, LARGE},
             {"second-pass", case_second_pass, ALWAYS},
             {"refusals", case_refusals, ALWAYS},
             {"deep-error", case_deep_error, ALWAYS},
             {"release-in-pass", case_release_in_pass, ALWAYS},
             {"contexts", case_contexts, LARGE},
             {"recovery", case_recovery, LARGE},
             {"hooks", case_hooks, ALWAYS},
             {"server", case_server, ALWAYS},
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

int main(int argc, char **argv)
{
    const char *wanted, *wanted_mode;
    MPI_Init(&argc, &argv);
    read_words(argc, argv, "case", cases, sizeof cases / sizeof *cases, &wanted, &wanted_mode);
    workers_begin();
    rpc_register("split", split_handler);
    rpc_register("report", report_handler);
    rpc_register("known", known_handler);
    rpc_register("fragile", fragile_handler);
    rpc_register("deep", deep_handler);
    rpc_register("train", train_handler);
    rpc_register("parameter", parameter_handler);
    rpc_register("shared", shared_handler);
    rpc_register("shared-gradient", shared_gradient_handler);
    leaves_make(true);
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
