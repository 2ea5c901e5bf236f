/* What the members of a communicator bring along to a call that makes another one out of it. The
 * call's `argument`; shared by the forms within a communicator (create.c) and those across an
 * intercommunicator (communicators/intercomm.c, intercomm_create.c). */
#ifndef SIM_COMMUNICATOR_CALLS_CREATION_H
#define SIM_COMMUNICATOR_CALLS_CREATION_H

#include "sim/base/attributes.h"
#include "sim/collectives/collective.h"

struct sim_topology_plan;

struct sim_creation {
    MPI_Comm *made; /* where the member's new handle goes */
    MPI_Errhandler errhandler;
    int color, key;                       /* split */
    int type;                             /* split_type */
    const struct sim_group *group;        /* create */
    const struct sim_topology_plan *plan; /* topology constructors */
    bool high;                            /* merge */
    /* A nonblocking member's outlives its call: it comes from the pool, holds a reference of the
     * error handler, and what the new handle is to have of attributes and hints. */
    bool pooled;
    struct sim_attributes attributes;
    MPI_Info info;
};

/* Gives a member its handle of the new context, and frees a creation of the pool. In the monitor.
 */
struct sim_comm *sim_comm_deliver_handle(struct sim_collective_call *call,
                                         struct sim_context *context, int position);

/* A member as MPI_Comm_split sorts it. */
struct sim_split_entry {
    int color, key, rank;
};
/* Sorts the places of `n` members by color, key and rank. */
void sim_split_entries_sort(struct sim_split_entry *places, int n);
/* Where the color of places[from] ends. */
int sim_split_entries_end(const struct sim_split_entry *places, int n, int from);

/* A communicator of a group's members, who meet under a name; MPI_COMM_NULL for an empty group.
 * What the MPI function must return. */
int sim_comm_from_group(struct sim_rank *rank, const struct sim_group *group, const char *name,
                        MPI_Errhandler errhandler, const char *function, MPI_Comm *made);
/* Forgets those who still wait for the others of their group. */
void sim_gatherings_end(struct sim_world *world);

/* Whether all who want a communicator of MPI_Comm_split_type give one type; else all are told. */
bool sim_creation_types_agree(struct sim_collective *collective);

/* The same between the two groups of an intercommunicator. */
extern const struct sim_collective_kind sim_comm_dup_across, sim_comm_dup_with_info_across,
    sim_comm_split_across, sim_comm_split_type_across, sim_comm_create_across;

#endif
