/* Every collective moves and combines elements of every layout: with gaps, wider than what they
 * hold, below their address, backwards, one within the other, each before the one that was put first; blocking, nonblocking and persistent;
 * v-forms whose blocks lie in reverse. What arrives is compared integer by integer with what was
 * sent, and between the integers nothing is touched. */
#include "tests/world_harness.h"

#include <string.h>

enum { ROOM = 2048, MIDDLE = 512, INTS = 12, PLACES = 4, LAYOUTS = 7, NOTHING = -77777777 };

struct layout {
    MPI_Datatype type;
    int places;
    int at[PLACES]; /* in integers, as extents are */
    int extent;
};

/* One buffer of elements; `seen` are those looked at. */
struct side {
    const struct layout *layout;
    int memory[ROOM];
    bool seen[ROOM];
};

enum form { BLOCKING, NONBLOCKING, PERSISTENT, FORMS };

struct turn {
    int rank, size, root, count[2]; /* elements of the sides that make INTS integers */
    enum form form;
    bool in_place;
    struct side *sides; /* sent, received */
    MPI_Op op;
    int counts[2][8], displacements[2][8], bytes[2][8];
    MPI_Datatype types[2][8];
    const char *what;
};

static struct layout layout_of(MPI_Datatype type, int places, const int *at, int extent)
{
    struct layout layout = {.type = type, .places = places, .extent = extent};
    memcpy(layout.at, at, (size_t)places * sizeof *at);
    MPI_Type_commit(&layout.type);
    return layout;
}

static void layouts_make(struct layout made[LAYOUTS])
{
    MPI_Datatype type, wide;
    MPI_Type_dup(MPI_INT, &type);
    made[0] = layout_of(type, 1, (int[]){0}, 1);
    MPI_Type_vector(3, 1, 2, MPI_INT, &type);
    made[1] = layout_of(type, 3, (int[]){0, 2, 4}, 5);
    MPI_Type_create_resized(made[1].type, 0, 7 * sizeof(int), &type);
    made[2] = layout_of(type, 3, (int[]){0, 2, 4}, 7);
    MPI_Type_indexed(2, (int[]){1, 1}, (int[]){-2, 1}, MPI_INT, &type);
    made[3] = layout_of(type, 2, (int[]){-2, 1}, 4);
    MPI_Type_create_indexed_block(4, 1, (int[]){3, 0, 1, 5}, MPI_INT, &type);
    made[4] = layout_of(type, 4, (int[]){3, 0, 1, 5}, 6);
    MPI_Type_create_indexed_block(2, 1, (int[]){0, 100}, MPI_INT, &wide);
    MPI_Type_create_resized(wide, 0, sizeof(int), &type);
    made[5] = layout_of(type, 2, (int[]){0, 100}, 1);
    MPI_Type_create_resized(wide, 0, -(MPI_Aint)sizeof(int), &type);
    made[6] = layout_of(type, 2, (int[]){0, 100}, -1);
    MPI_Type_free(&wide);
}

static int *place(struct side *side, int k)
{
    const struct layout *layout = side->layout;
    int at = MIDDLE + k / layout->places * layout->extent + layout->at[k % layout->places];
    side->seen[at] = true;
    return &side->memory[at];
}

/* Affine functions x -> m x + c modulo 251, written after each other: what does not commute. */
static int combined(int first, int second)
{
    int m = first >> 8, c = first & 255, n = second >> 8, d = second & 255;
    return m * n % 251 << 8 | (c * n + d) % 251;
}

static int value(int rank, int peer, int i)
{
    return (1 + (rank * 37 + peer * 5 + i) % 250) << 8 | (rank * 11 + peer * 3 + i * 7) % 251;
}

static void combine_all(void *in, void *inout, int *count, MPI_Datatype *type)
{
    int first[8 * INTS], second[8 * INTS], size, at = 0, end = 0;
    MPI_Type_size(*type, &size);
    MPI_Pack(in, *count, *type, first, sizeof first, &at, MPI_COMM_SELF);
    at = 0;
    MPI_Pack(inout, *count, *type, second, sizeof second, &at, MPI_COMM_SELF);
    for (int i = 0; i < at / (int)sizeof(int); i++)
        second[i] = combined(first[i], second[i]);
    MPI_Unpack(second, at, &end, inout, *count, *type, MPI_COMM_SELF);
}

