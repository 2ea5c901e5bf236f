/* Making communicators: every form is a collective whose execution builds the shared contexts and
 * gives each member its handle. */
#include "sim/collective.h"
#include "sim/errhandler.h"
#include "sim/error.h"
#include "sim/info.h"
#include "sim/intercomm.h"
#include "sim/point.h"
#include "sim/topology.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a member brings along; `made` is where its new handle goes. */
struct creation {
    MPI_Comm *made;
    int color, key;                       /* split */
    const struct sim_group *group;        /* create */
    const struct sim_topology_plan *plan; /* topology constructors */
};

static void give(struct sim_collective_call *call, struct sim_context *context, int position)
{
    const struct creation *creation = call->argument;
    struct sim_comm *comm = sim_comm_new(call->comm->owner, context, position);
    assert(comm && "out of memory for a communicator");
    comm->errhandler = call->comm->errhandler;
    sim_errhandler_retain(comm->errhandler);
    *creation->made = (MPI_Comm)(void *)comm;
}

static struct sim_context *context_like(struct sim_collective *collective, struct sim_group *group)
{
    struct sim_context *context = group ? sim_context_new(collective->context->world, group) : NULL;
    assert(context && "out of memory for a communicator");
    return context;
}

static void dup_execute(struct sim_collective *collective)
{
    struct sim_context *context =
        context_like(collective, sim_group_retain(collective->context->group));
    context->topology = sim_topology_retain(collective->context->topology);
    for (int r = 0; r < collective->size; r++)
        give(collective->calls[r], context, r);
}

struct place {
    int color, key, rank;
};

static int compare_places(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    if (a->color != b->color)
        return a->color < b->color ? -1 : 1;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->rank - b->rank; /* equal keys keep their order */
}

/* The topology these members agree on; NULL, and each of them is told why, when they do not. */
static struct sim_topology *build_for(struct sim_collective *collective, const int *ranks,
                                      int members)
{
    const struct sim_topology_plan **plans =
        calloc((size_t)members, sizeof(struct sim_topology_plan *));
    assert(plans);
    for (int i = 0; i < members; i++)
        plans[i] = ((const struct creation *)collective->calls[ranks[i]]->argument)->plan;
    char complaint[160];
    int error = MPI_SUCCESS;
    struct sim_topology *topology = sim_topology_build(plans, members, &error, complaint);
    for (int i = 0; !topology && i < members; i++) {
        collective->calls[ranks[i]]->error = error;
        sim_collective_complain(collective->calls[ranks[i]], complaint);
    }
    free(plans);
    return topology;
}

static void topology_execute(struct sim_collective *collective)
{
    int *ranks = malloc((size_t)collective->size * sizeof *ranks);
    assert(ranks);
    for (int r = 0; r < collective->size; r++)
        ranks[r] = r;
    struct sim_topology *topology = build_for(collective, ranks, collective->size);
    if (topology) {
        struct sim_context *context = context_like(
            collective, sim_group_include(collective->context->group, topology->size, ranks));
        context->topology = topology;
        for (int r = 0; r < topology->size; r++)
            give(collective->calls[r], context, r);
    }
    free(ranks);
}

static void split_into(struct sim_collective *collective, bool with_topology)
{
    int n = collective->size;
    struct place *places = malloc((size_t)n * sizeof *places);
    int *ranks = malloc((size_t)n * sizeof *ranks);
    assert(places && ranks);
    for (int r = 0; r < n; r++) {
        const struct creation *creation = collective->calls[r]->argument;
        places[r] = (struct place){creation->color, creation->key, r};
    }
    qsort(places, (size_t)n, sizeof *places, compare_places);
    for (int from = 0, to; from < n; from = to) {
        for (to = from; to < n && places[to].color == places[from].color; to++)
            ranks[to - from] = places[to].rank;
        if (places[from].color == MPI_UNDEFINED)
            continue;
        struct sim_topology *topology = NULL;
        if (with_topology && !(topology = build_for(collective, ranks, to - from)))
            continue;
        struct sim_context *context = context_like(
            collective, sim_group_include(collective->context->group, to - from, ranks));
        context->topology = topology;
        for (int i = from; i < to; i++)
            give(collective->calls[places[i].rank], context, i - from);
    }
    free(places);
    free(ranks);
}

static void split_execute(struct sim_collective *collective)
{
    split_into(collective, false);
}

