/* What every way to send, receive and probe ends with where its peer fails or its communicator is
 * revoked (ULFM). The rules:
 *
 *  1. What names a failed rank ends with PROC_FAILED: in the call, in the wait or the test for it, or
 *     in its status where a call completes several.
 *  2. A receive from any source that blocks ends with PROC_FAILED, too. One with a request stays
 *     posted: waits and tests say PROC_FAILED_PENDING, as probes do.
 *  3. On a revoked communicator all of that ends with REVOKED.
 *  4. It makes no difference whether the rank waits already when that happens, or comes later.
 *
 * So each way is tried in each of these cases, on communicators in whose order and on whose side the
 * failed rank stands in different places, under one variant of the world after the other. */
#include "tests/world_harness.h"

#include <mpi-ext.h>

enum { TAG = 3, KNOWN = 99, BEGINS = 98, LARGE = 40000, LIST = 4 };
enum trouble { FAILED, ANY_FAILED, REVOKED, TROUBLES };
static const char *const troubles[] = {"it fails", "somebody fails", "it is revoked"};
enum place { COPY, TURNED, ACROSS, PLACES };
static const char *const places[] = {"a copy", "the other order", "across"};

/* One try, as a rank has it. */
struct
try {
    MPI_Comm comm;
    int peer, buffer[LARGE];
    MPI_Status status;
    MPI_Request request; /* what is left of it */
    int inner;           /* in the status of one of several, else that of the call */
};

typedef int way(struct try *try);

static int blocking(struct try *t)
{
    return MPI_Recv(t->buffer, 1, MPI_INT, t->peer, TAG, t->comm, &t->status);
}

static int exchange(struct try *t)
{
    int one = 1;
    return MPI_Sendrecv(&one, 1, MPI_INT, MPI_PROC_NULL, 0, t->buffer, 1, MPI_INT, t->peer, TAG,
                        t->comm, &t->status);
}

static int replacement(struct try *t)
{
    return MPI_Sendrecv_replace(t->buffer, 1, MPI_INT, MPI_PROC_NULL, 0, t->peer, TAG, t->comm,
                                &t->status);
}

static int exchange_later(struct try *t)
{
    int one = 1;
    MPI_Isendrecv(&one, 1, MPI_INT, MPI_PROC_NULL, 0, t->buffer, 1, MPI_INT, t->peer, TAG, t->comm,
                  &t->request);
    return MPI_Wait(&t->request, &t->status);
}

static int replacement_later(struct try *t)
{
    MPI_Isendrecv_replace(t->buffer, 1, MPI_INT, MPI_PROC_NULL, 0, t->peer, TAG, t->comm,
                          &t->request);
    return MPI_Wait(&t->request, &t->status);
}

static void post(struct try *t)
{
    MPI_Irecv(t->buffer, 1, MPI_INT, t->peer, TAG, t->comm, &t->request);
}

static int waited(struct try *t)
{
    post(t);
    return MPI_Wait(&t->request, &t->status);
}

static int tested(struct try *t)
{
    int flag = 0, error = MPI_SUCCESS;
    post(t);
    while (!flag && !error)
        error = MPI_Test(&t->request, &flag, &t->status);
    return error;
}

static int persistent(struct try *t)
{
    MPI_Recv_init(t->buffer, 1, MPI_INT, t->peer, TAG, t->comm, &t->request);
    int error = MPI_Start(&t->request);
    return error ? error : MPI_Wait(&t->request, &t->status);
}

/* What is tried in the world that runs. */
static int which, traits;
static enum trouble trouble;
static enum place place;
static bool before;
static int at, idle, other; /* where it stands in a list, and the two besides it */

/* It stands among others: none, one that is not started, and, where it stays itself, one that stays,
 * too: nobody sends what it waits for. */
struct list {
    MPI_Request requests[LIST];
    MPI_Status statuses[LIST];
    int indices[LIST], unused[2];
};

