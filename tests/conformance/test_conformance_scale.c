/* Large worlds: thousands of ranks meet, talk and reduce in one thread; and thousands of collectives
 * under way. */
#include "tests/world_harness.h"

#include <time.h>

static void meet(int rank, int size)
{
    int sum = -1, one = 1;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect(sum == size, "rank %d counts %d", rank, sum);
}

static void pass_round(int rank, int size)
{
    int got = -1;
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &got, 1, MPI_INT, MPI_ANY_SOURCE, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect(got == (rank + size - 1) % size, "got %d", got);
}

static void report_first(int rank, int size)
{
    long sum = 0, wanted = (long)size * (size - 1) / 2;
    if (rank)
        MPI_Send(&rank, 1, MPI_INT, 0, rank % 7, MPI_COMM_WORLD);
    for (int i = 1; rank == 0 && i < size; i++) {
        int got = -1;
        MPI_Status status;
        MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        expect(got == status.MPI_SOURCE, "got %d", got);
        sum += got;
    }
    expect(rank || sum == wanted, "sum %ld", sum);
}

static void split_and_meet(int rank, int size)
{
    MPI_Comm row;
    int sum = -1, one = 1;
    MPI_Comm_split(MPI_COMM_WORLD, rank / 32, rank, &row);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, row);
    int wanted = rank / 32 == size / 32 ? size % 32 : 32;
    expect(sum == wanted, "a row of %d", sum);
    MPI_Comm_free(&row);
}

static void large_world_is(const char *name, int ranks, world_body *body)
{
    struct sim_world_options options = world_options(ranks);
    options.stack_size = 64 * 1024;
    struct world_result result = world_try(options, body);
    if (result.failed)
        tap_note("%s", result.text);
    tap_ok(result.outcome == OUTCOME_FINISHED && !result.failed && result.looked_at >= ranks, "%s",
           name);
}

static int rounds;

/* Nothing holds a root of Bcast up, nor those who reduce to another. */
static void run_ahead(int rank, int size)
{
    int wrong = 0;
    for (int i = 0; i < rounds; i++) {
        int got = rank ? -1 : i;
        MPI_Bcast(&got, 1, MPI_INT, 0, MPI_COMM_WORLD);
        wrong += got != i;
    }
    for (int i = 0, sum = -1; i < rounds; i++) {
        MPI_Reduce(&i, &sum, 1, MPI_INT, MPI_SUM, size - 1, MPI_COMM_WORLD);
        wrong += rank == size - 1 && sum != i * size;
    }
    expect(!wrong, "%d wrong values", wrong);
}

/* Eight times as many may take eight times as long; that each looks through all others would show
 * as 64 times. */
static void run_ahead_far(void)
{
    enum { FEW = 1500, TIMES = 8 };
    clock_t start = clock();
    rounds = FEW;
    large_world_is("4 ranks run ahead of each other", 4, run_ahead);
    clock_t few = clock() - start;
    rounds = TIMES * FEW;
    large_world_is("and far", 4, run_ahead);
    clock_t many = clock() - start - few;
    if (!tap_ok(many <= 3 * TIMES * few,
                "a collective costs what it costs however many are under way"))
        tap_note("%d: %ld, %d: %ld", FEW, (long)few, rounds, (long)many);
}

int main(void)
{
    tap_plan(9);
    large_world_is("1,000 ranks meet and count themselves", 1000, meet);
    large_world_is("1,000 ranks pass a number round", 1000, pass_round);
    large_world_is("999 ranks tell the first", 1000, report_first);
    large_world_is("1,000 ranks meet in rows", 1000, split_and_meet);
    large_world_is("65,536 ranks meet and count themselves", 65536, meet);
    large_world_is("65,536 ranks pass a number round", 65536, pass_round);
    run_ahead_far();
    return tap_done();
}
