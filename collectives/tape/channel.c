/* Channels: see channel.h. */
#include "collectives/tape/channel.h"

#include "collectives/experiment/mutant.h"
#include "collectives/experiment/probe.h"
#include "collectives/tape/graph.h"
#include "collectives/tape/state.h"
#include "recorder/recorder.h"

#include <mpix.h>

static void world_ranks_note(struct diff_channel *channel)
{
    struct diff_tape *tape = channel->tape;
    size_t size = (size_t)channel->peers;
    int *numbers = arena_take(&tape->fixed, size * sizeof *numbers);
    channel->world = arena_take(&tape->fixed, size * sizeof *channel->world);
    for (int i = 0; i < channel->peers; i++)
        numbers[i] = i;
    MPI_Group all, mine;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    if (channel->intercomm)
        MPI_Comm_remote_group(channel->comm, &mine);
    else
        MPI_Comm_group(channel->comm, &mine);
    MPI_Group_translate_ranks(mine, channel->peers, numbers, all, channel->world);
    MPI_Group_free(&mine);
    MPI_Group_free(&all);
}

struct probe_team channel_team(const struct diff_channel *channel)
{
    struct probe_team team = {.size = channel->size};
    int none = 0;
    MPI_Group all, mine;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Comm_group(channel->comm, &mine);
    MPI_Group_translate_ranks(mine, 1, &none, all, &team.first);
    MPI_Group_free(&mine);
    MPI_Group_free(&all);
    return team;
}

/* Identities must agree between ranks only where values of several ranks are put together
 * afterwards. */
static void identity_agree(struct diff_channel *channel)
{
    struct diff_state *state = channel->tape->state;
    channel->id = (uint64_t)(MPIX_World_rank() + 1) << 32 | ++state->channels;
    if (!state->probe || !state->probe->trace)
        return;
    MPI_Bcast(&channel->id, 1, MPI_UINT64_T, 0, channel->own ? channel->own->comm : channel->comm);
    if (channel->intercomm) {
        uint64_t theirs;
        MPI_Allreduce(&channel->id, &theirs, 1, MPI_UINT64_T, MPI_MAX, channel->comm);
        channel->id = theirs > channel->id ? theirs : channel->id;
    }
    world_ranks_note(channel);
}

static struct diff_channel *channel_make(struct diff_tape *tape, MPI_Comm comm, bool owned)
{
    struct diff_channel *channel = arena_take_zeroed(&tape->fixed, sizeof *channel);
    int inter = 0, topology = MPI_UNDEFINED;
    channel->tape = tape;
    channel->comm = comm;
    channel->owned = owned;
    channel->keyval = MPI_KEYVAL_INVALID;
    MPI_Comm_test_inter(comm, &inter);
    channel->intercomm = inter;
    MPI_Comm_rank(comm, &channel->rank);
    MPI_Comm_size(comm, &channel->size);
    channel->peers = channel->size;
    if (inter)
        MPI_Comm_remote_size(comm, &channel->peers);
    else
        MPI_Topo_test(comm, &topology);
    if (topology != MPI_UNDEFINED)
        graph_learn(channel);
    return channel;
}

/* The own group of an intercommunicator. */
static struct diff_channel *own_group(const struct diff_channel *channel)
{
    MPI_Comm both, own;
    MPI_Group group, all;
    int first = 0, color;
    MPI_Intercomm_merge(channel->comm, 0, &both);
    MPI_Comm_group(channel->comm, &group);
    MPI_Comm_group(both, &all);
    MPI_Group_translate_ranks(group, 1, &first, all, &color);
    MPI_Comm_split(both, color, channel->rank, &own); /* MPICH dies of create_group here */
    MPI_Group_free(&group);
    MPI_Group_free(&all);
    MPI_Comm_free(&both);
    record_adjoint_comm((const void *)(intptr_t)own, (const void *)(intptr_t)channel->comm);
    struct diff_channel *made = channel_make(channel->tape, own, true);
    made->adjoint = made;
    return made;
}

static struct diff_channel *channel_duplicate(struct diff_channel *channel, bool reversed)
{
    MPI_Comm copy;
    if (reversed)
        copy = graph_reversed(channel);
    else
        MPI_Comm_dup(channel->comm, &copy);
    record_adjoint_comm((const void *)(intptr_t)copy, (const void *)(intptr_t)channel->comm);
    struct diff_channel *duplicate = channel_make(channel->tape, copy, true);
    duplicate->adjoint = duplicate;
    if (duplicate->intercomm) {
        duplicate->own = own_group(duplicate);
        identity_agree(duplicate->own);
    }
    identity_agree(duplicate);
    return duplicate;
}

