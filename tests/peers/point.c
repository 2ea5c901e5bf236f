/* Messages: order, tags, statuses, probes, modes, requests. */
#include "peer.h"

static void say_status(const char *what, MPI_Status *status, MPI_Datatype type)
{
    int count = -1, cancelled = -1;
    MPI_Get_count(status, type, &count);
    MPI_Test_cancelled(status, &cancelled);
    say("%s: from %s tag %d count %s cancelled %d", what, peer_name(status->MPI_SOURCE),
        status->MPI_TAG, count_name(count), cancelled);
}

static void order(void)
{
    int next = (rank + 1) % size, previous = (rank + size - 1) % size, values[6], got[6];
    MPI_Request requests[12];
    MPI_Status statuses[12];
    for (int i = 0; i < 6; i++) {
        values[i] = rank * 10 + i;
        MPI_Isend(&values[i], 1, MPI_INT, next, i % 2, MPI_COMM_WORLD, &requests[i]);
    }
    for (int i = 0; i < 6; i++)
        MPI_Irecv(&got[i], 1, MPI_INT, previous, i < 3 ? 1 : MPI_ANY_TAG, MPI_COMM_WORLD,
                  &requests[6 + i]);
    MPI_Waitall(12, requests, statuses);
    say("order of arrival %s", numbers(got, 6));
    for (int i = 0; i < 6; i++)
        say_status("receive", &statuses[6 + i], MPI_INT);
}

static void sizes(void)
{
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    double values[4] = {1, 2, 3, 4}, got[4] = {0};
    MPI_Status status;
    MPI_Request request;
    MPI_Isend(values, 3, MPI_DOUBLE, next, 5, MPI_COMM_WORLD, &request);
    MPI_Probe(previous, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    int probed = -1;
    MPI_Get_count(&status, MPI_DOUBLE, &probed);
    say("probe: from %s tag %d count %d", peer_name(status.MPI_SOURCE), status.MPI_TAG, probed);
    MPI_Recv(got, 4, MPI_DOUBLE, previous, 5, MPI_COMM_WORLD, &status);
    say_status("as doubles", &status, MPI_DOUBLE);
    say_status("as bytes", &status, MPI_BYTE);
    MPI_Datatype pair;
    MPI_Type_contiguous(2, MPI_DOUBLE, &pair);
    MPI_Type_commit(&pair);
    int elements = -1;
    say_status("as pairs", &status, pair);
    MPI_Get_elements(&status, pair, &elements);
    say("elements %d, last %g, beyond %g", elements, got[2], got[3]);
    MPI_Type_free(&pair);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void nobody(void)
{
    int value = 7;
    MPI_Status status;
    MPI_Request request;
    MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status);
    say("nobody: from %s any tag %d value %d", peer_name(status.MPI_SOURCE),
        status.MPI_TAG == MPI_ANY_TAG, value);
    MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);
    /* The source is left out: MPICH 4.0 says 0. */
    say("nobody later: value %d null %d", value, request == MPI_REQUEST_NULL);
    MPI_Wait(&request, &status);
    say("empty status: from %s any tag %d", peer_name(status.MPI_SOURCE),
        status.MPI_TAG == MPI_ANY_TAG);
}

