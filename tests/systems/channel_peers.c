/* The conformance suite of data channels as an MPI program: `make peers` builds it for Open MPI and
 * MPICH. Prints one TAP line per question on rank 0; ends with 1 when one failed. */
#include "tests/systems/channel_conformance.h"

static bool told(const struct channel_question *question, int number,
                 const struct channel_report *own)
{
    int rank, failed = own->failed || !own->looked_at, any = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (failed)
        fprintf(stderr, "# %s\n", own->text);
    if (rank == 0)
        printf("%s %d - %s\n", any ? "not ok" : "ok", number, question->name);
    return !any;
}

/* Errors that MPI reports become the channel's where MPI is asked to return them. */
static void long_message(const struct channel_case *c)
{
    double values[2] = {1, 2}, got = 0;
    struct data_request *request;
    conform_ok(data_group_isend(c->world, values, 2, DATA_DOUBLE, c->rank, 1, &request));
    conform_refused(data_group_receive(c->world, &got, 1, DATA_DOUBLE, c->rank, 1, NULL),
                    "receive: ");
    data_request_wait(request, NULL);
}

int main(int argc, char **argv)
{
    static const struct channel_question errors = {
        "a message that is too long is an error of the channel", long_message, false};
    bool right = true;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i <= CHANNEL_QUESTIONS; i++) {
        const struct channel_question *question =
            i < CHANNEL_QUESTIONS ? &channel_questions[i] : &errors;
        struct channel_report report = {0};
        struct data_channel *channel = data_channel_mpi(MPI_COMM_WORLD);
        channel_ask(question, channel, &report);
        data_channel_free(channel);
        right = told(question, i + 1, &report) && right;
    }
    MPI_Finalize();
    return !right;
}