static void cart_sub_execute(struct sim_collective *collective)
{
    split_into(collective, true);
}

static const struct sim_group *group_of(const struct sim_collective *collective, int rank)
{
    return ((const struct creation *)collective->calls[rank]->argument)->group;
}

/* The i-th member of the group that this rank gives, as a rank of the communicator. */
static int member_of(const struct sim_collective *collective, int rank, int i)
{
    return sim_group_rank(collective->context->group,
                          sim_group_world_rank(group_of(collective, rank), i));
}

/* In constant time where both are sequences, and otherwise in a pass over memory: every member
 * asks.
 */
static bool same_group(const struct sim_group *one, const struct sim_group *other)
{
    if (one->size != other->size)
        return false;
    if (!one->ranks && !other->ranks)
        return one->first == other->first && (one->size < 2 || one->stride == other->stride);
    if (one->ranks && other->ranks)
        return memcmp(one->ranks, other->ranks, (size_t)one->size * sizeof *one->ranks) == 0;
    return sim_group_compare(one, other) == MPI_IDENT;
}

static bool give_the_same(const struct sim_collective *collective, int one, int other)
{
    const struct sim_group *group = group_of(collective, other);
    return group && same_group(group_of(collective, one), group);
}

/* Per rank: who gives another group than the first member of this rank's group does, though it is
 * in it; MPI_UNDEFINED where all give the same, in the same order. */
static int *find_dissenters(const struct sim_collective *collective)
{
    int n = collective->size, *dissenters = malloc((size_t)n * sizeof *dissenters);
    assert(dissenters);
    for (int r = 0; r < n; r++) {
        const struct sim_group *group = group_of(collective, r);
        dissenters[r] = MPI_UNDEFINED;
        if (!group || member_of(collective, r, 0) != r)
            continue;
        for (int i = 1; i < group->size && dissenters[r] == MPI_UNDEFINED; i++)
            if (!give_the_same(collective, r, member_of(collective, r, i)))
                dissenters[r] = member_of(collective, r, i);
    }
    for (int r = 0; r < n; r++) {
        int first = group_of(collective, r) ? member_of(collective, r, 0) : r;
        if (first != r)
            dissenters[r] = give_the_same(collective, r, first) ? dissenters[first] : first;
    }
    return dissenters;
}

static void complain_of(struct sim_collective *collective, int rank, int dissenter)
{
    const struct sim_group *one = group_of(collective, rank),
                           *other = group_of(collective, dissenter);
    char complaint[160];
    const char *how = !other ? "one it is not in"
                      : sim_group_compare(one, other) == MPI_SIMILAR
                          ? "the same members in another order"
                          : "other members";
    snprintf(complaint, sizeof complaint,
             "rank %d is in the group that rank %d gives, but gives %s itself", dissenter, rank,
             how);
    collective->calls[rank]->error = MPI_ERR_GROUP;
    sim_collective_complain(collective->calls[rank], complaint);
}

/* Members of one group get one context; groups of different members may be disjoint, so several may
 * be made at once. */
static void create_execute(struct sim_collective *collective)
{
    int *dissenters = find_dissenters(collective);
    for (int r = 0; r < collective->size; r++) {
        const struct sim_group *given = group_of(collective, r);
        if (dissenters[r] != MPI_UNDEFINED)
            complain_of(collective, r, dissenters[r]);
        else if (given && member_of(collective, r, 0) == r) {
            struct sim_group *group = sim_group_retain((struct sim_group *)(uintptr_t)given);
            struct sim_context *context = context_like(collective, group);
            for (int i = 0; i < group->size; i++)
                give(collective->calls[member_of(collective, r, i)], context, i);
        }
    }
    free(dissenters);
}

static const struct sim_collective_kind comm_dup = {
    .name = "Comm_dup", .synchronisation = SIM_NEEDS_ALL, .execute = dup_execute};
static const struct sim_collective_kind comm_split = {
    .name = "Comm_split", .synchronisation = SIM_NEEDS_ALL, .execute = split_execute};
static const struct sim_collective_kind comm_create = {
    .name = "Comm_create", .synchronisation = SIM_NEEDS_ALL, .execute = create_execute};
static const struct sim_collective_kind comm_cart_sub = {
    .name = "Cart_sub", .synchronisation = SIM_NEEDS_ALL, .execute = cart_sub_execute};