static int attribute_gone(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm, (void)keyval, (void)extra;
    ((struct diff_channel *)value)->freed = true;
    return MPI_SUCCESS;
}

static void end_watch(struct diff_channel *channel)
{
    if (channel->comm == MPI_COMM_WORLD || channel->comm == MPI_COMM_SELF)
        return;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, attribute_gone, &channel->keyval, NULL);
    MPI_Comm_set_attr(channel->comm, channel->keyval, channel);
}

struct diff_channel *channel_register(struct diff_tape *tape, MPI_Comm comm)
{
    struct diff_channel *channel = channel_make(tape, comm, false);
    if (tape->channels_tail)
        tape->channels_tail->next = channel;
    else
        tape->channels = channel;
    tape->channels_tail = channel;
    end_watch(channel);
    if (probe_needs_no_tape(tape->state)) { /* no backward pass will come */
        channel->adjoint = channel;
        return channel;
    }
    channel->adjoint = channel_duplicate(channel, channel->graph != NULL);
    if (channel->graph) {
        channel->adjoint->adjoint = channel_duplicate(channel->adjoint, true);
        channel->adjoint->adjoint->adjoint = channel->adjoint;
        channel->twin = channel_duplicate(channel, false);
        channel->twin->twin = channel->twin;
        channel->twin->adjoint = channel->adjoint;
    }
    channel->id = channel->adjoint->id ^ (uint64_t)1 << 63;
    channel->world = channel->adjoint->world;
    return channel;
}

struct diff_channel *channel_find(struct diff_tape *tape, MPI_Comm comm, bool collective)
{
    if (comm == MPI_COMM_NULL)
        state_fail(tape->state, "M009", "the communicator is MPI_COMM_NULL");
    for (struct diff_channel *channel = tape->channels; channel; channel = channel->next)
        if (channel->comm == comm && !channel->freed)
            return channel;
    if (!collective)
        state_fail(tape->state, "M009",
                   "a message on a communicator the tape does not know: call diff_comm_register on "
                   "all its ranks first");
    return channel_register(tape, comm);
}

struct diff_channel *channel_adjoint(struct diff_channel *channel)
{
    if (channel->tape->state->mutant == MUTANT_WORLD && !channel->owned)
        return channel->tape->channels->adjoint;
    return channel->adjoint;
}

bool channel_is_root(const struct diff_channel *channel, int root)
{
    return channel->intercomm ? root == MPI_ROOT : root == channel->rank;
}

/* The duplicates of a registered channel, each the adjoint of the one before; NULL after the last.
 */
static struct diff_channel *duplicate_next(const struct diff_channel *first,
                                           const struct diff_channel *channel)
{
    struct diff_channel *next = channel->adjoint;
    if (!next || next == channel || next == first ||
        (next->graph && next->adjoint == channel && channel != first && next == first->adjoint))
        return NULL;
    return next;
}

void channel_deepen(struct diff_tape *tape)
{
    uint32_t wanted = ++tape->recorded_passes + 1;
    for (struct diff_channel *first = tape->channels; first; first = first->next) {
        struct diff_channel *deepest = first, *next;
        uint32_t depth = 0;
        for (; (next = duplicate_next(first, deepest)); depth++)
            deepest = next;
        if (deepest == first || first->graph || depth >= wanted)
            continue;
        deepest->adjoint = channel_duplicate(deepest, false);
        if (deepest->own)
            deepest->own->adjoint = deepest->adjoint->own;
    }
}

static void filling_forget(struct diff_channel *channel)
{
    channel->last_collective = NULL;
    channel->collectives = 0;
}

void channel_clear_all(struct diff_tape *tape)
{
    for (struct diff_channel *first = tape->channels; first; first = first->next)
        for (struct diff_channel *c = first; c; c = duplicate_next(first, c)) {
            filling_forget(c);
            if (c->own)
                filling_forget(c->own);
        }
}

static void duplicates_free(struct diff_channel *first)
{
    struct diff_channel *channel = duplicate_next(first, first);
    while (channel) {
        struct diff_channel *next = duplicate_next(first, channel);
        if (channel->own)
            MPI_Comm_free(&channel->own->comm);
        MPI_Comm_free(&channel->comm);
        channel = next;
    }
}

void channel_release_all(struct diff_tape *tape)
{
    for (struct diff_channel *channel = tape->channels; channel; channel = channel->next) {
        duplicates_free(channel);
        if (channel->twin)
            MPI_Comm_free(&channel->twin->comm);
        if (channel->keyval == MPI_KEYVAL_INVALID)
            continue;
        if (!channel->freed)
            MPI_Comm_delete_attr(channel->comm, channel->keyval);
        MPI_Comm_free_keyval(&channel->keyval);
    }
    tape->channels = tape->channels_tail = NULL;
}
