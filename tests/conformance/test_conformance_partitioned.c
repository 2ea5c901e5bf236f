/* Partitioned messages: every shape against a plain message of the same elements, orders of Pready,
 * meeting, arrival, threads, errors. */
#include "sim/libc/hooks.h"
#include "tests/world_harness.h"

#include <string.h>

enum { ELEMENTS = 24, ROUNDS = 3, PARTS_MAX = 24 };

static const MPI_Info no_info = MPI_INFO_NULL;

static int next_of(int rank, int size)
{
    return (rank + 1) % size;
}

static int previous_of(int rank, int size)
{
    return (rank + size - 1) % size;
}

/* ---- every shape ---- */

enum order { UPWARD, DOWNWARD, SHUFFLED, LISTED, RANGES, ORDERS };

static void make_ready(MPI_Request send, int parts, enum order order, unsigned *dice)
{
    int sequence[PARTS_MAX];
    for (int i = 0; i < parts; i++)
        sequence[i] = order == DOWNWARD ? parts - 1 - i : i;
    for (int i = parts - 1; i > 0 && (order == SHUFFLED || order == LISTED); i--) {
        *dice = *dice * 1103515245u + 12345u;
        int other = (int)((*dice >> 16) % (unsigned)(i + 1)), kept = sequence[i];
        sequence[i] = sequence[other];
        sequence[other] = kept;
    }
    if (order == LISTED) {
        expect_ok(MPI_Pready_list(parts, sequence, send));
    } else if (order == RANGES) {
        if (parts > 1)
            expect_ok(MPI_Pready_range(parts / 2, parts - 1, send));
        expect_ok(MPI_Pready_range(0, parts > 1 ? parts / 2 - 1 : 0, send));
    } else {
        for (int i = 0; i < parts; i++)
            expect_ok(MPI_Pready(sequence[i], send));
    }
}

struct shape {
    int send_parts, receive_parts;
    bool send_gaps, receive_gaps; /* every second int only */
    enum order order;
};

/* Sends ELEMENTS ints to the next rank in some rounds, and the same as a plain message. */
static void exchange(const struct shape *shape, int rank, int size, unsigned *dice)
{
    int out[2 * ELEMENTS], in[2 * ELEMENTS], plain[2 * ELEMENTS];
    int next = next_of(rank, size), previous = previous_of(rank, size);
    MPI_Datatype gaps;
    MPI_Request request[2];
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &gaps);
    MPI_Type_commit(&gaps);
    MPI_Datatype sent = shape->send_gaps ? gaps : MPI_INT;
    MPI_Datatype received = shape->receive_gaps ? gaps : MPI_INT;
    expect_ok(MPI_Psend_init(out, shape->send_parts, ELEMENTS / shape->send_parts, sent, next, 1,
                             MPI_COMM_WORLD, no_info, &request[0]));
    expect_ok(MPI_Precv_init(in, shape->receive_parts, ELEMENTS / shape->receive_parts, received,
                             previous, 1, MPI_COMM_WORLD, no_info, &request[1]));
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Status status[2];
        int count = 0, flag = 0;
        for (int i = 0; i < 2 * ELEMENTS; i++) {
            out[i] = 1000 * rank + 100 * round + i;
            in[i] = plain[i] = -1;
        }
        MPI_Sendrecv(out, ELEMENTS, sent, next, 1, plain, ELEMENTS, received, previous, 1,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect_ok(round % 2 ? MPI_Startall(2, request) : MPI_Start(&request[0]));
        make_ready(request[0], shape->send_parts, shape->order, dice);
        if (round % 2 == 0)
            expect_ok(MPI_Start(&request[1]));
        while (round == 2 && !flag)
            expect_ok(MPI_Testall(2, request, &flag, status));
        if (round != 2)
            expect_ok(MPI_Waitall(2, request, status));
        MPI_Get_count(&status[1], received, &count);
        expect(count == ELEMENTS && status[1].MPI_SOURCE == previous && status[1].MPI_TAG == 1,
               "%d elements from %d", count, status[1].MPI_SOURCE);
        expect(memcmp(in, plain, sizeof in) == 0,
               "%d to %d parts, order %d, round %d: other elements than a plain message",
               shape->send_parts, shape->receive_parts, (int)shape->order, round);
    }
    MPI_Request_free(&request[0]);
    MPI_Request_free(&request[1]);
    MPI_Type_free(&gaps);
}

