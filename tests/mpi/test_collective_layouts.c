/* Reductions whose members lay out the same numbers differently: with gaps, backwards, in another order, two to an element.
 * MPI wants one datatype of all. Where a program does otherwise with as many bytes, each member's own datatype says where
 * its numbers lie: results are those of a loop, and no byte beside them is written. Then members of other basic types, whose results mean
 * nothing. All buffers end, or begin, where the memory does (tests/fences). */
#include "tests/fences/fence.h"
#include "tests/mpi/collective_calls.h"
#include "tests/world_harness.h"

#include <string.h>

enum { ROUNDS = 40, SHARE_MAX = 4, PAIRS = SHARE_MAX * RANKS, WORLDS = 8, BLANK = 0xa5 };

/* x -> a x + b */
struct pair {
    uint32_t a, b;
};

/* Where the numbers of an element lie; no two have one extent. */
static const struct layout {
    int extent, pairs, a[2], b[2];
} layouts[] = {{8, 1, {0}, {4}},         {12, 1, {0}, {8}},        {20, 1, {12}, {4}},
               {-16, 1, {0}, {4}},       {16, 2, {0, 8}, {4, 12}}, {24, 2, {4, 16}, {0, 8}},
               {-40, 2, {4, 16}, {0, 8}}};
enum { LAYOUTS = sizeof layouts / sizeof *layouts, SINGLE = 4 };

struct scene { /* the same on all ranks */
    enum kind kind;
    enum place place;
    enum form form;
    bool in_place;
    int root, pairs[RANKS]; /* of each; of a kind without shares the first */
    int layouts[RANKS];
};

static unsigned long long world_seed;

static struct scene scene_new(uint64_t *dice)
{
    struct scene scene = {.kind = (enum kind)(REDUCE + (int)dice_below(dice, KINDS - REDUCE))};
    scene.place = dice_below(dice, 3) || !exists(scene.kind, ACROSS) ? WITHIN : ACROSS;
    scene.form = (enum form)dice_below(dice, FORMS);
    scene.in_place = scene.place == WITHIN && dice_below(dice, 3) == 0;
    scene.root = (int)dice_below(dice, RANKS);
    int one = 2 * (int)dice_below(dice, SHARE_MAX / 2 + 1);
    int kept = (int)dice_below(dice, RANKS + 1); /* all lay them out like the first, but this one */
    /* Shares are counted in elements: all must have as many. */
    int among = has_shares(scene.kind) ? SINGLE : LAYOUTS;
    for (int i = 0; i < RANKS; i++) {
        int own = 2 * (int)dice_below(dice, SHARE_MAX / 2 + 1);
        int layout = (int)dice_below(dice, (uint32_t)among);
        scene.pairs[i] = scene.kind == REDUCE_SCATTER ? own : one;
        scene.layouts[i] = kept == RANKS || i == kept || !i ? layout : scene.layouts[0];
    }
    if (scene.place == ACROSS && scene.kind == REDUCE_SCATTER_BLOCK)
        for (int i = 0; i < RANKS; i++) /* three and two get as much */
            scene.pairs[i] = one ? i % 2 ? 3 : 2 : 0;
    if (scene.place == ACROSS && scene.kind == REDUCE_SCATTER) {
        scene.pairs[1] = scene.pairs[0];
        scene.pairs[3] = scene.pairs[2] + scene.pairs[4];
    }
    return scene;
}

/* ---- memory ---- */

struct stretch {
    unsigned char *block, *wanted, *base; /* base: where element 0 begins */
    ptrdiff_t low;
    size_t bytes;
};

