/* The neighbors of a communicator with a topology, and the reversed graph that adjoints run on.
 *
 * Two ranks may be neighbors several times (a periodic dimension of size 2), and a standard grid
 * lists neighbors that do not exist. So the graph is learned by sending every edge its number once
 * along the forward topology; the reversed communicator lists the edges of each pair in that order.
 * Learned twice, as MPICH 4.0 pairs multiple edges in opposite orders in Neighbor_alltoall and
 * Neighbor_alltoallv. */
#ifndef COLLECTIVES_TAPE_GRAPH_H
#define COLLECTIVES_TAPE_GRAPH_H

#include <mpi.h>

struct diff_channel;

struct diff_graph {
    int source_count, destination_count; /* as the standard lists them, absent ones included */
    int *sources, *destinations;         /* MPI_PROC_NULL for absent */
    /* How the reversed graph lists them: slots here in the order of the slots there. */
    int *source_order, *destination_order;
    int *source_order_uniform; /* as Neighbor_alltoall pairs them */
    int present_sources, present_destinations;
};

/* Learns the graph of a channel with a topology; collective. */
void graph_learn(struct diff_channel *channel);
/* A communicator with every edge turned round; collective, after graph_learn. */
MPI_Comm graph_reversed(const struct diff_channel *channel);

#endif
