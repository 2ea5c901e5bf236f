/* Arguments of messages, probes, requests, statuses, partitions and buffers: see borders.h. */
#include "tests/mpi/borders.h"

#include <limits.h>

enum { SENDS = 16, RECEIVES = 12 };

/* Starts a send that is complete at once where its peer is nobody; ends it. */
static int send_by(int form, const void *buffer, int count, MPI_Datatype type, int to, int tag)
{
    MPI_Request r = MPI_REQUEST_NULL;
    int none, error = MPI_SUCCESS;
    MPI_Status *ignored = MPI_STATUS_IGNORE;
    switch (form) {
    case 0:
        return MPI_Send(buffer, count, type, to, tag, world);
    case 1:
        return MPI_Ssend(buffer, count, type, to, tag, world);
    case 2:
        return MPI_Bsend(buffer, count, type, to, tag, world);
    case 3:
        return MPI_Rsend(buffer, count, type, to, tag, world);
    case 4:
        return MPI_Sendrecv(buffer, count, type, to, tag, &none, 1, MPI_INT, MPI_PROC_NULL, 0,
                            world, ignored);
    case 5:
        error = MPI_Isend(buffer, count, type, to, tag, world, &r);
        break;
    case 6:
        error = MPI_Issend(buffer, count, type, to, tag, world, &r);
        break;
    case 7:
        error = MPI_Ibsend(buffer, count, type, to, tag, world, &r);
        break;
    case 8:
        error = MPI_Irsend(buffer, count, type, to, tag, world, &r);
        break;
    case 9:
        error = MPI_Isendrecv(buffer, count, type, to, tag, &none, 1, MPI_INT, MPI_PROC_NULL, 0,
                              world, &r);
        break;
    case 10:
        error = MPI_Send_init(buffer, count, type, to, tag, world, &r);
        break;
    case 11:
        error = MPI_Ssend_init(buffer, count, type, to, tag, world, &r);
        break;
    case 12:
        error = MPI_Bsend_init(buffer, count, type, to, tag, world, &r);
        break;
    case 13:
        error = MPI_Rsend_init(buffer, count, type, to, tag, world, &r);
        break;
    case 14:
        error = MPI_Psend_init(buffer, 2, count, type, to, tag, world, MPI_INFO_NULL, &r);
        break;
    default:
        return MPI_Send_c(buffer, count, type, to, tag, world);
    }
    expect((r == MPI_REQUEST_NULL) == (error != MPI_SUCCESS), "form %d: error %d, request %p", form,
           error, (void *)r);
    if (!error && form < 10)
        MPI_Wait(&r, ignored);
    else if (!error)
        MPI_Request_free(&r);
    return error;
}

static int receive_by(int form, void *buffer, int count, MPI_Datatype type, int from, int tag)
{
    MPI_Request r = MPI_REQUEST_NULL;
    int one = 1, flag, error = MPI_SUCCESS;
    MPI_Message message;
    MPI_Status *ignored = MPI_STATUS_IGNORE;
    switch (form) {
    case 0:
        return MPI_Recv(buffer, count, type, from, tag, world, ignored);
    case 1:
        return MPI_Sendrecv(&one, 1, MPI_INT, MPI_PROC_NULL, 0, buffer, count, type, from, tag,
                            world, ignored);
    case 2:
        return MPI_Recv_c(buffer, count, type, from, tag, world, ignored);
    case 3:
        return MPI_Sendrecv_replace(buffer, count, type, MPI_PROC_NULL, 0, from, tag, world,
                                    ignored);
    case 4:
        error = MPI_Irecv(buffer, count, type, from, tag, world, &r);
        break;
    case 5:
        error = MPI_Isendrecv(&one, 1, MPI_INT, MPI_PROC_NULL, 0, buffer, count, type, from, tag,
                              world, &r);
        break;
    case 6:
        error = MPI_Recv_init(buffer, count, type, from, tag, world, &r);
        break;
    case 7:
        error = MPI_Precv_init(buffer, 2, count, type, from, tag, world, MPI_INFO_NULL, &r);
        break;
    case 8:
        return MPI_Probe(from, tag, world, ignored);
    case 9:
        return MPI_Iprobe(from, tag, world, &flag, ignored);
    case 10:
        error = MPI_Mprobe(from, tag, world, &message, ignored);
        expect(error || message == MPI_MESSAGE_NO_PROC, "Mprobe gave another message");
        return error;
    default:
        error = MPI_Improbe(from, tag, world, &flag, &message, ignored);
        expect(error || (message == MPI_MESSAGE_NO_PROC && flag == 1), "Improbe: %d", flag);
        return error;
    }
    expect((r == MPI_REQUEST_NULL) == (error != MPI_SUCCESS), "form %d: error %d, request %p", form,
           error, (void *)r);
    if (!error && form < 6)
        MPI_Wait(&r, ignored);
    else if (!error)
        MPI_Request_free(&r);
    return error;
}

