/* Conformance suite: two groups that talk over an intercommunicator.
 *
 * The ranks of the world in order, the first third (at least one) is the first group, the rest the
 * second. Everything is numbered by the world's ranks; a rooted collective has its root in one
 * group and its members in the other. Where MPI allows it, each direction has its own amount. */
#include "tests/collectives/diff_conformance_internal.h"

#include <stdlib.h>

static int first_group(int size)
{
    int first = (size + 1) / 3;
    return first > 0 ? first : 1;
}

int conf_inter_base(int size, int rank)
{
    return rank < first_group(size) ? 0 : first_group(size);
}

static int group_size(int size, int rank)
{
    return rank < first_group(size) ? first_group(size) : size - first_group(size);
}

/* The other group: where it begins, and how many they are. */
static int other_base(int size, int rank)
{
    return rank < first_group(size) ? first_group(size) : 0;
}

static int other_size(int size, int rank)
{
    return size - group_size(size, rank);
}

bool conf_inter_fits(const struct conf_case *at)
{
    int kind = at->kind;
    if (at->type != DIFF_DOUBLE && at->type != DIFF_COMPLEX_FLOAT)
        return false;
    /* Who has no partner would keep what it sends. */
    return kind != CONF_SENDRECV_REPLACE && kind != CONF_PROBE && kind != DIFF_SCAN &&
           kind != DIFF_EXSCAN && !conf_is_neighbor(kind) && !at->in_place &&
           at->counts != CONF_TYPED && at->op != CONF_MINLOC && at->op != CONF_MAXLOC &&
           at->values <= CONF_TWO_ZEROS;
}

MPI_Comm conf_inter_make(void)
{
    int rank, size;
    MPI_Comm own, comm;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size < 2)
        return MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, conf_inter_base(size, rank), rank, &own);
    MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, other_base(size, rank), 0, &comm);
    MPI_Comm_free(&own);
    return comm;
}

/* What rank `from` has for each, or for rank `to`, of the other group. */
static int block(const struct conf_world *world, int from, int to)
{
    const struct conf_case *at = world->at;
    if (conf_kinds[at->kind].v)
        return conf_block(at, from, conf_is_alltoall(at->kind) ? to : 0);
    bool more = (at->kind == DIFF_ALLGATHER || at->kind == DIFF_ALLTOALL) && from > to;
    return at->counts == CONF_ZERO ? 0 : more ? 3 : 2;
}

static struct conf_side blocks(const struct conf_world *world, int rank, bool receives)
{
    int base = other_base(world->size, rank), peers = other_size(world->size, rank);
    int *counts = conf_memory((size_t)peers, sizeof *counts);
    for (int i = 0; i < peers; i++)
        counts[i] = conf_kinds[world->at->kind].rooted ? block(world, base + i, base + i)
                    : receives                         ? block(world, base + i, rank)
                                                       : block(world, rank, base + i);
    struct conf_side side = conf_side_blocks(world->at, peers, counts, receives);
    free(counts);
    return side;
}

int conf_inter_part(const struct conf_world *world, int rank)
{
    int size = world->size, own = rank - conf_inter_base(size, rank);
    int even = world->at->counts == CONF_ZERO ? 0 : other_size(size, rank);
    if (world->at->counts < CONF_UNEQUAL || even == 0 || own / 2 * 2 + 1 >= group_size(size, rank))
        return even;
    return own % 2 ? even - 1 : even + 1;
}

static size_t all_parts(const struct conf_world *world)
{
    size_t each = world->at->counts == CONF_ZERO ? 0 : 1;
    return each * (size_t)other_size(world->size, 0) * (size_t)group_size(world->size, 0);
}

