/* Whether what a collective reads and what it writes on one rank have a byte in common: against a map of the bytes,
 * for every kind, on a communicator, between groups and along a topology, with blocks anywhere. It is an error
 * exactly if they do; of types with gaps, which may lie in each other's, nothing is said. */
#include "tests/dice.h"
#include "tests/mpi/collective_calls.h"
#include "tests/world_harness.h"

enum { BYTES = 512, MIDDLE = 192, CALLS = 6000, TYPES = 3, COUNT_MAX = 3 };

static const int sizes[TYPES] = {1, 4, 12}; /* bytes of an element without gaps */

struct side {
    int base, type, count, counts[RANKS], places[RANKS];
    MPI_Datatype types[RANKS];
};

struct map {
    bool uses[BYTES];
};

static void use(struct map *map, int from, int bytes)
{
    for (int i = 0; i < bytes; i++)
        map->uses[from + i] = true;
}

static int between(uint64_t *dice, int low, int high)
{
    return low + (int)dice_below(dice, (uint32_t)(high - low + 1));
}

static struct side side_new(enum kind kind, const MPI_Datatype *types, uint64_t *dice)
{
    struct side side = {.base = MIDDLE};
    side.base += between(dice, -24, 24);
    side.type = between(dice, 0, TYPES - 1);
    side.count = between(dice, 0, COUNT_MAX);
    int unit = kind == ALLTOALLW ? 1 : sizes[side.type];
    for (int i = 0; i < RANKS; i++) {
        side.counts[i] = between(dice, 0, COUNT_MAX);
        side.counts[i] *= between(dice, 0, 1);
        side.places[i] = between(dice, -60 / unit, 60 / unit);
        side.types[i] = types[side.type];
    }
    return side;
}

static struct map map_of(enum kind kind, const struct side *side, bool takes, int peers)
{
    struct map map = {{false}};
    int size = sizes[side->type], unit = kind == ALLTOALLW ? 1 : size;
    if (has_arrays(kind, takes))
        for (int i = 0; i < peers; i++)
            use(&map, side->base + side->places[i] * unit, side->counts[i] * size);
    else
        use(&map, side->base, side->count * size * (has_blocks(kind, takes) ? peers : 1));
    return map;
}

static bool meet(const struct map *a, const struct map *b)
{
    for (int i = 0; i < BYTES; i++)
        if (a->uses[i] && b->uses[i])
            return true;
    return false;
}

/* The sides of a reduction: as much is taken as given, or a share of it. */
static void share(enum kind kind, struct side *out, struct side *in, int rank)
{
    in->type = out->type;
    in->count = out->count;
    if (kind == REDUCE_SCATTER_BLOCK)
        out->count *= RANKS;
    if (kind == REDUCE_SCATTER) {
        out->count = 0;
        for (int i = 0; i < RANKS; i++)
            out->count += in->counts[i];
        in->count = in->counts[rank];
    }
}

static void reads_and_writes_lie_apart(int rank, int size)
{
    static unsigned char memories[RANKS][BYTES];
    unsigned char *memory = memories[rank];
    MPI_Comm comms[PLACES];
    MPI_Datatype types[TYPES] = {MPI_BYTE, MPI_INT, MPI_DATATYPE_NULL};
    uint64_t dice = 99u + (unsigned)rank;
    int refused = 0, taken = 0;
    (void)size;
    comms_make(comms, rank);
    MPI_Type_contiguous(3, MPI_INT, &types[2]);
    MPI_Type_commit(&types[2]);
    for (int i = 0; i < CALLS; i++) {
        enum kind kind = (enum kind)(i % KINDS);
        enum place place = (enum place)dice_below(&dice, PLACES);
        if (!exists(kind, place) || (is_reduction(kind) && place == ACROSS))
            place = WITHIN;
        int root = between(&dice, 0, RANKS - 1), peers = peers_of(place, rank);
        struct side out = side_new(kind, types, &dice), in = side_new(kind, types, &dice);
        struct arguments a = {.send = {.counts = out.counts,
                                       .places = out.places,
                                       .types = out.types,
                                       .count = out.count},
                              .receive = {.counts = in.counts,
                                          .places = in.places,
                                          .types = in.types,
                                          .count = in.count},
                              .op = MPI_SUM,
                              .root = root_seen(place, rank, root),
                              .info = MPI_INFO_NULL,
                              .comm = comms[place]};
        if (is_reduction(kind)) {
            out.type = between(&dice, 0, 1);
            share(kind, &out, &in, rank);
            a.op = out.type ? MPI_SUM : MPI_BOR;
        }
        a.send.at = memory + out.base;
        a.receive.at = memory + in.base;
        a.send.type = types[out.type];
        a.receive.type = types[in.type];
        struct map given = map_of(kind, &out, false, peers),
                   wanted = map_of(kind, &in, true, peers);
        bool both = counts(kind, place, rank, root, false) && counts(kind, place, rank, root, true);
        bool wrong = both && meet(&given, &wanted);
        int class = -1;
        MPI_Error_class(
            call_collective(kind, place, (enum form)dice_below(&dice, 2), rank == root, &a),
            &class);
        expect(class == (wrong ? MPI_ERR_BUFFER : MPI_SUCCESS),
               "%d: %s, place %d, root %d: class %d where the sides %s", i, kind_names[kind],
               (int)place, root, class, wrong ? "meet" : "lie apart");
        refused += wrong;
        taken += both && !wrong;
    }
    expect(refused > CALLS / 10 && taken > CALLS / 10, "only %d meet, %d lie apart", refused,
           taken);
    MPI_Type_free(&types[2]);
    comms_drop(comms);
}

int main(void)
{
    world_test_sizes(
        "what a collective reads on a rank and what it writes there are no common bytes",
        reads_and_writes_lie_apart, WORLD_FIBERS | WORLD_DEFAULT | WORLD_BUFFERS | WORLD_MINIMAL,
        WORLD_SIZES(RANKS));
    return tap_done();
}
