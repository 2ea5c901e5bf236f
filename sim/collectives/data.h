/* The kinds of collectives that move data without combining them. */
#ifndef SIM_COLLECTIVES_DATA_H
#define SIM_COLLECTIVES_DATA_H

#include "sim/collectives/collective.h"

extern const struct sim_collective_kind sim_barrier, sim_bcast, sim_gather, sim_gatherv,
    sim_scatter, sim_scatterv, sim_allgather, sim_allgatherv, sim_alltoall, sim_alltoallv,
    sim_alltoallw;
/* and those that combine them (reduce.c) */
extern const struct sim_collective_kind sim_reduce, sim_allreduce, sim_reduce_scatter,
    sim_reduce_scatter_block, sim_scan, sim_exscan;

/* and the same between the two groups of an intercommunicator (intercomm.c) */
extern const struct sim_collective_kind sim_barrier_across, sim_bcast_across, sim_gather_across,
    sim_gatherv_across, sim_scatter_across, sim_scatterv_across, sim_allgather_across,
    sim_allgatherv_across, sim_alltoall_across, sim_alltoallv_across, sim_alltoallw_across,
    sim_reduce_across, sim_allreduce_across, sim_reduce_scatter_across,
    sim_reduce_scatter_block_across;

#endif