static void list_begin(struct list *list, struct try *t)
{
    post(t);
    for (int i = 0; i < LIST; i++)
        list->requests[i] = MPI_REQUEST_NULL;
    MPI_Recv_init(list->unused, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD,
                  &list->requests[idle]);
    list->requests[at] = t->request;
    if (trouble == ANY_FAILED)
        MPI_Irecv(list->unused + 1, 1, MPI_INT, MPIX_World_rank(), 66, MPI_COMM_WORLD,
                  &list->requests[other]);
}

static int list_end(struct list *list, struct try *t, int error, const MPI_Status *status)
{
    t->request = list->requests[at];
    if (status)
        t->status = *status;
    t->inner = error == MPI_ERR_IN_STATUS ? t->status.MPI_ERROR : error;
    MPI_Request_free(&list->requests[idle]);
    expect((list->requests[other] != MPI_REQUEST_NULL) == (trouble == ANY_FAILED),
           "the other is gone");
    if (trouble == ANY_FAILED) {
        MPI_Cancel(&list->requests[other]);
        expect_ok(MPI_Wait(&list->requests[other], MPI_STATUS_IGNORE));
    }
    return error;
}

static int waited_any(struct try *t)
{
    struct list list;
    int index = -1;
    list_begin(&list, t);
    int error = MPI_Waitany(LIST, list.requests, &index, &t->status);
    expect(index == at, "Waitany says %d", index);
    return list_end(&list, t, error, NULL);
}

static int waited_all(struct try *t)
{
    struct list list;
    list_begin(&list, t);
    int error = MPI_Waitall(LIST, list.requests, list.statuses);
    for (int i = 0; i < LIST; i++)
        expect(i == at || list.statuses[i].MPI_ERROR ==
                              (i == other && trouble == ANY_FAILED ? MPI_ERR_PENDING : MPI_SUCCESS),
               "of %d: %d", i, list.statuses[i].MPI_ERROR);
    return list_end(&list, t, error, &list.statuses[at]);
}

static int waited_some(struct try *t)
{
    struct list list;
    int count = -1;
    list_begin(&list, t);
    list.indices[0] = at;
    int error = MPI_Waitsome(LIST, list.requests, &count, list.indices, list.statuses);
    expect(count == (error == MPI_ERR_IN_STATUS) && list.indices[0] == at, "%d, the first is %d",
           count, list.indices[0]);
    return list_end(&list, t, error, &list.statuses[0]);
}

static int tested_any(struct try *t)
{
    struct list list;
    int index = -1, flag = 0, error = MPI_SUCCESS;
    list_begin(&list, t);
    while (!flag && !error)
        error = MPI_Testany(LIST, list.requests, &index, &flag, &t->status);
    expect(index == (flag ? at : MPI_UNDEFINED), "Testany says %d", index);
    return list_end(&list, t, error, NULL);
}

static int tested_all(struct try *t)
{
    struct list list;
    int flag = 0, error = MPI_SUCCESS;
    list_begin(&list, t);
    while (!flag && !error)
        error = MPI_Testall(LIST, list.requests, &flag, list.statuses);
    return list_end(&list, t, error, &list.statuses[at]);
}

static int tested_some(struct try *t)
{
    struct list list;
    int count = 0, error = MPI_SUCCESS;
    list_begin(&list, t);
    while (!count && !error)
        error = MPI_Testsome(LIST, list.requests, &count, list.indices, list.statuses);
    expect(!count || list.indices[0] == at, "%d, the first is %d", count, list.indices[0]);
    return list_end(&list, t, error, &list.statuses[0]);
}

static int probed(struct try *t)
{
    return MPI_Probe(t->peer, TAG, t->comm, MPI_STATUS_IGNORE);
}

static int probed_matched(struct try *t)
{
    MPI_Message message = MPI_MESSAGE_NO_PROC;
    int error = MPI_Mprobe(t->peer, TAG, t->comm, &message, MPI_STATUS_IGNORE);
    expect(message == MPI_MESSAGE_NULL, "there is a message");
    return error;
}

