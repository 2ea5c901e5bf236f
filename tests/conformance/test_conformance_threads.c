/* Several threads of each rank call MPI at once (MPI_THREAD_MULTIPLE, OS threads only): messages,
 * collectives on a communicator for each thread, objects made and freed, errors. Under
 * ThreadSanitizer this is where races of a rank with itself show. */
#include "sim/libc/hooks.h"
#include "tests/world_harness.h"

#include <sched.h>
#include <string.h>

enum { THREADS = 4, ROUNDS = 20 };

/* What a thread of a rank is given. */
struct job {
    void (*body)(const struct job *job);
    int rank, size, thread;
    MPI_Comm comm; /* for this thread of every rank alone */
};

static void *work(void *job)
{
    ((const struct job *)job)->body(job);
    return NULL;
}

/* The body runs on threads 1..THREADS-1 and on the rank's own. */
static void in_threads(int rank, int size, void (*body)(const struct job *))
{
    struct job jobs[THREADS];
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++) {
        jobs[t] = (struct job){body, rank, size, t, MPI_COMM_NULL};
        MPI_Comm_dup(MPI_COMM_WORLD, &jobs[t].comm);
    }
    for (int t = 1; t < THREADS; t++)
        expect(sim_libc_thread_start(&threads[t], NULL, work, &jobs[t]) == 0, "no thread %d", t);
    body(&jobs[0]);
    for (int t = 1; t < THREADS; t++)
        sim_libc_thread_join(threads[t], NULL);
    for (int t = 0; t < THREADS; t++)
        MPI_Comm_free(&jobs[t].comm);
}

static void pass_round(const struct job *job)
{
    int right = (job->rank + 1) % job->size, left = (job->rank + job->size - 1) % job->size;
    for (int i = 0; i < ROUNDS; i++) {
        int got[4] = {-1, -1, -1, -1}, mine[4], index, done = 0;
        MPI_Request requests[8];
        for (int k = 0; k < 4; k++) {
            mine[k] = 1000 * i + 10 * job->thread + k;
            MPI_Irecv(&got[k], 1, MPI_INT, left, 10 * job->thread + k, MPI_COMM_WORLD,
                      &requests[k]);
        }
        for (int k = 0; k < 4; k++)
            MPI_Isend(&mine[k], 1, MPI_INT, right, 10 * job->thread + k, MPI_COMM_WORLD,
                      &requests[4 + k]);
        MPI_Wait(&requests[4], MPI_STATUS_IGNORE);
        MPI_Waitany(8, requests, &index, MPI_STATUS_IGNORE);
        while (!done)
            MPI_Testall(8, requests, &done, MPI_STATUSES_IGNORE);
        for (int k = 0; k < 4; k++)
            expect(got[k] == mine[k], "thread %d got %d, not %d", job->thread, got[k], mine[k]);
    }
}
static void messages(int rank, int size)
{
    in_threads(rank, size, pass_round);
}

static void reduce_all(const struct job *job)
{
    for (int i = 0; i < ROUNDS; i++) {
        int own = job->rank + i * job->thread, sum = -1, many[300], sums[300];
        MPI_Request request;
        MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, job->comm);
        int expected = job->size * (job->size - 1) / 2 + job->size * i * job->thread;
        expect(sum == expected, "thread %d: %d, not %d", job->thread, sum, expected);
        for (int k = 0; k < 300; k++)
            many[k] = own + k;
        MPI_Iallreduce(many, sums, 300, MPI_INT, MPI_SUM, job->comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        expect(sums[299] == expected + 299 * job->size, "thread %d: %d", job->thread, sums[299]);
        MPI_Barrier(job->comm);
    }
}
static void collectives(int rank, int size)
{
    in_threads(rank, size, reduce_all);
}

