/* A map from pointers to small numbers: open addressing, grows, never forgets single entries. */
#ifndef COLLECTIVES_SYSTEMS_RPC_POINTER_MAP_H
#define COLLECTIVES_SYSTEMS_RPC_POINTER_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pointer_map {
    const void **keys;
    uint32_t *values;
    size_t room, count;
};

/* The place of the key's value; `*fresh` says whether the key is new (its value is then 0). */
uint32_t *pointer_map_at(struct pointer_map *map, const void *key, bool *fresh);
void pointer_map_release(struct pointer_map *map);

#endif
