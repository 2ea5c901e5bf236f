/* What each data-moving collective moves, seen from above: all members' buffers are at hand. */
#include "sim/collectives/data.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static struct sim_collective_call *call_of(struct sim_collective *collective, int rank)
{
    return collective->calls[rank];
}

static void nothing(struct sim_collective *collective)
{
    (void)collective;
}

static void bcast_advance(struct sim_collective *collective, int rank)
{
    struct sim_collective_call *call = call_of(collective, rank),
                               *root = call_of(collective, call->root);
    if (rank != call->root)
        sim_block_move(collective, call->root, sim_side_whole(&root->send), rank,
                       sim_side_whole(&call->send));
}

static void gather_execute(struct sim_collective *collective)
{
    int root = collective->first_root;
    struct sim_collective_call *to = call_of(collective, root);
    for (int r = 0; r < collective->size; r++) {
        struct sim_collective_call *from = call_of(collective, r);
        if (!from->in_place) /* which only the root's is */
            sim_block_move(collective, r, sim_side_whole(&from->send), root,
                           sim_side_block(&to->receive, r));
    }
}

static void scatter_advance(struct sim_collective *collective, int rank)
{
    struct sim_collective_call *call = call_of(collective, rank),
                               *from = call_of(collective, call->root);
    if (!call->in_place)
        sim_block_move(collective, call->root, sim_side_block(&from->send, rank), rank,
                       sim_side_whole(&call->receive));
}

/* Where a member's contribution lies: its send buffer, or its own block of the receive buffer. */
static struct sim_block contribution(const struct sim_collective_call *call, int rank)
{
    return call->in_place ? sim_side_block(&call->receive, rank) : sim_side_whole(&call->send);
}

static void allgather_execute(struct sim_collective *collective)
{
    for (int to = 0; to < collective->size; to++) {
        struct sim_collective_call *receiver = call_of(collective, to);
        for (int from = 0; from < collective->size; from++)
            if (from != to || !receiver->in_place)
                sim_block_move(collective, from, contribution(call_of(collective, from), from), to,
                               sim_side_block(&receiver->receive, from));
    }
}

/* In place, an exchange between two members swaps their blocks. */
static void swap_blocks(struct sim_collective *collective, int of_a, struct sim_block a, int of_b,
                        struct sim_block b)
{
    size_t bytes = a.count * a.type->size;
    sim_block_compare(collective, of_b, b, of_a, a);
    if (!bytes || bytes != b.count * b.type->size)
        return;
    void *aside = malloc(bytes);
    assert(aside && "out of memory for an exchange in place");
    sim_datatype_copy_out(a.type, a.data, a.count, aside);
    sim_block_move(collective, of_b, b, of_a, a);
    sim_datatype_copy_in(b.type, b.data, b.count, aside);
    free(aside);
}

static bool anyone_in_place(const struct sim_collective *collective)
{
    for (int r = 0; r < collective->size; r++)
        if (collective->calls[r]->in_place)
            return true;
    return false;
}

/* All in place, or none: mixing them is an error of the program, seen as a mismatch. */
static void alltoall_in_place(struct sim_collective *collective)
{
    for (int a = 0; a < collective->size; a++) {
        struct sim_collective_call *first = call_of(collective, a);
        if (!first->in_place) {
            first->error = MPI_ERR_BUFFER;
            continue;
        }
        for (int b = a + 1; b < collective->size; b++) {
            struct sim_collective_call *second = call_of(collective, b);
            swap_blocks(collective, a, sim_side_block(&first->receive, b), b,
                        sim_side_block(&second->receive, a));
            second->error = first->error ? first->error : second->error;
        }
    }
}

/* One member's blocks to everybody, each behind those of the members before it. */
static inline __attribute__((always_inline)) void deal_out(const struct sim_collective *collective,
                                                           int from, size_t bytes)
{
    const char *data = collective->calls[from]->send.buffer;
    for (int to = 0; to < collective->size; to++)
        memcpy((char *)collective->calls[to]->receive.buffer + bytes * (size_t)from,
               data + bytes * (size_t)to, bytes);
}

/* The common case, moved block by block in an order that keeps one sender's buffer in the cache; a word
 * is a move of its own, which takes a third of the time of a call. */