static void sides_fill(const struct conf_world *world, int r)
{
    int kind = world->at->kind, root = conf_root(world), size = world->size;
    struct conf_side *send = &world->send[r], *receive = &world->receive[r];
    bool member = conf_inter_base(size, r) != conf_inter_base(size, root);
    size_t own = (size_t)block(world, r, other_base(size, r));
    *send = *receive = (struct conf_side){0};
    switch (kind) {
    case DIFF_BARRIER:
        break;
    case DIFF_BCAST:
        *send = conf_side_dense(own);
        *receive = conf_side_dense(member ? own : 0);
        break;
    case DIFF_REDUCE:
        *send = conf_side_dense(own);
        *receive = conf_side_dense(r == root ? own : 0);
        break;
    case DIFF_ALLREDUCE:
        *send = conf_side_dense(own);
        *receive = conf_side_dense(own);
        break;
    case DIFF_GATHER:
    case DIFF_GATHERV:
        *send = conf_side_dense(member ? own : 0);
        if (r == root)
            *receive = blocks(world, r, true);
        break;
    case DIFF_SCATTER:
    case DIFF_SCATTERV:
        if (r == root)
            *send = blocks(world, r, false);
        *receive = conf_side_dense(member ? own : 0);
        break;
    case DIFF_REDUCE_SCATTER:
    case DIFF_REDUCE_SCATTER_BLOCK:
        *send = conf_side_dense(all_parts(world));
        *receive = conf_side_dense((size_t)conf_inter_part(world, r));
        break;
    case DIFF_ALLGATHER:
    case DIFF_ALLGATHERV:
        *send = conf_side_dense(own);
        *receive = blocks(world, r, true);
        break;
    default:
        *send = blocks(world, r, false);
        *receive = blocks(world, r, true);
    }
    if (!send->index)
        *send = conf_side_dense(0);
    if (!receive->index)
        *receive = conf_side_dense(0);
}

void conf_inter_sides(struct conf_world *world)
{
    for (int r = 0; r < world->size; r++)
        sides_fill(world, r);
}

int conf_inter_root(const struct conf_world *world)
{
    int size = world->size, root = conf_root(world);
    if (!conf_kinds[world->at->kind].rooted)
        return 0;
    if (world->rank == root)
        return MPI_ROOT;
    bool member = conf_inter_base(size, world->rank) != conf_inter_base(size, root);
    return member ? root - conf_inter_base(size, root) : MPI_PROC_NULL;
}

size_t conf_inter_count(const struct conf_world *world)
{
    const struct conf_side *receive = &world->receive[world->rank];
    return receive->peers > 0 ? (size_t)receive->counts[0] : receive->dense;
}

/* ---- the reference ---- */

/* Where rank `from` has what rank `to` gets: behind what those before it get. */
static size_t begin_of(const struct conf_world *world, int from, int to)
{
    size_t begin = 0;
    for (int p = other_base(world->size, from); p < to; p++)
        begin += (size_t)(conf_is_alltoall(world->at->kind) ? block(world, from, p)
                                                            : block(world, p, p));
    return begin;
}

static void folded(const struct conf_world *world, int to, size_t begin)
{
    struct reference_case theirs = world->reference;
    theirs.x += other_base(world->size, to);
    theirs.ranks = other_size(world->size, to);
    reference_fold(&theirs, theirs.x, begin, theirs.y[to].count, theirs.ranks - 1,
                   theirs.y[to].values);
}

/* Everybody's block for this rank, one after the other. */
static void collected(const struct conf_world *world, int to)
{
    const struct reference_case *all = &world->reference;
    size_t at = 0;
    int base = other_base(world->size, to);
    for (int from = base; from < base + other_size(world->size, to); from++) {
        bool parts = conf_is_alltoall(world->at->kind);
        size_t count = (size_t)block(world, from, to);
        reference_copy(all, all->y[to].values, at, all->x[from].values,
                       parts ? begin_of(world, from, to) : 0, count);
        at += count;
    }
}

void conf_inter_reference(const struct conf_world *world)
{
    const struct reference_case *all = &world->reference;
    int root = conf_root(world);
    for (int r = 0; r < world->size; r++) {
        size_t begin = 0, count = all->y[r].count;
        if (count == 0)
            continue;
        switch (world->at->kind) {
        case DIFF_BCAST:
            reference_copy(all, all->y[r].values, 0, all->x[root].values, 0, count);
            break;
        case DIFF_SCATTER:
        case DIFF_SCATTERV:
            reference_copy(all, all->y[r].values, 0, all->x[root].values, begin_of(world, root, r),
                           count);
            break;
        case DIFF_REDUCE:
        case DIFF_ALLREDUCE:
            folded(world, r, 0);
            break;
        case DIFF_REDUCE_SCATTER:
        case DIFF_REDUCE_SCATTER_BLOCK:
            for (int p = conf_inter_base(world->size, r); p < r; p++)
                begin += (size_t)conf_inter_part(world, p);
            folded(world, r, begin);
            break;
        default:
            collected(world, r);
        }
    }
}

/* ---- messages: between the first ranks of both, the second, and so on ---- */

int conf_inter_partner(const struct conf_world *world, int rank)
{
    int size = world->size, own = rank - conf_inter_base(size, rank);
    return own < other_size(size, rank) ? other_base(size, rank) + own : -1;
}
