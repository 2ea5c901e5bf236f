/* Signatures of recorded operations against type maps that the test writes down itself: two datatypes have the same one exactly if the
 * sequences of their basic types, repeated without end, are the same; however the types were made and how many of them are sent.
 * And no record is known beyond the last of their table. */
#include "recorder/buffers.h"
#include "recorder/recording.h"
#include "sim/worlds/world.h"
#include "tests/dice.h"
#include "tests/tap.h"

#include <mpi.h>
#include <stdlib.h>

enum { TYPES = 300, LONGEST = 400, USUAL = 40 };

struct map { /* basic types, in order */
    uint8_t basic[LONGEST];
    size_t length;
};

static struct map maps[TYPES];
static uint64_t state = 7;

static uint32_t below(uint32_t n)
{
    return dice_below(&state, n);
}

static void append(struct map *map, const struct map *more, int times)
{
    for (int k = 0; k < times; k++)
        for (size_t i = 0; i < more->length && map->length < LONGEST; i++)
            map->basic[map->length++] = more->basic[i];
}

static MPI_Datatype draw(struct map *map, int depth);

static void drop(MPI_Datatype type)
{
    int numbers, addresses, types, combiner;
    MPI_Type_get_envelope(type, &numbers, &addresses, &types, &combiner);
    if (combiner != MPI_COMBINER_NAMED)
        MPI_Type_free(&type);
}

static MPI_Datatype draw_struct(struct map *map, int depth)
{
    int count = 1 + (int)below(4), blocks[4];
    MPI_Aint at[4], next = 0;
    MPI_Datatype parts[4], made;
    for (int i = 0; i < count; i++) {
        struct map part = {.length = 0};
        MPI_Aint low, extent;
        parts[i] = draw(&part, depth - 1);
        blocks[i] = 1 + (int)below(2);
        MPI_Type_get_extent(parts[i], &low, &extent);
        at[i] = next;
        next += blocks[i] * extent + 8;
        append(map, &part, blocks[i]);
    }
    MPI_Type_create_struct(count, blocks, at, parts, &made);
    for (int i = 0; i < count; i++)
        drop(parts[i]);
    return made;
}

static MPI_Datatype draw_same(struct map *map, int depth)
{
    struct map one = {.length = 0};
    MPI_Aint low, extent, far[2];
    MPI_Datatype inner = draw(&one, depth - 1), made;
    int lengths[] = {1 + (int)below(2), 1 + (int)below(2)}, at[] = {0, 3}, times;
    const int whole[] = {2, 4}, part[] = {lengths[0], lengths[1]}, starts[] = {0, 1};
    MPI_Type_get_extent(inner, &low, &extent);
    far[0] = 0;
    far[1] = 4 * extent;
    switch (below(11)) {
    case 0:
        times = lengths[0] + 1;
        MPI_Type_contiguous(times, inner, &made);
        break;
    case 1:
        times = 2 * lengths[0];
        MPI_Type_vector(2, lengths[0], 3, inner, &made);
        break;
    case 2:
        times = lengths[0] + lengths[1];
        MPI_Type_indexed(2, lengths, at, inner, &made);
        break;
    case 3:
        times = 2 * lengths[0];
        MPI_Type_create_hindexed_block(2, lengths[0], far, inner, &made);
        break;
    case 4:
        times = 2 * lengths[0];
        MPI_Type_create_hvector(2, lengths[0], 3 * extent, inner, &made);
        break;
    case 5:
        times = lengths[0] + lengths[1];
        MPI_Type_create_hindexed(2, lengths, far, inner, &made);
        break;
    case 6:
        times = 2 * lengths[0];
        MPI_Type_create_indexed_block(2, lengths[0], at, inner, &made);
        break;
    case 7:
        times = part[0] * part[1];
        MPI_Type_create_subarray(2, whole, part, starts, MPI_ORDER_C, inner, &made);
        break;
    case 8:
        times = lengths[0] + lengths[1];
        MPI_Type_indexed(2, (int[]){lengths[0] + lengths[1], 0}, at, inner, &made);
        break;
    case 9:
        times = 1;
        MPI_Type_create_resized(inner, 0, 2 * extent, &made);
        break;
    default:
        times = 1;
        MPI_Type_dup(inner, &made);
    }
    append(map, &one, times);
    drop(inner);
    return made;
}

