/* What the recorder knows of communicators: random ones, made of each other in every way, freed, and their handles given again, in the
 * order in which the program makes them or first uses them. A barrier and a message in each tell which of the trace's it is: one for all
 * members and for no others, with those members, its parent and its name. */
#include "tests/recorder/recorded_world.h"

#include <mpi.h>
#include <mpix.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 5, STEPS = 14, COMMS = 2 * STEPS + 2, USES = 200, UNKNOWN = -1 };

/* A communicator as its members see it. All of one key are one. */
struct made {
    int key, size, members[2 * RANKS], parent; /* parent: a key, or UNKNOWN */
    bool across, named;
};

struct use {
    struct made made;
    int to, from; /* world ranks of the message; UNKNOWN: there is none */
};

static struct rank {
    uint64_t dice; /* the same on all */
    MPI_Comm comms[COMMS];
    struct made made[COMMS];
    int count, use_count;
    struct use uses[USES];
    int wrong;
} ranks[RANKS];

static uint32_t below(struct rank *me, uint32_t n)
{
    return dice_below(&me->dice, n);
}

static int world_ranks(MPI_Group group, int *members)
{
    MPI_Group world;
    int size, local[RANKS];
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_size(group, &size);
    for (int i = 0; i < size; i++)
        local[i] = i;
    MPI_Group_translate_ranks(group, size, local, world, members);
    MPI_Group_free(&world);
    MPI_Group_free(&group);
    return size;
}

/* A barrier, and a message to the next rank. */
static void use(struct rank *me, int number)
{
    MPI_Comm comm = me->comms[number];
    struct use *use = &me->uses[me->use_count++];
    int rank, size = me->made[number].size, got = 0;
    *use = (struct use){.made = me->made[number], .to = UNKNOWN, .from = UNKNOWN};
    MPI_Barrier(comm);
    if (me->made[number].across)
        return;
    MPI_Comm_rank(comm, &rank);
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    use->to = me->made[number].members[to];
    use->from = me->made[number].members[from];
    MPI_Sendrecv(&use->to, 1, MPI_INT, to, 3, &got, 1, MPI_INT, from, 3, comm, MPI_STATUS_IGNORE);
    me->wrong += got != me->made[number].members[rank];
}

/* Those that one call makes have different members: the first of them tells them apart. */
static void keep(struct rank *me, MPI_Comm comm, int step, int parent, bool used)
{
    int at = me->count++, across = 0;
    struct made *made = &me->made[at];
    MPI_Group group;
    me->comms[at] = comm;
    if (comm == MPI_COMM_NULL)
        return;
    MPI_Comm_test_inter(comm, &across);
    MPI_Comm_group(comm, &group);
    *made = (struct made){.parent = parent, .across = across};
    made->size = world_ranks(group, made->members);
    if (across) {
        MPI_Comm_remote_group(comm, &group);
        made->size += world_ranks(group, made->members + made->size);
    }
    int least = RANKS;
    for (int i = 0; i < made->size; i++)
        least = made->members[i] < least ? made->members[i] : least;
    made->key = step * RANKS + least;
    if (below(me, 3) == 0) {
        char name[32];
        snprintf(name, sizeof name, "number %d", made->key);
        MPI_Comm_set_name(comm, name);
        made->named = true;
    }
    if (used)
        use(me, at);
}

/* Two halves and what joins them: three communicators. */
static void join(struct rank *me, MPI_Comm from, int size, int rank, int step)
{
    MPI_Comm half, across, whole;
    int cut = 1 + (int)below(me, (uint32_t)size - 1), high = rank >= cut;
    MPI_Comm_split(from, high, rank, &half);
    MPI_Intercomm_create(half, 0, from, high ? 0 : cut, 5, &across);
    keep(me, across, step, UNKNOWN, true);
    MPI_Intercomm_merge(across, high, &whole);
    int key = me->made[me->count - 1].key;
    keep(me, whole, step + COMMS, key, true);
    MPI_Comm_free(&half);
}

