/* group.c: groups as arithmetic sequences where possible, as an array with a hash table elsewhere.
 */
#include "sim/communicators/group.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/handle.h"
#include "sim/worlds/open_handles.h"

static const struct sim_group group_empty = {
    .magic = SIM_MAGIC_GROUP, .references = 1, .stride = 1};

/* Slot of a world rank: the upper bits of its product with the golden ratio. */
static unsigned slot_first(const struct sim_group *group, int world_rank)
{
    return ((uint32_t)world_rank * UINT32_C(2654435769)) >> group->slots_shift;
}

static unsigned slots_mask(const struct sim_group *group)
{
    return (UINT32_C(1) << (32 - group->slots_shift)) - 1;
}

/* Makes the table at most half full. */
static bool slots_fill(struct sim_group *group)
{
    unsigned bits = 1;
    while ((INT64_C(1) << bits) < 2 * (int64_t)group->size)
        bits++;
    group->slots_shift = 32 - bits;
    group->slots = malloc(sizeof(int) << bits);
    if (!group->slots)
        return false;
    memset(group->slots, -1, sizeof(int) << bits);
    for (int rank = 0; rank < group->size; rank++) {
        unsigned slot = slot_first(group, group->ranks[rank]);
        while (group->slots[slot] >= 0)
            slot = (slot + 1) & slots_mask(group);
        group->slots[slot] = rank;
    }
    return true;
}

static bool is_sequence(int size, const int *world_ranks)
{
    for (int i = 2; i < size; i++)
        if ((int64_t)world_ranks[i] - world_ranks[i - 1] !=
            (int64_t)world_ranks[1] - world_ranks[0])
            return false;
    return true;
}

struct sim_group *sim_group_new_sequence(int size, int first, int stride)
{
    assert(size >= 0 && (stride != 0 || size <= 1));
    struct sim_group *group = calloc(1, sizeof *group);
    if (!group)
        return NULL;
    group->magic = SIM_MAGIC_GROUP;
    atomic_init(&group->references, 1);
    group->size = size;
    group->first = first;
    group->stride = stride;
    return group;
}

struct sim_group *sim_group_new(int size, const int *world_ranks)
{
    int first = size > 0 ? world_ranks[0] : 0;
    int stride = size > 1 ? world_ranks[1] - first : 1;
    struct sim_group *group = sim_group_new_sequence(size, first, stride);
    if (!group || is_sequence(size, world_ranks))
        return group;
    group->ranks = malloc((size_t)size * sizeof *group->ranks);
    if (group->ranks) {
        memcpy(group->ranks, world_ranks, (size_t)size * sizeof *group->ranks);
        if (slots_fill(group))
            return group;
    }
    sim_group_release(group);
    return NULL;
}

struct sim_group *sim_group_retain(struct sim_group *group)
{
    assert(group != &group_empty);
    if (group)
        atomic_fetch_add_explicit(&group->references, 1, memory_order_relaxed);
    return group;
}

void sim_group_release(struct sim_group *group)
{
    assert(group != &group_empty);
    if (!group || atomic_fetch_sub_explicit(&group->references, 1, memory_order_acq_rel) != 1)
        return;
    group->magic = SIM_MAGIC_FREED;
    free(group->ranks);
    free(group->slots);
    free(group);
}

static int sequence_rank(const struct sim_group *group, int world_rank)
{
    int64_t distance = (int64_t)world_rank - group->first;
    if (group->size <= 1)
        return group->size == 1 && distance == 0 ? 0 : MPI_UNDEFINED;
    int64_t rank = distance / group->stride;
    return distance % group->stride == 0 && rank >= 0 && rank < group->size ? (int)rank
                                                                            : MPI_UNDEFINED;
}

int sim_group_rank(const struct sim_group *group, int world_rank)
{
    if (!group->ranks)
        return sequence_rank(group, world_rank);
    for (unsigned slot = slot_first(group, world_rank); group->slots[slot] >= 0;
         slot = (slot + 1) & slots_mask(group))
        if (group->ranks[group->slots[slot]] == world_rank)
            return group->slots[slot];
    return MPI_UNDEFINED;
}

