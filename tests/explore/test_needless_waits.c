/* Who may leave a collective before whom: MPI has a rank wait only for those whose data it needs. One rank calls a
 * collective and then sends to another, which takes any message and enters the collective only then, as do some others.
 * The rank's message may be taken first where it needs nobody of these. The exploration must have it so, or name what
 * it left out; where the rank does need one of them, neither.
 *
 * What is needed is told by a table of who gives how much to whom, which is made from MPI's words and shares nothing
 * with the machine. SIMRUN_SOAK=N tries N programs, from SIMRUN_SEED on. */
#include "checker/explore/explore.h"
#include "sim/base/dependence_sets.h"
#include "sim/worlds/world.h"
#include "tests/dice.h"
#include "tests/tap.h"

#include <mpi.h>
#include <mpix.h>
#include <string.h>

enum { RANKS = 4, ROOM = 8, LARGE = 40000 /* beyond what a plain run buffers */ };

enum kind {
    BARRIER,
    BCAST,
    REDUCE,
    GATHER,
    GATHERV,
    SCATTER,
    SCATTERV,
    ALLGATHER,
    ALLGATHERV,
    ALLTOALL,
    ALLTOALLV,
    ALLREDUCE,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK,
    SCAN,
    EXSCAN,
    NEIGHBOR_ALLGATHER,
    NEIGHBOR_ALLTOALL,
    ACROSS_BARRIER, /* between odd and even ranks */
    ACROSS_BCAST,
    ACROSS_GATHER,
    ACROSS_ALLREDUCE,
    FENCE,
    FENCE_ALONE, /* nothing precedes it */
    START,       /* the leaver's; the sender posts */
    KINDS
};
static const char *const names[KINDS] = {"barrier",
                                         "bcast",
                                         "reduce",
                                         "gather",
                                         "gatherv",
                                         "scatter",
                                         "scatterv",
                                         "allgather",
                                         "allgatherv",
                                         "alltoall",
                                         "alltoallv",
                                         "allreduce",
                                         "reduce_scatter",
                                         "reduce_scatter_block",
                                         "scan",
                                         "exscan",
                                         "neighbor_allgather",
                                         "neighbor_alltoall",
                                         "barrier across",
                                         "bcast across",
                                         "gather across",
                                         "allreduce across",
                                         "fence",
                                         "fence that nothing precedes",
                                         "start"};

struct plan {
    enum kind kind;
    bool nonblocking, in_place, late; /* late: the bystander comes after the taker */
    int root, count;
    int counts[RANKS]; /* of each member, in v-forms */
    int flows[RANKS]
             [RANKS]; /* alltoallv: from whom to whom; neighbours: whether there is an edge */
    int leaver, sender, bystander, taker;
};