static int looked(struct try *t)
{
    int flag = 0, error = MPI_SUCCESS;
    while (!flag && !error)
        error = MPI_Iprobe(t->peer, TAG, t->comm, &flag, MPI_STATUS_IGNORE);
    expect(!flag, "there is a message");
    return error;
}

static int looked_matched(struct try *t)
{
    int flag = 0, error = MPI_SUCCESS;
    MPI_Message message = MPI_MESSAGE_NO_PROC;
    while (!flag && !error)
        error = MPI_Improbe(t->peer, TAG, t->comm, &flag, &message, MPI_STATUS_IGNORE);
    expect(!flag && message == MPI_MESSAGE_NULL, "there is a message");
    return error;
}

static int sent(struct try *t)
{
    return MPI_Send(t->buffer, LARGE, MPI_INT, t->peer, TAG, t->comm);
}

static int sent_synchronous(struct try *t)
{
    return MPI_Ssend(t->buffer, 1, MPI_INT, t->peer, TAG, t->comm);
}

static int sent_exchange(struct try *t)
{
    int none;
    return MPI_Sendrecv(t->buffer, LARGE, MPI_INT, t->peer, TAG, &none, 1, MPI_INT, MPI_PROC_NULL,
                        0, t->comm, &t->status);
}

static int sent_exchange_later(struct try *t)
{
    int none;
    MPI_Isendrecv(t->buffer, LARGE, MPI_INT, t->peer, TAG, &none, 1, MPI_INT, MPI_PROC_NULL, 0,
                  t->comm, &t->request);
    return MPI_Wait(&t->request, &t->status);
}

static int sent_later(struct try *t)
{
    MPI_Isend(t->buffer, LARGE, MPI_INT, t->peer, TAG, t->comm, &t->request);
    return MPI_Wait(&t->request, &t->status);
}

static int sent_synchronous_later(struct try *t)
{
    MPI_Issend(t->buffer, 1, MPI_INT, t->peer, TAG, t->comm, &t->request);
    return MPI_Wait(&t->request, &t->status);
}

static int sent_again(struct try *t)
{
    MPI_Ssend_init(t->buffer, 1, MPI_INT, t->peer, TAG, t->comm, &t->request);
    int error = MPI_Start(&t->request);
    return error ? error : MPI_Wait(&t->request, &t->status);
}

/* STAYS: a request from any source that is left as it was. */
enum { SENDS = 1, STAYS = 2, LISTS = 4, ALL = 8, PROBES = 16, AGAIN = 32 };
static const struct {
    const char *name;
    way *run;
    int traits;
} ways[] = {{"Recv", blocking, 0},
            {"Sendrecv", exchange, 0},
            {"Sendrecv_replace", replacement, 0},
            {"Isendrecv", exchange_later, 0},
            {"Isendrecv_replace", replacement_later, 0},
            {"Irecv, Wait", waited, STAYS},
            {"Irecv, Test", tested, STAYS},
            {"Recv_init", persistent, STAYS | AGAIN},
            {"Waitany", waited_any, STAYS},
            {"Waitall", waited_all, STAYS | LISTS | ALL},
            {"Waitsome", waited_some, STAYS | LISTS},
            {"Testany", tested_any, STAYS},
            {"Testall", tested_all, STAYS | LISTS},
            {"Testsome", tested_some, STAYS | LISTS},
            {"Probe", probed, PROBES},
            {"Mprobe", probed_matched, PROBES},
            {"Iprobe", looked, PROBES},
            {"Improbe", looked_matched, PROBES},
            {"Send", sent, SENDS},
            {"Ssend", sent_synchronous, SENDS},
            {"Sendrecv that sends", sent_exchange, SENDS},
            {"Isendrecv that sends", sent_exchange_later, SENDS},
            {"Isend", sent_later, SENDS},
            {"Issend", sent_synchronous_later, SENDS},
            {"Ssend_init", sent_again, SENDS | AGAIN}};
