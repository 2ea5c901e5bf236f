/* Intercommunicators: making them of two groups, merging. See intercomm.h. */
#include "sim/communicator_calls/intercomm.h"

#include "recorder/recorder.h"
#include "sim/communicator_calls/creation.h"
#include "sim/communicators/info.h"
#include "sim/messages/failures.h"
#include "sim/messages/point.h"
#include "sim/worlds/error.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Where two leaders meet; on the stack of the one who comes first. */
struct sim_handshake {
    struct sim_handshake *next;
    const struct sim_context *peer; /* where they meet under a tag; NULL: they meet under a name */
    const char *name;
    int tag, from, to; /* world ranks of the one who waits, and of the one it waits for */
    const struct sim_comm *common; /* the leader's, in which both are; NULL likewise */
    struct sim_context *half;
    bool met;
};

/* ---- sides and bridges ---- */

/* All ranks of one group, then all of the other; NULL: they have one in common. */
static struct sim_group *both_groups(const struct sim_group *first, const struct sim_group *second)
{
    int *ranks = malloc((size_t)(first->size + second->size) * sizeof *ranks);
    assert(ranks && "out of memory for an intercommunicator");
    struct sim_group *both = NULL;
    for (int i = 0; i < first->size; i++)
        ranks[i] = sim_group_world_rank(first, i);
    for (int i = 0; i < second->size; i++) {
        ranks[first->size + i] = sim_group_world_rank(second, i);
        if (sim_group_rank(first, ranks[first->size + i]) != MPI_UNDEFINED)
            goto done;
    }
    both = sim_group_new(first->size + second->size, ranks);
    assert(both && "out of memory for an intercommunicator");
done:
    free(ranks);
    return both;
}

static struct sim_context *new_context(struct sim_world *world, struct sim_group *group)
{
    struct sim_context *context = sim_context_new(world, group);
    assert(context && "out of memory for an intercommunicator");
    return context;
}

bool sim_intercomm_link(struct sim_context *first, struct sim_context *second)
{
    struct sim_group *both = both_groups(first->group, second->group);
    if (!both)
        return false;
    struct sim_context *bridge = new_context(first->world, both);
    bridge->first_side = first->size;
    first->remote = second;
    second->remote = first;
    first->bridge = second->bridge = bridge;
    return true;
}

void sim_intercomm_attach(struct sim_comm *comm)
{
    struct sim_context *bridge = comm->context->bridge;
    struct sim_comm *hidden = calloc(1, sizeof *hidden);
    assert(hidden && "out of memory for an intercommunicator");
    hidden->magic = SIM_MAGIC_COMM;
    hidden->owner = comm->owner;
    hidden->context = bridge;
    hidden->rank = sim_group_rank(bridge->group, comm->owner->id);
    hidden->size = bridge->size;
    hidden->errhandler = comm->errhandler;
    hidden->face = comm;
    hidden->session = comm->session;
    comm->bridge = hidden;
}

/* ---- making ---- */

/* One side's half: a context like the local communicator's. */
static void halve(struct sim_collective *collective)
{
    struct sim_context *half =
        new_context(collective->context->world, sim_group_retain(collective->context->group));
    for (int r = 0; r < collective->size; r++)
        sim_comm_deliver_handle(collective->calls[r], half, r);
}

static void nothing(struct sim_collective *collective)
{
    (void)collective;
}

static const struct sim_collective_kind create_half = {
    .name = "Intercomm_create", .synchronisation = SIM_NEEDS_ALL, .execute = halve};
static const struct sim_collective_kind create_end = {
    .name = "Intercomm_create", .synchronisation = SIM_NEEDS_ALL, .execute = nothing};

static struct sim_handshake *find_partner(struct sim_world *world, const struct sim_handshake *mine)
{
    for (struct sim_handshake *at = world->handshakes; at; at = at->next)
        if (!at->met && at->peer == mine->peer && at->tag == mine->tag && at->from == mine->to &&
            at->to == mine->from && !world->ranks[at->from].failed &&
            (mine->peer || strcmp(at->name, mine->name) == 0))
            return at;
    return NULL;
}

/* A leader brings its half and waits for the other's. */
static bool comes_never(const struct sim_world *world, const struct sim_handshake *mine)
{
    return mine->common && (mine->common->context->revoked ||
                            (sim_comm_tolerates(mine->common) && world->ranks[mine->to].failed));
}

