/* Communicators: the objects, and the calls that need no agreement. Making new ones is in
 * communicator_calls/create.c. */
#include "sim/communicators/comm.h"
#include "sim/worlds/rank_lock.h"

#include "recorder/recorder.h"
#include "sim/communicators/complaints.h"
#include "sim/communicators/info.h"
#include "sim/worlds/error.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct sim_context *sim_context_new(struct sim_world *world, struct sim_group *group)
{
    struct sim_context *context = calloc(1, sizeof *context);
    if (!context)
        return NULL;
    context->world = world;
    context->size = group->size;
    if (!world->rooms->context_begin(context)) {
        free(context);
        return NULL;
    }
    context->group = group;
    context->id = ++world->context_ids;
    context->next = world->contexts;
    world->contexts = context;
    return context;
}

struct sim_comm *sim_comm_new(struct sim_rank *rank, struct sim_context *context, int position)
{
    struct sim_comm *comm = calloc(1, sizeof *comm);
    if (!comm)
        return NULL;
    comm->magic = SIM_MAGIC_COMM;
    comm->owner = rank;
    comm->context = context;
    comm->rank = position;
    comm->size = context->size;
    comm->errhandler = MPI_ERRORS_ARE_FATAL;
    comm->site = sim_libc_call_site_of(&rank->libc);
    comm->next = rank->comms;
    rank->comms = comm;
    return comm;
}

void sim_comm_delete(struct sim_comm *comm)
{
    struct sim_comm **link = &comm->owner->comms;
    while (*link != comm)
        link = &(*link)->next;
    *link = comm->next;
    comm->magic = SIM_MAGIC_FREED;
    sim_attributes_release(&comm->attributes);
    free(comm->name);
    free(comm->last_of_team);
    comm->last_of_team = NULL;
    sim_complaints_drop(&comm->complaints);
    sim_info_free(sim_info_from_handle(comm->info));
    /* The object itself lives on with the world, so that a stale handle is recognised; see
     * sim_comm_release_all. */
    struct sim_world *world = comm->owner->world;
    comm->next = world->dead_comms;
    world->dead_comms = comm;
    if (!comm->bridge)
        return;
    comm->bridge->magic = SIM_MAGIC_FREED;
    comm->bridge->next = world->dead_comms;
    world->dead_comms = comm->bridge;
}

/* What the short ways touch first lies in one line of the cache, and not across two. */
struct sim_world_comm {
    _Alignas(SIM_COMM_HOT) struct sim_comm comm;
};

bool sim_comm_make_predefined(struct sim_world *world)
{
    struct sim_group *group = sim_group_new_sequence(world->size, 0, 1);
    struct sim_context *context = group ? sim_context_new(world, group) : NULL;
    if (!context)
        return false;
    /* One array: a million ranks' handles are one allocation. */
    world->world_comms =
        aligned_alloc(SIM_COMM_HOT, (size_t)world->size * sizeof *world->world_comms);
    if (!world->world_comms)
        return false;
    for (int r = 0; r < world->size; r++) {
        struct sim_comm *comm = &world->world_comms[r].comm;
        *comm = (struct sim_comm){.magic = SIM_MAGIC_COMM,
                                  .owner = &world->ranks[r],
                                  .context = context,
                                  .rank = r,
                                  .size = world->size,
                                  .errhandler = MPI_ERRORS_ARE_FATAL,
                                  .predefined = true};
        world->ranks[r].comm_world = comm;
    }
    return true;
}

/* In the monitor. */
static struct sim_comm *make_self(struct sim_rank *rank)
{
    struct sim_group *group = sim_group_new_sequence(1, rank->id, 1);
    struct sim_context *context = group ? sim_context_new(rank->world, group) : NULL;
    struct sim_comm *made = context ? sim_comm_new(rank, context, 0) : NULL;
    assert(made && "out of memory for MPI_COMM_SELF");
    made->predefined = true;
    __atomic_store_n(&rank->comm_self, made, __ATOMIC_RELEASE);
    return made;
}