enum { WAYS = sizeof ways / sizeof ways[0] };

static void communicator(int rank, int size, MPI_Comm *comm, int *peer)
{
    MPI_Comm half;
    bool last = rank == size - 1;
    if (place == COPY)
        MPI_Comm_dup(MPI_COMM_WORLD, comm);
    else
        MPI_Comm_split(MPI_COMM_WORLD, place == ACROSS && last, -rank, &half);
    if (place == TURNED)
        *comm = half;
    *peer = place == COPY ? size - 1 : 0;
    if (place == ACROSS) {
        MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, last ? size - 2 : size - 1, 5, comm);
        MPI_Comm_free(&half);
    }
    MPI_Comm_set_errhandler(*comm, MPI_ERRORS_RETURN);
}

/* The last rank hears that the others begin, leaves them time to wait, and then fails or revokes. */
static void make_trouble(int size, MPI_Comm *comm)
{
    for (int r = 0; r < size - 1 && !before; r++)
        MPI_Recv(NULL, 0, MPI_INT, r, BEGINS, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < 40; i++)
        MPIX_Yield();
    if (trouble != REVOKED)
        sim_rank_end(0);
    expect_ok(MPIX_Comm_revoke(*comm));
    MPI_Comm_free(comm);
}

static void trouble_is_known(int size, MPI_Comm comm)
{
    int none, flag = 0;
    if (!before)
        MPI_Send(NULL, 0, MPI_INT, size - 1, BEGINS, MPI_COMM_WORLD);
    else if (trouble != REVOKED)
        MPI_Recv(&none, 1, MPI_INT, size - 1, KNOWN, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    while (before && trouble == REVOKED && !flag) {
        MPIX_Comm_is_revoked(comm, &flag);
        MPIX_Yield();
    }
}

/* A request from any source is still posted: it can be cancelled. */
static void still_posted(struct try *t)
{
    int cancelled = 0;
    if (!expect(t->request != MPI_REQUEST_NULL, "%s: the request is gone", ways[which].name))
        return;
    MPI_Cancel(&t->request);
    expect_ok(MPI_Wait(&t->request, &t->status));
    MPI_Test_cancelled(&t->status, &cancelled);
    expect(cancelled, "%s: it was not posted any more", ways[which].name);
}

static void one_way(int rank, int size)
{
    static const int ends[] = {MPIX_ERR_PROC_FAILED, MPIX_ERR_PROC_FAILED, MPIX_ERR_REVOKED};
    MPI_Comm comm;
    int peer, wanted = ends[trouble];
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    communicator(rank, size, &comm, &peer);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1) {
        make_trouble(size, &comm);
        expect(true, "it goes on");
        return;
    }
    trouble_is_known(size, comm);
    struct try *t = calloc(1, sizeof *t);
    t->comm = comm;
    t->peer = trouble == ANY_FAILED ? MPI_ANY_SOURCE : peer;
    t->request = MPI_REQUEST_NULL;
    bool stays = trouble == ANY_FAILED && traits & (STAYS | PROBES);
    int inner = stays ? MPIX_ERR_PROC_FAILED_PENDING : wanted;
    bool in_status = traits & LISTS && (!stays || traits & ALL);
    int error = ways[which].run(t);
    expect(error == (in_status ? MPI_ERR_IN_STATUS : inner), "%s gave %d", ways[which].name, error);
    expect(!(traits & LISTS) || t->inner == inner, "%s: its status says %d", ways[which].name,
           t->inner);
    if (stays && traits & STAYS)
        still_posted(t);
    else if (!(traits & PROBES) && !(traits & SENDS) && !(traits & AGAIN))
        expect(t->status.MPI_SOURCE == MPI_ANY_SOURCE && t->status.MPI_TAG == MPI_ANY_TAG,
               "%s: nobody's message is from %d", ways[which].name, t->status.MPI_SOURCE);
    if (traits & AGAIN)
        MPI_Request_free(&t->request);
    expect(t->request == MPI_REQUEST_NULL, "%s: the request is there", ways[which].name);
    free(t);
    MPI_Comm_free(&comm);
}

