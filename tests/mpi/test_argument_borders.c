/* Arguments at the borders of what the standard allows: the last that is allowed and the first that is
 * not, with its error class, for messages, requests, groups, communicators, topologies and hints. What
 * is refused changes nothing: in the end the communicator works. */
#include "tests/world_harness.h"

#include <limits.h>

static MPI_Comm world = MPI_COMM_WORLD;
/* gcc would look at what they point to. */
static const int *volatile plain = MPI_UNWEIGHTED, *volatile empty = MPI_WEIGHTS_EMPTY;

static void returning(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
}

static void still_works(int rank, int size)
{
    int sum = -1;
    expect_ok(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, world));
    expect(sum == size * (size - 1) / 2, "the sum is %d", sum);
}

/* ---- messages ---- */

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
    expect_class(MPI_Parrived(none, 0, &flag), MPI_ERR_REQUEST);
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
    expect_ok(MPI_Buffer_flush());
    still_works(rank, size);
}

/* ---- groups ---- */

static int range_of(MPI_Group all, int first, int last, int stride, bool includes)
{
    int range[1][3] = {{first, last, stride}}, members = -1;
    MPI_Group made = MPI_GROUP_NULL;
    int error = includes ? MPI_Group_range_incl(all, 1, range, &made)
                         : MPI_Group_range_excl(all, 1, range, &made);
    if (error)
        return -error;
    MPI_Group_size(made, &members);
    MPI_Group_free(&made);
    return members;
}

static void groups_have_borders(int rank, int size)
{
    returning();
    MPI_Group all, made, none = MPI_GROUP_NULL;
    MPI_Comm comm;
    int last = size - 1, number = -1, out = -1, range[1][3] = {{0, 0, 1}};
    const int same[] = {last, last}, null = MPI_PROC_NULL, minus = -1;
    MPI_Comm_group(world, &all);
    expect_class(MPI_Group_size(none, &number), MPI_ERR_GROUP);
    expect_class(MPI_Group_size(all, NULL), MPI_ERR_ARG);
    expect_class(MPI_Group_rank(none, &number), MPI_ERR_GROUP);
    expect_class(MPI_Group_rank(all, NULL), MPI_ERR_ARG);
    expect_class(MPI_Group_compare(all, none, &number), MPI_ERR_GROUP);
    expect_class(MPI_Group_compare(none, all, &number), MPI_ERR_GROUP);
    expect_class(MPI_Group_compare(all, all, NULL), MPI_ERR_ARG);
    expect_class(MPI_Group_union(all, none, &made), MPI_ERR_GROUP);
    expect_class(MPI_Group_intersection(none, all, &made), MPI_ERR_GROUP);
    expect_class(MPI_Group_difference(all, all, NULL), MPI_ERR_ARG);
    expect_class(MPI_Group_free(NULL), MPI_ERR_GROUP);
    expect_class(MPI_Group_free(&none), MPI_ERR_GROUP);
    expect_class(MPI_Group_incl(all, -1, same, &made), MPI_ERR_ARG);
    expect_class(MPI_Group_incl(all, 1, NULL, &made), MPI_ERR_ARG);
    expect_class(MPI_Group_incl(all, 1, &size, &made), MPI_ERR_RANK);
    expect_class(MPI_Group_incl(all, 1, &minus, &made), MPI_ERR_RANK);
    expect_class(MPI_Group_incl(all, 2, same, &made), MPI_ERR_RANK);
    expect_class(MPI_Group_excl(all, 2, same, &made), MPI_ERR_RANK);
    expect_class(MPI_Group_incl(all, 1, same, NULL), MPI_ERR_ARG);
    expect_class(MPI_Group_incl(none, 1, same, &made), MPI_ERR_GROUP);
    expect_ok(MPI_Group_incl(all, 0, NULL, &made));
    expect(made == MPI_GROUP_EMPTY, "nobody is not the empty group");
    expect_ok(MPI_Group_incl(all, 1, same, &made));
    MPI_Group_rank(made, &number);
    expect(number == (rank == last ? 0 : MPI_UNDEFINED), "rank %d", number);
    expect_class(MPI_Group_translate_ranks(all, -1, same, made, &out), MPI_ERR_ARG);
    expect_class(MPI_Group_translate_ranks(all, 1, NULL, made, &out), MPI_ERR_ARG);
    expect_class(MPI_Group_translate_ranks(all, 1, same, made, NULL), MPI_ERR_ARG);
    expect_class(MPI_Group_translate_ranks(all, 1, &size, made, &out), MPI_ERR_RANK);
    expect_class(MPI_Group_translate_ranks(all, 1, &minus, made, &out), MPI_ERR_RANK);
    expect_class(MPI_Group_translate_ranks(none, 1, same, made, &out), MPI_ERR_GROUP);
    expect_class(MPI_Group_translate_ranks(all, 1, same, none, &out), MPI_ERR_GROUP);
    expect_ok(MPI_Group_translate_ranks(all, 0, NULL, made, NULL));
    expect_ok(MPI_Group_translate_ranks(all, 1, &null, made, &out));
    expect(out == MPI_PROC_NULL, "nobody becomes %d", out);
    expect_ok(MPI_Group_translate_ranks(all, 1, same, made, &out));
    expect(out == 0, "the last becomes %d", out);
    MPI_Group_free(&made);
    for (int includes = 0; includes < 2; includes++)
        for (int first = -1; first <= size; first++)
            for (int to = -1; to <= size; to++)
                for (int stride = -3; stride <= 3; stride++) {
                    int members = 0, wrong = stride == 0 || (to - first) * stride < 0;
                    for (int r = first; !wrong && (stride > 0 ? r <= to : r >= to); r += stride) {
                        members++;
                        wrong |= r < 0 || r >= size ? 2 : 0;
                    }
                    int got = range_of(all, first, to, stride, includes);
                    int wanted = includes ? members : size - members;
                    expect(wrong ? got == -(wrong == 1 ? MPI_ERR_ARG : MPI_ERR_RANK)
                                 : got == wanted,
                           "%d to %d by %d: %d", first, to, stride, got);
                }
    expect_class(MPI_Group_range_incl(all, -1, range, &made), MPI_ERR_ARG);
    expect_class(MPI_Group_range_incl(all, 1, NULL, &made), MPI_ERR_ARG);
    expect_class(MPI_Group_range_incl(none, 1, range, &made), MPI_ERR_GROUP);
    expect_class(MPI_Group_range_incl(all, 1, range, NULL), MPI_ERR_ARG);
    expect_class(MPI_Comm_create(world, none, &comm), MPI_ERR_GROUP);
    expect_class(MPI_Comm_create_group(world, none, 0, &comm), MPI_ERR_GROUP);
    expect_class(MPI_Comm_create_group(world, all, -1, &comm), MPI_ERR_TAG);
    expect_class(MPI_Comm_create_from_group(none, "x", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm),
                 MPI_ERR_GROUP);
    expect_class(MPI_Comm_create_from_group(all, NULL, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm),
                 MPI_ERR_ARG);
    expect_class(MPI_Comm_create_from_group(all, "x", MPI_INFO_NULL, MPI_ERRHANDLER_NULL, &comm),
                 MPI_ERR_ERRHANDLER);
    if (size > 1) {
        MPI_Group_incl(all, 1, &(int){(rank + 1) % size}, &made);
        expect_class(MPI_Comm_create_from_group(made, "x", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm),
                     MPI_ERR_GROUP);
        expect_class(MPI_Comm_create(MPI_COMM_SELF, made, &comm), MPI_ERR_GROUP);
        expect_ok(MPI_Comm_create_group(world, made, 0, &comm));
        expect(comm == MPI_COMM_NULL, "who is not in it has a communicator");
        MPI_Group_free(&made);
    }
    MPI_Group_free(&all);
    still_works(rank, size);
}

