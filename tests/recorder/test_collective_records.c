/* What the recorder keeps of a collective, of every kind and form, within a communicator, between two groups and
 * along a topology, against what the call said: its kind, root, operation, how many basic numbers, the numbers for
 * each peer where they differ, whether it is in place, and which buffer counts. Arguments that MPI does not look at
 * on a rank hold something else. Who watches is told of all numbers that the call sends and receives, and of no others. */
#include "recorder/watch.h"
#include "tests/mpi/collective_calls.h"
#include "tests/recorder/recorded_world.h"

#include <mpix.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 40, MOST = 3, ROOM = 2 * (MOST + 1) * RANKS + 8 };

/* The same on all ranks; counts are of pairs of numbers. */
struct scene {
    enum kind kind;
    enum place place;
    enum form form;
    bool in_place;
    int root, count, between[RANKS][RANKS]; /* from one rank to another */
    bool pairs[2];                          /* each side counts pairs, rather than numbers */
};

/* What a rank's operation must be. */
struct wanted {
    enum op_kind kind;
    int root;
    long long count;
    bool typed, reduces, in_place, starts;
    bool again; /* on a communicator of its own, which is told as that of a persistent one */
    const void *buffer; /* where it receives, or else what it gives; NULL: neither */
    int peers[2];       /* of the counts of its sides; -1: none are kept */
    long long counts[2][RANKS];
};

/* Of one call: the numbers that were told of, in the memory of either side. */
struct seen {
    const struct record_op *record;
    int begun, opaque, done, strange;
    bool moved[2][2][ROOM]; /* whether it receives, whose memory */
};

static struct {
    double memory[RANKS][2][ROOM];
    struct seen seen[RANKS];
    unsigned long long seed;
    struct wanted wanted[RANKS][ROUNDS];
    int refused, told_wrongly;
} now;

/* ---- who watches ---- */

static void begins(struct record_watch *watch, const struct record_op *record, uint32_t number,
                   uint64_t comm)
{
    struct seen *seen = &now.seen[MPIX_World_rank()];
    (void)watch, (void)number, (void)comm;
    seen->begun++;
    seen->record = record;
}

static void block(struct record_watch *watch, const struct record_op *record, bool receives,
                  bool single, void *values, size_t count)
{
    int rank = MPIX_World_rank();
    struct seen *seen = &now.seen[rank];
    const double *first = values;
    int side = first >= now.memory[rank][1];
    (void)watch, (void)record;
    for (size_t i = 0; i < count; i++) {
        ptrdiff_t at = first + i - now.memory[rank][side];
        if (single || at < 0 || at >= ROOM || seen->moved[receives][side][at])
            seen->strange++;
        else
            seen->moved[receives][side][at] = true;
    }
}

static void opaque(struct record_watch *watch, const struct record_op *record)
{
    (void)watch, (void)record;
    now.seen[MPIX_World_rank()].opaque++;
}

static void done(struct record_watch *watch, const struct record_op *record)
{
    struct seen *seen = &now.seen[MPIX_World_rank()];
    (void)watch;
    seen->done += record == seen->record; /* waits and starts are done, too */
}

static void over(struct record_watch *watch)
{
    (void)watch;
}

static struct record_watch watch = {begins, block, opaque, done, over};

static struct scene scene_new(uint64_t *dice)
{
    struct scene scene;
    do {
        scene.kind = (enum kind)dice_below(dice, KINDS);
        scene.place = (enum place)dice_below(dice, PLACES);
    } while (!exists(scene.kind, scene.place));
    scene.form = (enum form)dice_below(dice, FORMS);
    scene.in_place = scene.place == WITHIN && scene.kind != BCAST && dice_below(dice, 3) == 0;
    scene.root = (int)dice_below(dice, RANKS);
    scene.count = 1 + (int)dice_below(dice, MOST);
    bool both = dice_below(dice, 2);
    for (int side = 0; side < 2; side++)
        scene.pairs[side] = !is_reduction(scene.kind) && (both || dice_below(dice, 2));
    for (int i = 0; i < RANKS; i++)
        for (int k = 0; k < RANKS; k++) {
            scene.between[i][k] = (int)dice_below(dice, MOST + 1);
            if (scene.in_place && k < i) /* each pair of ranks exchanges as much as it gets */
                scene.between[i][k] = scene.between[k][i];
        }
    return scene;
}