static void truncation(void)
{
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    int values[4] = {1, 2, 3, 4}, got[4] = {0};
    MPI_Request requests[3];
    MPI_Status statuses[3];
    MPI_Irecv(got, 4, MPI_INT, previous, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(got + 2, 1, MPI_INT, previous, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Isend(values, 2, MPI_INT, next, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Wait(&requests[2], MPI_STATUS_IGNORE);
    MPI_Isend(values, 4, MPI_INT, next, 2, MPI_COMM_WORLD, &requests[2]);
    MPI_Barrier(MPI_COMM_WORLD);
    int code = MPI_Waitall(2, requests, statuses);
    say("truncation: %s, beyond %d", class_name(code), got[3]);
    if (!strcmp(class_name(code), "in status"))
        say("of each: %s, %s", class_name(statuses[0].MPI_ERROR),
            class_name(statuses[1].MPI_ERROR));
    MPI_Wait(&requests[2], MPI_STATUS_IGNORE);
}

static void cancelling(void)
{
    int got = -1;
    MPI_Request request;
    MPI_Status status;
    int cancelled = -1;
    MPI_Irecv(&got, 1, MPI_INT, (rank + 1) % size, 77, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    say("cancelled %d, got %d", cancelled, got);
}

static void persistent(void)
{
    int next = (rank + 1) % size, previous = (rank + size - 1) % size, value, got = -1, flag = -1;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Send_init(&value, 1, MPI_INT, next, 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(&got, 1, MPI_INT, previous, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[1]);
    MPI_Test(&requests[1], &flag, &statuses[1]);
    say("inactive: complete %d from %s", flag, peer_name(statuses[1].MPI_SOURCE));
    for (int i = 0; i < 3; i++) {
        value = rank + 100 * i;
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, statuses);
        say("round %d: %d from %s null %d", i, got, peer_name(statuses[1].MPI_SOURCE),
            requests[1] == MPI_REQUEST_NULL);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

static void modes(void)
{
    int next = (rank + 1) % size, previous = (rank + size - 1) % size, got = -1, back = -1;
    int room = 2 * ((int)sizeof(int) + MPI_BSEND_OVERHEAD);
    char *buffer = malloc((size_t)room), *returned = NULL;
    MPI_Request request;
    MPI_Buffer_attach(buffer, room);
    MPI_Bsend(&rank, 1, MPI_INT, next, 1, MPI_COMM_WORLD);
    MPI_Recv(&got, 1, MPI_INT, previous, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Buffer_detach(&returned, &back);
    say("buffered %d, detached the same %d", got, returned == buffer && back == room);
    free(buffer);
    MPI_Irecv(&got, 1, MPI_INT, previous, 2, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Rsend(&rank, 1, MPI_INT, next, 2, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    say("ready %d", got);
    MPI_Irecv(&got, 1, MPI_INT, previous, 3, MPI_COMM_WORLD, &request);
    MPI_Ssend(&rank, 1, MPI_INT, next, 3, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    say("synchronous %d", got);
    MPI_Sendrecv_replace(&got, 1, MPI_INT, next, 4, previous, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    say("replaced %d", got);
}

static void matched_probe(void)
{
    int next = (rank + 1) % size, previous = (rank + size - 1) % size, got = -1;
    int values[2] = {rank, rank + 50};
    MPI_Request requests[2];
    MPI_Message first, second;
    MPI_Status status;
    for (int i = 0; i < 2; i++)
        MPI_Isend(&values[i], 1, MPI_INT, next, 6, MPI_COMM_WORLD, &requests[i]);
    MPI_Mprobe(previous, 6, MPI_COMM_WORLD, &first, &status);
    MPI_Mprobe(previous, 6, MPI_COMM_WORLD, &second, &status);
    MPI_Mrecv(&got, 1, MPI_INT, &second, &status);
    say("the second message %d, null %d", got, second == MPI_MESSAGE_NULL);
    MPI_Mrecv(&got, 1, MPI_INT, &first, &status);
    say_status("the first", &status, MPI_INT);
    say("the first message %d", got);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void several(void)
{
    int got[3], index = -1, flag = -1, count = -1, indices[3];
    MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status status;
    MPI_Waitany(3, requests, &index, &status);
    say("of none: %s", count_name(index));
    MPI_Testany(3, requests, &index, &flag, &status);
    say("of none tested: %s %d", count_name(index), flag);
    MPI_Waitsome(3, requests, &count, indices, MPI_STATUSES_IGNORE);
    say("of none some: %s", count_name(count));
    MPI_Testall(3, requests, &flag, MPI_STATUSES_IGNORE);
    say("of none all: %d", flag);
    MPI_Irecv(&got[1], 1, MPI_INT, rank, 8, MPI_COMM_WORLD, &requests[1]);
    MPI_Send(&rank, 1, MPI_INT, rank, 8, MPI_COMM_WORLD);
    MPI_Waitany(3, requests, &index, &status);
    say("the only one: %d from itself %d", index, status.MPI_SOURCE == rank);
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    order();
    sizes();
    nobody();
    if (size > 1) /* to itself, Open MPI 4.1 truncates in silence */
        truncation();
    cancelling();
    persistent();
    modes();
    matched_probe();
    several();
    return told();
}