/* ---- communicators ---- */

static void communicators_have_borders(int rank, int size)
{
    returning();
    MPI_Comm made = MPI_COMM_NULL, none = MPI_COMM_NULL, both = MPI_COMM_NULL;
    int number = -1, last = size - 1;
    MPI_Comm predefined[] = {MPI_COMM_WORLD, MPI_COMM_SELF};
    expect_class(MPI_Comm_free(&predefined[0]), MPI_ERR_COMM);
    expect_class(MPI_Comm_free(&predefined[1]), MPI_ERR_COMM);
    expect_class(MPI_Comm_free(&none), MPI_ERR_COMM);
    expect_class(MPI_Comm_split(world, -1, 0, &made), MPI_ERR_ARG);
    expect_class(MPI_Comm_split_type(world, 12345, 0, MPI_INFO_NULL, &made), MPI_ERR_ARG);
    static const int types[] = {MPI_COMM_TYPE_SHARED, MPI_COMM_TYPE_HW_GUIDED,
                                MPI_COMM_TYPE_HW_UNGUIDED, MPI_COMM_TYPE_RESOURCE_GUIDED,
                                MPI_UNDEFINED};
    for (int i = 0; i < 5; i++) {
        expect_ok(MPI_Comm_split_type(world, types[i], -rank, MPI_INFO_NULL, &made));
        expect((made != MPI_COMM_NULL) == (i == 0), "type %d", i);
        if (made != MPI_COMM_NULL) {
            MPI_Comm_rank(made, &number);
            expect(number == last - rank, "rank %d", number);
            MPI_Comm_free(&made);
        }
    }
    expect_class(MPI_Comm_remote_size(world, &number), MPI_ERR_COMM);
    expect_class(MPI_Comm_remote_group(world, &(MPI_Group){MPI_GROUP_NULL}), MPI_ERR_COMM);
    expect_class(MPI_Intercomm_merge(world, 0, &made), MPI_ERR_COMM);
    expect_class(MPI_Intercomm_create(world, -1, world, 0, 0, &made), MPI_ERR_RANK);
    expect_class(MPI_Intercomm_create(world, size, world, 0, 0, &made), MPI_ERR_RANK);
    MPI_Comm half;
    MPI_Comm_split(world, rank == last, 0, &half);
    if (size > 1) {
        bool leads = rank == 0 || rank == last; /* the others' peers and tags mean nothing */
        if (rank == last) {
            expect_class(MPI_Intercomm_create(half, 0, world, size, 0, &both), MPI_ERR_RANK);
            expect_class(MPI_Intercomm_create(half, 0, world, -1, 0, &both), MPI_ERR_RANK);
            expect_class(MPI_Intercomm_create(half, 0, world, 0, -1, &both), MPI_ERR_TAG);
            expect_class(MPI_Intercomm_create(half, 0, none, 0, 0, &both), MPI_ERR_COMM);
        }
        expect_ok(MPI_Intercomm_create(half, 0, leads ? world : none,
                                       rank == last ? 0
                                       : leads      ? last
                                                    : -5,
                                       leads ? 0 : -1, &both));
        expect_ok(MPI_Comm_remote_size(both, &number));
        expect(number == (rank == last ? last : 1), "%d across", number);
        expect_class(MPI_Intercomm_create(both, 0, world, 0, 0, &made), MPI_ERR_COMM);
        expect_class(MPI_Comm_create_group(both, MPI_GROUP_EMPTY, 0, &made), MPI_ERR_COMM);
        expect_class(MPI_Cart_create(both, 1, &(int){1}, &(int){0}, 0, &made), MPI_ERR_COMM);
        MPI_Comm_free(&both);
    }
    MPI_Comm_free(&half);
    expect_class(MPI_Comm_set_errhandler(world, MPI_ERRHANDLER_NULL), MPI_ERR_ERRHANDLER);
    still_works(rank, size);
}

