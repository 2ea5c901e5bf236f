/* Making communicators: every form is a collective whose execution builds the shared contexts and
 * gives each member its handle. */
#include "sim/collectives/collective.h"
#include "sim/communicator_calls/creation.h"
#include "sim/communicator_calls/intercomm.h"
#include "sim/communicators/info.h"
#include "sim/communicators/topology.h"
#include "sim/messages/point.h"
#include "sim/worlds/error.h"
#include "sim/worlds/rank_lock.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct sim_comm *sim_comm_deliver_handle(struct sim_collective_call *call,
                                         struct sim_context *context, int position)
{
    /* Only a member's own memory is written, and only if it is of the pool. */
    struct sim_creation *creation = (struct sim_creation *)(uintptr_t)call->argument;
    struct sim_comm *comm = sim_comm_new(call->comm->owner, context, position);
    assert(comm && "out of memory for a communicator");
    comm->errhandler = creation->errhandler;
    comm->session = call->comm->session;
    *creation->made = (MPI_Comm)(void *)comm;
    if (!creation->pooled) {
        sim_errhandler_retain(comm->errhandler);
        return comm;
    }
    comm->attributes = creation->attributes;
    comm->info = creation->info;
    if (comm->info)
        sim_comm_hints(comm);
    call->argument = NULL;
    sim_pool_put(context->world, creation, sizeof *creation);
    return comm;
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
        sim_comm_deliver_handle(collective->calls[r], context, r);
}

static int compare_places(const void *left, const void *right)
{
    const struct sim_split_entry *a = left, *b = right;
    if (a->color != b->color)
        return a->color < b->color ? -1 : 1;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->rank - b->rank; /* equal keys keep their order */
}

void sim_split_entries_sort(struct sim_split_entry *places, int n)
{
    qsort(places, (size_t)n, sizeof *places, compare_places);
}

int sim_split_entries_end(const struct sim_split_entry *places, int n, int from)
{
    int to = from;
    while (to < n && places[to].color == places[from].color)
        to++;
    return to;
}

/* The topology these members agree on; NULL, and each of them is told why, when they do not. */
static struct sim_topology *build_for(struct sim_collective *collective, const int *ranks,
                                      int members)
{
    const struct sim_topology_plan **plans =
        calloc((size_t)members, sizeof(struct sim_topology_plan *));
    assert(plans);
    for (int i = 0; i < members; i++)
        plans[i] = ((const struct sim_creation *)collective->calls[ranks[i]]->argument)->plan;
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
            sim_comm_deliver_handle(collective->calls[r], context, r);
    }
    free(ranks);
}

static void split_into(struct sim_collective *collective, bool with_topology)
{
    int n = collective->size;
    struct sim_split_entry *places = malloc((size_t)n * sizeof *places);
    int *ranks = malloc((size_t)n * sizeof *ranks);
    assert(places && ranks);
    for (int r = 0; r < n; r++) {
        const struct sim_creation *creation = collective->calls[r]->argument;
        places[r] = (struct sim_split_entry){creation->color, creation->key, r};
    }
    sim_split_entries_sort(places, n);
    for (int from = 0, to; from < n; from = to) {
        to = sim_split_entries_end(places, n, from);
        for (int i = from; i < to; i++)
            ranks[i - from] = places[i].rank;
        if (places[from].color == MPI_UNDEFINED)
            continue;
        struct sim_topology *topology = NULL;
        if (with_topology && !(topology = build_for(collective, ranks, to - from)))
            continue;
        struct sim_context *context = context_like(
            collective, sim_group_include(collective->context->group, to - from, ranks));
        context->topology = topology;
        for (int i = from; i < to; i++)
            sim_comm_deliver_handle(collective->calls[places[i].rank], context, i - from);
    }
    free(places);
    free(ranks);
}

static void split_execute(struct sim_collective *collective)
{
    split_into(collective, false);
}

