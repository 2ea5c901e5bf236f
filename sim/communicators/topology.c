/* Virtual topologies as objects: see topology.h. */
#include "sim/communicators/topology.h"

#include "sim/worlds/error.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sim_topology *sim_topology_retain(struct sim_topology *topology)
{
    if (topology)
        topology->references++;
    return topology;
}

static void edges_release(struct sim_edges *edges)
{
    free(edges->first);
    free(edges->peers);
    free(edges->weights);
    free(edges->slots);
}

void sim_topology_release(struct sim_topology *topology)
{
    if (!topology || --topology->references > 0)
        return;
    edges_release(&topology->in);
    edges_release(&topology->out);
    free(topology->extents);
    free(topology->periods);
    free(topology);
}

/* ---- edges ---- */

static void *array_of(size_t count, size_t size)
{
    void *array = calloc(count ? count : 1, size);
    assert(array && "out of memory for a topology");
    return array;
}

/* Two passes fill a list of edges: count them per rank, then place them. */
static void edges_start(struct sim_edges *edges, int ranks)
{
    edges->first = array_of((size_t)ranks + 2, sizeof *edges->first);
}

static void edges_count(struct sim_edges *edges, int rank, int count)
{
    edges->first[rank + 2] += (size_t)count;
}

static void edges_allocate(struct sim_edges *edges, int ranks)
{
    for (int r = 0; r < ranks; r++)
        edges->first[r + 2] += edges->first[r + 1];
    size_t total = edges->first[ranks + 1];
    edges->peers = array_of(total, sizeof *edges->peers);
    edges->weights = array_of(total, sizeof *edges->weights);
    edges->slots = array_of(total, sizeof *edges->slots);
}

/* Shifts first[] from "end of the rank before" to "begin of this rank" as the rank is filled. */
static void edges_place(struct sim_edges *edges, int rank, int peer, int weight)
{
    size_t at = edges->first[rank + 1]++;
    edges->peers[at] = peer;
    edges->weights[at] = weight;
}

struct end { /* one end of an edge, to bring both together */
    int source, destination, slot;
    size_t at;
};

static int compare_ends(const void *left, const void *right)
{
    const struct end *a = left, *b = right;
    if (a->destination != b->destination)
        return a->destination < b->destination ? -1 : 1;
    if (a->source != b->source)
        return a->source < b->source ? -1 : 1;
    return a->slot < b->slot ? -1 : a->slot > b->slot;
}

static struct end *ends_of(const struct sim_edges *edges, int ranks, bool incoming)
{
    struct end *ends = array_of(edges->first[ranks], sizeof *ends);
    for (int r = 0; r < ranks; r++)
        for (size_t at = edges->first[r]; at < edges->first[r + 1]; at++) {
            int peer = edges->peers[at];
            ends[at] = (struct end){incoming ? peer : r, incoming ? r : peer,
                                    (int)(at - edges->first[r]), at};
        }
    qsort(ends, edges->first[ranks], sizeof *ends, compare_ends);
    return ends;
}

static int compare_edges(const struct end *a, const struct end *b)
{
    struct end x = *a, y = *b;
    x.slot = y.slot = 0;
    return compare_ends(&x, &y);
}

/* Finds for each incoming edge the outgoing one that feeds it. False when one side has an edge that
 * the other has not; `lonely` is then the first such. */
static bool edges_match(struct sim_topology *topology, struct end *lonely, bool *lonely_incoming)
{
    struct end *in = ends_of(&topology->in, topology->size, true);
    struct end *out = ends_of(&topology->out, topology->size, false);
    size_t ins = topology->in.first[topology->size], outs = topology->out.first[topology->size];
    bool whole = true;
    for (size_t i = 0, o = 0; i < ins || o < outs;) {
        int order = i == ins ? 1 : o == outs ? -1 : compare_edges(&in[i], &out[o]);
        if (order != 0 && whole) {
            *lonely_incoming = order < 0;
            *lonely = order < 0 ? in[i] : out[o];
            whole = false;
        }
        if (order <= 0)
            topology->in.slots[in[i].at] = order < 0 ? -1 : out[o].slot;
        i += order <= 0;
        o += order >= 0;
    }
    free(in);
    free(out);
    return whole;
}

/* An edge is given at both ends with the same weight; of several edges between two ranks in any
 * order. False, and the first end that differs: not so. */
