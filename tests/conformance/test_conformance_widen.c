/* A world may begin to run on several threads at any moment at which a rank computes, and come back to one
 * at any other: nobody sees it. Random programs of calls that wait, that find done what they would wait
 * for, and that concern nobody else are run on one thread, and again while each rank, between its calls,
 * widens or narrows the world as dice say that are thrown anew in each run: the trace must be the same. */
#include "tests/dice.h"
#include "tests/tap.h"

#include "recorder/recording.h"
#include "sim/worlds/wide.h"
#include "sim/worlds/world.h"

#include <mpi.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

enum { RANKS = 5, STEPS = 24, AGAIN = 2 };

struct program {
    uint64_t seed;
    struct recording *recording;
    struct sim_world *world;
    bool changes; /* between one thread and several */
};

static uint64_t draw(uint64_t *state, uint64_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (*state >> 33) % below;
}

/* What the world is changed by differs from run to run. */
static atomic_uint_least64_t luck;

static void compute(const struct program *program, uint64_t *dice)
{
    for (uint64_t i = 0, n = 20 * draw(dice, 20); i < n; i++)
        __asm__ volatile("" ::: "memory");
    if (!program->changes)
        return;
    uint64_t what = draw(dice, 12);
    if (what < 2)
        sim_world_widen(program->world);
    else if (what == 2)
        sim_wide_narrow(program->world);
}

static void halo(int rank, bool persistent, int rounds, const struct program *program,
                 uint64_t *dice)
{
    int next = (rank + 1) % RANKS, previous = (rank + RANKS - 1) % RANKS, in[2], out[2] = {rank, 1};
    MPI_Request requests[4];
    for (int round = 0; round < rounds; round++) {
        if (!persistent || !round) {
            int (*receive)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *) =
                persistent ? MPI_Recv_init : MPI_Irecv;
            int (*send)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *) =
                persistent ? MPI_Send_init : MPI_Isend;
            receive(&in[0], 1, MPI_INT, previous, 1, MPI_COMM_WORLD, &requests[0]);
            receive(&in[1], 1, MPI_INT, next, 2, MPI_COMM_WORLD, &requests[1]);
            compute(program, dice);
            send(&out[0], 1, MPI_INT, next, 1, MPI_COMM_WORLD, &requests[2]);
            send(&out[1], 1, MPI_INT, previous, 2, MPI_COMM_WORLD, &requests[3]);
        }
        if (persistent)
            MPI_Startall(4, requests);
        compute(program, dice);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    }
    for (int i = 0; persistent && i < 4; i++)
        MPI_Request_free(&requests[i]);
}

/* Rank 0 is told by whoever comes first: behind this nobody gives way any more. */
static void farm(int rank, const struct program *program, uint64_t *dice)
{
    int value = rank;
    for (int i = 1; i < RANKS && rank == 0; i++)
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    compute(program, dice);
    if (rank)
        MPI_Send(&value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
}

static void polls(int rank, const struct program *program, uint64_t *dice)
{
    int value = rank, got, done = 0;
    MPI_Request request;
    MPI_Irecv(&got, 1, MPI_INT, (rank + 1) % RANKS, 4, MPI_COMM_WORLD, &request);
    compute(program, dice);
    MPI_Send(&value, 1, MPI_INT, (rank + RANKS - 1) % RANKS, 4, MPI_COMM_WORLD);
    while (!done) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        compute(program, dice);
    }
}

static void locally(int rank)
{
    MPI_Datatype pair;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Type_free(&pair);
    if (rank % 2)
        MPI_Comm_set_name(MPI_COMM_WORLD, "all of them");
}

static void apart(int rank)
{
    MPI_Comm half;
    int sum;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, half);
    MPI_Comm_free(&half);
}

