/* about: replicas that train on their own rows and sum their gradients in buckets, overlapping the backward pass
 * ranks: 1,2,4
 * arguments: ready
 * expect: eager=OK rendezvous=OK batch=OK
 * variant: rebuild; arguments: rebuild; ranks: 2,4; expect: eager=OK rendezvous=OK batch=OK
 * variant: unused; arguments: unused; ranks: 2,4; expect: eager=OK rendezvous=OK batch=OK
 * variant: unused-forgotten; arguments: unused-forgotten; ranks: 2,4; expect: eager=D001 rendezvous=D001 batch=D001
 * variant: own-order; arguments: own-order; ranks: 2,4; expect: R002 G001
 * variant: no-wait; arguments: no-wait; ranks: 2,4; expect: G001 X006
 *
 * The weights start on rank 0 and are broadcast; the gradient there is that of all copies. Backward gives the buckets
 * one by one; each is summed by a nonblocking allreduce while the rest is computed. On odd ranks the gradient of a is
 * ready before that of b: each rank reduces in the order in which its own were ready, and a meets b, of equal size.
 * Rebuilding means to take rank 0's order. The head c is used by rank 0 alone: the others must come with zeros all the
 * same. */
#include <diff.h>
#include <math.h>
#include <mpi.h>
#include <mpix.h>
#include <schedule.h>
#include <stdio.h>
#include <words.h>

enum {
    ROWS = 2,
    WIDTH = 3,
    WEIGHTS = WIDTH * WIDTH,
    A = 0,
    B = 1,
    C = 2,
    BUCKETS = 3,
    ROWS_MAX = 64
};

static const char *form;
static int rank, size;
static double weights[BUCKETS][WEIGHTS], grad[BUCKETS][WEIGHTS], sum[BUCKETS][WEIGHTS];

static int is_form(const char *name)
{
    return !strcmp(form, name);
}

static void fill(double *values, int count, double seed)
{
    for (int i = 0; i < count; i++)
        values[i] = 0.6 * sin(seed + 1.9 * i);
}

/* The head: 0.5 |c|^2 in rank 0's loss. */
static double head(double *c_grad)
{
    double loss = 0;
    for (int i = 0; i < WEIGHTS; i++) {
        loss += 0.5 * weights[C][i] * weights[C][i];
        c_grad[i] += weights[C][i];
    }
    return loss;
}

static void reduce(int bucket, MPI_Request *request)
{
    static const char *const names[BUCKETS] = {"a", "b", "c"};
    SIM_Tensor_name(names[bucket]);
    MPI_Iallreduce(grad[bucket], sum[bucket], WEIGHTS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD,
                   request);
    SIM_Tensor_name(NULL);
}

/* The order in which the buckets are reduced. */
static int decide(int *order)
{
    int turned = rank % 2; /* what was ready first here */
    order[0] = turned ? A : B;
    order[1] = turned ? B : A;
    order[2] = C;
    if (is_form("rebuild"))
        MPI_Bcast(order, BUCKETS, MPI_INT, 0, MPI_COMM_WORLD);
    else if (!is_form("own-order")) {
        order[0] = B;
        order[1] = A;
    }
    if (is_form("unused") || is_form("unused-forgotten"))
        return is_form("unused") || rank == 0 ? BUCKETS : BUCKETS - 1;
    return BUCKETS - 1;
}

static double train(const double *x, const double *target, double *x_grad)
{
    int order[BUCKETS], count = decide(order);
    MPI_Request requests[BUCKETS];
    struct perceptron model = {ROWS,       WIDTH,  WIDTH,  WIDTH,   x,      weights[A],
                               weights[B], target, x_grad, grad[A], grad[B]};
    double loss = perceptron_serial(&model);
    if (rank == 0 && (is_form("unused") || is_form("unused-forgotten")))
        loss += head(grad[C]);
    for (int i = 0; i < count; i++)
        reduce(order[i], &requests[i]);
    if (!is_form("no-wait"))
        MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    return loss;
}

/* All rows on one rank. */
static int differs(const double *x, const double *target)
{
    double all_x[ROWS_MAX * WIDTH], all_target[ROWS_MAX * WIDTH], serial[BUCKETS][WEIGHTS] = {{0}};
    double x_grad[ROWS_MAX * WIDTH] = {0};
    MPI_Gather(x, ROWS * WIDTH, MPI_DOUBLE, all_x, ROWS * WIDTH, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Gather(target, ROWS * WIDTH, MPI_DOUBLE, all_target, ROWS * WIDTH, MPI_DOUBLE, 0,
               MPI_COMM_WORLD);
    if (rank)
        return 0;
    struct perceptron model = {size * ROWS, WIDTH,      WIDTH,  WIDTH,     all_x,    weights[A],
                               weights[B],  all_target, x_grad, serial[A], serial[B]};
    perceptron_serial(&model);
    if (is_form("unused"))
        head(serial[C]);
    double worst = serial_distance(sum[0], serial[0], BUCKETS * WEIGHTS);
    if (!(worst <= 1e-11))
        fprintf(stderr, "data-parallel: %.2g away from the serial computation\n", worst);
    return !(worst <= 1e-11);
}

int main(int argc, char **argv)
{
    static const char *const names[BUCKETS] = {"a", "b", "c"};
    MPI_Init(&argc, &argv);
    form = word_alone(argc, argv, "form", "ready",
                      "ready rebuild unused unused-forgotten own-order no-wait");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    ranks_at_most(size, ROWS_MAX / ROWS);
    double x[ROWS * WIDTH], target[ROWS * WIDTH], x_grad[ROWS * WIDTH] = {0};
    fill(x, ROWS * WIDTH, 0.5 + rank);
    fill(target, ROWS * WIDTH, 3.0 - rank);
    int with_head = is_form("unused") || is_form("unused-forgotten");
    for (int k = 0; k < BUCKETS; k++) {
        fill(weights[k], WEIGHTS, 1.0 + 2 * k);
        if (rank == 0 && (k < C || with_head))
            diff_mark_input(names[k], weights[k], WEIGHTS);
    }
    MPI_Bcast(weights, BUCKETS * WEIGHTS, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    diff_mark_input("x", x, ROWS * WIDTH);
    diff_mark_objective(train(x, target, x_grad));
    for (int k = 0; k < BUCKETS && rank == 0; k++)
        if (k < C || with_head)
            diff_mark_gradient(names[k], sum[k], WEIGHTS);
    diff_mark_gradient("x", x_grad, ROWS * WIDTH);
    int good = is_form("ready") || is_form("rebuild") || is_form("unused");
    int wrong = good && differs(x, target);
    MPI_Finalize();
    return wrong;
}