static bool alltoall_plain(struct sim_collective *collective)
{
    const struct sim_datatype *type = collective->calls[0]->send.type;
    for (int r = 0; r < collective->size; r++) {
        const struct sim_collective_call *call = collective->calls[r];
        if (call->send.type != type || call->receive.type != type)
            return false; /* to be compared */
        if (!call->send.type->contiguous || !call->receive.type->contiguous ||
            call->send.count * call->send.type->size !=
                call->receive.count * call->receive.type->size)
            return false;
    }
    size_t bytes = collective->calls[0]->send.count * collective->calls[0]->send.type->size;
    for (int from = 0; bytes && from < collective->size; from++)
        if (bytes == sizeof(uint64_t))
            deal_out(collective, from, sizeof(uint64_t));
        else
            deal_out(collective, from, bytes);
    return true;
}

static void alltoall_execute(struct sim_collective *collective)
{
    if (anyone_in_place(collective)) {
        alltoall_in_place(collective);
        return;
    }
    if (collective->kind == &sim_alltoall && alltoall_plain(collective))
        return;
    for (int to = 0; to < collective->size; to++) {
        const struct sim_collective_call *receiver = call_of(collective, to);
        for (int from = 0; from < collective->size; from++)
            sim_block_move(collective, from, sim_side_block(&call_of(collective, from)->send, to),
                           to, sim_side_block(&receiver->receive, from));
    }
}

const struct sim_collective_kind sim_barrier = {.name = "Barrier",
                                                .synchronisation = SIM_NEEDS_ALL,
                                                .execute = nothing,
                                                .across = &sim_barrier_across};
const struct sim_collective_kind sim_bcast = {.name = "Bcast",
                                              .synchronisation = SIM_FROM_ROOT,
                                              .advance = bcast_advance,
                                              .uniform = true,
                                              .rooted = true,
                                              .across = &sim_bcast_across};
const struct sim_collective_kind sim_gather = {.name = "Gather",
                                               .receives_each = true,
                                               .synchronisation = SIM_TO_ROOT,
                                               .execute = gather_execute,
                                               .rooted = true,
                                               .across = &sim_gather_across};
const struct sim_collective_kind sim_gatherv = {.name = "Gatherv",
                                                .receives_each = true,
                                                .synchronisation = SIM_TO_ROOT,
                                                .execute = gather_execute,
                                                .rooted = true,
                                                .across = &sim_gatherv_across};
const struct sim_collective_kind sim_scatter = {.name = "Scatter",
                                                .sends_each = true,
                                                .synchronisation = SIM_FROM_ROOT,
                                                .advance = scatter_advance,
                                                .rooted = true,
                                                .across = &sim_scatter_across};
const struct sim_collective_kind sim_scatterv = {.name = "Scatterv",
                                                 .sends_each = true,
                                                 .synchronisation = SIM_FROM_ROOT,
                                                 .advance = scatter_advance,
                                                 .rooted = true,
                                                 .across = &sim_scatterv_across};
const struct sim_collective_kind sim_allgather = {.name = "Allgather",
                                                  .receives_each = true,
                                                  .synchronisation = SIM_NEEDS_ALL,
                                                  .execute = allgather_execute,
                                                  .uniform = true,
                                                  .across = &sim_allgather_across};
const struct sim_collective_kind sim_allgatherv = {.name = "Allgatherv",
                                                   .receives_each = true,
                                                   .synchronisation = SIM_NEEDS_ALL,
                                                   .execute = allgather_execute,
                                                   .across = &sim_allgatherv_across};
const struct sim_collective_kind sim_alltoall = {.name = "Alltoall",
                                                 .sends_each = true,
                                                 .receives_each = true,
                                                 .synchronisation = SIM_NEEDS_ALL,
                                                 .execute = alltoall_execute,
                                                 .uniform = true,
                                                 .across = &sim_alltoall_across};
const struct sim_collective_kind sim_alltoallv = {.name = "Alltoallv",
                                                  .sends_each = true,
                                                  .receives_each = true,
                                                  .synchronisation = SIM_NEEDS_ALL,
                                                  .execute = alltoall_execute,
                                                  .across = &sim_alltoallv_across};
const struct sim_collective_kind sim_alltoallw = {.name = "Alltoallw",
                                                  .sends_each = true,
                                                  .receives_each = true,
                                                  .synchronisation = SIM_NEEDS_ALL,
                                                  .execute = alltoall_execute,
                                                  .across = &sim_alltoallw_across};