static void along(int rank, bool both)
{
    int next = rank + 1 < RANKS ? rank + 1 : MPI_PROC_NULL,
        previous = rank ? rank - 1 : MPI_PROC_NULL, in = 0;
    if (both) {
        MPI_Sendrecv(&rank, 1, MPI_INT, next, 5, &in, 1, MPI_INT, previous, 5, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        return;
    }
    MPI_Recv(&in, 1, MPI_INT, previous, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&rank, 1, MPI_INT, next, 6, MPI_COMM_WORLD);
}

static void collective(int rank, uint64_t kind, int root)
{
    int one = rank, all[RANKS] = {0}, other[RANKS];
    MPI_Request request;
    switch (kind) {
    case 0:
        MPI_Bcast(&one, 1, MPI_INT, root, MPI_COMM_WORLD);
        break;
    case 1:
        MPI_Reduce(&rank, &one, 1, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
        break;
    case 2:
        MPI_Gather(&one, 1, MPI_INT, all, 1, MPI_INT, root, MPI_COMM_WORLD);
        break;
    case 3:
        MPI_Scatter(all, 1, MPI_INT, &one, 1, MPI_INT, root, MPI_COMM_WORLD);
        break;
    case 4:
        MPI_Barrier(MPI_COMM_WORLD);
        break;
    case 5:
        MPI_Allreduce(&rank, &one, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        break;
    case 6:
        MPI_Alltoall(all, 1, MPI_INT, other, 1, MPI_INT, MPI_COMM_WORLD);
        break;
    case 7:
        MPI_Scan(&rank, &one, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        break;
    default:
        MPI_Ibcast(&one, 1, MPI_INT, root, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void step(int rank, uint64_t *script, const struct program *program, uint64_t *dice)
{
    uint64_t what = draw(script, 16);
    uint64_t more = draw(script, 9);
    int root = (int)draw(script, RANKS);
    bool order = draw(script, 4) == 0; /* seldom what ends giving way */
    if (what < 6)
        collective(rank, more, root);
    else if (what < 9)
        halo(rank, more % 2, 1 + (int)more % 4, program, dice);
    else if (what < 11)
        along(rank, more % 2);
    else if (what < 13)
        locally(rank);
    else if (what == 13)
        apart(rank);
    else if (what == 14 && order)
        farm(rank, program, dice);
    else if (order)
        polls(rank, program, dice);
}

static int enter(void *context, int rank)
{
    struct program *program = context;
    uint64_t script = program->seed, dice = atomic_fetch_add(&luck, 0x9e3779b97f4a7c15u);
    recording_rank_begin(program->recording);
    compute(program, &dice);
    MPI_Init(NULL, NULL);
    for (int i = 0; i < STEPS; i++) {
        compute(program, &dice);
        step(rank, &script, program, &dice);
    }
    compute(program, &dice);
    MPI_Finalize();
    return 0;
}

static uint64_t hash_of(uint64_t seed, enum sim_wide_when when, bool changes, uint32_t *widened)
{
    struct failure failure = {0};
    struct sim_world_options options;
    sim_world_options_init(&options);
    options.ranks = RANKS;
    options.wide = when;
    options.cores = 3;
    struct program program = {.seed = seed, .changes = changes};
    program.recording = recording_new(RANKS, RECORD_LEVEL_OPS, &failure);
    program.world = sim_world_new(&options, &failure);
    if (!program.recording || !program.world) {
        tap_note("%s", failure.text);
        exit(1);
    }
    struct recording_result result = {.program = "test", .model = "eager"};
    result.outcome = sim_world_run(program.world, enter, &program);
    for (int i = 0; i < RANKS; i++) {
        recording_ahead(program.recording, (uint32_t)i,
                        sim_world_rank_state(program.world, i) == RANK_RUNNING);
        recording_rank_end(program.recording, (uint32_t)i, sim_world_rank_state(program.world, i),
                           sim_world_exit_code(program.world, i), NULL);
    }
    *widened += sim_world_widened(program.world);
    sim_world_free(program.world);
    struct trace *trace = recording_load(program.recording, &result, &failure);
    uint64_t hash =
        trace && result.outcome == OUTCOME_FINISHED && trace->op_count > 20 ? trace_hash(trace) : 0;
    trace_free(trace);
    recording_free(program.recording);
    return hash;
}

int main(void)
{
    const struct dice_seeds seeds = dice_seeds(getenv("FULL") ? 1000 : 40);
    tap_plan(3);
    atomic_store(&luck, (uint64_t)time(NULL));
    uint32_t narrow = 0, widened = 0;
    int ended = 0, differ = 0;
    uint64_t culprit = 0;
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; seed++) {
        uint64_t want = hash_of(seed, SIM_WIDE_NEVER, false, &narrow);
        ended += want != 0;
        for (int again = 0; again < AGAIN; again++)
            if (hash_of(seed, again % 2 ? SIM_WIDE_AUTO : SIM_WIDE_AT_ONCE, true, &widened) !=
                want) {
                differ++;
                culprit = seed;
            }
    }
    tap_is_int(ended, (long)seeds.count, "all programs end on one thread");
    tap_ok(!differ,
           "a world that changes between one thread and several leaves the same trace "
           "(%d others, last of program %llu)",
           differ, (unsigned long long)culprit);
    struct sim_world_options options;
    sim_world_options_init(&options);
    options.ranks = RANKS;
    options.wide = SIM_WIDE_AT_ONCE;
    struct failure failure = {0};
    struct sim_world *world = sim_world_new(&options, &failure);
    if (world && sim_wide_possible(world))
        tap_ok(!narrow && widened > seeds.count * AGAIN, "and they did so (%u times)", widened);
    else
        tap_ok(!narrow && !widened, "which sanitized worlds do not");
    sim_world_free(world);
    return tap_done();
}