struct sim_comm *sim_comm_of_self(struct sim_rank *rank)
{
    struct sim_comm *self = __atomic_load_n(&rank->comm_self, __ATOMIC_ACQUIRE);
    if (self)
        return self;
    sim_world_enter(rank->world);
    self = rank->comm_self ? rank->comm_self : make_self(rank);
    sim_world_leave(rank->world);
    return self;
}

MPI_Comm sim_comm_handle(struct sim_comm *comm)
{
    if (!comm->predefined)
        return (MPI_Comm)(void *)(comm->face ? comm->face : comm);
    return comm == comm->owner->comm_world ? MPI_COMM_WORLD : MPI_COMM_SELF;
}

static void context_release(struct sim_context *context)
{
    context->world->rooms->context_end(context);
    sim_topology_release(context->topology);
    sim_group_release(context->group);
    free(context);
}

/* What a handle holds that its rank never freed. */
static void comm_release(struct sim_comm *comm)
{
    sim_attributes_release(&comm->attributes);
    sim_errhandler_release(comm->errhandler);
    sim_info_free(sim_info_from_handle(comm->info));
    sim_complaints_drop(&comm->complaints);
    free(comm->last_of_team);
    free(comm->name);
    if (comm->bridge) {
        sim_complaints_drop(&comm->bridge->complaints);
        free(comm->bridge->last_of_team);
    }
    free(comm->bridge);
}

static void comms_release(struct sim_comm *comm)
{
    for (struct sim_comm *next; comm; comm = next) {
        next = comm->next;
        if (comm->magic == SIM_MAGIC_COMM)
            comm_release(comm);
        free(comm);
    }
}

void sim_comm_release_all(struct sim_world *world)
{
    for (struct sim_context *context = world->contexts, *next; context; context = next) {
        next = context->next;
        context_release(context);
    }
    for (int r = 0; world->ranks && r < world->size; r++)
        comms_release(world->ranks[r].comms);
    comms_release(world->dead_comms);
    for (int r = 0; world->world_comms && r < world->size; r++)
        comm_release(&world->world_comms[r].comm);
    free(world->world_comms);
}

/* ---- calls ---- */

MPI_Errhandler sim_comm_error_target(struct sim_rank *rank, MPI_Comm *handle)
{
    struct sim_comm *comm = *handle == MPI_COMM_NULL ? NULL : sim_comm_get(rank, *handle);
    const struct sim_comm *self = rank->comm_self;
    if (!comm) /* of no object: MPI-4 asks MPI_COMM_SELF, MPI-3 asked the world */
        comm = self && self->errhandler_set ? rank->comm_self : rank->comm_world;
    if (!comm)
        return MPI_ERRORS_ARE_FATAL;
    *handle = comm->window ? (MPI_Comm)comm->window : sim_comm_handle(comm);
    return comm->errhandler;
}

struct sim_comm *sim_comm_check(MPI_Comm handle, const char *function, int *error)
{
    struct sim_rank *rank = sim_point_caller(function);
    if (!rank) {
        *error = MPI_ERR_OTHER;
        return NULL;
    }
    struct sim_comm *comm = sim_comm_get(rank, handle);
    if (comm && comm->predefined && !rank->initialized && strcmp(function, "Comm_group") != 0)
        comm = NULL; /* in a session; the recorder asks for the group all the same */
    *error = comm ? MPI_SUCCESS : sim_comm_refuse(handle, function);
    return comm;
}

int sim_comm_verify(MPI_Comm handle, const char *function)
{
    int error;
    sim_comm_check(handle, function, &error);
    return error;
}

static bool is_freed(const struct sim_rank *rank, MPI_Comm handle)
{
    bool found = false;
    sim_world_enter(rank->world);
    for (const struct sim_comm *comm = rank->world->dead_comms; comm && !found; comm = comm->next)
        found = (const void *)comm == (const void *)handle && comm->owner == rank;
    sim_world_leave(rank->world);
    return found;
}

/* Where the program called: the first return address outside the machine. All our code keeps frame
 * pointers. NULL: not found. */
static const void *caller_outside(void)
{
    extern const char __executable_start, etext;
    const uintptr_t *frame = __builtin_frame_address(0);
    for (int depth = 0; depth < 24 && frame; depth++) {
        uintptr_t address = frame[1], next = frame[0];
        if (address < (uintptr_t)&__executable_start || address >= (uintptr_t)&etext)
            return (const void *)address;
        if (next <= (uintptr_t)frame || next - (uintptr_t)frame > 65536)
            break;
        frame = (const uintptr_t *)next;
    }
    return NULL;
}

