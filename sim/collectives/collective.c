/* The rendezvous of a collective: arrival, checking, completion. What is moved is in
 * data.c and reduce.c. */
#include "sim/collectives/collective.h"
#include "sim/collectives/failures.h"
#include "sim/collectives/guard.h"
#include "sim/collectives/kept.h"
#include "sim/collectives/needs.h"
#include "sim/collectives/regions.h"
#include "sim/communicators/complaints.h"

#include "recorder/recorder.h"
#include "sim/memory/held.h"
#include "sim/messages/failures.h"
#include "sim/messages/point.h"
#include "sim/worlds/error.h"
#include "sim/worlds/open_handles.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the list of collectives under way ---- */

static struct sim_collective *collective_new(struct sim_context *context, uint64_t number)
{
    struct sim_collective *collective = context->spare_collective;
    if (collective) {
        context->spare_collective = collective->next;
    } else {
        collective = malloc(sizeof *collective);
        struct sim_collective_call **calls =
            malloc((size_t)context->size * sizeof(struct sim_collective_call *));
        assert(collective && calls && "out of memory for a collective");
        collective->calls = calls;
        collective->values = NULL;
        collective->arrivals = context->world->exploring
                                   ? malloc((size_t)context->size * sizeof *collective->arrivals)
                                   : NULL;
    }
    struct sim_collective_call **calls = collective->calls;
    memset(calls, 0, (size_t)context->size * sizeof(struct sim_collective_call *));
    context->world->wait_needlessly = sim_collectives_wait_needlessly;
    collective->context = context;
    collective->kind = NULL;
    collective->next = NULL;
    collective->number = number;
    collective->size = context->size;
    collective->arrived = collective->completed = collective->next_prefix = 0;
    collective->shortly = 0;
    collective->guarded = collective->broken = false;
    collective->error = MPI_SUCCESS;
    collective->running = NULL;
    collective->first_op = NULL;
    collective->stashed = NULL;
    collective->causes = (struct sim_dependences){{0}};
    return collective;
}

/* The number of none: nor is the one behind it. */
#define RETIRED (UINT64_MAX - 1)

/* Behind the member's last one: where a root runs ahead, thousands are under way. */
struct sim_collective *sim_collective_find(struct sim_comm *comm, uint64_t number)
{
    struct sim_collective *last = comm->last_collective;
    struct sim_collective **link =
        last && last->number + 1 == number ? &last->next : &comm->context->first_collective;
    while (*link && (*link)->number != number)
        link = &(*link)->next;
    if (!*link)
        *link = collective_new(comm->context, number);
    comm->last_collective = *link;
    return *link;
}

/* A call that outlives its member's MPI call keeps types and op, which the program may free at
 * once. */
static void call_retain(const struct sim_collective_call *call)
{
    if (call->send.type)
        sim_datatype_retain(call->send.type);
    if (call->receive.type)
        sim_datatype_retain(call->receive.type);
    if (call->op)
        sim_op_retain(call->op);
}

static void call_release(const struct sim_collective_call *call)
{
    sim_datatype_release(call->send.type);
    sim_datatype_release(call->receive.type);
    sim_op_release(call->op);
}

static void forget(struct sim_collective *collective)
{
    for (struct sim_collective_call *call = collective->stashed, *next; call; call = next) {
        next = call->next_stashed;
        call_release(call);
        sim_call_drop(collective->context->world, call);
        free(call);
    }
    collective->stashed = NULL;
    sim_op_release(collective->first_op);
    collective->first_op = NULL;
    free(collective->running);
    collective->running = NULL;
}

void sim_collective_retire(struct sim_collective *collective)
{
    struct sim_context *context = collective->context;
    struct sim_collective **link = &context->first_collective;
    while (*link != collective)
        link = &(*link)->next;
    *link = collective->next;
    collective->number = RETIRED; /* members may still point to it */
    forget(collective);
    collective->next = context->spare_collective;
    context->spare_collective = collective;
}

