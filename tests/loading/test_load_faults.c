/* Loading a recording when memory runs out: each allocation fails once. Either there is no trace, and it is said why, or it is the trace of
 * the whole; and all memory is given back. One recording with everything that ranks tell, and one with loops that are recorded once, whose
 * records were packed while it ran, and the oldest let go of. */
#include "tests/traces/failing_memory.h"

#include "recorder/recorder.h"
#include "recorder/recording_internal.h"
#include "sim/worlds/world.h"

#include <mpi.h>

#if SANITIZED

int main(void)
{
    return failing_memory_skip();
}

#else

enum { RANKS = 3, LOOPS = 3, TIMES = 200, MESSAGES = 12000 };

static void tell(int rank)
{
    uint32_t forward = record_node("forward", OP_ISEND, 0, 0, NULL);
    uint32_t pass = record_pass_begin(PASS_PROGRAM);
    uint32_t back = record_node("backward", OP_IRECV, pass, forward, NULL);
    record_edge(forward, back, EDGE_DATA);
    record_node_enter(back);
    record_note("G005", "a note of %d", rank);
    record_node_leave(back);
    record_pass_end(pass);
    record_metric("a number", rank, "of something");
    record_metric_at("a number", 1, rank);
    record_input("x", 1, 5);
    record_objective(rank);
    record_gap("run", 1, "not looked at");
    record_gradient_check(&(struct trace_gradient){.method = "dot", .elements = 1}, "x");
    record_access(&(struct trace_access){.target = 0, .begin = 1, .end = 2}, NULL);
    record_sync(0, 0, false);
}

/* Of members that are no range, of two groups, and of each of more ranks than the table of numbers has room for at first. */
static void make_communicators(int rank)
{
    MPI_Comm half, across, copy;
    MPI_Comm_split(MPI_COMM_WORLD, rank == 1, -rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank == 1 ? 2 : 1, 7, &across);
    MPI_Barrier(across);
    record_adjoint_comm(half, MPI_COMM_WORLD);
    for (int i = 0; i < 40; i++) {
        MPI_Comm_dup(half, &copy);
        MPI_Barrier(copy);
        MPI_Comm_free(&copy);
    }
    MPI_Comm_free(&across);
    MPI_Comm_free(&half);
}

static int run_everything(void *recording, int rank)
{
    int ones[RANKS] = {1, 1, 1}, places[RANKS] = {0, 1, 2}, out[RANKS] = {0}, in[RANKS], right,
        left;
    MPI_Request requests[2];
    recording_rank_begin(recording);
    MPI_Init(NULL, NULL);
    right = (rank + 1) % RANKS;
    left = (rank + RANKS - 1) % RANKS;
    make_communicators(rank);
    tell(rank);
    for (int i = 0; i < 60; i++) {
        char name[32];
        snprintf(name, sizeof name, "name %d", i);
        record_identity(name);
        MPI_Irecv(in, 1, MPI_INT, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(out, 1, MPI_INT, right, i, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Alltoallv(out, ones, places, MPI_INT, in, ones, places, MPI_INT, MPI_COMM_WORLD);
    MPI_Sendrecv(out, 1, MPI_INT, left, 0, in, 1, MPI_INT, right, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}

static int run_loops(void *context, int rank)
{
    struct recording *recording = context;
    int out[4] = {0}, in[4], right, left;
    recording_rank_begin(recording);
    MPI_Init(NULL, NULL);
    right = (rank + 1) % RANKS;
    left = (rank + RANKS - 1) % RANKS;
    MPI_Comm copies[20];
    for (int i = 0; i < 20; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &copies[i]);
    for (int i = 0; i < MESSAGES; i++) {
        MPI_Sendrecv(out, 1, MPI_INT, right, i % 3000, in, 1, MPI_INT, left, i % 3000,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 0 && i % 100 == 0)
            drops_relieve(&recording->drops);
    }
    for (int loop = 0; loop < LOOPS; loop++)
        for (int i = 0; i < TIMES; i++) {
            for (int tag = 0; tag < 20; tag++)
                MPI_Sendrecv(out, 2, MPI_INT, right, tag, in, 2, MPI_INT, left, tag, copies[tag],
                             MPI_STATUS_IGNORE);
            if (rank == 0 && i % 20 == 0)
                drops_relieve(&recording->drops);
            for (int k = 0; k <= loop; k++)
                for (int c = 0; c < 20; c++)
                    MPI_Barrier(copies[c]);
        }
    for (int i = 0; i < 20; i++)
        MPI_Comm_free(&copies[i]);
    MPI_Finalize();
    return 0;
}

static struct recording *record(bool loops)
{
    struct failure failure = {0};
    struct sim_world_options options;
    sim_world_options_init(&options);
    options.ranks = RANKS;
    struct recording *recording = recording_new(RANKS, RECORD_LEVEL_OPS, &failure);
    if (loops) {
        recording_fold(recording);
        recording->buffers.limit = (3 << 19) / BUFFERS_UNIT;
        recording->buffers.most = 16;
        drops_init(&recording->drops, &recording->buffers, RANKS);
    }
    struct sim_world *world = sim_world_new(&options, &failure);
    sim_world_run(world, loops ? run_loops : run_everything, recording);
    sim_world_free(world);
    if (loops)
        drops_settle(&recording->drops);
    recording->buffers.header->image_count = 0; /* no program is looked at */
    return recording;
}

static void load(bool loops)
{
    struct recording *recording = record(loops);
    const struct recording_result result = {.program = "test", .model = "eager"};
    struct failure failure = {0};
    struct trace *whole = recording_load(recording, &result, &failure);
    if (!tap_ok(whole && !failure.code, "a recording %s is loaded: %s",
                loops ? "with loops" : "of everything", failure.text))
        return;
    long rounds = 0, silent = 0, unsaid = 0, kept = 0;
    for (long n = 1;; n++, rounds++) {
        failure = (struct failure){0};
        long before = held;
        failed = 0;
        countdown = n;
        struct trace *trace = recording_load(recording, &result, &failure);
        countdown = 0;
        silent += trace && (trace_hash(trace) != trace_hash(whole) ||
                            trace->op_count != whole->op_count || failure.code);
        unsaid += !trace && (failure.code != FAILURE_INTERNAL || !failure.text[0]);
        trace_free(trace);
        kept += held != before;
        if (failed == 0)
            break;
    }
    if (loops)
        tap_ok(whole->fold_count > 3 && recording->drops.ops > 1000, "%zu places of loops",
               whole->fold_count);
    tap_ok(rounds > 50, "memory ran out often enough: %ld times", rounds);
    tap_is_int(silent, 0, "a trace that is not whole is never passed as one");
    tap_is_int(unsaid, 0, "where there is none it is said why");
    tap_is_int(kept, 0, "and memory is given back");
    trace_free(whole);
    recording_free(recording);
}

int main(void)
{
    load(false);
    load(true);
    return tap_done();
}

#endif
