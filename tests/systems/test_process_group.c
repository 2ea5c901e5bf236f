/* Process groups: every operation on groups of all sorts, with gradients that are those of finite
 * differences: under the machine, by MPI's operations and by those of other channels, and over TCP.
 */
#include "tests/diff_world.h"
#include "tests/systems/process_group_body.h"
#include "tests/systems/tcp_world.h"

#include <math.h>

static bool plain;

static void body(void)
{
    const char *trouble;
    struct data_channel *channel = data_channel_mpi(MPI_COMM_WORLD);
    process_group_body(channel, plain, NULL, NULL, &trouble);
    if (trouble)
        MPIX_Fail("M009", trouble);
    data_channel_free(channel);
}

static void in_the_machine(const char *name)
{
    char text[400] = "right";
    diff_world_right(body, WORLD_SIZES(1, 2, 3, 5), text, sizeof text);
    tap_is_str(text, "right", "%s", name);
}

/* ---- twice ---- */

/* The gradient of a weighted sum of the gradient: the Hessian of J times the weights. */
static void twice(bool by_channel, double *result)
{
    struct data_channel *channel = data_channel_mpi(MPI_COMM_WORLD);
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct process_group *g =
        by_channel ? process_group_plain(tape, channel) : process_group_world(tape, channel);
    int size = process_group_size(g), rank = process_group_rank(g);
    double values[BODY_VALUES], weights[BODY_VALUES];
    for (int i = 0; i < BODY_VALUES; i++) {
        values[i] = body_value(rank, i) / 4;
        weights[i] = 1.0 / (1 + i + rank);
    }
    struct body b = {.tape = tape, .world = g, .rank = rank, .size = size};
    struct diff_tensor *w = diff_constant(tape, DIFF_DOUBLE, 1, (size_t[]){BODY_VALUES}, weights);
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){BODY_VALUES}, values);
    b.x = diff_tanh(x);
    struct diff_tensor *handle = process_group_irecv(g, body_part(&b, 2, 4), (rank + 1) % size, 0);
    struct diff_tensor *sent =
        process_group_isend(g, body_part(&b, 1, 3), (rank + size - 1) % size, 0);
    struct diff_tensor *got = process_group_wait(g, handle);
    process_group_wait(g, sent);
    body_count(&b, diff_mul(got, got));
    body_count(&b, process_group_all_reduce(g, body_part(&b, 0, 4), PROCESS_PRODUCT));
    body_count(
        &b, process_group_reduce_scatter(g, body_part(&b, 0, (size_t)size), NULL, PROCESS_PRODUCT));
    got = process_group_all_gather(g, body_part(&b, 3, 2));
    body_count(&b, diff_mul(got, got));
    got = process_group_broadcast(g, body_part(&b, 5, 3), size - 1);
    body_count(&b, diff_mul(got, got));
    diff_backward_from(tape, 1, &b.loss, NULL, DIFF_GRAPH);
    struct diff_tensor *gradient = diff_gradient_tensor(x);
    diff_gradient_clear(x);
    diff_backward(diff_dot(gradient, w));
    memcpy(result, diff_gradient(x), BODY_VALUES * sizeof *result);
    process_group_free(g);
    data_channel_free(channel);
    diff_tape_free(tape);
}

static void twice_body(int rank, int size)
{
    double by_mpi[BODY_VALUES], by_channel[BODY_VALUES], magnitude = 0;
    (void)rank, (void)size;
    twice(false, by_mpi);
    twice(true, by_channel);
    for (int i = 0; i < BODY_VALUES; i++) {
        expect(fabs(by_mpi[i] - by_channel[i]) <= 1e-12, "value %d: %.15g and %.15g", i, by_mpi[i],
               by_channel[i]);
        magnitude += fabs(by_mpi[i]);
    }
    expect(magnitude > 0.1, "nothing came");
}

/* ---- over TCP: every process is a world of one rank, which knows the others by the channel ----
 */

struct over_tcp {
    struct data_channel *channel;
    struct tcp_report *report;
};

static double total_loss(struct data_channel *channel, const double *shift, double *gradient,
                         const char **trouble)
{
    double loss = process_group_body(channel, false, shift, gradient, trouble), all = NAN;
    struct data_group *world = data_channel_world(channel);
    if (!data_group_all_reduce(world, &loss, &all, 1, DATA_DOUBLE, DATA_SUM))
        *trouble = "the losses could not be added";
    return all;
}

static int tcp_rank_enter(void *context, int unused)
{
    const double step = 1e-5;
    struct over_tcp *over = context;
    struct data_group *world = data_channel_world(over->channel);
    double gradient[BODY_VALUES];
    const char *trouble = NULL;
    (void)unused;
    MPI_Init(NULL, NULL);
    total_loss(over->channel, NULL, gradient, &trouble);
    for (int rank = 0; rank < data_group_size(world) && !trouble; rank++)
        for (int i = 0; i < BODY_VALUES && !trouble; i += data_group_size(world) > 3 ? 4 : 1) {
            double shift[BODY_VALUES] = {0};
            bool mine = rank == data_group_rank(world);
            shift[i] = mine ? step : 0;
            double above = total_loss(over->channel, shift, NULL, &trouble);
            shift[i] = mine ? -step : 0;
            double below = total_loss(over->channel, shift, NULL, &trouble);
            double expected = (above - below) / (2 * step);
            double error = fabs(gradient[i] - expected);
            over->report->looked_at += mine;
            if (mine && !(error <= 1e-7 * (1 + fabs(expected))) && !over->report->text[0])
                snprintf(over->report->text, sizeof over->report->text,
                         "gradient %d is %.12g, not %.12g", i, gradient[i], expected);
        }
    if (trouble)
        snprintf(over->report->text, sizeof over->report->text, "%s", trouble);
    MPI_Finalize();
    return 0;
}

static void tcp_rank_body(struct data_channel *channel, struct tcp_report *report, void *context)
{
    struct over_tcp over = {channel, report};
    struct sim_world_options options = world_options(1);
    struct failure failure = {0};
    (void)context;
    struct sim_world *world = sim_world_new(&options, &failure);
    if (!world || sim_world_run(world, tcp_rank_enter, &over) != OUTCOME_FINISHED)
        snprintf(report->text, sizeof report->text, "the rank did not come to its end: %.200s",
                 failure.text);
    sim_world_free(world);
}

static void between_processes(void)
{
    static const int sizes[] = {1, 2, 3, 5};
    char text[400] = "right";
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (!tcp_world(sizes[i], TCP_NET_MILLISECONDS, tcp_rank_body, NULL, text, sizeof text))
            break;
    tap_is_str(text, "right", "gradients through every operation are right over TCP");
}

int main(void)
{
    tap_plan(4);
    in_the_machine("gradients through every operation are right over MPI");
    plain = true;
    in_the_machine("gradients are right by the operations of channels that are not MPI");
    world_test_sizes("a recorded pass is differentiated again, by both kinds of operations alike",
                     twice_body, WORLD_ANY, WORLD_SIZES(1, 2, 3, 5));
    between_processes();
    return tap_done();
}