static void every_shape(int rank, int size)
{
    static const int parts[] = {1, 2, 3, 8, 24};
    unsigned dice = 7u + (unsigned)rank;
    for (int s = 0; s < 5; s++)
        for (int r = 0; r < 5; r++) {
            int kind = s * 5 + r;
            struct shape shape = {parts[s], parts[r], kind & 1, kind % 3 == 0,
                                  (enum order)(kind % ORDERS)};
            exchange(&shape, rank, size, &dice);
            shape.order = SHUFFLED;
            exchange(&shape, rank, size, &dice);
        }
}

static void nothing_is_sent(int rank, int size)
{
    MPI_Request request[2];
    int flag = 0;
    expect_ok(MPI_Psend_init(NULL, 3, 0, MPI_INT, next_of(rank, size), 0, MPI_COMM_WORLD, no_info,
                             &request[0]));
    expect_ok(MPI_Precv_init(NULL, 6, 0, MPI_INT, previous_of(rank, size), 0, MPI_COMM_WORLD,
                             no_info, &request[1]));
    expect_ok(MPI_Startall(2, request));
    expect_ok(MPI_Pready_range(0, 2, request[0]));
    expect_ok(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
    MPI_Request_free(&request[0]);
    MPI_Request_free(&request[1]);
    expect_ok(MPI_Psend_init(&flag, 2, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, no_info,
                             &request[0]));
    expect_ok(MPI_Precv_init(&flag, 2, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, no_info,
                             &request[1]));
    expect_ok(MPI_Startall(2, request));
    expect_ok(MPI_Pready_range(0, 1, request[0]));
    expect_ok(MPI_Parrived(request[1], 1, &flag));
    expect(flag == 1, "nothing arrives from nobody at once");
    expect_ok(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
    MPI_Request_free(&request[0]);
    MPI_Request_free(&request[1]);
}

/* ---- arriving, meeting ---- */

static void parts_arrive_alone(int rank, int size)
{
    int out[4] = {rank, rank + 1, rank + 2, rank + 3}, in[4] = {-1, -1, -1, -1}, flag = 0;
    int next = next_of(rank, size), previous = previous_of(rank, size), token = 0;
    MPI_Request send, receive;
    MPI_Psend_init(out, 4, 1, MPI_INT, next, 0, MPI_COMM_WORLD, no_info, &send);
    MPI_Precv_init(in, 2, 2, MPI_INT, previous, 0, MPI_COMM_WORLD, no_info, &receive);
    expect_ok(MPI_Parrived(receive, 0, &flag));
    expect(flag == 1, "an inactive receive waits for nothing");
    MPI_Start(&send);
    MPI_Start(&receive);
    MPI_Pready(3, send);
    MPI_Pready(1, send);
    MPI_Pready(2, send);
    do
        expect_ok(MPI_Parrived(receive, 1, &flag));
    while (!flag);
    expect(in[2] == previous + 2 && in[3] == previous + 3, "the second half is %d, %d", in[2],
           in[3]);
    expect_ok(MPI_Parrived(receive, 0, &flag));
    expect(flag == 0, "half a part has arrived");
    expect_ok(MPI_Test(&receive, &flag, MPI_STATUS_IGNORE));
    expect(flag == 0, "the receive is complete with half of its parts");
    /* the previous rank goes on when this one has looked */
    MPI_Sendrecv(&token, 1, MPI_INT, previous, 5, &token, 1, MPI_INT, next, 5, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Pready(0, send);
    expect_ok(MPI_Wait(&send, MPI_STATUS_IGNORE));
    expect_ok(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    expect(in[0] == previous && in[1] == previous + 1, "the first half is %d, %d", in[0], in[1]);
    MPI_Request_free(&send);
    MPI_Request_free(&receive);
}

static void meets_as_made(int rank, int size)
{
    int out[3] = {10 * rank, 10 * rank + 1, 10 * rank + 2}, in[3] = {-1, -1, -1};
    int next = next_of(rank, size), previous = previous_of(rank, size);
    MPI_Request request[5];
    MPI_Irecv(&in[2], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request[4]);
    for (int i = 0; i < 2; i++) {
        MPI_Psend_init(&out[i], 1, 1, MPI_INT, next, 0, MPI_COMM_WORLD, no_info, &request[i]);
        MPI_Precv_init(&in[i], 1, 1, MPI_INT, previous, 0, MPI_COMM_WORLD, no_info,
                       &request[2 + i]);
    }
    for (int i = 1; i >= 0; i--) {
        MPI_Start(&request[i]);
        MPI_Pready(0, request[i]);
    }
    MPI_Startall(2, &request[2]);
    expect_ok(MPI_Waitall(4, request, MPI_STATUSES_IGNORE));
    MPI_Send(&out[2], 1, MPI_INT, next, 0, MPI_COMM_WORLD);
    expect_ok(MPI_Wait(&request[4], MPI_STATUS_IGNORE));
    for (int i = 0; i < 3; i++)
        expect(in[i] == 10 * previous + i, "message %d is %d", i, in[i]);
    for (int i = 0; i < 4; i++)
        MPI_Request_free(&request[i]);
}

/* MPI 4.1, 4.2.1: freeing a partitioned request that is active is erroneous. Where the error comes
 * back, the request is as it was. */
static void freed_while_active(int rank, int size)
{
    int out[2] = {rank, rank + 1}, in[2] = {-1, -1};
    MPI_Request send, receive;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Psend_init(out, 2, 1, MPI_INT, next_of(rank, size), 0, MPI_COMM_WORLD, no_info, &send);
    MPI_Precv_init(in, 1, 2, MPI_INT, previous_of(rank, size), 0, MPI_COMM_WORLD, no_info,
                   &receive);
    MPI_Start(&send);
    MPI_Pready_range(0, 1, send);
    expect_class(MPI_Request_free(&send), MPI_ERR_REQUEST);
    MPI_Start(&receive);
    expect_class(MPI_Request_free(&receive), MPI_ERR_REQUEST);
    expect_ok(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    expect_class(MPI_Request_free(&send), MPI_ERR_REQUEST); /* done, but nobody has waited */
    expect_ok(MPI_Wait(&send, MPI_STATUS_IGNORE));
    expect_ok(MPI_Request_free(&send));
    expect(in[0] == previous_of(rank, size) && in[1] == in[0] + 1, "got %d, %d", in[0], in[1]);
    MPI_Request_free(&receive);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* ---- threads ---- */

enum { THREADS = 4 };

struct job {
    MPI_Request send;
    int *out, from;
};

static void *fill(void *context)
{
    struct job *job = context;
    for (int i = job->from; i < ELEMENTS; i += THREADS) {
        job->out[i] = 100 + i;
        MPI_Pready(i, job->send);
    }
    return NULL;
}

static void threads_make_ready(int rank, int size)
{
    int out[ELEMENTS] = {0}, in[ELEMENTS];
    MPI_Request request[2];
    MPI_Psend_init(out, ELEMENTS, 1, MPI_INT, next_of(rank, size), 0, MPI_COMM_WORLD, no_info,
                   &request[0]);
    MPI_Precv_init(in, 3, ELEMENTS / 3, MPI_INT, previous_of(rank, size), 0, MPI_COMM_WORLD,
                   no_info, &request[1]);
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t threads[THREADS];
        struct job jobs[THREADS];
        MPI_Startall(2, request);
        for (int t = 0; t < THREADS; t++) {
            jobs[t] = (struct job){request[0], out, t};
            expect(sim_libc_thread_start(&threads[t], NULL, fill, &jobs[t]) == 0, "no thread %d",
                   t);
        }
        expect_ok(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
        for (int t = 0; t < THREADS; t++)
            sim_libc_thread_join(threads[t], NULL);
        for (int i = 0; i < ELEMENTS; i++)
            expect(in[i] == 100 + i, "element %d is %d", i, in[i]);
    }
    MPI_Request_free(&request[0]);
    MPI_Request_free(&request[1]);
}

/* ---- errors ---- */

static void wrong_arguments(int rank, int size)
{
    int out[4] = {0}, in[4], flag, list[2] = {1, 9};
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Request send, receive, bad, plain;
    (void)rank;
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    expect_class(MPI_Psend_init(out, -1, 1, MPI_INT, 0, 0, world, no_info, &bad), MPI_ERR_ARG);
    expect_class(MPI_Psend_init(out, 0, 1, MPI_INT, 0, 0, world, no_info, &bad), MPI_ERR_ARG);
    expect_class(MPI_Precv_init(in, 0, 1, MPI_INT, 0, 0, world, no_info, &bad), MPI_ERR_ARG);
    expect_class(MPI_Psend_init(out, 0, 1, MPI_INT, MPI_PROC_NULL, 0, world, no_info, &bad),
                 MPI_ERR_ARG);
    expect_class(MPI_Psend_init(out, 1, -1, MPI_INT, 0, 0, world, no_info, &bad), MPI_ERR_COUNT);
    expect_class(MPI_Psend_init(NULL, 1, 1, MPI_INT, 0, 0, world, no_info, &bad), MPI_ERR_BUFFER);
    expect_class(MPI_Psend_init(out, 1, 1, MPI_DATATYPE_NULL, 0, 0, world, no_info, &bad),
                 MPI_ERR_TYPE);
    expect_class(MPI_Psend_init(out, 1, 1, MPI_INT, size, 0, world, no_info, &bad), MPI_ERR_RANK);
    expect_class(MPI_Psend_init(out, 1, 1, MPI_INT, 0, -5, world, no_info, &bad), MPI_ERR_TAG);
    expect_class(MPI_Precv_init(in, 1, 1, MPI_INT, MPI_ANY_SOURCE, 0, world, no_info, &bad),
                 MPI_ERR_RANK);
    expect_class(MPI_Precv_init(in, 1, 1, MPI_INT, 0, MPI_ANY_TAG, world, no_info, &bad),
                 MPI_ERR_TAG);
    expect_ok(MPI_Psend_init(out, 4, 1, MPI_INT, 0, 0, MPI_COMM_SELF, no_info, &send));
    expect_class(MPI_Precv_init(in, 3, 1, MPI_INT, 0, 0, MPI_COMM_SELF, no_info, &bad),
                 MPI_ERR_TRUNCATE);
    expect_ok(MPI_Precv_init(in, 1, 4, MPI_INT, 0, 0, MPI_COMM_SELF, no_info, &receive));
    expect_class(MPI_Pready(0, send), MPI_ERR_REQUEST); /* not started */
    expect_ok(MPI_Start(&send));
    expect_class(MPI_Start(&send), MPI_ERR_REQUEST);
    expect_ok(MPI_Start(&receive));
    expect_class(MPI_Pready(4, send), MPI_ERR_ARG);
    expect_class(MPI_Pready(-1, send), MPI_ERR_ARG);
    expect_class(MPI_Pready_range(0, 4, send), MPI_ERR_ARG);
    expect_class(MPI_Pready_range(2, 1, send), MPI_ERR_ARG);
    expect_class(MPI_Pready_list(2, list, send), MPI_ERR_ARG);
    expect_ok(MPI_Pready(1, send)); /* nothing of the list was marked */
    expect_class(MPI_Pready(1, send), MPI_ERR_ARG);
    expect_class(MPI_Pready(0, receive), MPI_ERR_REQUEST);
    expect_class(MPI_Parrived(send, 0, &flag), MPI_ERR_REQUEST);
    expect_class(MPI_Parrived(receive, 1, &flag), MPI_ERR_ARG);
    expect_class(MPI_Cancel(&send), MPI_ERR_REQUEST);
    expect_ok(MPI_Send_init(out, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &plain));
    expect_class(MPI_Pready(0, plain), MPI_ERR_REQUEST);
    MPI_Request_free(&plain);
    expect_ok(MPI_Pready(0, send));
    expect_ok(MPI_Pready_range(2, 3, send));
    expect_ok(MPI_Wait(&send, MPI_STATUS_IGNORE));
    expect_ok(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    MPI_Request_free(&send);
    MPI_Request_free(&receive);
    expect_class(MPI_Pready(0, MPI_REQUEST_NULL), MPI_ERR_REQUEST);
}

static void one_part_is_missing(int rank, int size)
{
    int buffer[2] = {0};
    MPI_Request request;
    (void)size;
    if (rank == 0)
        MPI_Psend_init(buffer, 2, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, no_info, &request);
    else
        MPI_Precv_init(buffer, 1, 2, MPI_INT, 0, 0, MPI_COMM_WORLD, no_info, &request);
    expect_ok(MPI_Start(&request));
    if (rank == 0)
        expect_ok(MPI_Pready(1, request));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(void)
{
    world_test("partitions of any number, order and type carry what a plain message carries",
               every_shape, WORLD_ANY);
    world_test("no elements and nobody at the other end are no trouble", nothing_is_sent,
               WORLD_ANY);
    world_test("a partition of the receive arrives when all its elements are ready",
               parts_arrive_alone, WORLD_ANY);
    world_test("partitioned requests meet in the order of their making, and no other messages",
               meets_as_made, WORLD_BUFFERS);
    world_test("what is active is not freed, and goes on", freed_while_active, WORLD_ANY);
    world_test("wrong arguments of partitioned calls have their classes", wrong_arguments,
               WORLD_ANY);
    for (int size = 1; size <= 5; size += 2) {
        struct sim_world_options options = world_options(size);
        options.executor = SIM_THREADS;
        struct world_result result = world_try(options, threads_make_ready);
        tap_ok(result.outcome == OUTCOME_FINISHED && !result.failed && result.looked_at,
               "threads of a rank make partitions ready at once, %d ranks: %s", size, result.text);
    }
    world_outcome_is("a partition that is never ready is a deadlock", world_options(2),
                     one_part_is_missing, OUTCOME_DEADLOCK);
    return tap_done();
}
