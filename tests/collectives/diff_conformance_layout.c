/* Conformance suite: who sends how many values to whom, and where they stand. */
#include "tests/collectives/diff_conformance_internal.h"

#include <stdlib.h>

const struct conf_kind conf_kinds[CONF_KINDS] = {
    [DIFF_BCAST] = {.rooted = true},
    [DIFF_REDUCE] = {.rooted = true, .reduces = true},
    [DIFF_ALLREDUCE] = {.reduces = true},
    [DIFF_GATHER] = {.rooted = true},
    [DIFF_GATHERV] = {.rooted = true, .v = true},
    [DIFF_SCATTER] = {.rooted = true},
    [DIFF_SCATTERV] = {.rooted = true, .v = true},
    [DIFF_ALLGATHERV] = {.v = true},
    [DIFF_REDUCE_SCATTER] = {.reduces = true, .v = true},
    [DIFF_REDUCE_SCATTER_BLOCK] = {.reduces = true},
    [DIFF_ALLTOALLV] = {.v = true},
    [DIFF_ALLTOALLW] = {.v = true},
    [DIFF_SCAN] = {.reduces = true},
    [DIFF_EXSCAN] = {.reduces = true},
    [DIFF_NEIGHBOR_ALLGATHERV] = {.v = true},
    [DIFF_NEIGHBOR_ALLTOALLV] = {.v = true},
    [DIFF_NEIGHBOR_ALLTOALLW] = {.v = true},
};

bool conf_is_neighbor(int kind)
{
    return kind >= DIFF_NEIGHBOR_ALLGATHER && kind < DIFF_COLLECTIVES;
}

bool conf_is_alltoall(int kind)
{
    return kind >= DIFF_ALLTOALL && kind <= DIFF_ALLTOALLW;
}

bool conf_is_w(int kind)
{
    return kind == DIFF_ALLTOALLW || kind == DIFF_NEIGHBOR_ALLTOALLW;
}

int conf_root(const struct conf_world *world)
{
    static const int none = 0;
    int size = world->size;
    const int roots[] = {none, size - 1, size / 2};
    return roots[world->at->root];
}

/* Values of rank i's block for rank j. */
int conf_block(const struct conf_case *at, int i, int j)
{
    switch (at->counts) {
    case CONF_ZERO:
        return 0;
    case CONF_UNEQUAL:
    case CONF_GAPS:
        return (3 * i + 2 * j + 1) % 4; /* none for some */
    default:
        return 2;
    }
}

