/* group.c: the MPI_Group_* functions that need nothing but groups.
 *
 * Each checks its arguments, calls the function of communicators/group.h that does the work, and
 * hands out the result. Errors go to the world's error handler: a group has none.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>
#include <mpix.h>

#include "sim/communicators/comm.h"
#include "sim/communicators/group.h"
#include "sim/worlds/error.h"
#include "sim/worlds/open_handles.h"

static int raise_group(const char *function)
{
    return sim_error_raise(MPI_COMM_NULL, MPI_ERR_GROUP, function, "the group is not valid");
}

static void meet(const char *function, const struct sim_group *a, const struct sim_group *b)
{
    if (a->size)
        sim_sessions_meet_group(function, a->session, b);
}

static int raise_result(const char *function)
{
    return sim_error_raise(MPI_COMM_NULL, MPI_ERR_ARG, function,
                           "the address for the result is null");
}

/* Gives the program its new group, which comes from the session of this one. */
static int hand_out(const char *function, struct sim_group *group, const struct sim_group *from,
                    MPI_Group *newgroup)
{
    if (!group)
        return sim_error_raise(MPI_COMM_NULL, MPI_ERR_NO_MEM, function,
                               "no memory for the new group");
    group->session = from->session;
    *newgroup = sim_group_hand_out(group);
    return MPI_SUCCESS;
}

int PMPI_Group_size(MPI_Group group, int *size)
{
    if (sim_point_outside("Group_size"))
        return MPI_ERR_OTHER;
    const struct sim_group *members = sim_group_from_handle(group);
    if (!members)
        return raise_group("Group_size");
    if (!size)
        return raise_result("Group_size");
    *size = members->size;
    return MPI_SUCCESS;
}

int PMPI_Group_rank(MPI_Group group, int *rank)
{
    if (sim_point_outside("Group_rank"))
        return MPI_ERR_OTHER;
    const struct sim_group *members = sim_group_from_handle(group);
    if (!members)
        return raise_group("Group_rank");
    if (!rank)
        return raise_result("Group_rank");
    *rank = sim_group_rank(members, MPIX_World_rank());
    return MPI_SUCCESS;
}

int PMPI_Group_compare(MPI_Group group1, MPI_Group group2, int *result)
{
    if (sim_point_outside("Group_compare"))
        return MPI_ERR_OTHER;
    const struct sim_group *a = sim_group_from_handle(group1), *b = sim_group_from_handle(group2);
    if (!a || !b)
        return raise_group("Group_compare");
    if (!result)
        return raise_result("Group_compare");
    meet("Group_compare", a, b);
    *result = sim_group_compare(a, b);
    return MPI_SUCCESS;
}

int PMPI_Group_translate_ranks(MPI_Group group1, int n, const int ranks1[], MPI_Group group2,
                               int ranks2[])
{
    if (sim_point_outside("Group_translate_ranks"))
        return MPI_ERR_OTHER;
    const struct sim_group *a = sim_group_from_handle(group1), *b = sim_group_from_handle(group2);
    if (!a || !b)
        return raise_group("Group_translate_ranks");
    if (!sim_libc_in_launcher(__builtin_return_address(0))) /* the recorder's has WORLD's for all */
        meet("Group_translate_ranks", a, b);
    if (n < 0 || (n > 0 && (!ranks1 || !ranks2)))
        return sim_error_raise(MPI_COMM_NULL, MPI_ERR_ARG, "Group_translate_ranks",
                               "%d ranks cannot be translated from and to the given arrays", n);
    for (int i = 0; i < n; i++) {
        if (ranks1[i] != MPI_PROC_NULL && (ranks1[i] < 0 || ranks1[i] >= a->size))
            return sim_error_raise(MPI_COMM_NULL, MPI_ERR_RANK, "Group_translate_ranks",
                                   "rank %d is not in a group of %d", ranks1[i], a->size);
        ranks2[i] = ranks1[i] == MPI_PROC_NULL
                        ? MPI_PROC_NULL
                        : sim_group_rank(b, sim_group_world_rank(a, ranks1[i]));
    }
    return MPI_SUCCESS;
}

typedef struct sim_group *group_combine(const struct sim_group *a, const struct sim_group *b);

static int combine(const char *function, group_combine *combination, MPI_Group group1,
                   MPI_Group group2, MPI_Group *newgroup)
{
    if (sim_point_outside(function))
        return MPI_ERR_OTHER;
    const struct sim_group *a = sim_group_from_handle(group1), *b = sim_group_from_handle(group2);
    if (!a || !b)
        return raise_group(function);
    if (!newgroup)
        return raise_result(function);
    meet(function, a, b);
    return hand_out(function, combination(a, b), a->size ? a : b, newgroup);
}

int PMPI_Group_union(MPI_Group group1, MPI_Group group2, MPI_Group *newgroup)
{
    return combine("Group_union", sim_group_union, group1, group2, newgroup);
}

int PMPI_Group_intersection(MPI_Group group1, MPI_Group group2, MPI_Group *newgroup)
{
    return combine("Group_intersection", sim_group_intersection, group1, group2, newgroup);
}