bool sim_creation_types_agree(struct sim_collective *collective)
{
    int type = MPI_UNDEFINED, first = 0, dissenter = -1;
    for (int r = 0; r < collective->size && dissenter < 0; r++) {
        int mine = ((const struct sim_creation *)collective->calls[r]->argument)->type;
        if (type == MPI_UNDEFINED) {
            type = mine;
            first = r;
        } else if (mine != type && mine != MPI_UNDEFINED) {
            dissenter = r;
        }
    }
    for (int r = 0; dissenter >= 0 && r < collective->size; r++) {
        char complaint[160];
        snprintf(complaint, sizeof complaint, "the split types given by ranks %d and %d differ",
                 sim_context_world_rank(collective->context, first),
                 sim_context_world_rank(collective->context, dissenter));
        collective->calls[r]->error = MPI_ERR_NOT_SAME;
        sim_collective_complain(collective->calls[r], complaint);
    }
    return dissenter < 0;
}

static void split_type_execute(struct sim_collective *collective)
{
    if (sim_creation_types_agree(collective))
        split_into(collective, false);
}

static const struct sim_topology_plan *plan_of(const struct sim_collective *collective, int rank)
{
    return ((const struct sim_creation *)collective->calls[rank]->argument)->plan;
}

/* Who keeps other dimensions than the first: subgrids of both may be of one size. */
static void cart_sub_execute(struct sim_collective *collective)
{
    int dissenter = 0;
    while (dissenter < collective->size &&
           plan_of(collective, dissenter)->kept == plan_of(collective, 0)->kept)
        dissenter++;
    for (int r = 0; dissenter < collective->size && r < collective->size; r++) {
        char complaint[160];
        snprintf(complaint, sizeof complaint, "rank %d keeps other dimensions than rank 0",
                 dissenter);
        collective->calls[r]->error = MPI_ERR_ARG;
        sim_collective_complain(collective->calls[r], complaint);
    }
    if (dissenter < collective->size)
        return;
    split_into(collective, true);
}

static const struct sim_group *group_of(const struct sim_collective *collective, int rank)
{
    return ((const struct sim_creation *)collective->calls[rank]->argument)->group;
}

/* The i-th member of the group that this rank gives, as a rank of the communicator. */
static int member_of(const struct sim_collective *collective, int rank, int i)
{
    return sim_group_rank(collective->context->group,
                          sim_group_world_rank(group_of(collective, rank), i));
}

static bool same_group_argument(const struct sim_collective *collective, int one, int other)
{
    const struct sim_group *group = group_of(collective, other);
    return group && sim_group_same(group_of(collective, one), group);
}

/* Per rank: who gives another group than the first member of this rank's group does, though it is
 * in it; MPI_UNDEFINED where all give the same, in the same order. */
