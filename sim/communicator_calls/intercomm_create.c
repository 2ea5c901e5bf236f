/* Making an intercommunicator out of another: dup, split and create. Each is a collective of the
 * bridge, whose execution builds two new sides and gives each of their members its handle. */
#include "sim/communicator_calls/creation.h"
#include "sim/communicator_calls/intercomm.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* Ranks first .. first + count - 1 of a bridge. */
struct side {
    int first, count;
    struct sim_group *group;
};

static struct side side_of(const struct sim_collective *collective, int which)
{
    int split = collective->context->first_side;
    int first = which ? split : 0;
    return (struct side){.first = first,
                         .count = which ? collective->size - split : split,
                         .group = collective->calls[first]->comm->face->context->group};
}

/* The members of these two groups, whose references it takes over, get a new intercommunicator. */
static void make_sides(struct sim_collective *collective, struct sim_group *first,
                       struct sim_group *second)
{
    struct sim_world *world = collective->context->world;
    assert(first && second && "out of memory for an intercommunicator");
    struct sim_context *sides[2] = {sim_context_new(world, first), sim_context_new(world, second)};
    assert(sides[0] && sides[1] && "out of memory for an intercommunicator");
    bool linked = sim_intercomm_link(sides[0], sides[1]);
    assert(linked);
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < sides[s]->size; i++) {
            int rank =
                sim_group_rank(collective->context->group, sim_context_world_rank(sides[s], i));
            sim_intercomm_attach(sim_comm_deliver_handle(collective->calls[rank], sides[s], i));
        }
}

static void dup_execute(struct sim_collective *collective)
{
    struct side first = side_of(collective, 0), second = side_of(collective, 1);
    make_sides(collective, sim_group_retain(first.group), sim_group_retain(second.group));
}

static const struct sim_creation *creation_of(const struct sim_collective *collective, int rank)
{
    return collective->calls[rank]->argument;
}

/* ---- split: a color makes an intercommunicator if it occurs on both sides ---- */

static struct sim_split_entry *sorted_places(const struct sim_collective *collective,
                                             struct side side)
{
    struct sim_split_entry *places = malloc((size_t)side.count * sizeof *places);
    assert(places && "out of memory for an intercommunicator");
    for (int i = 0; i < side.count; i++) {
        const struct sim_creation *creation = creation_of(collective, side.first + i);
        places[i] = (struct sim_split_entry){creation->color, creation->key, i};
    }
    sim_split_entries_sort(places, side.count);
    return places;
}

static struct sim_group *group_at(struct side side, const struct sim_split_entry *places, int from,
                                  int to)
{
    int *ranks = malloc((size_t)(to - from) * sizeof *ranks);
    assert(ranks && "out of memory for an intercommunicator");
    for (int i = from; i < to; i++)
        ranks[i - from] = places[i].rank;
    struct sim_group *group = sim_group_include(side.group, to - from, ranks);
    free(ranks);
    return group;
}

static void split_execute(struct sim_collective *collective)
{
    struct side a = side_of(collective, 0), b = side_of(collective, 1);
    struct sim_split_entry *of_a = sorted_places(collective, a),
                           *of_b = sorted_places(collective, b);
    int i = 0, j = 0;
    while (i < a.count && j < b.count) {
        int color = of_a[i].color, other = of_b[j].color;
        int end_a = color <= other ? sim_split_entries_end(of_a, a.count, i) : i;
        int end_b = other <= color ? sim_split_entries_end(of_b, b.count, j) : j;
        if (color == other && color != MPI_UNDEFINED)
            make_sides(collective, group_at(a, of_a, i, end_a), group_at(b, of_b, j, end_b));
        i = end_a;
        j = end_b;
    }
    free(of_a);
    free(of_b);
}

static void split_type_execute(struct sim_collective *collective)
{
    if (sim_creation_types_agree(collective))
        split_execute(collective);
}

/* --- create: each side gives the part of it that is to be in the new one -----------------------
 */

/* A member of the side that gives another group than the side's first; -1: they agree. */
static int find_dissenter(const struct sim_collective *collective, struct side side)
{
    const struct sim_group *group = creation_of(collective, side.first)->group;
    for (int r = side.first + 1; r < side.first + side.count; r++)
        if (!sim_group_same(group, creation_of(collective, r)->group))
            return r;
    return -1;
}

static bool all_agree(struct sim_collective *collective)
{
    for (int s = 0; s < 2; s++) {
        struct side side = side_of(collective, s);
        int dissenter = find_dissenter(collective, side);
        if (dissenter < 0)
            continue;
        char complaint[160];
        snprintf(complaint, sizeof complaint,
                 "ranks %d and %d are on one side of the intercommunicator, but give different "
                 "groups",
                 sim_context_world_rank(collective->context, side.first),
                 sim_context_world_rank(collective->context, dissenter));
        for (int r = 0; r < collective->size; r++) {
            collective->calls[r]->error = MPI_ERR_GROUP;
            sim_collective_complain(collective->calls[r], complaint);
        }
        return false;
    }
    return true;
}

static struct sim_group *given(const struct sim_collective *collective, struct side side)
{
    return sim_group_retain(
        (struct sim_group *)(uintptr_t)creation_of(collective, side.first)->group);
}

static void create_execute(struct sim_collective *collective)
{
    if (!all_agree(collective))
        return;
    struct side first = side_of(collective, 0), second = side_of(collective, 1);
    if (creation_of(collective, first.first)->group->size &&
        creation_of(collective, second.first)->group->size)
        make_sides(collective, given(collective, first), given(collective, second));
}

const struct sim_collective_kind sim_comm_dup_across = {
    .name = "Comm_dup", .synchronisation = SIM_NEEDS_ALL, .execute = dup_execute};
const struct sim_collective_kind sim_comm_dup_with_info_across = {
    .name = "Comm_dup_with_info", .synchronisation = SIM_NEEDS_ALL, .execute = dup_execute};
const struct sim_collective_kind sim_comm_split_across = {
    .name = "Comm_split", .synchronisation = SIM_NEEDS_ALL, .execute = split_execute};
const struct sim_collective_kind sim_comm_split_type_across = {
    .name = "Comm_split_type", .synchronisation = SIM_NEEDS_ALL, .execute = split_type_execute};
const struct sim_collective_kind sim_comm_create_across = {
    .name = "Comm_create", .synchronisation = SIM_NEEDS_ALL, .execute = create_execute};
