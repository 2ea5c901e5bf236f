/* Conformance suite: derivatives of the gradient. */
#include "tests/collectives/diff_conformance_internal.h"

#include "collectives/tape/tensor.h"

#include <math.h>

/* A mixed second difference of the objective. */
static double curvature_at(struct conf_world *world, double *place, double h)
{
    double before = *place, sum = 0;
    for (int s = -1; s <= 1; s += 2)
        for (int t = -1; t <= 1; t += 2) {
            for (int r = 0; r < world->size; r++)
                for (size_t i = 0; i < world->send[r].full * world->parts; i++)
                    world->x[r][i] += t * h * world->v[r][i];
            *place += s * h;
            sum += s * t * conf_objective(world, world->x, world->into);
            *place -= s * h;
            for (int r = 0; r < world->size; r++)
                for (size_t i = 0; i < world->send[r].full * world->parts; i++)
                    world->x[r][i] -= t * h * world->v[r][i];
        }
    *place = before;
    return sum / (4 * h * h);
}

/* d/dx_i of <J(x)^T w, v>, extrapolated: products of many factors have large fourth derivatives. */
static double curvature(struct conf_world *world, double *place)
{
    double coarse = curvature_at(world, place, 0x1p-7), fine = curvature_at(world, place, 0x1p-8);
    return (4 * fine - coarse) / 3;
}

void conf_check_second(struct conf_checker *checker, struct conf_world *world,
                       const struct conf_shared *shared, MPI_Comm comm, struct diff_tape *tape)
{
    struct conf_run run;
    int rank = world->rank;
    double epsilon = conf_epsilon(world->at), slack = conf_growth(world);
    conf_run_make(world, shared, comm, tape, &run);
    struct diff_tensor *w =
        conf_tensor(tape, world->at->type, world->w[rank], world->receive[rank].full, "w");
    diff_backward_from(tape, 1, &run.y, &w, DIFF_GRAPH);
    struct diff_tensor *gradient = diff_gradient_tensor(run.x), *v = conf_own_v(world, &run);
    if (!gradient)
        gradient = diff_scale(run.x, 0);
    struct diff_tensor *product = diff_dot(gradient, v);
    /* Forward over reverse: the tangent of the gradient. */
    diff_no_grad_begin(tape);
    diff_jvp(tape, 1, &run.x, &v);
    diff_no_grad_end(tape);
    struct diff_tensor *hv = diff_tangent(gradient), *y_dot = diff_tangent(run.y);
    diff_gradient_clear(run.x);
    diff_backward(product);
    for (size_t i = 0; i < run.y_parts; i++) {
        double expected = tensor_part(y_dot, i);
        conf_check(checker, "second-w", conf_gradient_part(w, i), expected,
                   epsilon * slack * fmax(1, fabs(expected)));
    }
    for (size_t i = 0; i < run.y_parts; i++)
        conf_keep(checker, world, CONF_SECOND_W, i, conf_gradient_part(w, i));
    for (size_t i = 0; i < diff_count(run.x) * world->parts; i++)
        conf_keep(checker, world, CONF_SECOND_X, i, conf_gradient_part(run.x, i));
    bool curved = world->at->op == CONF_PROD || world->at->op == CONF_USER;
    for (size_t i = 0; i < run.x_parts; i++) {
        size_t at = conf_part_at(world, &run, i);
        double over = tensor_part(hv, at);
        conf_check(checker, "second-same", conf_gradient_part(run.x, at), over,
                   epsilon * slack * slack * fmax(1, fabs(over)));
        if (!curved || !conf_kinds[world->at->kind].reduces) {
            conf_check(checker, "second-x", over, 0, 0);
            continue;
        }
        if (!conf_looked_at(world, i, run.x_parts))
            continue;
        double expected = curvature(world, &world->x[rank][i]);
        double tolerance =
            (epsilon * slack + 1e-3) * fmax(1, fabs(expected)) * pow(1.2, world->size);
        conf_check(checker, "second-x", over, expected, tolerance);
    }
    conf_run_free(&run);
}
