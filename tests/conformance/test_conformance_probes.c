/* Probes against receives and each other: what each of them may see, and that a message is taken
 * once. */
#include "tests/world_harness.h"

#include <mpix.h>
#include <string.h>

enum { EACH = 6 };

static void posted_receives_go_first(int rank, int size)
{
    (void)size;
    int first = 0, second = 0, flag = -1, sent[2] = {10 + rank, 20 + rank};
    MPI_Request receive, sends[2];
    MPI_Status status;
    MPI_Irecv(&first, 1, MPI_INT, rank, MPI_ANY_TAG, MPI_COMM_WORLD, &receive);
    MPI_Isend(&sent[0], 1, MPI_INT, rank, 3, MPI_COMM_WORLD, &sends[0]);
    expect_ok(MPI_Iprobe(MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &flag, &status));
    expect(!flag, "a probe saw a message that a receive has");
    MPI_Isend(&sent[1], 1, MPI_INT, rank, 3, MPI_COMM_WORLD, &sends[1]);
    MPI_Probe(rank, 3, MPI_COMM_WORLD, &status);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    MPI_Recv(&second, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect(first == sent[0] && second == sent[1], "got %d and %d", first, second);
    MPI_Waitall(2, sends, MPI_STATUSES_IGNORE);
}

static void matched_messages_are_out_of_reach(int rank, int size)
{
    (void)size;
    int values[3] = {1, 2, 3}, got[3] = {0}, flag = 0;
    MPI_Request sends[3], last;
    MPI_Message first = MPI_MESSAGE_NULL, second = MPI_MESSAGE_NULL;
    for (int i = 0; i < 3; i++)
        MPI_Isend(&values[i], 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &sends[i]);
    expect_ok(MPI_Mprobe(rank, 0, MPI_COMM_WORLD, &first, MPI_STATUS_IGNORE));
    while (!flag)
        expect_ok(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &second,
                              MPI_STATUS_IGNORE));
    MPI_Recv(&got[2], 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect_ok(MPI_Imrecv(&got[1], 1, MPI_INT, &second, &last));
    expect_ok(MPI_Mrecv(&got[0], 1, MPI_INT, &first, MPI_STATUS_IGNORE));
    MPI_Wait(&last, MPI_STATUS_IGNORE);
    expect(got[0] == 1 && got[1] == 2 && got[2] == 3, "got %d %d %d", got[0], got[1], got[2]);
    expect(first == MPI_MESSAGE_NULL && second == MPI_MESSAGE_NULL, "messages are used up");
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    expect(!flag, "something is left");
    MPI_Waitall(3, sends, MPI_STATUSES_IGNORE);
}

/* Everybody sends to rank 0, which takes what comes by matched probes and receives it backwards. */
static void each_message_is_taken_once(int rank, int size)
{
    enum { MOST = 16 * EACH };
    int values[EACH], last[16], seen[16] = {0}, count = size * EACH;
    MPI_Request sends[EACH];
    for (int i = 0; i < EACH; i++) {
        values[i] = rank * EACH + i;
        MPI_Isend(&values[i], 1, MPI_INT, 0, i % 3, MPI_COMM_WORLD, &sends[i]);
    }
    MPI_Message messages[MOST];
    MPI_Status statuses[MOST], status;
    for (int i = 0; rank == 0 && i < count; i++) {
        int flag = i % 2;
        if (flag)
            MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &messages[i], &statuses[i]);
        while (!flag)
            MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &messages[i],
                        &statuses[i]);
    }
    for (int i = 0; i < 16; i++)
        last[i] = EACH;
    for (int i = count - 1; rank == 0 && i >= 0; i--) {
        int value = -1, from = statuses[i].MPI_SOURCE;
        MPI_Mrecv(&value, 1, MPI_INT, &messages[i], &status);
        expect(value / EACH == from && status.MPI_SOURCE == from &&
                   status.MPI_TAG == statuses[i].MPI_TAG && value % EACH % 3 == status.MPI_TAG,
               "message %d from %d with tag %d", value, from, status.MPI_TAG);
        expect(value % EACH < last[from], "messages of %d are taken out of order", from);
        last[from] = value % EACH;
        seen[from]++;
    }
    for (int i = 0; rank == 0 && i < size; i++)
        expect(seen[i] == EACH, "%d messages of %d", seen[i], i);
    MPI_Waitall(EACH, sends, MPI_STATUSES_IGNORE);
    expect(true, "all are sent");
}

/* What Probe with wildcards said is what a receive with that source and tag gets, whoever else
 * sends meanwhile. */