/* ---- what goes on ---- */

/* Of what the living began before the failure nothing is disturbed, whatever stands in the same boxes. */
static void the_living_go_on(int rank, int size)
{
    int left = size - 1, to = (rank + 1) % left, from = (rank + left - 1) % left;
    int lost[2], got = -1, any = -1, value = rank * 3, none;
    MPI_Request requests[5];
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == size - 1) {
        for (int r = 0; r < left; r++)
            MPI_Recv(NULL, 0, MPI_INT, r, BEGINS, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sim_rank_end(0);
    }
    MPI_Irecv(&lost[0], 1, MPI_INT, left, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&got, 1, MPI_INT, from, TAG, MPI_COMM_WORLD, &requests[1]);
    MPI_Irecv(&lost[1], 1, MPI_INT, left, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[2]);
    MPI_Irecv(&any, 1, MPI_INT, MPI_ANY_SOURCE, TAG + 1, MPI_COMM_WORLD, &requests[3]);
    MPI_Send(NULL, 0, MPI_INT, left, BEGINS, MPI_COMM_WORLD);
    MPI_Recv(&none, 1, MPI_INT, left, KNOWN, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Status statuses[4];
    expect(MPI_Waitall(4, requests, statuses) == MPI_ERR_IN_STATUS, "nothing has failed");
    static const int wanted[] = {MPIX_ERR_PROC_FAILED, MPI_ERR_PENDING, MPIX_ERR_PROC_FAILED,
                                 MPIX_ERR_PROC_FAILED_PENDING};
    for (int i = 0; i < 4; i++)
        expect(statuses[i].MPI_ERROR == wanted[i] || (i % 2 && !statuses[i].MPI_ERROR),
               "status %d says %d", i, statuses[i].MPI_ERROR);
    MPI_Isend(&value, 1, MPI_INT, to, TAG, MPI_COMM_WORLD, &requests[4]);
    expect_ok(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    expect_ok(MPI_Wait(&requests[4], MPI_STATUS_IGNORE));
    expect(got == from * 3, "got %d of %d", got, from);
    expect_ok(MPIX_Comm_failure_ack(MPI_COMM_WORLD));
    MPI_Isend(&value, 1, MPI_INT, to, TAG + 1, MPI_COMM_WORLD, &requests[4]);
    expect_ok(MPI_Wait(&requests[3], MPI_STATUS_IGNORE));
    expect_ok(MPI_Wait(&requests[4], MPI_STATUS_IGNORE));
    expect(any == from * 3, "from anybody %d of %d", any, from);
}

/* It is received; then there is nothing any more. */
static void what_was_sent_is_there(int rank, int size)
{
    int none, got = -1, flag = 0;
    MPI_Status status;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == size - 1) {
        for (int i = 0; i < 3 * (size - 1); i++)
            MPI_Send(&i, 1, MPI_INT, i / 3, TAG, MPI_COMM_WORLD);
        sim_rank_end(0);
    }
    MPI_Recv(&none, 1, MPI_INT, size - 1, KNOWN, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect_ok(MPI_Iprobe(size - 1, TAG, MPI_COMM_WORLD, &flag, &status));
    expect(flag && status.MPI_SOURCE == size - 1, "nothing is left of it");
    for (int i = 0; i < 3; i++) {
        int source = i == 1 ? MPI_ANY_SOURCE : size - 1;
        expect_ok(MPI_Probe(source, TAG, MPI_COMM_WORLD, &status));
        expect_ok(MPI_Recv(&got, 1, MPI_INT, source, TAG, MPI_COMM_WORLD, &status));
        expect(got == 3 * rank + i && status.MPI_SOURCE == size - 1, "%d is %d", i, got);
    }
    expect(MPI_Recv(&got, 1, MPI_INT, size - 1, TAG, MPI_COMM_WORLD, &status) ==
               MPIX_ERR_PROC_FAILED,
           "there is more");
}

/* Receives from every other rank stand in one box; some of these fail, one after the other. Each failure ends the receive
 * that names it, wherever that stands, and no other. */
static unsigned failing; /* bits of ranks, without 0 */
static void each_in_a_crowd(int rank, int size)
{
    enum { CROWD = 16 };
    int got[CROWD] = {0};
    MPI_Request requests[CROWD];
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank) {
        MPI_Recv(NULL, 0, MPI_INT, 0, BEGINS, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (failing >> rank & 1)
            sim_rank_end(0);
        MPI_Send(&rank, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD);
        return;
    }
    for (int r = 1; r < size; r++)
        MPI_Irecv(&got[r], 1, MPI_INT, r, TAG, MPI_COMM_WORLD, &requests[r]);
    for (int fails = 1; fails >= 0; fails--)
        for (int r = 1; r < size; r++) {
            if ((int)(failing >> r & 1) != fails)
                continue;
            got[r] = -1;
            MPI_Send(NULL, 0, MPI_INT, r, BEGINS, MPI_COMM_WORLD);
            expect_class(MPI_Wait(&requests[r], MPI_STATUS_IGNORE),
                         fails ? MPIX_ERR_PROC_FAILED : MPI_SUCCESS);
            expect(got[r] == (fails ? -1 : r), "from %d: %d", r, got[r]);
        }
}

static void crowds(void)
{
    static const int sizes[] = {2, 3, 4, 5, 8, 13};
    char got[500] = "as it should";
    size_t variants = sizeof world_variants / sizeof *world_variants, worlds = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int first = 1; first < sizes[i]; first++) {
            const struct world_variant *variant = &world_variants[worlds++ % variants];
            struct sim_world_options options = world_options(sizes[i]);
            options.executor = variant->executor;
            options.delay_wildcards = variant->delay;
            failing = 1u << first;
            if (worlds % 2) /* and another one, or all */
                failing |= worlds % 3 ? 1u << (1 + (first + 2) % (sizes[i] - 1)) : ~1u;
            struct world_result result = world_try(options, each_in_a_crowd);
            if (result.outcome != OUTCOME_FINISHED || result.failed || !result.looked_at)
                snprintf(got, sizeof got, "%d ranks, failing %x, %s: %s; %s", sizes[i], failing,
                         variant->name, world_outcomes[result.outcome], result.text);
        }
    tap_is_str(got, "as it should", "of a crowd those that name the failed end, and no others");
}

/* After a failure windows are freed by each for itself. Who has done so has no memory any more. */
static void who_left_a_window(int rank, int size)
{
    enum { VERBS = 10 };
    int *memory, value = 1, compared = 2, got = 3, none;
    MPI_Win win;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    if (rank == 0)
        expect_ok(MPI_Win_lock_all(0, win));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1)
        sim_rank_end(0);
    MPI_Recv(&none, 1, MPI_INT, size - 1, KNOWN, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank) {
        expect_ok(MPI_Win_free(&win));
        MPI_Send(NULL, 0, MPI_INT, 0, BEGINS, MPI_COMM_WORLD);
        return;
    }
    MPI_Recv(NULL, 0, MPI_INT, 1, BEGINS, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int verb = 0; verb < VERBS; verb++) {
        MPI_Request request = MPI_REQUEST_NULL;
        int error = MPI_SUCCESS;
        if (verb == 0)
            error = MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
        else if (verb == 1)
            error = MPI_Get(&got, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
        else if (verb == 2)
            error = MPI_Accumulate(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, win);
        else if (verb == 3)
            error = MPI_Get_accumulate(&value, 1, MPI_INT, &got, 1, MPI_INT, 1, 0, 1, MPI_INT,
                                       MPI_SUM, win);
        else if (verb == 4)
            error = MPI_Fetch_and_op(&value, &got, MPI_INT, 1, 0, MPI_SUM, win);
        else if (verb == 5)
            error = MPI_Compare_and_swap(&value, &compared, &got, MPI_INT, 1, 0, win);
        else if (verb == 6)
            error = MPI_Rput(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win, &request);
        else if (verb == 7)
            error = MPI_Rget(&got, 1, MPI_INT, 1, 0, 1, MPI_INT, win, &request);
        else if (verb == 8)
            error = MPI_Raccumulate(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, win, &request);
        else
            error = MPI_Rget_accumulate(&value, 1, MPI_INT, &got, 1, MPI_INT, 1, 0, 1, MPI_INT,
                                        MPI_SUM, win, &request);
        expect(error == MPIX_ERR_PROC_FAILED && got == 3 && request == MPI_REQUEST_NULL,
               "access %d gave %d and %d", verb, error, got);
    }
    MPI_Win_unlock_all(win);
    expect_ok(MPI_Win_free(&win));
}

/* Where errors are fatal a receive from the failed waits for ever, as it did before. */
static void fatal(int rank, int size)
{
    int none;
    if (rank == size - 1)
        sim_rank_end(0);
    MPI_Recv(&none, 1, MPI_INT, rank ? size - 1 : MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    expect(false, "it came back");
}

static void every_way(void)
{
    static const int sizes[] = {3, 5, 2};
    size_t variants = sizeof world_variants / sizeof *world_variants, worlds = 0;
    size_t each = getenv("FULL") ? variants : 1;
    for (which = 0; which < WAYS; which++) {
        char got[700] = "as it should";
        traits = ways[which].traits;
        for (size_t n = 0; n < TROUBLES * PLACES * 2 * each; n++) {
            int i = (int)(n / each);
            trouble = (enum trouble)(i % TROUBLES);
            place = (enum place)(i / TROUBLES % PLACES);
            before = i / TROUBLES / PLACES;
            if (traits & SENDS && trouble == ANY_FAILED)
                continue;
            at = (int)(n + n / variants + (size_t)which) % LIST;
            other = (at + 1 + i % 3) % LIST;
            idle = (at + 1 + (i + 1) % 3) % LIST;
            const struct world_variant *variant = &world_variants[worlds++ % variants];
            struct sim_world_options options = world_options(sizes[worlds % 3]);
            options.executor = variant->executor;
            options.send_model = variant->send_model;
            options.strict_collectives = variant->strict;
            options.delay_wildcards = variant->delay;
            options.log_choices = variant->delay && worlds % 2; /* it explores */
            options.driver = variant->seeded ? SIM_CHOOSE_SEED : SIM_CHOOSE_DEFAULT;
            options.seed = worlds;
            struct world_result result = world_try(options, one_way);
            if (result.outcome != OUTCOME_FINISHED || result.failed || !result.looked_at)
                snprintf(got, sizeof got, "%s, %s, %s, %d ranks, %s: %s; %s", troubles[trouble],
                         places[place], before ? "before" : "meanwhile", options.ranks,
                         variant->name, world_outcomes[result.outcome], result.text);
        }
        tap_is_str(got, "as it should", "%s ends as the rules say", ways[which].name);
    }
}

int main(void)
{
    every_way();
    world_test_sizes("the living go on with what they began", the_living_go_on, WORLD_ANY,
                     WORLD_SIZES(3, 5));
    world_test_sizes("what the failed had sent is received", what_was_sent_is_there, WORLD_BUFFERS,
                     WORLD_SIZES(2, 4));
    crowds();
    world_test_sizes("who freed a window after a failure has no memory for others",
                     who_left_a_window, WORLD_ANY, WORLD_SIZES(3));
    world_outcome_is("where errors are fatal who waits for the failed waits for ever",
                     world_options(3), fatal, OUTCOME_DEADLOCK);
    return tap_done();
}
