/* Conformance suite: what a case's results and gradients are compared with. */
#include "tests/collectives/diff_conformance_internal.h"

#include "collectives/tape/tensor.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void conf_check(struct conf_checker *checker, const char *what, double got, double expected,
                double tolerance)
{
    struct conf_result *result = checker->result;
    uint64_t bits;
    memcpy(&bits, &got, sizeof bits);
    result->hash = (result->hash ^ bits) * 0x100000001b3u;
    result->checks++;
    if (fabs(got - expected) <= tolerance)
        return;
    if (result->failed++ > 0)
        return;
    result->first =
        (struct conf_failure){*checker->at, "", checker->rank, got, expected, tolerance};
    snprintf(result->first.what, sizeof result->first.what, "%s", what);
}

double conf_epsilon(const struct conf_case *at)
{
    return diff_type_is_single(at->type) ? FLT_EPSILON : DBL_EPSILON;
}

/* Growth of rounding with the number of ranks: sums of P terms, products of up to 1.5^P. */
double conf_growth(const struct conf_world *world)
{
    bool grows = world->at->op == CONF_PROD || world->at->op == CONF_USER;
    return 16 * (world->size + 4) * (grows ? pow(2.5, world->size) : 4);
}

/* Rank 0 of an Exscan has no result, and in place its own value. */
static bool has_extremum(const struct conf_world *world)
{
    return world->at->kind != DIFF_EXSCAN || world->rank > 0 || world->at->in_place;
}

/* The lowest rank that contributes this extremum. */
static int holder(const struct conf_world *world, double extremum)
{
    for (int r = 0; r < world->size; r++)
        for (size_t i = 0; i < world->send[r].full; i++)
            if (world->x[r][i] == extremum)
                return r;
    return -1;
}

void conf_check_forward(struct conf_checker *checker, struct conf_world *world,
                        const struct conf_run *run)
{
    int rank = world->rank;
    double *y = conf_memory(run->y_parts, sizeof *y);
    conf_reference_run(world, world->x, world->at->type, false);
    conf_result_of(world, rank, world->into, y);
    bool compares =
        run->into || world->at->in_place || world->receive[rank].full == world->receive[rank].dense;
    double slack =
        checker->options->exact_forward ? 0 : conf_epsilon(world->at) * conf_growth(world);
    conf_check(checker, "count", (double)diff_count(run->y) * (double)world->parts,
               (double)run->y_parts, 0);
    for (size_t i = 0; compares && i < run->y_parts; i++)
        conf_check(checker, "forward", tensor_part(run->y, i), y[i], slack * fmax(1, fabs(y[i])));
    for (size_t i = 0; i < run->y_parts; i++)
        conf_keep(checker, world, CONF_RESULT, i, tensor_part(run->y, i));
    bool located = world->at->op == CONF_MINLOC || world->at->op == CONF_MAXLOC;
    const struct conf_side *receive = &world->receive[rank];
    for (size_t i = 0; located && i < receive->dense; i++) {
        conf_keep(checker, world, CONF_INDEX, i, run->indices[i]);
        if (has_extremum(world))
            conf_check(checker, "index", run->indices[i], holder(world, y[receive->index[i]]), 0);
    }
    free(y);
}

/* Of whose results extrema decide: the step must be smaller than any distance between two values.
 */
static bool is_ordered(enum conf_op op)
{
    return op >= CONF_MAX && op <= CONF_MAXLOC;
}

/* Finite differences cost a reference run each: of many elements some are looked at, which ones
 * depends on the rank; the dot products see all of them. */
bool conf_looked_at(const struct conf_world *world, size_t i, size_t parts)
{
    enum { MOST = 4 };
    return parts <= MOST || i % (parts / MOST) == (size_t)world->rank % (parts / MOST);
}

static double slope(struct conf_world *world, double *place, double *const *x, double *const *into)
{
    /* Multilinear in every operation here, or piecewise linear: central differences are exact. */
    double before = *place, h = is_ordered(world->at->op) ? 0x1p-24 : 0x1p-8;
    *place = before + h;
    double above = conf_objective(world, x, into);
    *place = before - h;
    double below = conf_objective(world, x, into);
    *place = before;
    return (above - below) / (2 * h);
}

/* IN_PLACE: the gradient of what the buffer held outside of the own block. */
static void check_buffer(struct conf_checker *checker, struct conf_world *world,
                         const struct conf_run *run)
{
    size_t own = run->x_parts / world->parts;
    for (size_t i = 0; run->buffered && i < run->y_parts; i++) {
        size_t k = 0;
        while (k < own && run->place[k] != i / world->parts)
            k++;
        if (k < own)
            continue;
        double expected = slope(world, &world->into[world->rank][i], world->x, world->into);
        conf_check(checker, "fd-buffer", conf_gradient_part(run->x, i), expected,
                   1e-12 * conf_growth(world));
    }
}