/* MPI_COMM_WORLD and MPI_COMM_SELF of MPICH's mpi.h, whose kind stands in the upper bits. */
static bool is_mpichs(MPI_Comm handle)
{
    return (uintptr_t)handle >> 1 == 0x44000000 >> 1;
}

int sim_comm_refuse(MPI_Comm handle, const char *function)
{
    const char *what = "not a valid handle of this rank";
    if (handle == MPI_COMM_NULL) {
        what = "MPI_COMM_NULL";
    } else if (handle == MPI_COMM_WORLD || handle == MPI_COMM_SELF) {
        what = handle == MPI_COMM_WORLD ? "MPI_COMM_WORLD, which only MPI_Init makes"
                                        : "MPI_COMM_SELF, which only MPI_Init makes";
    } else if (is_mpichs(handle)) {
        what = "MPICH's: compile all of the program with simcc";
        record_refusal("U002", caller_outside(),
                       "a part of the program was compiled with MPICH's mpi.h: compile all of it "
                       "with simcc (make clean; make CC=simcc)");
    } else if (is_freed(sim_current_rank, handle)) {
        const void *place = caller_outside();
        what = "freed";
        if (place)
            record_site_enter(place);
        record_note("X005", "MPI_%s: MPI_ERR_COMM: a communicator was used after it had been freed",
                    sim_error_function(function));
        if (place)
            record_site_leave();
    }
    return sim_error_raise(MPI_COMM_NULL, MPI_ERR_COMM, function, "communicator is %s", what);
}

int PMPI_Comm_rank(MPI_Comm handle, int *rank)
{
    int error;
    struct sim_comm *comm = sim_comm_check(handle, "Comm_rank", &error);
    if (comm)
        *rank = comm->rank;
    return error;
}

int PMPI_Comm_size(MPI_Comm handle, int *size)
{
    int error;
    struct sim_comm *comm = sim_comm_check(handle, "Comm_size", &error);
    if (comm)
        *size = comm->size;
    return error;
}

/* The group of a communicator is all its ranks', and each has a session of its own. */
MPI_Group sim_comm_hand_out_group(const struct sim_comm *comm, struct sim_group *group)
{
    if (!comm->session)
        return sim_group_hand_out(sim_group_retain(group));
    struct sim_group *own = group->ranks
                                ? sim_group_new(group->size, group->ranks)
                                : sim_group_new_sequence(group->size, group->first, group->stride);
    assert(own && "out of memory for a group");
    own->session = comm->session;
    return sim_group_hand_out(own);
}

void sim_sessions_meet(const char *function, uint32_t one, uint32_t other)
{
    if (one == other)
        return;
    record_refusal("M009", sim_libc_call_site(), "MPI_%s: objects of %s in one call", function,
                   one && other ? "two sessions" : "a session and of MPI_Init");
}

void sim_sessions_meet_group(const char *function, uint32_t one, const struct sim_group *group)
{
    if (group->size)
        sim_sessions_meet(function, one, group->session);
}

int PMPI_Comm_group(MPI_Comm handle, MPI_Group *group)
{
    int error;
    struct sim_comm *comm = sim_comm_check(handle, "Comm_group", &error);
    if (comm)
        *group = sim_comm_hand_out_group(comm, comm->context->group);
    return error;
}

int PMPI_Comm_compare(MPI_Comm first, MPI_Comm second, int *result)
{
    int error;
    struct sim_comm *a = sim_comm_check(first, "Comm_compare", &error);
    struct sim_comm *b = a ? sim_comm_check(second, "Comm_compare", &error) : NULL;
    if (!b)
        return error;
    sim_sessions_meet("Comm_compare", a->session, b->session);
    if (a->context == b->context) {
        *result = MPI_IDENT;
        return MPI_SUCCESS;
    }
    int groups = sim_group_compare(a->context->group, b->context->group);
    const struct sim_context *far_a = a->context->remote, *far_b = b->context->remote;
    int others = !far_a != !far_b ? MPI_UNEQUAL
                 : far_a          ? sim_group_compare(far_a->group, far_b->group)
                                  : MPI_IDENT;
    if (groups == MPI_UNEQUAL || others == MPI_UNEQUAL)
        *result = MPI_UNEQUAL;
    else
        *result = groups == MPI_IDENT && others == MPI_IDENT ? MPI_CONGRUENT : MPI_SIMILAR;
    return MPI_SUCCESS;
}