static void add(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *length; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

static int delete_value(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm, (void)keyval, (void)extra;
    return *(int *)value == 7 ? MPI_SUCCESS : MPI_ERR_OTHER;
}

/* Types, groups, operations, info, attributes, communicators. */
static void make_and_free(const struct job *job)
{
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Datatype column;
        int matrix[3][3] = {{0}}, keyval, found, seven = 7, *value = NULL, sum = 0, one = 1, number;
        for (int k = 0; k < 3; k++)
            matrix[k][0] = job->thread + k;
        MPI_Type_vector(3, 1, 3, MPI_INT, &column);
        MPI_Type_commit(&column);
        expect_ok(MPI_Sendrecv(&matrix[0][0], 1, column, job->rank, job->thread, &matrix[0][2], 1,
                               column, job->rank, job->thread, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        expect(matrix[2][2] == job->thread + 2, "%d", matrix[2][2]);
        MPI_Type_free(&column);

        MPI_Group all, none;
        MPI_Comm_group(MPI_COMM_WORLD, &all);
        MPI_Group_difference(all, all, &none);
        MPI_Group_size(all, &number);
        expect(number == job->size, "a group of %d", number);
        expect(none == MPI_GROUP_EMPTY, "not empty");
        MPI_Group_free(&all);

        MPI_Op op;
        MPI_Op_create(add, 1, &op);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, op, job->comm);
        expect(sum == job->size, "%d", sum);
        MPI_Op_free(&op);

        MPI_Info info;
        char text[8] = "";
        MPI_Info_create(&info);
        MPI_Info_set(info, "key", "value");
        MPI_Info_get(info, "key", 7, text, &found);
        expect(found && !strcmp(text, "value"), "%s", text);
        MPI_Info_free(&info);

        MPI_Datatype same;
        int packed[16], position = 0, extents[2] = {0};
        MPI_Type_dup(MPI_INT, &same);
        MPI_Type_set_name(same, "mine");
        MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &keyval, NULL);
        MPI_Type_set_attr(MPI_INT, keyval, &seven);
        MPI_Type_get_attr(MPI_INT, keyval, &value, &found);
        expect(found && value == &seven, "no attribute of a type");
        MPI_Type_delete_attr(MPI_INT, keyval);
        MPI_Type_free_keyval(&keyval);
        MPI_Pack(matrix, 9, same, packed, sizeof packed, &position, MPI_COMM_SELF);
        expect(position == 9 * (int)sizeof(int), "%d bytes", position);
        MPI_Type_free(&same);

        MPI_Comm cart;
        MPI_Dims_create(job->size, 2, extents);
        MPI_Cart_create(job->comm, 2, extents, (int[]){0, 1}, 0, &cart);
        MPI_Comm_set_name(cart, "grid");
        MPI_Barrier(cart);
        MPI_Comm_free(&cart);

        MPI_Errhandler handler;
        MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
        MPI_Errhandler_free(&handler);

        MPI_Request persistent[2];
        MPI_Send_init(&one, 1, MPI_INT, 0, job->thread, MPI_COMM_SELF, &persistent[0]);
        MPI_Recv_init(&number, 1, MPI_INT, 0, job->thread, MPI_COMM_SELF, &persistent[1]);
        for (int again = 0; again < 2; again++) {
            number = 0;
            MPI_Startall(2, persistent);
            MPI_Waitall(2, persistent, MPI_STATUSES_IGNORE);
            expect(number == 1, "%d", number);
        }
        MPI_Request_free(&persistent[0]);
        MPI_Request_free(&persistent[1]);

        MPI_Request never;
        MPI_Status status;
        int cancelled = 0;
        MPI_Irecv(&number, 1, MPI_INT, 0, 900 + job->thread, MPI_COMM_SELF, &never);
        MPI_Cancel(&never);
        MPI_Wait(&never, &status);
        MPI_Test_cancelled(&status, &cancelled);
        expect(cancelled, "not cancelled");

        MPI_Comm child;
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_value, &keyval, NULL);
        MPI_Comm_split(job->comm, job->rank % 2, 0, &child);
        MPI_Comm_set_attr(child, keyval, &seven);
        MPI_Comm_get_attr(child, keyval, &value, &found);
        expect(found && value == &seven, "no attribute");
        expect_ok(MPI_Comm_free(&child));
        MPI_Comm_free_keyval(&keyval);
    }
}
static void objects(int rank, int size)
{
    in_threads(rank, size, make_and_free);
}

static void be_wrong(const struct job *job)
{
    MPI_Comm_set_errhandler(job->comm, MPI_ERRORS_RETURN);
    for (int i = 0; i < ROUNDS; i++) {
        int class, code;
        expect_class(MPI_Send(&i, 1, MPI_INT, job->size, 0, job->comm), MPI_ERR_RANK);
        expect_class(MPI_Allreduce(&i, &class, -1, MPI_INT, MPI_SUM, job->comm), MPI_ERR_COUNT);
        MPI_Add_error_class(&class);
        MPI_Add_error_code(class, &code);
        expect_class(code, class);
        if (job->size > 1) { /* told to everybody by whom notices */
            int values[2] = {1, 2}, got[2];
            expect(MPI_Allreduce(values, got, 1 + (job->rank == 0), MPI_INT, MPI_SUM, job->comm),
                   "a mismatch succeeds");
        }
    }
}
static void errors(int rank, int size)
{
    in_threads(rank, size, be_wrong);
}

