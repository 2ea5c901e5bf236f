/* Sends and receives between ranks that have talked before, which go a shorter way than the first
 * message does (sim/messages/fastpath.c): what must not be different there. */
#include "tests/world_harness.h"

enum { GO = 900, WARM = 901 };

static int next_of(int rank, int size)
{
    return (rank + 1) % size;
}

static int previous_of(int rank, int size)
{
    return (rank + size - 1) % size;
}

/* Everybody gets a message of everybody, itself included. */
static void acquaint(int rank, int size)
{
    MPI_Request sends[16];
    for (int to = 0; to < size; to++)
        MPI_Isend(&rank, 1, MPI_INT, to, WARM, MPI_COMM_WORLD, &sends[to]);
    for (int from = 0, got; from < size; from++)
        MPI_Recv(&got, 1, MPI_INT, from, WARM, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Waitall(size, sends, MPI_STATUSES_IGNORE);
}

static void ready(int peer)
{
    MPI_Send(NULL, 0, MPI_INT, peer, GO, MPI_COMM_WORLD);
}

static void await(int peer)
{
    MPI_Recv(NULL, 0, MPI_INT, peer, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void check_status(const MPI_Status *status, int source, int tag, int wanted)
{
    int count = -1, cancelled = -1;
    MPI_Get_count(status, MPI_INT, &count);
    MPI_Test_cancelled(status, &cancelled);
    expect(status->MPI_SOURCE == source && status->MPI_TAG == tag && count == wanted && !cancelled,
           "status says %d from %d with tag %d", count, status->MPI_SOURCE, status->MPI_TAG);
}

/* Rank 1 waits in a receive of tag 2 when tag 1 comes. */
static void a_waiting_receive_keeps_its_tag(int rank, int size)
{
    acquaint(rank, size);
    for (int i = 0; i < 3 && rank < 2; i++) {
        int one = 10 + i, two = 20 + i, got = -1;
        MPI_Status status = {0};
        if (rank == 0) {
            MPI_Request first;
            await(1);
            MPI_Isend(&one, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &first);
            MPI_Send(&two, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
            MPI_Wait(&first, MPI_STATUS_IGNORE);
            await(1);
            MPI_Send(&one, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);
            continue;
        }
        ready(0);
        MPI_Recv(&got, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, &status);
        expect(got == two, "tag 2 brought %d", got);
        check_status(&status, 0, 2, 1);
        MPI_Recv(&got, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &status);
        expect(got == one, "tag 1 brought %d", got);
        ready(0);
        MPI_Recv(&got, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        expect(got == one, "any tag brought %d", got);
        check_status(&status, 0, 3, 1);
    }
}

/* The same with a blocking send, which is put aside where that is allowed. */
static void another_tag_passes_by(int rank, int size)
{
    int one = 1, two = 2, got[2] = {0};
    acquaint(rank, size);
    if (rank == 0) {
        await(1);
        MPI_Send(&one, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
        MPI_Send(&two, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
    } else if (rank == 1) {
        ready(0);
        MPI_Recv(&got[0], 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(&got[1], 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect(got[0] == 2 && got[1] == 1, "got %d and %d", got[0], got[1]);
    }
    expect(1, "here");
}

/* Of any size, also waiting, in order, with what the status says; beyond it nothing is written. */
static void sizes_arrive_whole(int rank, int size)
{
    static const int sizes[] = {0, 1, 2, 3, 7, 64, 1000, 5000, 16000};
    enum { SIZES = sizeof sizes / sizeof *sizes, ROOM = 16001 };
    int *out = malloc(ROOM * sizeof *out), *in = malloc(ROOM * sizeof *in);
    MPI_Status status = {0};
    acquaint(rank, size);
    for (int i = 0; i < ROOM; i++)
        out[i] = rank * ROOM + i;
    for (int turn = 0; turn < 2 * SIZES; turn++) {
        int count = sizes[turn % SIZES], from = previous_of(rank, size);
        if (turn < SIZES && rank == 0) /* rank 0's receives find their messages, the others wait */
            MPI_Send(out, count, MPI_INT, next_of(rank, size), turn, MPI_COMM_WORLD);
        memset(in, 0xff, ROOM * sizeof *in);
        if (turn >= SIZES) {
            MPI_Sendrecv(out, count, MPI_INT, next_of(rank, size), turn, in, ROOM, MPI_INT, from,
                         turn, MPI_COMM_WORLD, &status);
        } else {
            MPI_Recv(in, ROOM, MPI_INT, from, turn, MPI_COMM_WORLD, &status);
            if (rank)
                MPI_Send(out, count, MPI_INT, next_of(rank, size), turn, MPI_COMM_WORLD);
        }
        check_status(&status, from, turn, count);
        int wrong = in[count] != -1;
        for (int i = 0; i < count; i++)
            wrong += in[i] != from * ROOM + i;
        expect(wrong == 0, "%d of %d are wrong", wrong, count);
    }
    free(out);
    free(in);
}

/* Truncated, whether the receive waits or the message does. */
static void a_longer_message_is_cut(int rank, int size)
{
    acquaint(rank, size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int values[4] = {1, 2, 3, 4}, got[4] = {0};
    for (int waits = 0; waits < 2 && rank < 2; waits++) {
        if (rank == 0) {
            MPI_Request send;
            if (waits)
                await(1);
            MPI_Isend(values, 4, MPI_INT, 1, 1, MPI_COMM_WORLD, &send);
            MPI_Wait(&send, MPI_STATUS_IGNORE);
            if (waits)
                await(1);
            MPI_Send(values, 4, MPI_INT, 1, 1, MPI_COMM_WORLD);
            continue;
        }
        for (int i = 0; i < 2; i++) {
            memset(got, 0, sizeof got);
            if (waits)
                ready(0);
            expect_class(MPI_Recv(got, 3, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                         MPI_ERR_TRUNCATE);
            expect(got[3] == 0, "beyond the buffer lies %d", got[3]);
        }
    }
    expect(1, "here");
}

/* Who receives with gaps gets them. */
static void gaps_stay(int rank, int size)
{
    MPI_Datatype every_other;
    MPI_Type_vector(3, 1, 2, MPI_INT, &every_other);
    MPI_Type_commit(&every_other);
    acquaint(rank, size);
    for (int i = 0; i < 3 && rank < 2; i++) {
        int values[6] = {1, 2, 3, 4, 5, 6}, got[6] = {0};
        if (rank == 0) {
            await(1);
            MPI_Send(values, 3, MPI_INT, 1, 1, MPI_COMM_WORLD);
            MPI_Send(values, 1, every_other, 1, 1, MPI_COMM_WORLD);
            continue;
        }
        ready(0);
        MPI_Recv(got, 1, every_other, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect(got[0] == 1 && got[1] == 0 && got[2] == 2 && got[4] == 3, "got %d %d %d %d %d",
               got[0], got[1], got[2], got[3], got[4]);
        MPI_Recv(got, 3, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect(got[0] == 1 && got[1] == 3 && got[2] == 5, "got %d %d %d", got[0], got[1], got[2]);
    }
    MPI_Type_free(&every_other);
    expect(1, "here");
}

/* A nonblocking receive that is posted is served by blocking sends, and in its turn. */
static void posted_receives_are_served_in_turn(int rank, int size)
{
    acquaint(rank, size);
    for (int i = 0; i < 3 && rank < 2; i++) {
        int values[3] = {1, 2, 3}, got[3] = {0};
        if (rank == 0) {
            await(1);
            for (int k = 0; k < 3; k++)
                MPI_Send(&values[k], 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
            continue;
        }
        MPI_Request first, wild;
        MPI_Status status = {0};
        MPI_Irecv(&got[0], 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &first);
        MPI_Irecv(&got[1], 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &wild);
        ready(0);
        MPI_Recv(&got[2], 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&first, &status);
        check_status(&status, 0, 1, 1);
        MPI_Wait(&wild, &status);
        check_status(&status, 0, 1, 1);
        expect(got[0] == 1 && got[1] == 2 && got[2] == 3, "got %d %d %d", got[0], got[1], got[2]);
    }
    expect(1, "here");
}

static void a_probe_hears_of_it(int rank, int size)
{
    acquaint(rank, size);
    for (int i = 0; i < 3 && rank < 2; i++) {
        int value = i, got = -1;
        MPI_Status status = {0};
        if (rank == 0) {
            await(1);
            MPI_Send(&value, 1, MPI_INT, 1, 4, MPI_COMM_WORLD);
            continue;
        }
        ready(0);
        MPI_Probe(0, 4, MPI_COMM_WORLD, &status);
        check_status(&status, 0, 4, 1);
        MPI_Recv(&got, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect(got == i, "got %d", got);
    }
    expect(1, "here");
}

/* Send and receive in one call, round the ring and to oneself, in both orders of arrival. */
static void sendrecv_is_both(int rank, int size)
{
    acquaint(rank, size);
    for (int i = 0; i < 6; i++) {
        int to = i % 2 ? rank : next_of(rank, size), from = i % 2 ? rank : previous_of(rank, size);
        int value = 10 * rank + i, got[2] = {-1, -1};
        MPI_Status status = {0};
        MPI_Sendrecv(&value, 1, MPI_INT, to, i, got, 2, MPI_INT, from, i, MPI_COMM_WORLD, &status);
        expect(got[0] == 10 * from + i && got[1] == -1, "got %d and %d", got[0], got[1]);
        check_status(&status, from, i, 1);
    }
}

/* The receive of one tag passes over what has come with another. */
static void sendrecv_keeps_tags_apart(int rank, int size)
{
    int from = previous_of(rank, size), first = 1, second = 2, got = -1;
    acquaint(rank, size);
    MPI_Send(&first, 1, MPI_INT, next_of(rank, size), 1, MPI_COMM_WORLD);
    MPI_Sendrecv(&second, 1, MPI_INT, next_of(rank, size), 2, &got, 1, MPI_INT, from, 2,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect(got == second, "tag 2 brought %d", got);
    MPI_Sendrecv(&second, 1, MPI_INT, next_of(rank, size), 3, &got, 1, MPI_INT, from, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect(got == first, "tag 1 brought %d", got);
    MPI_Recv(&got, 1, MPI_INT, from, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect(got == second, "tag 3 brought %d", got);
}

static void sendrecv_cuts(int rank, int size)
{
    acquaint(rank, size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < 4; i++) {
        int to = i % 2 ? rank : next_of(rank, size), from = i % 2 ? rank : previous_of(rank, size);
        int values[4] = {1, 2, 3, 4}, got[4] = {0};
        expect_class(MPI_Sendrecv(values, 4, MPI_INT, to, 1, got, 3, MPI_INT, from, 1,
                                  MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                     MPI_ERR_TRUNCATE);
        expect(got[0] == 1 && got[3] == 0, "got %d .. %d", got[0], got[3]);
    }
}

/* What is wrong is refused as on the first day. */
static void wrong_arguments_are_refused(int rank, int size)
{
    MPI_Datatype raw;
    MPI_Type_contiguous(2, MPI_INT, &raw);
    acquaint(rank, size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int value = 0, to = next_of(rank, size);
    MPI_Comm all = MPI_COMM_WORLD;
    expect_class(MPI_Send(&value, -1, MPI_INT, to, 1, all), MPI_ERR_COUNT);
    expect_class(MPI_Send(&value, 1, MPI_INT, size, 1, all), MPI_ERR_RANK);
    expect_class(MPI_Send(&value, 1, MPI_INT, -100, 1, all), MPI_ERR_RANK);
    expect_class(MPI_Send(&value, 1, MPI_INT, to, -1, all), MPI_ERR_TAG);
    expect_class(MPI_Send(&value, 1, MPI_INT, to, MPI_ANY_TAG, all), MPI_ERR_TAG);
    expect_class(MPI_Send(&value, 1, raw, to, 1, all), MPI_ERR_TYPE);
    expect_class(MPI_Send(&value, 1, MPI_DATATYPE_NULL, to, 1, all), MPI_ERR_TYPE);
    expect_class(MPI_Send(NULL, 1, MPI_INT, to, 1, all), MPI_ERR_BUFFER);
    expect_class(MPI_Send(MPI_IN_PLACE, 1, MPI_INT, to, 1, all), MPI_ERR_BUFFER);
    expect_class(MPI_Recv(&value, -1, MPI_INT, to, 1, all, MPI_STATUS_IGNORE), MPI_ERR_COUNT);
    expect_class(MPI_Recv(&value, 1, MPI_INT, size, 1, all, MPI_STATUS_IGNORE), MPI_ERR_RANK);
    expect_class(MPI_Recv(&value, 1, MPI_INT, to, -7, all, MPI_STATUS_IGNORE), MPI_ERR_TAG);
    expect_class(MPI_Recv(&value, 1, raw, to, 1, all, MPI_STATUS_IGNORE), MPI_ERR_TYPE);
    expect_class(MPI_Recv(NULL, 1, MPI_INT, to, 1, all, MPI_STATUS_IGNORE), MPI_ERR_BUFFER);
    expect_class(MPI_Sendrecv(&value, 1, MPI_INT, to, 1, &value, 1, MPI_INT, size, 1, all,
                              MPI_STATUS_IGNORE),
                 MPI_ERR_RANK);
    expect_class(
        MPI_Sendrecv(&value, 1, MPI_INT, to, -1, &value, 1, MPI_INT, to, 1, all, MPI_STATUS_IGNORE),
        MPI_ERR_TAG);
    MPI_Type_free(&raw);
}

enum { LIMIT = 256 };

/* Both send first: only a machine that puts `count` ints aside lets them go on. */
static void both_send_first(int rank, int size, int count)
{
    int out[LIMIT] = {0}, in[LIMIT];
    acquaint(rank, size);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(out, count, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD);
    MPI_Recv(in, count, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void both_send_as_much_as_fits(int rank, int size)
{
    both_send_first(rank, size, LIMIT / (int)sizeof(int));
}
static void both_send_more_than_fits(int rank, int size)
{
    both_send_first(rank, size, LIMIT / (int)sizeof(int) + 1);
}

static void look_at_steps(struct sim_world *world, void *context)
{
    *(uint64_t *)context = sim_world_steps(world);
}

static void five_calls_each(int rank, int size)
{
    int value = rank;
    acquaint(rank, size);
    uint64_t before = MPIX_Steps();
    if (rank == 0)
        for (int i = 0; i < 5; i++)
            MPI_Send(&value, 1, MPI_INT, 1, i, MPI_COMM_WORLD);
    expect(rank || MPIX_Steps() - before == 5, "%d steps", (int)(MPIX_Steps() - before));
    for (int i = 0; i < 5 && rank; i++)
        MPI_Recv(&value, 1, MPI_INT, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* A call is one step of logical time, whichever way it goes. */
static void test_time(void)
{
    uint64_t plain = 0, delayed = 0;
    struct sim_world_options options = world_options(2);
    struct world_result first = world_try_look(options, five_calls_each, look_at_steps, &plain);
    options.delay_wildcards = true;
    struct world_result second = world_try_look(options, five_calls_each, look_at_steps, &delayed);
    tap_ok(first.looked_at && !first.failed && second.looked_at && !second.failed &&
               plain == delayed,
           "a send and a receive are a step of logical time each, whichever way they go");
}

int main(void)
{
    tap_plan(16);
    world_test_pairs("a receive that waits for a tag is not given another's message",
                     a_waiting_receive_keeps_its_tag, WORLD_ANY);
    world_test_pairs("a message with another tag waits for its own receive", another_tag_passes_by,
                     WORLD_BUFFERS);
    world_test_pairs("messages of any size arrive whole and in order", sizes_arrive_whole,
                     WORLD_BUFFERS);
    world_test_pairs("a message that is too long is an error, whoever comes first",
                     a_longer_message_is_cut, WORLD_ANY);
    world_test_pairs("a receive with gaps gets its data where they belong", gaps_stay, WORLD_ANY);
    world_test_pairs("nonblocking receives, wildcards too, are served in their turn",
                     posted_receives_are_served_in_turn, WORLD_ANY);
    world_test_pairs("a probe that waits hears of the message", a_probe_hears_of_it, WORLD_ANY);
    world_test("Sendrecv sends and receives, also to oneself", sendrecv_is_both, WORLD_ANY);
    world_test("Sendrecv keeps tags apart", sendrecv_keeps_tags_apart, WORLD_BUFFERS);
    world_test("Sendrecv cuts what is too long and says so", sendrecv_cuts, WORLD_ANY);
    world_test("wrong arguments are refused", wrong_arguments_are_refused, WORLD_ANY);
    struct sim_world_options options = world_options(2);
    options.eager_limit = LIMIT;
    world_outcome_is("sends within the eager limit are buffered", options,
                     both_send_as_much_as_fits, OUTCOME_FINISHED);
    world_outcome_is("sends beyond it wait for their receives", options, both_send_more_than_fits,
                     OUTCOME_DEADLOCK);
    options.send_model = SIM_SEND_RENDEZVOUS;
    world_outcome_is("in the rendezvous model every send does", options, both_send_as_much_as_fits,
                     OUTCOME_DEADLOCK);
    options.send_model = SIM_SEND_BATCH;
    world_outcome_is("in the batch model, too", options, both_send_as_much_as_fits,
                     OUTCOME_DEADLOCK);
    test_time();
    return tap_done();
}
