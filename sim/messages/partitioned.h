/* Partitioned messages: the functions are MPI's. */
#ifndef SIM_MESSAGES_PARTITIONED_H
#define SIM_MESSAGES_PARTITIONED_H

struct sim_world;

/* What was never freed goes with its world. */
void sim_partitioned_world_end(struct sim_world *world);

#endif
