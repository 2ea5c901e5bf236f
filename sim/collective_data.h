/* The kinds of collectives that move data without combining them. */
#ifndef SIM_COLLECTIVE_DATA_H
#define SIM_COLLECTIVE_DATA_H

#include "sim/collective.h"

extern const struct sim_collective_kind sim_barrier, sim_bcast, sim_gather, sim_gatherv,
    sim_scatter, sim_scatterv, sim_allgather, sim_allgatherv, sim_alltoall, sim_alltoallv,
    sim_alltoallw;
/* and those that combine them (collective_reduce.c) */
extern const struct sim_collective_kind sim_reduce, sim_allreduce, sim_reduce_scatter,
    sim_reduce_scatter_block, sim_scan, sim_exscan;

#endif