static void shake_hands(struct sim_rank *rank, struct sim_handshake *mine)
{
    struct sim_world *world = rank->world;
    sim_world_enter(world);
    world->changes++;
    struct sim_handshake *partner = find_partner(world, mine);
    if (partner) {
        /* The side of the lower leader is the first, whoever comes first. */
        bool lower = mine->from < partner->from;
        sim_intercomm_link(lower ? mine->half : partner->half, lower ? partner->half : mine->half);
        partner->met = true;
        sim_rank_wake(&world->ranks[partner->from]);
    } else {
        mine->next = world->handshakes;
        world->handshakes = mine;
        if (mine->peer)
            record_meets(mine->to, mine->tag);
        while (!mine->met && !comes_never(world, mine))
            sim_rank_block_reconsidering(rank);
        if (mine->peer)
            record_meets(-1, 0);
        if (!mine->met) /* the others of its side are told */
            mine->half->unmet =
                mine->common->context->revoked ? MPIX_ERR_REVOKED : MPIX_ERR_PROC_FAILED;
        struct sim_handshake **link = &world->handshakes;
        while (*link != mine)
            link = &(*link)->next;
        *link = mine->next;
    }
    sim_world_leave(world);
}

static int check_leaders(const struct sim_comm *comm, MPI_Comm handle, int leader, MPI_Comm peer,
                         int remote_leader, int tag, struct sim_handshake *handshake)
{
    const char *function = "Intercomm_create";
    if (comm->context->remote)
        return sim_error_raise(handle, MPI_ERR_COMM, function,
                               "the local communicator is an intercommunicator");
    if (leader < 0 || leader >= comm->size)
        return sim_error_raise(handle, MPI_ERR_RANK, function,
                               "local leader %d is not in a communicator of %d ranks", leader,
                               comm->size);
    if (comm->rank != leader)
        return MPI_SUCCESS;
    int error;
    struct sim_comm *common = sim_comm_check(peer, function, &error);
    if (!common)
        return error;
    sim_sessions_meet(function, comm->session, common->session);
    if (tag < 0)
        return sim_error_raise(handle, MPI_ERR_TAG, function, "tag %d is negative", tag);
    const struct sim_context *peers = sim_context_peers(common->context);
    if (remote_leader < 0 || remote_leader >= peers->size)
        return sim_error_raise(handle, MPI_ERR_RANK, function,
                               "remote leader %d is not in a communicator of %d ranks",
                               remote_leader, peers->size);
    const struct sim_context *meeting =
        common->context->remote && common->context->remote->id < common->context->id
            ? common->context->remote
            : common->context;
    *handshake = (struct sim_handshake){.peer = meeting,
                                        .tag = tag,
                                        .common = common,
                                        .from = comm->owner->id,
                                        .to = sim_context_world_rank(peers, remote_leader)};
    return MPI_SUCCESS;
}

/* Once its leader is back a member of a side has its handle of the bridge, or an error. */
static int finish(MPI_Comm *made, MPI_Comm told, const char *function)
{
    struct sim_comm *mine = sim_comm_get(sim_current_rank, *made);
    if (!mine->context->remote) {
        int error = mine->context->unmet;
        PMPI_Comm_free(made);
        if (error)
            return sim_error_raise(told, error, function, "%s", sim_failure_sentence(error));
        return sim_error_raise(told, MPI_ERR_GROUP, function,
                               "the two groups have a rank in common");
    }
    sim_world_enter(mine->owner->world);
    sim_intercomm_attach(mine);
    sim_world_leave(mine->owner->world);
    return MPI_SUCCESS;
}

int PMPI_Intercomm_create(MPI_Comm handle, int leader, MPI_Comm peer, int remote_leader, int tag,
                          MPI_Comm *made)
{
    int error;
    struct sim_handshake handshake;
    struct sim_comm *comm = sim_comm_check(handle, "Intercomm_create", &error);
    if (comm)
        error = check_leaders(comm, handle, leader, peer, remote_leader, tag, &handshake);
    if (error)
        return error;
    *made = MPI_COMM_NULL;
    struct sim_creation creation = {.made = made, .errhandler = comm->errhandler};
    struct sim_collective_call half = {.kind = &create_half, .comm = comm, .argument = &creation};
    struct sim_collective_call end = {.kind = &create_end, .comm = comm};
    error = sim_collective_run(&half);
    if (error)
        return error;
    struct sim_comm *mine = sim_comm_get(comm->owner, *made);
    if (comm->rank == leader) {
        handshake.half = mine->context;
        shake_hands(comm->owner, &handshake);
    }
    error = sim_collective_run(&end); /* the others wait until their leader is back */
    if (error)
        return error;
    return finish(made, handle, "Intercomm_create");
}

