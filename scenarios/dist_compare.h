/* Of dist-autograd and dist-derivatives: gradients of all workers against those of one process. */
#ifndef SCENARIOS_DIST_COMPARE_H
#define SCENARIOS_DIST_COMPARE_H

#include "dist_calls.h"

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-12 * (1 + fabs(b));
}

static void compare_values(const double *got, struct diff_tensor *leaf, double passes, const char *what)
{
    const double *expected = diff_gradient(leaf);
    char text[160];
    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof text, "gradient of %s[%d] is %.17g, alone it is %.17g", what, i, got ? got[i] : 0,
                 passes * expected[i]);
        check(near(got ? got[i] : 0, passes * expected[i]), text);
    }
}

/* The loss once more in one process, and every gradient compared. */
static void compare(uint64_t context, struct diff_tensor *(*loss)(void), double passes)
{
    struct diff_tensor *leaves[] = {x, y, weights[0], weights[1], weights[2], weights[3]};
    for (int i = 0; i < 6; i++)
        diff_gradient_clear(leaves[i]);
    serial = true;
    struct diff_tensor *root = loss();
    double one = 1;
    struct diff_tensor *seed = diff_constant(rpc_tape(), DIFF_DOUBLE, 1, (size_t[]){1}, &one);
    diff_backward_from(rpc_tape(), 1, &root, &seed, 0);
    serial = false;
    struct diff_tensor *gradient = dist_gradient(context, x);
    compare_values(gradient ? diff_values(gradient) : NULL, x, passes, "x");
    gradient = dist_gradient(context, y);
    compare_values(gradient ? diff_values(gradient) : NULL, y, passes, "y");
    gradient = dist_gradient(context, weights[0]);
    compare_values(gradient ? diff_values(gradient) : NULL, weights[0], passes, "weight 0");
    for (int worker = 1; worker < WORKERS; worker++) {
        char what[16];
        snprintf(what, sizeof what, "weight %d", worker);
        compare_values(ask(worker, "report", context) + 1, weights[worker], passes, what);
    }
}

static uint64_t open_context(void)
{
    return dist_context_new(mode);
}

static void close_context(uint64_t context)
{
    dist_context_leave();
    check(dist_context_release(context), "release");
    for (int worker = 1; worker < WORKERS; worker++)
        check(ask(worker, "known", context)[0] == 0, "a released context is still known");
}

/* A case whose loss is a function. */
static void case_of(struct diff_tensor *(*loss)(void))
{
    uint64_t context = open_context();
    struct diff_tensor *root = loss();
    bool good = dist_backward(context, 1, &root, 0);
    check(good, good ? "" : dist_error());
    dist_context_leave();
    compare(context, loss, 1);
    close_context(context);
}

/* ---- programs that are run by name ---- */

struct dist_program {
    const char *name;
    void (*run)(void);
    enum { ALWAYS, SMART_ONLY, LARGE, NAMED } kind; /* LARGE: of all together in one mode only; NAMED: only when told to */
};

/* The program and the mode that the words name, NULL: all. */
static void read_words(int argc, char **argv, const char *what, const struct dist_program *programs, size_t count,
                       const char **wanted, const char **wanted_mode)
{
    char known[600] = "";
    for (size_t i = 0; i < count; i++)
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", i ? " " : "", programs[i].name);
    words_end(argc, argv, 2);
    *wanted = word_of(argc, argv, 1, what, NULL, known);
    *wanted_mode = word_of(argc, argv, 2, "mode", NULL, "fast lineage mark");
}

static void workers_begin(void)
{
    rpc_init(MPI_COMM_WORLD);
    here = rpc_worker();
    for (size_t i = 0; i < FUNCTIONS; i++)
        rpc_register(functions[i].name, handlers[i]);
}

/* Every worker has a weight, worker 0 two inputs besides. */
static void leaves_make(bool retain)
{
    for (int worker = 0; worker < WORKERS; worker++) {
        double values[2] = {0.5 + 0.1 * worker, 1.25 - 0.2 * worker};
        weights[worker] = worker == here ? diff_input(rpc_tape(), "weight", DIFF_DOUBLE, 1, (size_t[]){2}, values)
                                         : rpc_variable(DIFF_DOUBLE, 1, (size_t[]){2}, values);
        if (retain)
            diff_retain_gradient(weights[worker]);
    }
    if (here)
        return;
    x = diff_input(rpc_tape(), "x", DIFF_DOUBLE, 1, (size_t[]){2}, (double[]){0.5, -0.75});
    y = diff_input(rpc_tape(), "y", DIFF_DOUBLE, 1, (size_t[]){2}, (double[]){1.5, 0.25});
}

#endif
