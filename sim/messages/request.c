/* Requests: the object. Waiting and testing are in wait.c. */
#include "sim/messages/request.h"

#include "sim/communicators/failures.h"
#include "sim/memory/held.h"
#include "sim/memory/pending.h"
#include "sim/messages/status.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct sim_request *sim_request_new(struct sim_rank *owner, enum sim_request_kind kind)
{
    struct sim_request *request = sim_pool_get(owner->world, sizeof *request);
    assert(request && "out of memory for a request");
    memset(request, 0, sizeof *request);
    request->magic = SIM_MAGIC_REQUEST;
    request->kind = (uint8_t)kind;
    request->owner = owner;
    request->state = SIM_POSTED;
    request->source_matched = MPI_ANY_SOURCE;
    request->tag_matched = MPI_ANY_TAG;
    return request;
}

struct sim_request *sim_request_new_as(const struct sim_request *checked)
{
    struct sim_request *request = sim_pool_get(checked->owner->world, sizeof *request);
    assert(request && "out of memory for a request");
    *request = *checked;
    request->magic = SIM_MAGIC_REQUEST;
    sim_datatype_retain(request->type);
    return request;
}

void sim_request_delete(struct sim_request *request)
{
    assert(request->magic == SIM_MAGIC_REQUEST);
    if (request->general)
        sim_general_release(request);
    if (request->partitioned)
        request->partitioned_release(request->partitioned);
    if (request->call)
        request->work->release(request);
    sim_held_free(request->held);
    for (int i = 0; i < 2 && request->part[i]; i++)
        sim_request_delete(request->part[i]);
    if (request->type)
        sim_datatype_release(request->type);
    request->magic = 0;
    sim_pool_put(request->owner->world, request, sizeof *request);
}

static uint64_t checksum(const struct sim_request *request)
{
    return sim_region_checksum(&(struct sim_region){
        .base = (uintptr_t)request->buffer, .type = request->type, .count = request->count});
}

void sim_request_guard(struct sim_request *request)
{
    if (request->call) {
        request->guarded = true;
        request->guard = request->work->checksum(request);
        return;
    }
    size_t bytes = request->type ? request->type->size * request->count : 0;
    request->guarded = bytes && bytes <= SIM_REGION_GUARDED;
    if (request->guarded)
        request->guard = checksum(request);
}

void sim_request_watch(struct sim_request *request)
{
    struct sim_pending *pending = request->owner->pending;
    bool written = request->kind == SIM_REQUEST_RECEIVE;
    if (!pending || pending->instrumented || request->peer == MPI_PROC_NULL)
        return;
    if (!written && !request->type->contiguous)
        sim_request_guard(request); /* those of others are the recorder's */
    if ((written || !request->type->contiguous) &&
        request->count * request->type->size > SIM_REGION_GUARDED)
        pending->unseen_large++;
}

void sim_request_pending(struct sim_request *request, const char *name)
{
    struct sim_rank *rank = request->owner;
    bool late = rank->world->options.late_receives;
    if (request->call || request->peer == MPI_PROC_NULL || (!rank->pending && !late))
        return;
    bool receives = request->kind == SIM_REQUEST_RECEIVE;
    const struct sim_region region = {(uintptr_t)request->buffer, request->type, request->count,
                                      receives, "buffer"};
    sim_pending_add(rank, &region, 1, name, request);
    sim_request_watch(request);
    if (receives)
        sim_request_hold(request);
}

void sim_request_hold(struct sim_request *request)
{
    const struct sim_region region = {(uintptr_t)request->buffer, request->type, request->count,
                                      true, "buffer"};
    if (!request->owner->world->options.late_receives || request->peer == MPI_PROC_NULL)
        return;
    request->held = sim_held_new(request->owner, &region, 1);
    if (request->held)
        request->buffer =
            (void *)((uintptr_t)request->buffer + (uintptr_t)sim_held_shift(request->held));
}

void sim_request_fill(struct sim_request *request)
{
    if (request->partitioned && request->partitioned_fill)
        request->partitioned_fill(request->partitioned);
    for (int i = 0; i < 2 && request->part[i]; i++)
        sim_request_fill(request->part[i]);
    if (!request->held)
        return;
    ptrdiff_t back = -sim_held_shift(request->held);
    if (request->call)
        request->work->move(request, back);
    else
        request->buffer = (void *)((uintptr_t)request->buffer + (uintptr_t)back);
    request->touched |= sim_held_end(request->held);
    request->held = NULL;
}

void sim_request_inspect(struct sim_request *request)
{
    if (!request->guarded)
        return;
    uint64_t now = request->call ? request->work->checksum(request) : checksum(request);
    request->touched |= request->guard != now;
}

/* A whole is complete when its last part is; what it says is what its receive says. */
static void part_complete(struct sim_request *part)
{
    struct sim_request *whole = part->whole;
    if (part->kind == SIM_REQUEST_RECEIVE) {
        whole->source_matched = part->source_matched;
        whole->tag_matched = part->tag_matched;
        whole->bytes = part->bytes;
    }
    if (part->error)
        whole->error = part->error;
    free(part->aside);
    part->aside = NULL;
    if (--whole->parts == 0)
        sim_request_complete(whole);
}

void sim_request_complete(struct sim_request *request)
{
    assert(request->state == SIM_POSTED || request->state == SIM_MATCHED);
    request->state = SIM_COMPLETE;
    struct sim_rank *waiter = request->waiter;
    request->waiter = NULL;
    request->owner->world->changes++;
    if (!request->on_stack && request->items)
        request->owner->world->rooms->request_completed(request);
    if (!request->on_stack && request->guarded && request->kind != SIM_REQUEST_SEND)
        sim_request_guard(request); /* what has arrived */
    if (waiter && sim_rank_waits(waiter))
        sim_rank_wake(waiter);
    if (request->on_stack)
        return; /* it has no more than it needs */
    if (request->whole) {
        part_complete(request);
    } else if (request->freed) {
        sim_request_fill(request); /* nobody is told any more */
        sim_request_delete(request);
    }
}