/* ---- completion ---- */

static void call_complete(struct sim_collective_call *call)
{
    call->done = true;
    if (call->request) {
        sim_dependences_join(&call->request->causes, &call->causes);
        call->request->error = call->error;
        sim_request_complete(call->request);
    } else if (call->brief) {
        sim_collective_release_brief(call);
    } else if (call->waiter) {
        sim_rank_wake(call->waiter);
    }
}

/* Stands for the call of a member that has gone on: its own may be gone from its stack. Never
 * written. */
static const struct sim_collective_call is_detached = {.done = true};

static void member_complete(struct sim_collective *collective, int rank)
{
    struct sim_collective_call *call = collective->calls[rank];
    if (call->done)
        return;
    collective->completed++;
    if (collective->context->world->exploring)
        sim_collective_led_to(collective, rank, &call->causes);
    collective->calls[rank] = (struct sim_collective_call *)(uintptr_t)&is_detached;
    call_complete(call);
}

static void complete_all(struct sim_collective *collective)
{
    for (int r = 0; r < collective->size; r++)
        if (collective->calls[r])
            member_complete(collective, r);
}

/* The bytes a side spans, to copy them aside whatever the type: from lowest to highest address
 * touched. */
static void side_span(const struct sim_side *side, int peers, const char **from, size_t *bytes)
{
    struct sim_hull all = {0, 0};
    bool blocks = side->vectored;
    for (int peer = 0; peer < (blocks ? peers : 1); peer++) {
        struct sim_block block = blocks ? sim_side_block(side, peer) : sim_side_whole(side);
        if (!blocks)
            block.count *= (size_t)peers;
        if (!block.count || !block.type->size)
            continue;
        struct sim_hull hull = sim_region_hull(&(struct sim_region){
            .base = (uintptr_t)block.data, .type = block.type, .count = block.count});
        all.low = !all.high || hull.low < all.low ? hull.low : all.low;
        all.high = hull.high > all.high ? hull.high : all.high;
    }
    *from = (const char *)all.low;
    *bytes = all.high - all.low;
}

/* Whether this member may leave its data behind and go on. A stashed call is a copy that owns
 * copies of the data and of the arrays of counts. */
static bool try_to_stash(struct sim_collective *collective, int rank, int peers)
{
    struct sim_collective_call *call = collective->calls[rank];
    const struct sim_world_options *options = &collective->context->world->options;
    if (options->strict_collectives || options->send_model != SIM_SEND_EAGER ||
        (call->in_place && call->kind->synchronisation != SIM_FROM_ROOT))
        return false;
    const char *from;
    size_t bytes;
    side_span(&call->send, peers, &from, &bytes);
    if (bytes > options->eager_limit)
        return false;
    struct sim_collective_call *copy = malloc(sizeof *copy + bytes + 16);
    assert(copy && "out of memory for a collective's data");
    *copy = *call;
    char *data = (char *)(copy + 1);
    if (bytes)
        memcpy(data, from, bytes);
    /* By numbers: with absolute addresses the buffer is MPI_BOTTOM, far from the data. */
    uintptr_t before = bytes ? (uintptr_t)from - (uintptr_t)call->send.buffer : 0;
    copy->send.buffer = (void *)((uintptr_t)data - before);
    copy->stashed = true;
    copy->done = true;
    call_retain(copy);
    sim_call_keep(collective->context->world, copy);
    copy->next_stashed = collective->stashed;
    collective->stashed = copy;
    collective->completed++;
    collective->calls[rank] = copy;
    call_complete(call);
    return true;
}

/* ---- arrival ---- */

static void complain(struct sim_collective *collective, int error, const char *what,
                     const char *mine, const char *theirs, int rank)
{
    if (collective->error)
        return;
    collective->error = error;
    struct sim_context *context = collective->context;
    snprintf(collective->complaint, sizeof collective->complaint,
             "%s differ: rank %d says %s, rank %d says %s", what,
             sim_context_world_rank(context, rank), mine,
             sim_context_world_rank(context, collective->first), theirs);
}