static struct plan plan_new(uint64_t seed)
{
    static const int sizes[] = {0, 1, 1, 2, LARGE};
    uint64_t dice = seed;
    int order[RANKS] = {0, 1, 2, 3};
    struct plan plan = {.kind = (enum kind)dice_below(&dice, KINDS)};
    plan.nonblocking = dice_below(&dice, 3) == 0;
    plan.in_place = dice_below(&dice, 3) == 0;
    plan.late = dice_below(&dice, 2);
    plan.root = (int)dice_below(&dice, RANKS);
    plan.count = sizes[dice_below(&dice, 5)];
    for (int i = 0; i < RANKS; i++) {
        plan.counts[i] = (int)dice_below(&dice, 3) % 2;
        for (int j = 0; j < RANKS; j++)
            plan.flows[i][j] = i != j && dice_below(&dice, 2);
    }
    for (int i = RANKS - 1; i > 0; i--) {
        int other = (int)dice_below(&dice, (uint32_t)i + 1), kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
    plan.leaver = order[0];
    plan.sender = order[1];
    plan.bystander = order[2];
    plan.taker = order[3];
    return plan;
}

/* ---- MPI's words ---- */

/* Whether `to` cannot have its result before `from` has come. */
static bool needs(const struct plan *plan, int to, int from)
{
    switch (plan->kind) {
    case BARRIER:
    case FENCE:
        return true;
    case FENCE_ALONE:
    case START:
        return false;
    case ACROSS_BARRIER:
    case ACROSS_ALLREDUCE:
        return from % 2 != to % 2;
    case ACROSS_BCAST:
        return from == plan->root && to % 2 != plan->root % 2;
    case ACROSS_GATHER:
        return to == plan->root && from % 2 != plan->root % 2;
    case BCAST:
    case SCATTER:
        return from == plan->root && plan->count;
    case SCATTERV:
        return from == plan->root && plan->counts[to];
    case REDUCE:
    case GATHER:
        return to == plan->root && plan->count;
    case GATHERV:
        return to == plan->root && plan->counts[from];
    case ALLGATHERV:
        return plan->counts[from];
    case REDUCE_SCATTER:
        return plan->counts[to];
    case SCAN:
    case EXSCAN:
        return from < to && plan->count;
    case ALLTOALLV:
        return plan->flows[from][to];
    case NEIGHBOR_ALLGATHER:
    case NEIGHBOR_ALLTOALL:
        return plan->flows[from][to] && plan->count;
    default:
        return plan->count;
    }
}

/* Whether the member, which has come, needs nobody who comes only after the taker has its message. */
static bool may_leave(const struct plan *plan, int who)
{
    return !needs(plan, who, plan->taker) && !needs(plan, who, plan->sender) &&
           !(plan->late && needs(plan, who, plan->bystander));
}

static bool has_come(const struct plan *plan, int who)
{
    return who == plan->leaver || (!plan->late && who == plan->bystander);
}

/* Of these the machine itself has some go on; for the others it names what it leaves out. */
static bool goes_on(const struct plan *plan, int who)
{
    bool lower = plan->kind == SCAN || plan->kind == EXSCAN;
    switch (plan->kind) {
    case BCAST:
    case SCATTER:
    case SCATTERV:
        return has_come(plan, plan->root);
    case REDUCE:
    case GATHER:
    case GATHERV:
        return who != plan->root;
    case START:
        return who != plan->leaver;
    default:
        for (int below = 0; below < who; below++)
            lower = lower && has_come(plan, below);
        return lower;
    }
}

static bool waits_needlessly(const struct plan *plan, int who)
{
    return may_leave(plan, who) && !goes_on(plan, who);
}

/* ---- the program ---- */

static MPI_Comm graph_of(const struct plan *plan, int rank)
{
    int in[RANKS], out[RANKS], in_count = 0, out_count = 0;
    MPI_Comm graph;
    for (int other = 0; other < RANKS; other++) {
        if (plan->flows[other][rank])
            in[in_count++] = other;
        if (plan->flows[rank][other])
            out[out_count++] = other;
    }
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, in_count, in, MPI_UNWEIGHTED, out_count, out,
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    return graph;
}

#define CALL(name, started, ...)                                                                   \
    (plan->nonblocking ? MPI_I##started(__VA_ARGS__, &request) : MPI_##name(__VA_ARGS__))

static void collective(const struct plan *plan, int rank, MPI_Comm graph, int *give, int *take)
{
    static const int even[RANKS] = {0, 1, 2, 3};
    const int n = plan->count, root = plan->root, *counts = plan->counts;
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Request request = MPI_REQUEST_NULL;
    int to[RANKS], from[RANKS];
    for (int other = 0; other < RANKS; other++) {
        to[other] = plan->flows[rank][other];
        from[other] = plan->flows[other][rank];
    }
    const void *own = plan->in_place && rank == root ? MPI_IN_PLACE : give;
    const void *all = plan->in_place ? MPI_IN_PLACE : give;
    void *got = plan->in_place && rank == root ? MPI_IN_PLACE : take;
    switch (plan->kind) {
    case BARRIER:
        if (plan->nonblocking)
            MPI_Ibarrier(world, &request);
        else
            MPI_Barrier(world);
        break;
    case BCAST:
        CALL(Bcast, bcast, give, n, MPI_INT, root, world);
        break;
    case REDUCE:
        CALL(Reduce, reduce, own, take, n, MPI_INT, MPI_SUM, root, world);
        break;
    case GATHER:
        CALL(Gather, gather, own, n, MPI_INT, take, n, MPI_INT, root, world);
        break;
    case GATHERV:
        CALL(Gatherv, gatherv, own, counts[rank], MPI_INT, take, counts, even, MPI_INT, root,
             world);
        break;
    case SCATTER:
        CALL(Scatter, scatter, give, n, MPI_INT, got, n, MPI_INT, root, world);
        break;
    case SCATTERV:
        CALL(Scatterv, scatterv, give, counts, even, MPI_INT, got, counts[rank], MPI_INT, root,
             world);
        break;
    case ALLGATHER:
        CALL(Allgather, allgather, all, n, MPI_INT, take, n, MPI_INT, world);
        break;
    case ALLGATHERV:
        CALL(Allgatherv, allgatherv, all, counts[rank], MPI_INT, take, counts, even, MPI_INT,
             world);
        break;
    case ALLTOALL:
        CALL(Alltoall, alltoall, all, n, MPI_INT, take, n, MPI_INT, world);
        break;
    case ALLTOALLV:
        CALL(Alltoallv, alltoallv, give, to, even, MPI_INT, take, from, even, MPI_INT, world);
        break;
    case ALLREDUCE:
        CALL(Allreduce, allreduce, all, take, n, MPI_INT, MPI_SUM, world);
        break;
    case REDUCE_SCATTER:
        CALL(Reduce_scatter, reduce_scatter, all, take, counts, MPI_INT, MPI_SUM, world);
        break;
    case REDUCE_SCATTER_BLOCK:
        CALL(Reduce_scatter_block, reduce_scatter_block, all, take, n, MPI_INT, MPI_SUM, world);
        break;
    case SCAN:
        CALL(Scan, scan, all, take, n, MPI_INT, MPI_SUM, world);
        break;
    case EXSCAN:
        CALL(Exscan, exscan, all, take, n, MPI_INT, MPI_SUM, world);
        break;
    case NEIGHBOR_ALLGATHER:
        CALL(Neighbor_allgather, neighbor_allgather, give, n, MPI_INT, take, n, MPI_INT, graph);
        break;
    default:
        CALL(Neighbor_alltoall, neighbor_alltoall, give, n, MPI_INT, take, n, MPI_INT, graph);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void across(const struct plan *plan, int rank, MPI_Comm bridge, int *give, int *take)
{
    bool same = rank % 2 == plan->root % 2;
    int root = rank == plan->root ? MPI_ROOT : same ? MPI_PROC_NULL : plan->root / 2;
    if (plan->kind == ACROSS_BARRIER)
        MPI_Barrier(bridge);
    else if (plan->kind == ACROSS_BCAST)
        MPI_Bcast(give, 1, MPI_INT, root, bridge);
    else if (plan->kind == ACROSS_GATHER)
        MPI_Gather(give, 1, MPI_INT, take, 1, MPI_INT, root, bridge);
    else
        MPI_Allreduce(give, take, 1, MPI_INT, MPI_SUM, bridge);
}

static MPI_Comm bridge_of(int rank)
{
    MPI_Comm half, bridge;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 0, &bridge);
    MPI_Comm_free(&half);
    return bridge;
}

static void one_sided(const struct plan *plan, int rank, MPI_Win win)
{
    MPI_Group all, other;
    if (plan->kind != START) {
        MPI_Win_fence(plan->kind == FENCE ? 0 : MPI_MODE_NOPRECEDE, win);
        return;
    }
    if (rank != plan->leaver && rank != plan->sender)
        return;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, rank == plan->leaver ? &plan->sender : &plan->leaver, &other);
    if (rank == plan->leaver) {
        MPI_Win_start(other, 0, win);
        MPI_Win_complete(win);
    } else {
        MPI_Win_post(other, 0, win);
        MPI_Win_wait(win);
    }
    MPI_Group_free(&other);
    MPI_Group_free(&all);
}

static const struct plan *current;
/* Of the world that runs: one that is ended when it only repeats another would not free them. */
static int buffers[RANKS][2][RANKS * (LARGE + ROOM)];

static int body(void *context, int rank)
{
    const struct plan *plan = current;
    MPI_Comm graph = MPI_COMM_NULL;
    MPI_Win win = MPI_WIN_NULL;
    MPI_Status status;
    int token = rank, *give = buffers[rank][0], *take = buffers[rank][1];
    MPI_Init(NULL, NULL);
    if (plan->kind >= FENCE)
        MPI_Win_create(give, sizeof *give, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    else if (plan->kind >= ACROSS_BARRIER)
        graph = bridge_of(rank);
    else if (plan->kind >= NEIGHBOR_ALLGATHER)
        graph = graph_of(plan, rank);
    bool taker = rank == plan->taker, late = plan->late && rank == plan->bystander;
    if (rank == plan->sender)
        MPI_Send(&token, 1, MPI_INT, plan->taker, 0, MPI_COMM_WORLD);
    if (rank == plan->sender || late)
        MPI_Recv(&token, 1, MPI_INT, plan->taker, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (taker) {
        MPI_Recv(&token, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
        ((uint64_t *)context)[rank] = status.MPI_SOURCE == plan->leaver;
        MPI_Send(&token, 1, MPI_INT, plan->sender, 1, MPI_COMM_WORLD);
        if (plan->late)
            MPI_Send(&token, 1, MPI_INT, plan->bystander, 1, MPI_COMM_WORLD);
    }
    if (plan->kind >= FENCE)
        one_sided(plan, rank, win);
    else if (plan->kind >= ACROSS_BARRIER)
        across(plan, rank, graph, give, take);
    else
        collective(plan, rank, graph, give, take);
    if (rank == plan->leaver)
        MPI_Send(&token, 1, MPI_INT, plan->taker, 0, MPI_COMM_WORLD);
    if (taker)
        MPI_Recv(&token, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (graph != MPI_COMM_NULL)
        MPI_Comm_free(&graph);
    if (win != MPI_WIN_NULL)
        MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}

static bool run_world(void *context, unsigned worker, struct explore_steer *steer,
                      struct explore_run *run)
{
    struct sim_world_options options;
    struct failure failure;
    uint64_t seen[RANKS] = {0};
    (void)context;
    (void)worker;
    sim_world_options_init(&options);
    options.ranks = RANKS;
    options.eager_limit = SIZE_MAX;
    explore_steer_world(steer, &options);
    struct sim_world *world = sim_world_new(&options, &failure);
    if (!world)
        return false;
    run->outcome = sim_world_run(world, body, seen);
    run->fingerprint = seen[current->taker] + 1;
    explore_run_take(run, sim_world_choices(world));
    sim_world_free(world);
    return true;
}

/* Whether the exploration is right; `early`: the leaver's message came first. */
static bool is_right(const struct plan *plan, unsigned long long seed, bool *early, bool *gap)
{
    struct explore_options options;
    struct explore_report report;
    current = plan;
    explore_options_init(&options);
    options.workers = 1;
    explore(&options, run_world, NULL, &report);
    *early = report.results == 2;
    *gap = report.gaps & SIM_GAP_WAITING;
    bool finished = report.by_outcome[OUTCOME_FINISHED] == report.runs && report.exhausted;
    explore_report_release(&report);
    bool needless = waits_needlessly(plan, plan->leaver) ||
                    (!plan->late && waits_needlessly(plan, plan->bystander));
    bool right = finished && *gap == needless &&
                 *early == (may_leave(plan, plan->leaver) && goes_on(plan, plan->leaver));
    if (!right)
        tap_note(
            "SIMRUN_SEED=%llu: %s%s of %d, root %d, leaver %d, sender %d, taker %d, %s %d: %s%s%s",
            seed, plan->nonblocking ? "i" : "", names[plan->kind], plan->count, plan->root,
            plan->leaver, plan->sender, plan->taker, plan->late ? "late" : "early", plan->bystander,
            finished ? "" : "does not end, ", *early ? "first" : "not first",
            *gap ? ", named" : "");
    return right;
}

int main(void)
{
    struct dice_seeds seeds = dice_seeds(6000);
    unsigned wrong = 0, firsts = 0, gaps = 0, exact = 0;
    for (unsigned long long i = 0; i < seeds.count; i++) {
        struct plan plan = plan_new(seeds.first + i);
        bool early, gap;
        wrong += !is_right(&plan, seeds.first + i, &early, &gap);
        firsts += early;
        gaps += gap;
        exact += !early && !gap;
    }
    tap_note("%llu programs: in %u the message comes first, %u gaps, %u neither", seeds.count,
             firsts, gaps, exact);
    tap_is_int(wrong, 0, "who may go on does, or the exploration says that it did not");
    tap_ok(firsts * 10 > seeds.count && gaps * 10 > seeds.count && exact * 10 > seeds.count,
           "there are all three");
    return tap_done();
}