static MPI_Comm make(struct rank *me, int way, MPI_Comm from, int size, int rank, int *parent)
{
    uint32_t drawn = below(me, 1000);
    int color = (int)(drawn >> rank & 3) - 1, some[RANKS], n = 0, in = (rank + size - 1) % size,
        out = (rank + 1) % size, sizes[] = {1 + (int)drawn % size}, no[] = {0};
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Request request;
    MPI_Group group, subset;
    switch (way) {
    case 0:
        MPI_Comm_dup(from, &made);
        break;
    case 1:
        MPI_Comm_dup_with_info(from, MPI_INFO_NULL, &made);
        break;
    case 2:
        MPI_Comm_idup(from, &made, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    case 3:
    case 4:
        MPI_Comm_split(from, color < 0 ? MPI_UNDEFINED : color, way == 3 ? rank : -rank, &made);
        break;
    case 5:
    case 6:
        for (int i = 0; i < size; i++)
            if (drawn >> i & 1)
                some[n++] = way == 5 ? i : size - 1 - i;
        MPI_Comm_group(from, &group);
        MPI_Group_incl(group, n, some, &subset);
        int mine;
        MPI_Group_rank(subset, &mine);
        if (drawn & 512)
            MPI_Comm_create(from, subset, &made);
        else if (mine != MPI_UNDEFINED)
            MPI_Comm_create_group(from, subset, (int)(drawn & 7), &made);
        MPI_Group_free(&subset);
        MPI_Group_free(&group);
        break;
    case 7:
        MPI_Cart_create(from, 1, sizes, no, 0, &made);
        break;
    case 8:
        MPI_Dist_graph_create_adjacent(from, 1, &in, MPI_UNWEIGHTED, 1, &out, MPI_UNWEIGHTED,
                                       MPI_INFO_NULL, 0, &made);
        break;
    case 9:
        MPI_Comm_split_type(from, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &made);
        break;
    default: /* behind the recorder's back: nobody tells of what */
        PMPI_Comm_dup(from, &made);
        *parent = UNKNOWN;
    }
    return made;
}

static int enter(void *context, int world_rank)
{
    struct rank *me = &ranks[world_rank];
    recording_rank_begin(context);
    MPI_Init(NULL, NULL);
    keep(me, MPI_COMM_WORLD, 0, UNKNOWN, false);
    me->made[0].named = false;
    for (int step = 1; step <= STEPS; step++) {
        int way = (int)below(me, 13), number = (int)below(me, (uint32_t)me->count), size, rank;
        uint64_t dice = dice_next(&me->dice); /* whatever the members draw */
        MPI_Comm from = me->comms[number];
        int before = me->count, parent = me->made[number].key;
        if (from != MPI_COMM_NULL && !me->made[number].across) {
            MPI_Comm_rank(from, &rank);
            MPI_Comm_size(from, &size);
            if (way == 12 && size > 1)
                join(me, from, size, rank, step);
            else if (way == 12)
                use(me, number);
            else {
                MPI_Comm made = make(me, way, from, size, rank, &parent);
                keep(me, made, step, parent, true);
            }
        }
        while (me->count < before + 2)
            me->comms[me->count++] = MPI_COMM_NULL;
        me->dice = dice;
        number = (int)below(me, (uint32_t)me->count); /* one goes, but for the world */
        if (number > 0 && me->comms[number] != MPI_COMM_NULL)
            MPI_Comm_free(&me->comms[number]);
    }
    for (int i = 1; i < me->count; i++)
        if (me->comms[i] != MPI_COMM_NULL)
            MPI_Comm_free(&me->comms[i]);
    MPI_Finalize();
    return 0;
}

/* ---- what was kept ---- */

static bool is_member(const struct made *made, const struct trace_comm *comm)
{
    if (comm->size != (uint32_t)made->size || !comm->members)
        return false;
    for (int i = 0; i < made->size; i++) {
        bool found = false;
        for (int k = 0; k < made->size; k++) /* of two groups either may come first */
            found |= comm->members[k] == made->members[i] && (made->across || i == k);
        if (!found)
            return false;
    }
    return true;
}

/* Which of the trace's a key is. */
static int known[(2 * COMMS + 2) * RANKS];

static const char *unfit(const struct trace *trace, uint32_t number, const struct made *made)
{
    char name[32];
    if (number >= trace->comm_count)
        return "none at all";
    const struct trace_comm *comm = &trace->comms[number];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i] == (int)number && (int)i != made->key)
            return "another one's";
    if (known[made->key] != UNKNOWN && known[made->key] != (int)number)
        return "not the one of others";
    known[made->key] = (int)number;
    snprintf(name, sizeof name, "number %d", made->key);
    return !is_member(made, comm)                          ? "its members"
           : made->named && strcmp(comm->name, name)       ? "its name"
           : made->parent == UNKNOWN || made->across       ? NULL
           : known[made->parent] == UNKNOWN                ? NULL
           : comm->parent != (uint32_t)known[made->parent] ? "its parent"
                                                           : NULL;
}