bool sim_request_answered(struct sim_rank *rank, enum sim_asked asked, int *answer)
{
    const struct sim_answers *before = rank->world->options.answers_followed;
    return before && sim_answers_next(&before[rank->id], &rank->place, asked, answer);
}

/* What a rank's threads ask has no order. 0: nothing is noted. */
static size_t note(struct sim_rank *rank, enum sim_asked asked, int answer)
{
    struct sim_answers *noted = rank->world->options.answers_noted;
    if (!noted)
        return 0;
    noted[rank->id].unsure |= rank->threads > 0;
    return sim_answers_note(&noted[rank->id], asked, answer);
}

void sim_request_answer_note(struct sim_rank *rank, enum sim_asked asked, int answer)
{
    note(rank, asked, answer);
}

bool sim_request_poll(struct sim_rank *rank, bool (*look)(void *at), void *at)
{
    int answer;
    bool followed = sim_request_answered(rank, SIM_ASKED_POLL, &answer);
    bool found = (!followed || answer >= 0) && look(at);
    while (followed && answer >= 0 && !found && !rank->world->over) {
        sim_rank_poll_failed(rank);
        found = look(at);
    }
    note(rank, SIM_ASKED_POLL, found ? 0 : -1);
    return found;
}

int sim_request_sender(struct sim_rank *rank, size_t *number)
{
    int sender;
    *number = note(rank, SIM_ASKED_SENDER, -1);
    return sim_request_answered(rank, SIM_ASKED_SENDER, &sender) && sender >= 0 ? sender
                                                                                : MPI_ANY_SOURCE;
}

void sim_request_sender_note(struct sim_rank *rank, size_t number, int source)
{
    sim_answers_know(&rank->world->options.answers_noted[rank->id], number, source);
}

void sim_request_matched(struct sim_request *receive, int source, int tag, size_t bytes)
{
    if (!receive->on_stack && receive->guarded)
        sim_request_inspect(receive);
    receive->source_matched = source;
    receive->tag_matched = tag;
    if (receive->noted)
        sim_request_sender_note(receive->owner, receive->noted, source);
    size_t room = receive->type ? receive->type->size * receive->count : 0;
    receive->error = bytes > room ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
    receive->bytes = bytes > room ? room : bytes;
}

void sim_request_transfer(struct sim_request *send, struct sim_request *receive)
{
    size_t bytes = send->type->size * send->count;
    sim_request_matched(receive, send->comm->rank, send->tag, bytes);
    if (receive->bytes && send->type->contiguous && receive->type->contiguous)
        memcpy(receive->buffer, send->buffer, receive->bytes);
    else if (receive->bytes)
        sim_datatype_transfer(send->buffer, send->type, send->count, receive->buffer, receive->type,
                              receive->count);
    send->bytes = bytes;
    sim_request_complete(receive);
    if (!sim_request_done(send))
        sim_request_complete(send);
}

bool sim_request_stands_back(const struct sim_request *request)
{
    return request->owner->world->troubled && request->kind == SIM_REQUEST_RECEIVE &&
           request->state == SIM_POSTED && request->peer == MPI_ANY_SOURCE && request->comm &&
           !request->on_stack && !request->cancelling &&
           sim_comm_peer_error(request->comm, MPI_ANY_SOURCE) == MPIX_ERR_PROC_FAILED_PENDING;
}

bool sim_request_wait(struct sim_request *request)
{
    struct sim_rank *rank = sim_current_rank;
    bool waited = false;
    while (!sim_request_done(request)) {
        if (rank->world->troubled && sim_request_stands_back(request))
            return true;
        request->waiter = rank;
        sim_rank_block_early(rank);
        waited = true;
    }
    if (rank->world->exploring)
        rank->world->rooms->request_seen(rank, request);
    return waited;
}

struct sim_request *sim_request_get(struct sim_rank *rank, MPI_Request handle)
{
    struct sim_request *request = (struct sim_request *)(void *)handle;
    if ((uintptr_t)handle < 4096 || ((uintptr_t)handle & 7) ||
        request->magic != SIM_MAGIC_REQUEST || request->owner != rank)
        return NULL;
    return request;
}

bool sim_request_peek(const void *handle, int *source, int *tag)
{
    const struct sim_request *request =
        sim_request_get(sim_current_rank, (MPI_Request)(uintptr_t)handle);
    if (!request || request->kind != SIM_REQUEST_RECEIVE || request->source_matched < 0 ||
        (request->state != SIM_MATCHED && request->state != SIM_COMPLETE))
        return false;
    *source = request->source_matched;
    *tag = request->tag_matched;
    return true;
}

void sim_request_status(const struct sim_request *request, MPI_Status *status)
{
    if (status == MPI_STATUS_IGNORE)
        return;
    bool receive = request->kind == SIM_REQUEST_RECEIVE && request->state == SIM_COMPLETE;
    bool cancelled = request->state == SIM_CANCELLED;
    status->MPI_SOURCE = receive ? request->source_matched : MPI_ANY_SOURCE;
    status->MPI_TAG = receive ? request->tag_matched : MPI_ANY_TAG;
    sim_status_set_bytes(status, receive ? request->bytes : 0);
    sim_status_set_cancelled(status, cancelled);
}