enum { PROBES = 8, PARTITIONED = 7 }; /* forms that receive and have no buffer; that name all */

/* Where both are allowed the peer is nobody: nothing is sent. */
static void messages_have_borders(int rank, int size)
{
    int value[4] = {0}, *limit, flag;
    (void)rank;
    returning();
    MPI_Comm_get_attr(world, MPI_TAG_UB, (void *)&limit, &flag);
    MPI_Datatype raw;
    MPI_Type_contiguous(2, MPI_INT, &raw);
    const int nobody = MPI_PROC_NULL;
    const struct {
        void *buffer;
        int count;
        MPI_Datatype type;
        int peer, tag, sends, receives, probes;
    } rows[] = {{value, 0, MPI_INT, nobody, 0, 0, 0, 0},
                {value, 1, MPI_INT, nobody, *limit, 0, 0, 0},
                {value, 1, MPI_INT, nobody, *limit + 1, MPI_ERR_TAG, MPI_ERR_TAG, MPI_ERR_TAG},
                {value, 1, MPI_INT, nobody, INT_MIN, MPI_ERR_TAG, MPI_ERR_TAG, MPI_ERR_TAG},
                {value, 1, MPI_INT, nobody, MPI_ANY_TAG, MPI_ERR_TAG, 0, 0},
                {value, -1, MPI_INT, nobody, 0, MPI_ERR_COUNT, MPI_ERR_COUNT, 0},
                {NULL, 0, MPI_INT, nobody, 0, 0, 0, 0},
                {NULL, 1, MPI_INT, nobody, 0, MPI_ERR_BUFFER, MPI_ERR_BUFFER, 0},
                {MPI_IN_PLACE, 1, MPI_INT, nobody, 0, MPI_ERR_BUFFER, MPI_ERR_BUFFER, 0},
                {value, 1, raw, nobody, 0, MPI_ERR_TYPE, MPI_ERR_TYPE, 0},
                {value, 1, MPI_DATATYPE_NULL, nobody, 0, MPI_ERR_TYPE, MPI_ERR_TYPE, 0},
                {value, 1, MPI_INT, size, 0, MPI_ERR_RANK, MPI_ERR_RANK, MPI_ERR_RANK},
                {value, 1, MPI_INT, INT_MIN, 0, MPI_ERR_RANK, MPI_ERR_RANK, MPI_ERR_RANK},
                {value, 1, MPI_INT, INT_MAX, 0, MPI_ERR_RANK, MPI_ERR_RANK, MPI_ERR_RANK}};
    char room[MPI_BSEND_OVERHEAD];
    MPI_Buffer_attach(room, sizeof room);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int form = 0; form < SENDS; form++) {
            int got = send_by(form, rows[i].buffer, rows[i].count, rows[i].type, rows[i].peer,
                              rows[i].tag);
            expect(got == rows[i].sends, "row %zu, send %d: %d, not %d", i, form, got,
                   rows[i].sends);
        }
        for (int form = 0; form < RECEIVES; form++) {
            int wanted = form < PROBES ? rows[i].receives : rows[i].probes;
            if (form == PARTITIONED && rows[i].tag == MPI_ANY_TAG)
                wanted = MPI_ERR_TAG;
            int got = receive_by(form, rows[i].buffer, rows[i].count, rows[i].type, rows[i].peer,
                                 rows[i].tag);
            expect(got == wanted, "row %zu, receive %d: %d, not %d", i, form, got, wanted);
        }
    }
    for (int form = 0; form < SENDS; form++)
        expect(send_by(form, value, 1, MPI_INT, MPI_ANY_SOURCE, 0) == MPI_ERR_RANK,
               "send %d goes to anybody", form);
    int error = receive_by(PARTITIONED, value, 1, MPI_INT, MPI_ANY_SOURCE, 0);
    expect(error == MPI_ERR_RANK, "a partitioned receive from anybody: %d", error);
    void *detached;
    MPI_Buffer_detach(&detached, &flag);
    MPI_Type_free(&raw);
    still_works(rank, size);
}

