/* Virtual topologies as objects: see topology.h. */
#include "sim/topology.h"

#include "sim/collective.h"

#include <stdlib.h>

struct sim_topology *sim_topology_retain(struct sim_topology *topology)
{
    if (topology)
        topology->references++;
    return topology;
}

static void neighbours_release(struct sim_neighbours *neighbours)
{
    free(neighbours->in);
    free(neighbours->out);
    free(neighbours->in_weights);
    free(neighbours->out_weights);
}

void sim_topology_release(struct sim_topology *topology)
{
    if (!topology || --topology->references > 0)
        return;
    for (int r = 0; topology->neighbours && r < topology->size; r++)
        neighbours_release(&topology->neighbours[r]);
    free(topology->neighbours);
    free(topology->extents);
    free(topology->periods);
    free(topology->index);
    free(topology->edges);
    free(topology);
}

struct sim_topology *sim_topology_merge(struct sim_collective_call *const *calls, int size)
{
    struct sim_topology *kept = sim_topology_of_call(calls[0]);
    for (int r = 1; r < size; r++) {
        struct sim_topology *other = sim_topology_of_call(calls[r]);
        if (other != kept)
            sim_topology_release(other);
    }
    return kept;
}

const struct sim_neighbours *sim_topology_neighbours(const struct sim_comm *comm)
{
    const struct sim_topology *topology = comm->context->topology;
    return topology && topology->neighbours ? &topology->neighbours[comm->rank] : NULL;
}