/* ---- topologies ---- */

static void topologies_have_borders(int rank, int size)
{
    returning();
    MPI_Comm grid = MPI_COMM_NULL, made = MPI_COMM_NULL;
    int number = -1, other = -1, two[2], zero[2] = {0, 0}, periods[2] = {0, 1};
    int extents[2] = {size, 1}, large[2] = {size, 2}, bad[2] = {size, 0}, minus = -1, plus = size;
    expect_class(MPI_Dims_create(0, 1, zero), MPI_ERR_ARG);
    expect_class(MPI_Dims_create(1, -1, zero), MPI_ERR_ARG);
    expect_class(MPI_Dims_create(1, 1, NULL), MPI_ERR_ARG);
    expect_class(MPI_Dims_create(1, 1, &minus), MPI_ERR_DIMS);
    expect_class(MPI_Dims_create(5, 2, (int[]){0, 2}), MPI_ERR_DIMS);
    expect_class(MPI_Dims_create(6, 1, (int[]){3}), MPI_ERR_DIMS);
    expect_ok(MPI_Dims_create(6, 1, (int[]){6}));
    expect_ok(MPI_Dims_create(7, 0, NULL));
    expect_class(MPI_Cart_create(world, -1, extents, periods, 0, &grid), MPI_ERR_DIMS);
    expect_class(MPI_Cart_create(world, 2, NULL, periods, 0, &grid), MPI_ERR_ARG);
    expect_class(MPI_Cart_create(world, 2, extents, NULL, 0, &grid), MPI_ERR_ARG);
    expect_class(MPI_Cart_create(world, 2, bad, periods, 0, &grid), MPI_ERR_DIMS);
    expect_class(MPI_Cart_create(world, 2, large, periods, 0, &grid), MPI_ERR_DIMS);
    expect_class(MPI_Cart_create(world, 2, (int[]){65536, 65536}, periods, 0, &grid), MPI_ERR_DIMS);
    expect_class(MPI_Cart_map(world, 2, large, periods, &number), MPI_ERR_DIMS);
    expect_ok(MPI_Cart_map(world, 1, (int[]){size > 1 ? size - 1 : 1}, periods, &number));
    expect(number == (size > 1 && rank == size - 1 ? MPI_UNDEFINED : rank), "mapped to %d", number);
    expect_ok(MPI_Cart_create(world, 0, NULL, NULL, 0, &grid));
    expect((grid != MPI_COMM_NULL) == (rank == 0), "a point is of rank 0 alone");
    if (grid != MPI_COMM_NULL) {
        expect_ok(MPI_Cartdim_get(grid, &number));
        expect(number == 0, "a point has %d dimensions", number);
        expect_ok(MPI_Cart_get(grid, 0, NULL, NULL, NULL));
        MPI_Comm_free(&grid);
    }
    expect_ok(MPI_Cart_create(world, 2, extents, periods, 0, &grid));
    expect_class(MPI_Cart_get(grid, 1, two, two, two), MPI_ERR_ARG);
    expect_class(MPI_Cart_coords(grid, rank, 1, two), MPI_ERR_ARG);
    expect_class(MPI_Cart_coords(grid, minus, 2, two), MPI_ERR_RANK);
    expect_class(MPI_Cart_coords(grid, plus, 2, two), MPI_ERR_RANK);
    expect_ok(MPI_Cart_coords(grid, size - 1, 2, two));
    expect(two[0] == size - 1 && two[1] == 0, "the last is at %d, %d", two[0], two[1]);
    expect_class(MPI_Cart_rank(grid, (int[]){size, 0}, &number), MPI_ERR_ARG);
    expect_class(MPI_Cart_rank(grid, (int[]){-1, 0}, &number), MPI_ERR_ARG);
    expect_ok(MPI_Cart_rank(grid, (int[]){size - 1, -7}, &number));
    expect(number == size - 1, "it is %d", number);
    expect_class(MPI_Cart_shift(grid, -1, 1, &number, &other), MPI_ERR_DIMS);
    expect_class(MPI_Cart_shift(grid, 2, 1, &number, &other), MPI_ERR_DIMS);
    static const int far[] = {INT_MIN, -2, -1, 0, 1, 2, INT_MAX};
    for (int i = 0; i < 7; i++) {
        long long to = (long long)rank + far[i], from = (long long)rank - far[i];
        expect_ok(MPI_Cart_shift(grid, 0, far[i], &number, &other));
        expect(other == (to >= 0 && to < size ? to : MPI_PROC_NULL) &&
                   number == (from >= 0 && from < size ? from : MPI_PROC_NULL),
               "by %d: from %d to %d", far[i], number, other);
        expect_ok(MPI_Cart_shift(grid, 1, far[i], &number, &other));
        expect(number == rank && other == rank, "round: from %d to %d", number, other);
    }
    expect_class(MPI_Graphdims_get(grid, &number, &other), MPI_ERR_TOPOLOGY);
    expect_class(MPI_Dist_graph_neighbors_count(grid, &number, &other, two), MPI_ERR_TOPOLOGY);
    expect_class(MPI_Cartdim_get(world, &number), MPI_ERR_TOPOLOGY);
    expect_class(MPI_Cart_sub(world, two, &made), MPI_ERR_TOPOLOGY);
    MPI_Comm_free(&grid);
    still_works(rank, size);
}

