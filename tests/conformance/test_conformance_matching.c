/* Which message a receive gets: order, tags, sources, wildcards, probes. */
#include "tests/world_harness.h"

static int next_of(int rank, int size)
{
    return (rank + 1) % size;
}

static int previous_of(int rank, int size)
{
    return (rank + size - 1) % size;
}

static void messages_keep_their_order(int rank, int size)
{
    enum { COUNT = 20 };
    MPI_Request requests[COUNT];
    int values[COUNT];
    for (int i = 0; i < COUNT; i++) {
        values[i] = rank * 100 + i;
        MPI_Isend(&values[i], 1, MPI_INT, next_of(rank, size), 7, MPI_COMM_WORLD, &requests[i]);
    }
    for (int i = 0; i < COUNT; i++) {
        int got = -1;
        MPI_Recv(&got, 1, MPI_INT, previous_of(rank, size), 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect(got == previous_of(rank, size) * 100 + i, "message %d is %d", i, got);
    }
    MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE);
}

static void tags_select(int rank, int size)
{
    MPI_Request requests[3];
    int values[3] = {rank * 10 + 1, rank * 10 + 2, rank * 10 + 3};
    for (int i = 0; i < 3; i++)
        MPI_Isend(&values[i], 1, MPI_INT, next_of(rank, size), i + 1, MPI_COMM_WORLD, &requests[i]);
    int from = previous_of(rank, size);
    for (int tag = 3; tag >= 1; tag--) {
        int got = -1;
        MPI_Status status;
        MPI_Recv(&got, 1, MPI_INT, from, tag, MPI_COMM_WORLD, &status);
        expect(got == from * 10 + tag, "tag %d brought %d", tag, got);
        expect(status.MPI_TAG == tag && status.MPI_SOURCE == from, "status says %d from %d",
               status.MPI_TAG, status.MPI_SOURCE);
    }
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
}

/* Receives for any tag are matched in order with the messages of one source, and a receive posted
 * first gets what fits both. */
static void any_tag_takes_the_first(int rank, int size)
{
    int from = previous_of(rank, size), values[3] = {1, 2, 3}, got[3] = {0};
    MPI_Request receives[3], sends[3];
    MPI_Irecv(&got[0], 1, MPI_INT, from, MPI_ANY_TAG, MPI_COMM_WORLD, &receives[0]);
    MPI_Irecv(&got[1], 1, MPI_INT, from, 5, MPI_COMM_WORLD, &receives[1]);
    MPI_Irecv(&got[2], 1, MPI_INT, from, MPI_ANY_TAG, MPI_COMM_WORLD, &receives[2]);
    for (int i = 0; i < 3; i++)
        MPI_Isend(&values[i], 1, MPI_INT, next_of(rank, size), i == 1 ? 9 : 5, MPI_COMM_WORLD,
                  &sends[i]);
    MPI_Status statuses[3];
    MPI_Waitall(3, receives, statuses);
    MPI_Waitall(3, sends, MPI_STATUSES_IGNORE);
    expect(got[0] == 1 && got[1] == 3 && got[2] == 2, "got %d %d %d", got[0], got[1], got[2]);
    expect(statuses[2].MPI_TAG == 9, "the third receive's tag is %d", statuses[2].MPI_TAG);
}

static void any_source_takes_each_once(int rank, int size)
{
    if (rank) {
        int value = rank * rank;
        MPI_Send(&value, 1, MPI_INT, 0, rank, MPI_COMM_WORLD);
        return;
    }
    int seen = 0;
    for (int i = 1; i < size; i++) {
        int got = -1;
        MPI_Status status;
        MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        expect(status.MPI_TAG == status.MPI_SOURCE, "tag %d from %d", status.MPI_TAG,
               status.MPI_SOURCE);
        expect(got == status.MPI_SOURCE * status.MPI_SOURCE, "%d from %d", got, status.MPI_SOURCE);
        expect(!(seen & 1 << status.MPI_SOURCE), "%d came twice", status.MPI_SOURCE);
        seen |= 1 << status.MPI_SOURCE;
    }
    expect(seen == (1 << size) - 2, "seen %x", (unsigned)seen);
}

static void wildcards_keep_each_senders_order(int rank, int size)
{
    enum { EACH = 6 };
    if (rank) {
        for (int i = 0; i < EACH; i++)
            MPI_Send(&i, 1, MPI_INT, 0, 4, MPI_COMM_WORLD);
        return;
    }
    int next[16] = {0};
    for (int i = 0; i < EACH * (size - 1); i++) {
        int got = -1;
        MPI_Status status;
        MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &status);
        expect(got == next[status.MPI_SOURCE]++, "%d overtook on its way from %d", got,
               status.MPI_SOURCE);
    }
}

/* A named receive posted before a wildcard must be served first when both fit, and the other way
 * round. */
