/* Requests: waiting, testing, choosing, cancelling, starting again; the modes of sends. */
#include "tests/world_harness.h"

enum { MANY = 24 };

static int next_of(int rank, int size)
{
    return (rank + 1) % size;
}

static int previous_of(int rank, int size)
{
    return (rank + size - 1) % size;
}

/* ---- completion ---- */

static void waitall_gives_each_status(int rank, int size)
{
    int got[MANY], values[MANY];
    MPI_Request requests[2 * MANY];
    MPI_Status statuses[2 * MANY];
    for (int i = 0; i < MANY; i++) {
        values[i] = i;
        MPI_Irecv(&got[i], 1, MPI_INT, previous_of(rank, size), i, MPI_COMM_WORLD, &requests[i]);
    }
    for (int i = MANY - 1; i >= 0; i--)
        MPI_Isend(&values[i], 1, MPI_INT, next_of(rank, size), i, MPI_COMM_WORLD,
                  &requests[MANY + i]);
    expect_ok(MPI_Waitall(2 * MANY, requests, statuses));
    for (int i = 0; i < MANY; i++)
        expect(got[i] == i && statuses[i].MPI_TAG == i && requests[i] == MPI_REQUEST_NULL &&
                   requests[MANY + i] == MPI_REQUEST_NULL,
               "%d: got %d, tag %d", i, got[i], statuses[i].MPI_TAG);
    int flag = 0;
    expect_ok(MPI_Testall(2 * MANY, requests, &flag, MPI_STATUSES_IGNORE));
    expect(flag, "null requests are all complete");
}

static void waitany_reports_each_once(int rank, int size)
{
    int got[MANY], value = rank, seen = 0, index;
    MPI_Request receives[MANY], sends[MANY];
    for (int i = 0; i < MANY; i++) {
        got[i] = -1;
        MPI_Irecv(&got[i], 1, MPI_INT, previous_of(rank, size), i, MPI_COMM_WORLD, &receives[i]);
        MPI_Isend(&value, 1, MPI_INT, next_of(rank, size), i, MPI_COMM_WORLD, &sends[i]);
    }
    for (int i = 0; i < MANY; i++) {
        MPI_Status status;
        expect_ok(MPI_Waitany(MANY, receives, &index, &status));
        if (!expect(index >= 0 && index < MANY && !(seen & 1 << index), "index %d", index))
            return;
        seen |= 1 << index;
        expect(status.MPI_TAG == index && got[index] == previous_of(rank, size),
               "%d: tag %d, got %d", index, status.MPI_TAG, got[index]);
        expect(receives[index] == MPI_REQUEST_NULL, "request %d is not null", index);
    }
    expect_ok(MPI_Waitany(MANY, receives, &index, MPI_STATUS_IGNORE));
    expect(index == MPI_UNDEFINED, "of none Waitany reports %d", index);
    MPI_Waitall(MANY, sends, MPI_STATUSES_IGNORE);
}

static void waitsome_reports_all_that_are_done(int rank, int size)
{
    int got[MANY], value = rank, total = 0, indices[MANY], count;
    bool seen[MANY] = {false};
    MPI_Request receives[MANY], sends[MANY];
    MPI_Status statuses[MANY];
    for (int i = 0; i < MANY; i++) {
        MPI_Irecv(&got[i], 1, MPI_INT, previous_of(rank, size), i, MPI_COMM_WORLD, &receives[i]);
        MPI_Isend(&value, 1, MPI_INT, next_of(rank, size), i, MPI_COMM_WORLD, &sends[i]);
    }
    while (total < MANY) {
        expect_ok(MPI_Waitsome(MANY, receives, &count, indices, statuses));
        if (!expect(count > 0 && count <= MANY - total, "%d at once", count))
            return;
        for (int i = 0; i < count; i++) {
            expect(!seen[indices[i]], "%d came twice", indices[i]);
            expect(statuses[i].MPI_TAG == indices[i], "status %d is of %d", i, statuses[i].MPI_TAG);
            seen[indices[i]] = true;
        }
        total += count;
    }
    MPI_Waitsome(MANY, receives, &count, indices, statuses);
    expect(count == MPI_UNDEFINED, "of none Waitsome reports %d", count);
    MPI_Testsome(MANY, receives, &count, indices, statuses);
    expect(count == MPI_UNDEFINED, "of none Testsome reports %d", count);
    MPI_Waitall(MANY, sends, MPI_STATUSES_IGNORE);
}