static void graphs_have_borders(int rank, int size)
{
    returning();
    MPI_Comm graph = MPI_COMM_NULL, made = MPI_COMM_NULL;
    int index[17], edges[16], number = -1, in, out, weighted, back[17] = {0}, minus = -1;
    const int one = 1, last = size - 1;
    const MPI_Info no_info = MPI_INFO_NULL;
    for (int r = 0; r <= size; r++) {
        index[r] = r + 1;
        edges[r % 16] = (r + 1) % size;
    }
    expect_class(MPI_Graph_create(world, -1, index, edges, 0, &graph), MPI_ERR_ARG);
    expect_class(MPI_Graph_create(world, size + 1, index, edges, 0, &graph), MPI_ERR_ARG);
    expect_class(MPI_Graph_create(world, size, NULL, edges, 0, &graph), MPI_ERR_ARG);
    expect_class(MPI_Graph_create(world, 1, &minus, edges, 0, &graph), MPI_ERR_ARG);
    expect_class(MPI_Graph_create(world, 1, &one, &one, 0, &graph), MPI_ERR_ARG);
    expect_class(MPI_Graph_create(world, 1, &one, &minus, 0, &graph), MPI_ERR_ARG);
    if (size > 1)
        expect_class(MPI_Graph_create(world, 2, (int[]){2, 1}, (int[]){0, 0}, 0, &graph),
                     MPI_ERR_ARG);
    expect_ok(MPI_Graph_create(world, 0, NULL, NULL, 0, &graph));
    expect(graph == MPI_COMM_NULL, "a graph of nobody");
    expect_ok(MPI_Graph_map(world, last ? last : 1, index, (int[16]){0}, &number));
    expect(number == (last && rank == last ? MPI_UNDEFINED : rank), "mapped to %d", number);
    expect_ok(MPI_Graph_create(world, size, index, edges, 0, &graph));
    expect_class(MPI_Graph_get(graph, -1, 0, back, back), MPI_ERR_ARG);
    expect_class(MPI_Graph_get(graph, 0, -1, back, back), MPI_ERR_ARG);
    for (int room = 0; room <= size; room++) { /* no more than there is room for */
        int indices[17], ends[17];
        memset(indices, 99, sizeof indices);
        memset(ends, 99, sizeof ends);
        expect_ok(MPI_Graph_get(graph, room, room, indices, ends));
        for (int r = 0; r < 17; r++)
            expect(r < room ? indices[r] == index[r] && ends[r] == edges[r]
                            : indices[r] == 0x63636363 && ends[r] == 0x63636363,
                   "room for %d, %d: %d, %d", room, r, indices[r], ends[r]);
    }
    expect_class(MPI_Graph_neighbors_count(graph, -1, &number), MPI_ERR_RANK);
    expect_class(MPI_Graph_neighbors_count(graph, size, &number), MPI_ERR_RANK);
    expect_ok(MPI_Graph_neighbors_count(graph, last, &number));
    expect(number == 1, "%d neighbours", number);
    expect_class(MPI_Graph_neighbors(graph, size, 1, back), MPI_ERR_RANK);
    expect_class(MPI_Graph_neighbors(graph, last, -1, back), MPI_ERR_ARG);
    back[0] = 77;
    expect_ok(MPI_Graph_neighbors(graph, last, 0, back));
    expect(back[0] == 77, "no room was written");
    expect_ok(MPI_Graph_neighbors(graph, last, 1, back));
    expect(back[0] == 0, "the last one's neighbour is %d", back[0]);
    expect_class(MPI_Cartdim_get(graph, &number), MPI_ERR_TOPOLOGY);
    MPI_Comm_free(&graph);

#define ADJACENT(ins, from, of_from, outs, to, of_to)                                              \
    MPI_Dist_graph_create_adjacent(world, ins, from, of_from, outs, to, of_to, no_info, 0, &made)
    expect_class(ADJACENT(-1, &rank, plain, 1, &rank, plain), MPI_ERR_ARG);
    expect_class(ADJACENT(1, &rank, plain, -1, &rank, plain), MPI_ERR_ARG);
    expect_class(ADJACENT(1, NULL, plain, 1, &rank, plain), MPI_ERR_ARG);
    expect_class(ADJACENT(1, &rank, plain, 1, NULL, plain), MPI_ERR_ARG);
    expect_class(ADJACENT(1, &size, plain, 1, &rank, plain), MPI_ERR_RANK);
    expect_class(ADJACENT(1, &rank, plain, 1, &minus, plain), MPI_ERR_RANK);
    expect_class(ADJACENT(1, &rank, &minus, 1, &rank, &one), MPI_ERR_ARG);
    expect_class(ADJACENT(1, &rank, &one, 1, &rank, &minus), MPI_ERR_ARG);
    expect_class(ADJACENT(1, &rank, empty, 1, &rank, &one), MPI_ERR_ARG);
    expect_class(ADJACENT(1, &rank, NULL, 1, &rank, &one), MPI_ERR_ARG);
    expect_class(ADJACENT(1, &rank, plain, 1, &rank, &one), MPI_ERR_ARG);
    expect_class(ADJACENT(1, &rank, &one, 1, &rank, plain), MPI_ERR_ARG);
#undef ADJACENT
#define ANYWHERE(count, from, degrees, to, weights)                                                \
    MPI_Dist_graph_create(world, count, from, degrees, to, weights, no_info, 0, &made)
    expect_class(ANYWHERE(-1, &rank, &one, &rank, plain), MPI_ERR_ARG);
    expect_class(ANYWHERE(1, NULL, &one, &rank, plain), MPI_ERR_ARG);
    expect_class(ANYWHERE(1, &rank, NULL, &rank, plain), MPI_ERR_ARG);
    expect_class(ANYWHERE(1, &rank, &minus, &rank, plain), MPI_ERR_ARG);
    expect_class(ANYWHERE(1, &rank, &one, NULL, plain), MPI_ERR_ARG);
    expect_class(ANYWHERE(1, &size, &one, &rank, plain), MPI_ERR_RANK);
    expect_class(ANYWHERE(1, &rank, &one, &size, plain), MPI_ERR_RANK);
    expect_class(ANYWHERE(1, &rank, &one, &rank, &minus), MPI_ERR_ARG);
    expect_class(ANYWHERE(1, &rank, &one, &rank, NULL), MPI_ERR_ARG);
    /* Weights of 0 are allowed, and some may have no edges at all. */
    int zero = 0, of_in[2] = {55, 55}, of_out[2] = {55, 55}, from[2] = {55, 55}, to[2] = {55, 55};
    expect_ok(ANYWHERE(rank == 0, &last, &one, &zero, rank == 0 ? &zero : empty));
#undef ANYWHERE
    expect_ok(MPI_Dist_graph_neighbors_count(made, &in, &out, &weighted));
    expect(in == (rank == 0) && out == (rank == last) && weighted, "%d in, %d out, %d", in, out,
           weighted);
    expect_class(MPI_Dist_graph_neighbors(made, -1, from, of_in, 0, to, of_out), MPI_ERR_ARG);
    expect_class(MPI_Dist_graph_neighbors(made, 0, from, of_in, -1, to, of_out), MPI_ERR_ARG);
    expect_ok(MPI_Dist_graph_neighbors(made, 0, from, of_in, 0, to, of_out));
    expect(from[0] == 55 && to[0] == 55 && of_in[0] == 55 && of_out[0] == 55, "no room was used");
    expect_ok(MPI_Dist_graph_neighbors(made, 2, from, of_in, 2, to, of_out));
    expect(from[0] == (in ? last : 55) && of_in[0] == (in ? 0 : 55) && from[1] == 55, "from %d",
           from[0]);
    expect(to[0] == (out ? 0 : 55) && of_out[0] == (out ? 0 : 55) && to[1] == 55, "to %d", to[0]);
    MPI_Comm_free(&made);
    still_works(rank, size);
}

