/* Channels by what is gone of them: see balances.h. Open addressing; even channels leave when the
 * table is full. */
#include "recorder/balances.h"

#include <stdlib.h>

enum { ROOM_FIRST = 1024 };

static uint64_t hash_of(const struct balance *channel)
{
    uint64_t hash = channel->comm * UINT64_C(0x9e3779b97f4a7c15);
    hash ^= (uint64_t)(uint32_t)channel->source << 32 | (uint32_t)channel->destination;
    hash = (hash ^ hash >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    hash = (hash ^ (uint32_t)channel->tag) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 31;
}

static bool is_same(const struct balance *one, const struct balance *other)
{
    return one->comm == other->comm && one->source == other->source &&
           one->destination == other->destination && one->tag == other->tag;
}

static struct balance *place_of(struct balance *slots, size_t room, const struct balance *channel)
{
    size_t at = hash_of(channel) & (room - 1);
    while (slots[at].used && !is_same(&slots[at], channel))
        at = (at + 1) & (room - 1);
    return &slots[at];
}

static bool make_room(struct balances *balances)
{
    size_t uneven = 0, room = ROOM_FIRST;
    for (size_t i = 0; i < balances->room; i++)
        uneven += balances->slots[i].used && balances->slots[i].sends;
    while (room < 4 * uneven)
        room *= 2;
    struct balance *slots = calloc(room, sizeof *slots);
    if (!slots) {
        balances->failed = true;
        return false;
    }
    for (size_t i = 0; i < balances->room; i++)
        if (balances->slots[i].used && balances->slots[i].sends)
            *place_of(slots, room, &balances->slots[i]) = balances->slots[i];
    free(balances->slots);
    *balances = (struct balances){.slots = slots, .room = room, .used = uneven};
    return true;
}

void balances_release(struct balances *balances)
{
    free(balances->slots);
    *balances = (struct balances){0};
}

void balances_add(struct balances *balances, const struct balance *channel)
{
    if (balances->failed || (2 * balances->used >= balances->room && !make_room(balances)))
        return;
    struct balance *place = place_of(balances->slots, balances->room, channel);
    int64_t sends = channel->sends;
    if (place->used) {
        place->sends += sends;
        return;
    }
    *place = *channel;
    place->used = 1;
    balances->used++;
}

bool balances_next(const struct balances *balances, const struct balance *channel, bool sends)
{
    if (!balances->room)
        return false;
    const struct balance *place = place_of(balances->slots, balances->room, channel);
    return sends ? place->sends < 0 : place->sends > 0; /* 0 where nothing stands */
}

bool balances_take(struct balances *balances, const struct balance *channel, bool sends)
{
    bool lost = balances_next(balances, channel, sends);
    if (lost)
        place_of(balances->slots, balances->room, channel)->sends += sends ? 1 : -1;
    return lost;
}