static int peer_of(const struct scene *scene, int rank, bool receives, int i)
{
    if (scene->place == ALONG)
        return (rank + (receives ? RANKS - 1 - i : 1 + i)) % RANKS;
    return scene->place == WITHIN ? i : 2 * i + !(rank % 2);
}

/* Pairs that one rank gives another. */
static int pairs_between(const struct scene *scene, int from, int to)
{
    switch (scene->kind) {
    case GATHERV:
        return scene->between[from][0];
    case SCATTERV:
        return scene->between[0][to];
    case ALLGATHERV:
        return scene->between[from][0];
    case ALLTOALLV:
    case ALLTOALLW:
        return scene->between[from][to];
    default:
        return scene->count;
    }
}

/* Of a Reduce_scatter between groups both sides combine as much in all. */
static int share_of(const struct scene *scene, int rank)
{
    if (scene->place == ACROSS)
        return rank % 2 ? EVEN : RANKS - EVEN;
    return scene->kind == REDUCE_SCATTER ? scene->between[0][rank] : scene->count;
}

struct side {
    int counts[RANKS], places[RANKS], all;
    MPI_Datatype types[RANKS];
    struct buffer buffer;
};

/* One block for all peers, or one for each; `unit`: numbers of an element. */
static void side_make(const struct scene *scene, int rank, bool receives, MPI_Datatype pair,
                      const double *memory, struct side *side)
{
    int unit = scene->pairs[receives] ? 2 : 1, at = 0;
    int own = scene->kind == GATHERV || scene->kind == ALLGATHERV
                  ? pairs_between(scene, rank, 0)
                  : (scene->kind == SCATTERV ? pairs_between(scene, 0, rank) : scene->count);
    if (scene->kind >= REDUCE_SCATTER && scene->kind <= REDUCE_SCATTER_BLOCK)
        own = share_of(scene, rank);
    for (int i = 0; i < RANKS; i++) {
        int pairs = 0;
        if (scene->kind == REDUCE_SCATTER && scene->place == WITHIN)
            pairs = share_of(scene, i);
        else if (scene->kind == REDUCE_SCATTER)
            pairs = share_of(scene, rank);
        else if (i < peers_of(scene->place, rank)) {
            int peer = peer_of(scene, rank, receives, i);
            pairs = receives ? pairs_between(scene, peer, rank) : pairs_between(scene, rank, peer);
        }
        bool mixed = scene->kind == ALLTOALLW && i % 2;
        side->types[i] = mixed || unit == 2 ? pair : MPI_DOUBLE;
        side->counts[i] = mixed ? pairs : pairs * 2 / unit;
        side->places[i] = scene->kind == ALLTOALLW ? (int)sizeof(double) * at : at / unit;
        at += 2 * pairs + 2; /* a pair of them lies between */
    }
    side->buffer = (struct buffer){.at = memory,
                                   .count = own * 2 / unit,
                                   .type = unit == 2 ? pair : MPI_DOUBLE,
                                   .counts = side->counts,
                                   .places = side->places,
                                   .types = side->types};
}

static bool is_root(const struct scene *scene, int rank)
{
    return is_rooted(scene->kind) && rank == scene->root;
}

/* In place a root of what is gathered or reduced gives no send buffer, one that scatters no receive buffer, and others
 * only of what has no root. */
static bool says_in_place(const struct scene *scene, int rank)
{
    return scene->in_place && (!is_rooted(scene->kind) || is_root(scene, rank));
}

static const enum op_kind kinds_within[KINDS] = {OP_BCAST,          OP_GATHER,
                                                 OP_GATHERV,        OP_SCATTER,
                                                 OP_SCATTERV,       OP_ALLGATHER,
                                                 OP_ALLGATHERV,     OP_ALLTOALL,
                                                 OP_ALLTOALLV,      OP_ALLTOALLW,
                                                 OP_REDUCE,         OP_ALLREDUCE,
                                                 OP_REDUCE_SCATTER, OP_REDUCE_SCATTER_BLOCK,
                                                 OP_SCAN,           OP_EXSCAN};