/* ---- members that do not agree ---- */

enum { DISSENTS = 13 };

/* The dissenter's arguments differ from all others' in one thing. */
static int dissent(int what, bool differs, int size, MPI_Comm grid, MPI_Comm *made)
{
    MPI_Group all, some;
    MPI_Comm_group(world, &all);
    int n = size, error = MPI_SUCCESS, extents[3] = {n, 1, 1}, periods[3] = {0, 0, 1};
    int index[8], edges[16], order[8], at = 0, weights[8] = {0};
    for (int r = 0; r < n; r++) {
        edges[at++] = (r + 1) % n;
        edges[at++] = (r + 2) % n;
        index[r] = at;
        order[r] = r;
    }
    int last = edges[at - 1], extent = differs && what == 1 ? 1 : n;
    switch (what) {
    case 0: /* dimensions */
        return MPI_Cart_create(world, differs ? 2 : 3, extents, periods, 0, made);
    case 1: /* extents */
        return MPI_Cart_create(world, 2, (int[]){extent, n / extent}, periods, 0, made);
    case 2: /* periods, of the last dimension */
        periods[2] = differs ? 0 : 5;
        return MPI_Cart_create(world, 3, extents, periods, 0, made);
    case 3: /* ranks */
        return MPI_Cart_create(world, 1, (int[]){differs ? n - 1 : n}, periods, 0, made);
    case 4: /* indices, of the last node */
        index[n - 1] -= differs;
        return MPI_Graph_create(world, n, index, edges, 0, made);
    case 5: /* edges, the last one */
        edges[at - 1] = differs ? (last + 1) % n : last;
        return MPI_Graph_create(world, n, index, edges, 0, made);
    case 6: /* nodes */
        return MPI_Graph_create(world, differs ? 1 : n, index, (int[16]){0}, 0, made);
    case 7: /* weights */
        return MPI_Dist_graph_create(world, 1, &(int){0}, &(int){1}, &(int){0},
                                     differs ? MPI_UNWEIGHTED : weights, MPI_INFO_NULL, 0, made);
    case 8: /* which dimensions are kept */
        return MPI_Cart_sub(grid, (int[]){!differs, differs}, made);
    case 9: /* the same members, in another order at the end */
    case 10:
        order[0] = 1; /* no sequence */
        order[1] = 0;
        if (differs && what == 10) {
            order[n - 1] = n - 2;
            order[n - 2] = n - 1;
        }
        MPI_Group_incl(all, differs && what == 9 ? n - 1 : n, order, &some);
        error = MPI_Comm_create(world, some, made);
        MPI_Group_free(&some);
        break;
    case 11: /* a sequence of another step: the first two are the same */
        MPI_Group_range_incl(
            all, 1, (int[][3]){{differs ? n - 1 : 0, differs ? 0 : n - 1, differs ? -1 : 1}},
            &some);
        error = MPI_Comm_create(world, some, made);
        MPI_Group_free(&some);
        break;
    default: /* an edge that only one end lists */
        error = MPI_Dist_graph_create_adjacent(world, differs, &(int){0}, plain, 0, NULL, plain,
                                               MPI_INFO_NULL, 0, made);
    }
    MPI_Group_free(&all);
    return error;
}

