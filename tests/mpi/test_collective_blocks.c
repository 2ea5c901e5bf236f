/* Collectives that move data, held to what the standard says of one block: what a member gives and
 * what another takes of it. Random programs of every kind, on a communicator, between two groups and along a
 * topology, in all forms, in place or not, with types of other layouts, blocks at any place, and sometimes one
 * side whose type or count does not fit. Each rank knows the whole scene: every byte of its buffers afterwards, the
 * class of its error, and which of its calls is remarked upon, with whose amounts.
 * SIMRUN_SOAK=N tries N worlds, from SIMRUN_SEED on. */
#include "tests/mpi/collective_worlds.h"

#include <mpi.h>
#include <string.h>

enum {
    MOVING = REDUCE, /* kinds */
    ROUNDS = 60,
    BYTES = 768,
    MARGIN = 64,
    BLOCKS_MAX = 3,
    NOTES_MAX = 200
};
/* One element of each type: its numbers in their order (i, f of 4 bytes, d of 8). The first three have the
 * same numbers for the same bytes; the others have others. */
static const struct {
    const char *numbers;
    int at[2], extent;
} layouts[] = {{"i", {0}, 4},     {"ii", {0, 8}, 12}, {"ii", {4, 0}, 8}, {"f", {0}, 4},
               {"if", {0, 4}, 8}, {"fi", {4, 0}, 8},  {"ff", {0, 4}, 8}, {"d", {0}, 8}};
enum { TYPES = sizeof layouts / sizeof *layouts, FITTING = 3 };

struct block {
    int type, count, at; /* bytes from the base */
};

struct side {
    struct block blocks[RANKS]; /* of each peer; the first, where there is one for all */
};

struct scene { /* of one round: the same on all ranks */
    enum kind kind;
    enum place place;
    enum form form;
    bool in_place;
    int root;
    struct side gives[RANKS], takes[RANKS];
};

struct note {
    char code[8];
    int giver, given, taken;
};

struct expected { /* of one rank */
    struct note any[NOTES_MAX][RANKS];
    int kinds[NOTES_MAX], rounds[NOTES_MAX], count; /* how many of `any` a note may be */
};

struct world_case {
    struct tried tried;
    struct expected expected[RANKS];
};

static void wrong(struct world_case *world, const struct scene *scene, int rank, int round,
                  const char *what, long got, long wanted)
{
    if (world->tried.wrong_count++)
        return;
    snprintf(world->tried.text, sizeof world->tried.text,
             "round %d, rank %d: %s, place %d, form %d%s, root %d: %s is %ld, not %ld", round, rank,
             kind_names[scene->kind], (int)scene->place, (int)scene->form,
             scene->in_place ? ", in place" : "", scene->root, what, got, wanted);
}

/* ---- who gives to whom ---- */

static bool gathers(enum kind kind)
{
    return kind == GATHER || kind == GATHERV;
}

static bool is_even(int rank)
{
    return rank % 2 == 0;
}

/* Along the topology a rank gives to the next and the one behind that, and takes from those before. */
static int slot_of(int giver, int taker)
{
    int distance = (taker - giver + RANKS) % RANKS;
    return distance == 1 || distance == 2 ? distance - 1 : -1;
}

/* The place of a peer's block: its rank in the communicator, in its group, or among the neighbours. */
static int block_of(const struct scene *scene, int rank, int peer, bool takes)
{
    return scene->place == WITHIN   ? peer
           : scene->place == ACROSS ? peer / 2
                                    : slot_of(takes ? peer : rank, takes ? rank : peer);
}

static bool passes(const struct scene *scene, int giver, int taker)
{
    enum kind kind = scene->kind;
    if (scene->place == ACROSS && is_even(giver) == is_even(taker))
        return false;
    if (scene->place == ALONG)
        return slot_of(giver, taker) >= 0;
    if (kind == BCAST && giver == taker)
        return false;
    if (is_rooted(kind))
        return gathers(kind) ? taker == scene->root : giver == scene->root;
    return true;
}

/* Its data are where they should be. */
static bool stays(const struct scene *scene, int giver, int taker)
{
    return scene->in_place && giver == taker;
}