static void tests_come_true(int rank, int size)
{
    int got[3] = {-1, -1, -1}, value = rank, flag = 0, index = -1;
    MPI_Request requests[3], sends[3];
    MPI_Status status;
    for (int i = 0; i < 3; i++)
        MPI_Irecv(&got[i], 1, MPI_INT, previous_of(rank, size), i, MPI_COMM_WORLD, &requests[i]);
    MPI_Test(&requests[2], &flag, &status);
    MPI_Barrier(MPI_COMM_WORLD); /* what was true before it is not known, what is after it is */
    for (int i = 0; i < 3; i++)
        MPI_Isend(&value, 1, MPI_INT, next_of(rank, size), i, MPI_COMM_WORLD, &sends[i]);
    if (requests[2] != MPI_REQUEST_NULL)
        for (flag = 0; !flag;)
            expect_ok(MPI_Test(&requests[2], &flag, &status));
    expect(got[2] == previous_of(rank, size) && requests[2] == MPI_REQUEST_NULL, "got %d", got[2]);
    for (flag = 0; !flag;)
        expect_ok(MPI_Testany(3, requests, &index, &flag, &status));
    expect(index == 0 || index == 1, "Testany reports %d", index);
    for (flag = 0; !flag;)
        expect_ok(MPI_Testall(3, requests, &flag, MPI_STATUSES_IGNORE));
    expect(got[0] == got[2] && got[1] == got[2], "got %d and %d", got[0], got[1]);
    MPI_Test(&requests[0], &flag, &status);
    expect(flag && status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG,
           "a null request's status is empty");
    MPI_Testany(3, requests, &index, &flag, &status);
    expect(flag && index == MPI_UNDEFINED, "of none Testany reports %d", index);
    MPI_Waitall(3, sends, MPI_STATUSES_IGNORE);
}

static void looking_leaves_requests_alone(int rank, int size)
{
    int got[2] = {-1, -1}, value = rank, flag = 0, index = -1, count = -1, indices[2];
    MPI_Request requests[2], sends[2];
    MPI_Status status, statuses[2];
    for (int i = 0; i < 2; i++) {
        MPI_Irecv(&got[i], 1, MPI_INT, previous_of(rank, size), i, MPI_COMM_WORLD, &requests[i]);
        MPI_Isend(&value, 1, MPI_INT, next_of(rank, size), i, MPI_COMM_WORLD, &sends[i]);
    }
    while (!flag)
        expect_ok(MPI_Request_get_status(requests[1], &flag, &status));
    expect(requests[1] != MPI_REQUEST_NULL && status.MPI_TAG == 1, "tag %d", status.MPI_TAG);
    for (flag = 0; !flag;)
        expect_ok(MPI_Request_get_status_all(2, requests, &flag, statuses));
    expect(statuses[0].MPI_TAG == 0 && statuses[1].MPI_TAG == 1, "tags of all");
    expect_ok(MPI_Request_get_status_any(2, requests, &index, &flag, &status));
    expect(flag && index == 0 && status.MPI_TAG == 0, "any is %d", index);
    expect_ok(MPI_Request_get_status_some(2, requests, &count, indices, statuses));
    expect(count == 2 && indices[1] == 1 && statuses[1].MPI_TAG == 1, "some are %d", count);
    expect_ok(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    expect_ok(MPI_Request_get_status_some(2, requests, &count, indices, statuses));
    expect(count == MPI_UNDEFINED, "of none some are %d", count);
    expect_ok(MPI_Request_get_status_any(2, requests, &index, &flag, &status));
    expect(flag && index == MPI_UNDEFINED, "of none any is %d", index);
    MPI_Waitall(2, sends, MPI_STATUSES_IGNORE);
}

static void errors_are_in_the_statuses(int rank, int size)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int values[4] = {1, 2, 3, 4}, got[4];
    MPI_Request requests[2], sends[2];
    MPI_Status statuses[2];
    MPI_Irecv(got, 4, MPI_INT, previous_of(rank, size), 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(got, 1, MPI_INT, previous_of(rank, size), 1, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 2; i++)
        MPI_Isend(values, 4, MPI_INT, next_of(rank, size), i, MPI_COMM_WORLD, &sends[i]);
    expect_class(MPI_Waitall(2, requests, statuses), MPI_ERR_IN_STATUS);
    int class;
    MPI_Error_class(statuses[0].MPI_ERROR, &class);
    expect(class == MPI_SUCCESS, "the first status says %d", class);
    MPI_Error_class(statuses[1].MPI_ERROR, &class);
    expect(class == MPI_ERR_TRUNCATE, "the second status says %d", class);
    expect_ok(MPI_Waitall(2, sends, MPI_STATUSES_IGNORE));
}

/* ---- cancelling and freeing ---- */

static void receives_can_be_cancelled(int rank, int size)
{
    int got = -7, flag = 0, value = 3;
    MPI_Request request, other;
    MPI_Status status;
    MPI_Irecv(&got, 1, MPI_INT, previous_of(rank, size), 9, MPI_COMM_WORLD, &request);
    expect_ok(MPI_Cancel(&request));
    expect_ok(MPI_Wait(&request, &status));
    MPI_Test_cancelled(&status, &flag);
    expect(flag && got == -7 && request == MPI_REQUEST_NULL, "cancelled %d, got %d", flag, got);
    MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &request);
    expect_ok(MPI_Cancel(&request));
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    expect(flag, "a wildcard was not cancelled");
    MPI_Barrier(MPI_COMM_WORLD);
    /* What was cancelled takes no message away. */
    MPI_Isend(&value, 1, MPI_INT, next_of(rank, size), 9, MPI_COMM_WORLD, &other);
    MPI_Recv(&got, 1, MPI_INT, previous_of(rank, size), 9, MPI_COMM_WORLD, &status);
    MPI_Test_cancelled(&status, &flag);
    expect(!flag && got == 3, "afterwards got %d", got);
    MPI_Wait(&other, MPI_STATUS_IGNORE);
}

