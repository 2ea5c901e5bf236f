/* Virtual topologies: Cartesian grids, graphs, distributed graphs.
 *
 * A topology is built once, from what all members of the constructor brought along, shared by all
 * handles of a communicator and of its duplicates, and counted by references (in the monitor). It
 * never changes afterwards.
 *
 * Neighbourhood collectives see it as lists: rank r receives from its incoming edges in order and
 * sends along its outgoing ones. The k-th incoming edge of r from s is fed by one outgoing edge of
 * s: in graphs by the one of the same position among the edges from s to r, in grids by the
 * opposite direction of the same dimension. */
#ifndef SIM_COMMUNICATORS_TOPOLOGY_H
#define SIM_COMMUNICATORS_TOPOLOGY_H

#include "sim/communicators/cart.h"
#include "sim/communicators/comm.h"

/* What one member says about the topology to make. Points into the arguments of its MPI call, which
 * does not return before the topology is built. */
struct sim_topology_plan {
    int kind;   /* MPI_CART, MPI_GRAPH, MPI_DIST_GRAPH */
    int size;   /* ranks of the new communicator */
    bool whole; /* no member may be left over */
    bool reorder;
    struct sim_cart cart;
    uint64_t kept;            /* MPI_Cart_sub: which dimensions, by bits */
    const int *index, *edges; /* MPI_GRAPH */
    /* MPI_DIST_GRAPH: either any edges, or those that end or begin at this member */
    bool weighted, adjacent;
    int count;
    const int *sources, *degrees, *destinations, *weights;
    int in_count, out_count;
    const int *in, *out, *in_weights, *out_weights;
};

/* The edges that end (or begin) at each rank. */
struct sim_edges {
    size_t *first; /* of each rank, and one more for the end */
    int *peers, *weights;
    int *slots; /* incoming: which of the peer's outgoing edges; -1: none */
};

struct sim_topology {
    int references;
    int kind;
    int size;
    bool weighted;
    int dimensions, *extents, *periods; /* MPI_CART */
    struct sim_edges in, out;           /* MPI_GRAPH (twice the same), MPI_DIST_GRAPH */
};

/* Builds what the members agree on. NULL: they do not; *error is the class and complaint a
 * sentence. Out of memory is an assertion. The caller owns one reference. */
struct sim_topology *sim_topology_build(const struct sim_topology_plan *const *plans, int members,
                                        int *error, char complaint[160]);
struct sim_topology *sim_topology_retain(struct sim_topology *topology);

struct sim_cart sim_topology_cart(const struct sim_topology *topology);
int sim_topology_in_count(const struct sim_topology *topology, int rank);
int sim_topology_out_count(const struct sim_topology *topology, int rank);
/* Source of the k-th incoming edge (destination of the k-th outgoing one) of a rank; MPI_PROC_NULL
 * beyond the border of a grid. */
int sim_topology_source(const struct sim_topology *topology, int rank, int k);
int sim_topology_destination(const struct sim_topology *topology, int rank, int k);
/* Which outgoing edge of that source feeds it; -1: none, the graph is not symmetric there. */
int sim_topology_source_slot(const struct sim_topology *topology, int rank, int k);

/* What makes a communicator with a topology: the name of the MPI function, and what members of one
 * call have in common. */
enum sim_topology_constructor {
    SIM_CART_CREATE,
    SIM_GRAPH_CREATE,
    SIM_DIST_GRAPH_CREATE,
    SIM_DIST_GRAPH_CREATE_ADJACENT
};
/* Makes a communicator of the first plan->size ranks of comm (collective); MPI_COMM_NULL for the
 * others. Returns what the MPI function returns. */
int sim_comm_create_topology(struct sim_comm *comm, enum sim_topology_constructor constructor,
                             const struct sim_topology_plan *plan, MPI_Comm *made);
/* Makes a communicator of the members of each color, in the order of their keys (collective). */
int sim_comm_split_topology(struct sim_comm *comm, int color, int key,
                            const struct sim_topology_plan *plan, MPI_Comm *made);

/* The caller's communicator when it has a topology of this kind (MPI_UNDEFINED: any), else NULL
 * with what the MPI function must return in *error. */
struct sim_comm *sim_topology_check(MPI_Comm handle, int kind, const char *function, int *error);

#endif
