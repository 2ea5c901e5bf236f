/* What the recorder tells: see recorder/memory.h. */
#include "sim/memory/memory.h"

#include "recorder/memory.h"
#include "sim/memory/objects.h"
#include "sim/memory/pending.h"
#include "sim/worlds/rank.h"

/* Blocking calls whose buffer was found right: while nothing is pending, and the same objects are
 * there, it is right when the same place calls again. */
enum { KNOWN = 256 };
static _Thread_local uint64_t known[KNOWN];

static uint64_t key_of(const struct sim_rank *rank, const struct recorder_side *side)
{
    uint64_t key = (uintptr_t)rank + 8 * sim_objects_stamp(rank);
    key = (key ^ (uintptr_t)side->buffer) * 0x9e3779b97f4a7c15u;
    key = (key ^ (uint64_t)side->count) * 0x9e3779b97f4a7c15u;
    key = (key ^ (uintptr_t)side->type ^ key >> 29) * 0x9e3779b97f4a7c15u;
    void *const *frame = __builtin_frame_address(0);
    for (int depth = 0; depth < 5; depth++) { /* the recorder's, the program's, who called that */
        void *const *next = frame[0];
        key = (key ^ (uintptr_t)frame[1] ^ key >> 29) * 0x9e3779b97f4a7c15u;
        if ((uintptr_t)next - (uintptr_t)frame > 16384 || (uintptr_t)next % sizeof(void *))
            break;
        frame = next;
    }
    return (key ^ key >> 32) | 1;
}

static void blocking(const char *name, const struct recorder_side *sides, size_t count)
{
    struct sim_rank *rank = sim_current_rank;
    if (!rank || !rank->pending)
        return;
    bool alone = count == 1 && !rank->pending->count && !rank->history &&
                 (uintptr_t)sides[0].type < SIM_HANDLE_PREDEFINED;
    uint64_t key = alone ? key_of(rank, &sides[0]) : 0, misfits = rank->pending->misfits;
    if (alone && known[key % KNOWN] == key)
        return;
    struct sim_region regions[2] = {{0}};
    size_t used = 0;
    for (size_t i = 0; i < count && used < 2; i++) {
        const struct sim_datatype *type = sim_datatype_get(sides[i].type);
        if (sides[i].buffer && type && sides[i].count > 0)
            regions[used++] =
                (struct sim_region){(uintptr_t)sides[i].buffer, type, (size_t)sides[i].count,
                                    sides[i].written, sides[i].name};
    }
    sim_pending_add(rank, regions, used, name, NULL);
    if (alone && misfits == rank->pending->misfits)
        known[key % KNOWN] = key;
}

static void heard(void)
{
    if (sim_current_rank)
        sim_pending_heard(sim_current_rank);
}

static bool instrumented(void)
{
    return sim_current_rank && sim_current_rank->pending && sim_current_rank->pending->instrumented;
}

void sim_memory_watch_recorder(void)
{
    static const struct recorder_memory watches = {blocking, heard, instrumented};
    if (recorder_memory != &watches)
        recorder_memory = &watches;
}
