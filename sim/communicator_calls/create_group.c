/* Making a communicator by the members of a group only: they meet under a tag or a name, and nobody
 * else of the parent takes part. */
#include "sim/communicator_calls/creation.h"
#include "sim/communicators/info.h"
#include "sim/messages/failures.h"
#include "sim/messages/point.h"
#include "sim/worlds/error.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* What members of a gathering have in common: the parent and a tag, or no parent and a name. */
struct meeting {
    struct sim_context *parent;
    const struct sim_comm *comm; /* the caller's handle of the parent */
    int tag;
    const char *name;
};

/* Rendezvous of the members of a group: the last to come makes the context. */
struct sim_gathering {
    struct sim_gathering *next;
    struct sim_context *parent;
    char *name;
    struct sim_group *group;
    int tag, arrived;
    struct sim_context *made;
};

static bool is_this(const struct sim_gathering *gathering, const struct meeting *meeting,
                    const struct sim_group *group)
{
    return gathering->parent == meeting->parent && gathering->tag == meeting->tag &&
           !gathering->made && (!meeting->name || strcmp(gathering->name, meeting->name) == 0) &&
           sim_group_same(gathering->group, group);
}

static struct sim_gathering *gathering_find(struct sim_world *world, const struct meeting *meeting,
                                            const struct sim_group *group)
{
    for (struct sim_gathering *at = world->gatherings; at; at = at->next)
        if (is_this(at, meeting, group))
            return at;
    struct sim_gathering *fresh = calloc(1, sizeof *fresh);
    assert(fresh);
    *fresh = (struct sim_gathering){.next = world->gatherings,
                                    .parent = meeting->parent,
                                    .name = meeting->name ? strdup(meeting->name) : NULL,
                                    .group = sim_group_retain((struct sim_group *)(uintptr_t)group),
                                    .tag = meeting->tag};
    world->gatherings = fresh;
    return fresh;
}

static void gathering_remove(struct sim_world *world, struct sim_gathering *gathering)
{
    struct sim_gathering **link = &world->gatherings;
    while (*link != gathering)
        link = &(*link)->next;
    *link = gathering->next;
    sim_group_release(gathering->group);
    free(gathering->name);
    free(gathering);
}

void sim_gatherings_end(struct sim_world *world)
{
    while (world->gatherings)
        gathering_remove(world, world->gatherings);
}

/* What waiting for the others comes to: MPI_SUCCESS while they may still come. */
static int waiting_error(const struct sim_comm *parent, const struct sim_group *group)
{
    if (!parent)
        return MPI_SUCCESS;
    if (parent->context->revoked)
        return MPIX_ERR_REVOKED;
    for (int i = 0; sim_comm_tolerates(parent) && i < group->size; i++)
        if (parent->owner->world->ranks[sim_group_world_rank(group, i)].failed)
            return MPIX_ERR_PROC_FAILED;
    return MPI_SUCCESS;
}

static int create_group(struct sim_rank *rank, const struct meeting *meeting,
                        const struct sim_group *group, MPI_Errhandler errhandler, MPI_Comm *made)
{
    struct sim_world *world = rank->world;
    sim_world_enter(world);
    struct sim_gathering *gathering = gathering_find(world, meeting, group);
    world->changes++;
    if (++gathering->arrived == group->size) {
        gathering->made = sim_context_new(world, sim_group_retain(gathering->group));
        assert(gathering->made && "out of memory for a communicator");
        for (int i = 0; i < group->size; i++) {
            struct sim_rank *member = &world->ranks[sim_group_world_rank(group, i)];
            if (member != rank && sim_rank_waits(member))
                sim_rank_wake(member);
        }
    }
    int error = MPI_SUCCESS;
    while (!gathering->made && !(error = waiting_error(meeting->comm, group)))
        sim_rank_block_reconsidering(rank);
    if (error) {
        if (--gathering->arrived == 0)
            gathering_remove(world, gathering);
        sim_world_leave(world);
        return error;
    }
    struct sim_comm *fresh = sim_comm_new(rank, gathering->made, sim_group_rank(group, rank->id));
    assert(fresh && "out of memory for a communicator");
    fresh->errhandler = errhandler;
    fresh->session = meeting->comm ? meeting->comm->session : group->session;
    sim_errhandler_retain(errhandler);
    if (--gathering->arrived == 0)
        gathering_remove(world, gathering);
    sim_world_leave(world);
    *made = (MPI_Comm)(void *)fresh;
    return MPI_SUCCESS;
}

int PMPI_Comm_create_group(MPI_Comm handle, MPI_Group group_handle, int tag, MPI_Comm *made)
{
    int error;
    struct sim_comm *comm = sim_comm_check(handle, "Comm_create_group", &error);
    if (!comm)
        return error;
    *made = MPI_COMM_NULL;
    const struct sim_group *group = sim_group_from_handle(group_handle);
    if (!group)
        return sim_error_raise(handle, MPI_ERR_GROUP, "Comm_create_group",
                               "group is not a valid handle");
    sim_sessions_meet_group("Comm_create_group", comm->session, group);
    if (tag < 0)
        return sim_error_raise(handle, MPI_ERR_TAG, "Comm_create_group", "tag %d is negative", tag);
    if (comm->context->remote)
        return sim_error_raise(handle, MPI_ERR_COMM, "Comm_create_group",
                               "communicator is an intercommunicator");
    if (sim_group_rank(group, comm->owner->id) == MPI_UNDEFINED)
        return MPI_SUCCESS;
    struct meeting meeting = {.parent = comm->context, .comm = comm, .tag = tag};
    error = create_group(comm->owner, &meeting, group, comm->errhandler, made);
    return error ? sim_error_raise(handle, error, "Comm_create_group", "%s",
                                   sim_failure_sentence(error))
                 : MPI_SUCCESS;
}

static int check_meeting(const struct sim_rank *rank, const struct sim_group *group,
                         const char *function)
{
    if (!group)
        return sim_error_raise(MPI_COMM_NULL, MPI_ERR_GROUP, function,
                               "group is not a valid handle");
    if (group->size && sim_group_rank(group, rank->id) == MPI_UNDEFINED)
        return sim_error_raise(MPI_COMM_NULL, MPI_ERR_GROUP, function,
                               "the caller is not in the group");
    return MPI_SUCCESS;
}

int sim_comm_from_group(struct sim_rank *rank, const struct sim_group *group, const char *name,
                        MPI_Errhandler errhandler, const char *function, MPI_Comm *made)
{
    *made = MPI_COMM_NULL;
    int error = check_meeting(rank, group, function);
    if (error || group->size == 0)
        return error;
    if (!name)
        return sim_error_raise(MPI_COMM_NULL, MPI_ERR_ARG, function, "the string tag is NULL");
    const char *unfit = sim_errhandler_unfit(errhandler, SIM_ERRHANDLER_COMM);
    if (unfit)
        return sim_error_raise(MPI_COMM_NULL, MPI_ERR_ERRHANDLER, function, "%s", unfit);
    return create_group(rank, &(struct meeting){.name = name}, group, errhandler, made);
}

int PMPI_Comm_create_from_group(MPI_Group group, const char *name, MPI_Info info,
                                MPI_Errhandler errhandler, MPI_Comm *made)
{
    struct sim_rank *rank = sim_point_caller("Comm_create_from_group");
    if (!rank)
        return MPI_ERR_OTHER;
    int error = sim_info_check(MPI_COMM_NULL, info, "Comm_create_from_group");
    if (error)
        return error;
    return sim_comm_from_group(rank, sim_group_from_handle(group), name, errhandler,
                               "Comm_create_from_group", made);
}