static struct stretch stretch_new(const struct layout *layout, int pairs)
{
    struct stretch made = {0};
    ptrdiff_t high = 0;
    bool any = false;
    for (int i = 0; i < pairs; i++) {
        ptrdiff_t at = (ptrdiff_t)(i / layout->pairs) * layout->extent;
        for (int second = 0; second < 2; second++) {
            ptrdiff_t place = at + (second ? layout->b : layout->a)[i % layout->pairs];
            made.low = !any || place < made.low ? place : made.low;
            high = !any || place + 4 > high ? place + 4 : high;
            any = true;
        }
    }
    made.bytes = (size_t)(high - made.low);
    made.block = malloc(made.bytes + !made.bytes);
    made.wanted = malloc(made.bytes + !made.bytes);
    memset(made.block, BLANK, made.bytes);
    memset(made.wanted, BLANK, made.bytes);
    made.base = (unsigned char *)((uintptr_t)made.block - (uintptr_t)made.low);
    return made;
}

static void stretch_free(struct stretch *stretch)
{
    free(stretch->block);
    free(stretch->wanted);
}

/* Puts pair i where it belongs: to the memory, or to what is wanted of it. */
static void put(struct stretch *stretch, const struct layout *layout, int i, struct pair pair,
                bool wanted)
{
    unsigned char *from = wanted ? stretch->wanted : stretch->block;
    ptrdiff_t at = (ptrdiff_t)(i / layout->pairs) * layout->extent - stretch->low;
    memcpy(from + at + layout->a[i % layout->pairs], &pair.a, 4);
    memcpy(from + at + layout->b[i % layout->pairs], &pair.b, 4);
}

/* ---- what must come of it ---- */

static struct pair input(int round, int rank, int i)
{
    uint64_t state = world_seed * 7919 + (unsigned)((round * RANKS + rank) * PAIRS + i);
    uint64_t drawn = dice_next(&state);
    return (struct pair){(uint32_t)drawn | 1, (uint32_t)(drawn >> 32)};
}

static struct pair then(struct pair x, struct pair y)
{
    return (struct pair){x.a * y.a, x.a * y.b + x.b};
}

static struct pair result(const struct scene *scene, int rank, int round, int i)
{
    struct pair sum = {1, 0}; /* x -> x */
    for (int r = 0; r < RANKS; r++)
        if (!(scene->place == ACROSS && r % 2 == rank % 2) && !(scene->kind == SCAN && r > rank) &&
            !(scene->kind == EXSCAN && r >= rank))
            sum = then(sum, input(round, r, i));
    return sum;
}

static void apply(void *left, void *right, int *length, MPI_Datatype *type)
{
    MPI_Aint low, extent;
    int at = 0;
    PMPI_Type_get_extent(*type, &low, &extent);
    while (layouts[at].extent != extent)
        at++;
    const struct layout *layout = &layouts[at];
    for (int i = 0; i < *length * layout->pairs; i++) {
        ptrdiff_t place = (ptrdiff_t)(i / layout->pairs) * extent;
        char *x = (char *)left + place, *y = (char *)right + place;
        int a = layout->a[i % layout->pairs], b = layout->b[i % layout->pairs];
        struct pair one, other;
        memcpy(&one.a, x + a, 4);
        memcpy(&one.b, x + b, 4);
        memcpy(&other.a, y + a, 4);
        memcpy(&other.b, y + b, 4);
        other = then(one, other);
        memcpy(y + a, &other.a, 4);
        memcpy(y + b, &other.b, 4);
    }
}

static MPI_Datatype type_make(const struct layout *layout)
{
    MPI_Datatype made, type;
    MPI_Aint places[4] = {layout->a[0], layout->b[0], layout->a[1], layout->b[1]};
    MPI_Type_create_hindexed_block(2 * layout->pairs, 1, places, MPI_INT, &made);
    MPI_Type_create_resized(made, 0, layout->extent, &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&made);
    return type;
}

/* ---- the rounds ---- */

