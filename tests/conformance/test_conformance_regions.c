/* Which memory a collective under way reads and writes, against the standard's sentences said once more: collectives of every kind,
 * nonblocking and persistent, in place or not, with random types, counts and displacements. Of every word of the two buffers it is
 * known whether the call reads it, writes it, or leaves it alone; the machine must know the same of what is
 * pending, and must notice a change of those words, and of the call's arrays, and of no others.
 * SIMRUN_SOAK=N tries N rounds, from SIMRUN_SEED on. */
#include "recorder/recording.h"
#include "sim/memory/pending.h"
#include "sim/messages/request.h"
#include "sim/worlds/rank.h"
#include "sim/worlds/world.h"
#include "tests/collective_kinds.h"
#include "tests/dice.h"
#include "tests/tap.h"

#include <mpi.h>

enum { RANKS = 3, BEFORE = 32, BYTES = 1024, TYPES = 6, COUNT_MAX = 4 };
enum { READ = 1, WRITTEN = 2 };

/* All hold two numbers. */
static const struct {
    int first, second, extent;
} layouts[TYPES] = {{0, 4, 8}, {0, 8, 12}, {4, 12, 12}, {0, 4, 24}, {8, 0, 12}, {4, 8, 8}};

/* What a call says; alike on all ranks but for the types and places. */
struct call {
    enum kind kind;
    bool in_place, persistent;
    int root, count, table[RANKS][RANKS]; /* from, to */
};

struct side {
    unsigned char *memory;
    int type, counts[RANKS], places[RANKS], bytes[RANKS];
    MPI_Datatype types[RANKS];
};

struct scene {
    unsigned long long seed;
    struct recording *recording;
    int looked_at, wrong_count;
    char text[200];
};

struct here {
    struct scene *scene;
    struct call call;
    int rank, round;
    MPI_Datatype types[TYPES];
    unsigned char memory[2 * BYTES];
    unsigned char used[2 * BYTES]; /* by the call: READ, WRITTEN */
    struct side send, receive;
};

/* ---- what the call uses ---- */

static void use_word(struct here *at, const unsigned char *word, int how)
{
    for (int i = 0; i < 4; i++)
        at->used[word + i - at->memory] |= (unsigned char)how;
}

static void use_elements(struct here *at, unsigned char *from, int type, int count, int how)
{
    for (int i = 0; i < count; i++) {
        use_word(at, from + i * layouts[type].extent + layouts[type].first, how);
        use_word(at, from + i * layouts[type].extent + layouts[type].second, how);
    }
}

static void use_numbers(struct here *at, unsigned char *from, int count, int how)
{
    for (int i = 0; i < count; i++)
        use_word(at, from + 4 * i, how);
}

static void use_blocks(struct here *at, struct side *side, int how)
{
    for (int p = 0; p < RANKS; p++)
        use_elements(at, side->memory + side->bytes[p], side->type, side->counts[p], how);
}

static int sum_of(const int counts[RANKS])
{
    return counts[0] + counts[1] + counts[2];
}

/* Of a reduction: two numbers for each of `count`. */
static void use_reduction(struct here *at)
{
    const struct call *call = &at->call;
    int given = call->count, taken = call->count;
    if (call->kind == REDUCE_SCATTER_BLOCK)
        given *= RANKS;
    if (call->kind == REDUCE_SCATTER) {
        given = sum_of(call->table[0]);
        taken = call->table[0][at->rank];
    }
    bool gets = !(call->kind == REDUCE && at->rank != call->root) &&
                !(call->kind == EXSCAN && at->rank == 0 && !call->in_place);
    bool gives = !call->in_place || (call->kind == REDUCE && at->rank != call->root);
    if (gives)
        use_numbers(at, at->send.memory, given, READ);
    if (gets)
        use_numbers(at, at->receive.memory, gives ? taken : given, WRITTEN);
}

static void use(struct here *at)
{
    const struct call *call = &at->call;
    bool root = at->rank == call->root, in_place = call->in_place;
    struct side *send = &at->send, *receive = &at->receive;
    memset(at->used, 0, sizeof at->used);
    switch (call->kind) {
    case BCAST:
        use_elements(at, send->memory, send->type, call->count, root ? READ : WRITTEN);
        break;
    case GATHER:
    case GATHERV:
        if (!(in_place && root))
            use_elements(at, send->memory, send->type, call->table[at->rank][call->root], READ);
        if (root)
            use_blocks(at, receive, WRITTEN);
        break;
    case SCATTER:
    case SCATTERV:
        if (root)
            use_blocks(at, send, READ);
        if (!(in_place && root))
            use_elements(at, receive->memory, receive->type, call->table[call->root][at->rank],
                         WRITTEN);
        break;
    case ALLGATHER:
    case ALLGATHERV:
        if (!in_place)
            use_elements(at, send->memory, send->type, call->table[at->rank][0], READ);
        use_blocks(at, receive, WRITTEN);
        break;
    case ALLTOALL:
    case ALLTOALLV:
    case ALLTOALLW:
        if (!in_place)
            use_blocks(at, send, READ);
        use_blocks(at, receive, WRITTEN);
        break;
    default:
        use_reduction(at);
    }
}

