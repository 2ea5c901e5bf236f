/* Memory of the origin of a one-sided operation, which is the program's again once the operation is complete there.
 *
 *   touched_origins EPOCH OPERATION SIDE early|late
 *   touched_origins EPOCH all none late
 *   touched_origins puts|gets in_turn|at_once
 *
 * Rank 0 accesses rank 1, and changes that side of the operation before it is complete, or after that. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 20, INTS = 8 };

static MPI_Comm world;
static MPI_Win win;
static MPI_Group others;
static MPI_Request request;
static int rank, *memory;
static int origin, compared, result; /* the sides */

/* ---- operations ---- */

static void put(void)
{
    MPI_Put(&origin, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
}
static void get(void)
{
    MPI_Get(&result, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
}
static void accumulate(void)
{
    MPI_Accumulate(&origin, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, win);
}
static void get_accumulate(void)
{
    MPI_Get_accumulate(&origin, 1, MPI_INT, &result, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, win);
}
static void fetch_and_op(void)
{
    MPI_Fetch_and_op(&origin, &result, MPI_INT, 1, 0, MPI_SUM, win);
}
/* It does not look at its origin. */
static void fetch(void)
{
    MPI_Fetch_and_op(&origin, &result, MPI_INT, 1, 0, MPI_NO_OP, win);
}
static void compare_and_swap(void)
{
    MPI_Compare_and_swap(&origin, &compared, &result, MPI_INT, 1, 0, win);
}
static void rput(void)
{
    MPI_Rput(&origin, 1, MPI_INT, 1, 0, 1, MPI_INT, win, &request);
}
static void rget(void)
{
    MPI_Rget(&result, 1, MPI_INT, 1, 0, 1, MPI_INT, win, &request);
}
static void raccumulate(void)
{
    MPI_Raccumulate(&origin, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, win, &request);
}
static void rget_accumulate(void)
{
    MPI_Rget_accumulate(&origin, 1, MPI_INT, &result, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, win,
                        &request);
}

static const struct operation {
    const char *name;
    void (*run)(void);
} operations[] = {{"Put", put},
                  {"Get", get},
                  {"Accumulate", accumulate},
                  {"Get_accumulate", get_accumulate},
                  {"Fetch_and_op", fetch_and_op},
                  {"fetch", fetch},
                  {"Compare_and_swap", compare_and_swap},
                  {"Rput", rput},
                  {"Rget", rget},
                  {"Raccumulate", raccumulate},
                  {"Rget_accumulate", rget_accumulate}};
enum { OPERATIONS = sizeof operations / sizeof *operations };

/* ---- epochs: how they begin, what completes at the origin, how they end ---- */

static void fence(void)
{
    MPI_Win_fence(0, win);
}
static void start(void)
{
    if (rank)
        MPI_Win_post(others, 0, win);
    else
        MPI_Win_start(others, 0, win);
}
static void complete(void)
{
    if (!rank)
        MPI_Win_complete(win);
}
static void wait_for_all(void)
{
    if (rank)
        MPI_Win_wait(win);
}
static void lock(void)
{
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
}
static void unlock(void)
{
    MPI_Win_unlock(1, win);
}
static void lock_all(void)
{
    MPI_Win_lock_all(0, win);
}
static void unlock_all(void)
{
    MPI_Win_unlock_all(win);
}
static void flush(void)
{
    MPI_Win_flush(1, win);
}
static void flush_all(void)
{
    MPI_Win_flush_all(win);
}
static void flush_local(void)
{
    MPI_Win_flush_local(1, win);
}
static void flush_local_all(void)
{
    MPI_Win_flush_local_all(win);
}
static void wait_request(void)
{
    if (!rank)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void nothing(void)
{
}

static const struct epoch {
    const char *name;
    void (*begin)(void), (*complete)(void), (*end)(void);
} epochs[] = {{"fence", fence, fence, nothing},
              {"start", start, complete, wait_for_all},
              {"lock", lock, unlock, nothing},
              {"lock_all", lock_all, unlock_all, nothing},
              {"flush", lock, flush, unlock},
              {"flush_all", lock_all, flush_all, unlock_all},
              {"flush_local", lock, flush_local, unlock},
              {"flush_local_all", lock_all, flush_local_all, unlock_all},
              {"request", lock_all, wait_request, unlock_all}};
enum { EPOCHS = sizeof epochs / sizeof *epochs };

static void touch(const char *side)
{
    int *touched = strcmp(side, "origin") == 0     ? &origin
                   : strcmp(side, "compared") == 0 ? &compared
                                                   : &result;
    *touched += 77;
}

static void one(const struct epoch *epoch, const struct operation *operation, const char *side,
                int early)
{
    request = MPI_REQUEST_NULL;
    epoch->begin();
    if (!rank)
        operation->run();
    if (!rank && early)
        touch(side);
    epoch->complete();
    if (!rank && !early) {
        touch("origin");
        touch("compared");
        touch("result");
    }
    epoch->end();
    if (request != MPI_REQUEST_NULL)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(world);
}

/* Each puts from its own window to the other's, or gets into it, and is put to there, in the epoch after it or in the same one. */
static void turns(int gets, int at_once)
{
    MPI_Win_fence(0, win);
    for (int i = 0; i < ROUNDS; i++) {
        int from = i % 2;
        if (rank == from && gets)
            MPI_Get(memory, 1, MPI_INT, 1 - from, 3, 1, MPI_INT, win);
        else if (rank == from)
            MPI_Put(memory, 1, MPI_INT, 1 - from, 3, 1, MPI_INT, win);
        if (!at_once)
            MPI_Win_fence(0, win);
        if (rank != from)
            MPI_Put(&origin, 1, MPI_INT, from, 0, 1, MPI_INT, win);
        MPI_Win_fence(0, win);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    world = MPI_COMM_WORLD;
    MPI_Comm_rank(world, &rank);
    MPI_Win_allocate(INTS * sizeof(int), sizeof(int), MPI_INFO_NULL, world, &memory, &win);
    MPI_Group all;
    MPI_Comm_group(world, &all);
    MPI_Group_incl(all, 1, (int[]){1 - rank}, &others);
    MPI_Win_fence(0, win);
    memset(memory, 0, INTS * sizeof(int));
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    if (argc == 3)
        turns(strcmp(argv[1], "gets") == 0, strcmp(argv[2], "at_once") == 0);
    for (int i = 0; argc > 3 && i < EPOCHS; i++)
        for (int j = 0; strcmp(argv[1], epochs[i].name) == 0 && j < OPERATIONS; j++) {
            int chosen = strcmp(argv[2], operations[j].name) == 0;
            int asks = operations[j].name[0] == 'R', passive = i >= 2;
            if (chosen || (strcmp(argv[2], "all") == 0 && (asks ? passive : i != EPOCHS - 1)))
                one(&epochs[i], &operations[j], argv[3], chosen && strcmp(argv[4], "early") == 0);
        }
    MPI_Group_free(&others);
    MPI_Group_free(&all);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
