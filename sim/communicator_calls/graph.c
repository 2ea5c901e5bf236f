/* MPI's calls for graphs and distributed graphs. The object is in communicators/topology.h. Ranks
 * are never reordered and infos are not looked at: reorder must be alike on all ranks all the same. */
#include "sim/communicators/info.h"
#include "sim/communicators/topology.h"
#include "sim/worlds/error.h"

/* ---- graphs ---- */

static int check_graph(const struct sim_comm *comm, const char *function, int nodes,
                       const int *index, const int *edges)
{
    MPI_Comm handle = sim_comm_handle((struct sim_comm *)(uintptr_t)comm);
    if (nodes < 0 || nodes > comm->size)
        return sim_error_raise(handle, MPI_ERR_ARG, function,
                               "%d nodes do not fit into a communicator of %d ranks", nodes,
                               comm->size);
    if (nodes && !index)
        return sim_error_raise(handle, MPI_ERR_ARG, function, "the array of indices is NULL");
    for (int r = 0, before = 0; r < nodes; before = index[r++]) {
        if (index[r] < before)
            return sim_error_raise(handle, MPI_ERR_ARG, function,
                                   "index %d is %d, less than the one before it", r, index[r]);
        for (int e = before; e < index[r]; e++)
            if (edges[e] < 0 || edges[e] >= nodes)
                return sim_error_raise(handle, MPI_ERR_ARG, function,
                                       "edge %d goes to %d, which is not a node", e, edges[e]);
    }
    return MPI_SUCCESS;
}

int PMPI_Graph_create(MPI_Comm handle, int nodes, const int index[], const int edges[], int reorder,
                      MPI_Comm *made)
{
    int error;
    struct sim_comm *comm = sim_comm_check(handle, "Graph_create", &error);
    if (!comm)
        return error;
    error = check_graph(comm, "Graph_create", nodes, index, edges);
    if (error)
        return error;
    *made = MPI_COMM_NULL;
    if (!nodes)
        return MPI_SUCCESS;
    struct sim_topology_plan plan = {
        .kind = MPI_GRAPH, .size = nodes, .reorder = reorder, .index = index, .edges = edges};
    return sim_comm_create_topology(comm, SIM_GRAPH_CREATE, &plan, made);
}

int PMPI_Graph_map(MPI_Comm handle, int nodes, const int index[], const int edges[], int *rank)
{
    int error;
    struct sim_comm *comm = sim_comm_check(handle, "Graph_map", &error);
    if (!comm)
        return error;
    error = check_graph(comm, "Graph_map", nodes, index, edges);
    if (!error)
        *rank = comm->rank < nodes ? comm->rank : MPI_UNDEFINED;
    return error;
}

int PMPI_Graphdims_get(MPI_Comm handle, int *nodes, int *edges)
{
    int error;
    struct sim_comm *comm = sim_topology_check(handle, MPI_GRAPH, "Graphdims_get", &error);
    if (!comm)
        return error;
    const struct sim_topology *topology = comm->context->topology;
    *nodes = topology->size;
    *edges = (int)topology->out.first[topology->size];
    return MPI_SUCCESS;
}

int PMPI_Graph_get(MPI_Comm handle, int index_room, int edges_room, int index[], int edges[])
{
    int error;
    struct sim_comm *comm = sim_topology_check(handle, MPI_GRAPH, "Graph_get", &error);
    if (!comm)
        return error;
    if (index_room < 0 || edges_room < 0)
        return sim_error_raise(handle, MPI_ERR_ARG, "Graph_get",
                               "room for %d indices and %d edges is negative", index_room,
                               edges_room);
    const struct sim_topology *topology = comm->context->topology;
    for (int r = 0; r < topology->size && r < index_room; r++)
        index[r] = (int)topology->out.first[r + 1];
    for (size_t e = 0; e < topology->out.first[topology->size] && (int)e < edges_room; e++)
        edges[e] = topology->out.peers[e];
    return MPI_SUCCESS;
}