static int *find_group_mismatch(const struct sim_collective *collective)
{
    int n = collective->size, *dissenters = malloc((size_t)n * sizeof *dissenters);
    assert(dissenters);
    for (int r = 0; r < n; r++) {
        const struct sim_group *group = group_of(collective, r);
        dissenters[r] = MPI_UNDEFINED;
        if (!group || member_of(collective, r, 0) != r)
            continue;
        for (int i = 1; i < group->size && dissenters[r] == MPI_UNDEFINED; i++)
            if (!same_group_argument(collective, r, member_of(collective, r, i)))
                dissenters[r] = member_of(collective, r, i);
    }
    for (int r = 0; r < n; r++) {
        int first = group_of(collective, r) ? member_of(collective, r, 0) : r;
        if (first != r)
            dissenters[r] = same_group_argument(collective, r, first) ? dissenters[first] : first;
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
    int *dissenters = find_group_mismatch(collective);
    for (int r = 0; r < collective->size; r++) {
        const struct sim_group *given = group_of(collective, r);
        if (dissenters[r] != MPI_UNDEFINED)
            complain_of(collective, r, dissenters[r]);
        else if (given && member_of(collective, r, 0) == r) {
            struct sim_group *group = sim_group_retain((struct sim_group *)(uintptr_t)given);
            struct sim_context *context = context_like(collective, group);
            for (int i = 0; i < group->size; i++)
                sim_comm_deliver_handle(collective->calls[member_of(collective, r, i)], context, i);
        }
    }
    free(dissenters);
}

static const struct sim_collective_kind comm_dup = {.name = "Comm_dup",
                                                    .synchronisation = SIM_NEEDS_ALL,
                                                    .execute = dup_execute,
                                                    .across = &sim_comm_dup_across};
static const struct sim_collective_kind comm_dup_with_info = {.name = "Comm_dup_with_info",
                                                              .synchronisation = SIM_NEEDS_ALL,
                                                              .execute = dup_execute,
                                                              .across =
                                                                  &sim_comm_dup_with_info_across};
static const struct sim_collective_kind comm_split = {.name = "Comm_split",
                                                      .synchronisation = SIM_NEEDS_ALL,
                                                      .execute = split_execute,
                                                      .across = &sim_comm_split_across};
static const struct sim_collective_kind comm_split_type = {.name = "Comm_split_type",
                                                           .synchronisation = SIM_NEEDS_ALL,
                                                           .execute = split_type_execute,
                                                           .across = &sim_comm_split_type_across};
static const struct sim_collective_kind comm_create = {.name = "Comm_create",
                                                       .synchronisation = SIM_NEEDS_ALL,
                                                       .execute = create_execute,
                                                       .across = &sim_comm_create_across};
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

/* The call in which a member of `comm` takes part, on the bridge of an intercommunicator; what the
 * MPI function must return. */
static int begin(struct sim_collective_call *call, struct sim_comm *comm,
                 const struct sim_collective_kind *kind, const struct sim_creation *creation)
{
    *creation->made = MPI_COMM_NULL;
    *call = (struct sim_collective_call){.kind = kind, .comm = comm, .argument = creation};
    if (!comm->context->remote)
        return MPI_SUCCESS;
    if (!kind->across)
        return sim_error_raise(sim_comm_handle(comm), MPI_ERR_COMM, kind->name,
                               "communicator is an intercommunicator");
    call->kind = kind->across;
    call->comm = comm->bridge;
    comm->bridge->errhandler = comm->errhandler;
    return MPI_SUCCESS;
}

static int run(struct sim_comm *comm, const struct sim_collective_kind *kind,
               struct sim_creation *creation)
{
    struct sim_collective_call call;
    creation->errhandler = comm->errhandler;
    int error = begin(&call, comm, kind, creation);
    return error ? error : sim_collective_run(&call);
}

int sim_comm_create_topology(struct sim_comm *comm, enum sim_topology_constructor constructor,
                             const struct sim_topology_plan *plan, MPI_Comm *made)
{
    return run(comm, &comm_topology[constructor],
               &(struct sim_creation){.made = made, .plan = plan});
}

int sim_comm_split_topology(struct sim_comm *comm, int color, int key,
                            const struct sim_topology_plan *plan, MPI_Comm *made)
{
    return run(comm, &comm_cart_sub,
               &(struct sim_creation){.made = made, .color = color, .key = key, .plan = plan});
}

static int attributes_copy(const struct sim_comm *comm, MPI_Comm handle,
                           struct sim_attributes *duplicate)
{
    WITH_RANK_LOCK;
    SIM_CALLBACK callback = sim_callback_of(comm->owner, MPI_ERR_OTHER);
    int error = sim_attributes_copy(&comm->attributes, (void *)handle, duplicate);
    callback.rank = NULL;
    return error;
}

static int dup(MPI_Comm handle, MPI_Comm *made, const struct sim_collective_kind *kind)
{
    const char *function = kind->name;
    int error;
    struct sim_comm *comm = sim_comm_check(handle, function, &error);
    if (!comm)
        return error;
    error = run(comm, kind, &(struct sim_creation){.made = made});
    if (error)
        return error;
    struct sim_comm *copy = sim_comm_get(comm->owner, *made);
    error = attributes_copy(comm, handle, &copy->attributes);
    if (!error)
        return MPI_SUCCESS;
    PMPI_Comm_free(made);
    return sim_error_raise_callback(handle, error, function, "an attribute's copy function failed");
}

int PMPI_Comm_dup(MPI_Comm comm, MPI_Comm *newcomm)
{
    return dup(comm, newcomm, &comm_dup);
}

int PMPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm)
{
    int error = sim_info_check(comm, info, "Comm_dup_with_info");
    if (!error)
        error = dup(comm, newcomm, &comm_dup_with_info);
    return error ? error : PMPI_Comm_set_info(*newcomm, info);
}

/* Nonblocking duplication: the handle is written when the last member has come. Attributes and
 * error handler are those of the moment of the call. */
