/* Collectives between the two groups of an intercommunicator: each group gets what the other gives.
 *
 * The members of both groups meet on the bridge, ranks of the first side before those of the
 * second; everybody waits for everybody. */
#include "sim/collectives/alike.h"
#include "sim/collectives/data.h"

#include <assert.h>
#include <stdlib.h>

struct side_of_bridge { /* ranks first .. first + count - 1 of the bridge */
    int first, count;
};

static struct side_of_bridge other_side(const struct sim_collective *collective, int rank)
{
    int split = collective->context->first_side;
    return rank < split ? (struct side_of_bridge){split, collective->size - split}
                        : (struct side_of_bridge){0, split};
}

/* A member's rank in its own group. */
static int local_rank(const struct sim_collective *collective, int rank)
{
    int split = collective->context->first_side;
    return rank < split ? rank : rank - split;
}

/* What a rank must give where this is the root. */
static int root_seen_by(const struct sim_collective *collective, int rank, int root)
{
    int split = collective->context->first_side;
    return rank == root                       ? MPI_ROOT
           : (rank < split) == (root < split) ? MPI_PROC_NULL
                                              : local_rank(collective, root);
}

/* Who gave MPI_ROOT; -1 when nobody did, an error for all. Who sees another root than the first is
 * told so. */
static int find_root(struct sim_collective *collective)
{
    for (int r = 0; r < collective->size; r++) {
        if (collective->calls[r]->root != MPI_ROOT)
            continue;
        bool one = true;
        for (int other = 0; other < collective->size; other++)
            if (collective->calls[other]->root != root_seen_by(collective, other, r)) {
                collective->calls[other]->error = MPI_ERR_ROOT;
                one = false;
            }
        return one ? r : -1;
    }
    for (int r = 0; r < collective->size; r++)
        collective->calls[r]->error = MPI_ERR_ROOT;
    return -1;
}

/* Those who get from the root, or give to it; nobody where there is no root. */
static struct side_of_bridge others_of_root(struct sim_collective *collective, int *root)
{
    *root = find_root(collective);
    return *root < 0 ? (struct side_of_bridge){0, 0} : other_side(collective, *root);
}

static void barrier(struct sim_collective *collective)
{
    (void)collective;
}

static void bcast(struct sim_collective *collective)
{
    int root;
    struct side_of_bridge others = others_of_root(collective, &root);
    for (int i = 0; i < others.count; i++) {
        struct sim_collective_call *to = collective->calls[others.first + i];
        sim_block_move(collective, root, sim_side_whole(&collective->calls[root]->send),
                       others.first + i, sim_side_whole(&to->send));
    }
}

static void gather(struct sim_collective *collective)
{
    int root;
    struct side_of_bridge others = others_of_root(collective, &root);
    for (int i = 0; i < others.count; i++) {
        struct sim_collective_call *to = collective->calls[root];
        sim_block_move(collective, others.first + i,
                       sim_side_whole(&collective->calls[others.first + i]->send), root,
                       sim_side_block(&to->receive, i));
    }
}

static void scatter(struct sim_collective *collective)
{
    int root;
    struct side_of_bridge others = others_of_root(collective, &root);
    for (int i = 0; i < others.count; i++) {
        struct sim_collective_call *to = collective->calls[others.first + i];
        sim_block_move(collective, root, sim_side_block(&collective->calls[root]->send, i),
                       others.first + i, sim_side_whole(&to->receive));
    }
}

static void receive_from_all(struct sim_collective *collective, bool to_each)
{
    for (int r = 0; r < collective->size; r++) {
        struct side_of_bridge others = other_side(collective, r);
        struct sim_collective_call *to = collective->calls[r];
        for (int i = 0; i < others.count; i++) {
            const struct sim_side *from = &collective->calls[others.first + i]->send;
            sim_block_move(collective, others.first + i,
                           to_each ? sim_side_block(from, local_rank(collective, r))
                                   : sim_side_whole(from),
                           r, sim_side_block(&to->receive, i));
        }
    }
}

static void allgather(struct sim_collective *collective)
{
    receive_from_all(collective, false);
}

static void alltoall(struct sim_collective *collective)
{
    receive_from_all(collective, true);
}

/* Combines what a side gives, in rank order, into what a member takes. */
static void reduce_side(struct sim_collective *collective, struct side_of_bridge side, int receiver)
{
    struct sim_collective_call *to = collective->calls[receiver];
    struct sim_inputs inputs = sim_inputs_new(side.count);
    for (int i = 0; i < side.count; i++) {
        struct sim_block from = sim_side_whole(&collective->calls[side.first + i]->send);
        sim_block_compare(collective, side.first + i, from, receiver, sim_side_whole(&to->receive));
        sim_inputs_set(&inputs, i, from, to->receive.type, to->receive.count);
    }
    if (!to->error && to->receive.count)
        sim_op_reduce_many(to->op, to->receive.type, to->receive.count,
                           (const void *const *)inputs.data, (size_t)side.count,
                           to->receive.buffer);
    sim_inputs_free(&inputs);
}

