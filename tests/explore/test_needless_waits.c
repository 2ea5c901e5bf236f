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
#include "tests/mpi/collective_calls.h"
#include "tests/tap.h"

#include <mpi.h>
#include <mpix.h>

enum { ROOM = 6, LARGE = 40000 /* beyond what a plain run buffers */ };

/* Beside the collectives that move data. */
enum {
    BARRIER = KINDS,
    DISCONNECT,
    FENCE,
    FENCE_ALONE, /* nothing precedes it */
    START,       /* the leaver's; the sender posts */
    ALL_KINDS
};
static const char *const other_names[] = {"Barrier", "disconnect", "fence",
                                          "fence that nothing precedes", "start"};
static const char *const place_names[PLACES] = {"within", "across", "along"};
static const char *const form_names[FORMS] = {
    "persistent", "persistent _c", "blocking", "nonblocking", "_c", "nonblocking _c"};

struct plan {
    int kind;
    enum place place;
    enum form form;
    bool in_place;
    bool guarded; /* the leaver takes any message first, which comes from the sender */
    int root, count;
    int counts[RANKS];       /* of each rank, in v-forms */
    int flows[RANKS][RANKS]; /* alltoallv and w: how much from whom to whom */
    int leaver, sender, taker;
    bool late[RANKS]; /* others that come after the taker */
};

/* The same sum on both sides. */
static void deal_sums(struct plan *plan, uint64_t *dice)
{
    int sum = (int)dice_below(dice, 3);
    for (int i = 0; i < RANKS; i++)
        plan->counts[i] = 0;
    for (int i = 0; i < sum; i++) {
        plan->counts[2 * dice_below(dice, EVEN)]++;
        plan->counts[2 * dice_below(dice, RANKS - EVEN) + 1]++;
    }
}

static bool may_be_in_place(const struct plan *plan)
{
    return plan->place == WITHIN && plan->kind != BCAST && plan->kind != ALLTOALLV &&
           plan->kind != ALLTOALLW;
}