static size_t amount(const struct sim_collective_call *call)
{
    const struct sim_side *side = call->in_place || !call->send.type ? &call->receive : &call->send;
    return side->type ? side->count * side->type->size : 0;
}

static unsigned unit(const struct sim_collective_call *call)
{
    const struct sim_datatype *type = call->send.type ? call->send.type : call->receive.type;
    return call->kind->reduces && type ? type->unit : 0;
}

/* A program's own op is a different object on every rank: two of them pass for the same. */
static bool same_op(const struct sim_op *a, const struct sim_op *b)
{
    return a == b || (!a->predefined && !b->predefined);
}

static const char *op_name(const struct sim_op *op)
{
    return op->predefined ? op->label : "an op of the program";
}

static void check_against_first(struct sim_collective *collective,
                                const struct sim_collective_call *call, int rank)
{
    char mine[32], theirs[32];
    if (call->kind != collective->kind) {
        complain(collective, MPI_ERR_OTHER, "collectives", call->kind->name, collective->kind->name,
                 rank);
    } else if (call->kind->rooted && call->root != collective->first_root) {
        snprintf(mine, sizeof mine, "root %d", call->root);
        snprintf(theirs, sizeof theirs, "root %d", collective->first_root);
        complain(collective, MPI_ERR_ROOT, "roots", mine, theirs, rank);
    } else if (call->kind->reduces && !same_op(call->op, collective->first_op)) {
        complain(collective, MPI_ERR_OP, "reduction ops", op_name(call->op),
                 op_name(collective->first_op), rank);
    } else if (call->kind->uniform && amount(call) != collective->first_amount) {
        snprintf(mine, sizeof mine, "%zu bytes", amount(call));
        snprintf(theirs, sizeof theirs, "%zu bytes", collective->first_amount);
        complain(collective, MPI_ERR_TRUNCATE, "amounts of data", mine, theirs, rank);
    } else if (collective->first_unit && unit(call) && unit(call) != collective->first_unit) {
        sim_call_remark_units(collective, rank);
    }
}

/* Before the collective itself touches the buffers of a member: has the program? */
static void inspect(struct sim_collective *collective, int rank)
{
    struct sim_collective_call *call = collective->calls[rank];
    if (call && !call->done && call->request && call->request->guarded &&
        !call->comm->owner->finalized) /* then its buffers may be gone: X006 */
        sim_request_inspect(call->request);
}

/* The collective has written to the buffers of a member that is not complete. */
static void watch_again(struct sim_collective_call *call)
{
    if (call->request && call->request->guarded)
        sim_request_guard(call->request);
}

static void inspect_all(struct sim_collective *collective)
{
    for (int r = 0; collective->guarded && r < collective->size; r++)
        inspect(collective, r);
}

static void advance_prefix(struct sim_collective *collective)
{
    while (collective->next_prefix < collective->size &&
           collective->calls[collective->next_prefix]) {
        int rank = collective->next_prefix++;
        inspect(collective, rank);
        collective->kind->advance(collective, rank);
        member_complete(collective, rank);
    }
}

static void arrived_from_root(struct sim_collective *collective, int rank, int root)
{
    if (rank != root) {
        if (collective->calls[root]) {
            inspect_all(collective);
            collective->kind->advance(collective, rank);
            member_complete(collective, rank);
        }
    } else {
        inspect_all(collective);
        for (int r = 0; r < collective->size; r++)
            if (r != root && collective->calls[r]) {
                collective->kind->advance(collective, r);
                member_complete(collective, r);
            }
        collective->kind->advance(collective, root);
        watch_again(collective->calls[root]);
    }
    if (collective->arrived == collective->size)
        member_complete(collective, root);
    else if (rank == root)
        try_to_stash(collective, rank, collective->kind->uniform ? 1 : collective->size);
}