int PMPI_Comm_test_inter(MPI_Comm handle, int *flag)
{
    int error;
    struct sim_comm *comm = sim_comm_check(handle, "Comm_test_inter", &error);
    if (comm)
        *flag = comm->context->remote != NULL;
    return error;
}

int PMPI_Comm_set_name(MPI_Comm handle, const char *name)
{
    WITH_RANK_LOCK;
    int error;
    struct sim_comm *comm = sim_comm_check(handle, "Comm_set_name", &error);
    if (!comm)
        return error;
    free(comm->name);
    comm->name = strndup(name, MPI_MAX_OBJECT_NAME - 1);
    return MPI_SUCCESS;
}

int PMPI_Comm_get_name(MPI_Comm handle, char *name, int *length)
{
    WITH_RANK_LOCK;
    int error;
    name[0] = '\0';
    *length = 0;
    if (handle == MPI_COMM_NULL) {
        strcpy(name, "MPI_COMM_NULL");
        *length = (int)strlen(name);
        return MPI_SUCCESS;
    }
    struct sim_comm *comm = sim_comm_check(handle, "Comm_get_name", &error);
    if (!comm)
        return error;
    const char *own = comm->name;
    if (!own && comm->predefined)
        own = comm == comm->owner->comm_world ? "MPI_COMM_WORLD" : "MPI_COMM_SELF";
    if (own)
        strcpy(name, own);
    *length = (int)strlen(name);
    return MPI_SUCCESS;
}

int sim_comm_attributes_delete(struct sim_comm *comm)
{
    int error;
    {
        WITH_RANK_LOCK;
        SIM_CALLBACK callback = sim_callback_of(comm->owner, MPI_ERR_OTHER);
        error = sim_attributes_clear(&comm->attributes, (void *)sim_comm_handle(comm));
        callback.rank = NULL;
    }
    if (error)
        return sim_error_raise_callback(sim_comm_handle(comm), error, "Comm_free",
                                        "an attribute's delete function failed");
    return MPI_SUCCESS;
}

int sim_comm_free(MPI_Comm *handle, const char *function)
{
    int error;
    struct sim_comm *comm = sim_comm_check(*handle, function, &error);
    if (!comm)
        return error;
    if (comm->predefined)
        return sim_error_raise(*handle, MPI_ERR_COMM, function,
                               "a predefined communicator cannot be freed");
    error = sim_comm_attributes_delete(comm);
    if (error)
        return error;
    sim_world_enter(comm->owner->world);
    sim_errhandler_release(comm->errhandler);
    sim_comm_delete(comm);
    sim_world_leave(comm->owner->world);
    *handle = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

int PMPI_Comm_free(MPI_Comm *handle)
{
    return sim_comm_free(handle, "Comm_free");
}

static int refuse_intra(MPI_Comm handle, const char *function)
{
    return sim_error_raise(handle, MPI_ERR_COMM, function,
                           "communicator is not an intercommunicator");
}

int PMPI_Comm_remote_size(MPI_Comm handle, int *size)
{
    int error;
    struct sim_comm *comm = sim_comm_check(handle, "Comm_remote_size", &error);
    if (!comm || !comm->context->remote)
        return comm ? refuse_intra(handle, "Comm_remote_size") : error;
    *size = comm->context->remote->size;
    return MPI_SUCCESS;
}

int PMPI_Comm_remote_group(MPI_Comm handle, MPI_Group *group)
{
    int error;
    struct sim_comm *comm = sim_comm_check(handle, "Comm_remote_group", &error);
    if (!comm || !comm->context->remote)
        return comm ? refuse_intra(handle, "Comm_remote_group") : error;
    *group = sim_comm_hand_out_group(comm, comm->context->remote->group);
    return MPI_SUCCESS;
}
