/* All calls that complete one or many requests, or only look at them, for every combination of three requests in every state; what
 * is right is the standard's text, and knows nothing of how the machine finds it. Arguments that belong to another
 * rank or to nobody. */
#include "tests/conformance/intercomm_sides.h"
#include "tests/world_harness.h"

enum { REQUESTS = 3 };

/* FAILED: truncated. LASTING: a persistent request that is done. */
enum state { NONE, INACTIVE, PENDING, DONE, LASTING, FAILED, STATES };
static const char *const state_names[] = {
    "null", "inactive", "pending", "done", "persistent and done", "truncated"};

enum verb {
    WAITANY,
    WAITSOME,
    WAITALL,
    TESTANY,
    TESTSOME,
    TESTALL,
    TEST_EACH,
    LOOK_EACH,
    LOOK_ANY,
    LOOK_SOME,
    LOOK_ALL,
    VERBS
};
static const char *const verb_names[] = {"Waitany",
                                         "Waitsome",
                                         "Waitall",
                                         "Testany",
                                         "Testsome",
                                         "Testall",
                                         "Test",
                                         "Request_get_status",
                                         "Request_get_status_any",
                                         "Request_get_status_some",
                                         "Request_get_status_all"};

struct three {
    enum state states[REQUESTS];
    enum verb verb;
    int rank;
    int got[REQUESTS];
    MPI_Request requests[REQUESTS], before[REQUESTS];
    bool told[REQUESTS]; /* the call said that it is done */
};

static bool is_done(enum state state)
{
    return state == DONE || state == LASTING || state == FAILED;
}

static int count_of(const struct three *three, bool (*holds)(enum state))
{
    int count = 0;
    for (int i = 0; i < REQUESTS; i++)
        count += holds(three->states[i]);
    return count;
}

static bool is_active(enum state state)
{
    return state >= PENDING;
}

static bool is_pending(enum state state)
{
    return state == PENDING;
}

static bool has_failed(enum state state)
{
    return state == FAILED;
}

#define says(condition)                                                                            \
    expect(condition, "%s of requests %s, %s, %s", verb_names[three->verb],                        \
           state_names[three->states[0]], state_names[three->states[1]],                           \
           state_names[three->states[2]])

static void send_to_myself(int rank, int tag, int count)
{
    int values[2] = {100 + tag, 7};
    MPI_Request send;
    MPI_Isend(values, count, MPI_INT, rank, tag, MPI_COMM_WORLD, &send);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
}

static void begin(struct three *three)
{
    for (int i = 0; i < REQUESTS; i++) {
        enum state state = three->states[i];
        three->got[i] = -1;
        three->requests[i] = MPI_REQUEST_NULL;
        if (state == INACTIVE || state == LASTING)
            MPI_Recv_init(&three->got[i], 1, MPI_INT, three->rank, i, MPI_COMM_WORLD,
                          &three->requests[i]);
        else if (state != NONE)
            MPI_Irecv(&three->got[i], 1, MPI_INT, three->rank, i, MPI_COMM_WORLD,
                      &three->requests[i]);
        if (state == LASTING)
            MPI_Start(&three->requests[i]);
        if (is_done(state))
            send_to_myself(three->rank, i, state == FAILED ? 2 : 1);
        three->before[i] = three->requests[i];
    }
}

static void end(struct three *three)
{
    for (int i = 0; i < REQUESTS; i++) {
        if (three->states[i] == PENDING)
            send_to_myself(three->rank, i, 1);
        MPI_Wait(&three->requests[i], MPI_STATUS_IGNORE);
        if (three->requests[i] != MPI_REQUEST_NULL)
            MPI_Request_free(&three->requests[i]);
        says(three->got[i] == (three->states[i] >= PENDING ? 100 + i : -1) ||
             three->states[i] == FAILED);
    }
}

static int class_of(int error)
{
    int class;
    MPI_Error_class(error, &class);
    return class;
}

static bool status_is_empty(const MPI_Status *status)
{
    int count = -1;
    MPI_Get_count(status, MPI_INT, &count);
    return status->MPI_SOURCE == MPI_ANY_SOURCE && status->MPI_TAG == MPI_ANY_TAG && count == 0;
}