static void a_matched_receive_cannot_be_cancelled(int rank, int size)
{
    int got = -7, flag = 1, value = rank;
    MPI_Request request, send;
    MPI_Status status;
    MPI_Irecv(&got, 1, MPI_INT, previous_of(rank, size), 9, MPI_COMM_WORLD, &request);
    MPI_Isend(&value, 1, MPI_INT, next_of(rank, size), 9, MPI_COMM_WORLD, &send);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    expect_ok(MPI_Cancel(&request));
    expect_ok(MPI_Wait(&request, &status));
    MPI_Test_cancelled(&status, &flag);
    expect(!flag && got == previous_of(rank, size), "cancelled %d, got %d", flag, got);
}

static void a_waiting_send_is_cancelled_whole(int rank, int size)
{
    int value = 1, flag = -1, got = -1;
    MPI_Request request;
    MPI_Status status;
    MPI_Issend(&value, 1, MPI_INT, next_of(rank, size), 5, MPI_COMM_WORLD, &request);
    expect_ok(MPI_Cancel(&request));
    expect_ok(MPI_Wait(&request, &status));
    MPI_Test_cancelled(&status, &flag);
    expect(flag == 1, "cancelled %d", flag);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
    expect(!flag, "the cancelled message can be seen");
    MPI_Barrier(MPI_COMM_WORLD);
    value = 2;
    MPI_Isend(&value, 1, MPI_INT, next_of(rank, size), 5, MPI_COMM_WORLD, &request);
    MPI_Recv(&got, 1, MPI_INT, previous_of(rank, size), 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(got == 2, "got %d", got);
}

static void freed_requests_still_complete(int rank, int size)
{
    int value = rank, got = -1;
    MPI_Request receive, send;
    MPI_Irecv(&got, 1, MPI_INT, previous_of(rank, size), 1, MPI_COMM_WORLD, &receive);
    MPI_Request_free(&receive);
    expect(receive == MPI_REQUEST_NULL, "the freed handle is null");
    MPI_Isend(&value, 1, MPI_INT, next_of(rank, size), 1, MPI_COMM_WORLD, &send);
    MPI_Request_free(&send);
    MPI_Isend(&value, 1, MPI_INT, next_of(rank, size), 2, MPI_COMM_WORLD, &send);
    int later = -1;
    MPI_Recv(&later, 1, MPI_INT, previous_of(rank, size), 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    expect(got == previous_of(rank, size) && later == got, "got %d", got);
}

/* ---- persistent requests ---- */

static void persistent_requests_start_again(int rank, int size)
{
    int value = 0, got = -1, flag = 0;
    MPI_Request requests[2];
    MPI_Recv_init(&got, 1, MPI_INT, previous_of(rank, size), 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(&value, 1, MPI_INT, next_of(rank, size), 3, MPI_COMM_WORLD, &requests[1]);
    expect_ok(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    expect_ok(MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE));
    expect(flag, "an inactive request is complete");
    for (int round = 0; round < 5; round++) {
        value = rank * 10 + round;
        MPI_Status statuses[2];
        expect_ok(MPI_Startall(2, requests));
        expect_ok(MPI_Waitall(2, requests, statuses));
        expect(got == previous_of(rank, size) * 10 + round, "round %d got %d", round, got);
        expect(requests[0] != MPI_REQUEST_NULL, "the request is gone");
        expect(statuses[0].MPI_SOURCE == previous_of(rank, size), "from %d",
               statuses[0].MPI_SOURCE);
    }
    expect_ok(MPI_Request_free(&requests[0]));
    expect_ok(MPI_Request_free(&requests[1]));
}

static void an_active_request_cannot_be_started(int rank, int size)
{
    int got = -1;
    MPI_Request request, none = MPI_REQUEST_NULL;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Recv_init(&got, 1, MPI_INT, previous_of(rank, size), 3, MPI_COMM_WORLD, &request);
    expect_ok(MPI_Start(&request));
    expect_class(MPI_Start(&request), MPI_ERR_REQUEST);
    expect_class(MPI_Start(&none), MPI_ERR_REQUEST);
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect_ok(MPI_Request_free(&request));
    expect_class(MPI_Request_free(&none), MPI_ERR_REQUEST);
}

/* ---- modes ---- */

static void a_synchronous_send_waits_for_its_receive(int rank, int size)
{
    if (rank > 1)
        return;
    int value = 1, flag = 1;
    MPI_Request request;
    (void)size;
    if (rank == 0) {
        MPI_Issend(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
        MPI_Recv(NULL, 0, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        expect(!flag, "it is complete before it is received");
        MPI_Send(NULL, 0, MPI_INT, 1, 2, MPI_COMM_WORLD);
        expect_ok(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
        MPI_Send(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD);
        MPI_Recv(NULL, 0, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void buffered_sends_need_no_receiver(int rank, int size)
{
    enum { COUNT = 5 };
    int room = COUNT * (100 * (int)sizeof(int) + MPI_BSEND_OVERHEAD), values[100], got[100];
    char *buffer = malloc((size_t)room), *back = NULL;
    expect_ok(MPI_Buffer_attach(buffer, room));
    for (int i = 0; i < COUNT; i++) {
        for (int k = 0; k < 100; k++)
            values[k] = rank + i * k;
        expect_ok(MPI_Bsend(values, 100, MPI_INT, next_of(rank, size), i, MPI_COMM_WORLD));
        memset(values, 0, sizeof values);
    }
    for (int i = COUNT - 1; i >= 0; i--) {
        MPI_Recv(got, 100, MPI_INT, previous_of(rank, size), i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect(got[99] == previous_of(rank, size) + i * 99, "message %d ends in %d", i, got[99]);
    }
    int size_back = -1;
    expect_ok(MPI_Buffer_detach(&back, &size_back));
    expect(back == buffer && size_back == room, "detached %d bytes", size_back);
    free(buffer);
}

static void buffered_sends_beyond_the_buffer_fail(int rank, int size)
{
    int values[100] = {0}, room = 100 * (int)sizeof(int) + 128; /* enough for Open MPI */
    char *buffer = malloc((size_t)room), *back;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    expect_class(MPI_Bsend(values, 1, MPI_INT, next_of(rank, size), 0, MPI_COMM_WORLD),
                 MPI_ERR_BUFFER);
    MPI_Buffer_attach(buffer, room);
    MPI_Barrier(MPI_COMM_WORLD);
    expect_ok(MPI_Bsend(values, 100, MPI_INT, next_of(rank, size), 0, MPI_COMM_WORLD));
    expect_class(MPI_Bsend(values, 100, MPI_INT, next_of(rank, size), 1, MPI_COMM_WORLD),
                 MPI_ERR_BUFFER);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Recv(values, 100, MPI_INT, previous_of(rank, size), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    expect_ok(MPI_Bsend(values, 100, MPI_INT, next_of(rank, size), 1, MPI_COMM_WORLD));
    MPI_Recv(values, 100, MPI_INT, previous_of(rank, size), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Buffer_detach(&back, &room);
    free(buffer);
}

static void ready_sends_need_a_receive(int rank, int size)
{
    int value = rank, got = -1;
    MPI_Request request;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    expect_class(MPI_Rsend(&value, 1, MPI_INT, next_of(rank, size), 0, MPI_COMM_WORLD),
                 MPI_ERR_OTHER);
    MPI_Irecv(&got, 1, MPI_INT, previous_of(rank, size), 1, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    expect_ok(MPI_Rsend(&value, 1, MPI_INT, next_of(rank, size), 1, MPI_COMM_WORLD));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(got == previous_of(rank, size), "got %d", got);
}

static void nonblocking_sendrecv_swaps(int rank, int size)
{
    int value = rank, got = -1, both = rank * 3;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    expect_ok(MPI_Isendrecv(&value, 1, MPI_INT, next_of(rank, size), 1, &got, 1, MPI_INT,
                            MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &requests[0]));
    expect_ok(MPI_Isendrecv_replace(&both, 1, MPI_INT, next_of(rank, size), 2,
                                    previous_of(rank, size), 2, MPI_COMM_WORLD, &requests[1]));
    expect_ok(MPI_Waitall(2, requests, statuses));
    int from = previous_of(rank, size), count = -1;
    MPI_Get_count(&statuses[0], MPI_INT, &count);
    expect(got == from && both == from * 3, "got %d and %d", got, both);
    expect(statuses[0].MPI_SOURCE == from && statuses[1].MPI_TAG == 2 && count == 1,
           "the first came from %d with %d", statuses[0].MPI_SOURCE, count);
    expect_ok(MPI_Isendrecv(&value, 1, MPI_INT, MPI_PROC_NULL, 1, &got, 1, MPI_INT, MPI_PROC_NULL,
                            1, MPI_COMM_WORLD, &requests[0]));
    expect_ok(MPI_Wait(&requests[0], statuses));
    expect(statuses[0].MPI_SOURCE == MPI_PROC_NULL, "nobody is %d", statuses[0].MPI_SOURCE);
}

/* ---- probes ---- */

static void a_probe_tells_what_a_receive_will_get(int rank, int size)
{
    int values[5] = {1, 2, 3, 4, 5}, count = -1, got[5];
    MPI_Request request;
    MPI_Status status;
    MPI_Isend(values, rank % 5 + 1, MPI_INT, next_of(rank, size), 8, MPI_COMM_WORLD, &request);
    expect_ok(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
    int from = previous_of(rank, size);
    MPI_Get_count(&status, MPI_INT, &count);
    expect(status.MPI_SOURCE == from && status.MPI_TAG == 8 && count == from % 5 + 1,
           "probed %d from %d", count, status.MPI_SOURCE);
    int flag = 0;
    MPI_Iprobe(from, 8, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    expect(flag, "the probed message is still there");
    MPI_Recv(got, count, MPI_INT, from, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Iprobe(from, 8, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    expect(!flag, "the received message is still there");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void a_matched_probe_takes_the_message(int rank, int size)
{
    int values[2] = {10 + rank, 20 + rank}, got = -1, flag = 0, from = previous_of(rank, size);
    MPI_Request requests[2], receive;
    MPI_Message first, second;
    MPI_Status status;
    for (int i = 0; i < 2; i++)
        MPI_Isend(&values[i], 1, MPI_INT, next_of(rank, size), 8, MPI_COMM_WORLD, &requests[i]);
    expect_ok(MPI_Mprobe(from, 8, MPI_COMM_WORLD, &first, &status));
    while (!flag)
        expect_ok(
            MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &second, &status));
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    expect(!flag, "a message that was taken is still seen");
    expect_ok(MPI_Imrecv(&got, 1, MPI_INT, &second, &receive));
    expect_ok(MPI_Wait(&receive, &status));
    expect(got == 20 + from && second == MPI_MESSAGE_NULL, "the second is %d", got);
    expect_ok(MPI_Mrecv(&got, 1, MPI_INT, &first, &status));
    expect(got == 10 + from && status.MPI_SOURCE == from && status.MPI_TAG == 8, "the first is %d",
           got);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

/* ---- generalised requests ---- */

struct general {
    int queried, freed, cancelled;
};

static int general_query(void *state, MPI_Status *status)
{
    ((struct general *)state)->queried++;
    MPI_Status_set_elements(status, MPI_INT, 4);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = 12;
    status->MPI_TAG = 34;
    return MPI_SUCCESS;
}

static int general_free(void *state)
{
    ((struct general *)state)->freed++;
    return MPI_SUCCESS;
}

static int general_cancel(void *state, int complete)
{
    ((struct general *)state)->cancelled += 1 + complete;
    return MPI_SUCCESS;
}

static void generalised_requests_complete_when_told(int rank, int size)
{
    (void)rank, (void)size;
    struct general general = {0};
    MPI_Request request;
    MPI_Status status;
    int flag = 1, count = -1;
    expect_ok(MPI_Grequest_start(general_query, general_free, general_cancel, &general, &request));
    MPI_Test(&request, &flag, &status);
    expect(!flag, "it is complete before it is told so");
    MPI_Cancel(&request);
    expect(general.cancelled == 1, "cancelled: %d", general.cancelled);
    expect_ok(MPI_Grequest_complete(request));
    expect_ok(MPI_Wait(&request, &status));
    MPI_Get_count(&status, MPI_INT, &count);
    expect(count == 4 && status.MPI_SOURCE == 12 && status.MPI_TAG == 34, "count %d from %d", count,
           status.MPI_SOURCE);
    expect(general.queried == 1 && general.freed == 1, "queried %d, freed %d", general.queried,
           general.freed);
    general = (struct general){0};
    MPI_Grequest_start(general_query, general_free, general_cancel, &general, &request);
    MPI_Grequest_complete(request);
    MPI_Request_free(&request);
    expect(general.freed == 1, "freed %d times after Request_free", general.freed);
}

int main(void)
{
    tap_plan(20);
    world_test("Waitall waits for all and gives each its status", waitall_gives_each_status,
               WORLD_ANY);
    world_test("Waitany reports each request once", waitany_reports_each_once, WORLD_ANY);
    world_test("Waitsome reports requests that are done, each once",
               waitsome_reports_all_that_are_done, WORLD_ANY);
    world_test("tests in a loop come true", tests_come_true, WORLD_ANY);
    world_test("looking at the status of requests leaves them as they are",
               looking_leaves_requests_alone, WORLD_ANY);
    world_test("of several completions the one that failed says so in its status",
               errors_are_in_the_statuses, WORLD_ANY);
    world_test("a receive that is not matched can be cancelled", receives_can_be_cancelled,
               WORLD_ANY);
    world_test("a matched receive cannot be cancelled", a_matched_receive_cannot_be_cancelled,
               WORLD_ANY);
    world_test("a cancelled send is never seen", a_waiting_send_is_cancelled_whole, WORLD_ANY);
    world_test("a freed request still completes", freed_requests_still_complete, WORLD_ANY);
    world_test("persistent requests can be started again and again",
               persistent_requests_start_again, WORLD_ANY);
    world_test("an active request cannot be started", an_active_request_cannot_be_started,
               WORLD_ANY);
    world_test_pairs("a synchronous send is complete only when its receive has begun",
                     a_synchronous_send_waits_for_its_receive, WORLD_ANY);
    world_test("buffered sends need no receiver", buffered_sends_need_no_receiver, WORLD_ANY);
    world_test("a buffered send beyond the attached buffer fails until there is room",
               buffered_sends_beyond_the_buffer_fail, WORLD_ANY);
    world_test("a ready send without a posted receive is an error", ready_sends_need_a_receive,
               WORLD_ANY);
    world_test("nonblocking Sendrecv swaps", nonblocking_sendrecv_swaps, WORLD_ANY);
    world_test("a probe tells what a receive will get", a_probe_tells_what_a_receive_will_get,
               WORLD_ANY);
    world_test("a matched probe takes the message away", a_matched_probe_takes_the_message,
               WORLD_ANY);
    world_test("generalised requests complete when they are told to",
               generalised_requests_complete_when_told, WORLD_ANY);
    return tap_done();
}