static void arrived_to_root(struct sim_collective *collective, int rank, int root)
{
    if (collective->arrived < collective->size) {
        if (rank != root)
            try_to_stash(collective, rank, 1);
        return;
    }
    inspect_all(collective);
    collective->kind->execute(collective);
    complete_all(collective);
}

static void arrived_strictly(struct sim_collective *collective)
{
    const struct sim_collective_kind *kind = collective->kind;
    if (collective->arrived < collective->size)
        return;
    inspect_all(collective);
    if (kind->execute) {
        kind->execute(collective);
    } else {
        for (int r = 0; r < collective->size; r++)
            kind->advance(collective, r);
    }
    complete_all(collective);
}

static uint64_t next_number(struct sim_collective_call *call)
{
    return call->series ? (uint64_t)call->series << 32 | call->starts++ : call->comm->collectives++;
}

/* Ends the calls of all who wait for a member that has failed, or on a revoked communicator. */
static void settle(struct sim_collective *collective)
{
    int lost = sim_collective_first_lost(collective);
    if (!collective->context->revoked && !collective->broken && lost == collective->size)
        return;
    if (collective->shortly)
        sim_collective_unfold(collective);
    for (int r = 0; r < collective->size; r++) {
        struct sim_collective_call *call = collective->calls[r];
        int error = call && !call->done ? sim_collective_error_of(collective, r, lost) : 0;
        if (!error)
            continue;
        call->error = error;
        sim_collective_complain(call, sim_failure_sentence(error));
        member_complete(collective, r);
        if (r != collective->first_root || collective->kind->synchronisation != SIM_FROM_ROOT ||
            collective->broken)
            continue;
        collective->broken = true; /* the root's end is that of all the others */
        r = -1;
    }
}

void sim_collectives_settle(struct sim_context *context)
{
    for (struct sim_collective *at = context->first_collective, *next; at; at = next) {
        next = at->next;
        if (!at->arrived)
            continue;
        settle(at);
        if (at->completed == at->size)
            sim_collective_retire(at);
    }
}

/* The part of `arrive` that moves data and completes members. */
static void advance(struct sim_collective *collective, struct sim_collective_call *call)
{
    int rank = call->comm->rank;
    if (collective->error) {
        for (int r = 0; r < collective->size; r++)
            if (collective->calls[r] && !collective->calls[r]->done) {
                collective->calls[r]->error = collective->error;
                sim_collective_complain(collective->calls[r], collective->complaint);
            }
        complete_all(collective);
    } else if (collective->context->world->options.strict_collectives ||
               call->kind->synchronisation == SIM_NEEDS_ALL) {
        arrived_strictly(collective);
    } else if (call->kind->synchronisation == SIM_PREFIX) {
        advance_prefix(collective);
    } else if (call->kind->synchronisation == SIM_FROM_ROOT) {
        arrived_from_root(collective, rank, call->root);
    } else {
        arrived_to_root(collective, rank, call->root);
    }
}

/* The member takes part; whether others are still to come. In the monitor. */
static bool arrive(struct sim_collective_call *call)
{
    struct sim_comm *comm = call->comm;
    struct sim_context *context = comm->context;
    if (context->revoked) {
        next_number(call);
        call->error = MPIX_ERR_REVOKED;
        sim_collective_complain(call, sim_failure_sentence(MPIX_ERR_REVOKED));
        call_complete(call);
        return false;
    }
    struct sim_collective *collective = sim_collective_find(comm, next_number(call));
    context->world->changes++;
    int rank = comm->rank;
    call->causes = comm->owner->causes;
    if (context->world->exploring) {
        collective->arrivals[rank] = call->causes;
        sim_dependences_join(&collective->causes, &call->causes);
    }
    comm->owner->message_calls++;
    if (collective->shortly)
        sim_collective_unfold(collective);
    if (!collective->arrived++) {
        collective->kind = call->kind;
        collective->first = rank;
        collective->first_root = call->root;
        collective->first_op = call->op ? sim_op_retain(call->op) : NULL;
        collective->first_amount = amount(call);
        collective->first_unit = unit(call);
    }
    collective->calls[rank] = call;
    collective->guarded |= call->request && call->request->guarded;
    check_against_first(collective, call, rank);
    if (!collective->broken)
        advance(collective, call);
    if (context->world->troubled)
        settle(collective);
    bool others = collective->arrived < collective->size;
    if (collective->completed == collective->size)
        sim_collective_retire(collective);
    return others;
}