static MPI_Datatype draw(struct map *map, int depth)
{
    const MPI_Datatype basic[] = {MPI_INT, MPI_DOUBLE, MPI_FLOAT};
    if (depth > 0 && below(8))
        return below(3) ? draw_struct(map, depth) : draw_same(map, depth);
    map->basic[0] = (uint8_t)below(3);
    map->length = 1;
    return basic[map->basic[0]];
}

static int send_all(void *context, int rank)
{
    static char from[1 << 20], to[1 << 20];
    struct recording *recording = context;
    recording_rank_begin(recording);
    MPI_Init(NULL, NULL);
    for (int i = 0; i < TYPES; i++) {
        MPI_Request request;
        maps[i].length = 0;
        MPI_Datatype type = draw(&maps[i], 1 + (int)below(3));
        while (maps[i].length > USUAL) {
            maps[i].length = 0;
            drop(type);
            type = draw(&maps[i], 1 + (int)below(2));
        }
        MPI_Type_commit(&type);
        int count = 1 + (int)below(2);
        MPI_Irecv(to, sizeof to, MPI_BYTE, rank, 0, MPI_COMM_WORLD, &request);
        MPI_Send(from + sizeof from / 2, count, type, rank, 0, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        drop(type);
    }
    MPI_Finalize();
    return 0;
}

static size_t root_of(const struct map *map)
{
    for (size_t period = 1; period < map->length; period++) {
        bool repeats = map->length % period == 0;
        for (size_t i = period; i < map->length && repeats; i++)
            repeats = map->basic[i] == map->basic[i - period];
        if (repeats)
            return period;
    }
    return map->length;
}

static bool same_without_end(const struct map *a, const struct map *b)
{
    size_t root = root_of(a);
    return root == root_of(b) && memcmp(a->basic, b->basic, root) == 0;
}

static void compare(const struct trace *trace)
{
    uint32_t signatures[TYPES], sent = 0;
    unsigned alike = 0, wrong = 0, unknown = 0;
    for (size_t i = 0; i < trace->op_count && sent < TYPES; i++)
        if (trace->ops[i].kind == OP_SEND)
            signatures[sent++] = trace->ops[i].form->signature;
    if (!tap_is_int(sent, TYPES, "all sends are recorded"))
        return;
    for (int i = 0; i < TYPES; i++)
        for (int k = 0; k < i; k++) {
            bool same = same_without_end(&maps[i], &maps[k]);
            alike += same;
            wrong += same != (signatures[i] == signatures[k]);
        }
    for (int i = 0; i < TYPES; i++)
        unknown += signatures[i] == 0;
    tap_ok(alike > TYPES / 2, "some have the same sequence: %u pairs", alike);
    tap_is_int(unknown, 0, "all have a signature");
    tap_is_int(wrong, 0, "the same signature stands for the same sequence, and for no other");
}

static void records(void)
{
    unsigned known = 0;
    for (int type = -300; type < 600; type++) {
        size_t least = record_least_size(type);
        known += type >= 1 && type <= RECORD_REPEAT && least >= sizeof(struct record_head) &&
                 least < SIZE_MAX;
        if (type < 1 || type > RECORD_REPEAT)
            known += least != SIZE_MAX ? 1000u : 0;
    }
    tap_is_int(known, RECORD_REPEAT, "a record has a least size if it is one of the table");
}

int main(void)
{
    struct sim_world_options options;
    struct failure failure = {0};
    enum trace_outcome outcome = OUTCOME_ABORTED;
    struct recording *recording = recording_new(1, RECORD_LEVEL_OPS, &failure);
    sim_world_options_init(&options);
    options.ranks = 1;
    struct sim_world *world = sim_world_new(&options, &failure);
    if (recording && world)
        outcome = sim_world_run(world, send_all, recording);
    tap_is_int(outcome, OUTCOME_FINISHED, "all is sent");
    recording_rank_end(recording, 0, sim_world_rank_state(world, 0), 0, NULL);
    struct trace *trace = recording_load(
        recording,
        &(struct recording_result){.outcome = outcome, .program = "types", .model = "eager"},
        &failure);
    sim_world_free(world);
    recording_ranks_release(recording);
    recording_free(recording);
    if (tap_ok(trace != NULL, "the recording is read %s", failure.text))
        compare(trace);
    trace_free(trace);
    records();
    return tap_done();
}
