/* A map from MPI handles to what the recorder knows about them: see handle_map.h. */
#include "traces/trace/handle_map.h"

#include <stdlib.h>

static size_t place(uint64_t key, size_t slots)
{
    return (size_t)((key * 0x9e3779b97f4a7c15u) >> 20) & (slots - 1);
}

void handle_map_release(struct handle_map *map)
{
    free(map->entries);
    *map = (struct handle_map){0};
}

static void put(struct handle_entry *entries, size_t slots, struct handle_entry entry)
{
    size_t slot = place(entry.key, slots);
    while (entries[slot].key)
        slot = (slot + 1) & (slots - 1);
    entries[slot] = entry;
}

static bool grow(struct handle_map *map)
{
    size_t slots = map->slots ? map->slots * 2 : 8;
    struct handle_entry *entries = calloc(slots, sizeof *entries);
    if (!entries)
        return false;
    for (size_t i = 0; i < map->slots; i++)
        if (map->entries[i].key)
            put(entries, slots, map->entries[i]);
    free(map->entries);
    map->entries = entries;
    map->slots = slots;
    return true;
}

bool handle_map_add(struct handle_map *map, uint64_t key, void *value)
{
    if (map->count * 2 >= map->slots && !grow(map))
        return false;
    put(map->entries, map->slots, (struct handle_entry){key, value});
    map->count++;
    return true;
}

static size_t find(const struct handle_map *map, uint64_t key)
{
    if (map->slots == 0)
        return SIZE_MAX;
    for (size_t slot = place(key, map->slots); map->entries[slot].key;
         slot = (slot + 1) & (map->slots - 1))
        if (map->entries[slot].key == key)
            return slot;
    return SIZE_MAX;
}

void *handle_map_find(const struct handle_map *map, uint64_t key)
{
    size_t slot = find(map, key);
    return slot == SIZE_MAX ? NULL : map->entries[slot].value;
}

void *handle_map_next(const struct handle_map *map, uint64_t key, size_t *slot)
{
    if (map->slots == 0)
        return NULL;
    size_t at = *slot == SIZE_MAX ? place(key, map->slots) : (*slot + 1) & (map->slots - 1);
    for (; map->entries[at].key; at = (at + 1) & (map->slots - 1))
        if (map->entries[at].key == key) {
            *slot = at;
            return map->entries[at].value;
        }
    return NULL;
}

static void remove_at(struct handle_map *map, size_t hole)
{
    size_t mask = map->slots - 1;
    for (size_t next = (hole + 1) & mask; map->entries[next].key; next = (next + 1) & mask) {
        size_t home = place(map->entries[next].key, map->slots);
        if (((next - home) & mask) < ((next - hole) & mask))
            continue; /* it would move before its home */
        map->entries[hole] = map->entries[next];
        hole = next;
    }
    map->entries[hole] = (struct handle_entry){0};
    map->count--;
}

void handle_map_remove(struct handle_map *map, uint64_t key)
{
    size_t slot = find(map, key);
    if (slot != SIZE_MAX)
        remove_at(map, slot);
}

void handle_map_remove_value(struct handle_map *map, uint64_t key, const void *value)
{
    size_t slot = SIZE_MAX;
    const void *found = handle_map_next(map, key, &slot);
    while (found && found != value)
        found = handle_map_next(map, key, &slot);
    if (found)
        remove_at(map, slot);
}