int PMPI_Group_difference(MPI_Group group1, MPI_Group group2, MPI_Group *newgroup)
{
    return combine("Group_difference", sim_group_difference, group1, group2, newgroup);
}

typedef struct sim_group *group_select(const struct sim_group *group, int n, const int *ranks);

/* First entry of `ranks` that is no rank of the group or occurs a second time; -1: none. When there
 * is no memory for marks, -2. */
static int first_bad_rank(const struct sim_group *group, int n, const int ranks[])
{
    int bad = -1;
    bool *seen = calloc((size_t)group->size + 1, sizeof *seen);
    if (!seen)
        return -2;
    for (int i = 0; i < n && bad < 0; i++) {
        if (ranks[i] < 0 || ranks[i] >= group->size || seen[ranks[i]])
            bad = i;
        else
            seen[ranks[i]] = true;
    }
    free(seen);
    return bad;
}

static int select_ranks(const char *function, group_select *selection, MPI_Group group, int n,
                        const int ranks[], MPI_Group *newgroup)
{
    if (sim_point_outside(function))
        return MPI_ERR_OTHER;
    const struct sim_group *members = sim_group_from_handle(group);
    if (!members)
        return raise_group(function);
    if (!newgroup)
        return raise_result(function);
    if (n < 0 || (n > 0 && !ranks))
        return sim_error_raise(MPI_COMM_NULL, MPI_ERR_ARG, function,
                               "%d ranks cannot be taken from the given array", n);
    int bad = first_bad_rank(members, n, ranks);
    if (bad >= 0)
        return sim_error_raise(MPI_COMM_NULL, MPI_ERR_RANK, function,
                               "entry %d, rank %d, is not in the group of %d or occurs twice", bad,
                               ranks[bad], members->size);
    return hand_out(function, bad == -2 ? NULL : selection(members, n, ranks), members, newgroup);
}

int PMPI_Group_incl(MPI_Group group, int n, const int ranks[], MPI_Group *newgroup)
{
    return select_ranks("Group_incl", sim_group_include, group, n, ranks, newgroup);
}

int PMPI_Group_excl(MPI_Group group, int n, const int ranks[], MPI_Group *newgroup)
{
    return select_ranks("Group_excl", sim_group_exclude, group, n, ranks, newgroup);
}

/* Number of ranks first, first + stride, ... up to last; -1 when the stride does not lead there. */
static int64_t range_length(const int range[3])
{
    int64_t way = (int64_t)range[1] - range[0];
    if (range[2] == 0 || (way < 0) != (range[2] < 0 && way != 0))
        return -1;
    return way / range[2] + 1;
}

static int select_ranges(const char *function, group_select *selection, MPI_Group group, int n,
                         int ranges[][3], MPI_Group *newgroup)
{
    if (sim_point_outside(function))
        return MPI_ERR_OTHER;
    const struct sim_group *members = sim_group_from_handle(group);
    int64_t count = 0;
    if (!members)
        return raise_group(function);
    if (!newgroup)
        return raise_result(function);
    for (int i = 0; i < n; i++) {
        int64_t length = ranges ? range_length(ranges[i]) : -1;
        if (length < 0 || (count += length) > members->size)
            return sim_error_raise(
                MPI_COMM_NULL, length < 0 ? MPI_ERR_ARG : MPI_ERR_RANK, function,
                "range %d has a stride that does not lead from first to last, or "
                "there are more ranks than the %d of the group",
                i, members->size);
    }
    int *ranks = malloc((size_t)(count > 0 ? count : 1) * sizeof *ranks);
    if (!ranks)
        return hand_out(function, NULL, members, newgroup);
    count = 0;
    for (int i = 0; i < n; i++)
        for (int64_t k = 0; k < range_length(ranges[i]); k++)
            ranks[count++] = (int)(ranges[i][0] + k * ranges[i][2]);
    int error = select_ranks(function, selection, group, n < 0 ? n : (int)count, ranks, newgroup);
    free(ranks);
    return error;
}

int PMPI_Group_range_incl(MPI_Group group, int n, int ranges[][3], MPI_Group *newgroup)
{
    return select_ranges("Group_range_incl", sim_group_include, group, n, ranges, newgroup);
}

int PMPI_Group_range_excl(MPI_Group group, int n, int ranges[][3], MPI_Group *newgroup)
{
    return select_ranges("Group_range_excl", sim_group_exclude, group, n, ranges, newgroup);
}

int PMPI_Group_free(MPI_Group *group)
{
    if (sim_point_outside("Group_free"))
        return MPI_ERR_OTHER;
    if (!group || !sim_group_from_handle(*group))
        return raise_group("Group_free");
    sim_open_handles_remove(SIM_LIVE_GROUP, (uint64_t)(uintptr_t)*group);
    if (*group != MPI_GROUP_EMPTY)
        sim_group_release((struct sim_group *)(void *)*group);
    *group = MPI_GROUP_NULL;
    return MPI_SUCCESS;
}