static const struct sim_collective_kind comm_topology[] = {
    [SIM_CART_CREATE] = {.name = "Cart_create",
                         .synchronisation = SIM_NEEDS_ALL,
                         .execute = topology_execute},
    [SIM_GRAPH_CREATE] = {.name = "Graph_create",
                          .synchronisation = SIM_NEEDS_ALL,
                          .execute = topology_execute},
    [SIM_DIST_GRAPH_CREATE] = {.name = "Dist_graph_create",
                               .synchronisation = SIM_NEEDS_ALL,
                               .execute = topology_execute},
    [SIM_DIST_GRAPH_CREATE_ADJACENT] = {.name = "Dist_graph_create_adjacent",
                                        .synchronisation = SIM_NEEDS_ALL,
                                        .execute = topology_execute}};

static int run(struct sim_comm *comm, const struct sim_collective_kind *kind,
               const struct creation *creation)
{
    struct sim_collective_call call = {.kind = kind, .comm = comm, .argument = creation};
    *creation->made = MPI_COMM_NULL;
    if (comm->context->remote)
        return sim_error_raise(sim_comm_handle(comm), MPI_ERR_UNSUPPORTED_OPERATION, kind->name,
                               "not provided for intercommunicators");
    return sim_collective_run(&call);
}

int sim_comm_create_topology(struct sim_comm *comm, enum sim_topology_constructor constructor,
                             const struct sim_topology_plan *plan, MPI_Comm *made)
{
    return run(comm, &comm_topology[constructor], &(struct creation){.made = made, .plan = plan});
}

int sim_comm_split_topology(struct sim_comm *comm, int color, int key,
                            const struct sim_topology_plan *plan, MPI_Comm *made)
{
    return run(comm, &comm_cart_sub,
               &(struct creation){.made = made, .color = color, .key = key, .plan = plan});
}

static int dup(MPI_Comm handle, MPI_Comm *made, const char *function)
{
    int error;
    struct sim_comm *comm = sim_comm_check(handle, function, &error);
    if (!comm)
        return error;
    if (comm->context->remote)
        error = sim_intercomm_dup(comm, made);
    else
        error = run(comm, &comm_dup, &(struct creation){.made = made});
    if (error)
        return error;
    struct sim_comm *copy = sim_comm_get(comm->owner, *made);
    error = sim_attributes_copy(&comm->attributes, (void *)handle, &copy->attributes);
    if (!error)
        return MPI_SUCCESS;
    PMPI_Comm_free(made);
    return sim_error_raise(handle, error, function, "an attribute's copy function failed");
}

int PMPI_Comm_dup(MPI_Comm comm, MPI_Comm *newcomm)
{
    return dup(comm, newcomm, "Comm_dup");
}

int PMPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm)
{
    int error = dup(comm, newcomm, "Comm_dup_with_info");
    return error ? error : PMPI_Comm_set_info(*newcomm, info);
}

/* Nonblocking duplication: the handle is written when the last member has come. Attributes are not
 * copied: their callbacks would have to run inside another rank's call. */
static int idup(MPI_Comm handle, MPI_Comm *made, MPI_Request *request, const char *function)
{
    int error;
    struct sim_comm *comm = sim_comm_check(handle, function, &error);
    if (!comm)
        return error;
    if (comm->context->remote)
        return sim_error_raise(handle, MPI_ERR_UNSUPPORTED_OPERATION, function,
                               "not provided for intercommunicators");
    sim_world_enter(comm->owner->world);
    struct creation *creation = sim_pool_get(comm->owner->world, sizeof *creation);
    sim_world_leave(comm->owner->world);
    assert(creation && "out of memory for a communicator");
    *creation = (struct creation){.made = made};
    *made = MPI_COMM_NULL;
    struct sim_collective_call call = {.kind = &comm_dup, .comm = comm, .argument = creation};
    return sim_collective_start(&call, request);
}

int PMPI_Comm_idup(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request)
{
    return idup(comm, newcomm, request, "Comm_idup");
}

int PMPI_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm, MPI_Request *request)
{
    (void)info;
    return idup(comm, newcomm, request, "Comm_idup_with_info");
}