/* ---- calls ---- */

static bool is_vectored(enum kind kind)
{
    return kind == GATHERV || kind == SCATTERV || kind == ALLGATHERV || kind == ALLTOALLV ||
           kind == ALLTOALLW;
}

static struct call call_new(uint64_t *dice)
{
    struct call call = {.kind = (enum kind)dice_below(dice, KINDS)};
    call.in_place = call.kind != BCAST && dice_below(dice, 3) == 0;
    call.persistent = dice_below(dice, 2);
    call.root = (int)dice_below(dice, RANKS);
    call.count = (int)dice_below(dice, COUNT_MAX + 1);
    for (int i = 0; i < RANKS; i++)
        for (int k = 0; k < RANKS; k++)
            call.table[i][k] = (int)dice_below(dice, COUNT_MAX + 1);
    for (int i = 0; i < RANKS; i++)
        for (int k = 0; k < RANKS; k++) {
            if (!is_vectored(call.kind) && call.kind != REDUCE_SCATTER)
                call.table[i][k] = call.count;
            else if (call.kind == ALLGATHERV)
                call.table[i][k] = call.table[i][0];
            else if (call.kind == REDUCE_SCATTER)
                call.table[i][k] = call.table[0][k];
            else if (call.in_place && k < i) /* exchanged */
                call.table[i][k] = call.table[k][i];
        }
    return call;
}