/* The caller's communicator when it is a graph that has this rank. */
static struct sim_comm *check_node(MPI_Comm handle, const char *function, int rank, int *error)
{
    struct sim_comm *comm = sim_topology_check(handle, MPI_GRAPH, function, error);
    if (!comm || (rank >= 0 && rank < comm->size))
        return comm;
    *error = sim_error_raise(handle, MPI_ERR_RANK, function, "rank %d is not in a graph of %d",
                             rank, comm->size);
    return NULL;
}

int PMPI_Graph_neighbors_count(MPI_Comm handle, int rank, int *count)
{
    int error;
    struct sim_comm *comm = check_node(handle, "Graph_neighbors_count", rank, &error);
    if (comm)
        *count = sim_topology_out_count(comm->context->topology, rank);
    return error;
}

int PMPI_Graph_neighbors(MPI_Comm handle, int rank, int room, int neighbours[])
{
    int error;
    struct sim_comm *comm = check_node(handle, "Graph_neighbors", rank, &error);
    if (!comm)
        return error;
    if (room < 0)
        return sim_error_raise(handle, MPI_ERR_ARG, "Graph_neighbors",
                               "room for %d neighbours is negative", room);
    const struct sim_topology *topology = comm->context->topology;
    for (int k = 0; k < sim_topology_out_count(topology, rank) && k < room; k++)
        neighbours[k] = sim_topology_destination(topology, rank, k);
    return MPI_SUCCESS;
}

/* ---- distributed graphs ---- */

static int check_ends(const struct sim_comm *comm, const char *function, const char *what,
                      int count, const int *ranks)
{
    MPI_Comm handle = sim_comm_handle((struct sim_comm *)(uintptr_t)comm);
    if (count < 0)
        return sim_error_raise(handle, MPI_ERR_ARG, function, "the number of %ss is %d", what,
                               count);
    if (count && !ranks)
        return sim_error_raise(handle, MPI_ERR_ARG, function, "the array of %ss is NULL", what);
    for (int i = 0; i < count; i++)
        if (ranks[i] < 0 || ranks[i] >= comm->size)
            return sim_error_raise(handle, MPI_ERR_RANK, function,
                                   "%s %d is %d, not a rank of a communicator of %d", what, i,
                                   ranks[i], comm->size);
    return MPI_SUCCESS;
}

static int check_weights(const struct sim_comm *comm, const char *function, const char *what,
                         int count, const int *weights)
{
    MPI_Comm handle = sim_comm_handle((struct sim_comm *)(uintptr_t)comm);
    if (weights == MPI_UNWEIGHTED || !count)
        return MPI_SUCCESS;
    if (!weights || weights == MPI_WEIGHTS_EMPTY)
        return sim_error_raise(handle, MPI_ERR_ARG, function, "there are %d %ss but no weights",
                               count, what);
    for (int i = 0; i < count; i++)
        if (weights[i] < 0)
            return sim_error_raise(handle, MPI_ERR_ARG, function,
                                   "the weight of %s %d is %d: it must not be negative", what, i,
                                   weights[i]);
    return MPI_SUCCESS;
}

int PMPI_Dist_graph_create_adjacent(MPI_Comm handle, int in_count, const int sources[],
                                    const int source_weights[], int out_count,
                                    const int destinations[], const int destination_weights[],
                                    MPI_Info info, int reorder, MPI_Comm *made)
{
    const char *function = "Dist_graph_create_adjacent";
    int error;
    struct sim_comm *comm = sim_comm_check(handle, function, &error);
    if (comm)
        error = check_ends(comm, function, "source", in_count, sources);
    if (!error)
        error = check_ends(comm, function, "destination", out_count, destinations);
    if (!error)
        error = check_weights(comm, function, "source", in_count, source_weights);
    if (!error)
        error = check_weights(comm, function, "destination", out_count, destination_weights);
    if (!error)
        error = sim_info_check(handle, info, function);
    if (error)
        return error;
    bool weighted = source_weights != MPI_UNWEIGHTED;
    if (weighted != (destination_weights != MPI_UNWEIGHTED))
        return sim_error_raise(handle, MPI_ERR_ARG, function,
                               "either both or none of the weights may be MPI_UNWEIGHTED");
    struct sim_topology_plan plan = {.kind = MPI_DIST_GRAPH,
                                     .size = comm->size,
                                     .reorder = reorder,
                                     .weighted = weighted,
                                     .adjacent = true,
                                     .in_count = in_count,
                                     .out_count = out_count,
                                     .in = sources,
                                     .out = destinations,
                                     .in_weights = source_weights,
                                     .out_weights = destination_weights};
    return sim_comm_create_topology(comm, SIM_DIST_GRAPH_CREATE_ADJACENT, &plan, made);
}