static const enum op_kind kinds_along[] = {OP_NEIGHBOR_ALLGATHER, OP_NEIGHBOR_ALLGATHERV,
                                           OP_NEIGHBOR_ALLTOALL, OP_NEIGHBOR_ALLTOALLV,
                                           OP_NEIGHBOR_ALLTOALLW};

/* The side has counts for each peer, and they matter on this rank. */
static bool keeps_counts(const struct scene *scene, int rank, bool receives)
{
    if (scene->kind == REDUCE_SCATTER)
        return receives;
    if (!has_arrays(scene->kind, receives) ||
        (!receives && scene->kind != SCATTERV && says_in_place(scene, rank)))
        return false;
    return (scene->kind != GATHERV && scene->kind != SCATTERV) || is_root(scene, rank);
}

static int counts_of(const struct scene *scene, int rank)
{
    if (scene->kind == REDUCE_SCATTER && scene->place == ACROSS)
        return rank % 2 ? RANKS - EVEN : EVEN; /* those of its own group */
    return peers_of(scene->place, rank);
}

static struct wanted expect_of(const struct scene *scene, int rank, const struct side sides[2])
{
    bool along = scene->place == ALONG, in_place = says_in_place(scene, rank);
    bool scatters = scene->kind == SCATTER || scene->kind == SCATTERV;
    struct wanted wanted = {.kind = along ? kinds_along[scene->kind - ALLGATHER]
                                          : kinds_within[scene->kind],
                            .root = TRACE_NONE,
                            .reduces = is_reduction(scene->kind),
                            .in_place = in_place,
                            .typed = scene->kind != ALLTOALLW,
                            .starts = scene->form != BLOCKING && scene->form != BLOCKING_C,
                            .again = scene->form == AGAIN || scene->form == AGAIN_C,
                            .peers = {-1, -1}};
    if (is_rooted(scene->kind) &&
        (scene->place != ACROSS || rank == scene->root || rank % 2 != scene->root % 2))
        wanted.root = scene->root;
    /* what it gives, or takes where that says nothing; in all where peers get different numbers */
    bool takes = scatters ? !in_place : in_place;
    wanted.count =
        (long long)sides[takes].buffer.count * (sides[takes].buffer.type != MPI_DOUBLE ? 2 : 1);
    for (int receives = 1; receives >= 0; receives--) {
        if (!keeps_counts(scene, rank, receives))
            continue;
        wanted.peers[receives] = counts_of(scene, rank);
        wanted.count = 0;
        for (int i = 0; i < wanted.peers[receives]; i++) {
            wanted.counts[receives][i] = (long long)sides[receives].counts[i] *
                                         (sides[receives].types[i] != MPI_DOUBLE ? 2 : 1);
            wanted.count += wanted.counts[receives][i];
        }
    }
    bool gives = counts(scene->kind, scene->place, rank, scene->root, false);
    bool gets = counts(scene->kind, scene->place, rank, scene->root, true);
    if (scene->kind == EXSCAN) /* the first one's is said, too */
        gets = true;
    if (scene->kind == BCAST) { /* has one buffer */
        gives |= gets;
        gets = false;
    }
    if (scatters && in_place)
        wanted.buffer = sides[0].buffer.at;
    else if (gets || gives)
        wanted.buffer = sides[gets].buffer.at;
    if (scatters && gives && !gets)
        wanted.buffer = NULL; /* between groups a root says where, and it does not count */
    return wanted;
}

/* Which numbers cross: of blocks for each peer those, else of one block, or one for each. */
static void moved(const struct scene *scene, int rank, bool receives, const struct side *side,
                  bool numbers[ROOM])
{
    int unit = side->buffer.type != MPI_DOUBLE ? 2 : 1, first = side->buffer.count * unit;
    if (!counts(scene->kind, scene->place, rank, scene->root, receives))
        return;
    if (has_arrays(scene->kind, receives)) {
        for (int i = 0; i < peers_of(scene->place, rank); i++)
            for (int k = 0; k < side->counts[i] * unit; k++)
                numbers[side->places[i] * unit + k] = true;
        return;
    }
    if (has_blocks(scene->kind, receives))
        first *= peers_of(scene->place, rank);
    if (!receives && scene->kind == REDUCE_SCATTER_BLOCK)
        first *= RANKS;
    for (int i = 0; i < RANKS && !receives && scene->kind == REDUCE_SCATTER; i++)
        first = (i ? first : 0) + 2 * share_of(scene, i);
    for (int i = 0; i < first; i++)
        numbers[i] = true;
}

