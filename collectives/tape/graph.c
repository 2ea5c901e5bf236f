/* Neighborhoods and their reversal: see graph.h. */
#include "collectives/tape/graph.h"

#include "collectives/tape/node.h"

#include <stdlib.h>

struct edge {
    int peer, number, slot; /* number: which of the sender's edges it is */
};

static int edge_compare(const void *a, const void *b)
{
    const struct edge *left = a, *right = b;
    if (left->peer != right->peer)
        return left->peer < right->peer ? -1 : 1;
    return left->number < right->number ? -1 : left->number > right->number;
}

static int *integers(const struct diff_channel *channel, int count)
{
    return arena_take(&channel->tape->fixed, ((size_t)count + 1) * sizeof(int));
}

static void lists_make(const struct diff_channel *channel, struct diff_graph *graph, int in,
                       int out)
{
    graph->source_count = in;
    graph->destination_count = out;
    graph->sources = integers(channel, in);
    graph->destinations = integers(channel, out);
}

static void cartesian_read(const struct diff_channel *channel, struct diff_graph *graph)
{
    int dims = 0;
    MPI_Cartdim_get(channel->comm, &dims);
    lists_make(channel, graph, 2 * dims, 2 * dims);
    for (int d = 0; d < dims; d++) {
        MPI_Cart_shift(channel->comm, d, 1, &graph->sources[2 * d], &graph->sources[2 * d + 1]);
        graph->destinations[2 * d] = graph->sources[2 * d];
        graph->destinations[2 * d + 1] = graph->sources[2 * d + 1];
    }
}

static void neighbors_read(const struct diff_channel *channel, struct diff_graph *graph)
{
    int topology = MPI_UNDEFINED, in = 0, out = 0, weighted = 0;
    MPI_Topo_test(channel->comm, &topology);
    if (topology == MPI_CART) {
        cartesian_read(channel, graph);
    } else if (topology == MPI_DIST_GRAPH) {
        MPI_Dist_graph_neighbors_count(channel->comm, &in, &out, &weighted);
        lists_make(channel, graph, in, out);
        MPI_Dist_graph_neighbors(channel->comm, in, graph->sources, integers(channel, in), out,
                                 graph->destinations, integers(channel, out));
    } else {
        MPI_Graph_neighbors_count(channel->comm, channel->rank, &in);
        lists_make(channel, graph, in, in);
        MPI_Graph_neighbors(channel->comm, channel->rank, in, graph->sources);
        for (int i = 0; i < in; i++)
            graph->destinations[i] = graph->sources[i];
    }
}

/* The number each incoming edge has at its sender; -1 for an absent one. */
static int *edge_numbers(const struct diff_channel *channel, const struct diff_graph *graph,
                         bool uniform)
{
    int in = graph->source_count, out = graph->destination_count, most = in > out ? in : out;
    int *sent = integers(channel, out), *received = integers(channel, in);
    int *counts = integers(channel, most), *begins = integers(channel, most);
    for (int i = 0; i < most; i++) {
        counts[i] = 1;
        begins[i] = i;
    }
    for (int i = 0; i < out; i++)
        sent[i] = i;
    for (int i = 0; i < in; i++)
        received[i] = -1;
    if (uniform)
        MPI_Neighbor_alltoall(sent, 1, MPI_INT, received, 1, MPI_INT, channel->comm);
    else
        MPI_Neighbor_alltoallv(sent, counts, begins, MPI_INT, received, counts, begins, MPI_INT,
                               channel->comm);
    return received;
}

static int *order_make(const struct diff_channel *channel, const int *peers, const int *numbers,
                       int count, int *present)
{
    struct edge *edges = arena_take(&channel->tape->fixed, ((size_t)count + 1) * sizeof *edges);
    int *order = integers(channel, count);
    *present = 0;
    for (int i = 0; i < count; i++)
        if (peers[i] != MPI_PROC_NULL)
            edges[(*present)++] = (struct edge){peers[i], numbers ? numbers[i] : i, i};
    qsort(edges, (size_t)*present, sizeof *edges, edge_compare);
    for (int i = 0; i < *present; i++)
        order[i] = edges[i].slot;
    return order;
}

void graph_learn(struct diff_channel *channel)
{
    struct diff_graph *graph = arena_take_zeroed(&channel->tape->fixed, sizeof *graph);
    neighbors_read(channel, graph);
    const int *numbers = edge_numbers(channel, graph, false);
    graph->source_order =
        order_make(channel, graph->sources, numbers, graph->source_count, &graph->present_sources);
    graph->source_order_uniform =
        order_make(channel, graph->sources, edge_numbers(channel, graph, true), graph->source_count,
                   &graph->present_sources);
    graph->destination_order = order_make(channel, graph->destinations, NULL,
                                          graph->destination_count, &graph->present_destinations);
    channel->graph = graph;
}

MPI_Comm graph_reversed(const struct diff_channel *channel)
{
    const struct diff_graph *graph = channel->graph;
    int in = graph->present_destinations, out = graph->present_sources;
    int *sources = integers(channel, in), *destinations = integers(channel, out);
    int *weights = integers(channel, in > out ? in : out);
    for (int i = 0; i < in || i < out; i++)
        weights[i] = 1;
    for (int i = 0; i < in; i++)
        sources[i] = graph->destinations[graph->destination_order[i]];
    for (int i = 0; i < out; i++)
        destinations[i] = graph->sources[graph->source_order[i]];
    MPI_Comm reversed;
    MPI_Dist_graph_create_adjacent(channel->comm, in, sources, weights, out, destinations, weights,
                                   MPI_INFO_NULL, 0, &reversed);
    return reversed;
}
