/* The short way of a blocking collective that moves at most one word a member: barrier, and
 * allreduce of a predefined operation.
 *
 * In a large world most of a collective's time goes into fetching what each member left behind. A
 * member that comes this way leaves nothing on its stack that others look at: its value lies in the
 * collective's array, the result in the line of its rank that switching touches anyway, and it
 * copies the result to its buffer when it runs again.
 *
 * Rules:
 *  1. All members so far have come this way (collective->shortly == arrived), or none has
 *     (shortly == 0). The first who cannot turns the others into ordinary calls
 *     (sim_collective_unfold), so nobody else knows of this.
 *  2. calls[r] of such a member is its rank with the lowest bit set. The rest is the same for all
 *     of them (kind, op, type, count) and kept once: who differs, even if rightly, takes the long
 *     way.
 *  3. What is refused is refused by the long way, which says why. */
#include "recorder/memory.h"
#include "sim/collectives/data.h"
#include "sim/collectives/forms.h"
#include "sim/memory/pending.h"
#include "sim/operators/kernel.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* What a member of an allreduce brings and where its result goes. */
struct brought {
    const struct sim_op *op;
    const struct sim_datatype *type;
    size_t count, bytes;
};

static inline void *marked(struct sim_rank *rank)
{
    return (char *)(void *)rank + 1;
}

static inline struct sim_rank *unmarked(struct sim_collective_call *call)
{
    return (struct sim_rank *)(void *)((char *)(void *)call - 1);
}

/* The caller's communicator if this way is open there: a rank has room for one result, and OS
 * threads of one rank may be in several collectives at once. */
static inline struct sim_comm *usable_comm(MPI_Comm handle)
{
    struct sim_rank *rank = sim_current_rank;
    if (!rank || !rank->plain)
        return NULL;
    struct sim_comm *comm = sim_comm_get(rank, handle);
    return comm && !comm->context->remote ? comm : NULL;
}

/* The collective this call belongs to, if all who have come so far came this way and with the same.
 */
static inline struct sim_collective *
join(struct sim_comm *comm, const struct sim_collective_kind *kind, const struct brought *brought)
{
    struct sim_collective *collective = comm->context->first_collective;
    if (!collective || collective->number != comm->collectives)
        collective = sim_collective_find(comm, comm->collectives);
    if (!collective->arrived) {
        collective->kind = kind;
        collective->first = comm->rank;
        collective->first_root = 0;
        collective->first_op = brought->op;
        collective->first_amount = brought->bytes;
        collective->first_unit = brought->type ? brought->type->unit : 0;
        collective->short_type = brought->type;
        collective->short_count = brought->count;
    } else if (collective->shortly != collective->arrived || collective->kind != kind ||
               collective->first_op != brought->op || collective->short_type != brought->type ||
               collective->short_count != brought->count) {
        return NULL;
    }
    return collective;
}

/* The fold of all values, in rank order. */
static uint64_t fold(const struct sim_collective *collective)
{
    sim_kernel *kernel = sim_op_kernel(collective->first_op, collective->short_type->kind);
    uint64_t result = collective->values[0];
    for (int r = 1; r < collective->size; r++)
        kernel(&result, &collective->values[r], &result, collective->short_count);
    return result;
}

/* Everybody has come: the others may go on, in the order of their ranks. */
static void release_all(struct sim_collective *collective, struct sim_rank *last)
{
    enum { AHEAD = 8 };
    uint64_t result = collective->short_type ? fold(collective) : 0;
    struct sim_world *world = last->world;
    struct sim_wakings wakings = sim_wakings_begin(world);
    for (int r = 0; r < collective->size; r++) {
        if (r + AHEAD < collective->size)
            __builtin_prefetch(unmarked(collective->calls[r + AHEAD]), 1);
        struct sim_rank *rank = unmarked(collective->calls[r]);
        rank->value = result;
        rank->released = SIM_RELEASED;
        if (rank != last)
            sim_wakings_add(&wakings, rank);
    }
    sim_wakings_end(&wakings, world);
    collective->completed = collective->size;
    collective->first_op = NULL; /* predefined: no reference was taken */
    sim_collective_retire(collective);
}

/* Takes part and comes back when everybody has. */
static inline void take_part(struct sim_comm *comm, struct sim_collective *collective)
{
    struct sim_rank *rank = comm->owner;
    struct sim_world *world = rank->world;
    world->steps++;
    world->changes++;
    comm->collectives++;
    collective->shortly++;
    collective->calls[comm->rank] = marked(rank);
    rank->released = SIM_WAITS;
    if (++collective->arrived == collective->size)
        release_all(collective, rank);
    while (!rank->released)
        sim_rank_block_early(rank); /* by then the world may be wide */
    sim_world_leave(world);
}

static inline bool meet(struct sim_comm *comm, const struct sim_collective_kind *kind, int *error)
{
    static const struct brought nothing;
    struct sim_collective *collective = join(comm, kind, &nothing);
    if (!collective)
        return false;
    take_part(comm, collective);
    *error = comm->owner->released == SIM_RELEASED
                 ? MPI_SUCCESS
                 : sim_collective_raise(comm, kind->name, (int)comm->owner->value);
    return true;
}

int PMPI_Barrier(MPI_Comm handle)
{
    int error;
    struct sim_comm *comm = usable_comm(handle);
    return comm && meet(comm, &sim_barrier, &error) ? error : sim_barrier_long(handle);
}

