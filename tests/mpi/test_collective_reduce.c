/* Reductions of every kind, on a communicator and between two groups, in all forms, in place or not, against sums and
 * products that the test forms itself: of a predefined operation, and of one of the program that does not commute, on
 * types with and without gaps; in whatever order the machine combines. Some rounds have members with types of
 * other basic types: who differs from the first to come is remarked upon, and nobody else.
 * SIMRUN_SOAK=N tries N worlds, from SIMRUN_SEED on. */
#include "tests/mpi/collective_worlds.h"

#include <stdio.h>
#include <string.h>

enum {
    ROUNDS = 60,
    SHARE_MAX = 3,
    ELEMENTS = RANKS * SHARE_MAX,
    WIDTH = 12,
    MARGIN = 2,
    WORDS = (ELEMENTS + 2 * MARGIN) * WIDTH / 4
};

/* An element is a pair of numbers: x -> a x + b. */
struct pair {
    uint32_t a, b;
};

/* The basic types of a pair; two: none. The last one has a gap within. */
enum type { INTS, FLOATS, DOUBLE, BOTH, GAP, TYPES };
static const int extents[TYPES] = {8, 8, 8, 8, 12};

struct scene { /* the same on all ranks */
    enum kind kind;
    enum place place;
    enum form form;
    bool in_place, sums;     /* of single numbers by MPI_SUM */
    bool mixed;              /* members differ in their types */
    int root, shares[RANKS]; /* of each rank; of a kind without shares, the first */
    enum type types[RANKS];
};

struct told { /* of a round */
    enum type types[RANKS];
    int first, noted[RANKS]; /* -1: not told */
    bool asked;
};

struct world_case {
    struct tried tried;
    struct told told[ROUNDS];
};

static void wrong(struct world_case *world, const struct scene *scene, int rank, int round,
                  const char *what, long got, long wanted)
{
    if (world->tried.wrong_count++)
        return;
    snprintf(world->tried.text, sizeof world->tried.text,
             "round %d, rank %d: %s, place %d, form %d%s%s, root %d: %s is %ld, not %ld", round,
             rank, kind_names[scene->kind], (int)scene->place, (int)scene->form,
             scene->in_place ? ", in place" : "", scene->sums ? ", sums" : "", scene->root, what,
             got, wanted);
}

/* ---- the scene ---- */

static struct scene scene_new(uint64_t *dice)
{
    struct scene scene = {.kind = (enum kind)(REDUCE + (int)dice_below(dice, KINDS - REDUCE))};
    scene.place = dice_below(dice, 3) || !exists(scene.kind, ACROSS) ? WITHIN : ACROSS;
    scene.form = (enum form)dice_below(dice, FORMS);
    scene.in_place = scene.place == WITHIN && dice_below(dice, 3) == 0;
    scene.root = (int)dice_below(dice, RANKS);
    int one = (int)dice_below(dice, SHARE_MAX + 1);
    for (int i = 0; i < RANKS; i++) {
        int own = (int)dice_below(dice, SHARE_MAX + 1);
        scene.shares[i] = scene.kind == REDUCE_SCATTER ? own : one;
    }
    if (scene.place == ACROSS && scene.kind == REDUCE_SCATTER_BLOCK)
        for (int i = 0; i < RANKS; i++) /* three and two get as much */
            scene.shares[i] = (one + 1) / 2 * (i % 2 ? 3 : 2);
    if (scene.place == ACROSS &&
        scene.kind == REDUCE_SCATTER) { /* the odd ones get what the even ones do */
        scene.shares[1] = scene.shares[0];
        scene.shares[3] = scene.shares[2] + scene.shares[4];
    }
    scene.sums = dice_below(dice, 3) == 0;
    enum type type = (enum type)dice_below(dice, TYPES);
    int other = (int)dice_below(dice, 3) ? -1 : (int)dice_below(dice, RANKS);
    enum type odd = (enum type)dice_below(dice, GAP);
    scene.mixed = other >= 0;
    for (int i = 0; i < RANKS; i++)
        scene.types[i] = i == other && type != GAP && scene.place == WITHIN ? odd : type;
    return scene;
}

/* Of all members that get shares with this one, where its own begins, and how many there are in all. */
static int elements_of(const struct scene *scene, int rank, int *before)
{
    int sum = 0;
    *before = 0;
    if (!has_shares(scene->kind))
        return scene->shares[0];
    for (int i = 0; i < RANKS; i++) {
        bool together = scene->place == WITHIN || i % 2 == rank % 2;
        if (together && i < rank)
            *before += scene->shares[i];
        sum += together ? scene->shares[i] : 0;
    }
    return sum;
}

/* ---- what must come of it ---- */

static uint32_t content(unsigned long long seed, int round, int rank, bool takes, int word)
{
    uint64_t state = seed * 7919 + (unsigned)(((round * RANKS + rank) * 2 + takes) * WORDS + word);
    return (uint32_t)dice_next(&state);
}