static const struct block *given(const struct scene *scene, int giver, int taker)
{
    if (scene->in_place && !is_rooted(scene->kind)) { /* out of what it takes into */
        int own = scene->kind == ALLGATHER || scene->kind == ALLGATHERV ? giver : taker;
        return &scene->takes[giver].blocks[own];
    }
    return &scene->gives[giver]
                .blocks[has_blocks(scene->kind, false) ? block_of(scene, giver, taker, false) : 0];
}

static const struct block *taken(const struct scene *scene, int giver, int taker)
{
    return &scene->takes[taker]
                .blocks[has_blocks(scene->kind, true) ? block_of(scene, taker, giver, true) : 0];
}

static int size_of(int type)
{
    const char *numbers = layouts[type].numbers;
    return *numbers == 'd' ? 8 : 4 * (int)strlen(numbers);
}

static int bytes_of(const struct block *block)
{
    return block->count * size_of(block->type);
}

static char number_at(const struct block *block, int i)
{
    const char *numbers = layouts[block->type].numbers;
    return numbers[(size_t)i % strlen(numbers)];
}

static bool same_numbers(const struct block *a, const struct block *b)
{
    int numbers = a->count * (int)strlen(layouts[a->type].numbers);
    if (numbers != b->count * (int)strlen(layouts[b->type].numbers))
        return false;
    for (int i = 0; i < numbers; i++)
        if (number_at(a, i) != number_at(b, i))
            return false;
    return true;
}

/* 0, where it has several sorts. */
static char only_number(const struct block *block)
{
    const char *numbers = layouts[block->type].numbers;
    return !numbers[1] || numbers[0] == numbers[1] ? numbers[0] : 0;
}

/* ---- drawing a scene ---- */