/* What is a sequence is one in every group that has it, so that the same groups look the same. */
bool sim_group_same(const struct sim_group *one, const struct sim_group *other)
{
    if (one->size != other->size || one->first != other->first || one->stride != other->stride)
        return false;
    return one->ranks && other->ranks
               ? memcmp(one->ranks, other->ranks, (size_t)one->size * sizeof *one->ranks) == 0
               : one->ranks == other->ranks;
}

int sim_group_compare(const struct sim_group *a, const struct sim_group *b)
{
    if (sim_group_same(a, b))
        return MPI_IDENT;
    if (a->size != b->size)
        return MPI_UNEQUAL;
    for (int rank = 0; rank < a->size; rank++)
        if (sim_group_rank(b, sim_group_world_rank(a, rank)) == MPI_UNDEFINED)
            return MPI_UNEQUAL;
    return MPI_SIMILAR;
}

/* Appends to `members` the world ranks of `from` that are (or are not) in `filter`; returns the new
 * count. */
static int append(int *members, int count, const struct sim_group *from,
                  const struct sim_group *filter, bool wanted)
{
    for (int rank = 0; rank < from->size; rank++) {
        int world_rank = sim_group_world_rank(from, rank);
        if ((sim_group_rank(filter, world_rank) != MPI_UNDEFINED) == wanted)
            members[count++] = world_rank;
    }
    return count;
}

static int *members_new(int64_t count)
{
    return malloc((size_t)(count > 0 ? count : 1) * sizeof(int));
}

static struct sim_group *group_of_members(int *members, int count)
{
    struct sim_group *group = sim_group_new(count, members);
    free(members);
    return group;
}

struct sim_group *sim_group_union(const struct sim_group *a, const struct sim_group *b)
{
    int *members = members_new((int64_t)a->size + b->size);
    if (!members)
        return NULL;
    int count = append(members, 0, a, &group_empty, false);
    return group_of_members(members, append(members, count, b, a, false));
}

static struct sim_group *group_filtered(const struct sim_group *a, const struct sim_group *b,
                                        bool wanted)
{
    int *members = members_new(a->size);
    return members ? group_of_members(members, append(members, 0, a, b, wanted)) : NULL;
}

struct sim_group *sim_group_intersection(const struct sim_group *a, const struct sim_group *b)
{
    return group_filtered(a, b, true);
}

struct sim_group *sim_group_difference(const struct sim_group *a, const struct sim_group *b)
{
    return group_filtered(a, b, false);
}

struct sim_group *sim_group_include(const struct sim_group *group, int n, const int *ranks)
{
    int *members = members_new(n);
    if (!members)
        return NULL;
    for (int i = 0; i < n; i++)
        members[i] = sim_group_world_rank(group, ranks[i]);
    return group_of_members(members, n);
}

struct sim_group *sim_group_exclude(const struct sim_group *group, int n, const int *ranks)
{
    struct sim_group *excluded = sim_group_include(group, n, ranks);
    struct sim_group *rest = excluded ? sim_group_difference(group, excluded) : NULL;
    sim_group_release(excluded);
    return rest;
}

const struct sim_group *sim_group_from_handle(MPI_Group handle)
{
    if (handle == MPI_GROUP_EMPTY)
        return &group_empty;
    /* Communicators and other ranks may hold the same: a rank's own handle ends with its own free. */
    return sim_open_handles_has(SIM_LIVE_GROUP, (uint64_t)(uintptr_t)handle)
               ? sim_handle_object(handle, SIM_MAGIC_GROUP)
               : NULL;
}

MPI_Group sim_group_hand_out(struct sim_group *group)
{
    MPI_Group handle = sim_group_handle(group);
    if (handle != MPI_GROUP_EMPTY)
        sim_open_handles_add(SIM_LIVE_GROUP, (uint64_t)(uintptr_t)handle);
    return handle;
}

void sim_groups_end(const struct sim_open_handles *live)
{
    const struct handle_map *groups = live ? &live->handles[SIM_LIVE_GROUP] : NULL;
    for (size_t i = 0; groups && i < groups->slots; i++)
        if (groups->entries[i].key)
            sim_group_release((struct sim_group *)(uintptr_t)groups->entries[i].key);
}

MPI_Group sim_group_handle(struct sim_group *group)
{
    if (group->size > 0)
        return (MPI_Group)(void *)group;
    sim_group_release(group);
    return MPI_GROUP_EMPTY;
}
