/* What the recorder tells: see recorder/memory.h. */
#include "sim/memory/memory.h"

#include "recorder/memory.h"
#include "sim/memory/frames.h"
#include "sim/memory/objects.h"
#include "sim/memory/pending.h"
#include "sim/worlds/rank.h"

#include <stdlib.h>

/* Blocking calls whose buffers were found right: while nothing is pending, and the same objects are
 * there, they are right when the same place calls again. A key is at one of two places. */
enum { KNOWN = 1024, SIDES_MAX = 2, FRAMES = 5 };
static _Thread_local uint64_t known[KNOWN];

static const uint64_t odd[1 + 3 * SIDES_MAX + FRAMES] = {
    0xb9096a04e7d80069, 0xc963cfe0afae5a3b, 0xe1454c40c439f34b, 0x26b563b1e794ee15,
    0xac8be7d742840d2b, 0xd96e5adfa2beee31, 0x19fcfc64e7aa8577, 0x53d23c0bdf43efb3,
    0xe7ca430e92ac3d43, 0x06e82a012b5c5cd1, 0x6820212c69599355, 0x1333bc1cfe6c2b03};

static inline uint64_t key_of_side(const struct recorder_side *side, const uint64_t *factor)
{
    return (uintptr_t)side->buffer * factor[0] + (uint64_t)side->count * factor[1] +
           (uintptr_t)side->type * factor[2];
}

/* Products that do not wait for each other, with odd numbers drawn at random. */
static inline uint64_t key_of(const struct sim_rank *rank, const struct recorder_side *sides,
                              size_t count)
{
    const uint64_t *factor = odd + 1 + 3 * SIDES_MAX;
    uint64_t key = ((uintptr_t)rank + 8 * sim_objects_stamp(rank)) * odd[0];
    key += count > 0 ? key_of_side(&sides[0], odd + 1) : 0;
    key += count > 1 ? key_of_side(&sides[1], odd + 4) : 0;
    /* the recorder's, the program's, its callers' */
    key += sim_frames_key(__builtin_frame_address(0), factor, FRAMES);
    return (key ^ key >> 32) | 1;
}

static bool is_known(uint64_t key)
{
    return known[key % KNOWN] == key || known[key / KNOWN % KNOWN] == key;
}

static void note_known(uint64_t key)
{
    bool free = !known[key % KNOWN] || known[key / KNOWN % KNOWN];
    known[(free ? key : key / KNOWN) % KNOWN] = key;
}

static inline bool predefined(const struct recorder_side *sides, size_t count)
{
    return count <= SIDES_MAX && (count < 1 || (uintptr_t)sides[0].type < SIM_HANDLE_PREDEFINED) &&
           (count < 2 || (uintptr_t)sides[1].type < SIM_HANDLE_PREDEFINED);
}

/* `key`: 0 where it is of no use. */
static __attribute__((noinline)) void look(struct sim_rank *rank, const char *name,
                                           const struct recorder_side *sides, size_t count,
                                           uint64_t key)
{
    uint64_t misfits = rank->pending->misfits;
    struct sim_region regions[SIDES_MAX] = {{0}};
    size_t used = 0;
    for (size_t i = 0; i < count && used < SIDES_MAX; i++) {
        const struct sim_datatype *type = sim_datatype_get(sides[i].type);
        if (sides[i].buffer && type && sides[i].count > 0)
            regions[used++] =
                (struct sim_region){(uintptr_t)sides[i].buffer, type, (size_t)sides[i].count,
                                    sides[i].written, sides[i].name};
    }
    sim_pending_add(rank, regions, used, name, NULL);
    if (key && misfits == rank->pending->misfits)
        note_known(key);
}

static void blocking(const char *name, const struct recorder_side *sides, size_t count)
{
    struct sim_rank *rank = sim_current_rank;
    if (!rank || !rank->pending)
        return;
    bool alone = !rank->pending->count && !rank->history && predefined(sides, count);
    uint64_t key = alone ? key_of(rank, sides, count) : 0;
    if (!key || !is_known(key))
        look(rank, name, sides, count, key);
}

static void heard(void)
{
    if (sim_current_rank)
        sim_pending_heard(sim_current_rank);
}

static bool spared(void)
{
    const struct sim_rank *rank = sim_current_rank;
    return rank && (rank->pending ? rank->pending->instrumented : rank->world->options.unwatched);
}

void sim_memory_watch_recorder(void)
{
    static const struct recorder_memory watches = {blocking, heard, spared};
    if (recorder_memory != &watches)
        recorder_memory = &watches;
}

bool sim_memory_release(void *memory, const void *site)
{
    size_t size = sim_objects_size(memory);
    bool lost =
        size && sim_pending_lose(sim_current_rank, (uintptr_t)memory, size, SIM_LOST_FREE, site);
    sim_objects_remove(memory);
    return !lost;
}

void sim_memory_free(void *memory, const void *site)
{
    size_t size = sim_objects_size(memory);
    if (sim_memory_release(memory, site) && !sim_objects_hold(memory, size, site))
        free(memory);
}