void sim_collective_complain(struct sim_collective_call *call, const char *complaint)
{
    if (!call->request) /* whoever waits for one says whose error it is, and no more */
        sim_complaint_add(&call->comm->complaints, call->brief ? NULL : call, complaint);
}

static int raise_mismatch(struct sim_comm *comm, const char *function, int error,
                          const char *complaint)
{
    if (!*complaint)
        complaint = "the members do not agree on the amount of data";
    return sim_error_raise_mismatch(sim_comm_handle(comm), error, function, complaint);
}

int sim_collective_raise(struct sim_comm *comm, const char *function, int error)
{
    char complaint[SIM_COMPLAINT_MAX] = "";
    sim_complaint_take(&comm->complaints, NULL,
                       complaint); /* the only one: nobody else's are on its handles */
    return raise_mismatch(comm, function, error, complaint);
}

/* In the monitor, which is left. Apart: its sentence would lie in the frame of every rank that waits. */
static __attribute__((noinline)) int run_failed(struct sim_collective_call *call)
{
    char complaint[SIM_COMPLAINT_MAX] = "";
    sim_complaint_take(&call->comm->complaints, call, complaint);
    sim_world_leave(call->comm->owner->world);
    sim_call_remark_tell(call);
    return raise_mismatch(call->comm, call->kind->name, call->error, complaint);
}

/* Whether another thread of the rank is in a collective there, or may be: in the monitor, which is
 * left meanwhile. What comes of it may end the world, so it is told before. */
static void tell_threads(const struct sim_collective_call *call, bool inside)
{
    struct sim_rank *rank = call->comm->owner;
    struct sim_world *world = rank->world;
    bool perhaps = false;
    bool at_once =
        world->multiple && sim_threads_collective(rank, &call->comm->last_of_team, &perhaps);
    if (!inside && !at_once)
        return;
    sim_world_leave(world);
    if (inside || !perhaps)
        record_note("M006",
                    "MPI_%s while another thread of the rank %s in a collective on the same "
                    "communicator: their order is by chance; give each thread its own",
                    call->kind->name, inside ? "was" : "may be");
    else
        record_gap("threads", 1,
                   "collectives of two threads on one communicator, which only mutexes or atomic "
                   "variables of the program can order (M006)");
    sim_world_enter(world);
}

int sim_collective_run(struct sim_collective_call *call)
{
    struct sim_rank *rank = call->comm->owner;
    struct sim_world *world = rank->world;
    call->done = call->stashed = false;
    call->waiter = NULL;
    call->request = NULL;
    call->error = MPI_SUCCESS;
    call->brief = NULL;
    call->remark = NULL;
    sim_world_enter(world);
    sim_regions_pending(rank, call, NULL);
    tell_threads(call, call->comm->inside++);
    bool gives_way = arrive(call);
    while (!call->done) {
        call->waiter = rank;
        sim_rank_block_early(rank);
        gives_way = false;
    }
    call->comm->inside--;
    if (world->exploring)
        sim_dependences_join(&rank->causes, &call->causes);
    if (call->error)
        return run_failed(call);
    if (gives_way)
        sim_rank_give_way(rank);
    sim_world_leave(world);
    sim_call_remark_tell(call);
    return MPI_SUCCESS;
}

static void call_move(struct sim_request *request, ptrdiff_t distance)
{
    struct sim_collective_call *call = request->call;
    bool also_read = call->in_place && call->send.buffer == call->receive.buffer;
    struct sim_side *side = call->receive.type ? &call->receive : &call->send;
    side->buffer = (void *)((uintptr_t)side->buffer + (uintptr_t)distance);
    if (also_read)
        call->send.buffer = side->buffer;
}