static int idup(MPI_Comm handle, MPI_Info info, MPI_Comm *made, MPI_Request *request,
                const struct sim_collective_kind *kind, const char *function)
{
    int error;
    struct sim_comm *comm = sim_comm_check(handle, function, &error);
    if (!comm)
        return error;
    error = sim_info_check(handle, info, function);
    if (error)
        return error;
    struct sim_attributes attributes = {0};
    error = attributes_copy(comm, handle, &attributes);
    if (error) {
        sim_attributes_clear(&attributes, (void *)handle);
        sim_attributes_release(&attributes);
        return sim_error_raise_callback(handle, error, function,
                                        "an attribute's copy function failed");
    }
    sim_comm_hints_told(info);
    const struct sim_info *hints = sim_info_from_handle(info);
    struct sim_info *kept = hints ? sim_info_copy(hints) : NULL;
    sim_world_enter(comm->owner->world);
    struct sim_creation *creation = sim_pool_get(comm->owner->world, sizeof *creation);
    sim_world_leave(comm->owner->world);
    assert(creation && (kept || !hints) && "out of memory for a communicator");
    sim_errhandler_retain(comm->errhandler);
    *creation = (struct sim_creation){.made = made,
                                      .errhandler = comm->errhandler,
                                      .pooled = true,
                                      .attributes = attributes,
                                      .info = (MPI_Info)(void *)kept};
    struct sim_collective_call call;
    error = begin(&call, comm, kind, creation);
    assert(!error);
    return sim_collective_start(&call, request);
}

int PMPI_Comm_idup(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request)
{
    return idup(comm, MPI_INFO_NULL, newcomm, request, &comm_dup, "Comm_idup");
}

int PMPI_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm, MPI_Request *request)
{
    return idup(comm, info, newcomm, request, &comm_dup_with_info, "Comm_idup_with_info");
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
    return run(comm, &comm_split, &(struct sim_creation){.made = made, .color = color, .key = key});
}

/* All ranks share one memory. No other resource of theirs is known. */
static bool shares(int type, MPI_Info info)
{
    static const char *const keys[] = {"mpi_hw_resource_type", "mpi_pset_name"};
    static const char *const all[] = {"mpi_shared_memory", "mpi://WORLD"};
    if (type == MPI_COMM_TYPE_SHARED)
        return true;
    int guided = type == MPI_COMM_TYPE_HW_GUIDED         ? 1
                 : type == MPI_COMM_TYPE_RESOURCE_GUIDED ? 2
                                                         : 0;
    for (int i = 0; i < guided && info != MPI_INFO_NULL; i++) {
        const char *value = sim_info_get((const struct sim_info *)(const void *)info, keys[i]);
        if (value)
            return strcasecmp(value, all[i]) == 0;
    }
    return false;
}

int PMPI_Comm_split_type(MPI_Comm handle, int type, int key, MPI_Info info, MPI_Comm *made)
{
    int error;
    struct sim_comm *comm = sim_comm_check(handle, "Comm_split_type", &error);
    if (comm)
        error = sim_info_check(handle, info, "Comm_split_type");
    if (error)
        return error;
    if (type != MPI_COMM_TYPE_SHARED && type != MPI_COMM_TYPE_HW_GUIDED &&
        type != MPI_COMM_TYPE_HW_UNGUIDED && type != MPI_COMM_TYPE_RESOURCE_GUIDED &&
        type != MPI_UNDEFINED)
        return sim_error_raise(handle, MPI_ERR_ARG, "Comm_split_type",
                               "split type %d is not one of the standard's", type);
    int color = shares(type, info) ? 0 : MPI_UNDEFINED;
    return run(comm, &comm_split_type,
               &(struct sim_creation){.made = made, .color = color, .key = key, .type = type});
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
    sim_sessions_meet_group("Comm_create", comm->session, group);
    for (int i = 0; i < group->size; i++)
        if (sim_group_rank(comm->context->group, sim_group_world_rank(group, i)) == MPI_UNDEFINED)
            return sim_error_raise(handle, MPI_ERR_GROUP, "Comm_create",
                                   "the group is not a subset of the communicator's group");
    /* Across, a side's members all give the same group, whether they are in it or not. */
    if (!comm->context->remote && sim_group_rank(group, comm->owner->id) == MPI_UNDEFINED)
        group = NULL;
    return run(comm, &comm_create, &(struct sim_creation){.made = made, .group = group});
}