static int extent_of(const struct scene *scene, int rank)
{
    return scene->sums ? 4 : extents[scene->types[rank]];
}

/* The word where element i begins, and where its second number is. */
static int word_of(const struct scene *scene, int rank, int i, bool second)
{
    int extent = extent_of(scene, rank);
    return MARGIN * WIDTH / 4 + (i * extent + (second ? extent - 4 : 0)) / 4;
}

static struct pair input(struct world_case *world, const struct scene *scene, int rank, int round,
                         int i)
{
    bool places = scene->in_place && (scene->kind != REDUCE || rank == scene->root);
    struct pair pair = {
        content(world->tried.seed, round, rank, places, word_of(scene, rank, i, false)), 0};
    if (!scene->sums)
        pair.b = content(world->tried.seed, round, rank, places, word_of(scene, rank, i, true));
    return pair;
}

static struct pair combined(const struct scene *scene, struct pair x, struct pair y)
{
    if (scene->sums)
        return (struct pair){x.a + y.a, 0};
    return (struct pair){x.a * y.a, x.a * y.b + x.b};
}

/* Of element i over the members that this one gets the result of; `from` has its number at the caller's. */
static struct pair result(struct world_case *world, const struct scene *scene, int rank, int round,
                          int i)
{
    struct pair sum = {1, 0};
    bool any = false;
    for (int r = 0; r < RANKS; r++) {
        if ((scene->place == ACROSS && r % 2 == rank % 2) || (scene->kind == SCAN && r > rank) ||
            (scene->kind == EXSCAN && r >= rank))
            continue;
        struct pair own = input(world, scene, r, round, i);
        sum = any ? combined(scene, sum, own) : own;
        any = true;
    }
    return sum;
}

static void results(struct world_case *world, const struct scene *scene, int rank, int round,
                    uint32_t *words)
{
    int before, all = elements_of(scene, rank, &before),
                share = has_shares(scene->kind) ? scene->shares[rank] : all;
    if (!counts(scene->kind, scene->place, rank, scene->root, true))
        return;
    for (int i = 0; i < share; i++) {
        struct pair pair = result(world, scene, rank, round, before + i);
        words[word_of(scene, rank, i, false)] = pair.a;
        if (!scene->sums)
            words[word_of(scene, rank, i, true)] = pair.b;
    }
}

/* ---- the calls ---- */

struct here {
    MPI_Comm comms[PLACES];
    MPI_Op then;
    uint32_t memory[2][WORDS], wanted[WORDS];
};

static void apply_then(void *left, void *right, int *length, MPI_Datatype *type)
{
    MPI_Aint low, extent;
    PMPI_Type_get_extent(*type, &low, &extent);
    for (int i = 0; i < *length; i++) {
        char *x = (char *)left + i * extent, *y = (char *)right + i * extent;
        struct pair a, b;
        memcpy(&a.a, x, 4);
        memcpy(&a.b, x + extent - 4, 4);
        memcpy(&b.a, y, 4);
        memcpy(&b.b, y + extent - 4, 4);
        struct pair both = {a.a * b.a, a.a * b.b + a.b};
        memcpy(y, &both.a, 4);
        memcpy(y + extent - 4, &both.b, 4);
    }
}

/* Named after its round: a remark tells it. */
static MPI_Datatype type_make(enum type type, int round)
{
    const MPI_Datatype firsts[] = {MPI_INT, MPI_FLOAT, MPI_DOUBLE, MPI_INT, MPI_INT};
    MPI_Datatype parts[2] = {firsts[type], type == BOTH ? MPI_FLOAT : firsts[type]}, made;
    const MPI_Aint places[2] = {0, extents[type] - 4};
    char name[20];
    MPI_Type_create_struct(type == DOUBLE ? 1 : 2, (const int[]){1, 1}, places, parts, &made);
    MPI_Type_commit(&made);
    snprintf(name, sizeof name, "round %d", round);
    MPI_Type_set_name(made, name);
    return made;
}

