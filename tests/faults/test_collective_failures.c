/* Who of a collective is told that a member has failed (ULFM): those who wait for it, by what the collective's data need, and nobody
 * else. Every kind, with every root and every failed rank, which fails before anybody comes or when all others
 * are there; where sends are eager, where they wait for their receives, and with strict collectives. Who is not told
 * has what it should have. */
#include "tests/mpi/collective_calls.h"
#include "tests/world_harness.h"

#include <mpi-ext.h>

enum setting { EAGER, RENDEZVOUS, STRICT, SETTINGS };
static const char *const settings[] = {"eager", "rendezvous", "strict"};

/* What is tried in the world that runs. */
static struct {
    enum kind kind;
    enum setting setting;
    int root, lost, turn; /* the ranks come one after the other, the first is `turn` */
    bool before;
} now;

static int place_of(int rank)
{
    return (rank - now.turn + RANKS) % RANKS;
}

static void wait_turns(int turns)
{
    enum { TURN = 8 };
    for (int i = 0; i < turns * TURN; i++)
        MPIX_Yield();
}

/* Whether it waits for the lost one. */
static bool is_told(int rank)
{
    bool is_root = rank == now.root, leaves = now.setting == EAGER;
    if (now.setting == STRICT)
        return true;
    switch (now.kind) {
    case BCAST:
    case SCATTER:
    case SCATTERV:
        if (now.lost == now.root)
            return true;
        if (leaves) /* the root leaves its data behind */
            return false;
        if (is_root)
            return true;
        /* Who came before the root gave up has got its data. */
        return now.before && place_of(rank) > place_of(now.root);
    case GATHER:
    case GATHERV:
    case REDUCE:
        return !leaves || is_root;
    case SCAN:
    case EXSCAN:
        return rank > now.lost;
    default:
        return true;
    }
}

static void one_call(int rank, int size)
{
    static const int ones[RANKS] = {1, 1, 1, 1, 1}, places[RANKS] = {0, 1, 2, 3, 4};
    const MPI_Datatype types[RANKS] = {MPI_INT, MPI_INT, MPI_INT, MPI_INT, MPI_INT};
    int given[RANKS], taken[RANKS], bytes[RANKS];
    MPI_Comm comm;
    (void)size;
    for (int i = 0; i < RANKS; i++) {
        given[i] = 100 * rank + i;
        taken[i] = -1;
        bytes[i] = (int)sizeof(int) * i;
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == now.lost) {
        wait_turns(now.before ? 0 : RANKS + 2);
        sim_rank_end(0);
    }
    wait_turns(1 + place_of(rank));
    struct arguments a = {
        .send = {given, 1, MPI_INT, ones, now.kind == ALLTOALLW ? bytes : places, types},
        .receive = {taken, 1, MPI_INT, ones, now.kind == ALLTOALLW ? bytes : places, types},
        .op = MPI_SUM,
        .root = now.root,
        .info = MPI_INFO_NULL,
        .comm = comm,
        .starts = 1};
    enum form form = (enum form)((now.root + now.lost + (int)now.kind) % FORMS);
    int class = -1;
    MPI_Error_class(call_collective(now.kind, WITHIN, form, rank == now.root, &a), &class);
    bool told = is_told(rank);
    expect(class == (told ? MPIX_ERR_PROC_FAILED : MPI_SUCCESS),
           "%s, %s, root %d, rank %d fails %s, form %d: class %d", kind_names[now.kind],
           settings[now.setting], now.root, now.lost, now.before ? "before" : "when all are there",
           (int)form, class);
    int sum = 0;
    for (int r = 0; r < rank + (now.kind == SCAN); r++)
        sum += 100 * r;
    int wanted = now.kind == BCAST                             ? 100 * now.root
                 : now.kind == SCATTER || now.kind == SCATTERV ? 100 * now.root + rank
                                                               : sum;
    bool gets = (now.kind == SCAN || (now.kind == EXSCAN && rank) || now.kind == SCATTER ||
                 now.kind == SCATTERV || (now.kind == BCAST && rank != now.root));
    if (!told && gets)
        expect(taken[0] == wanted, "%s, %s, root %d: %d, not %d", kind_names[now.kind],
               settings[now.setting], now.root, taken[0], wanted);
    MPI_Comm_free(&comm);
}

static void kind_try(enum kind kind)
{
    char text[600] = "";
    int wrong = 0, worlds = 0;
    for (int setting = EAGER; setting < SETTINGS; setting++)
        for (int lost = 0; lost < RANKS; lost++)
            for (int root = 0; root < (is_rooted(kind) ? RANKS : 1); root++)
                for (int before = 0; before < 2; before++) {
                    struct sim_world_options options = world_options(RANKS);
                    options.send_model =
                        setting == RENDEZVOUS ? SIM_SEND_RENDEZVOUS : SIM_SEND_EAGER;
                    options.strict_collectives = setting == STRICT;
                    now.kind = kind;
                    now.setting = (enum setting)setting;
                    now.root = root;
                    now.lost = lost;
                    now.turn = (lost + 2 * root + setting) % RANKS;
                    now.before = before;
                    struct world_result result = world_try(options, one_call);
                    worlds++;
                    if ((result.failed || result.looked_at < RANKS - 1) && !wrong++)
                        snprintf(text, sizeof text,
                                 "%s, %d looked at: %s, root %d, rank %d fails: %s",
                                 world_outcomes[result.outcome], result.looked_at,
                                 settings[setting], root, lost, result.text);
                }
    tap_test_str(wrong ? text : "right", "right", TAP_HERE,
                 "%s: who waits for a failed member is told, in %d worlds", kind_names[kind],
                 worlds);
}

int main(void)
{
    for (int kind = 0; kind < KINDS; kind++)
        if (dice_takes_of((unsigned long long)kind, KINDS))
            kind_try((enum kind)kind);
    return tap_done();
}
