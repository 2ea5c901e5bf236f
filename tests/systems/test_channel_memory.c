/* Data channels over the machine answer every question of the conformance suite, under every
 * variant of the machine. */
#include "tests/systems/channel_conformance.h"
#include "tests/world_harness.h"

static const struct channel_question *question;

static void body(int rank, int size)
{
    struct channel_report report = {0};
    (void)rank, (void)size;
    struct data_channel *channel = data_channel_mpi(MPI_COMM_WORLD);
    channel_ask(question, channel, &report);
    data_channel_free(channel);
    expect(report.looked_at > 0, "nothing was asked");
    expect(report.failed == 0, "%s", report.text);
}

static bool no_ports(void *context, int mine, int *all)
{
    (void)context, (void)mine, (void)all;
    return false;
}

/* A rank that waited at a socket would never let the others go on. */
static void sockets(int rank, int size)
{
    char error[200] = "";
    struct data_tcp_options options = {.rank = rank, .size = size, .exchange = no_ports};
    struct data_channel *channel = data_channel_tcp(&options, error, sizeof error);
    expect(!channel && strstr(error, size > 1 ? "threads" : "port"), "%s", error);
}

int main(void)
{
    world_test_sizes("ranks that are threads are told not to talk by sockets", sockets, WORLD_ANY,
                     WORLD_SIZES(1, 2));
    for (int i = 0; i < CHANNEL_QUESTIONS; i++) {
        question = &channel_questions[i];
        world_test_sizes(question->name, body, WORLD_ANY, WORLD_SIZES(1, 2, 3, 5));
    }
    return tap_done();
}
