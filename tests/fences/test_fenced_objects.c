/* Worlds give all their memory back whose programs freed what they made: datatypes, groups, communicators, topologies, attributes,
 * operations, info, windows, requests of all kinds. Nor do they touch what is not theirs (fence.h), also where nothing is freed. */
#include "sim/messages/mailbox.h"
#include "sim/worlds/rank.h"
#include "sim/worlds/world.h"
#include "tests/dice.h"
#include "tests/fences/fence.h"
#include "tests/tap.h"

#include <mpi.h>
#include <stdlib.h>

enum { RANKS = 4, WORLDS = 60, N = 6 };

static uint64_t seed;
static bool frees; /* what can be freed is */

static int copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)key, (void)extra;
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static void add(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *length; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

static void types(MPI_Comm comm, int rank)
{
    MPI_Datatype made[5];
    int blocks[] = {1, 2}, at[] = {0, 2}, sent[4 * N] = {rank}, got[4 * N], packed = 0;
    MPI_Aint bytes[] = {0, 16};
    MPI_Datatype parts[] = {MPI_INT, MPI_DOUBLE};
    char buffer[256];
    MPI_Type_vector(2, 1, 2, MPI_INT, &made[0]);
    MPI_Type_indexed(2, blocks, at, MPI_INT, &made[1]);
    MPI_Type_create_struct(2, blocks, bytes, parts, &made[2]);
    MPI_Type_dup(made[1], &made[3]);
    MPI_Type_create_resized(made[0], 0, 32, &made[4]);
    for (int i = 0; i < 5; i++) {
        MPI_Type_set_name(made[i], "made");
        MPI_Type_commit(&made[i]);
    }
    MPI_Sendrecv(sent, 2, made[1], (rank + 1) % RANKS, 1, got, 2, made[3],
                 (rank + RANKS - 1) % RANKS, 1, comm, MPI_STATUS_IGNORE);
    MPI_Pack(sent, 1, made[4], buffer, sizeof buffer, &packed, comm);
    for (int i = 0; i < 5 && frees; i++)
        MPI_Type_free(&made[i]);
}

static void communicators(MPI_Comm comm, int rank)
{
    MPI_Comm made[4] = {MPI_COMM_NULL, MPI_COMM_NULL, MPI_COMM_NULL, MPI_COMM_NULL}, side;
    MPI_Group all, odd;
    MPI_Info info;
    int dims[] = {2, 2}, periods[] = {1, 0}, members[] = {1, 3}, key, value = rank;
    MPI_Info_create(&info);
    MPI_Info_set(info, "key", "value");
    MPI_Comm_dup_with_info(comm, info, &made[0]);
    MPI_Cart_create(comm, 2, dims, periods, 0, &made[1]);
    MPI_Comm_split(comm, rank % 2, rank, &side);
    MPI_Intercomm_create(side, 0, comm, 1 - rank % 2, 3, &made[2]);
    MPI_Comm_group(comm, &all);
    MPI_Group_incl(all, 2, members, &odd);
    MPI_Comm_create(comm, odd, &made[3]);
    MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(made[0], key, &value);
    MPI_Comm_set_name(made[0], "a copy");
    for (int i = 0; i < 4 && frees; i++)
        if (made[i] != MPI_COMM_NULL)
            MPI_Comm_free(&made[i]);
    if (!frees)
        return;
    MPI_Comm_free(&side);
    MPI_Group_free(&odd);
    MPI_Group_free(&all);
    MPI_Info_free(&info);
    MPI_Comm_free_keyval(&key);
}

static void collectives(MPI_Comm comm, int rank)
{
    int one[N] = {rank, 1, 2}, all[RANKS * N], sums[RANKS * N], counts[RANKS], at[RANKS];
    MPI_Request requests[3];
    MPI_Op op;
    MPI_Op_create(add, 1, &op);
    for (int i = 0; i < RANKS; i++) {
        counts[i] = 1 + i;
        at[i] = i * N;
    }
    MPI_Allreduce(one, sums, N, MPI_INT, op, comm);
    MPI_Reduce_scatter(sums, all, counts, MPI_INT, MPI_SUM, comm);
    MPI_Iallgatherv(one, 1 + rank, MPI_INT, all, counts, at, MPI_INT, comm, &requests[0]);
    MPI_Iscan(one, sums, N, MPI_INT, op, comm, &requests[1]);
    MPI_Barrier_init(comm, MPI_INFO_NULL, &requests[2]);
    MPI_Start(&requests[2]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    MPI_Alltoall(one, 1, MPI_INT, sums, 1, MPI_INT, comm);
    if (frees) {
        MPI_Request_free(&requests[2]);
        MPI_Op_free(&op);
    }
}

static void windows(MPI_Comm comm, int rank)
{
    int memory[N] = {0}, *own, mine[N] = {rank, 2, 3}, got[N];
    MPI_Win made, given;
    MPI_Request request;
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, comm, &made);
    MPI_Win_allocate(sizeof memory, sizeof(int), MPI_INFO_NULL, comm, &own, &given);
    MPI_Win_fence(0, made);
    MPI_Put(mine, 1, MPI_INT, (rank + 1) % RANKS, rank, 1, MPI_INT, made);
    MPI_Accumulate(mine, 1, MPI_INT, 0, N - 1, 1, MPI_INT, MPI_SUM, made);
    MPI_Win_fence(0, made);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, given);
    MPI_Rget_accumulate(mine, 2, MPI_INT, got, 2, MPI_INT, 0, 1, 2, MPI_INT, MPI_SUM, given,
                        &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_unlock(0, given);
    if (frees) {
        MPI_Win_free(&made);
        MPI_Win_free(&given);
    }
}

/* Some are never met by a partner, where nothing is freed. */
static void messages(MPI_Comm comm, int rank)
{
    int out = rank, in[4], large[5000] = {0}, back[5000];
    int right = (rank + 1) % RANKS, left = (rank + RANKS - 1) % RANKS;
    char *buffer = malloc(4096);
    void *detached;
    MPI_Request requests[4], parts[2], lost[5];
    int pooled = (int)((size_t)64 << (SIM_POOL_CLASSES - 1)) - (int)sizeof(struct sim_message);
    MPI_Buffer_attach(buffer, 4096);
    MPI_Irecv(&in[0], 1, MPI_INT, MPI_ANY_SOURCE, 5, comm, &requests[0]);
    MPI_Irecv(back, 5000, MPI_INT, left, 6, comm, &requests[1]);
    MPI_Ibsend(&out, 1, MPI_INT, right, 5, comm, &requests[2]);
    MPI_Isend(large, 5000, MPI_INT, right, 6, comm, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    MPI_Psend_init(in, 2, 1, MPI_INT, right, 7, comm, MPI_INFO_NULL, &parts[0]);
    MPI_Precv_init(&in[2], 1, 2, MPI_INT, left, 7, comm, MPI_INFO_NULL, &parts[1]);
    MPI_Startall(2, parts);
    MPI_Pready_range(0, 1, parts[0]);
    MPI_Waitall(2, parts, MPI_STATUSES_IGNORE);
    MPI_Buffer_detach(&detached, &out);
    free(buffer);
    if (frees) {
        MPI_Request_free(&parts[0]);
        MPI_Request_free(&parts[1]);
        return;
    }
    MPI_Irecv(&in[1], 1, MPI_INT, left, 8, comm, &lost[0]);
    MPI_Isend(large, 100, MPI_INT, right, 9, comm, &lost[1]);
    for (int i = 0; i < 3; i++) /* the largest that is in a slab, and its neighbours */
        MPI_Isend(large, pooled - 1 + i, MPI_BYTE, right, 10, comm, &lost[2 + i]);
}

static int run_rank(void *context, int rank)
{
    static void (*const all[])(MPI_Comm, int) = {types, communicators, collectives, windows,
                                                 messages};
    uint64_t state = *(const uint64_t *)context;
    MPI_Init(NULL, NULL);
    for (int i = 0; i < 4; i++)
        all[dice_below(&state, 5)](MPI_COMM_WORLD, rank);
    MPI_Finalize();
    return 0;
}

static enum trace_outcome run_world(void)
{
    static const enum sim_send_model models[] = {SIM_SEND_EAGER, SIM_SEND_RENDEZVOUS};
    struct sim_world_options options;
    struct failure failure = {0};
    sim_world_options_init(&options);
    options.ranks = RANKS;
    options.send_model = models[seed / 2 % 2];
    options.executor = seed % 5 == 4 ? SIM_TURNS : SIM_FIBERS;
    options.driver = seed % 3 ? SIM_CHOOSE_DEFAULT : SIM_CHOOSE_SEED;
    options.late_receives = seed % 7 == 3;
    options.seed = seed;
    struct sim_world *world = sim_world_new(&options, &failure);
    enum trace_outcome outcome = world ? sim_world_run(world, run_rank, &seed) : OUTCOME_ABORTED;
    sim_world_free(world);
    return outcome;
}

int main(void)
{
    unsigned finished = 0, leaking = 0;
    if (!fence_stands) {
        tap_plan(1);
        tap_skip(1, "a sanitizer has its own allocator");
        return tap_done();
    }
    setvbuf(stdout, NULL, _IONBF, 0);
    for (int warm = 0; warm < 2; warm++)
        for (seed = 1; seed <= WORLDS; seed++) {
            long before = fence_live();
            frees = seed % 2;
            fence_low = seed % 4 == 0;
            bool good = run_world() == OUTCOME_FINISHED;
            finished += good && warm;
            bool leaks = warm && frees && fence_live() != before;
            leaking += leaks;
            if (leaks)
                tap_note("world %d: %ld blocks are not given back", (int)seed,
                         fence_live() - before);
            if (!warm && seed == WORLDS / 4)
                break; /* what a process makes once and keeps is there */
        }
    tap_is_int(finished, WORLDS, "all worlds finish");
    tap_is_int(leaking, 0, "all memory is given back");
    tap_is_int(fence_wrong(), 0, "nothing is given back twice");
    return tap_done();
}
