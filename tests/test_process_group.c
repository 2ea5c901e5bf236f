/* Process groups: every operation on groups of all sorts, with gradients that are those of finite
 * differences: under the machine, by MPI's operations and by those of other channels, and over TCP.
 */
#include "tests/diff_world.h"
#include "tests/process_group_body.h"
#include "tests/tcp_world.h"

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
    tap_plan(3);
    in_the_machine("gradients through every operation are right over MPI");
    plain = true;
    in_the_machine("gradients are right by the operations of channels that are not MPI");
    between_processes();
    return tap_done();
}