static void probes_hold_their_word(int rank, int size)
{
    char text[100] = "";
    memset(text, 'x', sizeof text);
    for (int i = 0; rank && i < EACH; i++)
        MPI_Send(text, rank + 7 * i, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
    int next[16] = {0};
    for (int i = 0; rank == 0 && i < EACH * (size - 1); i++) {
        MPI_Status probed, status;
        int announced = -1, came = -1;
        char room[120];
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &probed);
        MPI_Get_count(&probed, MPI_CHAR, &announced);
        MPI_Recv(room, announced, MPI_CHAR, probed.MPI_SOURCE, probed.MPI_TAG, MPI_COMM_WORLD,
                 &status);
        MPI_Get_count(&status, MPI_CHAR, &came);
        int from = probed.MPI_SOURCE, wanted = from + 7 * next[from]++;
        expect(announced == wanted && came == wanted, "%d announced, %d came of %d from %d",
               announced, came, wanted, from);
    }
    expect(true, "all came");
}

static void nobody_has_empty_messages(int rank, int size)
{
    (void)rank, (void)size;
    int flag = 0, value = 5, count = -1;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    expect_ok(MPI_Improbe(MPI_PROC_NULL, 4, MPI_COMM_WORLD, &flag, &message, &status));
    expect(flag && message == MPI_MESSAGE_NO_PROC && status.MPI_SOURCE == MPI_PROC_NULL &&
               status.MPI_TAG == MPI_ANY_TAG,
           "flag %d, source %d", flag, status.MPI_SOURCE);
    expect_ok(MPI_Mrecv(&value, 1, MPI_INT, &message, &status));
    MPI_Get_count(&status, MPI_INT, &count);
    expect(value == 5 && count == 0 && message == MPI_MESSAGE_NULL, "value %d, count %d", value,
           count);
    expect_ok(MPI_Mprobe(MPI_PROC_NULL, 4, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
    MPI_Request request;
    expect_ok(MPI_Imrecv(&value, 1, MPI_INT, &message, &request));
    expect_ok(MPI_Wait(&request, &status));
    expect(status.MPI_SOURCE == MPI_PROC_NULL, "source %d", status.MPI_SOURCE);
}

/* ---- whose errors those of a message in hand are ---- */

/* Of each rank: 1 for each call of the copy's handler, 100 for the world's. */
static int handled[16];
static void by_copy(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    handled[MPIX_World_rank()] += 1;
}

static void by_others(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    handled[MPIX_World_rank()] += 100;
}

/* A message is one of its communicator, and so are the errors of receiving it: a message that is too long, a
 * negative count, a datatype that is none; where the communicator is gone, nobody's but the world's and the rank's own. */
static void errors_of_messages_in_hand(int rank, int size)
{
    enum { WAYS = 4 };
    MPI_Errhandler copys, others;
    MPI_Comm_create_errhandler(by_copy, &copys);
    MPI_Comm_create_errhandler(by_others, &others);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, others);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, others);
    for (int i = 0; i < 4 * WAYS; i++) {
        MPI_Comm copy;
        MPI_Message message;
        MPI_Request request, sent;
        int value[2] = {1, 2}, got[2] = {0}, way = i % WAYS;
        bool later = i / WAYS % 2, gone = i / WAYS / 2;
        MPI_Comm_dup(MPI_COMM_WORLD, &copy);
        MPI_Comm_set_errhandler(copy, copys);
        MPI_Isend(value, 2, MPI_INT, (rank + 1) % size, way, copy, &sent);
        MPI_Mprobe((rank + size - 1) % size, way, copy, &message, MPI_STATUS_IGNORE);
        if (gone)
            MPI_Comm_free(&copy);
        int count = way == 1 ? 1 : way == 2 ? -1 : 2, error;
        MPI_Datatype type = way == 3 ? MPI_DATATYPE_NULL : MPI_INT;
        static const int classes[WAYS] = {MPI_SUCCESS, MPI_ERR_TRUNCATE, MPI_ERR_COUNT,
                                          MPI_ERR_TYPE};
        handled[rank] = 0;
        if (later) {
            error = MPI_Imrecv(got, count, type, &message, &request);
            error = error ? error : MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            error = MPI_Mrecv(got, count, type, &message, MPI_STATUS_IGNORE);
        }
        expect(error == classes[way], "way %d gave %d", way, error);
        expect(gone || handled[rank] == (way > 0), "way %d, %s: the handlers were called %d", way,
               later ? "Imrecv" : "Mrecv", handled[rank]);
        expect((message == MPI_MESSAGE_NULL) == (way < 2), "way %d: the handle", way);
        if (way >= 2) /* it is there still */
            MPI_Mrecv(got, 2, MPI_INT, &message, MPI_STATUS_IGNORE);
        expect(got[0] == 1 && (got[1] == 2 || way == 1), "%d %d came", got[0], got[1]);
        MPI_Wait(&sent, MPI_STATUS_IGNORE);
        if (!gone)
            MPI_Comm_free(&copy);
    }
    MPI_Errhandler_free(&copys);
    MPI_Errhandler_free(&others);
}