/* Not followed are types per peer, what is in place, but for reductions of one whole buffer, and what crosses between
 * groups, but for a sum that all get. */
static bool told_well(const struct scene *scene, int rank, const struct side sides[2])
{
    const struct seen *seen = &now.seen[rank];
    struct seen wanted = {.begun = 1, .done = 1};
    bool in_place = says_in_place(scene, rank);
    bool whole = scene->kind == REDUCE || scene->kind == ALLREDUCE || scene->kind >= SCAN;
    if (scene->kind == ALLTOALLW || (in_place && !whole) ||
        (scene->place == ACROSS && scene->kind != ALLREDUCE)) {
        wanted.opaque = 1;
    } else {
        moved(scene, rank, false, &sides[0], wanted.moved[0][in_place]);
        moved(scene, rank, true, &sides[1], wanted.moved[1][scene->kind != BCAST]);
    }
    bool exact =
        !(scene->kind == EXSCAN && rank == 0) && !(scene->kind == BCAST && is_root(scene, rank));
    return seen->begun == 1 && seen->done == 1 && !seen->strange && seen->opaque == wanted.opaque &&
           memcmp(seen->moved[0], wanted.moved[0], sizeof wanted.moved[0]) == 0 &&
           (!exact || memcmp(seen->moved[1], wanted.moved[1], sizeof wanted.moved[1]) == 0);
}

static int run_rank(void *recording, int rank)
{
    uint64_t dice = now.seed;
    MPI_Comm comms[PLACES];
    MPI_Datatype pair;
    double(*memory)[ROOM] = now.memory[rank];
    recording_rank_begin(recording);
    MPI_Init(NULL, NULL);
    comms_make(comms, rank);
    MPI_Type_contiguous(2, MPI_DOUBLE, &pair);
    MPI_Type_commit(&pair);
    for (int round = 0; round < ROUNDS; round++) {
        struct scene scene = scene_new(&dice);
        struct side sides[2];
        memset(memory, 0, sizeof now.memory[rank]);
        for (int receives = 0; receives < 2; receives++)
            side_make(&scene, rank, receives, pair, memory[receives], &sides[receives]);
        now.wanted[rank][round] = expect_of(&scene, rank, sides);
        struct arguments arguments = {.send = sides[0].buffer,
                                      .receive = sides[1].buffer,
                                      .op = MPI_SUM,
                                      .root = root_seen(scene.place, rank, scene.root),
                                      .info = MPI_INFO_NULL,
                                      .starts = 1,
                                      .comm = comms[scene.place]};
        bool scatters = scene.kind == SCATTER || scene.kind == SCATTERV;
        if (says_in_place(&scene, rank) && scatters)
            arguments.receive.at = MPI_IN_PLACE;
        else if (says_in_place(&scene, rank))
            arguments.send.at = MPI_IN_PLACE;
        if (scene.kind == BCAST)
            arguments.receive = arguments.send;
        if ((scene.kind == SCATTER || scene.kind == SCATTERV) && !is_root(&scene, rank)) {
            arguments.send.count = 77;
            arguments.send.type = MPI_CHAR;
        }
        if ((scene.kind == GATHER || scene.kind == GATHERV) && !is_root(&scene, rank)) {
            arguments.receive.count = 77;
            arguments.receive.type = MPI_CHAR;
        }
        now.seen[rank] = (struct seen){.begun = 0};
        int error =
            call_collective(scene.kind, scene.place, scene.form, rank == scene.root, &arguments);
        now.refused += error != 0;
        if (!told_well(&scene, rank, sides) && !now.told_wrongly++)
            tap_note("seed %llu, rank %d, round %d, %s, place %d, form %d, root %d: watched",
                     now.seed, rank, round, kind_names[scene.kind], scene.place, scene.form,
                     scene.root);
    }
    MPI_Type_free(&pair);
    comms_drop(comms);
    MPI_Finalize();
    return 0;
}