bool sim_collective_meet(struct sim_comm *comm, const struct sim_collective_kind *kind, int *error)
{
    return comm->owner->plain && !comm->context->remote && meet(comm, kind, error);
}

/* NULL: the rank is not watched. Where nobody is, its line of the cache is not fetched. */
static inline const struct sim_pending *pending_of(const struct sim_rank *rank)
{
    bool watching = atomic_load_explicit(&rank->world->watching, memory_order_relaxed);
    return watching ? rank->pending : NULL;
}

/* The long way compares the buffers with what is pending. */
static inline bool any_pending(const struct sim_rank *rank)
{
    const struct sim_pending *pending = pending_of(rank);
    return pending && pending->count;
}

/* Whether an allreduce's arguments are right and small; what is brought then. */
static inline bool is_short(const void *send, void *receive, MPI_Count count, MPI_Datatype type,
                            MPI_Op op, struct brought *brought)
{
    if (!send || !receive || receive == MPI_IN_PLACE || count < 1 || count > 8)
        return false;
    brought->op = sim_op_get(op);
    brought->type = sim_datatype_get(type);
    if (!brought->op || !brought->type || !brought->op->predefined || !brought->type->predefined ||
        !brought->type->contiguous || sim_op_allowed(brought->op, brought->type))
        return false;
    brought->count = (size_t)count;
    brought->bytes = brought->count * brought->type->size;
    uintptr_t from = (uintptr_t)send, to = (uintptr_t)receive;
    return brought->bytes && brought->bytes <= sizeof(uint64_t) &&
           (from < to ? to - from : from - to) >= brought->bytes &&
           sim_op_kernel(brought->op, brought->type->kind);
}

static inline void copy_word(void *to, const void *from, size_t bytes)
{
    if (bytes == sizeof(uint64_t))
        memcpy(to, from, sizeof(uint64_t));
    else
        memcpy(to, from, bytes);
}

/* Room for the values, kept with the collective for the next time. */
static uint64_t *values_of(struct sim_collective *collective)
{
    if (!collective->values)
        collective->values = calloc((size_t)collective->size, sizeof *collective->values);
    assert(collective->values && "out of memory for a collective");
    return collective->values;
}

/* What the long way does with the buffers where nothing is pending. Not inlined: its array would lie in
 * the frame of every rank that waits, beyond the lines that a switch fetches ahead. */
static __attribute__((noinline)) void look_at(const void *send, const void *receive, int count,
                                              MPI_Datatype type)
{
    bool in_place = send == MPI_IN_PLACE;
    const struct recorder_side sides[] = {
        {send, count, type, false, "send buffer"},
        {receive, count, type, true, in_place ? "buffer" : "receive buffer"}};
    recorder_memory->blocking("Allreduce", sides + in_place, 2 - (size_t)in_place);
}

int PMPI_Allreduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm handle)
{
    struct brought brought;
    struct sim_comm *comm = usable_comm(handle);
    if (!comm || comm->owner->world->options.reduce_order != SIM_REDUCE_LINEAR ||
        any_pending(comm->owner) || !is_short(send, receive, count, type, op, &brought))
        return sim_allreduce_long(send, receive, count, type, op, handle);
    struct sim_collective *collective = join(comm, &sim_allreduce, &brought);
    if (!collective)
        return sim_allreduce_long(send, receive, count, type, op, handle);
    if (pending_of(comm->owner))
        look_at(send, receive, count, type);
    copy_word(&values_of(collective)[comm->rank], send == MPI_IN_PLACE ? receive : send,
              brought.bytes);
    size_t bytes = brought.bytes;
    take_part(comm, collective);
    if (comm->owner->released == SIM_RELEASED_WITH_ERROR)
        return sim_collective_raise(comm, "Allreduce", (int)comm->owner->value);
    copy_word(receive, &comm->owner->value, bytes);
    return MPI_SUCCESS;
}

/* ---- back to the long way ---- */

/* A rank's handle onto a context. */
static struct sim_comm *comm_of(struct sim_rank *rank, const struct sim_context *context)
{
    if (rank->comm_world->context == context)
        return rank->comm_world;
    struct sim_comm *comm = rank->comms;
    while (comm->context != context)
        comm = comm->next;
    return comm;
}

void sim_collective_unfold(struct sim_collective *collective)
{
    collective->shortly = 0;
    for (int r = 0; r < collective->size; r++) {
        if (!collective->calls[r])
            continue;
        struct sim_rank *rank = unmarked(collective->calls[r]);
        struct sim_collective_call *call = calloc(1, sizeof *call);
        assert(call && "out of memory for a collective");
        call->kind = collective->kind;
        call->comm = comm_of(rank, collective->context);
        call->op = collective->first_op;
        call->brief = rank;
        if (collective->short_type) {
            call->send = (struct sim_side){.buffer = &collective->values[r],
                                           .count = collective->short_count,
                                           .type = collective->short_type};
            call->receive = call->send;
            call->receive.buffer = &rank->value;
        }
        call->next_stashed = collective->stashed;
        collective->stashed = call;
        collective->calls[r] = call;
    }
}

void sim_collective_release_brief(struct sim_collective_call *call)
{
    struct sim_rank *rank = call->brief;
    if (call->error)
        rank->value = (uint64_t)call->error;
    rank->released = call->error ? SIM_RELEASED_WITH_ERROR : SIM_RELEASED;
    sim_rank_wake(rank);
}