static void turn_begin(struct turn *turn, const char *what)
{
    turn->what = what;
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < ROOM; i++) {
            turn->sides[s].memory[i] = NOTHING;
            turn->sides[s].seen[i] = false;
        }
}

/* Block `block` of a side, in order or, for v-forms, from the other end. */
static int block_of(const struct turn *turn, int block, bool reversed)
{
    return (reversed ? turn->size - 1 - block : block) * INTS;
}

static void put(struct turn *turn, int block, bool reversed, int peer)
{
    struct side *side = &turn->sides[turn->in_place];
    for (int i = 0; i < INTS; i++)
        *place(side, block_of(turn, block, reversed) + i) = value(turn->rank, peer, i);
}

/* The block holds what `from` has for `peer`. */
static void look(struct turn *turn, int block, bool reversed, int from, int peer)
{
    for (int i = 0; i < INTS; i++) {
        int got = *place(&turn->sides[1], block_of(turn, block, reversed) + i);
        if (got != value(from, peer, i)) {
            expect(false, "%s, form %d, root %d: integer %d of block %d is %d, not %d", turn->what,
                   (int)turn->form, turn->root, i, block, got, value(from, peer, i));
            return;
        }
    }
}

/* The block holds the combination of what the ranks [0, end) have for `peer`. */
static void look_combined(struct turn *turn, int block, int end, int peer)
{
    for (int i = 0; i < INTS; i++) {
        int got = *place(&turn->sides[1], block * INTS + i), wanted = value(0, peer, i);
        for (int r = 1; r < end; r++)
            wanted = combined(wanted, value(r, peer, i));
        if (got != wanted) {
            expect(false, "%s, form %d: integer %d of block %d is %x, not %x", turn->what,
                   (int)turn->form, i, block, (unsigned)got, (unsigned)wanted);
            return;
        }
    }
}

/* What was not looked at is what it was; an output that nobody has, too. */
static void turn_end(struct turn *turn, int error)
{
    int touched = 0;
    for (int i = 0; i < ROOM; i++)
        touched += !turn->sides[1].seen[i] && turn->sides[1].memory[i] != NOTHING;
    expect(!error && !touched, "%s, form %d, root %d: error %d, %d integers beside it", turn->what,
           (int)turn->form, turn->root, error, touched);
}

static int complete(struct turn *turn, int error, MPI_Request *request)
{
    if (turn->form == PERSISTENT && !error)
        error = MPI_Start(request);
    if (turn->form != BLOCKING && !error)
        error = MPI_Wait(request, MPI_STATUS_IGNORE);
    if (turn->form == PERSISTENT && !error)
        error = MPI_Request_free(request);
    return error;
}

#define RUN(name, small, ...)                                                                      \
    do {                                                                                           \
        MPI_Request request_ = MPI_REQUEST_NULL;                                                   \
        int error_ =                                                                               \
            turn->form == BLOCKING ? MPI_##name(__VA_ARGS__, MPI_COMM_WORLD)                       \
            : turn->form == NONBLOCKING                                                            \
                ? MPI_I##small(__VA_ARGS__, MPI_COMM_WORLD, &request_)                             \
                : MPI_##name##_init(__VA_ARGS__, MPI_COMM_WORLD, MPI_INFO_NULL, &request_);        \
        error = complete(turn, error_, &request_);                                                 \
    } while (0)

#define SENT     (turn->in_place ? MPI_IN_PLACE : (void *)(turn->sides[0].memory + MIDDLE))
#define RECEIVED ((void *)(turn->sides[1].memory + MIDDLE))
#define TYPE(s)  turn->sides[s].layout->type
#define COUNT(s) turn->count[s]

static void bcast(struct turn *turn)
{
    int error, mine = turn->rank != turn->root; /* the root has it in the other layout */
    turn_begin(turn, "Bcast");
    if (!mine)
        put(turn, 0, false, 0);
    RUN(Bcast, bcast, turn->sides[mine].memory + MIDDLE, COUNT(mine), TYPE(mine), turn->root);
    if (mine)
        look(turn, 0, false, turn->root, 0);
    turn_end(turn, error);
}