uint64_t conf_mixed(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t z = a * 0x9e3779b97f4a7c15u + b * 0xbf58476d1ce4e5b9u + c * 0x94d049bb133111ebu + 1;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Between 0.5 and 1.5 in absolute value, and exactly a float. */
double conf_number(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t z = conf_mixed(a, b, c);
    float value = 0.5f + (float)(z >> 41) * 0x1p-23f;
    return z & 1 ? (double)value : -(double)value;
}

void *conf_memory(size_t count, size_t size)
{
    void *piece = calloc(count + 1, size);
    if (!piece)
        abort();
    return piece;
}

/* ---- layouts ---- */

static void side_blocks(struct conf_side *side, int peers, bool strided)
{
    side->peers = peers;
    side->counts = conf_memory((size_t)peers, sizeof(int));
    side->begins = conf_memory((size_t)peers, sizeof(int));
    (void)strided;
}

/* Lists the elements of the blocks; `stride` 2 for a vector datatype. */
static void side_close(struct conf_side *side, size_t stride)
{
    for (int i = 0; i < side->peers; i++)
        side->dense += (size_t)side->counts[i];
    side->index = conf_memory(side->dense, sizeof(size_t));
    size_t at = 0;
    for (int i = 0; i < side->peers; i++)
        for (int k = 0; k < side->counts[i]; k++) {
            size_t place = (size_t)side->begins[i] + (size_t)k * stride;
            side->index[at++] = place;
            side->full = place + 1 > side->full ? place + 1 : side->full;
        }
}

struct conf_side conf_side_dense(size_t count)
{
    struct conf_side side = {.full = count, .dense = count};
    side.index = conf_memory(count, sizeof(size_t));
    for (size_t i = 0; i < count; i++)
        side.index[i] = i;
    return side;
}

/* Blocks one after the other; with gaps: received ones one apart (and strided for w), sent ones
 * overlap. */
struct conf_side conf_side_blocks(const struct conf_case *at, int peers, const int *counts,
                                  bool receives)
{
    struct conf_side side = {0};
    side_blocks(&side, peers, false);
    bool gaps = at->counts == CONF_GAPS;
    int next = gaps && receives ? 1 : 0;
    size_t stride = conf_is_w(at->kind) && receives ? 2 : 1;
    for (int i = 0; i < peers; i++) {
        side.counts[i] = counts[i];
        side.begins[i] = gaps && !receives ? i : next;
        next += counts[i] * (int)stride + (gaps ? 1 : 0);
    }
    side_close(&side, stride);
    if (gaps)
        side.full += 1;
    return side;
}

static struct conf_side side_of_list(const struct conf_world *world, int rank, bool receives,
                                     const int *counts)
{
    (void)rank;
    return conf_side_blocks(world->at, world->size, counts, receives);
}

size_t conf_typed_place(size_t i, bool receives)
{
    return receives ? 2 * i + 1 : i / 2 * 2;
}

/* The datatype has room for so many elements; not all need to be received. */
static void side_type(struct conf_side *side, size_t elements, bool receives)
{
    if (elements == 0)
        return;
    side->elements = elements;
    for (size_t i = 0; i < side->dense; i++)
        side->index[i] = conf_typed_place(i, receives);
    side->full = conf_typed_place(elements - 1, receives) + 2;
}

static void sides_type(struct conf_world *world)
{
    enum { MORE = 2 };
    for (int r = 0; r < world->size; r++) {
        struct conf_side *send = &world->send[r], *receive = &world->receive[r];
        bool keeps = conf_is_message(world->at->kind) && world->at->kind != CONF_SENDRECV_REPLACE;
        side_type(send, send->dense, false);
        side_type(receive, keeps ? send->dense + MORE : receive->dense, true);
    }
}

static void sides_alltoall(struct conf_world *world)
{
    int size = world->size;
    for (int r = 0; r < size; r++) {
        int *out = world->send_matrix + r * size, *in = world->receive_matrix + r * size;
        for (int p = 0; p < size; p++) {
            out[p] = conf_block(world->at, r, p);
            in[p] = conf_block(world->at, p, r);
        }
        if (world->at->in_place &&
            conf_kinds[world->at->kind].v) /* the standard wants the same counts both ways */
            for (int p = 0; p < size; p++)
                out[p] = in[p] = world->at->counts == CONF_ZERO ? 0 : r == p ? 1 : 1 + (r + p) % 3;
        world->send[r] = side_of_list(world, r, world->at->in_place, out); /* one buffer for both */
        world->receive[r] = side_of_list(world, r, true, in);
    }
}

/* A rank's outgoing edges: to its next twice, to the one after in between. */
void conf_graph_make(struct conf_world *world, const int *steps)
{
    enum { EDGES = 3 };
    int size = world->size;
    world->sources = conf_memory((size_t)size, sizeof(int *));
    world->destinations = conf_memory((size_t)size, sizeof(int *));
    world->edge_counts = conf_memory((size_t)size, sizeof(int *));
    world->source_counts = conf_memory((size_t)size, sizeof(int));
    world->destination_counts = conf_memory((size_t)size, sizeof(int));
    for (int r = 0; r < size; r++) {
        world->sources[r] = conf_memory(EDGES, sizeof(int));
        world->destinations[r] = conf_memory(EDGES, sizeof(int));
        world->edge_counts[r] = conf_memory(EDGES, sizeof(int));
        world->source_counts[r] = world->destination_counts[r] = EDGES;
        for (int i = 0; i < EDGES; i++) {
            world->destinations[r][i] = (r + steps[i]) % size;
            world->sources[r][i] = (r + size * 2 - steps[i]) % size;
        }
    }
}

/* Edges of a pair match in order: which of the sender's edges feeds this slot. */
static int edge_of_slot(const struct conf_world *world, int to, int slot)
{
    int from = world->sources[to][slot], before = 0;
    for (int i = 0; i < slot; i++)
        before += world->sources[to][i] == from;
    for (int i = 0; i < world->destination_counts[from]; i++)
        if (world->destinations[from][i] == to && before-- == 0)
            return i;
    return -1;
}

static void sides_neighbor(struct conf_world *world)
{
    int kind = world->at->kind;
    bool same = kind == DIFF_NEIGHBOR_ALLGATHER || kind == DIFF_NEIGHBOR_ALLGATHERV;
    for (int r = 0; r < world->size; r++) {
        int out[4], in[4], edges = world->destination_counts[r];
        for (int i = 0; i < edges; i++) {
            int from = world->sources[r][i], number_ = edge_of_slot(world, r, i);
            out[i] = conf_block(world->at, r, i);
            in[i] = same ? conf_block(world->at, from, 0) : conf_block(world->at, from, number_);
            world->edge_counts[r][i] = out[i];
        }
        world->send[r] = same ? conf_side_dense((size_t)conf_block(world->at, r, 0))
                              : conf_side_blocks(world->at, edges, out, false);
        world->receive[r] = conf_side_blocks(world->at, edges, in, true);
    }
}

void conf_sides_fill(struct conf_world *world)
{
    const struct conf_case *at = world->at;
    int size = world->size, root = conf_root(world);
    int *counts = conf_memory((size_t)size, sizeof(int));
    size_t total = 0;
    for (int p = 0; p < size; p++)
        total += (size_t)(counts[p] = conf_block(at, p, 0));
    if (conf_is_message(at->kind))
        conf_message_sides(world);
    else if (at->comm == CONF_INTER)
        conf_inter_sides(world);
    else if (conf_is_neighbor(at->kind))
        sides_neighbor(world);
    else if (conf_is_alltoall(at->kind))
        sides_alltoall(world);
    else
        for (int r = 0; r < size; r++) {
            bool gets = !conf_kinds[at->kind].rooted || r == root;
            size_t own = (size_t)counts[r];
            struct conf_side *send = &world->send[r], *receive = &world->receive[r];
            switch (at->kind) {
            case DIFF_GATHER:
            case DIFF_GATHERV:
            case DIFF_ALLGATHER:
            case DIFF_ALLGATHERV:
                *send = conf_side_dense(own);
                *receive = gets ? side_of_list(world, r, true, counts) : conf_side_dense(0);
                break;
            case DIFF_SCATTER:
            case DIFF_SCATTERV:
                *send = r == root ? side_of_list(world, r, false, counts) : conf_side_dense(0);
                *receive = conf_side_dense(own);
                break;
            case DIFF_REDUCE_SCATTER:
            case DIFF_REDUCE_SCATTER_BLOCK:
                *send = conf_side_dense(total);
                *receive = conf_side_dense(own);
                break;
            case DIFF_REDUCE:
                *send = conf_side_dense(own);
                *receive = conf_side_dense(r == root ? own : 0);
                break;
            default:
                *send = conf_side_dense(own);
                *receive = conf_side_dense(at->kind == DIFF_BARRIER ? 0 : own);
            }
        }
    free(counts);
    if (at->counts == CONF_TYPED)
        sides_type(world);
}
