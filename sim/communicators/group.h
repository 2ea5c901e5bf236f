/* group.h: an ordered set of world ranks.
 *
 * A group is immutable once made and counted by references, so ranks share it freely, also across
 * OS threads. One whose world ranks form an arithmetic sequence (every group a program gets from
 * MPI_COMM_WORLD, its halves, rows and columns) is three integers, whatever its size; any other is
 * an array plus a hash table. Both translate in either direction in constant time.
 *
 * Knows nothing of communicators; a communicator holds a group.
 */
#ifndef SIM_COMMUNICATORS_GROUP_H
#define SIM_COMMUNICATORS_GROUP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <mpi.h>

struct sim_group {
    uint32_t magic;
    atomic_int references;
    int size;
    int first;        /* world rank of rank 0 */
    int stride;       /* distance of neighbours in world ranks; of no meaning when `ranks` is set */
    int *ranks;       /* world rank of each rank; NULL: first + rank * stride */
    int *slots;       /* hash table of ranks by world rank, -1 for empty; NULL when `ranks` is */
    uint32_t session; /* that it comes from, by number from 1; 0: from none */
    unsigned slots_shift; /* the table has 1 << (32 - slots_shift) slots */
};

/* A group of these world ranks, all different, in this order; the array is copied. NULL: out of
 * memory. The caller owns one reference. */
struct sim_group *sim_group_new(int size, const int *world_ranks);
/* The group first, first + stride, ...; the stride may be negative, not 0 when size > 1. */
struct sim_group *sim_group_new_sequence(int size, int first, int stride);

/* One reference more; returns the group. One less; the last frees it. NULL is ignored. */
struct sim_group *sim_group_retain(struct sim_group *group);
void sim_group_release(struct sim_group *group);

/* World rank of `rank`, which must be in range. */
static inline int sim_group_world_rank(const struct sim_group *group, int rank)
{
    return group->ranks ? group->ranks[rank] : group->first + rank * group->stride;
}
/* Rank in the group of a world rank; MPI_UNDEFINED when it is no member. */
int sim_group_rank(const struct sim_group *group, int world_rank);

/* The same members in the same order: in constant time where they are a sequence, and otherwise in a
 * pass over memory. */
bool sim_group_same(const struct sim_group *one, const struct sim_group *other);
/* MPI_IDENT, MPI_SIMILAR or MPI_UNEQUAL. */
int sim_group_compare(const struct sim_group *a, const struct sim_group *b);

/* New groups, in the order the standard prescribes; NULL: out of memory. `ranks` are n different
 * ranks of the group. */
struct sim_group *sim_group_union(const struct sim_group *a, const struct sim_group *b);
struct sim_group *sim_group_intersection(const struct sim_group *a, const struct sim_group *b);
struct sim_group *sim_group_difference(const struct sim_group *a, const struct sim_group *b);
struct sim_group *sim_group_include(const struct sim_group *group, int n, const int *ranks);
struct sim_group *sim_group_exclude(const struct sim_group *group, int n, const int *ranks);

/* The group behind a handle; NULL for MPI_GROUP_NULL and what is no group. MPI_GROUP_EMPTY has a
 * group too, which must be neither retained nor released. */
const struct sim_group *sim_group_from_handle(MPI_Group handle);
/* The handle to give to a program, which takes over the caller's reference: MPI_GROUP_EMPTY when
 * the group is empty (it is then released). */
MPI_Group sim_group_handle(struct sim_group *group);
/* The same, and the calling rank is to free it. */
MPI_Group sim_group_hand_out(struct sim_group *group);
/* A rank is over: the groups it did not free. */
struct sim_open_handles;
void sim_groups_end(const struct sim_open_handles *live);

#endif