static struct plan plan_new(uint64_t seed)
{
    static const int sizes[] = {0, 1, 1, 2, LARGE};
    uint64_t dice = seed;
    int order[RANKS] = {0, 1, 2, 3, 4};
    struct plan plan = {.kind = (int)dice_below(&dice, ALL_KINDS)};
    do
        plan.place = (enum place)dice_below(&dice, plan.kind > DISCONNECT ? 1 : PLACES);
    while (plan.kind == BARRIER ? plan.place == ALONG
                                : plan.kind < KINDS && !exists((enum kind)plan.kind, plan.place));
    plan.form = (enum form)dice_below(&dice, FORMS);
    plan.in_place = dice_below(&dice, 3) == 0 && may_be_in_place(&plan);
    plan.guarded = dice_below(&dice, 3) == 0;
    plan.root = (int)dice_below(&dice, RANKS);
    plan.count = sizes[dice_below(&dice, 5)];
    for (int i = 0; i < RANKS; i++) {
        plan.counts[i] = (int)dice_below(&dice, 3) % 2;
        plan.late[i] = dice_below(&dice, 2);
        for (int j = 0; j < RANKS; j++)
            plan.flows[i][j] = i != j && dice_below(&dice, 2);
    }
    if (plan.kind == REDUCE_SCATTER && plan.place == ACROSS)
        deal_sums(&plan, &dice);
    for (int i = RANKS - 1; i > 0; i--) {
        int other = (int)dice_below(&dice, (uint32_t)i + 1), kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
    plan.leaver = order[0];
    plan.sender = order[1];
    plan.taker = order[2];
    plan.late[plan.leaver] = false;
    plan.late[plan.sender] = plan.late[plan.taker] = true;
    return plan;
}

/* ---- MPI's words ---- */

/* Whether the one gives the other anything in that place, in a collective without a root. */
static bool is_partner(enum place place, int to, int from)
{
    int ahead = (to - from + RANKS) % RANKS;
    return place == WITHIN || (place == ACROSS ? from % 2 != to % 2 : ahead == 1 || ahead == 2);
}

/* Whether `to` cannot have its result before `from` has come. */
static bool needs(const struct plan *plan, int to, int from)
{
    bool partner = is_partner(plan->place, to, from);
    bool others = plan->place == WITHIN || to % 2 != from % 2; /* of one who is the root */
    switch (plan->kind) {
    case BARRIER:
        return partner;
    case FENCE:
        return true;
    case DISCONNECT:
    case FENCE_ALONE:
    case START:
        return false;
    case BCAST:
    case SCATTER:
        return from == plan->root && others && plan->count;
    case SCATTERV:
        return from == plan->root && others && plan->counts[to];
    case REDUCE:
    case GATHER:
        return to == plan->root && others && plan->count;
    case GATHERV:
        return to == plan->root && others && plan->counts[from];
    case ALLGATHERV:
        return partner && plan->counts[from];
    case REDUCE_SCATTER:
        return partner && plan->counts[to];
    case SCAN:
    case EXSCAN:
        return from < to && plan->count;
    case ALLTOALLV:
    case ALLTOALLW:
        return partner && plan->flows[from][to];
    default:
        return partner && plan->count;
    }
}

/* Whether the member, which has come, needs nobody who comes only after the taker has its message. */
static bool may_leave(const struct plan *plan, int who)
{
    for (int other = 0; other < RANKS; other++)
        if (plan->late[other] && needs(plan, who, other))
            return false;
    return true;
}

/* Of these the machine itself has some go on; for the others it names what it leaves out. */
static bool goes_on(const struct plan *plan, int who)
{
    bool lower = plan->kind == SCAN || plan->kind == EXSCAN;
    if (plan->kind == DISCONNECT)
        return true;
    if (plan->place != WITHIN)
        return false;
    switch (plan->kind) {
    case BCAST:
    case SCATTER:
    case SCATTERV:
        return !plan->late[plan->root];
    case REDUCE:
    case GATHER:
    case GATHERV:
        return who != plan->root;
    case START:
        return who != plan->leaver;
    default:
        for (int below = 0; below < who; below++)
            lower = lower && !plan->late[below];
        return lower;
    }
}

/* Of those that have come. */
static bool waits_needlessly(const struct plan *plan)
{
    for (int who = 0; who < RANKS; who++)
        if (!plan->late[who] && may_leave(plan, who) && !goes_on(plan, who))
            return true;
    return false;
}

/* ---- the program ---- */

/* Whom the i-th block of a side is for, or from. */
static int peer_of(enum place place, int rank, int i, bool takes)
{
    if (place == ACROSS)
        return rank % 2 ? 2 * i : 2 * i + 1;
    return place == WITHIN ? i : (rank + (takes ? RANKS - 1 - i : 1 + i)) % RANKS;
}

struct side {
    int counts[RANKS], places[RANKS];
    MPI_Datatype types[RANKS];
};

static void side_fill(struct side *side, const struct plan *plan, int rank, bool takes)
{
    bool flows = plan->kind == ALLTOALLV || plan->kind == ALLTOALLW;
    for (int i = 0; i < peers_of(plan->place, rank); i++) {
        int peer = peer_of(plan->place, rank, i, takes);
        int from = takes ? peer : rank, to = takes ? rank : peer;
        side->counts[i] = flows ? plan->flows[from][to] : plan->counts[peer];
        side->places[i] = i * (plan->kind == ALLTOALLW ? (int)sizeof(int) : 1);
        side->types[i] = MPI_INT;
    }
}

static void collective(const struct plan *plan, int rank, MPI_Comm comm, int *give, int *take)
{
    struct side out, in;
    enum kind kind = (enum kind)plan->kind;
    bool v = kind == GATHERV || kind == SCATTERV || kind == ALLGATHERV,
         is_root = rank == plan->root;
    int count = v ? plan->counts[rank] : plan->count;
    if (kind == REDUCE_SCATTER_BLOCK && plan->place == ACROSS)
        count *= rank % 2 ? EVEN : RANKS - EVEN; /* the same sum on both sides */
    side_fill(&out, plan, rank, false);
    side_fill(&in, plan, rank, true);
    if (kind == REDUCE_SCATTER) /* of the own side: each rank's block */
        for (int i = 0; i < RANKS; i++)
            in.counts[i] = plan->place == WITHIN      ? plan->counts[i]
                           : 2 * i + rank % 2 < RANKS ? plan->counts[2 * i + rank % 2]
                                                      : 0;
    struct arguments arguments = {.send = {give, count, MPI_INT, out.counts, out.places, out.types},
                                  .receive = {take, count, MPI_INT, in.counts, in.places, in.types},
                                  .op = MPI_SUM,
                                  .root = root_seen(plan->place, rank, plan->root),
                                  .info = MPI_INFO_NULL,
                                  .comm = comm,
                                  .starts = 1};
    bool scatters = kind == SCATTER || kind == SCATTERV;
    if (plan->in_place && (!is_rooted(kind) || is_root))
        *(scatters ? &arguments.receive.at : &arguments.send.at) = MPI_IN_PLACE;
    if (call_collective(kind, plan->place, plan->form, is_root, &arguments))
        MPI_Abort(MPI_COMM_WORLD, 1);
}

static void barrier(const struct plan *plan, MPI_Comm comm)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int starts = -1, error;
    if (plan->form == BLOCKING || plan->form == BLOCKING_C) {
        MPI_Barrier(comm);
        return;
    }
    if (plan->form == AGAIN || plan->form == AGAIN_C) {
        error = MPI_Barrier_init(comm, MPI_INFO_NULL, &request);
        starts = 1;
    } else {
        error = MPI_Ibarrier(comm, &request);
    }
    if (finished(&request, error, starts))
        MPI_Abort(MPI_COMM_WORLD, 1);
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
static int buffers[RANKS][2][ROOM * LARGE];

static int body(void *context, int rank)
{
    const struct plan *plan = current;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Win win = MPI_WIN_NULL;
    MPI_Status status;
    int token = rank, *give = buffers[rank][0], *take = buffers[rank][1];
    MPI_Init(NULL, NULL);
    if (plan->kind >= FENCE)
        MPI_Win_create(give, sizeof *give, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    else
        comm = comm_of(plan->place, rank);
    bool taker = rank == plan->taker;
    if (rank == plan->sender) {
        if (plan->guarded)
            MPI_Send(&token, 1, MPI_INT, plan->leaver, 2, MPI_COMM_WORLD);
        MPI_Send(&token, 1, MPI_INT, plan->taker, 0, MPI_COMM_WORLD);
    }
    if (rank == plan->leaver && plan->guarded)
        MPI_Recv(&token, 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!taker && plan->late[rank])
        MPI_Recv(&token, 1, MPI_INT, plan->taker, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (taker) {
        MPI_Recv(&token, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
        ((uint64_t *)context)[rank] = status.MPI_SOURCE == plan->leaver;
        for (int other = 0; other < RANKS; other++)
            if (other != rank && plan->late[other])
                MPI_Send(&token, 1, MPI_INT, other, 1, MPI_COMM_WORLD);
    }
    if (plan->kind >= FENCE)
        one_sided(plan, rank, win);
    else if (plan->kind == BARRIER)
        barrier(plan, comm);
    else if (plan->kind == DISCONNECT)
        MPI_Comm_disconnect(&comm);
    else
        collective(plan, rank, comm, give, take);
    if (rank == plan->leaver)
        MPI_Send(&token, 1, MPI_INT, plan->taker, 0, MPI_COMM_WORLD);
    if (taker)
        MPI_Recv(&token, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (comm != MPI_COMM_NULL)
        MPI_Comm_free(&comm);
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
    bool may = may_leave(plan, plan->leaver);
    bool right = finished && *gap == waits_needlessly(plan) &&
                 *early == (may && goes_on(plan, plan->leaver));
    if (plan->guarded) /* others that stand there when the leaver takes its message are named, too */
        right = finished && (may ? *early || *gap : !*early);
    if (!right)
        tap_note(
            "SIMRUN_SEED=%llu: %s, %s, %s of %d, root %d, leaver %d, sender %d, taker %d, "
            "late %d%d%d%d%d%s: %s%s%s",
            seed, plan->kind < KINDS ? kind_names[plan->kind] : other_names[plan->kind - KINDS],
            place_names[plan->place], form_names[plan->form], plan->count, plan->root, plan->leaver,
            plan->sender, plan->taker, plan->late[0], plan->late[1], plan->late[2], plan->late[3],
            plan->late[4], plan->guarded ? ", guarded" : "", finished ? "" : "does not end, ",
            *early ? "first" : "not first", *gap ? ", named" : "");
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
