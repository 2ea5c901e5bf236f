/* Agreements: see agreement.h. */
#include "sim/failures/agreement.h"

#include "sim/communicator_calls/intercomm.h"
#include "sim/communicators/failures.h"
#include "sim/worlds/error.h"

#include <assert.h>
#include <stdlib.h>

struct place {
    struct sim_request *request; /* NULL: has not come */
    struct sim_comm *comm; /* the member's own handle, an intercommunicator's where it is one */
    struct sim_seat seat;
    int flag;
};

struct sim_meeting {
    struct sim_meeting *next;
    struct sim_context *context;
    uint32_t number;
    bool shrinks;
    struct place places[];
};

/* The handle on whose context all members are: an intercommunicator's is its bridge. */
static struct sim_comm *whole(struct sim_comm *comm)
{
    return comm->bridge ? comm->bridge : comm;
}

static struct sim_meeting *meeting_find(struct sim_context *context, uint32_t number, bool shrinks)
{
    for (struct sim_meeting *at = context->meetings; at; at = at->next)
        if (at->number == number && at->shrinks == shrinks)
            return at;
    struct sim_meeting *made =
        calloc(1, sizeof *made + (size_t)context->size * sizeof made->places[0]);
    assert(made && "out of memory for an agreement");
    *made = (struct sim_meeting){
        .next = context->meetings, .context = context, .number = number, .shrinks = shrinks};
    return context->meetings = made;
}

static void meeting_remove(struct sim_meeting *meeting)
{
    struct sim_meeting **link = &meeting->context->meetings;
    while (*link != meeting)
        link = &(*link)->next;
    *link = meeting->next;
    free(meeting);
}

static bool is_lost(const struct sim_meeting *meeting, int rank)
{
    return sim_context_member_failed(meeting->context, rank);
}

static bool is_over(const struct sim_meeting *meeting)
{
    for (int r = 0; r < meeting->context->size; r++)
        if (!meeting->places[r].request && !is_lost(meeting, r))
            return false;
    return true;
}

/* ---- agree ---- */

/* Every member gets the same, and the same error. */
static int agree(struct sim_meeting *meeting)
{
    int flags = ~0, error = MPI_SUCCESS;
    for (int r = 0; r < meeting->context->size; r++) {
        const struct place *place = &meeting->places[r];
        if (!place->request)
            continue;
        flags &= place->flag;
        if (!is_lost(meeting, r) && sim_comm_unacknowledged(place->comm))
            error = MPIX_ERR_PROC_FAILED;
    }
    for (int r = 0; r < meeting->context->size; r++)
        if (meeting->places[r].request && !is_lost(meeting, r))
            *meeting->places[r].seat.flag = flags;
    return error;
}

/* ---- shrink ---- */

/* The members that live of a group, in its order. */
static struct sim_context *survivors(struct sim_world *world, const struct sim_group *group)
{
    int *ranks = malloc((size_t)group->size * sizeof *ranks);
    assert(ranks && "out of memory for a communicator");
    int n = 0;
    for (int r = 0; r < group->size; r++)
        if (!world->ranks[sim_group_world_rank(group, r)].failed)
            ranks[n++] = r;
    struct sim_group *left = sim_group_include(group, n, ranks);
    struct sim_context *context = left ? sim_context_new(world, left) : NULL;
    assert(context && "out of memory for a communicator");
    free(ranks);
    return context;
}

static void hand_over(struct place *place, struct sim_context *context)
{
    struct sim_rank *owner = place->comm->owner;
    int position = sim_group_rank(context->group, owner->id);
    struct sim_comm *made = sim_comm_new(owner, context, position);
    assert(made && "out of memory for a communicator");
    made->errhandler = place->comm->errhandler;
    made->session = place->comm->session;
    sim_errhandler_retain(made->errhandler);
    if (context->remote)
        sim_intercomm_attach(made);
    *place->seat.made = (MPI_Comm)(void *)made;
}

static void shrink(struct sim_meeting *meeting)
{
    struct sim_world *world = meeting->context->world;
    struct sim_context *near = NULL, *far = NULL;
    for (int r = 0; r < meeting->context->size; r++) {
        struct place *place = &meeting->places[r];
        if (is_lost(meeting, r))
            continue;
        const struct sim_context *old = place->comm->context;
        if (!near) {
            near = survivors(world, old->group);
            far = old->remote ? survivors(world, old->remote->group) : NULL;
            if (far)
                sim_intercomm_link(near, far);
        }
        bool is_near = sim_group_rank(near->group, place->comm->owner->id) != MPI_UNDEFINED;
        hand_over(place, is_near ? near : far);
    }
}

/* ---- the meeting ---- */

static void finish(struct sim_meeting *meeting)
{
    struct sim_world *world = meeting->context->world;
    int error = MPI_SUCCESS;
    if (meeting->shrinks)
        shrink(meeting);
    else
        error = agree(meeting);
    for (int r = 0; r < meeting->context->size; r++) {
        struct sim_request *request = meeting->places[r].request;
        if (!request || is_lost(meeting, r))
            continue;
        for (int from = 0; world->exploring && from < meeting->context->size; from++)
            if (meeting->places[from].request)
                sim_dependences_join(&request->causes, &meeting->places[from].comm->owner->causes);
        request->error = error;
        sim_request_complete(request);
    }
    meeting_remove(meeting);
}

struct sim_request *sim_meeting_join(struct sim_comm *comm, struct sim_seat seat)
{
    struct sim_comm *all = whole(comm);
    struct sim_meeting *meeting = meeting_find(all->context, comm->meetings++, seat.made != NULL);
    struct sim_request *request = sim_request_new(comm->owner, SIM_REQUEST_COLLECTIVE);
    request->comm = comm;
    request->context = all->context;
    meeting->places[all->rank] = (struct place){
        .request = request, .comm = comm, .seat = seat, .flag = seat.flag ? *seat.flag : 0};
    sim_world_changed(comm->owner->world);
    if (is_over(meeting))
        finish(meeting);
    return request;
}

void sim_meetings_reconsider(struct sim_context *context)
{
    for (struct sim_meeting *at = context->meetings, *next; at; at = next) {
        next = at->next;
        if (is_over(at))
            finish(at);
    }
}

void sim_meetings_end(struct sim_context *context)
{
    while (context->meetings)
        meeting_remove(context->meetings);
}