/* Results are held back until the program completes the request. */
static void hold(struct sim_request *request)
{
    struct sim_region *written;
    size_t count = sim_regions_written(request->call, &written);
    request->held = written ? sim_held_new(request->owner, written, count) : NULL;
    free(written);
    if (request->held)
        call_move(request, sim_held_shift(request->held));
}

static void start_again(struct sim_request *request)
{
    request->call->done = request->call->stashed = false;
    request->call->error = MPI_SUCCESS;
    request->call->request = request;
    request->call->waiter = request->call->brief = NULL;
    request->call->remark = NULL;
    sim_regions_pending(request->owner, request->call, request);
    if (request->owner->world->options.late_receives)
        hold(request);
    request->guarded = request->touched = false;
    if (record_active())
        sim_request_guard(request);
    arrive(request->call);
}

static void call_delete(struct sim_request *request)
{
    call_release(request->call);
    sim_call_drop(request->owner->world, request->call);
    sim_pool_put(request->owner->world, request->call, sizeof *request->call);
    request->call = NULL;
}

static uint64_t call_checksum(const struct sim_request *request)
{
    return sim_collective_checksum(request->call);
}

static bool call_arrays_changed(const struct sim_request *request)
{
    return sim_call_arrays_changed(request->call);
}

static const char *call_name(const struct sim_request *request, char name[static SIM_NAME_MAX])
{
    return sim_call_name(request->call, name);
}

static void call_tell(struct sim_request *request)
{
    sim_call_remark_tell(request->call);
}

static const struct sim_request_work call_work = {call_delete, call_checksum, call_arrays_changed,
                                                  call_name,   call_tell,     call_move};

static struct sim_request *request_for(const struct sim_collective_call *call)
{
    struct sim_rank *rank = call->comm->owner;
    struct sim_request *request = sim_request_new(rank, SIM_REQUEST_COLLECTIVE);
    request->comm = call->comm;
    request->context = call->comm->context;
    request->call = sim_pool_get(rank->world, sizeof *call);
    assert(request->call && "out of memory for a collective");
    *request->call = *call;
    sim_call_keep(rank->world, request->call);
    request->work = &call_work;
    call_retain(call);
    request->start = start_again;
    return request;
}

int sim_collective_start(const struct sim_collective_call *call, MPI_Request *handle)
{
    struct sim_world *world = call->comm->owner->world;
    sim_world_enter(world);
    struct sim_request *request = request_for(call);
    tell_threads(call, false);
    start_again(request);
    sim_rank_started(call->comm->owner, SIM_START_COLLECTIVE);
    sim_world_leave(world);
    *handle = (MPI_Request)(void *)request;
    return MPI_SUCCESS;
}

int sim_collective_init(const struct sim_collective_call *call, MPI_Request *handle)
{
    struct sim_world *world = call->comm->owner->world;
    sim_world_enter(world);
    struct sim_request *request = request_for(call);
    tell_threads(call, false); /* their order is that of their making */
    request->persistent = true;
    request->state = SIM_INACTIVE;
    request->call->series = ++call->comm->persistents;
    request->call->starts = 0;
    sim_world_leave(world);
    *handle = (MPI_Request)(void *)request;
    sim_open_handles_add(SIM_LIVE_PERSISTENT, (uint64_t)(uintptr_t)request);
    return MPI_SUCCESS;
}

static void collective_free(struct sim_collective *collective)
{
    free(collective->calls);
    free(collective->values);
    free(collective->arrivals);
    free(collective);
}

void sim_collectives_end(struct sim_context *context)
{
    for (struct sim_collective *at = context->spare_collective, *next; at; at = next) {
        next = at->next;
        collective_free(at);
    }
    for (struct sim_collective *at = context->first_collective, *next; at; at = next) {
        next = at->next;
        forget(at);
        collective_free(at);
    }
}