static void lay(const struct scene *scene, struct side *side, bool takes, int blocks,
                uint64_t *dice)
{
    int order[RANKS] = {0, 1, 2, 3, 4}, at = 0;
    bool arrays = has_arrays(scene->kind, takes);
    for (int i = blocks - 1; i > 0 && arrays; i--) {
        uint32_t other = dice_below(dice, (uint32_t)i + 1);
        int kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
    for (int i = 0; i < blocks; i++) {
        struct block *block = &side->blocks[order[i]];
        int extent = layouts[block->type].extent;
        if (arrays && scene->kind != ALLTOALLW)
            at += (int)(dice_below(dice, 3) / 2) * extent;
        else if (arrays)
            at += 4 * (int)(dice_below(dice, 3) / 2);
        block->at = at;
        at += block->count * extent;
    }
}

static void side_new(const struct scene *scene, struct side *side, bool takes,
                     const int pairs[RANKS], int blocks, uint64_t *dice)
{
    int type = (int)dice_below(dice, FITTING);
    for (int i = 0; i < blocks; i++) {
        if (scene->kind == ALLTOALLW)
            type = (int)dice_below(dice, FITTING);
        side->blocks[i].type = type;
        side->blocks[i].count = pairs[i] * 8 / size_of(type);
    }
    lay(scene, side, takes, blocks, dice);
}

/* Another type of as many bytes, or another count. */
static void spoil(struct scene *scene, bool counts_may, uint64_t *dice)
{
    int rank = (int)dice_below(dice, RANKS), block = (int)dice_below(dice, 2);
    bool takes = dice_below(dice, 2), count = counts_may && dice_below(dice, 3) == 0;
    struct side *side = takes ? &scene->takes[rank] : &scene->gives[rank];
    int other = FITTING + (int)dice_below(dice, TYPES - FITTING);
    int longer = (int)dice_below(dice, 2);
    if (count) {
        bool every = !has_arrays(scene->kind, takes);
        for (int i = 0; i < RANKS; i++)
            if (every || i == block)
                side->blocks[i].count += longer || !side->blocks[i].count ? 1 : -1;
    }
    if (!count || longer)
        for (int i = 0; i < RANKS; i++)
            if (scene->kind != ALLTOALLW || i == block) {
                int bytes = bytes_of(&side->blocks[i]);
                side->blocks[i].type = other;
                side->blocks[i].count = (bytes + size_of(other) - 1) / size_of(other);
            }
    lay(scene, side, takes, RANKS, dice);
}

static struct scene scene_new(uint64_t *dice)
{
    struct scene scene = {.kind = (enum kind)dice_below(dice, MOVING)};
    scene.place = (enum place)dice_below(dice, PLACES);
    if (scene.place == ALONG && is_rooted(scene.kind))
        scene.place = WITHIN;
    scene.form = (enum form)dice_below(dice, FORMS);
    scene.in_place = scene.place == WITHIN && scene.kind != BCAST && dice_below(dice, 4) == 0;
    scene.root = (int)dice_below(dice, RANKS);
    int pairs[RANKS][RANKS], one = (int)dice_below(dice, BLOCKS_MAX + 1);
    bool same = !has_arrays(scene.kind, true) && !has_arrays(scene.kind, false);
    for (int i = 0; i < RANKS; i++)
        for (int k = 0; k < RANKS; k++)
            pairs[i][k] = same ? one : (int)dice_below(dice, BLOCKS_MAX + 1);
    for (int i = 0; i < RANKS; i++)
        for (int k = 0; k < RANKS; k++) {
            if (scene.kind == ALLGATHERV)
                pairs[i][k] = pairs[i][0];
            else if (scene.in_place && k < i)
                pairs[i][k] = pairs[k][i];
        }
    for (int rank = 0; rank < RANKS; rank++)
        for (int takes = 0; takes < 2; takes++) {
            int own[RANKS] = {0};
            for (int peer = 0; peer < RANKS; peer++) {
                int giver = takes ? peer : rank, taker = takes ? rank : peer;
                int at = (takes ? has_blocks(scene.kind, true) : has_blocks(scene.kind, false))
                             ? block_of(&scene, rank, peer, takes)
                             : 0;
                if (at >= 0 && passes(&scene, giver, taker))
                    own[at] = pairs[giver][taker];
            }
            if (same)
                for (int i = 0; i < RANKS; i++)
                    own[i] = one;
            side_new(&scene, takes ? &scene.takes[rank] : &scene.gives[rank], takes, own, RANKS,
                     dice);
        }
    if (!scene.in_place && dice_below(dice, 2))
        spoil(&scene, scene.kind != BCAST || scene.place != WITHIN, dice);
    return scene;
}

/* ---- what must come of it ---- */

static unsigned char content(unsigned long long seed, int round, int rank, bool takes, int at)
{
    unsigned place = (unsigned)(((round * RANKS + rank) * 2 + takes) * 4096 + at);
    uint64_t state = seed * 1000003u + place;
    return (unsigned char)dice_next(&state);
}

/* Byte i of what a block holds, counted from the base of its side. */
static int byte_at(const struct block *block, int i)
{
    const char *numbers = layouts[block->type].numbers;
    int size = size_of(block->type), width = *numbers == 'd' ? 8 : 4, within = i % size;
    return block->at + i / size * layouts[block->type].extent +
           layouts[block->type].at[within / width] + within % width;
}

/* Of these kinds all must give as much. */
static bool disagree(const struct scene *scene)
{
    bool differ = false;
    for (int rank = 1; rank < RANKS; rank++)
        differ = differ ||
                 bytes_of(&scene->gives[rank].blocks[0]) != bytes_of(&scene->gives[0].blocks[0]);
    return differ && !scene->in_place && scene->place == WITHIN &&
           (scene->kind == ALLGATHER || scene->kind == ALLTOALL);
}

/* Fills the memory a rank takes into as it must be; the class of its error. */
static int outcome_of(struct world_case *world, const struct scene *scene, int rank, int round,
                      unsigned char *memory)
{
    struct expected *expected = &world->expected[rank];
    int error = MPI_SUCCESS, remarks = 0;
    struct note any[RANKS];
    if (disagree(scene))
        return MPI_ERR_TRUNCATE;
    bool out_of_taken = scene->in_place && !is_rooted(scene->kind);
    for (int giver = 0; giver < RANKS; giver++) {
        if (!passes(scene, giver, rank) || stays(scene, giver, rank))
            continue;
        const struct block *from = given(scene, giver, rank), *to = taken(scene, giver, rank);
        int bytes = bytes_of(from), room = bytes_of(to);
        for (int i = 0; i < bytes && i < room; i++)
            memory[MARGIN + byte_at(to, i)] =
                content(world->tried.seed, round, giver, out_of_taken, MARGIN + byte_at(from, i));
        struct note note = {"M004", giver, from->count, to->count};
        bool other = bytes && room && only_number(from) && only_number(to) &&
                     only_number(from) != only_number(to);
        if (bytes != room) {
            error = MPI_ERR_TRUNCATE;
            strcpy(note.code, other ? "M004" : "M005");
        } else if (same_numbers(from, to)) {
            continue;
        }
        any[remarks++] = note;
    }
    int starts = (scene->form == AGAIN || scene->form == AGAIN_C) && !out_of_taken ? 2 : 1;
    for (int i = 0; i < starts && remarks && expected->count < NOTES_MAX; i++) {
        memcpy(expected->any[expected->count], any, sizeof any);
        expected->rounds[expected->count] = round;
        expected->kinds[expected->count++] = remarks;
    }
    return error;
}

/* ---- the calls ---- */

struct here {
    MPI_Comm comms[PLACES];
    MPI_Datatype types[TYPES];
    unsigned char memory[2][BYTES], wanted[BYTES];
};

struct arrays {
    int counts[RANKS], places[RANKS];
    MPI_Datatype types[RANKS];
};

/* An array in full, though along a topology or between groups only its first blocks count. */
static struct buffer buffer_of(const struct here *here, const struct scene *scene,
                               const struct side *side, struct arrays *arrays)
{
    for (int i = 0; i < RANKS; i++) {
        const struct block *block = &side->blocks[i];
        int unit = scene->kind == ALLTOALLW ? 1 : layouts[block->type].extent;
        arrays->counts[i] = block->count;
        arrays->places[i] = block->at / unit;
        arrays->types[i] = here->types[block->type];
    }
    return (struct buffer){.count = arrays->counts[0],
                           .type = arrays->types[0],
                           .counts = arrays->counts,
                           .places = arrays->places,
                           .types = arrays->types};
}

static int call(const struct scene *scene, struct here *here, int rank, int starts)
{
    struct arrays out, in;
    struct arguments a = {.send = buffer_of(here, scene, &scene->gives[rank], &out),
                          .receive = buffer_of(here, scene, &scene->takes[rank], &in),
                          .root = root_seen(scene->place, rank, scene->root),
                          .info = MPI_INFO_NULL,
                          .comm = here->comms[scene->place],
                          .starts = starts};
    bool is_root = rank == scene->root, into = scene->kind == SCATTER || scene->kind == SCATTERV;
    bool places = scene->in_place && (is_root || !is_rooted(scene->kind));
    a.send.at = places && !into ? MPI_IN_PLACE : here->memory[0] + MARGIN;
    a.receive.at = places && into ? MPI_IN_PLACE : here->memory[1] + MARGIN;
    return call_collective(scene->kind, scene->place, scene->form, is_root, &a);
}

static void types_make(struct here *here)
{
    for (int i = 0; i < TYPES; i++) {
        const char *numbers = layouts[i].numbers;
        MPI_Datatype parts[2], made;
        MPI_Aint places[2] = {layouts[i].at[0], layouts[i].at[1]};
        for (int k = 0; numbers[k]; k++)
            parts[k] = numbers[k] == 'i' ? MPI_INT : numbers[k] == 'f' ? MPI_FLOAT : MPI_DOUBLE;
        here->types[i] = parts[0];
        if (!numbers[1])
            continue;
        MPI_Type_create_struct(2, (const int[]){1, 1}, places, parts, &made);
        MPI_Type_create_resized(made, 0, layouts[i].extent, &here->types[i]);
        MPI_Type_commit(&here->types[i]);
        MPI_Type_free(&made);
    }
}

static void look(struct world_case *world, const struct scene *scene, struct here *here, int rank,
                 int round)
{
    bool out_of_taken = scene->in_place && !is_rooted(scene->kind);
    for (int takes = 0; takes < 2; takes++)
        for (int i = 0; i < BYTES; i++)
            here->memory[takes][i] = content(world->tried.seed, round, rank, takes, i);
    memcpy(here->wanted, here->memory[1], BYTES);
    int wanted = outcome_of(world, scene, rank, round, here->wanted), class = -1;
    MPI_Error_class(call(scene, here, rank, out_of_taken ? 1 : 2), &class);
    world->tried.looked_at++;
    if (class != wanted)
        wrong(world, scene, rank, round, "the class of the error", class, wanted);
    for (int i = 0; i < BYTES; i++) {
        unsigned char kept = content(world->tried.seed, round, rank, false, i);
        if (here->memory[0][i] != kept)
            wrong(world, scene, rank, round, "a byte that is given", here->memory[0][i], kept);
        if (!wanted && here->memory[1][i] != here->wanted[i])
            wrong(world, scene, rank, round, "a byte that is taken", i, here->wanted[i]);
    }
}

static int run_rank(void *context, int rank)
{
    struct world_case *world = context;
    static struct here all[RANKS];
    struct here *here = &all[rank];
    uint64_t dice = world->tried.seed;
    recording_rank_begin(world->tried.recording);
    MPI_Init(NULL, NULL);
    types_make(here);
    comms_make(here->comms, rank);
    for (int round = 0; round < ROUNDS; round++) {
        struct scene scene = scene_new(&dice);
        look(world, &scene, here, rank, round);
    }
    for (int i = 0; i < TYPES; i++)
        if (layouts[i].numbers[1])
            MPI_Type_free(&here->types[i]);
    comms_drop(here->comms);
    MPI_Finalize();
    return 0;
}

/* ---- what was remarked ---- */

static bool says(const struct trace_note *note, const struct note *expected, int rank)
{
    char gives[60], takes[60];
    snprintf(gives, sizeof gives, "rank %d gives %d ", expected->giver, expected->given);
    snprintf(takes, sizeof takes, "rank %d takes %d ", rank, expected->taken);
    return !strcmp(note->code, expected->code) && strstr(note->text, gives) &&
           strstr(note->text, takes);
}

static int look_at_notes(void *context, const struct trace *trace)
{
    struct world_case *world = context;
    int next[RANKS] = {0}, remarks = 0;
    const struct scene none = {.kind = BCAST};
    for (size_t i = 0; i < trace->note_count; i++) {
        const struct trace_note *note = &trace->notes[i];
        int rank = (int)note->rank;
        struct expected *expected = &world->expected[rank];
        if (strcmp(note->code, "M004") != 0 && strcmp(note->code, "M005") != 0)
            continue;
        int at = next[rank]++, known = 0;
        for (int k = 0; at < expected->count && k < expected->kinds[at]; k++)
            known += says(note, &expected->any[at][k], rank);
        if (!known && !world->tried.wrong_count++)
            snprintf(world->tried.text, sizeof world->tried.text, "rank %d, round %d: %s %s", rank,
                     at < expected->count ? expected->rounds[at] : -1, note->code, note->text);
    }
    for (int rank = 0; rank < RANKS; rank++) {
        remarks += world->expected[rank].count;
        if (next[rank] < world->expected[rank].count)
            wrong(world, &none, rank, world->expected[rank].rounds[next[rank]],
                  "the number of remarks", next[rank], world->expected[rank].count);
    }
    return remarks;
}

static void choose(struct sim_world_options *options, unsigned long long seed)
{
    options->strict_collectives = seed % 4 == 3;
    options->send_model = seed % 4 == 2 ? SIM_SEND_RENDEZVOUS : SIM_SEND_EAGER;
    options->eager_limit = seed % 4 == 1 ? 16 : options->eager_limit;
}

int main(void)
{
    static struct world_case world;
    const struct trial trial = {&world, sizeof world, &world.tried,
                                choose, run_rank,     look_at_notes};
    struct dice_seeds seeds = dice_seeds(8);
    struct totals totals = trial_all(&trial, seeds);
    tap_is_int(totals.wrong, 0,
               "blocks arrive whole, with the errors and remarks that are due, and no others");
    tap_ok(totals.looked_at == (int)seeds.count * ROUNDS * RANKS &&
               totals.remarks >= (int)seeds.count * 20,
           "many were looked at: %d calls, %d remarks", totals.looked_at, totals.remarks);
    return tap_done();
}