int PMPI_Comm_split(MPI_Comm handle, int color, int key, MPI_Comm *made)
{
    int error;
    struct sim_comm *comm = sim_comm_check(handle, "Comm_split", &error);
    if (!comm)
        return error;
    if (color < 0 && color != MPI_UNDEFINED)
        return sim_error_raise(handle, MPI_ERR_ARG, "Comm_split",
                               "color %d is neither MPI_UNDEFINED nor at least 0", color);
    return run(comm, &comm_split, &(struct creation){.made = made, .color = color, .key = key});
}

/* All ranks share one memory: every guided type gives one communicator of all. */
int PMPI_Comm_split_type(MPI_Comm handle, int type, int key, MPI_Info info, MPI_Comm *made)
{
    (void)info;
    int error;
    struct sim_comm *comm = sim_comm_check(handle, "Comm_split_type", &error);
    if (!comm)
        return error;
    if (type != MPI_COMM_TYPE_SHARED && type != MPI_COMM_TYPE_HW_GUIDED &&
        type != MPI_COMM_TYPE_HW_UNGUIDED && type != MPI_COMM_TYPE_RESOURCE_GUIDED &&
        type != MPI_UNDEFINED)
        return sim_error_raise(handle, MPI_ERR_ARG, "Comm_split_type",
                               "split type %d is not one of the standard's", type);
    int color =
        type == MPI_COMM_TYPE_SHARED ? 0 : MPI_UNDEFINED; /* no hardware levels below are known */
    return run(comm, &comm_split, &(struct creation){.made = made, .color = color, .key = key});
}

int PMPI_Comm_create(MPI_Comm handle, MPI_Group group_handle, MPI_Comm *made)
{
    int error;
    struct sim_comm *comm = sim_comm_check(handle, "Comm_create", &error);
    if (!comm)
        return error;
    const struct sim_group *group = sim_group_from_handle(group_handle);
    if (!group)
        return sim_error_raise(handle, MPI_ERR_GROUP, "Comm_create", "group is not a valid handle");
    for (int i = 0; i < group->size; i++)
        if (sim_group_rank(comm->context->group, sim_group_world_rank(group, i)) == MPI_UNDEFINED)
            return sim_error_raise(handle, MPI_ERR_GROUP, "Comm_create",
                                   "the group is not a subset of the communicator's group");
    if (sim_group_rank(group, comm->owner->id) == MPI_UNDEFINED)
        group = NULL;
    return run(comm, &comm_create, &(struct creation){.made = made, .group = group});
}

/* --- creation by the members of a group only
 * ---------------------------------------------------------------------------------- */

/* What members of a gathering have in common: the parent and a tag, or no parent and a name. */
struct meeting {
    struct sim_context *parent;
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
           sim_group_compare(gathering->group, group) == MPI_IDENT;
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
    while (!gathering->made)
        sim_rank_block(rank);
    struct sim_comm *fresh = sim_comm_new(rank, gathering->made, sim_group_rank(group, rank->id));
    assert(fresh && "out of memory for a communicator");
    fresh->errhandler = errhandler;
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
    if (tag < 0)
        return sim_error_raise(handle, MPI_ERR_TAG, "Comm_create_group", "tag %d is negative", tag);
    if (sim_group_rank(group, comm->owner->id) == MPI_UNDEFINED)
        return MPI_SUCCESS;
    return create_group(comm->owner, &(struct meeting){.parent = comm->context, .tag = tag}, group,
                        comm->errhandler, made);
}

int PMPI_Comm_create_from_group(MPI_Group group_handle, const char *name, MPI_Info info,
                                MPI_Errhandler errhandler, MPI_Comm *made)
{
    (void)info;
    struct sim_rank *rank = sim_point_caller("Comm_create_from_group");
    if (!rank)
        return MPI_ERR_OTHER;
    *made = MPI_COMM_NULL;
    const struct sim_group *group = sim_group_from_handle(group_handle);
    if (!group)
        return sim_error_raise(MPI_COMM_NULL, MPI_ERR_GROUP, "Comm_create_from_group",
                               "group is not a valid handle");
    if (group->size == 0)
        return MPI_SUCCESS;
    if (sim_group_rank(group, rank->id) == MPI_UNDEFINED)
        return sim_error_raise(MPI_COMM_NULL, MPI_ERR_GROUP, "Comm_create_from_group",
                               "the caller is not in the group");
    return create_group(rank, &(struct meeting){.name = name}, group, errhandler, made);
}
