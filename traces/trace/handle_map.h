/* A map from MPI handles to what the recorder knows about them. One per rank and kind of handle;
 * never shared.
 *
 * Open addressing with linear probing and backward-shift removal: no tombstones, so a rank may
 * start and complete any number of requests. One key may stand more than once (MPICH hands one
 * handle to all sends that are complete at once); the first is found. Key 0 is not allowed. */
#ifndef TRACES_TRACE_HANDLE_MAP_H
#define TRACES_TRACE_HANDLE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct handle_entry {
    uint64_t key;
    void *value;
};

struct handle_map {
    struct handle_entry *entries;
    size_t count, slots; /* slots: 0 or a power of two */
};

void handle_map_release(struct handle_map *map); /* not the values */
/* False when there is no memory; the map is as before. */
bool handle_map_add(struct handle_map *map, uint64_t key, void *value);
void handle_map_remove(struct handle_map *map, uint64_t key);      /* the first of this key */
void *handle_map_find(const struct handle_map *map, uint64_t key); /* NULL if absent */
/* All values of a key: *slot is SIZE_MAX first; NULL after the last. */
void *handle_map_next(const struct handle_map *map, uint64_t key, size_t *slot);
/* The one of this key with this value. */
void handle_map_remove_value(struct handle_map *map, uint64_t key, const void *value);

#endif