static void gather(struct turn *turn, bool v)
{
    int error;
    turn_begin(turn, v ? "Gatherv" : "Gather");
    put(turn, 0, false, 0);
    if (v)
        RUN(Gatherv, gatherv, SENT, COUNT(0), TYPE(0), RECEIVED, turn->counts[1],
            turn->displacements[1], TYPE(1), turn->root);
    else
        RUN(Gather, gather, SENT, COUNT(0), TYPE(0), RECEIVED, COUNT(1), TYPE(1), turn->root);
    for (int r = 0; r < turn->size && turn->rank == turn->root; r++)
        look(turn, r, v, r, 0);
    turn_end(turn, error);
}

static void scatter(struct turn *turn, bool v)
{
    int error;
    turn_begin(turn, v ? "Scatterv" : "Scatter");
    for (int r = 0; r < turn->size && turn->rank == turn->root; r++)
        put(turn, r, v, r);
    if (v)
        RUN(Scatterv, scatterv, SENT, turn->counts[0], turn->displacements[0], TYPE(0), RECEIVED,
            COUNT(1), TYPE(1), turn->root);
    else
        RUN(Scatter, scatter, SENT, COUNT(0), TYPE(0), RECEIVED, COUNT(1), TYPE(1), turn->root);
    look(turn, 0, false, turn->root, turn->rank);
    turn_end(turn, error);
}

static void allgather(struct turn *turn, bool v)
{
    int error;
    turn_begin(turn, v ? "Allgatherv" : "Allgather");
    put(turn, turn->in_place ? turn->rank : 0, turn->in_place && v, 0);
    if (v)
        RUN(Allgatherv, allgatherv, SENT, COUNT(0), TYPE(0), RECEIVED, turn->counts[1],
            turn->displacements[1], TYPE(1));
    else
        RUN(Allgather, allgather, SENT, COUNT(0), TYPE(0), RECEIVED, COUNT(1), TYPE(1));
    for (int r = 0; r < turn->size; r++)
        look(turn, r, v, r, 0);
    turn_end(turn, error);
}

static void alltoall(struct turn *turn, int v)
{
    static const char *const names[] = {"Alltoall", "Alltoallv", "Alltoallw"};
    int error;
    turn_begin(turn, names[v]);
    for (int r = 0; r < turn->size; r++)
        put(turn, r, v, r);
    if (v == 0)
        RUN(Alltoall, alltoall, SENT, COUNT(0), TYPE(0), RECEIVED, COUNT(1), TYPE(1));
    else if (v == 1)
        RUN(Alltoallv, alltoallv, SENT, turn->counts[0], turn->displacements[0], TYPE(0), RECEIVED,
            turn->counts[1], turn->displacements[1], TYPE(1));
    else
        RUN(Alltoallw, alltoallw, SENT, turn->counts[0], turn->bytes[0], turn->types[0], RECEIVED,
            turn->counts[1], turn->bytes[1], turn->types[1]);
    for (int r = 0; r < turn->size; r++)
        look(turn, r, v, r, turn->rank);
    turn_end(turn, error);
}

static void combine(struct turn *turn, bool everybody)
{
    int error;
    bool has = everybody || turn->rank == turn->root;
    struct turn own = *turn;
    own.in_place = turn->in_place && has;
    turn = &own;
    turn_begin(turn, everybody ? "Allreduce" : "Reduce");
    put(turn, 0, false, 0);
    if (everybody)
        RUN(Allreduce, allreduce, SENT, RECEIVED, COUNT(1), TYPE(1), turn->op);
    else
        RUN(Reduce, reduce, SENT, RECEIVED, COUNT(1), TYPE(1), turn->op, turn->root);
    if (has)
        look_combined(turn, 0, turn->size, 0);
    turn_end(turn, error);
}

static void scan(struct turn *turn, bool exclusive)
{
    int error;
    turn_begin(turn, exclusive ? "Exscan" : "Scan");
    put(turn, 0, false, 0);
    if (exclusive)
        RUN(Exscan, exscan, SENT, RECEIVED, COUNT(1), TYPE(1), turn->op);
    else
        RUN(Scan, scan, SENT, RECEIVED, COUNT(1), TYPE(1), turn->op);
    if (!exclusive || turn->rank)
        look_combined(turn, 0, turn->rank + !exclusive, 0);
    turn_end(turn, error);
}