static void everybody_is_told_of_dissent(int rank, int size)
{
    static const int classes[DISSENTS] = {
        MPI_ERR_NOT_SAME, MPI_ERR_NOT_SAME, MPI_ERR_NOT_SAME, MPI_ERR_NOT_SAME, MPI_ERR_NOT_SAME,
        MPI_ERR_NOT_SAME, MPI_ERR_NOT_SAME, MPI_ERR_NOT_SAME, MPI_ERR_ARG,      MPI_ERR_GROUP,
        MPI_ERR_GROUP,    MPI_ERR_GROUP,    MPI_ERR_TOPOLOGY};
    MPI_Comm grid, made;
    returning();
    MPI_Cart_create(world, 2, (int[]){size, 1}, (int[]){0, 0}, 0, &grid);
    MPI_Comm_set_errhandler(grid, MPI_ERRORS_RETURN);
    for (int dissenter = -1; dissenter < size; dissenter++)
        for (int what = 0; what < DISSENTS; what++) {
            made = MPI_COMM_WORLD;
            int error = dissent(what, rank == dissenter, size, grid, &made);
            bool out = what == 9 && rank == dissenter && rank == size - 1; /* of its own group */
            expect(error == (dissenter < 0 || out ? MPI_SUCCESS : classes[what]),
                   "%d, rank %d differs: %d", what, dissenter, error);
            expect((made == MPI_COMM_NULL) == (out || error != MPI_SUCCESS), "%d: a communicator",
                   what);
            if (made != MPI_COMM_NULL && made != MPI_COMM_WORLD)
                MPI_Comm_free(&made);
        }
    MPI_Comm_free(&grid);
    still_works(rank, size);
}

/* ---- hints and attributes ---- */