static bool weights_match(const struct sim_topology *topology, struct end *unequal)
{
    const struct sim_edges *edges[2] = {&topology->in, &topology->out};
    struct end *ends[2];
    size_t count = topology->in.first[topology->size];
    bool match = true;
    for (int side = 0; side < 2; side++) {
        ends[side] = ends_of(edges[side], topology->size, side == 0);
        for (size_t i = 0; i < count; i++)
            ends[side][i].slot = edges[side]->weights[ends[side][i].at];
        qsort(ends[side], count, sizeof *ends[side], compare_ends);
    }
    for (size_t i = 0; i < count && match; i++) {
        match = ends[0][i].slot == ends[1][i].slot;
        *unequal = ends[0][i];
    }
    free(ends[0]);
    free(ends[1]);
    return match;
}

/* ---- building ---- */

static int *copy_of(const int *numbers, int count)
{
    int *copy = array_of((size_t)count, sizeof *copy);
    if (count)
        memcpy(copy, numbers, (size_t)count * sizeof *copy);
    return copy;
}

static void build_cart(struct sim_topology *topology, const struct sim_cart *cart)
{
    topology->dimensions = cart->dimensions;
    topology->extents = copy_of(cart->extents, cart->dimensions);
    topology->periods = copy_of(cart->periods, cart->dimensions);
    for (int d = 0; d < cart->dimensions; d++)
        topology->periods[d] = topology->periods[d] != 0;
}

static void build_graph(struct sim_topology *topology, const struct sim_topology_plan *plan)
{
    struct sim_edges *both[2] = {&topology->in, &topology->out};
    for (int side = 0; side < 2; side++) {
        edges_start(both[side], plan->size);
        for (int r = 0; r < plan->size; r++)
            edges_count(both[side], r, plan->index[r] - (r ? plan->index[r - 1] : 0));
        edges_allocate(both[side], plan->size);
        for (int r = 0; r < plan->size; r++)
            for (int e = r ? plan->index[r - 1] : 0; e < plan->index[r]; e++)
                edges_place(both[side], r, plan->edges[e], 0);
    }
}

static int weight_of(const struct sim_topology_plan *plan, const int *weights, int i)
{
    return plan->weighted ? weights[i] : 0;
}

static void build_adjacent(struct sim_topology *topology,
                           const struct sim_topology_plan *const *plans)
{
    int n = topology->size;
    edges_start(&topology->in, n);
    edges_start(&topology->out, n);
    for (int r = 0; r < n; r++) {
        edges_count(&topology->in, r, plans[r]->in_count);
        edges_count(&topology->out, r, plans[r]->out_count);
    }
    edges_allocate(&topology->in, n);
    edges_allocate(&topology->out, n);
    for (int r = 0; r < n; r++) {
        const struct sim_topology_plan *plan = plans[r];
        for (int i = 0; i < plan->in_count; i++)
            edges_place(&topology->in, r, plan->in[i], weight_of(plan, plan->in_weights, i));
        for (int i = 0; i < plan->out_count; i++)
            edges_place(&topology->out, r, plan->out[i], weight_of(plan, plan->out_weights, i));
    }
}

/* Both lists are filled in one order, so parallel edges stay paired, weights included. */
static void build_anywhere(struct sim_topology *topology,
                           const struct sim_topology_plan *const *plans)
{
    int n = topology->size;
    edges_start(&topology->in, n);
    edges_start(&topology->out, n);
    for (int pass = 0; pass < 2; pass++) {
        for (int r = 0; r < n; r++) {
            const struct sim_topology_plan *plan = plans[r];
            for (int i = 0, e = 0; i < plan->count; i++)
                for (int end = e + plan->degrees[i]; e < end; e++) {
                    int from = plan->sources[i], to = plan->destinations[e];
                    if (pass == 0) {
                        edges_count(&topology->out, from, 1);
                        edges_count(&topology->in, to, 1);
                    } else {
                        int weight = weight_of(plan, plan->weights, e);
                        edges_place(&topology->out, from, to, weight);
                        edges_place(&topology->in, to, from, weight);
                    }
                }
        }
        if (pass == 0) {
            edges_allocate(&topology->in, n);
            edges_allocate(&topology->out, n);
        }
    }
}

/* What differs between two members' arguments, in words; NULL: nothing. */
static const char *difference(const struct sim_topology_plan *a, const struct sim_topology_plan *b)
{
    if (a->size != b->size)
        return "numbers of ranks";
    if (a->reorder != b->reorder)
        return "values of reorder";
    if (a->kind == MPI_DIST_GRAPH)
        return a->weighted != b->weighted ? "uses of MPI_UNWEIGHTED" : NULL;
    if (a->kind == MPI_GRAPH) {
        size_t bytes = (size_t)a->size * sizeof(int);
        if (memcmp(a->index, b->index, bytes))
            return "index arrays";
        bytes = (size_t)a->index[a->size - 1] * sizeof(int);
        return bytes && memcmp(a->edges, b->edges, bytes) ? "edges" : NULL;
    }
    if (a->cart.dimensions != b->cart.dimensions)
        return "numbers of dimensions";
    for (int d = 0; d < a->cart.dimensions; d++) {
        if (a->cart.extents[d] != b->cart.extents[d])
            return "extents";
        if (!a->cart.periods[d] != !b->cart.periods[d])
            return "periods";
    }
    return NULL;
}

