/* The same program with the same seed does the same, run after run: equal hashes over everything
 * the recorder saw. Ranks that are OS threads run in whatever order the kernel likes; without
 * wildcards that must not show either. */
#include "tests/dice.h"
#include "tests/tap.h"

#include "recorder/recording.h"
#include "sim/worlds/world.h"

#include <mpi.h>
#include <stdlib.h>

enum { RUNS = 100, RANKS = 4 };

typedef void rank_body(int rank);

struct run {
    struct recording *recording;
    rank_body *body;
};

static int enter(void *context, int rank)
{
    struct run *run = context;
    recording_rank_begin(run->recording);
    MPI_Init(NULL, NULL);
    run->body(rank);
    MPI_Finalize();
    return 0;
}

static uint64_t hash_of(rank_body *body, struct sim_world_options options)
{
    struct failure failure = {0};
    struct run run = {.recording = recording_new(RANKS, RECORD_LEVEL_OPS, &failure), .body = body};
    struct recording_result result = {.program = "test", .model = "eager", .seed = options.seed};
    options.ranks = RANKS;
    struct sim_world *world = sim_world_new(&options, &failure);
    if (!run.recording || !world) {
        tap_note("%s", failure.text);
        exit(1);
    }
    result.outcome = sim_world_run(world, enter, &run);
    for (int i = 0; i < RANKS; i++)
        recording_rank_end(run.recording, (uint32_t)i, sim_world_rank_state(world, i),
                           sim_world_exit_code(world, i), NULL);
    sim_world_free(world);
    struct trace *trace = recording_load(run.recording, &result, &failure);
    uint64_t hash = trace && trace->op_count > 20 ? trace_hash(trace) : 0;
    trace_free(trace);
    recording_free(run.recording);
    return hash;
}

/* How many of the runs, of a part its share (tests/dice.h), gave another hash than the first, or none. */
static int differing(rank_body *body, struct sim_world_options options)
{
    uint64_t first = hash_of(body, options);
    int count = first == 0;
    for (unsigned i = 1; i < RUNS; i++)
        count += dice_takes(i) && hash_of(body, options) != first;
    return count;
}

static struct sim_world_options options_of(enum sim_executor_kind executor, uint64_t seed)
{
    struct sim_world_options options;
    sim_world_options_init(&options);
    options.executor = executor;
    options.driver = seed ? SIM_CHOOSE_SEED : SIM_CHOOSE_DEFAULT;
    options.seed = seed;
    return options;
}

/* Everything but wildcards: messages, derived types, communicators, collectives of all kinds. */
static void named(int rank)
{
    int next = (rank + 1) % RANKS, previous = (rank + RANKS - 1) % RANKS, in[8] = {0}, out[8], sum;
    MPI_Comm half;
    MPI_Datatype pair;
    MPI_Request requests[3];
    for (int i = 0; i < 8; i++)
        out[i] = rank + i;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    MPI_Type_vector(2, 1, 2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    for (int round = 0; round < 3; round++) {
        MPI_Irecv(in, 8, MPI_INT, previous, round, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(out, 2, pair, next, round, MPI_COMM_WORLD, &requests[1]);
        MPI_Iallreduce(out, &sum, 1, MPI_INT, MPI_SUM, half, &requests[2]);
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
        MPI_Sendrecv(out, 1, MPI_INT, previous, 9, in, 1, MPI_INT, next, 9, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        MPI_Bcast(in, 8, MPI_INT, round, MPI_COMM_WORLD);
        MPI_Allgather(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
        MPI_Exscan(out, &sum, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    }
    MPI_Type_free(&pair);
    MPI_Comm_free(&half);
}

/* And wildcards, probes and completion in any order, which choices decide. */
static void free_choice(int rank)
{
    int value = rank, count = 0;
    MPI_Status status;
    named(rank);
    for (int round = 0; rank && round < 4; round++)
        MPI_Send(&value, 1, MPI_INT, 0, round, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < 4 * (RANKS - 1); i++) {
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        MPI_Recv(&value, 1, MPI_INT, i % 2 ? MPI_ANY_SOURCE : status.MPI_SOURCE, MPI_ANY_TAG,
                 MPI_COMM_WORLD, &status);
        count += status.MPI_SOURCE;
    }
    MPI_Request requests[RANKS];
    int got[RANKS], index;
    for (int from = 0; from < RANKS; from++)
        MPI_Irecv(&got[from], 1, MPI_INT, from, 50, MPI_COMM_WORLD, &requests[from]);
    for (int to = 0; to < RANKS; to++)
        MPI_Send(&count, 1, MPI_INT, to, 50, MPI_COMM_WORLD);
    for (int i = 0; i < RANKS; i++)
        MPI_Waitany(RANKS, requests, &index, MPI_STATUS_IGNORE);
}

int main(void)
{
    tap_is_int(differing(named, options_of(SIM_FIBERS, 0)), 0, "100 runs on fibers leave one hash");
    tap_is_int(differing(free_choice, options_of(SIM_FIBERS, 0)), 0, "with wildcards, too");
    tap_is_int(differing(free_choice, options_of(SIM_FIBERS, 7)), 0, "and with a seed");
    tap_is_int(differing(named, options_of(SIM_THREADS, 0)), 0,
               "100 runs on OS threads leave one hash without wildcards");
    tap_is_int(differing(free_choice, options_of(SIM_TURNS, 0)), 0,
               "100 runs in turns leave one hash, with wildcards");
    tap_is_int(differing(free_choice, options_of(SIM_TURNS, 7)), 0, "and with a seed");
    struct sim_world_options alone = options_of(SIM_TURNS, 0);
    alone.cores = 1;
    tap_ok(hash_of(free_choice, alone) == hash_of(free_choice, options_of(SIM_TURNS, 0)),
           "one core gives the same as all");
    struct sim_world_options wide = options_of(SIM_FIBERS, 0);
    wide.wide = SIM_WIDE_AT_ONCE;
    int differs = 0;
    for (wide.cores = 1; wide.cores <= 4; wide.cores++)
        for (wide.seed = 0; wide.seed < 5; wide.seed++) {
            if (!dice_takes((unsigned)wide.cores * 5 + wide.seed))
                continue;
            wide.driver = wide.seed ? SIM_CHOOSE_SEED : SIM_CHOOSE_DEFAULT;
            struct sim_world_options narrow = wide;
            narrow.wide = SIM_WIDE_NEVER;
            differs += hash_of(free_choice, wide) != hash_of(free_choice, narrow);
            differs += hash_of(named, wide) != hash_of(named, narrow);
        }
    tap_is_int(differs, 0, "fibers carried by one to four threads leave the hash of one thread");
    uint64_t one = hash_of(free_choice, options_of(SIM_FIBERS, 1));
    int others = 0;
    for (uint64_t seed = 2; seed < 10; seed++)
        others += hash_of(free_choice, options_of(SIM_FIBERS, seed)) != one;
    tap_ok(others > 0, "another seed may leave another hash");
    return tap_done();
}