static void reduce(struct sim_collective *collective)
{
    int root = find_root(collective);
    if (root >= 0)
        reduce_side(collective, other_side(collective, root), root);
}

static void allreduce(struct sim_collective *collective)
{
    for (int r = 0; r < collective->size; r++)
        reduce_side(collective, other_side(collective, r), r);
}

/* The elements that members below `local` of this call's own group get. */
static size_t elements_before(const struct sim_collective_call *call, int local)
{
    if (!call->receive.vectored)
        return (size_t)local * call->receive.count;
    size_t before = 0;
    for (int i = 0; i < local; i++)
        before += sim_counts_at(call->receive.counts, i);
    return before;
}

/* What the other side gives is combined and spread over this side; both give the same in all. */
static void reduce_scatter(struct sim_collective *collective)
{
    size_t *given = malloc((size_t)collective->size * sizeof *given); /* by each */
    assert(given && "out of memory for a reduction");
    for (int r = 0; r < collective->size; r++)
        given[r] = sim_call_all_shares(collective->calls[r]);
    for (int r = 0; r < collective->size; r++) {
        struct sim_collective_call *to = collective->calls[r];
        struct side_of_bridge others = other_side(collective, r);
        for (int i = others.first; !to->error && i < others.first + others.count; i++)
            sim_block_compare(collective, i,
                              (struct sim_block){NULL, given[i], collective->calls[i]->send.type},
                              r, (struct sim_block){NULL, given[r], to->receive.type});
        if (to->error)
            continue;
        struct sim_inputs inputs = sim_inputs_new(others.count);
        size_t before = elements_before(to, local_rank(collective, r));
        for (int i = 0; i < others.count; i++) {
            const struct sim_side *from = &collective->calls[others.first + i]->send;
            sim_inputs_set(&inputs, i,
                           (struct sim_block){from->buffer, given[others.first + i], from->type},
                           to->receive.type, given[r]);
            inputs.data[i] += (ptrdiff_t)before * to->receive.type->extent;
        }
        if (to->receive.count)
            sim_op_reduce_many(to->op, to->receive.type, to->receive.count,
                               (const void *const *)inputs.data, (size_t)others.count,
                               to->receive.buffer);
        sim_inputs_free(&inputs);
    }
    free(given);
}

#define KIND(variable, text, how, ...)                                                             \
    const struct sim_collective_kind variable = {                                                  \
        .name = text, .synchronisation = SIM_NEEDS_ALL, .execute = how, __VA_ARGS__}

KIND(sim_barrier_across, "Barrier", barrier, .reduces = false);
KIND(sim_bcast_across, "Bcast", bcast, .flow = SIM_FROM_ROOT);
KIND(sim_gather_across, "Gather", gather, .receives_each = true, .flow = SIM_TO_ROOT);
KIND(sim_gatherv_across, "Gatherv", gather, .receives_each = true, .flow = SIM_TO_ROOT);
KIND(sim_scatter_across, "Scatter", scatter, .sends_each = true, .flow = SIM_FROM_ROOT);
KIND(sim_scatterv_across, "Scatterv", scatter, .sends_each = true, .flow = SIM_FROM_ROOT);
KIND(sim_allgather_across, "Allgather", allgather, .receives_each = true);
KIND(sim_allgatherv_across, "Allgatherv", allgather, .receives_each = true);
KIND(sim_alltoall_across, "Alltoall", alltoall, .sends_each = true, .receives_each = true);
KIND(sim_alltoallv_across, "Alltoallv", alltoall, .sends_each = true, .receives_each = true);
KIND(sim_alltoallw_across, "Alltoallw", alltoall, .sends_each = true, .receives_each = true);
KIND(sim_reduce_across, "Reduce", reduce, .flow = SIM_TO_ROOT);
const struct sim_collective_kind sim_allreduce_across = {
    .name = "Allreduce", .synchronisation = SIM_NEEDS_ALL, .execute = allreduce, .reduces = true};
const struct sim_collective_kind sim_reduce_scatter_across = {.name = "Reduce_scatter",
                                                              .sends_each = true,
                                                              .synchronisation = SIM_NEEDS_ALL,
                                                              .execute = reduce_scatter,
                                                              .reduces = true};
const struct sim_collective_kind sim_reduce_scatter_block_across = {.name = "Reduce_scatter_block",
                                                                    .sends_each = true,
                                                                    .synchronisation =
                                                                        SIM_NEEDS_ALL,
                                                                    .execute = reduce_scatter,
                                                                    .reduces = true};
