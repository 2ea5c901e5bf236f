/* Limits of waiting: see timeout.h. */
#include "sim/worlds/timeout.h"

void sim_timeout_begin(struct sim_timeout *patience, struct sim_rank *rank, uint64_t ticks)
{
    struct sim_world *world = rank->world;
    uint64_t limit = ticks < UINT64_MAX - world->clock ? world->clock + ticks : UINT64_MAX;
    *patience = (struct sim_timeout){.next = world->patient, .rank = rank, .limit = limit};
    world->patient = patience;
}

void sim_timeout_end(struct sim_timeout *patience)
{
    struct sim_timeout **link = &patience->rank->world->patient;
    while (*link != patience)
        link = &(*link)->next;
    *link = patience->next;
}

static bool is_earlier(const struct sim_timeout *a, const struct sim_timeout *b)
{
    return a->limit != b->limit ? a->limit < b->limit : a->rank->id < b->rank->id;
}

bool sim_timeout_go(struct sim_world *world)
{
    struct sim_timeout *first = NULL;
    for (struct sim_timeout *at = world->patient; at; at = at->next)
        if (!at->passed && (!first || is_earlier(at, first)))
            first = at;
    if (!first)
        return false;
    world->clock = first->limit;
    first->passed = true;
    for (size_t i = 0; world->exploring && i < world->chooser.log.count; i++)
        sim_dependences_add(&first->rank->causes, i);
    sim_world_changed(world);
    sim_rank_wake(first->rank);
    return true;
}