/* Where the blocks of a side lie: in the order of ranks, or in any with gaps between. */
static void side_new(struct here *at, struct side *side, bool receives, uint64_t *dice)
{
    const struct call *call = &at->call;
    int order[RANKS] = {0, 1, 2}, place = 0;
    side->memory = at->memory + (receives ? BYTES : 0) + BEFORE;
    side->type = (int)dice_below(dice, TYPES);
    for (int i = RANKS - 1; i > 0 && is_vectored(call->kind); i--) {
        uint32_t other = dice_below(dice, (uint32_t)i + 1);
        int kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
    for (int i = 0; i < RANKS; i++) {
        int p = order[i];
        side->counts[p] = receives ? call->table[p][at->rank] : call->table[at->rank][p];
        if (is_vectored(call->kind))
            place += (int)dice_below(dice, 3) / 2;
        side->places[p] = place;
        side->bytes[p] = place * layouts[side->type].extent;
        side->types[p] = at->types[side->type];
        place += side->counts[p];
    }
}

/* The arguments up to the communicator. */
#define START(persistent_name, nonblocking_name, ...)                                              \
    do {                                                                                           \
        if (call->persistent) {                                                                    \
            MPI_##persistent_name(__VA_ARGS__, MPI_COMM_WORLD, MPI_INFO_NULL, request);            \
            MPI_Start(request);                                                                    \
        } else {                                                                                   \
            MPI_##nonblocking_name(__VA_ARGS__, MPI_COMM_WORLD, request);                          \
        }                                                                                          \
    } while (0)

static void start_reduction(struct here *at, MPI_Request *request)
{
    const struct call *call = &at->call;
    bool in_place = call->in_place && (call->kind != REDUCE || at->rank == call->root);
    const void *from = in_place ? MPI_IN_PLACE : at->send.memory;
    void *to = at->receive.memory;
    int n = call->count;
    switch (call->kind) {
    case REDUCE:
        START(Reduce_init, Ireduce, from, to, n, MPI_INT, MPI_MAX, call->root);
        break;
    case ALLREDUCE:
        START(Allreduce_init, Iallreduce, from, to, n, MPI_INT, MPI_MAX);
        break;
    case REDUCE_SCATTER:
        START(Reduce_scatter_init, Ireduce_scatter, from, to, at->send.counts, MPI_INT, MPI_MAX);
        break;
    case REDUCE_SCATTER_BLOCK:
        START(Reduce_scatter_block_init, Ireduce_scatter_block, from, to, n, MPI_INT, MPI_MAX);
        break;
    case SCAN:
        START(Scan_init, Iscan, from, to, n, MPI_INT, MPI_MAX);
        break;
    default:
        START(Exscan_init, Iexscan, from, to, n, MPI_INT, MPI_MAX);
    }
}

static void start(struct here *at, MPI_Request *request)
{
    const struct call *call = &at->call;
    struct side *s = &at->send, *r = &at->receive;
    bool root = at->rank == call->root;
    bool all = call->kind >= ALLGATHER && call->kind <= ALLTOALLW;
    bool gathers = call->kind == GATHER || call->kind == GATHERV;
    bool scatters = call->kind == SCATTER || call->kind == SCATTERV;
    MPI_Datatype given = at->types[s->type], taken = at->types[r->type];
    int n = call->count, top = call->root, own = call->table[at->rank][all ? 0 : top],
        due = call->table[top][at->rank];
    const void *from =
        call->in_place && (all || (gathers && root)) ? MPI_IN_PLACE : (void *)s->memory;
    void *to = call->in_place && scatters && root ? MPI_IN_PLACE : (void *)r->memory;
    switch (call->kind) {
    case BCAST:
        START(Bcast_init, Ibcast, s->memory, n, given, top);
        break;
    case GATHER:
        START(Gather_init, Igather, from, n, given, to, n, taken, top);
        break;
    case GATHERV:
        START(Gatherv_init, Igatherv, from, own, given, to, r->counts, r->places, taken, top);
        break;
    case SCATTER:
        START(Scatter_init, Iscatter, from, n, given, to, n, taken, top);
        break;
    case SCATTERV:
        START(Scatterv_init, Iscatterv, from, s->counts, s->places, given, to, due, taken, top);
        break;
    case ALLGATHER:
        START(Allgather_init, Iallgather, from, n, given, to, n, taken);
        break;
    case ALLGATHERV:
        START(Allgatherv_init, Iallgatherv, from, own, given, to, r->counts, r->places, taken);
        break;
    case ALLTOALL:
        START(Alltoall_init, Ialltoall, from, n, given, to, n, taken);
        break;
    case ALLTOALLV:
        START(Alltoallv_init, Ialltoallv, from, s->counts, s->places, given, to, r->counts,
              r->places, taken);
        break;
    case ALLTOALLW:
        START(Alltoallw_init, Ialltoallw, from, s->counts, s->bytes, s->types, to, r->counts,
              r->bytes, r->types);
        break;
    default:
        start_reduction(at, request);
    }
}

/* ---- the comparison ---- */

static void look(struct here *at, bool right, const char *what, int where)
{
    struct scene *scene = at->scene;
    scene->looked_at++;
    if (right || scene->wrong_count++)
        return;
    snprintf(scene->text, sizeof scene->text,
             "round %d, rank %d: kind %d%s%s of root %d and %d, types %d and %d: %s at %d, used %d",
             at->round, at->rank, (int)at->call.kind, at->call.in_place ? " in place" : "",
             at->call.persistent ? ", persistent" : "", at->call.root, at->call.count,
             at->send.type, at->receive.type, what, where, where < 0 ? 0 : at->used[where]);
}

/* A change is noticed, and where it is taken back it was none. */
static bool is_noticed(struct sim_request *request)
{
    request->touched = false;
    sim_request_inspect(request);
    bool noticed = request->touched;
    request->touched = false;
    return noticed;
}

static void look_at_array(struct here *at, int *array, struct sim_request *request, bool given)
{
    for (int i = 0; i < RANKS; i++) {
        array[i]++;
        look(at, is_noticed(request) == given, given ? "a changed array" : "an array of its own",
             -1);
        array[i]--;
    }
}

static bool takes_arrays(const struct here *at, bool receives)
{
    const struct call *call = &at->call;
    bool root = at->rank == call->root;
    switch (call->kind) {
    case GATHERV:
        return receives && root;
    case SCATTERV:
        return !receives && root;
    case ALLGATHERV:
        return receives;
    case ALLTOALLV:
    case ALLTOALLW:
        return receives || !call->in_place;
    default:
        return false;
    }
}

/* What operations under way do with a byte. */
static int pending_use(uintptr_t address)
{
    const struct sim_pending *pending = sim_current_rank->pending;
    int used = 0;
    for (size_t i = 0; i < pending->count; i++)
        if (sim_region_touches(&pending->entries[i].region, address, address + 1))
            used |= pending->entries[i].region.written ? WRITTEN : READ;
    return used;
}

static void look_at_all(struct here *at, struct sim_request *request, uint64_t *dice)
{
    look(at, !is_noticed(request), "no change", -1);
    for (int word = 0; word < 2 * BYTES; word += 4) {
        int where = word + (int)dice_below(dice, 4), used = at->used[where];
        look(at, pending_use((uintptr_t)&at->memory[where]) == used, "pending", where);
        at->memory[where] ^= 0x55;
        look(at, is_noticed(request) == !!used, "a change", where);
        at->memory[where] ^= 0x55;
    }
    look_at_array(at, at->send.counts, request,
                  takes_arrays(at, false) || at->call.kind == REDUCE_SCATTER);
    look_at_array(at, at->receive.counts, request, takes_arrays(at, true));
    bool wide = at->call.kind == ALLTOALLW;
    look_at_array(at, wide ? at->send.bytes : at->send.places, request, takes_arrays(at, false));
    look_at_array(at, wide ? at->receive.bytes : at->receive.places, request,
                  takes_arrays(at, true));
}

static void types_make(struct here *at)
{
    for (int i = 0; i < TYPES; i++) {
        MPI_Aint places[2] = {layouts[i].first, layouts[i].second};
        MPI_Datatype made;
        MPI_Type_create_hindexed_block(2, 1, places, MPI_INT, &made);
        MPI_Aint low = places[0] < places[1] ? places[0] : places[1];
        MPI_Type_create_resized(made, low, layouts[i].extent, &at->types[i]);
        MPI_Type_commit(&at->types[i]);
        MPI_Type_free(&made);
    }
}

/* Two words of each element, which lie behind MPI_BOTTOM: more than is looked at in one piece. */
static void look_at_large(struct here *at)
{
    enum { ELEMENTS = 700, EXTENT = 12 };
    static unsigned char large[ELEMENTS * EXTENT];
    MPI_Aint places[2];
    MPI_Datatype pair, type;
    MPI_Request request;
    MPI_Get_address(large, &places[0]);
    places[1] = places[0] + 8;
    MPI_Type_create_hindexed_block(2, 1, places, MPI_INT, &pair);
    MPI_Type_create_resized(pair, places[0], EXTENT, &type);
    MPI_Type_commit(&type);
    MPI_Ibcast(MPI_BOTTOM, ELEMENTS, type, 0, MPI_COMM_SELF, &request);
    for (int i = 0; i < ELEMENTS * EXTENT; i += 4) {
        large[i] ^= 0x55;
        look(at, is_noticed((struct sim_request *)(void *)request) == (i % EXTENT != 4),
             "a change in a large one", -1);
        large[i] ^= 0x55;
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Type_free(&type);
    MPI_Type_free(&pair);
}

static int run_rank(void *context, int rank)
{
    struct scene *scene = context;
    static struct here all[RANKS];
    struct here *at = &all[rank];
    uint64_t dice = scene->seed, own = scene->seed + 1000u * (unsigned)(rank + 1);
    *at = (struct here){.scene = scene, .rank = rank};
    recording_rank_begin(scene->recording);
    MPI_Init(NULL, NULL);
    types_make(at);
    if (rank == 0)
        look_at_large(at);
    for (at->round = 0; at->round < 2 * KINDS; at->round++) {
        MPI_Request request = MPI_REQUEST_NULL;
        at->call = call_new(&dice);
        side_new(at, &at->send, false, &own);
        side_new(at, &at->receive, true, &own);
        for (int i = 0; i < 2 * BYTES; i++)
            at->memory[i] = (unsigned char)dice_below(&own, 256);
        use(at);
        start(at, &request);
        look_at_all(at, (struct sim_request *)(void *)request, &own);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (request != MPI_REQUEST_NULL)
            MPI_Request_free(&request);
        look(at, !sim_current_rank->pending->count, "pending behind the end", -1);
    }
    for (int i = 0; i < TYPES; i++)
        MPI_Type_free(&at->types[i]);
    MPI_Finalize();
    return 0;
}

static void world_look(unsigned long long seed, struct scene *scene)
{
    struct failure failure = {0};
    struct sim_world_options options;
    sim_world_options_init(&options);
    options.ranks = RANKS;
    *scene = (struct scene){.seed = seed};
    scene->recording = recording_new(RANKS, RECORD_LEVEL_OPS, &failure);
    struct sim_world *world = sim_world_new(&options, &failure);
    enum trace_outcome outcome = sim_world_run(world, run_rank, scene);
    if (outcome != OUTCOME_FINISHED && !scene->wrong_count++)
        snprintf(scene->text, sizeof scene->text, "it ends by outcome %d", (int)outcome);
    sim_world_free(world);
    recording_ranks_release(scene->recording);
    recording_free(scene->recording);
}

int main(void)
{
    struct dice_seeds seeds = dice_seeds(12);
    int wrong = 0, looked_at = 0;
    for (unsigned long long i = 0; i < seeds.count; i++) {
        struct scene scene;
        world_look(seeds.first + i, &scene);
        if (scene.wrong_count && wrong++ < 5)
            tap_note("seed %llu: %s", scene.seed, scene.text);
        looked_at += scene.looked_at;
    }
    tap_is_int(wrong, 0, "of every byte it is known who may read and write it under a collective");
    tap_ok(looked_at > (int)seeds.count * KINDS * RANKS * BYTES / 4, "many were looked at: %d",
           looked_at);
    return tap_done();
}
