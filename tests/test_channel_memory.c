/* Data channels over the machine answer every question of the conformance suite, under every
 * variant of the machine. */
#include "tests/channel_conformance.h"
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

int main(void)
{
    for (int i = 0; i < CHANNEL_QUESTIONS; i++) {
        question = &channel_questions[i];
        world_test_sizes(question->name, body, WORLD_ANY, WORLD_SIZES(1, 2, 3, 5));
    }
    return tap_done();
}