/* The call told of request i that it is done. */
static void told(struct three *three, int i, const MPI_Status *status)
{
    int count = -1;
    if (!says(i >= 0 && i < REQUESTS && is_done(three->states[i]) && !three->told[i]))
        return;
    three->told[i] = true;
    says(status->MPI_SOURCE == three->rank && status->MPI_TAG == i);
    MPI_Get_count(status, MPI_INT, &count);
    says(count == 1 || three->states[i] == FAILED);
    says(three->got[i] == 100 + i || three->states[i] == FAILED);
}

static void error_is_of(const struct three *three, int i, const MPI_Status *status)
{
    says(class_of(status->MPI_ERROR) ==
         (three->states[i] == FAILED ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
}

static void call_any(struct three *three, MPI_Status *status)
{
    int index = -5, flag = 1, error;
    if (three->verb == WAITANY)
        error = MPI_Waitany(REQUESTS, three->requests, &index, status);
    else if (three->verb == TESTANY)
        error = MPI_Testany(REQUESTS, three->requests, &index, &flag, status);
    else
        error = MPI_Request_get_status_any(REQUESTS, three->requests, &index, &flag, status);
    const int done = count_of(three, is_done), active = count_of(three, is_active);
    says(flag == (done > 0 || active == 0));
    says((index == MPI_UNDEFINED) == (done == 0));
    if (index != MPI_UNDEFINED)
        told(three, index, status);
    else
        says(!flag || status_is_empty(status));
    const bool fails = three->verb != LOOK_ANY && index >= 0 && three->states[index] == FAILED;
    says(class_of(error) == (fails ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
}

static void call_some(struct three *three, MPI_Status *statuses)
{
    int indices[REQUESTS] = {-5, -5, -5}, count = -5, error;
    if (three->verb == WAITSOME)
        error = MPI_Waitsome(REQUESTS, three->requests, &count, indices, statuses);
    else if (three->verb == TESTSOME)
        error = MPI_Testsome(REQUESTS, three->requests, &count, indices, statuses);
    else
        error = MPI_Request_get_status_some(REQUESTS, three->requests, &count, indices, statuses);
    says(count == (count_of(three, is_active) ? count_of(three, is_done) : MPI_UNDEFINED));
    for (int i = 0; i < REQUESTS && i < count; i++) {
        told(three, indices[i], &statuses[i]);
        error_is_of(three, indices[i], &statuses[i]);
    }
    const bool fails = three->verb != LOOK_SOME && count_of(three, has_failed) > 0;
    says(class_of(error) == (fails ? MPI_ERR_IN_STATUS : MPI_SUCCESS));
}

static void call_all(struct three *three, MPI_Status *statuses)
{
    int flag = 1, error;
    if (three->verb == WAITALL)
        error = MPI_Waitall(REQUESTS, three->requests, statuses);
    else if (three->verb == TESTALL)
        error = MPI_Testall(REQUESTS, three->requests, &flag, statuses);
    else
        error = MPI_Request_get_status_all(REQUESTS, three->requests, &flag, statuses);
    says(flag == (count_of(three, is_pending) == 0));
    for (int i = 0; flag && i < REQUESTS; i++) {
        if (is_done(three->states[i]))
            told(three, i, &statuses[i]);
        else
            says(status_is_empty(&statuses[i]));
        error_is_of(three, i, &statuses[i]);
    }
    const bool fails = three->verb != LOOK_ALL && flag && count_of(three, has_failed) > 0;
    says(class_of(error) == (fails ? MPI_ERR_IN_STATUS : MPI_SUCCESS));
}

static void call_each(struct three *three, MPI_Status *statuses)
{
    for (int i = 0; i < REQUESTS; i++) {
        int flag = -5;
        int error = three->verb == TEST_EACH
                        ? MPI_Test(&three->requests[i], &flag, &statuses[i])
                        : MPI_Request_get_status(three->requests[i], &flag, &statuses[i]);
        says(flag == (three->states[i] != PENDING));
        if (is_done(three->states[i]))
            told(three, i, &statuses[i]);
        else
            says(!flag || status_is_empty(&statuses[i]));
        const bool fails = three->verb == TEST_EACH && three->states[i] == FAILED;
        says(class_of(error) == (fails ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
    }
}

/* Only what the call told of is gone: null, or inactive where it lasts. */
static void what_is_left(const struct three *three)
{
    for (int i = 0; i < REQUESTS; i++) {
        const bool gone = three->told[i] && three->verb < LOOK_EACH && three->states[i] != LASTING;
        says(three->requests[i] == (gone ? MPI_REQUEST_NULL : three->before[i]));
        if (three->states[i] != LASTING)
            continue;
        int flag = 0;
        MPI_Status status;
        MPI_Request_get_status(three->requests[i], &flag, &status);
        says(flag && status_is_empty(&status) == (three->told[i] && three->verb < LOOK_EACH));
    }
}

static void try_three(struct three *three, bool ignoring)
{
    MPI_Status statuses[REQUESTS];
    const bool ends = three->verb == WAITALL ? count_of(three, is_pending) == 0
                      : three->verb < TESTANY
                          ? count_of(three, is_done) > 0 || count_of(three, is_active) == 0
                          : true;
    if (!ends)
        return;
    memset(statuses, 0x55, sizeof statuses);
    begin(three);
    if (ignoring && three->verb == LOOK_ALL) {
        int flag = -5;
        MPI_Request_get_status_all(REQUESTS, three->requests, &flag, MPI_STATUSES_IGNORE);
        says(flag == (count_of(three, is_pending) == 0));
    } else if (three->verb == WAITANY || three->verb == TESTANY || three->verb == LOOK_ANY) {
        call_any(three, &statuses[0]);
    } else if (three->verb == WAITSOME || three->verb == TESTSOME || three->verb == LOOK_SOME) {
        call_some(three, statuses);
    } else if (three->verb == WAITALL || three->verb == TESTALL || three->verb == LOOK_ALL) {
        call_all(three, statuses);
    } else {
        call_each(three, statuses);
    }
    what_is_left(three);
    end(three);
}

static void every_three(int rank, int size)
{
    (void)size;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int verb = 0; verb < VERBS; verb++)
        for (int code = 0; code < STATES * STATES * STATES; code++) {
            struct three three = {.states = {(enum state)(code % STATES),
                                             (enum state)(code / STATES % STATES),
                                             (enum state)(code / STATES / STATES)},
                                  .verb = (enum verb)verb,
                                  .rank = rank};
            try_three(&three, code % 5 == 4);
        }
}

/* Of no requests all are done, and none of them; less than none is refused. */
static void of_no_requests(int rank, int size)
{
    MPI_Request none[1] = {MPI_REQUEST_NULL};
    MPI_Status status[1];
    (void)rank, (void)size;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int count = 0; count >= -1; count--) {
        const int class = count ? MPI_ERR_ARG : MPI_SUCCESS, undefined = count ? -5 : MPI_UNDEFINED;
        int flags[4] = {-5, -5, -5, -5}, indices[1], told[6] = {-5, -5, -5, -5, -5, -5};
        const int errors[] = {
            MPI_Waitall(count, none, status),
            MPI_Testall(count, none, &flags[0], status),
            MPI_Request_get_status_all(count, none, &flags[1], status),
            MPI_Waitany(count, none, &told[0], status),
            MPI_Testany(count, none, &told[1], &flags[2], status),
            MPI_Request_get_status_any(count, none, &told[2], &flags[3], status),
            MPI_Waitsome(count, none, &told[3], indices, status),
            MPI_Testsome(count, none, &told[4], indices, status),
            MPI_Request_get_status_some(count, none, &told[5], indices, status),
        };
        for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
            expect(class_of(errors[i]) == class, "%d requests, call %zu: class %d", count, i,
                   class_of(errors[i]));
        for (int i = 0; i < 6; i++)
            expect(count < 0 || told[i] == undefined, "%d requests, index %d is %d", count, i,
                   told[i]);
        for (int i = 0; i < 4; i++)
            expect(count < 0 || flags[i] == 1, "%d requests, flag %d is %d", count, i, flags[i]);
    }
}

/* ---- arguments that are somebody else's ---- */

/* A root that is not there is refused by each collective that has one, and nothing else happens. */
static void roots_that_are_not_there(int rank, int size)
{
    const int outside[] = {-1000, -100, -7, -2, MPI_ANY_SOURCE, size, size + 1, 1 << 30};
    int data[64] = {0}, more[64], one = 1, ones[64], zeros[64] = {0};
    for (int i = 0; i < 64; i++)
        ones[i] = 1;
    MPI_Comm world = MPI_COMM_WORLD;
    struct sides sides = {0};
    if (size > 1)
        sides = sides_make(rank, size);
    for (int across = 0; across < (size > 1 ? 2 : 1); across++) {
        MPI_Comm comm = across ? sides.across : world;
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
            const int root = outside[i];
            if (root == MPI_ROOT || root == MPI_PROC_NULL)
                continue;
            expect_class(MPI_Bcast(data, one, MPI_INT, root, comm), MPI_ERR_ROOT);
            expect_class(MPI_Reduce(data, more, one, MPI_INT, MPI_SUM, root, comm), MPI_ERR_ROOT);
            expect_class(MPI_Gather(data, one, MPI_INT, more, one, MPI_INT, root, comm),
                         MPI_ERR_ROOT);
            expect_class(MPI_Gatherv(data, one, MPI_INT, more, ones, zeros, MPI_INT, root, comm),
                         MPI_ERR_ROOT);
            expect_class(MPI_Scatter(data, one, MPI_INT, more, one, MPI_INT, root, comm),
                         MPI_ERR_ROOT);
            expect_class(MPI_Scatterv(data, ones, zeros, MPI_INT, more, one, MPI_INT, root, comm),
                         MPI_ERR_ROOT);
        }
    }
    expect_class(MPI_Bcast(data, one, MPI_INT, MPI_ROOT, world), MPI_ERR_ROOT);
    expect_class(MPI_Bcast(data, one, MPI_INT, MPI_PROC_NULL, world), MPI_ERR_ROOT);
    if (size > 1)
        sides_free(&sides);
    expect_ok(MPI_Barrier(world));
}

enum rooted { BCAST, GATHER, SCATTER, REDUCE, ROOTED };

/* One rooted collective across; what this rank gives as its root. */
static int call_across(enum rooted which, int root, int *value, int *many, MPI_Comm across)
{
    MPI_Request request;
    int error;
    switch (which) {
    case BCAST:
        return MPI_Bcast(value, 1, MPI_INT, root, across);
    case GATHER:
        return MPI_Gather(value, 1, MPI_INT, many, 1, MPI_INT, root, across);
    case SCATTER:
        error = MPI_Iscatter(many, 1, MPI_INT, value, 1, MPI_INT, root, across, &request);
        return error ? error : MPI_Wait(&request, MPI_STATUS_IGNORE);
    default:
        return MPI_Reduce(value, many, 1, MPI_INT, MPI_SUM, root, across);
    }
}

/* Nobody is the root, or one of each side, or all but one know it: somebody is told, and no data moves. */
static void roots_across_disagree(int rank, int size)
{
    struct sides sides = sides_make(rank, size);
    MPI_Comm_set_errhandler(sides.across, MPI_ERRORS_RETURN);
    for (int which = 0; which < ROOTED; which++)
        for (int how = 0; how < 3; how++) {
            int value = 10 + rank, many[16], class, told, most;
            int root = how == 0                ? MPI_PROC_NULL
                       : sides.rank == 0       ? MPI_ROOT
                       : how == 1 || sides.odd ? 0
                                               : MPI_PROC_NULL;
            if (how == 2 && sides.odd && sides.rank == 0) /* the only one who knows of no root */
                root = MPI_PROC_NULL;
            for (int i = 0; i < 16; i++)
                many[i] = -1;
            MPI_Error_class(call_across((enum rooted)which, root, &value, many, sides.across),
                            &class);
            expect(class == MPI_SUCCESS || class == MPI_ERR_ROOT, "class %d", class);
            expect(how != 0 || class == MPI_ERR_ROOT, "nobody is the root, and all is well");
            told = class == MPI_ERR_ROOT;
            MPI_Allreduce(&told, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
            expect(most == 1, "collective %d, way %d: nobody is told", which, how);
            expect(value == 10 + rank && many[0] == -1 && many[15] == -1, "data was moved");
        }
    sides_free(&sides);
}

/* The sides give different amounts to a sum: everybody is told, and no sum is written. */
static void amounts_across_differ(int rank, int size)
{
    struct sides sides = sides_make(rank, size);
    int give[4] = {rank, 1, 2, 3}, got[4];
    MPI_Comm_set_errhandler(sides.across, MPI_ERRORS_RETURN);
    for (int even = 0; even < 4; even++)
        for (int odd = 0; odd < 4; odd++) {
            for (int i = 0; i < 4; i++)
                got[i] = -7;
            const int count = sides.odd ? odd : even;
            expect_class(MPI_Allreduce(give, got, count, MPI_INT, MPI_SUM, sides.across),
                         even == odd ? MPI_SUCCESS : MPI_ERR_TRUNCATE);
            for (int i = 0; i < 4; i++)
                expect((got[i] == -7) == (even != odd || i >= count), "%d and %d: element %d is %d",
                       even, odd, i, got[i]);
        }
    sides_free(&sides);
}

/* A message in hand, and a request, belong to the rank that holds them. In one process everybody sees the handles. */
static void handles_of_another(int rank, int size)
{
    static MPI_Message message;
    static MPI_Request request;
    int got[2] = {-1, -1}, flag, index, indices[1];
    MPI_Status status;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (rank == size - 1) {
        int value = 5;
        MPI_Request send;
        MPI_Isend(&value, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, &send);
        expect_ok(MPI_Mprobe(rank, 3, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
        MPI_Irecv(&got[1], 1, MPI_INT, rank, 4, MPI_COMM_WORLD, &request);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        expect_ok(MPI_Mrecv(&got[0], 1, MPI_INT, &message, MPI_STATUS_IGNORE));
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        send_to_myself(rank, 4, 1);
        expect_ok(MPI_Wait(&request, MPI_STATUS_IGNORE));
        expect(got[0] == 5 && got[1] == 104, "got %d and %d", got[0], got[1]);
        return;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Message my_message = message;
    MPI_Request mine = request, none;
    expect_class(MPI_Mrecv(got, 1, MPI_INT, &my_message, &status), MPI_ERR_REQUEST);
    expect_class(MPI_Imrecv(got, 1, MPI_INT, &my_message, &none), MPI_ERR_REQUEST);
    expect(my_message == message, "a message that is refused stays");
    expect_class(MPI_Wait(&mine, &status), MPI_ERR_REQUEST);
    expect_class(MPI_Test(&mine, &flag, &status), MPI_ERR_REQUEST);
    expect_class(MPI_Waitany(1, &mine, &index, &status), MPI_ERR_REQUEST);
    expect_class(MPI_Testany(1, &mine, &index, &flag, &status), MPI_ERR_REQUEST);
    expect_class(MPI_Waitsome(1, &mine, &index, indices, &status), MPI_ERR_REQUEST);
    expect_class(MPI_Testsome(1, &mine, &index, indices, &status), MPI_ERR_REQUEST);
    expect_class(MPI_Waitall(1, &mine, &status), MPI_ERR_REQUEST);
    expect_class(MPI_Testall(1, &mine, &flag, &status), MPI_ERR_REQUEST);
    expect_class(MPI_Request_get_status(mine, &flag, &status), MPI_ERR_REQUEST);
    expect_class(MPI_Request_get_status_any(1, &mine, &index, &flag, &status), MPI_ERR_REQUEST);
    expect_class(MPI_Request_get_status_some(1, &mine, &index, indices, &status), MPI_ERR_REQUEST);
    expect_class(MPI_Request_get_status_all(1, &mine, &flag, &status), MPI_ERR_REQUEST);
    expect_class(MPI_Cancel(&mine), MPI_ERR_REQUEST);
    expect_class(MPI_Start(&mine), MPI_ERR_REQUEST);
    expect_class(MPI_Request_free(&mine), MPI_ERR_REQUEST);
    expect(mine == request, "a request that is refused stays");
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(void)
{
    world_test_sizes("every call that completes requests or looks at them tells what is done",
                     every_three, WORLD_ANY, WORLD_SIZES(1));
    world_test("of no requests all are done", of_no_requests, WORLD_ANY);
    world_test("a root that is not there is refused", roots_that_are_not_there, WORLD_ANY);
    world_test_pairs("roots of an intercommunicator that disagree are told", roots_across_disagree,
                     WORLD_ANY);
    world_test_pairs("amounts that differ between two sides are told", amounts_across_differ,
                     WORLD_ANY);
    world_test_pairs("messages and requests of another rank are refused", handles_of_another,
                     WORLD_ANY);
    return tap_done();
}