static bool agree(const struct sim_topology_plan *const *plans, int members, int *error,
                  char complaint[160])
{
    for (int r = 1; r < members; r++) {
        const char *what = difference(plans[0], plans[r]);
        if (!what)
            continue;
        *error = MPI_ERR_NOT_SAME;
        snprintf(complaint, 160, "the %s given by ranks 0 and %d of the communicator differ", what,
                 r);
        return false;
    }
    if (!plans[0]->whole || plans[0]->size == members)
        return true;
    *error = MPI_ERR_NOT_SAME;
    snprintf(complaint, 160, "the members do not keep the same dimensions");
    return false;
}

struct sim_topology *sim_topology_build(const struct sim_topology_plan *const *plans, int members,
                                        int *error, char complaint[160])
{
    const struct sim_topology_plan *first = plans[0];
    if (!agree(plans, members, error, complaint))
        return NULL;
    struct sim_topology *topology = array_of(1, sizeof *topology);
    *topology = (struct sim_topology){
        .references = 1, .kind = first->kind, .size = first->size, .weighted = first->weighted};
    if (first->kind == MPI_CART) {
        build_cart(topology, &first->cart);
        return topology;
    }
    if (first->kind == MPI_GRAPH)
        build_graph(topology, first);
    else if (first->adjacent)
        build_adjacent(topology, plans);
    else
        build_anywhere(topology, plans);
    struct end lonely = {0};
    bool incoming = false;
    bool matched = edges_match(topology, &lonely, &incoming) || first->kind == MPI_GRAPH;
    if (matched && (!first->adjacent || !first->weighted || weights_match(topology, &lonely)))
        return topology;
    *error = MPI_ERR_TOPOLOGY;
    if (matched)
        snprintf(complaint, 160,
                 "ranks %d and %d give the edge from one to the other different weights",
                 lonely.source, lonely.destination);
    else
        snprintf(complaint, 160,
                 "rank %d lists an edge from %d to %d that rank %d does not list as often",
                 incoming ? lonely.destination : lonely.source, lonely.source, lonely.destination,
                 incoming ? lonely.source : lonely.destination);
    sim_topology_release(topology);
    return NULL;
}

/* ---- looking ---- */

struct sim_cart sim_topology_cart(const struct sim_topology *topology)
{
    return (struct sim_cart){topology->dimensions, topology->extents, topology->periods};
}

static int count_at(const struct sim_topology *topology, const struct sim_edges *edges, int rank)
{
    if (topology->kind == MPI_CART)
        return 2 * topology->dimensions;
    return (int)(edges->first[rank + 1] - edges->first[rank]);
}

static int peer_at(const struct sim_topology *topology, const struct sim_edges *edges, int rank,
                   int k)
{
    if (topology->kind != MPI_CART)
        return edges->peers[edges->first[rank] + (size_t)k];
    struct sim_cart cart = sim_topology_cart(topology);
    return sim_cart_neighbour(&cart, rank, k / 2, k % 2 ? 1 : -1);
}

int sim_topology_in_count(const struct sim_topology *topology, int rank)
{
    return count_at(topology, &topology->in, rank);
}

int sim_topology_out_count(const struct sim_topology *topology, int rank)
{
    return count_at(topology, &topology->out, rank);
}

int sim_topology_source(const struct sim_topology *topology, int rank, int k)
{
    return peer_at(topology, &topology->in, rank, k);
}

int sim_topology_destination(const struct sim_topology *topology, int rank, int k)
{
    return peer_at(topology, &topology->out, rank, k);
}

int sim_topology_source_slot(const struct sim_topology *topology, int rank, int k)
{
    if (topology->kind == MPI_CART)
        return k ^ 1;
    return topology->in.slots[topology->in.first[rank] + (size_t)k];
}

struct sim_comm *sim_topology_check(MPI_Comm handle, int kind, const char *function, int *error)
{
    struct sim_comm *comm = sim_comm_check(handle, function, error);
    if (!comm)
        return NULL;
    const struct sim_topology *topology = comm->context->topology;
    if (topology && (kind == MPI_UNDEFINED || topology->kind == kind))
        return comm;
    *error = sim_error_raise(handle, MPI_ERR_TOPOLOGY, function, "communicator has no %s topology",
                             kind == MPI_CART         ? "Cartesian"
                             : kind == MPI_GRAPH      ? "graph"
                             : kind == MPI_DIST_GRAPH ? "distributed graph"
                                                      : "virtual");
    return NULL;
}
