/* about: a small network on the tape of diff.h is trained by a parameter server; losses and weights are those of one process
 * ranks: 4,1,2,3
 * arguments: synchronous
 * expect: eager=OK rendezvous=OK batch=OK
 * variant: adam; arguments: synchronous adam; expect: OK
 * variant: central; arguments: central; ranks: 4,2,3; options: --check=-race; expect: OK
 * variant: asynchronous; arguments: asynchronous; ranks: 2; options: --check=-race; expect: OK
 * variant: forgotten; arguments: forgotten; ranks: 4,2; expect: S003 X002
 *
 * loss = 0.5 |tanh(x a) b - target|^2, over rows that each training rank has for itself. The tape gives the gradients of
 * a and b, which finite differences check in every step; the server adds them over the ranks and steps. Rank 0 does the
 * same alone on all rows (serial.c), with the same optimizer. With a central server the gradients of a step are added as
 * they come. Asynchronous with a single worker, each gradient belongs to the newest values, as alone. Forgotten: the last
 * rank changes its replica by itself, as who also has an optimizer of its own does. */
#include <diff.h>
#include <math.h>
#include <mpi.h>
#include <mpix.h>
#include <schedule.h>
#include <server.h>
#include <words.h>

enum {
    ROWS = 3,
    IN = 2,
    HIDDEN = 2,
    OUT = 1,
    A = IN * HIDDEN,
    B = HIDDEN * OUT,
    STEPS = 8,
    RANKS_MAX = 8
};

struct rows {
    double x[RANKS_MAX * ROWS * IN], target[RANKS_MAX * ROWS * OUT];
};

struct net {
    double a[A], b[B];
};

static int rank, size, first; /* the first rank that trains */

static struct net net_new(void)
{
    struct net net;
    for (int i = 0; i < A; i++)
        net.a[i] = 0.4 * sin(1 + 1.3 * i);
    for (int i = 0; i < B; i++)
        net.b[i] = 0.5 * cos(2 + 0.9 * i);
    return net;
}

static void rows_make(struct rows *rows)
{
    for (int i = 0; i < RANKS_MAX * ROWS * IN; i++)
        rows->x[i] = sin(0.3 + 1.7 * i);
    for (int row = 0; row < RANKS_MAX * ROWS; row++) /* what another such network says of them */
        rows->target[row] = 1.5 * tanh(rows->x[row * IN] - 0.5 * rows->x[row * IN + 1]) -
                            tanh(0.8 * rows->x[row * IN] + rows->x[row * IN + 1]);
}

/* ---- one process: all rows, no tape ---- */

static double serial_step(const struct rows *rows, struct net *net,
                          const struct server_optimizer *optimizer,
                          struct server_moments moments[2])
{
    struct net grad = {{0}, {0}};
    struct perceptron model = {(size - first) * ROWS,
                               IN,
                               HIDDEN,
                               OUT,
                               rows->x + first * ROWS * IN,
                               net->a,
                               net->b,
                               rows->target + first * ROWS * OUT,
                               NULL,
                               grad.a,
                               grad.b};
    double loss = perceptron_serial(&model);
    server_optimizer_apply(optimizer, &moments[0], net->a, grad.a, A);
    server_optimizer_apply(optimizer, &moments[1], net->b, grad.b, B);
    return loss;
}

/* ---- this rank's rows, by the tape ---- */

/* The loss; the gradients are the tape's until it is cleared. */
static double tape_step(struct diff_tape *tape, const struct rows *rows, const struct net *net,
                        const double *grads[2])
{
    struct diff_tensor *x =
        diff_constant(tape, DIFF_DOUBLE, 2, (size_t[]){ROWS, IN}, rows->x + rank * ROWS * IN);
    struct diff_tensor *target = diff_constant(tape, DIFF_DOUBLE, 2, (size_t[]){ROWS, OUT},
                                               rows->target + rank * ROWS * OUT);
    struct diff_tensor *a = diff_input(tape, "a", DIFF_DOUBLE, 2, (size_t[]){IN, HIDDEN}, net->a);
    struct diff_tensor *b = diff_input(tape, "b", DIFF_DOUBLE, 2, (size_t[]){HIDDEN, OUT}, net->b);
    struct diff_tensor *difference = diff_sub(diff_matmul(diff_tanh(diff_matmul(x, a)), b), target);
    struct diff_tensor *loss = diff_scale(diff_dot(difference, difference), 0.5);
    diff_backward(loss);
    grads[0] = diff_gradient(a);
    grads[1] = diff_gradient(b);
    return diff_scalar(loss);
}

