/* Every call that only looks whether something is done lets others go on, where it looks in vain: who polls for what another rank
 * does next gets it, and who polls for what nobody does is a livelock. A request that is gone is none for any of them. */
#include "tests/world_harness.h"

enum way {
    TEST,
    TESTALL,
    TESTANY,
    TESTSOME,
    STATUS,
    STATUS_ALL,
    STATUS_ANY,
    STATUS_SOME,
    IPROBE,
    IMPROBE,
    IPROBE_ANY,
    PARRIVED,
    WAYS
};
static const char *const names[WAYS] = {"Test",
                                        "Testall",
                                        "Testany",
                                        "Testsome",
                                        "Request_get_status",
                                        "Request_get_status_all",
                                        "Request_get_status_any",
                                        "Request_get_status_some",
                                        "Iprobe",
                                        "Improbe",
                                        "Iprobe of any source",
                                        "Parrived"};

static enum way way;
static bool nobody_sends;

/* Once; whether it is done. */
static bool look(MPI_Request *request, int *class)
{
    int flag = 0, index = -1, done = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    int error = MPI_SUCCESS;
    switch (way) {
    case TEST:
        error = MPI_Test(request, &flag, MPI_STATUS_IGNORE);
        break;
    case TESTALL:
        error = MPI_Testall(1, request, &flag, MPI_STATUSES_IGNORE);
        break;
    case TESTANY:
        error = MPI_Testany(1, request, &index, &flag, MPI_STATUS_IGNORE);
        break;
    case TESTSOME:
        error = MPI_Testsome(1, request, &done, &index, MPI_STATUSES_IGNORE);
        flag = done != 0;
        break;
    case STATUS:
        error = MPI_Request_get_status(*request, &flag, MPI_STATUS_IGNORE);
        break;
    case STATUS_ALL:
        error = MPI_Request_get_status_all(1, request, &flag, MPI_STATUSES_IGNORE);
        break;
    case STATUS_ANY:
        error = MPI_Request_get_status_any(1, request, &index, &flag, MPI_STATUS_IGNORE);
        break;
    case STATUS_SOME:
        error = MPI_Request_get_status_some(1, request, &done, &index, MPI_STATUSES_IGNORE);
        flag = done != 0;
        break;
    case IPROBE:
        error = MPI_Iprobe(1, 3, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        break;
    case IPROBE_ANY:
        error = MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        break;
    case IMPROBE:
        error = MPI_Improbe(1, 3, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
        if (flag)
            MPI_Mrecv(NULL, 0, MPI_INT, &message, MPI_STATUS_IGNORE);
        break;
    default:
        error = MPI_Parrived(*request, 0, &flag);
    }
    MPI_Error_class(error, class);
    return flag;
}

static bool probes(void)
{
    return way == IPROBE || way == IMPROBE || way == IPROBE_ANY;
}

static void poll_for_one(int rank, int size)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int value = 0, class = -1, waits = 0;
    char byte = 1;
    if (rank == 0) {
        if (way == PARRIVED) {
            MPI_Precv_init(&byte, 1, 1, MPI_CHAR, 1, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
            MPI_Start(&request);
        } else if (!probes()) {
            MPI_Irecv(&value, 0, MPI_INT, 1, 3, MPI_COMM_WORLD, &request);
        }
        while (!look(&request, &class))
            waits++;
        expect(class == MPI_SUCCESS, "class %d", class);
        expect(!nobody_sends, "it got what nobody has sent");
        if (way == IPROBE || way == IPROBE_ANY)
            MPI_Recv(NULL, 0, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (way == PARRIVED)
            MPI_Request_free(&request);
    } else if (rank == 1 && !nobody_sends) {
        for (int i = 0; i < 20; i++)
            MPIX_Yield();
        if (way == PARRIVED) {
            MPI_Psend_init(&byte, 1, 1, MPI_CHAR, 0, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
            MPI_Start(&request);
            MPI_Pready(0, request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            MPI_Request_free(&request);
        } else {
            MPI_Send(NULL, 0, MPI_INT, 0, 3, MPI_COMM_WORLD);
        }
    }
    expect(size == 2, "two ranks");
}

/* The same request once it is gone, of a rank that has made no other since. */
static void use_what_is_gone(int rank, int size)
{
    MPI_Request request, old;
    int class = -1;
    (void)size;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Isend(NULL, 0, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_SELF, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Irecv(NULL, 0, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
    old = request;
    MPI_Send(NULL, 0, MPI_INT, 0, 1, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (way = TEST; way < IPROBE; way++) {
        MPI_Request gone = old;
        look(&gone, &class);
        expect(class == MPI_ERR_REQUEST, "%s: class %d", names[way], class);
    }
    MPI_Error_class(MPI_Wait(&old, MPI_STATUS_IGNORE), &class);
    expect(class == MPI_ERR_REQUEST, "Wait: class %d of rank %d", class, rank);
}

/* ---- whose message a receive has ---- */

static bool peek(MPI_Request request, int source, int tag)
{
    int from = -9, with = -9;
    bool has = sim_request_peek((const void *)request, &from, &with);
    return has ? from == source && with == tag : from == -9 && with == -9 && source < 0;
}

static void peek_at_all(int rank, int size)
{
    MPI_Request request, sent, others[2], persistent;
    int value = rank, got = -1, other = -1, before = (rank + size - 1) % size,
        after = (rank + 1) % size;
    for (int way_to = 0; way_to < 4; way_to++) {
        bool any = way_to % 2, two = way_to / 2; /* of which the second is not received yet */
        expect(peek(MPI_REQUEST_NULL, -1, 0), "no request has a message");
        SIM_Batch_begin();
        MPI_Irecv(&got, 1, MPI_INT, any ? MPI_ANY_SOURCE : before, any ? MPI_ANY_TAG : 5,
                  MPI_COMM_WORLD, &request);
        expect(peek(request, -1, 0), "nothing has been sent");
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Isend(&value, 1, MPI_INT, after, 5, MPI_COMM_WORLD, &sent);
        if (two)
            MPI_Isend(&value, 1, MPI_INT, after, 8, MPI_COMM_WORLD, &others[0]);
        SIM_Batch_end();
        expect(peek(sent, -1, 0), "a send has no message");
        MPI_Barrier(MPI_COMM_WORLD);
        expect(peek(request, before, 5), "whose message it has");
        if (two) {
            MPI_Irecv(&other, 1, MPI_INT, before, 8, MPI_COMM_WORLD, &others[1]);
            MPI_Waitall(2, others, MPI_STATUSES_IGNORE);
            expect(other == before, "the other message of %d", other);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Wait(&sent, MPI_STATUS_IGNORE);
        expect(got == before, "the message of %d", got);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Recv_init(&got, 1, MPI_INT, 0, 6, MPI_COMM_SELF, &persistent);
    expect(peek(persistent, -1, 0), "it has not begun");
    MPI_Start(&persistent);
    expect(peek(persistent, -1, 0), "nobody has sent");
    MPI_Send(&value, 1, MPI_INT, 0, 6, MPI_COMM_SELF);
    expect(peek(persistent, 0, 6), "a persistent one");
    MPI_Wait(&persistent, MPI_STATUS_IGNORE);
    expect(peek(persistent, -1, 0), "it is inactive");
    MPI_Request_free(&persistent);
    MPI_Irecv(&got, 1, MPI_INT, MPI_PROC_NULL, 7, MPI_COMM_SELF, &request);
    expect(peek(request, -1, 0), "nobody's message");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void test_peeks(void)
{
    static const char *const models[] = {"", ", in a rendezvous", ", in batches"};
    for (int model = SIM_SEND_EAGER; model <= SIM_SEND_BATCH; model++)
        for (int late = 0; late < 2; late++) {
            struct sim_world_options options = world_options(3);
            options.send_model = (enum sim_send_model)model;
            options.late_receives = late;
            struct world_result result = world_try(options, peek_at_all);
            tap_is_str(result.outcome == OUTCOME_FINISHED ? result.text
                                                          : world_outcomes[result.outcome],
                       "", "a receive knows whose message it has%s%s", models[model],
                       late ? ", and before it is filled" : "");
        }
}

int main(void)
{
    for (way = TEST; way < WAYS; way++)
        for (int i = 0; i < 2; i++) {
            char name[80];
            nobody_sends = i;
            snprintf(name, sizeof name,
                     i ? "polling by %s for what nobody sends is a livelock"
                       : "who polls by %s lets the sender send",
                     names[way]);
            world_outcome_is(name, world_options(2), poll_for_one,
                             i ? OUTCOME_LIVELOCK : OUTCOME_FINISHED);
        }
    struct world_result result = world_try(world_options(1), use_what_is_gone);
    tap_is_str(result.outcome == OUTCOME_FINISHED ? result.text : world_outcomes[result.outcome],
               "", "a request that is gone is none");
    test_peeks();
    return tap_done();
}
