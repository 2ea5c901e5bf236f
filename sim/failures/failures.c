/* Ranks that fail, communicators that are revoked, and the calls of MPI on both: see failures.h and
 * mpi-ext.h. */
#include "sim/failures/failures.h"

#include "recorder/recorder.h"
#include "sim/collectives/collective.h"
#include "sim/communicators/failures.h"
#include "sim/failures/agreement.h"
#include "sim/messages/failures.h"
#include "sim/worlds/error.h"

#include <assert.h>
#include <mpi-ext.h>
#include <stdlib.h>

/* Who waits for a lock, an exposure, or others to make a communicator with. */
static void reconsider(struct sim_world *world)
{
    for (int i = 0; i < world->size; i++)
        if (world->ranks[i].reconsiders && sim_rank_waits(&world->ranks[i]))
            sim_rank_wake(&world->ranks[i]);
}

void sim_failures_rank_failed(struct sim_rank *rank)
{
    struct sim_world *world = rank->world;
    sim_world_troubled(world);
    reconsider(world);
    for (struct sim_context *context = world->contexts; context; context = context->next) {
        int position = sim_group_rank(context->group, rank->id);
        if (position == MPI_UNDEFINED)
            continue;
        sim_mailboxes_member_failed(context, position);
        sim_collectives_settle(context);
        sim_meetings_reconsider(context);
    }
}

/* ---- revoking ---- */

static void revoke(struct sim_context *context)
{
    if (!context)
        return;
    context->revoked = true;
    sim_mailboxes_revoked(context);
    sim_collectives_settle(context);
}

int PMPIX_Comm_revoke(MPI_Comm handle)
{
    int error;
    struct sim_comm *comm = sim_comm_check(handle, "Comm_revoke", &error);
    if (!comm)
        return error;
    struct sim_world *world = comm->owner->world;
    sim_world_enter(world);
    sim_world_troubled(world);
    sim_world_changed(world);
    bool first = !comm->context->revoked;
    if (first && comm->context->remote)
        comm->context->remote->revoked = true; /* before any of its members is told */
    if (first) {
        revoke(comm->context);
        revoke(comm->context->remote);
        revoke(comm->context->bridge);
        reconsider(world);
    }
    sim_world_leave(world);
    if (first)
        record_gap("run", 1,
                   "revocations that reach some members later (all learn of one at once)");
    return MPI_SUCCESS;
}

int PMPIX_Comm_is_revoked(MPI_Comm handle, int *flag)
{
    int error;
    struct sim_comm *comm = sim_comm_check(handle, "Comm_is_revoked", &error);
    if (!comm)
        return error;
    sim_world_enter(comm->owner->world);
    *flag = comm->context->revoked;
    sim_world_leave(comm->owner->world);
    return MPI_SUCCESS;
}

/* ---- agreements ---- */

static int raise_for(MPI_Comm handle, const char *function, int error)
{
    return error ? sim_error_raise(handle, error, function, "%s", sim_failure_sentence(error))
                 : MPI_SUCCESS;
}

/* `handle` may be gone from the program's hands when the result is there. */
static int meet(MPI_Comm handle, const char *function, struct sim_seat seat)
{
    int error;
    struct sim_comm *comm = sim_comm_check(handle, function, &error);
    if (!comm)
        return error;
    struct sim_world *world = comm->owner->world;
    sim_world_enter(world);
    struct sim_request *request = sim_meeting_join(comm, seat);
    sim_request_wait(request);
    error = request->error;
    sim_request_delete(request);
    sim_world_leave(world);
    return raise_for(handle, function, error);
}

static int begin_to_meet(MPI_Comm handle, const char *function, struct sim_seat seat,
                         MPI_Request *request)
{
    int error;
    struct sim_comm *comm = sim_comm_check(handle, function, &error);
    if (!comm)
        return error;
    sim_world_enter(comm->owner->world);
    *request = (MPI_Request)(void *)sim_meeting_join(comm, seat);
    sim_world_leave(comm->owner->world);
    return MPI_SUCCESS;
}

static int refuse_null(MPI_Comm handle, const char *function)
{
    return sim_error_raise(handle, MPI_ERR_ARG, function, "the place for the result is NULL");
}

