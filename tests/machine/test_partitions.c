/* Which memory a partitioned operation owns, partition for partition: of a receive each until it is told that it has arrived, of a send each from the
 * moment at which it is ready. Random numbers of partitions and elements, types with gaps, partitions in any order; against a list of
 * stretches by the standard's sentence: partition i begins i * count elements into the buffer. */
#include "sim/memory/pending.h"
#include "sim/worlds/rank.h"
#include "tests/world_harness.h"

enum { PARTS = 6, COUNT = 4, EXTENT = 24, ROOM = PARTS * COUNT * EXTENT + 64 };

static const struct {
    ptrdiff_t first, bytes, extent; /* the first byte of an element, up to its last */
} shapes[] = {{0, 4, 4}, {0, 4, 12}, {8, 4, 24}, {0, 8, 8}};

static MPI_Datatype make(int shape)
{
    MPI_Datatype moved, made;
    MPI_Type_create_hindexed_block(1, (int)shapes[shape].bytes / 4,
                                   (MPI_Aint[]){shapes[shape].first}, MPI_INT, &moved);
    MPI_Type_create_resized(moved, 0, shapes[shape].extent, &made);
    MPI_Type_commit(&made);
    MPI_Type_free(&moved);
    return made;
}

static char out[ROOM], in[ROOM];

struct owned {
    bool sends[PARTS], receives[PARTS];
    int parts, count, shape;
};

static bool is_owned(const char *buffer, const struct owned *owned, int part, bool written)
{
    const struct sim_pending *pending = sim_current_rank->pending;
    ptrdiff_t extent = shapes[owned->shape].extent,
              begin = part * owned->count * extent + shapes[owned->shape].first;
    ptrdiff_t end = begin + (owned->count - 1) * extent + shapes[owned->shape].bytes;
    for (size_t i = 0; i < pending->count; i++) {
        const struct sim_pending_entry *entry = &pending->entries[i];
        if (entry->hull.low == (uintptr_t)buffer + (uintptr_t)begin &&
            entry->hull.high == (uintptr_t)buffer + (uintptr_t)end)
            return entry->region.written == written;
    }
    return false;
}

static void compare(const struct owned *owned, const char *when)
{
    size_t entries = 0;
    for (int i = 0; i < owned->parts; i++) {
        expect(is_owned(out, owned, i, false) == owned->sends[i], "%s: partition %d of the send",
               when, i);
        expect(is_owned(in, owned, i, true) == owned->receives[i],
               "%s: partition %d of the receive", when, i);
        entries += (size_t)owned->sends[i] + owned->receives[i];
    }
    expect(sim_current_rank->pending->count == entries, "%s: %zu stretches, not %zu", when,
           (size_t)sim_current_rank->pending->count, entries);
}

static void one_round(uint64_t *state)
{
    struct owned owned = {.parts = 1 + (int)dice_below(state, PARTS),
                          .count = 1 + (int)dice_below(state, COUNT),
                          .shape = (int)dice_below(state, 4)};
    MPI_Datatype type = make(owned.shape);
    MPI_Request send, receive;
    bool ready[PARTS] = {false};
    int left = owned.parts;
    MPI_Psend_init(out, owned.parts, owned.count, type, 0, 1, MPI_COMM_SELF, MPI_INFO_NULL, &send);
    MPI_Precv_init(in, owned.parts, owned.count, type, 0, 1, MPI_COMM_SELF, MPI_INFO_NULL,
                   &receive);
    for (int again = 0; again < 2; again++, left = owned.parts) {
        memset(ready, 0, sizeof ready);
        compare(&owned, "before the start");
        MPI_Start(&receive);
        MPI_Start(&send);
        for (int i = 0; i < owned.parts; i++)
            owned.receives[i] = true;
        compare(&owned, "at the start");
        for (int steps = 0; left || steps < 3 * owned.parts; steps++) {
            int i = (int)dice_below(state, (uint32_t)owned.parts), flag = 0;
            if (dice_below(state, 2)) {
                expect_ok(MPI_Parrived(receive, i, &flag));
                expect(!flag || ready[i], "partition %d has arrived before it was ready", i);
                owned.receives[i] &= !flag;
            } else if (!ready[i]) {
                expect_ok(MPI_Pready(i, send));
                ready[i] = owned.sends[i] = true;
                left--;
            }
            compare(&owned, "under way");
        }
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        memset(owned.sends, 0, sizeof owned.sends);
        MPI_Wait(&receive, MPI_STATUS_IGNORE);
        memset(owned.receives, 0, sizeof owned.receives);
        compare(&owned, "at the end");
    }
    MPI_Request_free(&send);
    MPI_Request_free(&receive);
    MPI_Type_free(&type);
}

static void body(int rank, int size)
{
    uint64_t state = 5;
    (void)rank, (void)size;
    sim_pending_watch(sim_current_rank);
    for (int i = 0; i < 150; i++)
        one_round(&state);
}

int main(void)
{
    tap_plan(2);
    for (int i = 0; i < 2; i++) {
        struct sim_world_options options = world_options(1);
        options.memory = true;
        options.send_model = i ? SIM_SEND_RENDEZVOUS : SIM_SEND_EAGER;
        struct world_result result = world_try(options, body);
        tap_is_str(
            result.outcome == OUTCOME_FINISHED ? result.text : world_outcomes[result.outcome], "",
            "each partition is owned from when it is under way until the program is told%s",
            i ? ", without buffers, too" : "");
    }
    return tap_done();
}