static void probes_tell_communicators_apart(int rank, int size)
{
    (void)size;
    MPI_Comm copy;
    int flag = 1, value = rank, got = -1;
    MPI_Request send;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Isend(&value, 1, MPI_INT, rank, 0, copy, &send);
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    expect(!flag, "a probe saw another communicator's message");
    MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, copy, MPI_STATUS_IGNORE);
    MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, copy, MPI_STATUS_IGNORE);
    expect(got == rank, "got %d", got);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    MPI_Comm_free(&copy);
}

/* All three are ready whenever they are looked at. */
static void waiting_is_fair(int rank, int size)
{
    (void)size;
    int got[3], heard[3] = {0}, index;
    MPI_Request requests[3];
    for (int i = 0; i < 3; i++) {
        MPI_Irecv(&got[i], 1, MPI_INT, rank, i, MPI_COMM_WORLD, &requests[i]);
        MPI_Send(&rank, 1, MPI_INT, rank, i, MPI_COMM_WORLD);
    }
    for (int round = 0; round < 30; round++) {
        int flag = round % 2;
        if (flag)
            MPI_Waitany(3, requests, &index, MPI_STATUS_IGNORE);
        while (!flag)
            MPI_Testany(3, requests, &index, &flag, MPI_STATUS_IGNORE);
        heard[index]++;
        MPI_Irecv(&got[index], 1, MPI_INT, rank, index, MPI_COMM_WORLD, &requests[index]);
        MPI_Send(&rank, 1, MPI_INT, rank, index, MPI_COMM_WORLD);
    }
    for (int i = 0; i < 3; i++)
        expect(heard[i] >= 5, "request %d was heard of %d times of 30", i, heard[i]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
}

/* The least patient of those who wait for nothing gives up first; what is on its way is never late,
 * however slow its sender is. */
static void patience_ends_when_nothing_moves(int rank, int size)
{
    int flag = -1, from = -1;
    MPI_Status status;
    for (int i = 0; rank && i < 200 * rank; i++)
        MPIX_Yield();
    if (rank == 0) {
        for (int i = 1; i < size; i++) {
            expect_ok(MPIX_Probe_patient(1, MPI_COMM_WORLD, 1, &flag, &status));
            expect(flag && status.MPI_TAG == 1, "message %d of %d came too late", i, size - 1);
            MPI_Recv(&from, 1, MPI_INT, status.MPI_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    } else {
        MPI_Send(&rank, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    }
    /* Each waits for the word of the one that is less patient; that of rank 0 nobody gives. */
    expect_ok(MPIX_Probe_patient(2, MPI_COMM_WORLD, (uint64_t)rank + 1, &flag, &status));
    expect(flag == (rank > 0), "rank %d of %d: %d", rank, size, flag);
    if (flag)
        MPI_Recv(&from, 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &status);
    expect(!flag || (from == rank - 1 && status.MPI_SOURCE == from), "rank %d heard %d", rank,
           from);
    if (rank + 1 < size)
        MPI_Send(&rank, 1, MPI_INT, rank + 1, 2, MPI_COMM_WORLD);
}

int main(void)
{
    world_test("a probe does not see what a posted receive has", posted_receives_go_first,
               WORLD_BUFFERS);
    world_test("what a matched probe took no other probe or receive sees",
               matched_messages_are_out_of_reach, WORLD_ANY);
    world_test("matched probes of everything take each message once, in each sender's order",
               each_message_is_taken_once, WORLD_ANY);
    world_test("a receive gets what a probe with wildcards announced", probes_hold_their_word,
               WORLD_ANY);
    world_test("matched probes of MPI_PROC_NULL give empty messages", nobody_has_empty_messages,
               WORLD_ANY);
    world_test("errors of receiving a message in hand are those of its communicator",
               errors_of_messages_in_hand, WORLD_ANY);
    world_test("probes tell communicators apart", probes_tell_communicators_apart, WORLD_ANY);
    world_test("Waitany and Testany in a loop hear of every request", waiting_is_fair,
               WORLD_BUFFERS | WORLD_DEFAULT);
    world_test("patience ends when nothing else can happen, the least first",
               patience_ends_when_nothing_moves, WORLD_ANY);
    return tap_done();
}