static const char *ops_unfit(const struct trace *trace, uint32_t rank)
{
    const struct rank *me = &ranks[rank];
    uint32_t seen[256] = {0};
    int uses = 0;
    const struct use *use = NULL;
    for (size_t i = trace->rank_begin[rank]; i < trace->rank_begin[rank + 1]; i++) {
        const struct trace_op *op = &trace->ops[i];
        uint32_t comm = op->form->comm;
        if (op_kind_class(op->kind) == CLASS_COLLECTIVE &&
            (comm >= 256 || op->comm_seq != seen[comm]++))
            return "its number among the collectives";
        if (op->kind == OP_BARRIER) {
            if (uses == me->use_count)
                return "one more";
            use = &me->uses[uses++];
            const char *why = unfit(trace, comm, &use->made);
            if (why)
                return why;
        } else if (op->kind == OP_ISEND || op->kind == OP_IRECV) {
            bool sends = op->kind == OP_ISEND;
            if (!use || (int)comm != known[use->made.key] ||
                op->peer != (sends ? use->to : use->from) ||
                (!sends && trace_op_peer_matched(op) != use->from))
                return "between whom";
        }
    }
    return uses == me->use_count ? NULL : "one less";
}

static int uses;

static bool world_is_recorded(unsigned long long seed)
{
    struct sim_world_options options = recorded_options(RANKS);
    options.seed = seed;
    memset(ranks, 0, sizeof ranks);
    memset(known, 0xff, sizeof known);
    known[0] = 0;
    for (int i = 0; i < RANKS; i++)
        ranks[i].dice = seed;
    struct recorded run = recorded_world(&options, enter);
    const char *why = run.trace ? NULL : "its end";
    for (uint32_t rank = 0; !why && rank < RANKS; rank++) {
        why = ranks[rank].wrong ? "what it was told" : ops_unfit(run.trace, rank);
        uses += ranks[rank].use_count;
        if (why)
            tap_note("rank %u", rank);
    }
    if (why)
        tap_note("seed %llu: %s", seed, why);
    recorded_release(&run);
    return !why;
}

/* ---- neighbours ---- */

enum { PLACES = 4 };
/* Undirected, of different degrees: a triangle and what hangs on it. */
static const int edges[] = {1, 2, 0, 2, 0, 1, 3, 2};

static int enter_graph(void *context, int rank)
{
    MPI_Comm graph, grid, ring;
    int ones[PLACES] = {1, 1, 1, 1}, places[PLACES] = {0, 1, 2, 3}, sent[PLACES] = {rank},
        got[PLACES];
    static const int degrees[PLACES] = {2, 2, 3, 1}, from[PLACES] = {0, 2, 4, 7};
    const int sizes[] = {2, 2}, periods[] = {1, 1};
    recording_rank_begin(context);
    MPI_Init(NULL, NULL);
    static const int last[PLACES] = {2, 4, 7, 8};
    MPI_Graph_create(MPI_COMM_WORLD, PLACES, last, edges, 0, &graph);
    MPI_Cart_create(MPI_COMM_WORLD, 2, sizes, periods, 0, &grid);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degrees[rank], edges + from[rank],
                                   MPI_UNWEIGHTED, degrees[rank], edges + from[rank],
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring);
    MPI_Comm comms[] = {graph, grid, ring};
    for (int i = 0; i < 3; i++) {
        MPI_Neighbor_alltoallv(sent, ones, places, MPI_INT, got, ones, places, MPI_INT, comms[i]);
        MPI_Comm_free(&comms[i]);
    }
    MPI_Finalize();
    return 0;
}

/* Of each neighbour there is a count, and of nobody else. */
static void neighbours(void)
{
    static const uint32_t due[3][PLACES] = {{2, 2, 3, 1}, {4, 4, 4, 4}, {2, 2, 3, 1}};
    struct sim_world_options options = recorded_options(PLACES);
    struct recorded run = recorded_world(&options, enter_graph);
    const struct trace *trace = run.trace;
    int wrong = !trace;
    for (uint32_t rank = 0; trace && rank < PLACES; rank++) {
        int at = 0;
        for (size_t i = trace->rank_begin[rank]; i < trace->rank_begin[rank + 1]; i++) {
            if (trace->ops[i].kind != OP_NEIGHBOR_ALLTOALLV)
                continue;
            const struct trace_counts *kept = trace_op_counts(trace, (uint32_t)i);
            wrong += at >= 3 || !kept || kept->n != due[at][rank] || !kept->send ||
                     !kept->receive || trace->ops[i].count != due[at][rank];
            at++;
        }
        wrong += at != 3;
    }
    tap_is_int(wrong, 0, "along a graph, a grid and a graph of each rank's own, neighbours count");
    recorded_release(&run);
}

int main(void)
{
    tap_is_int(recorded_wrongly(100, world_is_recorded), 0,
               "each communicator is one of the trace, and the one it is");
    neighbours();
    tap_ok(uses > 0, "%d uses of them", uses);
    return tap_done();
}
