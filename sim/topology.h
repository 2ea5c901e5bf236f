/* Virtual topologies: Cartesian grids, graphs, distributed graphs. Shared by all members of a communicator, counted by references. */
#ifndef SIM_TOPOLOGY_H
#define SIM_TOPOLOGY_H

#include "sim/comm.h"

struct sim_collective_call;

struct sim_neighbours { /* of one rank, in the order in which neighbourhood collectives use them */
    int in_count, out_count;
    int *in, *out; /* MPI_PROC_NULL is allowed (non-periodic grids) */
    int *in_weights, *out_weights; /* NULL: unweighted */
};

struct sim_topology {
    int references;
    int kind; /* MPI_CART, MPI_GRAPH, MPI_DIST_GRAPH */
    int size;
    int dimensions, *extents, *periods; /* MPI_CART */
    int *index, *edges;                 /* MPI_GRAPH, as given */
    struct sim_neighbours *neighbours;  /* one per rank */
};

struct sim_topology *sim_topology_retain(struct sim_topology *topology);
/* The topology of a new communicator from what its first `size` members brought. */
struct sim_topology *sim_topology_merge(struct sim_collective_call *const *calls, int size);
struct sim_topology *sim_topology_of_call(const struct sim_collective_call *call);
/* Makes a communicator of the first `size` ranks of comm with this topology (collective). */
int sim_comm_create_topology(struct sim_comm *comm, struct sim_topology *topology, int size, MPI_Comm *made);
/* Neighbours of a comm's rank, NULL when it has no topology. */
const struct sim_neighbours *sim_topology_neighbours(const struct sim_comm *comm);

#endif