void conf_check_gradient(struct conf_checker *checker, struct conf_world *world,
                         const struct conf_run *run)
{
    int rank = world->rank;
    double noise = is_ordered(world->at->op) ? 1e-9 : 1e-12;
    double tolerance = (conf_epsilon(world->at) + noise) * conf_growth(world);
    for (size_t i = 0; i < diff_count(run->x) * world->parts; i++)
        conf_keep(checker, world, CONF_GRADIENT, i, conf_gradient_part(run->x, i));
    for (size_t i = 0; run->into && i < run->y_parts; i++)
        conf_keep(checker, world, CONF_GRADIENT_INTO, i, conf_gradient_part(run->into, i));
    for (size_t i = 0; i < run->x_parts; i++) {
        if (!conf_looked_at(world, i, run->x_parts))
            continue;
        double expected = slope(world, &world->x[rank][i], world->x, world->into);
        conf_check(checker, "fd", conf_gradient_part(run->x, conf_part_at(world, run, i)), expected,
                   tolerance * fmax(1, fabs(expected)));
    }
    for (size_t i = 0; run->into && i < run->y_parts; i++) {
        if (!conf_looked_at(world, i, run->y_parts))
            continue;
        double expected = slope(world, &world->into[rank][i], world->x, world->into);
        conf_check(checker, "fd-into", conf_gradient_part(run->into, i), expected, tolerance);
    }
    check_buffer(checker, world, run);
}

/* ---- the dense Jacobian: every result's part by every own input's part ---- */

enum { DENSE_RANKS = 4, DENSE_PARTS = 64 };

/* All results, one after the other. */
static void results_of(struct conf_world *world, double *y)
{
    enum diff_type wide = world->parts == 2 ? DIFF_COMPLEX_DOUBLE : DIFF_DOUBLE;
    conf_reference_run(world, world->x, wide, true);
    for (int r = 0; r < world->size; r++) {
        conf_result_of(world, r, world->into, y);
        y += world->receive[r].full * world->parts;
    }
}

/* Columns of the Jacobian that belong to this rank's inputs, by central differences. */
static double *dense_columns(struct conf_world *world, size_t columns, size_t rows)
{
    double *dense = conf_memory(columns * rows, sizeof *dense),
           *above = conf_memory(2 * rows, sizeof *above), *below = above + rows,
           h = is_ordered(world->at->op) ? 0x1p-24 : 0x1p-8;
    for (size_t i = 0; i < columns; i++) {
        double *place = &world->x[world->rank][i], before = *place;
        *place = before + h;
        results_of(world, above);
        *place = before - h;
        results_of(world, below);
        *place = before;
        for (size_t j = 0; j < rows; j++)
            dense[i * rows + j] = (above[j] - below[j]) / (2 * h);
    }
    free(above);
    return dense;
}

/* One backward pass for each result's part: rank `owner` alone starts from one. */
static void dense_row(struct conf_checker *checker, const struct conf_world *world,
                      struct conf_run *run, int owner, size_t part, const double *dense, size_t row,
                      size_t rows)
{
    size_t parts = world->receive[world->rank].full * world->parts;
    double *unit = conf_memory(parts, sizeof *unit),
           noise = is_ordered(world->at->op) ? 1e-9 : 1e-12;
    if (owner == world->rank)
        unit[part] = 1;
    struct diff_tensor *y_bar =
        conf_tensor(run->tape, world->at->type, unit, world->receive[world->rank].full, NULL);
    diff_gradient_clear(run->x);
    diff_backward_from(run->tape, 1, &run->y, &y_bar, DIFF_RETAIN);
    for (size_t i = 0; i < run->x_parts; i++) {
        double expected = dense[i * rows + row];
        conf_check(
            checker, "dense", conf_gradient_part(run->x, conf_part_at(world, run, i)), expected,
            (conf_epsilon(world->at) + noise) * conf_growth(world) * fmax(1, fabs(expected)));
    }
    free(unit);
}

void conf_check_dense(struct conf_checker *checker, struct conf_world *world, struct conf_run *run)
{
    size_t rows = 0, row = 0;
    for (int r = 0; r < world->size; r++)
        rows += world->receive[r].full * world->parts;
    if (world->size > DENSE_RANKS || rows > DENSE_PARTS)
        return;
    double *dense = dense_columns(world, run->x_parts, rows);
    for (int owner = 0; owner < world->size; owner++)
        for (size_t part = 0; part < world->receive[owner].full * world->parts; part++)
            dense_row(checker, world, run, owner, part, dense, row++, rows);
    free(dense);
}

void conf_check_dot(struct conf_checker *checker, struct conf_world *world, struct conf_run *run,
                    MPI_Comm comm)
{
    struct diff_tensor *v = conf_own_v(world, run);
    int rank = world->rank;
    double sums[4] = {0}, all[4];
    diff_no_grad_begin(run->tape);
    diff_jvp(run->tape, 1, &run->x, &v);
    diff_no_grad_end(run->tape);
    const struct diff_tensor *y_dot = diff_tangent(run->y);
    for (size_t i = 0; i < run->y_parts; i++) {
        double term = world->w[rank][i] * tensor_part(y_dot, i);
        conf_keep(checker, world, CONF_TANGENT, i, tensor_part(y_dot, i));
        sums[0] += term;
        sums[2] += fabs(term);
    }
    for (size_t i = 0; i < diff_count(run->x) * world->parts; i++) {
        double term = tensor_part(v, i) * conf_gradient_part(run->x, i);
        sums[1] += term;
        sums[3] += fabs(term);
    }
    MPI_Allreduce(sums, all, 4, MPI_DOUBLE, MPI_SUM,
                  world->at->comm == CONF_INTER ? MPI_COMM_WORLD : comm);
    conf_check(checker, "dot", all[0], all[1],
               conf_epsilon(world->at) * conf_growth(world) * (1 + all[2] + all[3]));
}
