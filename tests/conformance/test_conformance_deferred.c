/* Receives from anybody whose choice is put off until nobody else can move, and what was posted
 * behind them: for every seed the matching must be one that MPI allows. */
#include "tests/world_harness.h"

#include <stdatomic.h>

/* Rank 1's messages 1 (tag 1) and 2 (tag 2), rank 2's 3 (tag 1). Two receives from anybody, of
 * which the second takes tag 1 only, then one of any tag from rank 1: that gets what is first of
 * rank 1's messages that the other two leave, and of those behind it none. */
static void named_behind_two(int rank, int size)
{
    int got[3] = {0}, sent[3] = {1, 2, 3};
    MPI_Request requests[3];
    if (rank == 0) {
        MPI_Irecv(&got[0], 1, MPI_INT, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(&got[1], 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &requests[1]);
        MPI_Irecv(&got[2], 1, MPI_INT, 1, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[2]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        MPI_Request more[2];
        MPI_Isend(&sent[0], 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &more[0]);
        MPI_Isend(&sent[1], 1, MPI_INT, 0, 2, MPI_COMM_WORLD, &more[1]);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Waitall(2, more, MPI_STATUSES_IGNORE);
    } else if (rank == 2) {
        MPI_Request more[2];
        int nine = 9;
        MPI_Isend(&nine, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, &more[0]);
        MPI_Isend(&sent[2], 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &more[1]);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Waitall(2, more, MPI_STATUSES_IGNORE);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (rank == 0) {
        int left, flag = 1;
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
        expect(got[0] == 9 && (got[1] == 1 || got[1] == 3), "anybody's are %d and %d", got[0],
               got[1]);
        expect(got[2] == (got[1] == 1 ? 2 : 1), "behind %d the named one got %d", got[1], got[2]);
        MPI_Recv(&left, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect(left == (got[1] == 1 ? 3 : 2), "%d is left of %d and %d", left, got[1], got[2]);
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        expect(!flag, "something else came");
    } else {
        expect(size == 3, "worlds have three ranks");
    }
}

/* Messages that rank 0 takes from anybody, while the others look in rounds for one that comes only
 * then; how often they look in vain. */
enum { TAKEN = 20, LOOKS = 3 };
static atomic_long polls;

static void others_poll(int rank, int size)
{
    int one = 1, flag = 0;
    MPI_Request request;
    if (rank == 0) {
        for (int i = 0; i < TAKEN * (size - 1); i++)
            MPI_Recv(&one, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int other = 1; other < size; other++)
            MPI_Send(&one, 1, MPI_INT, other, LOOKS, MPI_COMM_WORLD);
        expect(one == 1, "what came is %d", one);
        return;
    }
    for (int i = 0; i < TAKEN; i++)
        MPI_Send(&one, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    MPI_Irecv(&one, 1, MPI_INT, 0, LOOKS, MPI_COMM_WORLD, &request);
    while (!flag) {
        int there;
        for (int tag = LOOKS + 1; tag < 2 * LOOKS; tag++)
            MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        polls++;
    }
    expect(flag, "it was there");
}

static void test_polls(const char *sentence, unsigned ranks)
{
    char got[600] = "";
    struct sim_world_options options = world_options((int)ranks);
    options.delay_wildcards = true;
    options.livelock_rounds = 10000;
    polls = 0;
    struct world_result result = world_try(options, others_poll);
    long most = 100L * TAKEN * (ranks - 1) * (ranks - 1);
    if (result.outcome != OUTCOME_FINISHED || result.failed || polls > most)
        snprintf(got, sizeof got, "%s; %s; %ld polls, at most %ld", world_outcomes[result.outcome],
                 result.text, (long)polls, most);
    tap_test_str(got, "", TAP_HERE, "%s", sentence);
}

int main(void)
{
    char got[600] = "";
    for (unsigned seed = 1; seed <= 40 && !*got; seed++) {
        struct sim_world_options options = world_options(3);
        options.delay_wildcards = true;
        options.driver = SIM_CHOOSE_SEED;
        options.seed = seed;
        struct world_result result = world_try(options, named_behind_two);
        if (result.outcome != OUTCOME_FINISHED || result.failed)
            snprintf(got, sizeof got, "seed %u: %s; %s", seed, world_outcomes[result.outcome],
                     result.text);
    }
    tap_test_str(got, "", TAP_HERE, "a named receive behind two put off takes what they leave");
    world_test_sizes("and so it does where nothing is put off", named_behind_two, WORLD_ANY,
                     WORLD_SIZES(3));
    test_polls("one rank that polls does not hold up what is put off", 2);
    test_polls("nor do several, each of which looks for this and that", 5);
    return tap_done();
}