/* Whom the last rank of a communicator names is there. */
static void the_last_rank_is_a_peer(int rank, int size)
{
    int value = rank, got = -1, last = size - 1, *limit, flag;
    MPI_Request request;
    MPI_Comm_get_attr(world, MPI_TAG_UB, (void *)&limit, &flag);
    MPI_Irecv(&got, 1, MPI_INT, 0, *limit, world, &request);
    if (rank == 0)
        for (int r = 0; r <= last; r++)
            MPI_Send(&value, 1, MPI_INT, r, *limit, world);
    expect_ok(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MPI_Isend(&value, 1, MPI_INT, 0, *limit, world, &request);
    for (int r = last; r >= 0 && rank == 0; r--) {
        MPI_Recv(&got, 1, MPI_INT, r, *limit, world, MPI_STATUS_IGNORE);
        expect(got == r, "of rank %d: %d", r, got);
    }
    expect_ok(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void requests_have_borders(int rank, int size)
{
    returning();
    int value = 0, flag = -1, index = -1, count = -1;
    MPI_Status status = {0}, several[3];
    MPI_Request none = MPI_REQUEST_NULL, request, twice[3];
    expect_class(MPI_Waitall(-1, &none, MPI_STATUSES_IGNORE), MPI_ERR_ARG);
    expect_class(MPI_Waitany(-1, &none, &index, &status), MPI_ERR_ARG);
    expect_class(MPI_Waitsome(-1, &none, &count, &index, &status), MPI_ERR_ARG);
    expect_class(MPI_Testall(-1, &none, &flag, &status), MPI_ERR_ARG);
    expect_class(MPI_Testany(-1, &none, &index, &flag, &status), MPI_ERR_ARG);
    expect_class(MPI_Testsome(-1, &none, &count, &index, &status), MPI_ERR_ARG);
    expect_class(MPI_Request_get_status_all(-1, &none, &flag, &status), MPI_ERR_ARG);
    expect_class(MPI_Request_get_status_any(-1, &none, &index, &flag, &status), MPI_ERR_ARG);
    expect_class(MPI_Request_get_status_some(-1, &none, &count, &index, &status), MPI_ERR_ARG);
    expect_class(MPI_Startall(-1, &none), MPI_ERR_COUNT);
    expect_ok(MPI_Startall(0, NULL));
    expect_ok(MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE));
    expect_ok(MPI_Testall(0, NULL, &flag, MPI_STATUSES_IGNORE));
    expect(flag == 1, "none of no requests is pending: %d", flag);
    expect_ok(MPI_Waitsome(0, NULL, &count, NULL, MPI_STATUSES_IGNORE));
    expect(count == MPI_UNDEFINED, "of none %d", count);
    count = -1;
    expect_ok(MPI_Request_get_status_some(0, NULL, &count, NULL, MPI_STATUSES_IGNORE));
    expect(count == MPI_UNDEFINED, "of none %d are complete", count);
    expect_class(MPI_Test(&none, NULL, &status), MPI_ERR_ARG);
    expect_class(MPI_Waitall(1, NULL, &status), MPI_ERR_ARG);
    expect_class(MPI_Waitany(1, NULL, &index, &status), MPI_ERR_ARG);
    expect_class(MPI_Waitsome(1, NULL, &count, &index, &status), MPI_ERR_ARG);
    expect_class(MPI_Testall(1, NULL, &flag, &status), MPI_ERR_ARG);
    expect_class(MPI_Testany(1, NULL, &index, &flag, &status), MPI_ERR_ARG);
    expect_class(MPI_Testsome(1, NULL, &count, &index, &status), MPI_ERR_ARG);
    expect_class(MPI_Request_get_status_all(1, NULL, &flag, &status), MPI_ERR_ARG);
    expect_class(MPI_Request_get_status_any(1, NULL, &index, &flag, &status), MPI_ERR_ARG);
    expect_class(MPI_Request_get_status_some(1, NULL, &count, &index, &status), MPI_ERR_ARG);
    expect_class(MPI_Waitany(1, &none, NULL, &status), MPI_ERR_ARG);
    expect_class(MPI_Testany(1, &none, NULL, &flag, &status), MPI_ERR_ARG);
    expect_class(MPI_Testany(1, &none, &index, NULL, &status), MPI_ERR_ARG);
    expect_class(MPI_Waitsome(1, &none, NULL, &index, &status), MPI_ERR_ARG);
    expect_class(MPI_Testsome(1, &none, NULL, &index, &status), MPI_ERR_ARG);
    expect_class(MPI_Request_get_status(none, NULL, &status), MPI_ERR_ARG);
    expect_class(MPI_Request_get_status_any(1, &none, NULL, &flag, &status), MPI_ERR_ARG);
    expect_class(MPI_Request_get_status_some(1, &none, NULL, &index, &status), MPI_ERR_ARG);
    expect_class(MPI_Testall(1, &none, NULL, &status), MPI_ERR_ARG);
    expect_class(MPI_Testsome(1, &none, &count, NULL, &status), MPI_ERR_ARG);
    expect_class(MPI_Waitsome(1, &none, &count, NULL, &status), MPI_ERR_ARG);
    expect_class(MPI_Request_get_status_some(1, &none, &count, NULL, &status), MPI_ERR_ARG);
    expect_class(MPI_Request_get_status_all(1, &none, NULL, &status), MPI_ERR_ARG);
    expect_class(MPI_Request_get_status_any(1, &none, &index, NULL, &status), MPI_ERR_ARG);
    expect_class(MPI_Start(&none), MPI_ERR_REQUEST);
    expect_class(MPI_Cancel(&none), MPI_ERR_REQUEST);
    expect_class(MPI_Request_free(&none), MPI_ERR_REQUEST);
    expect_class(MPI_Grequest_complete(none), MPI_ERR_REQUEST);
    expect_class(MPI_Pready(0, none), MPI_ERR_REQUEST);
    flag = 0;
    expect_ok(MPI_Parrived(none, 0, &flag)); /* MPI 4.1, 4.2.2: as an inactive one */
    expect(flag == 1, "no request, and it waits for something");
    expect_class(MPI_Parrived(none, 0, NULL), MPI_ERR_ARG);
    MPI_Ibarrier(world, &request);
    expect_class(MPI_Cancel(&request), MPI_ERR_REQUEST);
    expect_class(MPI_Request_free(&request), MPI_ERR_REQUEST);
    expect_class(MPI_Start(&request), MPI_ERR_REQUEST);
    expect_class(MPI_Grequest_complete(request), MPI_ERR_REQUEST);
    expect_class(MPI_Pready(0, request), MPI_ERR_REQUEST);
    expect_ok(MPI_Wait(&request, MPI_STATUS_IGNORE));
    /* Of one that stands there twice the last place is said. */
    MPI_Irecv(&value, 1, MPI_INT, rank, 5, world, &request);
    twice[0] = twice[2] = request;
    twice[1] = MPI_REQUEST_NULL;
    expect_class(MPI_Waitall(3, twice, several), MPI_ERR_REQUEST);
    expect_class(MPI_Testall(3, twice, &flag, several), MPI_ERR_REQUEST);
    expect_class(MPI_Waitany(3, twice, &index, &status), MPI_ERR_REQUEST);
    twice[2] = MPI_REQUEST_NULL;
    expect_ok(MPI_Testall(3, twice, &flag, several));
    expect(flag == 0, "nothing was sent, but it is there");
    expect_class(MPI_Start(&request), MPI_ERR_REQUEST);
    MPI_Cancel(&request);
    expect_ok(MPI_Wait(&request, &status));
    MPI_Test_cancelled(&status, &flag);
    expect(flag == 1, "it was not cancelled");
    still_works(rank, size);
}

static void statuses_have_borders(int rank, int size)
{
    (void)rank, (void)size;
    returning();
    MPI_Status status = {0}, *no_status = NULL;
    MPI_Datatype odd, no_bytes;
    int count = -7, flag = -1, number = -1;
    MPI_Count wide = -7;
    MPI_Type_contiguous(3, MPI_BYTE, &odd);
    MPI_Type_commit(&odd);
    MPI_Type_contiguous(0, MPI_INT, &no_bytes);
    MPI_Type_commit(&no_bytes);
    expect_class(MPI_Get_count(no_status, MPI_INT, &count), MPI_ERR_ARG);
    expect_class(MPI_Get_count(&status, MPI_INT, NULL), MPI_ERR_ARG);
    expect_class(MPI_Get_count(&status, MPI_DATATYPE_NULL, &count), MPI_ERR_TYPE);
    expect_class(MPI_Get_elements(&status, MPI_INT, NULL), MPI_ERR_ARG);
    expect_class(MPI_Get_elements_x(no_status, MPI_INT, &wide), MPI_ERR_ARG);
    expect_class(MPI_Test_cancelled(&status, NULL), MPI_ERR_ARG);
    expect_class(MPI_Test_cancelled(no_status, &flag), MPI_ERR_ARG);
    expect_class(MPI_Status_set_elements(&status, MPI_INT, -1), MPI_ERR_COUNT);
    expect_class(MPI_Status_set_elements(no_status, MPI_INT, 1), MPI_ERR_ARG);
    expect_class(MPI_Status_set_cancelled(no_status, 1), MPI_ERR_ARG);
    expect_class(MPI_Status_set_source(no_status, 1), MPI_ERR_ARG);
    expect_class(MPI_Status_set_tag(no_status, 1), MPI_ERR_ARG);
    expect_class(MPI_Status_set_error(no_status, 1), MPI_ERR_ARG);
    expect_class(MPI_Status_get_source(&status, NULL), MPI_ERR_ARG);
    expect_class(MPI_Status_get_tag(no_status, &number), MPI_ERR_ARG);
    expect_class(MPI_Status_get_error(&status, NULL), MPI_ERR_ARG);
    for (int bytes = 0; bytes < 14; bytes++) {
        expect_ok(MPI_Status_set_elements(&status, MPI_BYTE, bytes));
        expect_ok(MPI_Get_count(&status, MPI_INT, &count));
        expect(count == (bytes % 4 ? MPI_UNDEFINED : bytes / 4), "%d bytes: %d", bytes, count);
        expect_ok(MPI_Get_count_c(&status, odd, &wide));
        expect(wide == (bytes % 3 ? MPI_UNDEFINED : bytes / 3), "%d bytes: %d", bytes, (int)wide);
        expect_ok(MPI_Get_elements(&status, odd, &count));
        expect(count == bytes, "%d bytes: %d elements", bytes, count);
        expect_ok(MPI_Get_count(&status, no_bytes, &count));
        expect(count == (bytes ? MPI_UNDEFINED : 0), "%d bytes: %d times nothing", bytes, count);
    }
    const MPI_Count most = INT_MAX, beyond = most + 1;
    expect_ok(MPI_Status_set_elements_c(&status, MPI_BYTE, most));
    expect_ok(MPI_Get_count(&status, MPI_BYTE, &count));
    expect(count == INT_MAX, "count %d", count);
    expect_ok(MPI_Get_elements(&status, MPI_BYTE, &count));
    expect(count == INT_MAX, "elements %d", count);
    expect_ok(MPI_Status_set_elements_x(&status, MPI_BYTE, beyond));
    expect_ok(MPI_Get_count(&status, MPI_BYTE, &count));
    expect(count == MPI_UNDEFINED, "count %d", count);
    expect_ok(MPI_Get_elements(&status, MPI_BYTE, &count));
    expect(count == MPI_UNDEFINED, "elements %d", count);
    expect_ok(MPI_Get_count_c(&status, MPI_BYTE, &wide));
    expect(wide == beyond, "wide %lld", (long long)wide);
    expect_ok(MPI_Get_elements_c(&status, MPI_SHORT, &wide));
    expect(wide == beyond / 2, "wide %lld", (long long)wide);
    for (int on = 0; on < 3; on++) {
        expect_ok(MPI_Status_set_cancelled(&status, on));
        expect_ok(MPI_Test_cancelled(&status, &flag));
        expect(flag == (on != 0), "cancelled: %d of %d", flag, on);
    }
    MPI_Status_set_source(&status, 11);
    MPI_Status_set_tag(&status, 12);
    MPI_Status_set_error(&status, 13);
    expect_ok(MPI_Status_get_source(&status, &number));
    expect(number == 11 && status.MPI_SOURCE == 11, "source %d", number);
    expect_ok(MPI_Status_get_tag(&status, &number));
    expect(number == 12 && status.MPI_TAG == 12, "tag %d", number);
    expect_ok(MPI_Status_get_error(&status, &number));
    expect(number == 13 && status.MPI_ERROR == 13, "error %d", number);
    MPI_Type_free(&odd);
    MPI_Type_free(&no_bytes);
}

static void partitions_have_borders(int rank, int size)
{
    returning();
    int sent[6] = {0}, got[6], flag = -1, list[] = {0, 3};
    MPI_Request send, receive;
    const MPI_Info no_info = MPI_INFO_NULL;
    expect_class(MPI_Psend_init(sent, -1, 1, MPI_INT, rank, 0, world, no_info, &send), MPI_ERR_ARG);
    expect_class(MPI_Precv_init(got, -1, 1, MPI_INT, rank, 0, world, no_info, &send), MPI_ERR_ARG);
    MPI_Psend_init(sent, 3, 2, MPI_INT, rank, 0, world, no_info, &send);
    expect_class(MPI_Precv_init(got, 5, 1, MPI_INT, rank, 0, world, no_info, &receive),
                 MPI_ERR_TRUNCATE);
    expect_ok(MPI_Precv_init(got, 2, 3, MPI_INT, rank, 0, world, no_info, &receive));
    expect_class(MPI_Pready(0, send), MPI_ERR_REQUEST); /* not started */
    MPI_Start(&send);
    MPI_Start(&receive);
    expect_class(MPI_Pready(3, send), MPI_ERR_ARG);
    expect_class(MPI_Pready(-1, send), MPI_ERR_ARG);
    expect_class(MPI_Pready(0, receive), MPI_ERR_REQUEST);
    expect_class(MPI_Pready_range(1, 3, send), MPI_ERR_ARG);
    expect_class(MPI_Pready_range(2, 1, send), MPI_ERR_ARG);
    expect_class(MPI_Pready_range(-1, 1, send), MPI_ERR_ARG);
    expect_class(MPI_Pready_list(2, list, send), MPI_ERR_ARG);
    expect_class(MPI_Pready_list(-1, list, send), MPI_ERR_ARG);
    expect_class(MPI_Pready_list(1, NULL, send), MPI_ERR_ARG);
    expect_ok(MPI_Pready_list(0, NULL, send));
    expect_class(MPI_Parrived(send, 0, &flag), MPI_ERR_REQUEST);
    expect_class(MPI_Parrived(receive, 2, &flag), MPI_ERR_ARG);
    expect_class(MPI_Parrived(receive, -1, &flag), MPI_ERR_ARG);
    expect_class(MPI_Parrived(receive, 0, NULL), MPI_ERR_ARG);
    expect_class(MPI_Cancel(&send), MPI_ERR_REQUEST);
    expect_class(MPI_Start(&send), MPI_ERR_REQUEST);
    expect_ok(MPI_Parrived(receive, 1, &flag));
    expect(flag == 0, "nothing was ready, but it has arrived");
    expect_ok(MPI_Pready_range(1, 1, send));
    expect_class(MPI_Pready(1, send), MPI_ERR_ARG);          /* again */
    expect_class(MPI_Pready_range(1, 2, send), MPI_ERR_ARG); /* and no more than up to there */
    list[0] = 1;
    list[1] = 2;
    expect_class(MPI_Pready_list(2, list, send), MPI_ERR_ARG);
    list[0] = 0;
    expect_ok(MPI_Pready_list(2, list, send));
    expect_ok(MPI_Parrived(receive, 1, &flag));
    expect(flag == 1, "all was ready, but it has not arrived");
    expect_ok(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    expect_ok(MPI_Wait(&send, MPI_STATUS_IGNORE));
    MPI_Request_free(&send);
    MPI_Request_free(&receive);
    still_works(rank, size);
}

static void buffers_have_borders(int rank, int size)
{
    returning();
    char room[2 * MPI_BSEND_OVERHEAD];
    void *at;
    int bytes = -1;
    expect_class(MPI_Buffer_detach(&at, &bytes), MPI_ERR_BUFFER);
    expect_class(MPI_Buffer_attach(room, -1), MPI_ERR_ARG);
    expect_class(MPI_Buffer_attach(NULL, 1), MPI_ERR_BUFFER);
    expect_ok(MPI_Buffer_attach(NULL, 0));
    expect_class(MPI_Buffer_attach(room, 8), MPI_ERR_BUFFER);
    expect_class(MPI_Bsend(&rank, 1, MPI_INT, rank, 0, world), MPI_ERR_BUFFER);
    expect_ok(MPI_Buffer_detach(&at, &bytes));
    expect(at == NULL && bytes == 0, "%d bytes at %p", bytes, at);
    expect_ok(MPI_Buffer_attach(room, sizeof room));
    expect_ok(MPI_Buffer_detach(&at, &bytes));
    expect(at == room && bytes == sizeof room, "%d bytes at %p", bytes, at);
    static const MPI_Count sizes[] = {0, 1, INT_MAX, (MPI_Count)INT_MAX + 1, (MPI_Count)1 << 40};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) { /* nobody looks within */
        MPI_Count wide = -1;
        expect_ok(MPI_Buffer_attach_c(room, sizes[i]));
        expect_ok(MPI_Buffer_detach(&at, &bytes));
        expect(at == room && bytes == (sizes[i] > INT_MAX ? MPI_UNDEFINED : (int)sizes[i]),
               "%d bytes of %lld", bytes, (long long)sizes[i]);
        expect_ok(MPI_Buffer_attach_c(room, sizes[i]));
        expect_ok(MPI_Buffer_detach_c(&at, &wide));
        expect(at == room && wide == sizes[i], "%lld bytes", (long long)wide);
    }
    for (int given = -1; given < 2; given++) { /* its size is irrelevant */
        expect_ok(MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, given));
        expect_ok(MPI_Buffer_detach(&at, &bytes));
        expect(at == MPI_BUFFER_AUTOMATIC && bytes >= 0, "%d bytes", bytes);
    }
    expect_ok(MPI_Buffer_flush());
    still_works(rank, size);
}

int main(void)
{
    borders("messages name whom, what and how there is", messages_have_borders);
    borders("the last rank and the last tag are of use", the_last_rank_is_a_peer);
    borders("requests are waited for as they are", requests_have_borders);
    borders("statuses count what there is", statuses_have_borders);
    borders("partitions are those there are", partitions_have_borders);
    borders("one buffer is attached, of no negative size", buffers_have_borders);
    return tap_done();
}