static void look(struct world_case *world, const struct scene *scene, struct here *here, int rank,
                 int round)
{
    MPI_Datatype type = scene->sums ? MPI_UNSIGNED : type_make(scene->types[rank], round);
    struct told *told = &world->told[round];
    told->asked = !scene->sums;
    memcpy(told->types, scene->types, sizeof told->types);
    told->first = told->noted[rank] = -1;
    for (int takes = 0; takes < 2; takes++)
        for (int i = 0; i < WORDS; i++)
            here->memory[takes][i] = content(world->tried.seed, round, rank, takes, i);
    memcpy(here->wanted, here->memory[1], sizeof here->wanted);
    results(world, scene, rank, round, here->wanted);
    bool places = scene->in_place && (scene->kind != REDUCE || rank == scene->root);
    int shares[RANKS], members = 0,
                       own = has_shares(scene->kind) ? scene->shares[rank] : scene->shares[0];
    for (int i = 0; i < RANKS; i++)
        if (scene->place == WITHIN || i % 2 == rank % 2)
            shares[members++] = scene->shares[i];
    struct arguments a = {
        .send = {.at = places ? MPI_IN_PLACE : (void *)(here->memory[0] + MARGIN * WIDTH / 4),
                 .count = own,
                 .type = type},
        .receive = {.at = here->memory[1] + MARGIN * WIDTH / 4,
                    .count = own,
                    .type = type,
                    .counts = shares},
        .op = scene->sums ? MPI_SUM : here->then,
        .root = root_seen(scene->place, rank, scene->root),
        .info = MPI_INFO_NULL,
        .comm = here->comms[scene->place],
        .starts = scene->in_place || scene->mixed ? 1 : 2};
    int error = call_collective(scene->kind, scene->place, scene->form, rank == scene->root, &a);
    world->tried.looked_at++;
    if (error)
        wrong(world, scene, rank, round, "the error", error, 0);
    for (int i = 0; i < WORDS; i++) {
        uint32_t kept = content(world->tried.seed, round, rank, false, i);
        if (here->memory[0][i] != kept)
            wrong(world, scene, rank, round, "a word that is given", here->memory[0][i], kept);
        if (here->memory[1][i] != here->wanted[i])
            wrong(world, scene, rank, round, "a word of the result", i, here->wanted[i]);
    }
    if (!scene->sums)
        MPI_Type_free(&type);
}

static int run_rank(void *context, int rank)
{
    struct world_case *world = context;
    static struct here all[RANKS];
    struct here *here = &all[rank];
    uint64_t dice = world->tried.seed;
    recording_rank_begin(world->tried.recording);
    MPI_Init(NULL, NULL);
    comms_make(here->comms, rank);
    MPI_Op_create(apply_then, 0, &here->then);
    for (int round = 0; round < ROUNDS; round++) {
        struct scene scene = scene_new(&dice);
        look(world, &scene, here, rank, round);
    }
    MPI_Op_free(&here->then);
    comms_drop(here->comms);
    MPI_Finalize();
    return 0;
}

/* ---- what was remarked ---- */

static bool differ(enum type one, enum type other)
{
    enum type a = one == GAP ? INTS : one, b = other == GAP ? INTS : other;
    return a != BOTH && b != BOTH && a != b;
}

/* Whether these remarks are due where `first` came first. */
static bool due(const struct told *told, int first)
{
    for (int rank = 0; rank < RANKS; rank++)
        if ((told->noted[rank] >= 0) !=
            (told->asked && differ(told->types[rank], told->types[first])))
            return false;
    return told->first < 0 || told->first == first;
}

static int look_at_notes(void *context, const struct trace *trace)
{
    struct world_case *world = context;
    int remarks = 0;
    for (size_t i = 0; i < trace->note_count; i++) {
        const struct trace_note *note = &trace->notes[i];
        int rank = -1, round = -1, first = -1;
        const char *said = strstr(note->text, " rank ");
        if (strcmp(note->code, "M004") != 0)
            continue;
        if (!said ||
            sscanf(said, " rank %d combines round %d, rank %d another", &rank, &round, &first) !=
                3 ||
            rank != (int)note->rank || round < 0 || round >= ROUNDS ||
            (world->told[round].first >= 0 && world->told[round].first != first)) {
            if (!world->tried.wrong_count++)
                snprintf(world->tried.text, sizeof world->tried.text, "rank %d: %.200s",
                         (int)note->rank, note->text);
            continue;
        }
        world->told[round].first = first;
        world->told[round].noted[rank] = first;
        remarks++;
    }
    for (int round = 0; round < ROUNDS; round++) {
        int firsts = 0;
        for (int first = 0; first < RANKS; first++)
            firsts += due(&world->told[round], first);
        if (!firsts && !world->tried.wrong_count++)
            snprintf(world->tried.text, sizeof world->tried.text,
                     "round %d: whoever came first, other ranks should be remarked upon", round);
    }
    return remarks;
}

static void choose(struct sim_world_options *options, unsigned long long seed)
{
    static const enum sim_reduce_order orders[] = {SIM_REDUCE_LINEAR, SIM_REDUCE_TREE,
                                                   SIM_REDUCE_RING, SIM_REDUCE_SEED};
    options->strict_collectives = seed % 3 == 0;
    options->reduce_order = orders[seed % 4];
    options->eager_limit = seed % 5 == 1 ? 16 : options->eager_limit;
}

int main(void)
{
    static struct world_case world;
    const struct trial trial = {&world, sizeof world, &world.tried,
                                choose, run_rank,     look_at_notes};
    struct dice_seeds seeds = dice_seeds(8);
    struct totals totals = trial_all(&trial, seeds);
    tap_is_int(totals.wrong, 0,
               "results are what the members give, combined in their order; other basic types are "
               "remarked upon");
    tap_ok(totals.looked_at == (int)seeds.count * ROUNDS * RANKS &&
               totals.remarks >= (int)seeds.count * 4,
           "many were looked at: %d calls, %d remarks", totals.looked_at, totals.remarks);
    return tap_done();
}