static void look(const struct scene *scene, MPI_Comm comm, MPI_Op op, int rank, int round)
{
    const struct layout *layout = &layouts[scene->layouts[rank]];
    MPI_Datatype type = type_make(layout);
    bool shared = has_shares(scene->kind);
    bool places = scene->in_place && (scene->kind != REDUCE || rank == scene->root);
    int all = 0, before = 0, members = 0, elements[RANKS];
    for (int i = 0; i < RANKS; i++) {
        if (scene->place == ACROSS && i % 2 != rank % 2)
            continue;
        before += i < rank ? scene->pairs[i] : 0;
        all += scene->pairs[i];
        elements[members++] = scene->pairs[i] / layout->pairs;
    }
    if (!shared) {
        before = 0;
        all = scene->pairs[0];
    }
    int own = shared ? scene->pairs[rank] : all;
    struct stretch given = stretch_new(layout, all),
                   taken = stretch_new(layout, places ? all : own);
    for (int i = 0; i < all; i++) {
        put(&given, layout, i, input(round, rank, i), false);
        put(&given, layout, i, input(round, rank, i), true);
    }
    for (int i = 0; places && i < all; i++) {
        put(&taken, layout, i, input(round, rank, i), false);
        put(&taken, layout, i, input(round, rank, i), true);
    }
    bool counted = counts(scene->kind, scene->place, rank, scene->root, true);
    for (int i = 0; counted && i < own; i++)
        put(&taken, layout, i, result(scene, rank, round, before + i), true);
    struct arguments a = {
        .send = {places ? MPI_IN_PLACE : given.base, own / layout->pairs, type, 0, 0, 0},
        .receive = {taken.base, own / layout->pairs, type, elements, 0, 0},
        .op = op,
        .root = root_seen(scene->place, rank, scene->root),
        .info = MPI_INFO_NULL,
        .comm = comm,
        .starts = 1};
    expect_ok(call_collective(scene->kind, scene->place, scene->form, rank == scene->root, &a));
    /* In place, more than the share may be overwritten. */
    size_t kept = places && shared ? 0 : taken.bytes;
    for (int i = 0; !kept && i < own; i++) {
        struct stretch *at = &taken;
        ptrdiff_t from = (ptrdiff_t)i * layout->extent - at->low;
        expect(!memcmp(at->block + from + layout->a[0], at->wanted + from + layout->a[0], 4) &&
                   !memcmp(at->block + from + layout->b[0], at->wanted + from + layout->b[0], 4),
               "round %d: MPI_%s, place %d, form %d in place: element %d of its share", round,
               kind_names[scene->kind], (int)scene->place, (int)scene->form, i);
    }
    expect(!memcmp(taken.block, taken.wanted, kept) &&
               !memcmp(given.block, given.wanted, given.bytes),
           "round %d: MPI_%s, place %d, form %d, in place %d, layout %d", round,
           kind_names[scene->kind], (int)scene->place, (int)scene->form, (int)scene->in_place,
           scene->layouts[rank]);
    stretch_free(&given);
    stretch_free(&taken);
    MPI_Type_free(&type);
}

static void combine(int rank, int size)
{
    uint64_t dice = world_seed;
    MPI_Comm comms[PLACES];
    MPI_Op op;
    (void)size;
    comms_make(comms, rank);
    MPI_Op_create(apply, 0, &op);
    for (int round = 0; round < ROUNDS; round++) {
        struct scene scene = scene_new(&dice);
        look(&scene, comms[scene.place], op, rank, round);
    }
    MPI_Op_free(&op);
    comms_drop(comms);
}

/* ---- other basic types ---- */

/* BYTES of each: pairs with gaps, pairs without, numbers. */
enum { BYTES = 120, BASICS = 8, PLACED = 4 };
static MPI_Datatype basic(int number)
{
    const MPI_Datatype all[BASICS] = {MPI_2INT, MPI_DOUBLE_INT, MPI_SHORT_INT, MPI_LONG_DOUBLE_INT,
                                      MPI_INT,  MPI_DOUBLE,     MPI_SHORT,     MPI_UINT8_T};
    return all[number];
}

