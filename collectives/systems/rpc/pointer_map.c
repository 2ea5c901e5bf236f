#include "collectives/systems/rpc/pointer_map.h"

#include "collectives/systems/rpc/worker.h"

#include <stdlib.h>

static size_t place_of(const struct pointer_map *map, const void *key)
{
    size_t at = (size_t)(((uint64_t)(uintptr_t)key * 0x9e3779b97f4a7c15u) >> 32) & (map->room - 1);
    while (map->keys[at] && map->keys[at] != key)
        at = (at + 1) & (map->room - 1);
    return at;
}

static void grow(struct pointer_map *map)
{
    struct pointer_map larger = {.room = map->room ? map->room * 2 : 32, .count = map->count};
    larger.keys = rpc_take(larger.room * sizeof *larger.keys);
    larger.values = rpc_take(larger.room * sizeof *larger.values);
    for (size_t i = 0; i < map->room; i++)
        if (map->keys[i]) {
            size_t at = place_of(&larger, map->keys[i]);
            larger.keys[at] = map->keys[i];
            larger.values[at] = map->values[i];
        }
    pointer_map_release(map);
    *map = larger;
}

uint32_t *pointer_map_at(struct pointer_map *map, const void *key, bool *fresh)
{
    if (map->count * 2 >= map->room)
        grow(map);
    size_t at = place_of(map, key);
    *fresh = !map->keys[at];
    if (*fresh) {
        map->keys[at] = key;
        map->count++;
    }
    return &map->values[at];
}

void pointer_map_release(struct pointer_map *map)
{
    free(map->keys);
    free(map->values);
    *map = (struct pointer_map){0};
}