static int check_groups(const struct sim_group *group, int leader, const struct sim_group *far,
                        int far_leader)
{
    const char *function = "Intercomm_create_from_groups";
    if (!group || !far)
        return sim_error_raise(MPI_COMM_NULL, MPI_ERR_GROUP, function, "a group is not valid");
    if (leader < 0 || leader >= group->size || far_leader < 0 || far_leader >= far->size)
        return sim_error_raise(MPI_COMM_NULL, MPI_ERR_RANK, function,
                               "leader %d of %d, or %d of the %d across, is not in its group",
                               leader, group->size, far_leader, far->size);
    return MPI_SUCCESS;
}

int PMPI_Intercomm_create_from_groups(MPI_Group local, int leader, MPI_Group remote, int far_leader,
                                      const char *name, MPI_Info info, MPI_Errhandler errhandler,
                                      MPI_Comm *made)
{
    const char *function = "Intercomm_create_from_groups";
    struct sim_rank *rank = sim_point_caller(function);
    if (!rank)
        return MPI_ERR_OTHER;
    *made = MPI_COMM_NULL;
    const struct sim_group *group = sim_group_from_handle(local),
                           *far = sim_group_from_handle(remote);
    int error = check_groups(group, leader, far, far_leader);
    if (!error)
        error = sim_info_check(MPI_COMM_NULL, info, function);
    if (!error)
        sim_sessions_meet_group(function, group->session, far);
    if (!error)
        error = sim_comm_from_group(rank, group, name, errhandler, function, made);
    if (error)
        return error;
    struct sim_comm *mine = sim_comm_get(rank, *made);
    if (mine->rank == leader) {
        struct sim_handshake handshake = {.name = name,
                                          .from = rank->id,
                                          .to = sim_group_world_rank(far, far_leader),
                                          .half = mine->context};
        shake_hands(rank, &handshake);
    }
    struct sim_collective_call end = {.kind = &create_end, .comm = mine};
    error = sim_collective_run(&end);
    return error ? error : finish(made, MPI_COMM_NULL, function);
}

/* ---- merging: a collective of the bridge ---- */

static bool side_agrees(const struct sim_collective *collective, int from, int to)
{
    bool high = ((const struct sim_creation *)collective->calls[from]->argument)->high;
    for (int r = from + 1; r < to; r++)
        if (((const struct sim_creation *)collective->calls[r]->argument)->high != high)
            return false;
    return true;
}

static void merge(struct sim_collective *collective)
{
    int split = collective->context->first_side, n = collective->size;
    if (!side_agrees(collective, 0, split) || !side_agrees(collective, split, n)) {
        for (int r = 0; r < n; r++)
            collective->calls[r]->error = MPI_ERR_NOT_SAME;
        return;
    }
    /* When both say the same, any of them may be first. */
    bool turned = ((const struct sim_creation *)collective->calls[0]->argument)->high;
    const struct sim_group *first = collective->calls[0]->comm->face->context->group;
    const struct sim_group *second = collective->calls[split]->comm->face->context->group;
    struct sim_context *all = new_context(
        collective->context->world, both_groups(turned ? second : first, turned ? first : second));
    for (int r = 0; r < n; r++) {
        int position = sim_group_rank(all->group, collective->calls[r]->comm->owner->id);
        sim_comm_deliver_handle(collective->calls[r], all, position);
    }
}

static const struct sim_collective_kind merge_kind = {
    .name = "Intercomm_merge", .synchronisation = SIM_NEEDS_ALL, .execute = merge};

int PMPI_Intercomm_merge(MPI_Comm handle, int high, MPI_Comm *made)
{
    int error;
    struct sim_comm *comm = sim_comm_check(handle, "Intercomm_merge", &error);
    if (!comm)
        return error;
    if (!comm->context->remote)
        return sim_error_raise(handle, MPI_ERR_COMM, "Intercomm_merge",
                               "communicator is not an intercommunicator");
    *made = MPI_COMM_NULL;
    comm->bridge->errhandler = comm->errhandler;
    struct sim_creation creation = {
        .made = made, .errhandler = comm->errhandler, .high = high != 0};
    struct sim_collective_call call = {
        .kind = &merge_kind, .comm = comm->bridge, .argument = &creation};
    return sim_collective_run(&call);
}