/* Number of edges, or -1 with the error that was raised. */
static int sum_degrees(MPI_Comm handle, int count, const int *degrees, int *error)
{
    int total = 0;
    if (count && !degrees) {
        *error = sim_error_raise(handle, MPI_ERR_ARG, "Dist_graph_create",
                                 "the array of degrees is NULL");
        return -1;
    }
    for (int i = 0; i < count; i++) {
        if (degrees[i] < 0) {
            *error = sim_error_raise(handle, MPI_ERR_ARG, "Dist_graph_create", "degree %d is %d", i,
                                     degrees[i]);
            return -1;
        }
        total += degrees[i];
    }
    return total;
}

int PMPI_Dist_graph_create(MPI_Comm handle, int count, const int sources[], const int degrees[],
                           const int destinations[], const int weights[], MPI_Info info,
                           int reorder, MPI_Comm *made)
{
    const char *function = "Dist_graph_create";
    int error, edges = 0;
    struct sim_comm *comm = sim_comm_check(handle, function, &error);
    if (comm)
        error = check_ends(comm, function, "source", count, sources);
    if (!error)
        edges = sum_degrees(handle, count, degrees, &error);
    if (!error)
        error = check_ends(comm, function, "destination", edges, destinations);
    if (!error)
        error = check_weights(comm, function, "edge", edges, weights);
    if (!error)
        error = sim_info_check(handle, info, function);
    if (error)
        return error;
    struct sim_topology_plan plan = {.kind = MPI_DIST_GRAPH,
                                     .size = comm->size,
                                     .reorder = reorder,
                                     .weighted = weights != MPI_UNWEIGHTED,
                                     .count = count,
                                     .sources = sources,
                                     .degrees = degrees,
                                     .destinations = destinations,
                                     .weights = weights};
    return sim_comm_create_topology(comm, SIM_DIST_GRAPH_CREATE, &plan, made);
}

int PMPI_Dist_graph_neighbors_count(MPI_Comm handle, int *in_count, int *out_count, int *weighted)
{
    int error;
    struct sim_comm *comm =
        sim_topology_check(handle, MPI_DIST_GRAPH, "Dist_graph_neighbors_count", &error);
    if (!comm)
        return error;
    const struct sim_topology *topology = comm->context->topology;
    *in_count = sim_topology_in_count(topology, comm->rank);
    *out_count = sim_topology_out_count(topology, comm->rank);
    *weighted = topology->weighted;
    return MPI_SUCCESS;
}

static void list(const struct sim_topology *topology, const struct sim_edges *edges, int rank,
                 int room, int *peers, int *weights)
{
    size_t first = edges->first[rank], count = edges->first[rank + 1] - first;
    for (size_t k = 0; k < count && (int)k < room; k++) {
        peers[k] = edges->peers[first + k];
        if (topology->weighted && weights && weights != MPI_UNWEIGHTED)
            weights[k] = edges->weights[first + k];
    }
}

int PMPI_Dist_graph_neighbors(MPI_Comm handle, int in_room, int sources[], int source_weights[],
                              int out_room, int destinations[], int destination_weights[])
{
    int error;
    struct sim_comm *comm =
        sim_topology_check(handle, MPI_DIST_GRAPH, "Dist_graph_neighbors", &error);
    if (!comm)
        return error;
    if (in_room < 0 || out_room < 0)
        return sim_error_raise(handle, MPI_ERR_ARG, "Dist_graph_neighbors",
                               "room for a negative number of neighbours");
    const struct sim_topology *topology = comm->context->topology;
    list(topology, &topology->in, comm->rank, in_room, sources, source_weights);
    list(topology, &topology->out, comm->rank, out_room, destinations, destination_weights);
    return MPI_SUCCESS;
}