static void hints_have_borders(int rank, int size)
{
    returning();
    char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1], back[MPI_MAX_INFO_VAL + 2];
    MPI_Info info, none = MPI_INFO_NULL, copy;
    int flag = -1, length = -1, number = -1;
    memset(key, 'k', sizeof key);
    memset(value, 'v', sizeof value);
    key[MPI_MAX_INFO_KEY - 1] = value[MPI_MAX_INFO_VAL - 1] = 0; /* as long as they may be */
    MPI_Info_create(&info);
    expect_ok(MPI_Info_set(info, key, value));
    key[MPI_MAX_INFO_KEY - 1] = 'k';
    key[MPI_MAX_INFO_KEY] = 0;
    expect_class(MPI_Info_set(info, key, "x"), MPI_ERR_INFO_KEY);
    expect_class(MPI_Info_delete(info, key), MPI_ERR_INFO_KEY);
    expect_class(MPI_Info_set(info, "", "x"), MPI_ERR_INFO_KEY);
    expect_class(MPI_Info_set(info, NULL, "x"), MPI_ERR_INFO_KEY);
    expect_class(MPI_Info_set(info, "a", NULL), MPI_ERR_INFO_VALUE);
    value[MPI_MAX_INFO_VAL - 1] = 'v';
    value[MPI_MAX_INFO_VAL] = 0;
    expect_class(MPI_Info_set(info, "a", value), MPI_ERR_INFO_VALUE);
    expect_ok(MPI_Info_set(info, "a", ""));
    expect_ok(MPI_Info_set(info, "b", "four"));
    expect_class(MPI_Info_set(none, "a", "x"), MPI_ERR_INFO);
    expect_class(MPI_Info_delete(none, "a"), MPI_ERR_INFO);
    expect_class(MPI_Info_delete(info, "absent"), MPI_ERR_INFO_NOKEY);
    expect_class(MPI_Info_dup(none, &copy), MPI_ERR_INFO);
    expect_class(MPI_Info_dup(info, NULL), MPI_ERR_ARG);
    expect_class(MPI_Info_free(&none), MPI_ERR_INFO);
    expect_class(MPI_Info_create(NULL), MPI_ERR_ARG);
    expect_class(MPI_Info_get_nkeys(none, &number), MPI_ERR_INFO);
    expect_class(MPI_Info_get_nkeys(info, NULL), MPI_ERR_ARG);
    expect_ok(MPI_Info_get_nkeys(info, &number));
    expect(number == 3, "%d keys", number);
    expect_class(MPI_Info_get_nthkey(info, -1, back), MPI_ERR_ARG);
    expect_class(MPI_Info_get_nthkey(info, 3, back), MPI_ERR_ARG);
    expect_class(MPI_Info_get_nthkey(info, 0, NULL), MPI_ERR_ARG);
    expect_class(MPI_Info_get_nthkey(none, 0, back), MPI_ERR_INFO);
    expect_ok(MPI_Info_get_nthkey(info, 2, back));
    expect(!strcmp(back, "b"), "the last key is %s", back);
    expect_ok(MPI_Info_get_nthkey(info, 0, back));
    expect(strlen(back) == MPI_MAX_INFO_KEY - 1, "the first key has %zu", strlen(back));
    expect_class(MPI_Info_get(info, "b", -1, back, &flag), MPI_ERR_ARG);
    expect_class(MPI_Info_get(info, "b", 4, NULL, &flag), MPI_ERR_ARG);
    expect_class(MPI_Info_get(info, "b", 4, back, NULL), MPI_ERR_ARG);
    expect_class(MPI_Info_get(none, "b", 4, back, &flag), MPI_ERR_INFO);
    for (int room = 0; room < 7; room++) { /* characters, without the null */
        memset(back, '#', sizeof back);
        expect_ok(MPI_Info_get(info, "b", room, back, &flag));
        expect(flag == 1 && !strncmp(back, "four", (size_t)(room < 4 ? room : 4)) &&
                   back[room < 4 ? room : 4] == 0 && back[room < 4 ? room + 1 : 5] == '#',
               "room for %d", room);
        memset(back, '#', sizeof back);
        length = room; /* with the null */
        expect_ok(MPI_Info_get_string(info, "b", &length, back, &flag));
        expect(flag == 1 && length == 5, "flag %d, length %d", flag, length);
        int kept = room < 1 ? 0 : room < 5 ? room - 1 : 4;
        expect(!strncmp(back, "four", (size_t)kept) && back[kept] == (room ? 0 : '#') &&
                   back[kept + 1] == '#',
               "room for %d with the null", room);
    }
    length = -1;
    expect_class(MPI_Info_get_string(info, "b", &length, back, &flag), MPI_ERR_ARG);
    length = 1;
    expect_class(MPI_Info_get_string(info, "b", &length, NULL, &flag), MPI_ERR_ARG);
    expect_class(MPI_Info_get_string(info, "b", NULL, back, &flag), MPI_ERR_ARG);
    for (int i = 0; i < 2; i++) { /* what is not there is not found */
        MPI_Info asked = i ? info : none;
        const int wanted = i ? MPI_ERR_INFO_KEY : MPI_ERR_INFO;
        flag = 1;
        expect_class(MPI_Info_get(asked, "", 4, back, &flag), wanted);
        expect(flag == 0, "Info_get found it");
        length = flag = 1;
        expect_class(MPI_Info_get_string(asked, "", &length, back, &flag), wanted);
        expect(flag == 0 && length == 1, "Info_get_string found it");
        flag = 1;
        expect_class(MPI_Info_get_valuelen(asked, "", &length, &flag), wanted);
        expect(flag == 0 && length == 1, "Info_get_valuelen found it");
    }
    length = 0;
    expect_ok(MPI_Info_get_string(info, "absent", &length, NULL, &flag));
    expect(flag == 0 && length == 0, "absent: %d, %d", flag, length);
    expect_class(MPI_Info_get_valuelen(info, "b", NULL, &flag), MPI_ERR_ARG);
    expect_class(MPI_Info_get_valuelen(info, "b", &length, NULL), MPI_ERR_ARG);
    expect_class(MPI_Info_get_valuelen(info, "", &length, &flag), MPI_ERR_INFO_KEY);
    expect_ok(MPI_Info_get_valuelen(info, "b", &length, &flag));
    expect(flag == 1 && length == 4, "%d characters", length);
    expect_ok(MPI_Info_get_valuelen(info, "absent", &length, &flag));
    expect(flag == 0 && length == 4, "absent: %d, %d", flag, length);
    MPI_Info_free(&info);
    expect(info == MPI_INFO_NULL, "the freed one is there");
    still_works(rank, size);
}

/* Hints of a communicator are set one by one, and given back as a copy. */
static void hints_are_kept_one_by_one(int rank, int size)
{
    MPI_Comm comm, copy;
    MPI_Info info, used;
    char value[32];
    int number = -1, flag = -1;
    (void)rank, (void)size;
    returning();
    MPI_Comm_dup(world, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    expect_ok(MPI_Comm_set_info(comm, MPI_INFO_NULL));
    expect_ok(MPI_Comm_get_info(comm, &used));
    MPI_Info_get_nkeys(used, &number);
    expect(number == 0, "%d hints at first", number);
    MPI_Info_free(&used);
    static const char *const sets[][2] = {{"one", "1"}, {"two", "2"}, {"one", "11"}, {"six", "6"}};
    for (int i = 0; i < 4; i++) {
        MPI_Info_create(&info);
        MPI_Info_set(info, sets[i][0], sets[i][1]);
        expect_ok(MPI_Comm_set_info(comm, info));
        MPI_Info_free(&info);
    }
    expect_ok(MPI_Comm_get_info(comm, &used));
    MPI_Info_get_nkeys(used, &number);
    expect(number == 3, "%d hints", number);
    for (int i = 1; i < 4; i++) {
        MPI_Info_get(used, sets[i][0], 31, value, &flag);
        expect(flag && !strcmp(value, sets[i][1]), "%s is %s", sets[i][0], value);
    }
    MPI_Info_set(used, "one", "changed"); /* a copy: the communicator's stay */
    MPI_Comm_dup_with_info(comm, used, &copy);
    MPI_Info_free(&used);
    MPI_Comm_get_info(comm, &used);
    MPI_Info_get(used, "one", 31, value, &flag);
    expect(flag && !strcmp(value, "11"), "one is %s", value);
    MPI_Info_free(&used);
    MPI_Comm_get_info(copy, &used);
    MPI_Info_get(used, "one", 31, value, &flag);
    expect(flag && !strcmp(value, "changed"), "one of the copy is %s", value);
    MPI_Info_get_nkeys(used, &number);
    expect(number == 3, "%d hints of the copy", number);
    MPI_Info_free(&used);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&comm);
    expect_class(MPI_Comm_set_info(MPI_COMM_NULL, MPI_INFO_NULL), MPI_ERR_COMM);
    expect_class(MPI_Comm_get_info(MPI_COMM_NULL, &used), MPI_ERR_COMM);
}