/* One communicator for all threads of a rank: collectives of theirs that meet others by chance fail or do not, each for its own reason. What
 * MPI allows at once on one communicator is right. */
static MPI_Comm common[16];
static void mix_up(const struct job *job)
{
    MPI_Comm comm = common[job->rank];
    for (int i = 0; i < ROUNDS; i++) {
        int one = 1, sum = 0, errors, length, flag;
        char text[MPI_MAX_ERROR_STRING] = "";
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Comm made = MPI_COMM_NULL;
        switch ((job->thread + i / 5) % 4) {
        case 0:
            errors = MPI_Barrier(comm);
            break;
        case 1:
            errors = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
            break;
        case 2:
            errors = MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_MAX, comm, &request);
            errors = errors ? errors : MPI_Wait(&request, MPI_STATUS_IGNORE);
            break;
        default:
            errors = MPI_Comm_dup(comm, &made);
        }
        if (errors) {
            MPI_Error_string(errors, text, &length);
            expect(*text, "no text for %d", errors);
        }
        if (made != MPI_COMM_NULL)
            MPI_Comm_free(&made);
        void *value;
        MPI_Comm_set_name(comm, job->thread % 2 ? "odd" : "even");
        MPI_Comm_get_name(comm, text, &length);
        expect(!strcmp(text, "odd") || !strcmp(text, "even"), "%s", text);
        MPI_Comm_get_attr(comm, MPI_TAG_UB, &value, &flag);
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, MPI_STATUS_IGNORE);
        MPI_Comm_remote_size(comm, &length); /* refused */
    }
}
static void side_by_side(int rank, int size)
{
    MPI_Comm_dup(MPI_COMM_WORLD, &common[rank]);
    MPI_Comm_set_errhandler(common[rank], MPI_ERRORS_RETURN);
    in_threads(rank, size, mix_up);
    MPI_Comm_free(&common[rank]);
}

/* One window for all threads of a rank: each adds to every rank's counter, and writes where only it does. */
static MPI_Win shared[16];
static void add_up(const struct job *job)
{
    MPI_Win win = shared[job->rank];
    for (int i = 0; i < ROUNDS; i++) {
        int one = 1, got = -1, mine = 100 * job->rank + job->thread;
        int to = (job->rank + i) % job->size, place = 1 + job->rank * THREADS + job->thread;
        MPI_Request request;
        expect_ok(MPI_Accumulate(&one, 1, MPI_INT, to, 0, 1, MPI_INT, MPI_SUM, win));
        expect_ok(MPI_Put(&mine, 1, MPI_INT, to, place, 1, MPI_INT, win));
        expect_ok(MPI_Win_flush(to, win));
        expect_ok(MPI_Rget(&got, 1, MPI_INT, to, place, 1, MPI_INT, win, &request));
        expect_ok(MPI_Wait(&request, MPI_STATUS_IGNORE));
        expect(got == mine, "%d came back, not %d", got, mine);
        expect_ok(MPI_Fetch_and_op(&one, &got, MPI_INT, to, 0, MPI_SUM, win));
        expect_ok(MPI_Win_flush_local_all(win));
        expect_ok(MPI_Win_sync(win));
        MPI_Errhandler handler;
        MPI_Win_get_errhandler(win, &handler);
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
        expect_class(MPI_Put(&mine, 1, MPI_INT, job->size, 0, 1, MPI_INT, win), MPI_ERR_RANK);
        MPI_Win_set_name(win, job->thread % 2 ? "odd" : "even");
    }
}
static void one_window(int rank, int size)
{
    int *memory, total = -1;
    MPI_Win_allocate((MPI_Aint)(1 + size * THREADS) * (MPI_Aint)sizeof(int), sizeof(int),
                     MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &shared[rank]);
    memset(memory, 0, (size_t)(1 + size * THREADS) * sizeof(int));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, shared[rank]);
    in_threads(rank, size, add_up);
    MPI_Win_unlock_all(shared[rank]);
    MPI_Barrier(MPI_COMM_WORLD);
    total = memory[0];
    MPI_Allreduce(MPI_IN_PLACE, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect(total == 2 * ROUNDS * THREADS * size, "%d additions", total);
    MPI_Win_free(&shared[rank]);
}

