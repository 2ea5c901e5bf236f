/* Limits of waiting: see timeout.h. */
#include "sim/worlds/timeout.h"

void sim_patience_begin(struct sim_patience *patience, struct sim_rank *rank, uint64_t ticks)
{
    struct sim_world *world = rank->world;
    uint64_t limit = ticks < UINT64_MAX - world->clock ? world->clock + ticks : UINT64_MAX;
    *patience = (struct sim_patience){.next = world->patient, .rank = rank, .limit = limit};
    world->patient = patience;
}

void sim_patience_end(struct sim_patience *patience)
{
    struct sim_patience **link = &patience->rank->world->patient;
    while (*link != patience)
        link = &(*link)->next;
    *link = patience->next;
}

static bool is_earlier(const struct sim_patience *a, const struct sim_patience *b)
{
    return a->limit != b->limit ? a->limit < b->limit : a->rank->id < b->rank->id;
}

bool sim_patience_go(struct sim_world *world)
{
    struct sim_patience *first = NULL;
    for (struct sim_patience *at = world->patient; at; at = at->next)
        if (!at->passed && (!first || is_earlier(at, first)))
            first = at;
    if (!first)
        return false;
    world->clock = first->limit;
    first->passed = true;
    for (size_t i = 0; world->exploring && i < world->chooser.log.count; i++)
        sim_causes_add(&first->rank->causes, i);
    sim_world_changed(world);
    sim_rank_wake(first->rank);
    return true;
}