static double sum_over(double value)
{
    double sum;
    MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

static int is_near(double value, double expected)
{
    return fabs(value - expected) <= 1e-10 * (1 + fabs(expected));
}

/* Each rank's losses, step by step; the parameters end as the server left them. */
static void train(struct server *server, const char *form, const struct rows *rows, struct net *net,
                  double *losses)
{
    struct diff_tape *tape = diff_tape_new(MPI_COMM_SELF);
    const double *grads[2];
    bool central = !strcmp(form, "central"), asynchronous = !strcmp(form, "asynchronous");
    if (rank < first) {
        if (central)
            server_serve_central(server);
        else
            server_serve(server);
    }
    for (int step = 0; rank >= first && step < STEPS; step++) {
        if (asynchronous)
            server_pull(server);
        losses[step] = tape_step(tape, rows, net, grads);
        if (central) {
            server_round(server, grads);
        } else if (asynchronous) {
            server_push(server, grads);
        } else {
            server_ready(server, 0, grads[0]);
            server_ready(server, 1, grads[1]);
            server_step(server);
        }
        diff_tape_clear(tape);
        if (!strcmp(form, "forgotten") && rank == size - 1)
            net->b[0] *= 1.01;
    }
    if (central && rank >= first)
        while (server_round(server, NULL))
            ;
    if (asynchronous && rank >= first)
        server_done(server);
    diff_tape_free(tape);
}

static int compare(const struct rows *rows, const struct server_optimizer *optimizer,
                   const struct net *trained, const double *losses)
{
    struct net net = net_new();
    struct server_moments moments[2] = {{0}};
    int wrong = 0;
    double last = 0, begin = 0;
    for (int step = 0; step < STEPS; step++) {
        double loss = sum_over(losses[step]);
        last = serial_step(rows, &net, optimizer, moments);
        begin = step ? begin : last;
        wrong += !is_near(loss, last);
        if (rank == 0)
            SIM_Metric("loss", step, loss);
    }
    for (int i = 0; i < A; i++)
        wrong += !is_near(trained->a[i], net.a[i]);
    for (int i = 0; i < B; i++)
        wrong += !is_near(trained->b[i], net.b[i]);
    for (int i = 0; i < 2; i++)
        server_moments_release(&moments[i]);
    if (wrong && rank == 0)
        fprintf(stderr, "server-tape: %d values are not those of one process\n", wrong);
    return wrong || !(last < 0.75 * begin);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const char *form =
        word_of(argc, argv, 1, "form", "synchronous", "synchronous central asynchronous forgotten");
    bool adam = switch_of(argc, argv, 2, "optimizer", "sgd", "adam");
    words_end(argc, argv, 2);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    ranks_at_most(size, RANKS_MAX);
    first = !strcmp(form, "central") || !strcmp(form, "asynchronous");
    struct rows rows;
    struct server_options options;
    double losses[STEPS] = {0};
    struct net net = net_new();
    rows_make(&rows);
    server_options_init(&options);
    options.optimizer = adam ? server_adam(0.1) : server_sgd(0.1);
    options.optimizer.momentum = adam ? 0 : 0.5;
    struct server *server = server_new(MPI_COMM_WORLD, &options);
    server_parameter(server, "a", net.a, A);
    server_parameter(server, "b", net.b, B);
    server_broadcast(server);
    train(server, form, &rows, &net, losses);
    int wrong = compare(&rows, &options.optimizer, &net, losses);
    server_free(server);
    MPI_Finalize();
    return wrong;
}