int PMPIX_Comm_agree(MPI_Comm comm, int *flag)
{
    return flag ? meet(comm, "Comm_agree", (struct sim_seat){.flag = flag})
                : refuse_null(comm, "Comm_agree");
}

int PMPIX_Comm_iagree(MPI_Comm comm, int *flag, MPI_Request *request)
{
    return flag && request
               ? begin_to_meet(comm, "Comm_iagree", (struct sim_seat){.flag = flag}, request)
               : refuse_null(comm, "Comm_iagree");
}

int PMPIX_Comm_shrink(MPI_Comm comm, MPI_Comm *made)
{
    return made ? meet(comm, "Comm_shrink", (struct sim_seat){.made = made})
                : refuse_null(comm, "Comm_shrink");
}

int PMPIX_Comm_ishrink(MPI_Comm comm, MPI_Comm *made, MPI_Request *request)
{
    if (!made || !request)
        return refuse_null(comm, "Comm_ishrink");
    *made = MPI_COMM_NULL;
    return begin_to_meet(comm, "Comm_ishrink", (struct sim_seat){.made = made}, request);
}

/* ---- acknowledging ---- */

/* Acknowledges so many failures more than none, not fewer than before; how many are. */
static int acknowledge(struct sim_comm *comm, int wanted)
{
    sim_world_enter(comm->owner->world);
    int failed = sim_comm_failed(comm, NULL, 0);
    if (wanted > failed)
        wanted = failed;
    if (wanted > comm->acknowledged)
        comm->acknowledged = wanted;
    int now = comm->acknowledged;
    sim_world_leave(comm->owner->world);
    return now;
}

int PMPIX_Comm_failure_ack(MPI_Comm handle)
{
    int error;
    struct sim_comm *comm = sim_comm_check(handle, "Comm_failure_ack", &error);
    if (comm)
        acknowledge(comm, comm->owner->world->size);
    return error;
}

int PMPIX_Comm_ack_failed(MPI_Comm handle, int wanted, int *acknowledged)
{
    int error;
    struct sim_comm *comm = sim_comm_check(handle, "Comm_ack_failed", &error);
    if (!comm)
        return error;
    if (wanted < 0 || !acknowledged)
        return sim_error_raise(handle, MPI_ERR_ARG, "Comm_ack_failed",
                               wanted < 0 ? "the number of failures is negative"
                                          : "the place for the result is NULL");
    *acknowledged = acknowledge(comm, wanted);
    return MPI_SUCCESS;
}

/* All members that have failed, or those that the caller has acknowledged. */
static int failed_group(MPI_Comm handle, const char *function, bool all, MPI_Group *made)
{
    int error;
    struct sim_comm *comm = sim_comm_check(handle, function, &error);
    if (!comm)
        return error;
    if (!made)
        return refuse_null(handle, function);
    struct sim_world *world = comm->owner->world;
    int *ranks = malloc((size_t)world->size * sizeof *ranks);
    assert(ranks && "out of memory for a group");
    sim_world_enter(world);
    int found = sim_comm_failed(comm, ranks, world->size);
    sim_world_leave(world);
    struct sim_group *group = sim_group_new(all ? found : comm->acknowledged, ranks);
    assert(group && "out of memory for a group");
    free(ranks);
    group->session = comm->session;
    *made = sim_group_hand_out(group);
    return MPI_SUCCESS;
}

int PMPIX_Comm_failure_get_acked(MPI_Comm comm, MPI_Group *failed)
{
    return failed_group(comm, "Comm_failure_get_acked", false, failed);
}

int PMPIX_Comm_get_failed(MPI_Comm comm, MPI_Group *failed)
{
    return failed_group(comm, "Comm_get_failed", true, failed);
}

/* Under the names a program calls; the recorder has those of the others. */
#define CALLED(name, parameters)                                                                   \
    int MPIX_##name parameters __attribute__((weak, alias("PMPIX_" #name)));

CALLED(Comm_is_revoked, (MPI_Comm comm, int *flag))
CALLED(Comm_failure_ack, (MPI_Comm comm))
CALLED(Comm_failure_get_acked, (MPI_Comm comm, MPI_Group *failed))
CALLED(Comm_get_failed, (MPI_Comm comm, MPI_Group *failed))
CALLED(Comm_ack_failed, (MPI_Comm comm, int wanted, int *acknowledged))