static void differ(int rank, int size)
{
    uint64_t dice = world_seed;
    MPI_Comm comms[PLACES];
    (void)size;
    comms_make(comms, rank);
    for (int round = 0; round < ROUNDS; round++) {
        bool placed = dice_below(&dice, 2), shortest = dice_below(&dice, 2);
        int number = 0, bytes, shares[RANKS];
        for (int i = 0; i < RANKS; i++) {
            int drawn = (int)dice_below(&dice, PLACED) + (placed ? 0 : PLACED);
            number = i == rank ? drawn : number;
        }
        enum kind kind = (enum kind)(REDUCE + (int)dice_below(&dice, KINDS - REDUCE));
        enum place place = exists(kind, ACROSS) && dice_below(&dice, 3) == 0 ? ACROSS : WITHIN;
        enum form form = (enum form)dice_below(&dice, FORMS);
        int root = (int)dice_below(&dice, RANKS);
        MPI_Datatype type = basic(number);
        MPI_Aint low, extent, true_low, true_extent;
        MPI_Type_size(type, &bytes);
        MPI_Type_get_extent(type, &low, &extent);
        MPI_Type_get_true_extent(type, &true_low, &true_extent);
        /* As many bytes, or as many elements. */
        int share = kind == REDUCE_SCATTER && shortest ? 3 : BYTES / bytes;
        int members = place == WITHIN ? RANKS : rank % 2 ? RANKS - EVEN : EVEN;
        int all = has_shares(kind) ? members * share : share;
        for (int i = 0; i < members; i++)
            shares[i] = share;
        size_t given = (size_t)((all - 1) * extent + true_extent),
               taken = (size_t)((share - 1) * extent + true_extent);
        unsigned char *from = malloc(given), *kept = malloc(given), *to = malloc(taken);
        memset(from, rank + 1, given);
        memset(kept, rank + 1, given);
        memset(to, BLANK, taken);
        struct arguments a = {.send = {from, share, type, 0, 0, 0},
                              .receive = {to, share, type, shares, 0, 0},
                              .op = placed ? MPI_MAXLOC : MPI_SUM,
                              .root = root_seen(place, rank, root),
                              .info = MPI_INFO_NULL,
                              .comm = comms[place],
                              .starts = 1};
        call_collective(kind, place, form, rank == root, &a);
        expect(!memcmp(from, kept, given), "round %d: MPI_%s writes to what is given", round,
               kind_names[kind]);
        for (size_t i = 0; placed && i < taken; i++) {
            size_t in = i % (size_t)extent; /* value, gap, index, gap */
            MPI_Aint value = bytes - 4, index = true_extent - 4;
            if (((MPI_Aint)in >= value && (MPI_Aint)in < index) || (MPI_Aint)in >= true_extent)
                expect(to[i] == BLANK, "round %d: MPI_%s writes to a gap", round, kind_names[kind]);
        }
        free(from);
        free(kept);
        free(to);
    }
    comms_drop(comms);
}

static void run_worlds(const char *what, world_body *body)
{
    static const enum sim_reduce_order orders[] = {SIM_REDUCE_LINEAR, SIM_REDUCE_TREE,
                                                   SIM_REDUCE_RING, SIM_REDUCE_SEED};
    struct dice_seeds seeds = dice_seeds(WORLDS);
    int wrong = 0, looked_at = 0;
    for (unsigned long long i = 0; i < seeds.count; i++) {
        struct sim_world_options options = world_options(RANKS);
        world_seed = seeds.first + i;
        fence_low = world_seed % 2;
        options.strict_collectives = world_seed % 3 == 0;
        options.reduce_order = orders[world_seed % 4];
        options.eager_limit = world_seed % 5 == 1 ? 16 : options.eager_limit;
        struct world_result got = world_try(options, body);
        bool right = got.outcome == OUTCOME_FINISHED && !got.failed;
        if (!right && wrong++ < 5)
            tap_note("seed %llu: outcome %d, %s", world_seed, (int)got.outcome, got.text);
        looked_at += got.looked_at;
    }
    fence_low = false;
    tap_ok(!wrong && looked_at >= (int)seeds.count * ROUNDS * RANKS, "%s: %d worlds, %d looks",
           what, (int)seeds.count, looked_at);
}

int main(void)
{
    run_worlds("each member's datatype says where its numbers lie", combine);
    run_worlds("members of other basic types write to nobody's memory", differ);
    return tap_done();
}
