/* Requests as the recorder knows them: which operation each handle started, and how it ended. */
#include "recorder/memory.h"
#include "recorder/rank.h"
#include "recorder/recorder.h"

#include <stdlib.h>

enum { BLOCK = 32 };

struct request_block {
    struct request_block *next;
    struct recorder_request requests[BLOCK];
};

static bool refill(struct recorder_rank *me)
{
    struct request_block *block = calloc(1, sizeof *block);
    if (!block)
        return false;
    block->next = me->request_blocks;
    me->request_blocks = block;
    for (int i = BLOCK - 1; i >= 0; i--) {
        block->requests[i].next_free = me->free_requests;
        me->free_requests = &block->requests[i];
    }
    return true;
}

struct recorder_request *recorder_request_add(struct recorder_rank *me, MPI_Request handle,
                                              struct record_op *op,
                                              const struct recorder_comm *comm)
{
    if (!me->free_requests && !refill(me))
        return NULL;
    struct recorder_request *request = me->free_requests;
    if (!handle_map_add(&me->requests, HANDLE_KEY(handle), request))
        return NULL;
    me->free_requests = request->next_free;
    *request = (struct recorder_request){.op = op,
                                         .index = me->self->op,
                                         .comm = comm,
                                         .active = op != NULL,
                                         .thread = me->self->number};
    return request;
}

struct recorder_request *recorder_request_find(const struct recorder_rank *me, MPI_Request handle)
{
    struct recorder_request *first = NULL, *request;
    size_t slot = SIZE_MAX;
    if (handle == MPI_REQUEST_NULL)
        return NULL;
    while ((request = handle_map_next(&me->requests, HANDLE_KEY(handle), &slot)) != NULL) {
        if (request->taken)
            continue;
        if (request->thread == me->self->number)
            return request;
        if (!first)
            first = request;
    }
    return first;
}

struct recorder_request *recorder_message_find(const struct recorder_rank *me, MPI_Message message)
{
    struct recorder_request *first = NULL, *probe;
    size_t slot = SIZE_MAX;
    while ((probe = handle_map_next(&me->requests, HANDLE_KEY(message), &slot)) != NULL) {
        if (!probe->op || op_kind_class(probe->op->head.small) != CLASS_PROBE)
            continue; /* a request of another thread that is complete, not yet forgotten */
        if (probe->thread == me->self->number)
            return probe;
        if (!first)
            first = probe;
    }
    return first;
}

void recorder_request_remove(struct recorder_rank *me, uint64_t key,
                             struct recorder_request *request)
{
    handle_map_remove_value(&me->requests, key, request);
    free(request->pattern);
    request->pattern = NULL;
    free(request->parts);
    request->parts = NULL;
    free(request->call);
    request->call = NULL;
    free(request->promise);
    request->promise = NULL;
    request->next_free = me->free_requests;
    me->free_requests = request;
}

bool recorder_scratch(struct recorder_rank *me, size_t count)
{
    struct recorder_thread *self = me->self;
    if (count <= self->scratch)
        return true;
    size_t room = count < 16 ? 16 : count * 2;
    MPI_Status *statuses = realloc(self->statuses, room * sizeof *statuses);
    if (statuses)
        self->statuses = statuses;
    struct recorder_request **pending = realloc(self->pending, room * sizeof *pending);
    if (pending)
        self->pending = pending;
    uint64_t *keys = realloc(self->keys, room * sizeof *keys);
    if (keys)
        self->keys = keys;
    if (!statuses || !pending || !keys)
        return false;
    self->scratch = room;
    return true;
}

void recorder_matched(const struct recorder_comm *comm, struct record_op *op,
                      const MPI_Status *status)
{
    if (status->MPI_SOURCE < 0) /* from nobody, or an empty status */
        return;
    op->peer_matched = recorder_world_rank(comm, status->MPI_SOURCE);
    op->tag_matched = status->MPI_TAG;
    int64_t bytes = MPIX_Status_bytes(status);
    if (bytes >= 0 && op->unit > 1)
        op->count_matched = bytes <= UINT32_MAX ? (uint32_t)bytes / op->unit : bytes / op->unit;
    else
        op->count_matched = bytes;
}

void record_met(const void *comm, int source, int tag)
{
    MPI_Comm handle = (MPI_Comm)(uintptr_t)comm;
    struct recorder_rank *me = recorder_enter();
    struct record_op *op = me ? me->self->current : NULL;
    if (op && op_kind_class(op->head.small) == CLASS_RECEIVE && op->state == STATE_BLOCKED) {
        op->peer_matched = recorder_world_rank(recorder_comm(me, handle), source);
        op->tag_matched = tag;
    }
    recorder_leave(me);
}

void record_waits_for(int rank)
{
    record_meets(rank, RECORD_NONE);
}

void record_meets(int rank, int tag)
{
    struct recorder_rank *me = recorder_enter();
    struct record_op *op = me ? me->self->current : NULL;
    if (op && op->state == STATE_BLOCKED) {
        op->peer = rank < 0 ? RECORD_NONE : rank;
        op->tag = rank < 0 ? RECORD_NONE : tag;
    }
    recorder_leave(me);
}

