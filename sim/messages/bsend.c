/* The attached buffer of buffered sends: see bsend.h. */
#include "sim/messages/bsend.h"

#include "recorder/recorder.h"
#include "sim/memory/pending.h"
#include "sim/worlds/error.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct sim_bsend {
    void *buffer;
    size_t size, used, bytes; /* of all; occupied by messages; of these messages themselves */
    int pending;
    bool watched; /* the program sent since it last knew that no message is within */
    /* Who waits until no message is within, NULL: nobody; in which call. */
    struct sim_rank *detaching;
    enum op_kind call;
    const void *site;
};

/* What Open MPI takes beside a message's bytes; MPICH takes less. MPI_BSEND_OVERHEAD, which the ABI
 * gives all its implementations, is more: a program that counts with it has room to spare, and one
 * that counts with the constant of one of those has enough. */
enum { OVERHEAD = 128 };

static size_t occupied(size_t bytes)
{
    return bytes + OVERHEAD;
}

/* The program counted with MPI_BSEND_OVERHEAD, for these messages and no other; of a buffer of no bytes, for none. */
static bool is_exactly_full(const struct sim_bsend *bsend)
{
    return bsend->bytes + (size_t)bsend->pending * MPI_BSEND_OVERHEAD == bsend->size;
}

/* Whether a message lies in it is not for the program to know. */
static void watch(struct sim_rank *rank)
{
    struct sim_bsend *bsend = rank->bsend;
    const struct sim_region region = {(uintptr_t)bsend->buffer, sim_datatype_get(MPI_BYTE),
                                      bsend->size, true, "attached buffer"};
    if (bsend->watched || !rank->pending || bsend->buffer == MPI_BUFFER_AUTOMATIC)
        return;
    bsend->watched = true;
    sim_pending_add(rank, &region, 1, "Bsend", bsend);
}

static void unwatch(struct sim_rank *rank)
{
    if (rank->bsend && rank->bsend->watched)
        sim_pending_end(rank, rank->bsend);
    if (rank->bsend)
        rank->bsend->watched = false;
}

void sim_bsend_finish(struct sim_rank *rank)
{
    unwatch(rank);
}

void sim_bsend_begin(struct sim_rank *rank)
{
    if (rank->bsend)
        watch(rank);
}

bool sim_bsend_has_room(const struct sim_request *send)
{
    const struct sim_bsend *bsend = send->owner->bsend;
    size_t bytes = send->type->size * send->count;
    if (!bsend)
        return false;
    return bsend->buffer == MPI_BUFFER_AUTOMATIC ||
           (bsend->size - bsend->used >= occupied(bytes) && !is_exactly_full(bsend));
}

void sim_bsend_taken(struct sim_rank *rank, size_t bytes)
{
    rank->bsend->used += occupied(bytes);
    rank->bsend->bytes += bytes;
    rank->bsend->pending++;
}

void sim_bsend_returned(struct sim_rank *rank, size_t bytes)
{
    struct sim_bsend *bsend = rank->bsend;
    assert(bsend && bsend->pending > 0);
    bsend->used -= occupied(bytes);
    bsend->bytes -= bytes;
    if (--bsend->pending == 0 && bsend->detaching && sim_rank_waits(bsend->detaching))
        sim_rank_wake(bsend->detaching);
}

static int attach(const char *function, void *buffer, MPI_Count size)
{
    struct sim_rank *rank = sim_point_caller(function);
    if (!rank)
        return MPI_ERR_OTHER;
    if (rank->bsend)
        return sim_error_raise(MPI_COMM_NULL, MPI_ERR_BUFFER, function,
                               "a buffer is attached already: detach it first");
    if (size < 0 && buffer != MPI_BUFFER_AUTOMATIC) /* whose size does not matter */
        return sim_error_raise(MPI_COMM_NULL, MPI_ERR_ARG, function,
                               "size is %lld: it must not be negative", (long long)size);
    if (!buffer && size)
        return sim_error_raise(MPI_COMM_NULL, MPI_ERR_BUFFER, function, "buffer is NULL");
    rank->bsend = calloc(1, sizeof *rank->bsend);
    assert(rank->bsend && "out of memory for an attached buffer");
    rank->bsend->buffer = buffer;
    rank->bsend->size = size < 0 ? 0 : (size_t)size;
    return MPI_SUCCESS;
}

/* Until every buffered message has been received. */
static void wait_until_empty(struct sim_rank *rank, enum op_kind call)
{
    struct sim_bsend *bsend = rank->bsend;
    sim_world_enter(rank->world);
    while (bsend && bsend->pending) {
        bsend->detaching = rank;
        bsend->call = call;
        bsend->site = sim_libc_call_site();
        sim_rank_block(rank);
    }
    if (bsend)
        bsend->detaching = NULL;
    unwatch(rank);
    sim_world_leave(rank->world);
}

void sim_world_detaching(struct sim_world *world)
{
    for (int r = 0; r < world->size; r++) {
        const struct sim_rank *rank = &world->ranks[r];
        if (!rank->bsend || !rank->bsend->detaching || rank->state > SIM_BLOCKED)
            continue;
        sim_world_impersonate(world, r);
        record_stands(rank->bsend->call, rank->bsend->site);
    }
    sim_world_impersonate(world, -1);
}

static int detach(const char *function, void *address, MPI_Count *size)
{
    struct sim_rank *rank = sim_point_caller(function);
    if (!rank)
        return MPI_ERR_OTHER;
    struct sim_bsend *bsend = rank->bsend;
    if (!bsend)
        return sim_error_raise(MPI_COMM_NULL, MPI_ERR_BUFFER, function, "no buffer is attached");
    wait_until_empty(rank, OP_BUFFER_DETACH);
    memcpy(address, &bsend->buffer, sizeof bsend->buffer);
    *size = (MPI_Count)bsend->size;
    rank->bsend = NULL;
    free(bsend);
    return MPI_SUCCESS;
}

int PMPI_Buffer_attach(void *buffer, int size)
{
    return attach("Buffer_attach", buffer, size);
}

int PMPI_Buffer_attach_c(void *buffer, MPI_Count size)
{
    return attach("Buffer_attach", buffer, size);
}

int PMPI_Buffer_detach(void *address, int *size)
{
    MPI_Count wide = 0;
    int error = detach("Buffer_detach", address, &wide);
    *size = wide > INT_MAX ? MPI_UNDEFINED : (int)wide;
    return error;
}

int PMPI_Buffer_detach_c(void *address, MPI_Count *size)
{
    return detach("Buffer_detach", address, size);
}

int PMPI_Buffer_flush(void)
{
    struct sim_rank *rank = sim_point_caller("Buffer_flush");
    if (!rank)
        return MPI_ERR_OTHER;
    wait_until_empty(rank, OP_BUFFER_FLUSH);
    return MPI_SUCCESS;
}