static void the_receive_posted_first_is_served_first(int rank, int size)
{
    if (rank > 1)
        return;
    int other = 1 - rank, got[4] = {-1, -1, -1, -1}, values[4] = {10, 11, 12, 13};
    (void)size;
    if (rank == 0) {
        MPI_Request requests[4];
        MPI_Irecv(&got[0], 1, MPI_INT, other, 1, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(&got[1], 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &requests[1]);
        MPI_Irecv(&got[2], 1, MPI_INT, other, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[2]);
        MPI_Irecv(&got[3], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[3]);
        MPI_Send(NULL, 0, MPI_INT, other, 0, MPI_COMM_WORLD);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        expect(got[0] == 10 && got[1] == 11 && got[2] == 12 && got[3] == 13,
               "the receives got %d %d %d %d", got[0], got[1], got[2], got[3]);
    } else {
        MPI_Recv(NULL, 0, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < 4; i++)
            MPI_Send(&values[i], 1, MPI_INT, other, 1, MPI_COMM_WORLD);
    }
}

static void communicators_do_not_mix(int rank, int size)
{
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    int to = next_of(rank, size), from = previous_of(rank, size), values[2] = {1, 2};
    int got[2] = {0};
    MPI_Request requests[2];
    MPI_Isend(&values[0], 1, MPI_INT, to, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&values[1], 1, MPI_INT, to, 0, copy, &requests[1]);
    MPI_Recv(&got[1], 1, MPI_INT, from, 0, copy, MPI_STATUS_IGNORE);
    MPI_Recv(&got[0], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    expect(got[0] == 1 && got[1] == 2, "world brought %d, its copy %d", got[0], got[1]);
    MPI_Comm_free(&copy);
    expect(copy == MPI_COMM_NULL, "the freed handle is null");
}

static void a_rank_may_send_to_itself(int rank, int size)
{
    (void)size;
    int value = rank + 5, got = -1;
    MPI_Request request;
    MPI_Isend(&value, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, &request);
    MPI_Recv(&got, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(got == rank + 5, "got %d", got);
    MPI_Irecv(&got, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &request);
    value = 77;
    MPI_Send(&value, 1, MPI_INT, 0, 3, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(got == 77, "on MPI_COMM_SELF got %d", got);
}

static void nobody_is_a_peer_like_any_other(int rank, int size)
{
    (void)rank, (void)size;
    int got = 99, count = -1, flag = 0;
    MPI_Status status;
    MPI_Request request;
    MPI_Message message;
    expect_ok(MPI_Send(&got, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
    expect_ok(MPI_Ssend(&got, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
    expect_ok(MPI_Recv(&got, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status));
    MPI_Get_count(&status, MPI_INT, &count);
    expect(got == 99 && count == 0, "got %d, count %d", got, count);
    expect(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG,
           "status: %d, tag %d", status.MPI_SOURCE, status.MPI_TAG);
    expect_ok(MPI_Irecv(&got, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request));
    expect_ok(MPI_Wait(&request, &status));
    expect(status.MPI_SOURCE == MPI_PROC_NULL, "nonblocking: source %d", status.MPI_SOURCE);
    expect_ok(MPI_Probe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status));
    expect(status.MPI_SOURCE == MPI_PROC_NULL, "probe: source %d", status.MPI_SOURCE);
    expect_ok(MPI_Iprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &flag, &status));
    expect(flag, "iprobe is true at once");
    expect_ok(MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &message, &status));
    expect(message == MPI_MESSAGE_NO_PROC, "mprobe gives MPI_MESSAGE_NO_PROC");
    expect_ok(MPI_Mrecv(&got, 1, MPI_INT, &message, &status));
    expect(message == MPI_MESSAGE_NULL && status.MPI_SOURCE == MPI_PROC_NULL && got == 99,
           "mrecv: source %d", status.MPI_SOURCE);
}

static void empty_messages_match(int rank, int size)
{
    int count = -1, from = previous_of(rank, size);
    MPI_Status status;
    MPI_Request request;
    MPI_Isend(NULL, 0, MPI_DOUBLE, next_of(rank, size), 1, MPI_COMM_WORLD, &request);
    MPI_Recv(NULL, 0, MPI_DOUBLE, from, 1, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_DOUBLE, &count);
    expect(count == 0 && status.MPI_SOURCE == from, "count %d from %d", count, status.MPI_SOURCE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void a_longer_buffer_is_filled_in_part(int rank, int size)
{
    int values[3] = {1, 2, 3}, got[8], count = -1;
    for (int i = 0; i < 8; i++)
        got[i] = -i;
    MPI_Status status;
    MPI_Request request;
    MPI_Isend(values, 3, MPI_INT, next_of(rank, size), 1, MPI_COMM_WORLD, &request);
    MPI_Recv(got, 8, MPI_INT, previous_of(rank, size), 1, MPI_COMM_WORLD, &status);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Get_count(&status, MPI_INT, &count);
    expect(count == 3, "count is %d", count);
    expect(got[2] == 3 && got[3] == -3 && got[7] == -7, "the rest was touched: %d", got[3]);
    MPI_Get_count(&status, MPI_DOUBLE, &count);
    expect(count == MPI_UNDEFINED, "12 bytes are %d doubles", count);
}

static void a_short_buffer_is_an_error(int rank, int size)
{
    (void)rank;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int values[4] = {1, 2, 3, 4}, got[4] = {0, 0, -9, -9};
    MPI_Request request, receive;
    MPI_Isend(values, 4, MPI_INT, next_of(rank, size), 1, MPI_COMM_WORLD, &request);
    expect_class(MPI_Recv(got, 2, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                 MPI_ERR_TRUNCATE);
    expect(got[2] == -9, "beyond the buffer lies %d", got[2]);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Irecv(got, 2, MPI_INT, previous_of(rank, size), 2, MPI_COMM_WORLD, &receive);
    MPI_Isend(values, 4, MPI_INT, next_of(rank, size), 2, MPI_COMM_WORLD, &request);
    expect_class(MPI_Wait(&receive, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
    expect(receive == MPI_REQUEST_NULL && got[2] == -9, "posted first: beyond lies %d", got[2]);
    expect_ok(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void sendrecv_swaps(int rank, int size)
{
    int value = rank, got = -1, both = rank * 3;
    MPI_Status status;
    MPI_Sendrecv(&value, 1, MPI_INT, next_of(rank, size), 1, &got, 1, MPI_INT, MPI_ANY_SOURCE,
                 MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    expect(got == previous_of(rank, size) && status.MPI_SOURCE == got, "got %d", got);
    MPI_Sendrecv_replace(&both, 1, MPI_INT, next_of(rank, size), 1, previous_of(rank, size), 1,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect(both == previous_of(rank, size) * 3, "in place got %d", both);
    int last = rank == size - 1 ? MPI_PROC_NULL : rank + 1;
    int first = rank == 0 ? MPI_PROC_NULL : rank - 1;
    got = -5;
    MPI_Sendrecv(&value, 1, MPI_INT, last, 1, &got, 1, MPI_INT, first, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    expect(got == (rank ? rank - 1 : -5), "in a line got %d", got);
}

static void large_messages_arrive_whole(int rank, int size)
{
    enum { COUNT = 50000 }; /* beyond the eager limit */
    int *values = malloc(2 * COUNT * sizeof *values), *got = values + COUNT;
    for (int i = 0; i < COUNT; i++)
        values[i] = i ^ rank;
    MPI_Request request;
    MPI_Irecv(got, COUNT, MPI_INT, previous_of(rank, size), 0, MPI_COMM_WORLD, &request);
    MPI_Send(values, COUNT, MPI_INT, next_of(rank, size), 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    int wrong = 0;
    for (int i = 0; i < COUNT; i++)
        wrong += got[i] != (i ^ previous_of(rank, size));
    expect(wrong == 0, "%d of %d are wrong", wrong, COUNT);
    free(values);
}

int main(void)
{
    tap_plan(14);
    world_test("messages from one rank to another are received in the order they were sent",
               messages_keep_their_order, WORLD_ANY);
    world_test("a receive for a tag passes over messages with other tags", tags_select, WORLD_ANY);
    world_test("a receive for any tag takes the first message of its source",
               any_tag_takes_the_first, WORLD_ANY);
    world_test_pairs("receives for any source take each rank's message once",
                     any_source_takes_each_once, WORLD_ANY);
    world_test_pairs("wildcards keep the order of each sender", wildcards_keep_each_senders_order,
                     WORLD_ANY);
    world_test_pairs("of two receives that fit, the one posted first is served first",
                     the_receive_posted_first_is_served_first, WORLD_ANY);
    world_test("messages of one communicator are not seen in another", communicators_do_not_mix,
               WORLD_ANY);
    world_test("a rank may send to itself", a_rank_may_send_to_itself, WORLD_ANY);
    world_test("MPI_PROC_NULL takes and gives empty messages at once",
               nobody_is_a_peer_like_any_other, WORLD_ANY);
    world_test("empty messages are matched like others", empty_messages_match, WORLD_ANY);
    world_test("a message shorter than the buffer leaves the rest of it alone",
               a_longer_buffer_is_filled_in_part, WORLD_ANY);
    world_test("a message longer than the buffer is MPI_ERR_TRUNCATE and nothing lies beyond it",
               a_short_buffer_is_an_error, WORLD_ANY);
    world_test("Sendrecv sends and receives without deadlock", sendrecv_swaps, WORLD_ANY);
    world_test("messages beyond the eager limit arrive whole", large_messages_arrive_whole,
               WORLD_ANY);
    return tap_done();
}