void record_pending(bool (*peek)(const void *request, int *source, int *tag))
{
    struct recorder_rank *me = recorder_enter();
    for (size_t i = 0; me && i < me->requests.slots; i++) {
        const struct recorder_request *request = me->requests.entries[i].value;
        int source, tag;
        if (!me->requests.entries[i].key || !request->active || !request->op)
            continue;
        struct record_op *op = request->second ? request->second : request->op;
        if (op_kind_class(op->head.small) != CLASS_RECEIVE ||
            !peek((const void *)(uintptr_t)me->requests.entries[i].key, &source, &tag))
            continue;
        op->peer_matched = recorder_world_rank(request->comm, source);
        op->tag_matched = tag;
    }
    recorder_leave(me);
}

static bool was_cancelled(const struct record_op *op, const MPI_Status *status)
{
    int cancelled = 0;
    return op->flags & OP_CANCEL_ASKED && PMPI_Test_cancelled(status, &cancelled) == MPI_SUCCESS &&
           cancelled;
}

void recorder_request_complete(struct recorder_rank *me, uint64_t key,
                               struct recorder_request *request, const MPI_Status *status,
                               uint32_t wait)
{
    struct record_op *op = request->op, *second = request->second;
    if (second && request->active) {
        recorder_ahead(me, second);
        second->request = wait;
        recorder_op_complete(me, second);
        recorder_matched(request->comm, second, status);
    }
    if (op && request->active) {
        recorder_ahead(me, op);
        op->request = wait;
        recorder_op_complete(me, op);
        if (request->checksum && !recorder_memory->spared() &&
            request->checksum != recorder_checksum(op))
            op->flags |= OP_BUFFER_CHANGED;
        if (was_cancelled(op, status))
            op->state = STATE_CANCELLED;
        else if (op_kind_class(op->head.small) == CLASS_RECEIVE)
            recorder_matched(request->comm, op, status);
    }
    if (request->promise)
        recorder_promise_keep(me, request->promise);
    request->promise = NULL;
    request->active = request->taken = false;
    if (request->parts)
        request->parts->open = false;
    if (!request->pattern)
        recorder_request_remove(me, key, request);
}

enum { LANES = 8 };

static uint64_t mixed(uint64_t sum, const unsigned char *place)
{
    uint64_t word;
    __builtin_memcpy(&word, place, sizeof word);
    sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
    return sum << 29 | sum >> 35;
}

/* Eight sums side by side: more would not be faster. */
uint32_t recorder_checksum(const struct record_op *op)
{
    uint64_t bytes = (uint64_t)op->count * op->unit, sums[LANES] = {bytes, 1, 2, 3, 4, 5, 6, 7};
    if (op->buffer == 0 || bytes == 0 || bytes != op->extent || recorder_memory->spared())
        return 0; /* with gaps, or nothing */
    const unsigned char *place = (const unsigned char *)(uintptr_t)op->buffer;
    enum { STEP = LANES * sizeof(uint64_t) };
    for (; bytes >= STEP; bytes -= STEP, place += STEP) {
#pragma GCC unroll 8
        for (int lane = 0; lane < LANES; lane++)
            sums[lane] = mixed(sums[lane], place + 8 * lane);
    }
    for (; bytes >= 8; bytes -= 8, place += 8)
        sums[0] = mixed(sums[0], place);
    for (; bytes > 0; bytes--)
        sums[0] = (sums[0] ^ *place++) * 0x100000001b3u;
    uint64_t hash = 0;
    for (int lane = 0; lane < LANES; lane++)
        hash = (hash ^ sums[lane]) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(hash >> 32) | 1;
}

void recorder_rank_free(struct recorder_rank *me)
{
    recorder_ahead_forget(me);
    for (struct request_block *block = me->request_blocks, *next; block; block = next) {
        next = block->next;
        for (int i = 0; i < BLOCK; i++) {
            free(block->requests[i].pattern);
            free(block->requests[i].parts);
            free(block->requests[i].call);
            free(block->requests[i].promise);
        }
        free(block);
    }
    for (struct recorder_comm *comm = me->comm_list, *next; comm; comm = next) {
        next = comm->next;
        free(comm->members);
        free(comm);
    }
    for (size_t i = 0; i < me->types.slots; i++)
        if (me->types.entries[i].key)
            recorder_type_free(me->types.entries[i].value);
    for (size_t i = 0; i < me->promised.slots; i++)
        if (me->promised.entries[i].key)
            free(me->promised.entries[i].value);
    struct handle_map *maps[] = {&me->requests,     &me->comms,        &me->comms_made,
                                 &me->types,        &me->windows,      &me->strings,
                                 &me->node_records, &me->pass_records, &me->promised};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        handle_map_release(maps[i]);
    recorder_threads_release(me);
    recorder_repeats_free(me);
    free(me);
}