static void reduce_scatter(struct turn *turn, bool v)
{
    int error;
    turn_begin(turn, v ? "Reduce_scatter" : "Reduce_scatter_block");
    for (int r = 0; r < turn->size; r++)
        put(turn, r, false, r);
    if (v)
        RUN(Reduce_scatter, reduce_scatter, SENT, RECEIVED, turn->counts[1], TYPE(1), turn->op);
    else
        RUN(Reduce_scatter_block, reduce_scatter_block, SENT, RECEIVED, COUNT(1), TYPE(1),
            turn->op);
    for (int r = 1; r < turn->size && turn->in_place; r++)
        for (int i = 0; i < INTS; i++)
            place(&turn->sides[1], r * INTS + i); /* the input: nobody says what becomes of it */
    look_combined(turn, 0, turn->size, turn->rank);
    turn_end(turn, error);
}

static void all_of(struct turn *turn)
{
    for (int s = 0; s < 2; s++) {
        const struct layout *layout = turn->sides[s].layout;
        turn->count[s] = INTS / layout->places;
        for (int r = 0; r < turn->size; r++) {
            turn->counts[s][r] = turn->count[s];
            turn->displacements[s][r] = (turn->size - 1 - r) * turn->count[s];
            turn->bytes[s][r] = turn->displacements[s][r] * layout->extent * (int)sizeof(int);
            turn->types[s][r] = layout->type;
        }
    }
    for (int v = 0; v < 2; v++) {
        turn->in_place = false;
        gather(turn, v);
        scatter(turn, v);
        allgather(turn, v);
        alltoall(turn, v);
        turn->in_place = true;
        allgather(turn, v);
    }
    turn->in_place = false;
    bcast(turn);
    alltoall(turn, 2);
    /* Combined are elements of one layout. */
    const struct layout *kept = turn->sides[0].layout;
    turn->sides[0].layout = turn->sides[1].layout;
    for (int twice = 0; twice < 2; twice++, turn->in_place = true) {
        combine(turn, false);
        combine(turn, true);
        scan(turn, false);
        scan(turn, true);
        reduce_scatter(turn, false);
        reduce_scatter(turn, true);
    }
    turn->sides[0].layout = kept;
}

static void every_layout(int rank, int size)
{
    struct layout layouts[LAYOUTS];
    struct side *sides = calloc(2, sizeof *sides);
    struct turn turn = {.rank = rank, .size = size, .sides = sides};
    layouts_make(layouts);
    MPI_Comm_size(MPI_COMM_SELF, &turn.root); /* the function packs with it */
    MPI_Op_create(combine_all, 0, &turn.op);
    for (int pair = 0; pair < LAYOUTS * 2; pair++)
        for (turn.form = BLOCKING; turn.form < FORMS; turn.form++) {
            sides[0].layout = &layouts[pair % LAYOUTS];
            sides[1].layout = &layouts[(pair + pair / LAYOUTS * 2) % LAYOUTS];
            turn.root = pair % size;
            all_of(&turn);
        }
    MPI_Op_free(&turn.op);
    for (int i = 0; i < LAYOUTS; i++)
        MPI_Type_free(&layouts[i].type);
    free(sides);
}

/* Other associations give the same where the op is associative, whatever lies between. */
static void associations_keep_layouts(void)
{
    static const enum sim_reduce_order orders[] = {SIM_REDUCE_TREE, SIM_REDUCE_RING,
                                                   SIM_REDUCE_SEED};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        struct sim_world_options options = world_options(5);
        options.reduce_order = orders[i];
        options.seed = 3;
        struct world_result result = world_try(options, every_layout);
        tap_ok(result.outcome == OUTCOME_FINISHED && !result.failed && result.looked_at,
               "association %zu combines elements of every layout", i);
        if (result.failed)
            tap_note("%s", result.text);
    }
}

int main(void)
{
    world_test_sizes("every collective moves and combines elements of every layout", every_layout,
                     WORLD_ANY, WORLD_SIZES(1, 2, 3, 5));
    associations_keep_layouts();
    return tap_done();
}