static bool is_collective(const struct trace_op *op)
{
    for (int i = 0; i < KINDS; i++)
        if (op->kind == kinds_within[i])
            return true;
    for (size_t i = 0; i < sizeof kinds_along / sizeof *kinds_along; i++)
        if (op->kind == kinds_along[i])
            return true;
    return false;
}

static bool counts_fit(const struct trace *trace, const struct trace_op *op,
                       const struct wanted *wanted)
{
    const struct trace_counts *kept = trace_op_counts(trace, (uint32_t)(op - trace->ops));
    for (int receives = 0; receives < 2; receives++) {
        const int64_t *got = !kept ? NULL : receives ? kept->receive : kept->send;
        if (wanted->peers[receives] < 0 ? got != NULL
                                        : !got || kept->n != (uint32_t)wanted->peers[receives])
            return false;
        for (int i = 0; i < wanted->peers[receives]; i++)
            if (got[i] != wanted->counts[receives][i])
                return false;
    }
    return true;
}

/* What does not fit; NULL: all does. */
static const char *unfit(const struct trace *trace, const struct trace_op *op,
                         const struct wanted *wanted)
{
    const struct trace_form *form = op->form;
    uint64_t buffer = trace_op_place(trace, op).buffer;
    bool again = strncmp(trace->comms[form->comm].name, "persistent", 10) == 0;
    return op->kind != wanted->kind     ? "its kind"
           : again != wanted->again     ? "its communicator"
           : again && op->comm_seq      ? "its place on a communicator of its own"
           : op->peer != wanted->root   ? "its root"
           : op->count != wanted->count ? "how many"
           : !(op->flags & OP_IN_PLACE) != !wanted->in_place                 ? "in place or not"
           : !(op->flags & OP_NONBLOCKING) != !wanted->starts                ? "started or not"
           : (form->type != 0) != wanted->typed                              ? "its type"
           : (form->reduce_op != 0) != wanted->reduces                       ? "its operation"
           : wanted->buffer && buffer != (uint64_t)(uintptr_t)wanted->buffer ? "its buffer"
           : !counts_fit(trace, op, wanted)                                  ? "the counts of peers"
                                                                             : NULL;
}

static int looked_at;

static bool world_is_recorded(unsigned long long seed)
{
    struct sim_world_options options = recorded_options(RANKS);
    options.slots[MPIX_SLOT_WATCH] = &watch;
    now.seed = seed;
    struct recorded run = recorded_world(&options, run_rank);
    const struct trace *trace = run.trace;
    bool well = trace;
    for (uint32_t rank = 0; rank < RANKS && well; rank++) {
        int round = 0;
        for (size_t i = trace->rank_begin[rank]; i < trace->rank_begin[rank + 1] && well; i++) {
            const struct trace_op *op = &trace->ops[i];
            if (!is_collective(op) || trace->comms[op->form->comm].parent == TRACE_NO)
                continue;
            const char *why = round < ROUNDS ? unfit(trace, op, &now.wanted[rank][round]) : "more";
            if (why)
                tap_note("seed %llu, rank %u, round %d, %s: %s; count %lld, wanted %lld", seed,
                         rank, round, trace_op_name(op), why, (long long)op->count,
                         round < ROUNDS ? now.wanted[rank][round].count : 0);
            well = !why;
            looked_at++;
            round++;
        }
        well = well && round == ROUNDS;
    }
    recorded_release(&run);
    return well;
}

int main(void)
{
    tap_is_int(recorded_wrongly(60, world_is_recorded), 0, "what was called is what was recorded");
    tap_is_int(now.told_wrongly, 0, "who watches is told of what crosses, and of nothing else");
    tap_is_int(now.refused, 0, "and none of it was refused");
    tap_ok(looked_at > 0, "%d operations were looked at", looked_at);
    return tap_done();
}