/* Every message is received once, by whichever thread. */
static _Atomic int received[16];
static void take_any(const struct job *job)
{
    int one = 1, value = 0;
    MPI_Request sent[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Isend(&one, 1, MPI_INT, (job->rank + i) % job->size, 5, MPI_COMM_WORLD, &sent[i]);
        if (i % 2) {
            MPI_Message message;
            MPI_Mprobe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
            MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        received[job->rank] += value;
    }
    MPI_Waitall(ROUNDS, sent, MPI_STATUSES_IGNORE);
}
static void wildcards(int rank, int size)
{
    received[rank] = 0;
    in_threads(rank, size, take_any);
    expect(received[rank] == THREADS * ROUNDS, "%d messages", received[rank]);
}

/* The rank's own thread joins one that waits for what nobody sends. */
static void wait_for_nothing(const struct job *job)
{
    int never;
    MPI_Recv(&never, 1, MPI_INT, job->rank, 99, job->comm, MPI_STATUS_IGNORE);
}
static void joined_for_ever(int rank, int size)
{
    in_threads(rank, size, wait_for_nothing);
}

/* Polls, longer than a livelock takes, for what another thread completes. */
static MPI_Request promised[16];
static _Atomic int asked[16];
static void promise(const struct job *job)
{
    int done = 0;
    if (job->thread == 0) {
        for (int i = 0; i < 2000 && !done; i++) {
            MPI_Test(&promised[job->rank], &done, MPI_STATUS_IGNORE);
            asked[job->rank]++;
        }
        expect(!done, "done before it was completed");
        asked[job->rank] = -1;
        MPI_Wait(&promised[job->rank], MPI_STATUS_IGNORE);
    } else if (job->thread == 1) {
        while (asked[job->rank] >= 0)
            sched_yield();
        MPI_Grequest_complete(promised[job->rank]);
    }
}
static int query(void *state, MPI_Status *status)
{
    (void)state;
    MPI_Status_set_elements(status, MPI_INT, 0);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}
static int release(void *state)
{
    (void)state;
    return MPI_SUCCESS;
}
static int cancel(void *state, int complete)
{
    (void)state, (void)complete;
    return MPI_SUCCESS;
}
static void others_complete(int rank, int size)
{
    asked[rank] = 0;
    MPI_Grequest_start(query, release, cancel, NULL, &promised[rank]);
    in_threads(rank, size, promise);
}

static void on_threads(const char *name, world_body *body, const int *sizes)
{
    char got[600] = "";
    bool passed = true;
    for (int model = SIM_SEND_EAGER; model <= SIM_SEND_RENDEZVOUS && passed; model++)
        for (int i = 0; sizes[i] && passed; i++) {
            struct sim_world_options options = world_options(sizes[i]);
            options.executor = SIM_THREADS;
            options.send_model = (enum sim_send_model)model;
            struct world_result result = world_try(options, body);
            passed = result.outcome == OUTCOME_FINISHED && !result.failed && result.looked_at;
            if (!passed)
                snprintf(got, sizeof got, "%d ranks: %s; %s", sizes[i],
                         world_outcomes[result.outcome], result.text);
        }
    tap_test_str(passed ? "all worlds as they should be" : got, "all worlds as they should be",
                 TAP_HERE, "%s", name);
}

int main(void)
{
    on_threads("threads of a rank exchange messages at once", messages, WORLD_SIZES(1, 2, 5));
    on_threads("and take part in collectives, each on its communicator", collectives,
               WORLD_SIZES(1, 2, 5));
    on_threads("and make and free objects", objects, WORLD_SIZES(1, 2, 5));
    on_threads("and make mistakes", errors, WORLD_SIZES(1, 2, 5));
    on_threads("and mix up collectives on one communicator", side_by_side, WORLD_SIZES(1, 2, 5));
    on_threads("and add to one window", one_window, WORLD_SIZES(1, 2, 4));
    on_threads("and share what comes from anybody", wildcards, WORLD_SIZES(1, 2, 5));
    on_threads("who polls for what another thread completes is no livelock", others_complete,
               WORLD_SIZES(1, 2, 5));
    struct sim_world_options options = world_options(2);
    options.executor = SIM_THREADS;
    tap_test_str(world_outcomes[world_try(options, joined_for_ever).outcome], "deadlock", TAP_HERE,
                 "threads that wait for ever, and a rank that joins them, are a deadlock");
    return tap_done();
}