static void attributes_have_borders(int rank, int size)
{
    returning();
    int keyval = -1, flag = -1, stale, invalid = MPI_KEYVAL_INVALID, predefined = MPI_TAG_UB;
    void *value = NULL;
    expect_class(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, NULL, NULL),
                 MPI_ERR_ARG);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
    expect_class(MPI_Comm_set_attr(MPI_COMM_NULL, keyval, NULL), MPI_ERR_COMM);
    expect_class(MPI_Comm_get_attr(MPI_COMM_NULL, keyval, &value, &flag), MPI_ERR_COMM);
    expect_class(MPI_Comm_delete_attr(MPI_COMM_NULL, keyval), MPI_ERR_COMM);
    expect_class(MPI_Comm_set_attr(world, invalid, NULL), MPI_ERR_KEYVAL);
    expect_class(MPI_Comm_set_attr(world, predefined, NULL), MPI_ERR_KEYVAL);
    expect_class(MPI_Comm_delete_attr(world, predefined), MPI_ERR_KEYVAL);
    expect_class(MPI_Comm_get_attr(world, invalid, &value, &flag), MPI_ERR_KEYVAL);
    expect_class(MPI_Comm_get_attr(world, keyval, NULL, &flag), MPI_ERR_ARG);
    expect_class(MPI_Comm_get_attr(world, keyval, &value, NULL), MPI_ERR_ARG);
    expect_class(MPI_Comm_free_keyval(&invalid), MPI_ERR_KEYVAL);
    expect_class(MPI_Comm_free_keyval(&predefined), MPI_ERR_KEYVAL);
    expect_class(MPI_Type_set_attr(MPI_INT, keyval, NULL), MPI_ERR_KEYVAL); /* of another kind */
    stale = keyval;
    expect_ok(MPI_Comm_free_keyval(&keyval));
    expect(keyval == MPI_KEYVAL_INVALID, "the freed one is %d", keyval);
    expect_class(MPI_Comm_set_attr(world, stale, NULL), MPI_ERR_KEYVAL);
    /* What the communicators tell of themselves. */
    static const int keys[] = {MPI_TAG_UB, MPI_HOST,         MPI_IO,           MPI_WTIME_IS_GLOBAL,
                               MPI_APPNUM, MPI_LASTUSEDCODE, MPI_UNIVERSE_SIZE};
    const int wanted[] = {0x3fffffff, MPI_PROC_NULL, MPI_ANY_SOURCE, 1, 0, MPI_ERR_LASTCODE, size};
    for (int i = 0; i < 7; i++) {
        int *told = NULL;
        expect_ok(MPI_Comm_get_attr(world, keys[i], &told, &flag));
        expect(flag == 1 && told && *told == wanted[i], "attribute %d: %d", i, told ? *told : -1);
    }
    int class, *told = NULL;
    MPI_Add_error_class(&class);
    MPI_Comm_get_attr(world, MPI_LASTUSEDCODE, &told, &flag);
    expect(flag && *told == class, "the last code is %d, not %d", *told, class);
    still_works(rank, size);
}

static void borders(const char *name, world_body *body)
{
    world_test_sizes(name, body, WORLD_FIBERS | WORLD_DEFAULT, WORLD_SIZES(1, 2, 3, 5));
}

int main(void)
{
    borders("messages name whom, what and how there is", messages_have_borders);
    borders("the last rank and the last tag are of use", the_last_rank_is_a_peer);
    borders("requests are waited for as they are", requests_have_borders);
    borders("statuses count what there is", statuses_have_borders);
    borders("partitions are those there are", partitions_have_borders);
    borders("one buffer is attached, of no negative size", buffers_have_borders);
    borders("groups are made of members", groups_have_borders);
    borders("communicators are made of communicators", communicators_have_borders);
    borders("grids fit into their communicator", topologies_have_borders);
    borders("graphs are of ranks and edges", graphs_have_borders);
    world_test_sizes("everybody is told where a member differs", everybody_is_told_of_dissent,
                     WORLD_FIBERS | WORLD_DEFAULT, WORLD_SIZES(4, 6));
    borders("keys and values of hints have their length", hints_have_borders);
    borders("hints of a communicator are kept one by one", hints_are_kept_one_by_one);
    borders("attributes have keyvals of their kind", attributes_have_borders);
    return tap_done();
}
