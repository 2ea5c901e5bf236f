/* How worlds end: finished, deadlocked, livelocked, aborted, crashed; what decides between them:
 * the progress model, the strictness of collectives, errors and error handlers. */
#include "tests/world_harness.h"

#include <signal.h>

static struct sim_world_options model(int ranks, enum sim_send_model send_model)
{
    struct sim_world_options options = world_options(ranks);
    options.send_model = send_model;
    return options;
}

static struct sim_world_options strict(int ranks)
{
    struct sim_world_options options = world_options(ranks);
    options.strict_collectives = true;
    return options;
}

/* ---- deadlocks ---- */

static void receive_head_to_head(int rank, int size)
{
    int value = 0;
    (void)size;
    if (rank < 2)
        MPI_Recv(&value, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void receive_from_one_who_is_gone(int rank, int size)
{
    int value = 0;
    (void)size;
    if (rank == 0)
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void wrong_tag(int rank, int size)
{
    (void)size;
    if (rank == 0)
        MPI_Send(&rank, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
    if (rank == 1)
        MPI_Recv(&rank, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void synchronous_head_to_head(int rank, int size)
{
    int got = -1;
    if (rank > 1)
        return;
    (void)size;
    MPI_Ssend(&rank, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD);
    MPI_Recv(&got, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void probe_for_nothing(int rank, int size)
{
    MPI_Status status;
    (void)size;
    if (rank == 0)
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
}

static void leave_out_a_barrier(int rank, int size)
{
    (void)size;
    if (rank)
        MPI_Barrier(MPI_COMM_WORLD);
}

static void wait_for_what_nobody_sends(int rank, int size)
{
    int got[2], index;
    MPI_Request requests[2];
    (void)size;
    if (rank)
        return;
    for (int i = 0; i < 2; i++)
        MPI_Irecv(&got[i], 1, MPI_INT, 1, i, MPI_COMM_WORLD, &requests[i]);
    MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
}

/* ---- livelocks ---- */

static void test_for_ever(int rank, int size)
{
    int got, flag = 0;
    MPI_Request request;
    (void)size;
    if (rank > 1)
        return;
    MPI_Irecv(&got, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, &request);
    while (!flag)
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
}

static void probe_for_ever_while_others_block(int rank, int size)
{
    int flag = 0;
    (void)size;
    if (rank)
        MPI_Barrier(MPI_COMM_WORLD);
    while (!flag)
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

static void testsome_for_ever(int rank, int size)
{
    int got[2], count = 0, indices[2];
    MPI_Request requests[2];
    for (int i = 0; i < 2; i++)
        MPI_Irecv(&got[i], 1, MPI_INT, (rank + 1) % size, i, MPI_COMM_WORLD, &requests[i]);
    while (count == 0)
        MPI_Testsome(2, requests, &count, indices, MPI_STATUSES_IGNORE);
}

/* Polls very often, but somebody works towards it. */
static void poll_while_others_work(int rank, int size)
{
    int flag = 0, value = 0;
    MPI_Request request;
    if (rank == 0) {
        MPI_Irecv(&value, 1, MPI_INT, size - 1, 9, MPI_COMM_WORLD, &request);
        while (!flag)
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        expect(value == 500, "got %d", value);
        return;
    }
    for (int i = 0; i < 500; i++) {
        MPI_Sendrecv(&i, 1, MPI_INT, rank == 1 ? size - 1 : rank - 1, 0, &value, 1, MPI_INT,
                     rank == size - 1 ? 1 : rank + 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPIX_Yield();
    }
    value = 500;
    if (rank == size - 1)
        MPI_Send(&value, 1, MPI_INT, 0, 9, MPI_COMM_WORLD);
}

static void poll_until_the_clock_says_so(int rank, int size)
{
    int flag = 0, got;
    MPI_Request request;
    (void)size;
    double end = MPI_Wtime() + 0.002;
    MPI_Irecv(&got, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &request);
    while (!flag && MPI_Wtime() < end)
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    expect(!flag, "something came");
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* ---- progress models ---- */

static void send_ring(int rank, int size)
{
    int got = -1;
    MPI_Send(&rank, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
    MPI_Recv(&got, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect(got == (rank + size - 1) % size, "got %d", got);
}

static void receive_ring(int rank, int size)
{
    int got = -1;
    MPI_Recv(&got, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&rank, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
}

static void alternating_ring(int rank, int size)
{
    int got = -1, next = (rank + 1) % size, previous = (rank + size - 1) % size;
    if (rank % 2 == 0)
        MPI_Send(&rank, 1, MPI_INT, next, 0, MPI_COMM_WORLD);
    MPI_Recv(&got, 1, MPI_INT, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank % 2)
        MPI_Send(&rank, 1, MPI_INT, next, 0, MPI_COMM_WORLD);
    expect(got == previous, "got %d", got);
}

enum { FAST = 1000, SLOW = 30000 }; /* ints below and above the eager limit */
static const int zeros[SLOW];

/* Not on the stack and not on the heap, which a deadlocked rank would never free. */
static int landing[2][SLOW];

static void exchange_of(int rank, int count)
{
    if (rank > 1)
        return;
    MPI_Send(zeros, count, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD);
    MPI_Recv(landing[rank], count, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void exchange_small(int rank, int size)
{
    (void)size;
    exchange_of(rank, FAST);
}

static void exchange_large(int rank, int size)
{
    (void)size;
    exchange_of(rank, SLOW);
}

/* Each rank starts a send to the next and a receive from the previous as one batch. */
static void batched_ring(int rank, int size)
{
    int got = -1, next = (rank + 1) % size, previous = (rank + size - 1) % size;
    MPI_Request requests[2];
    SIM_Batch_begin();
    MPI_Isend(&rank, 1, MPI_INT, next, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&got, 1, MPI_INT, previous, 0, MPI_COMM_WORLD, &requests[1]);
    SIM_Batch_end();
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    expect(got == previous, "got %d", got);
}

/* Rank 0 batches what rank 1 does one after the other. */
static void batch_against_sequence(int rank, int size)
{
    int got = -1;
    MPI_Request requests[2];
    (void)size;
    if (rank == 0) {
        SIM_Batch_begin();
        MPI_Isend(&rank, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(&got, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &requests[1]);
        SIM_Batch_end();
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    } else if (rank == 1) {
        MPI_Recv(&got, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&rank, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    }
}

/* A chain of batches: each moves only when the next one can. */
static void batched_chain(int rank, int size)
{
    int got[2] = {-1, -1}, count = 0;
    MPI_Request requests[4];
    SIM_Batch_begin();
    for (int side = -1; side <= 1; side += 2) {
        int other = rank + side;
        if (other < 0 || other >= size)
            continue;
        MPI_Irecv(&got[side > 0], 1, MPI_INT, other, 0, MPI_COMM_WORLD, &requests[count++]);
        MPI_Isend(&rank, 1, MPI_INT, other, 0, MPI_COMM_WORLD, &requests[count++]);
    }
    SIM_Batch_end();
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    expect(got[0] == (rank ? rank - 1 : -1), "below is %d", got[0]);
    expect(got[1] == (rank < size - 1 ? rank + 1 : -1), "above is %d", got[1]);
}

/* ---- collectives ---- */

static void root_leaves_a_bcast(int rank, int size)
{
    int value = rank ? -1 : 42, token = 7;
    (void)size;
    if (rank == 1)
        MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    expect(value == 42, "got %d", value);
    if (rank == 0) {
        value = 0; /* what was sent must not change any more */
        MPI_Send(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    }
}

static void members_leave_a_reduce(int rank, int size)
{
    int sum = -1, token = 7, value = rank;
    if (rank == 0)
        MPI_Recv(&token, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Reduce(&value, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    value = 1000;
    if (rank == size - 1)
        MPI_Send(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    if (rank == 0)
        expect(sum == size * (size - 1) / 2, "sum %d", sum);
}

static void low_ranks_leave_a_scan(int rank, int size)
{
    int sum = -1, token = 7;
    if (rank == size - 1)
        MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Scan(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Send(&token, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD);
    expect(sum == rank * (rank + 1) / 2, "sum %d", sum);
}

static void nobody_leaves_an_allreduce(int rank, int size)
{
    int sum = -1, token = 7;
    if (rank == size - 1)
        MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Send(&token, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD);
}

static void different_collectives(int rank, int size)
{
    int value = rank, sum = -1;
    (void)size;
    if (rank == 1)
        MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    else
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void different_roots(int rank, int size)
{
    int value = rank;
    MPI_Bcast(&value, 1, MPI_INT, rank == size - 1, MPI_COMM_WORLD);
}

/* With errors returned, both sides of a mismatch are told. */
static void mismatches_are_told_to_all(int rank, int size)
{
    int value[2] = {rank, rank}, sum[2];
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    expect_class(MPI_Allreduce(value, sum, rank ? 1 : 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD),
                 MPI_ERR_TRUNCATE);
    expect_class(MPI_Allreduce(value, sum, 1, MPI_INT, rank ? MPI_SUM : MPI_MAX, MPI_COMM_WORLD),
                 MPI_ERR_OP);
    expect_ok(MPI_Allreduce(value, sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    expect(sum[0] == size * (size - 1) / 2, "sum %d", sum[0]);
}

/* ---- errors and ends ---- */

static void send_to_nowhere(int rank, int size)
{
    if (rank == 0)
        MPI_Send(&rank, 1, MPI_INT, size, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void receive_too_little(int rank, int size)
{
    int values[2] = {1, 2};
    (void)size;
    if (rank == 0)
        MPI_Send(values, 2, MPI_INT, 1, 0, MPI_COMM_WORLD);
    if (rank == 1)
        MPI_Recv(values, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void abort_with_seven(int rank, int size)
{
    if (rank == size - 1)
        MPI_Abort(MPI_COMM_WORLD, 7);
    MPI_Barrier(MPI_COMM_WORLD);
    expect(false, "somebody came through the barrier");
}

static void end_with_three(int rank, int size)
{
    (void)size;
    if (rank == 1)
        sim_rank_end(3);
}

static void crash_while_others_wait(int rank, int size)
{
    if (rank == size - 1)
        sim_rank_crash(SIGSEGV);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void call_after_the_end(int rank, int size)
{
    (void)rank, (void)size;
    MPI_Finalize();
    MPI_Barrier(MPI_COMM_WORLD);
}

/* What a world looked like at its end. */
struct ends {
    enum rank_state states[8];
    int codes[8];
    uint64_t stopped_ns;
};

static void look(struct sim_world *world, void *context)
{
    struct ends *ends = context;
    for (int r = 0; r < 4; r++) {
        ends->states[r] = sim_world_rank_state(world, r);
        ends->codes[r] = sim_world_exit_code(world, r);
    }
    ends->stopped_ns = sim_world_stopped_ns(world);
}

static struct ends ends_of(world_body *body, enum sim_executor_kind executor)
{
    struct ends ends = {0};
    struct sim_world_options options = world_options(4);
    options.executor = executor;
    world_try_look(options, body, look, &ends);
    return ends;
}

static void ranks_say_how_they_ended(void)
{
    for (int e = SIM_FIBERS; e <= SIM_TURNS; e++) {
        enum sim_executor_kind executor = (enum sim_executor_kind)e;
        const char *const names[] = {"fibers", "OS threads", "turns"}, *how = names[e];
        struct ends ends = ends_of(receive_head_to_head, executor);
        tap_ok(ends.states[0] == RANK_BLOCKED && ends.states[1] == RANK_BLOCKED &&
                   ends.states[2] == RANK_FINISHED && ends.states[3] == RANK_FINISHED &&
                   ends.stopped_ns,
               "of a deadlock the two are blocked, the others finished (%s)", how);
        ends = ends_of(abort_with_seven, executor);
        tap_ok(ends.states[3] == RANK_ABORTED && ends.codes[3] == 7, "who aborts says so (%s)",
               how);
        ends = ends_of(end_with_three, executor);
        tap_ok(ends.states[1] == RANK_FINISHED && ends.codes[1] == 3 && ends.codes[0] == 0,
               "exit codes are each rank's own (%s)", how);
        ends = ends_of(crash_while_others_wait, executor);
        tap_ok(ends.states[3] == RANK_CRASHED && ends.codes[3] == SIGSEGV &&
                   ends.states[0] == RANK_BLOCKED,
               "who crashes says by which signal, the others wait (%s)", how);
        ends = ends_of(test_for_ever, executor);
        tap_ok(ends.states[0] == RANK_POLLING && ends.states[2] == RANK_FINISHED,
               "who polls for ever is polling (%s)", how);
    }
}

int main(void)
{
    tap_plan(54);
    world_outcome_is("two receives head to head are a deadlock", world_options(16),
                     receive_head_to_head, OUTCOME_DEADLOCK);
    world_outcome_is("a receive for what nobody will send is a deadlock", world_options(3),
                     receive_from_one_who_is_gone, OUTCOME_DEADLOCK);
    world_outcome_is("a receive for another tag is a deadlock", world_options(2), wrong_tag,
                     OUTCOME_DEADLOCK);
    world_outcome_is("two synchronous sends head to head are a deadlock", world_options(3),
                     synchronous_head_to_head, OUTCOME_DEADLOCK);
    world_outcome_is("a probe for nothing is a deadlock", world_options(3), probe_for_nothing,
                     OUTCOME_DEADLOCK);
    world_outcome_is("a barrier one rank leaves out is a deadlock", world_options(5),
                     leave_out_a_barrier, OUTCOME_DEADLOCK);
    world_outcome_is("Waitany for what nobody sends is a deadlock", world_options(3),
                     wait_for_what_nobody_sends, OUTCOME_DEADLOCK);
    world_outcome_is("Test loops that wait for each other are a livelock", world_options(3),
                     test_for_ever, OUTCOME_LIVELOCK);
    world_outcome_is("an Iprobe loop while the others block is a livelock", world_options(3),
                     probe_for_ever_while_others_block, OUTCOME_LIVELOCK);
    world_outcome_is("Testsome loops are a livelock", world_options(2), testsome_for_ever,
                     OUTCOME_LIVELOCK);
    world_outcome_is("a loop of tests for work under way is none", world_options(4),
                     poll_while_others_work, OUTCOME_FINISHED);
    world_outcome_is("a loop that looks at the clock is none", world_options(2),
                     poll_until_the_clock_says_so, OUTCOME_FINISHED);

    world_outcome_is("a ring of sends finishes when sends are eager", model(5, SIM_SEND_EAGER),
                     send_ring, OUTCOME_FINISHED);
    world_outcome_is("a ring of sends is a deadlock under rendezvous",
                     model(5, SIM_SEND_RENDEZVOUS), send_ring, OUTCOME_DEADLOCK);
    world_outcome_is("a ring of sends is a deadlock with batches", model(5, SIM_SEND_BATCH),
                     send_ring, OUTCOME_DEADLOCK);
    world_outcome_is("a ring of receives is a deadlock even when sends are eager",
                     model(5, SIM_SEND_EAGER), receive_ring, OUTCOME_DEADLOCK);
    world_outcome_is("an alternating ring finishes under rendezvous", model(4, SIM_SEND_RENDEZVOUS),
                     alternating_ring, OUTCOME_FINISHED);
    world_outcome_is("an alternating ring finishes with batches", model(4, SIM_SEND_BATCH),
                     alternating_ring, OUTCOME_FINISHED);
    world_outcome_is("small messages cross below the eager limit", model(3, SIM_SEND_EAGER),
                     exchange_small, OUTCOME_FINISHED);
    world_outcome_is("large messages do not cross above the eager limit", model(3, SIM_SEND_EAGER),
                     exchange_large, OUTCOME_DEADLOCK);
    struct sim_world_options endless = model(3, SIM_SEND_EAGER);
    endless.eager_limit = SIZE_MAX;
    world_outcome_is("large messages cross without a limit", endless, exchange_large,
                     OUTCOME_FINISHED);
    struct sim_world_options none = model(3, SIM_SEND_EAGER);
    none.eager_limit = 0;
    world_outcome_is("small messages do not cross with a limit of 0", none, exchange_small,
                     OUTCOME_DEADLOCK);
    world_outcome_is("a ring of batches moves as one", model(5, SIM_SEND_BATCH), batched_ring,
                     OUTCOME_FINISHED);
    world_outcome_is("a chain of batches moves as one", model(16, SIM_SEND_BATCH), batched_chain,
                     OUTCOME_FINISHED);
    world_outcome_is("a batch is a deadlock with a peer that goes one by one",
                     model(3, SIM_SEND_BATCH), batch_against_sequence, OUTCOME_DEADLOCK);
    world_outcome_is("the same is none under rendezvous", model(3, SIM_SEND_RENDEZVOUS),
                     batch_against_sequence, OUTCOME_FINISHED);

    world_outcome_is("the root may leave a Bcast before the others come", world_options(3),
                     root_leaves_a_bcast, OUTCOME_FINISHED);
    world_outcome_is("it may not when collectives are strict", strict(3), root_leaves_a_bcast,
                     OUTCOME_DEADLOCK);
    world_outcome_is("members may leave a Reduce before the root comes", world_options(3),
                     members_leave_a_reduce, OUTCOME_FINISHED);
    world_outcome_is("they may not when collectives are strict", strict(3), members_leave_a_reduce,
                     OUTCOME_DEADLOCK);
    world_outcome_is("low ranks may leave a Scan before high ones come", world_options(3),
                     low_ranks_leave_a_scan, OUTCOME_FINISHED);
    world_outcome_is("they may not when scans are strict", strict(3), low_ranks_leave_a_scan,
                     OUTCOME_DEADLOCK);
    world_outcome_is("nobody leaves an Allreduce before all have come", world_options(3),
                     nobody_leaves_an_allreduce, OUTCOME_DEADLOCK);
    world_outcome_is("different collectives end the world", world_options(3), different_collectives,
                     OUTCOME_ABORTED);
    world_outcome_is("different roots end the world", world_options(3), different_roots,
                     OUTCOME_ABORTED);
    world_test_pairs("with errors returned a mismatch is told to everybody",
                     mismatches_are_told_to_all, WORLD_ANY);

    world_outcome_is("a fatal error ends the world, not the process", world_options(5),
                     send_to_nowhere, OUTCOME_ABORTED);
    world_outcome_is("truncation is fatal by default", world_options(3), receive_too_little,
                     OUTCOME_ABORTED);
    world_outcome_is("a call after Finalize is fatal", world_options(2), call_after_the_end,
                     OUTCOME_ABORTED);
    ranks_say_how_they_ended();
    return tap_done();
}
