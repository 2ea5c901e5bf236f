/* Hints that promise something: whoever says on a communicator that he receives from no wildcard is refused one there, by each way of
 * receiving and probing, however the hint came to the communicator; named receives, wildcards on other communicators, and those under hints
 * that say "false" go on. */
#include "tests/world_harness.h"

enum way {
    RECV,
    IRECV,
    RECV_INIT,
    PROBE,
    IPROBE,
    MPROBE,
    IMPROBE,
    SENDRECV,
    REPLACE,
    ISENDRECV,
    IREPLACE,
    WAYS
};
enum giving { DUP, IDUP, SET, SET_TWICE, WORLD, WITHDRAWN, OTHER, COPY, GIVINGS };

static const char *const keys[] = {"mpi_assert_no_any_source", "mpi_assert_no_any_tag"};

static MPI_Info info_of(const char *key, const char *value)
{
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, key, value);
    return info;
}

static void set(MPI_Comm comm, const char *key, const char *value)
{
    MPI_Info info = info_of(key, value);
    expect_ok(MPI_Comm_set_info(comm, info));
    MPI_Info_free(&info);
}

/* A communicator on which the promise of this key stands, or does not. */
static MPI_Comm given(enum giving giving, const char *key)
{
    MPI_Comm made = MPI_COMM_WORLD, copy;
    MPI_Request request;
    MPI_Info info = info_of(key, "true");
    if (giving == DUP)
        expect_ok(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &made));
    else if (giving == IDUP)
        expect_ok(MPI_Comm_idup_with_info(MPI_COMM_WORLD, info, &made, &request));
    else if (giving != WORLD)
        expect_ok(MPI_Comm_dup(MPI_COMM_WORLD, &made));
    if (giving == IDUP)
        expect_ok(MPI_Wait(&request, MPI_STATUS_IGNORE));
    if (giving != DUP && giving != IDUP)
        expect_ok(MPI_Comm_set_info(made, info));
    MPI_Info_free(&info);
    if (giving == SET_TWICE) /* another key leaves the first as it is */
        set(made, "mpi_assert_exact_length", "false");
    if (giving == WITHDRAWN)
        set(made, key, "false");
    if (giving == OTHER)
        set(made, key == keys[0] ? keys[1] : keys[0], "false");
    if (giving == COPY) { /* since MPI 4.0 a duplicate has none of its parent's hints */
        expect_ok(MPI_Comm_dup(made, &copy));
        MPI_Comm_free(&made);
        made = copy;
    }
    return made;
}

static bool promised(enum giving giving)
{
    return giving != WITHDRAWN && giving != COPY;
}

/* One message from the rank before, received in this way. What was refused or only seen is taken after that. */
static int receive(enum way way, int source, int tag, MPI_Comm comm, int next, int last)
{
    int out = 5, in = 0, flag = 0, error;
    bool sends = way < SENDRECV;
    MPI_Request request = MPI_REQUEST_NULL, sent = MPI_REQUEST_NULL;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status = {.MPI_SOURCE = -9};
    if (sends)
        MPI_Isend(&out, 1, MPI_INT, next, 3, comm, &sent);
    if (way == RECV)
        error = MPI_Recv(&in, 1, MPI_INT, source, tag, comm, &status);
    else if (way == IRECV)
        error = MPI_Irecv(&in, 1, MPI_INT, source, tag, comm, &request);
    else if (way == RECV_INIT)
        error = MPI_Recv_init(&in, 1, MPI_INT, source, tag, comm, &request);
    else if (way == PROBE)
        error = MPI_Probe(source, tag, comm, &status);
    else if (way == MPROBE)
        error = MPI_Mprobe(source, tag, comm, &message, &status);
    else if (way == SENDRECV)
        error =
            MPI_Sendrecv(&out, 1, MPI_INT, next, 3, &in, 1, MPI_INT, source, tag, comm, &status);
    else if (way == REPLACE)
        error = MPI_Sendrecv_replace(&out, 1, MPI_INT, next, 3, source, tag, comm, &status);
    else if (way == ISENDRECV)
        error =
            MPI_Isendrecv(&out, 1, MPI_INT, next, 3, &in, 1, MPI_INT, source, tag, comm, &request);
    else if (way == IREPLACE)
        error = MPI_Isendrecv_replace(&out, 1, MPI_INT, next, 3, source, tag, comm, &request);
    else
        do
            error = way == IPROBE ? MPI_Iprobe(source, tag, comm, &flag, &status)
                                  : MPI_Improbe(source, tag, comm, &flag, &message, &status);
        while (!error && !flag);
    if (!error && way == RECV_INIT)
        MPI_Start(&request);
    if (request != MPI_REQUEST_NULL)
        MPI_Wait(&request, &status);
    if (request != MPI_REQUEST_NULL)
        MPI_Request_free(&request);
    if (!error && message != MPI_MESSAGE_NULL)
        MPI_Mrecv(&in, 1, MPI_INT, &message, &status);
    else if (sends && (error || way == PROBE || way == IPROBE))
        MPI_Recv(&in, 1, MPI_INT, last, 3, comm, MPI_STATUS_IGNORE);
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    bool replaces = way == REPLACE || way == IREPLACE;
    expect(in == (sends || (!error && !replaces) ? 5 : 0), "received %d", in);
    return error;
}

static enum giving giving;

/* Each way by each wildcard and by none: refused where the promise stands, and with the class of that argument. */
static void each_way(int rank, int size)
{
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    for (int k = 0; k < 2; k++) {
        MPI_Comm comm = given(giving, keys[k]);
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        for (int way = 0; way < WAYS; way++)
            for (int wild = 0; wild < 3; wild++) {
                int source = wild == 1 ? MPI_ANY_SOURCE : last, tag = wild == 2 ? MPI_ANY_TAG : 3;
                bool wrong = wild == k + 1 && promised(giving);
                int error = receive((enum way)way, source, tag, comm, next, last);
                int class = MPI_SUCCESS;
                MPI_Error_class(error, &class);
                expect(class == (!wrong ? MPI_SUCCESS
                                 : k    ? MPI_ERR_TAG
                                        : MPI_ERR_RANK),
                       "%s, way %d, wildcard %d: class %d", keys[k], way, wild, class);
            }
        if (comm == MPI_COMM_WORLD)
            set(comm, keys[k], "false");
        else
            MPI_Comm_free(&comm);
    }
}

int main(void)
{
    static const char *const names[GIVINGS] = {[DUP] = "given to a duplicate",
                                               [IDUP] = "given to a nonblocking duplicate",
                                               [SET] = "set later",
                                               [SET_TWICE] = "set before another hint",
                                               [WORLD] = "set for MPI_COMM_WORLD",
                                               [WITHDRAWN] = "withdrawn by the same key",
                                               [OTHER] = "set before its counterpart",
                                               [COPY] = "of the communicator that was copied"};
    for (giving = 0; giving < GIVINGS; giving++)
        world_test(names[giving], each_way, WORLD_FIBERS);
    return tap_done();
}
