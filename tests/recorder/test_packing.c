/* Packed records: what is unpacked is what was packed, byte for byte, and what somebody may still
 * write to is not packed. A recording whose records were packed while it ran gives the trace of one
 * whose records were not. */
#include "tests/dice.h"
#include "tests/tap.h"

#include "recorder/packing.h"
#include "recorder/recording_internal.h"
#include "sim/worlds/world.h"
#include "traces/trace/kinds.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { UNITS = 64, ROUNDS = 300, RANKS = 3, MESSAGES = 40000 };

static union {
    struct chunk chunk;
    uint64_t aligned;
    unsigned char bytes[UNITS * BUFFERS_UNIT];
} memory;

static struct record_op some_op(uint64_t *dice, uint32_t number)
{
    struct record_op op = {.head = {sizeof op, RECORD_OP, OP_ISEND}, .state = STATE_COMPLETE};
    op.site = 0x401000 + dice_below(dice, 3) * 64;
    op.head.small = (uint8_t)(dice_below(dice, 2) ? OP_ISEND : OP_IRECV);
    op.peer = (int32_t)dice_below(dice, 4) - 1;
    op.tag = (int32_t)dice_below(dice, 32768);
    op.count =
        dice_below(dice, 8) ? dice_below(dice, 64) : INT64_MIN + (int64_t)dice_below(dice, 9);
    op.request = number + 2;
    op.begin = number * 3;
    op.end = dice_below(dice, 9) ? number * 3 + 1 : UINT64_MAX;
    op.error = dice_below(dice, 99) ? 0 : INT32_MIN;
    return op;
}

static size_t add(size_t used, const void *record, size_t size)
{
    memcpy(memory.bytes + used, record, size);
    return used + size;
}

/* Operations, waits and counts of any size up to the end of the chunk; how many are operations. */
static uint32_t fill(uint64_t *dice, size_t *used)
{
    uint32_t number = 0;
    size_t end = sizeof memory - 700 * dice_below(dice, 300);
    memset(&memory, 0, sizeof memory);
    memory.chunk = (struct chunk){.rank = 5, .sequence = 7, .units = UNITS};
    *used = sizeof memory.chunk;
    while (*used + 600 < end) {
        struct record_op op = some_op(dice, number++);
        *used = add(*used, &op, sizeof op);
        if (dice_below(dice, 3) == 0) {
            uint32_t waits[64] = {0};
            uint16_t n = (uint16_t)(2 * dice_below(dice, 24)), size = (uint16_t)(16 + 4 * n);
            memcpy(waits, &(struct record_head){size, RECORD_WAITS, 0}, sizeof(struct record_head));
            for (uint16_t i = 1; i < size / 4; i++)
                waits[i] = dice_below(dice, 2) ? number - i : UINT32_MAX - i;
            *used = add(*used, waits, size);
        }
    }
    return number;
}

static void round_trips(void)
{
    uint64_t dice = 20261127;
    int wrong = 0, large = 0;
    for (int i = 0; i < ROUNDS; i++) {
        size_t used;
        uint32_t ops = fill(&dice, &used);
        struct packed *packed = packing_pack(&memory.chunk, UNITS);
        struct chunk *again = packed ? packing_unpack(packed) : NULL;
        wrong += !again || packed->ops != ops || memcmp(again, &memory, sizeof memory) != 0;
        large += packed && packed->size * 3 > used;
        free(again);
        free(packed);
    }
    tap_is_int(wrong, 0, "%d chunks are unpacked as they were", ROUNDS);
    tap_is_int(large, 0, "each was packed in a third of its bytes");
}

/* Whether a chunk with this record behind others is packed; both ways to ask must say the same. */
static bool packs(const void *record, size_t size)
{
    uint64_t dice = 1;
    size_t used;
    fill(&dice, &used);
    memcpy(memory.bytes + used, record, size);
    struct packed *packed = packing_pack(&memory.chunk, UNITS);
    free(packed);
    if (packing_can(&memory.chunk, UNITS) != (packed != NULL))
        tap_ok(false, "what can be packed is packed");
    return packed != NULL;
}

/* Complete operations that somebody holds on to: those of windows, and matched messages and probes. */
static bool is_held(int kind)
{
    static const char *const held[] = {
        "Mprobe", "Improbe",        "Mrecv",      "Imrecv",       "Put",
        "Get",    "Get_accumulate", "Accumulate", "Fetch_and_op", "Compare_and_swap"};
    for (size_t i = 0; i < sizeof held / sizeof *held; i++)
        if (!strcmp(op_kind_name(kind), held[i]))
            return true;
    return !strncmp(op_kind_name(kind), "Win_", 4);
}

static void what_stays(void)
{
    uint64_t dice = 2;
    int wrong = 0, held = 0;
    struct record_op op = some_op(&dice, 0);
    for (int kind = 1; kind < OP_KIND_LIMIT; kind++) {
        op.head.small = (uint8_t)kind;
        wrong += packs(&op, sizeof op) == is_held(kind);
        held += is_held(kind);
    }
    tap_is_int(wrong, 0, "complete operations are packed, but for %d kinds", held);
    op.head.small = OP_SEND;
    op.state = STATE_POSTED;
    tap_ok(!packs(&op, sizeof op), "not where one is under way");
    op.state = STATE_COMPLETE;
    op.node = 1;
    tap_ok(!packs(&op, sizeof op), "nor where one is of a node");
    op.node = 0;
    op.pass = 1;
    tap_ok(!packs(&op, sizeof op), "nor where one is of a backward pass");
    op.pass = 0;
    op.head.size = sizeof op - 8;
    tap_ok(!packs(&op, sizeof op), "nor where one is too short");
    uint32_t counts[80] = {0};
    for (unsigned type = RECORD_OP + 1; type <= RECORD_REPEAT; type++) {
        struct record_head head = {(uint16_t)record_least_size((int)type), (uint8_t)type, 0};
        head.size = (uint16_t)((head.size + 7) / 8 * 8);
        memcpy(counts, &head, sizeof head);
        tap_is_int(packs(counts, head.size), type == RECORD_WAITS || type == RECORD_COUNTS,
                   "records of kind %u %s", type,
                   type == RECORD_WAITS || type == RECORD_COUNTS ? "are packed" : "stay");
    }
    memcpy(counts, &(struct record_head){256, RECORD_WAITS, 0}, sizeof(struct record_head));
    tap_ok(packs(counts, 256), "64 words are packed");
    memcpy(counts, &(struct record_head){264, RECORD_WAITS, 0}, sizeof(struct record_head));
    tap_ok(!packs(counts, 264), "66 stay");
    unsigned char byte = 1;
    tap_ok(!packs((unsigned char[400]){[399] = byte}, 400), "nor where bytes are no record");
}

/* ---- a run ---- */

struct packed_run {
    struct recording *recording;
    bool packs;
};

static int enter(void *context, int rank)
{
    const struct packed_run *run = context;
    uint64_t dice = 5;
    int in[64], out[64] = {0};
    recording_rank_begin(run->recording);
    MPI_Init(NULL, NULL);
    for (int i = 0; i < MESSAGES; i++) {
        int away = 1 + (int)dice_below(&dice, RANKS - 1), count = 1 + (int)dice_below(&dice, 64);
        int tag = (int)dice_below(&dice, 30000);
        MPI_Sendrecv(out, count, MPI_INT, (rank + away) % RANKS, tag, in, count, MPI_INT,
                     (rank + RANKS - away) % RANKS, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (run->packs && rank == 0 && i % 100 == 0)
            drops_relieve(&run->recording->drops); /* as the feeder does, now and then */
        if (i % 1000 == 7)
            MPI_Allreduce(out, in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}

static struct trace *run(bool packs, size_t *packed)
{
    struct failure failure = {0};
    struct recording *recording = recording_new(RANKS, RECORD_LEVEL_OPS, &failure);
    struct packed_run context = {recording, packs};
    struct sim_world_options options;
    sim_world_options_init(&options);
    options.ranks = RANKS;
    recording_fold(recording);
    if (packs)
        drops_init(&recording->drops, &recording->buffers, RANKS);
    struct sim_world *world = sim_world_new(&options, NULL);
    sim_world_run(world, enter, &context);
    for (int i = 0; i < RANKS; i++)
        recording_rank_end(recording, (uint32_t)i, sim_world_rank_state(world, i), 0, NULL);
    sim_world_free(world);
    if (packs)
        drops_settle(&recording->drops);
    for (size_t i = 0; i < recording->drops.place_count; i++)
        *packed += recording->drops.places[i].packed != NULL;
    struct recording_result result = {.program = "test", .model = "eager"};
    struct trace *trace = recording_load(recording, &result, &failure);
    recording_free(recording);
    tap_ok(trace && trace_check(trace, &failure), "a run %s is loaded: %s",
           packs ? "whose records are packed" : "as it was recorded", failure.text);
    return trace;
}

static void recordings(void)
{
    size_t packed = 0, none = 0;
    struct trace *fed = run(true, &packed), *plain = run(false, &none);
    tap_ok(packed > 3 * RANKS && none == 0, "%zu parts of the record are packed while it grows",
           packed);
    tap_ok(fed && plain && trace_hash(fed) == trace_hash(plain) &&
               fed->op_count == plain->op_count && fed->wait_count == plain->wait_count,
           "and the trace is the same");
    trace_free(fed);
    trace_free(plain);
}

/* A chunk full of complete operations; the last of them, which a call may still write to. */
static struct record_op *chunk_of_ops(struct buffers *buffers, struct buffers_writer *writer)
{
    struct record_op op = {
        .head = {sizeof op, RECORD_OP, OP_ISEND}, .state = STATE_COMPLETE, .peer = RECORD_NONE};
    union {
        char *room;
        struct record_op *op;
    } last = {NULL};
    if (!buffers_more(buffers, writer, sizeof op))
        return NULL;
    for (; (size_t)(writer->end - writer->next) >= sizeof op; writer->next += sizeof op) {
        last.room = writer->next;
        memcpy(writer->next, &op, sizeof op);
    }
    return last.op;
}

static bool is_packed(const struct drops *drops, size_t place)
{
    return place < drops->place_count && drops->places[place].packed;
}

/* An operation is marked complete before all is written that is known of it: its rank must have gone on. */
static void what_is_final(void)
{
    enum { FIRST = 10, OLD = 3 };
    struct buffers buffers;
    struct buffers_writer writer = {0};
    struct drops drops;
    struct failure failure = {0};
    struct record_op *last[FIRST + OLD] = {NULL};
    bool good = !buffers_init(&buffers, 1, 64 << 20, &failure);
    drops_init(&drops, &buffers, 1);
    for (int i = 0; good && i < FIRST; i++) /* the first ones are small */
        good = (last[i] = chunk_of_ops(&buffers, &writer)) != NULL;
    tap_ok(good, "chunks are written: %s", failure.text);
    if (!good)
        return;
    size_t oldest = FIRST - OLD - 1; /* the largest of those that are old */
    drops_relieve(&drops);
    drops_relieve(&drops);
    drops_relieve(&drops);
    tap_ok(drops.place_count == FIRST && !is_packed(&drops, oldest),
           "not while its rank may still write there, however often it is looked");
    atomic_store(&buffers.header->waiting[0], 1);
    drops_relieve(&drops);
    tap_ok(is_packed(&drops, oldest), "its rank waits for room: it has written all of it");
    atomic_store(&buffers.header->waiting[0], 0);
    last[FIRST - 1]->state = STATE_POSTED;
    for (int i = 0; i < OLD; i++)
        last[FIRST + i] = chunk_of_ops(&buffers, &writer);
    drops_relieve(&drops);
    tap_ok(!is_packed(&drops, FIRST - 2), "one that is old since then is only looked at");
    chunk_of_ops(&buffers, &writer);
    drops_relieve(&drops);
    tap_ok(!is_packed(&drops, FIRST - 2),
           "a chunk begun before anybody could know that it is complete says nothing");
    chunk_of_ops(&buffers, &writer);
    drops_relieve(&drops);
    tap_ok(is_packed(&drops, FIRST - 2), "one begun since then does");
    tap_ok(!is_packed(&drops, FIRST - 1), "where an operation is under way nothing is packed");
    /* Ranks wait for units that are neither packed nor never to be. What lies between chunks is of neither sort. */
    uint64_t begun = atomic_load(&buffers.header->next_unit) - buffers_first_unit();
    for (int i = 0; i < OLD; i++)
        chunk_of_ops(&buffers, &writer);
    drops_relieve(&drops); /* three are old now, and not yet final */
    tap_ok(atomic_load(&buffers.header->settled) == begun - (uint64_t)OLD * writer.units,
           "all but those that may be packed are settled");
    buffers.limit = begun; /* and there is no room any more */
    drops_relieve(&drops);
    tap_ok(atomic_load(&buffers.header->settled) >= begun,
           "what is dropped before it is packed is settled, too");
    drops_release(&drops);
    buffers_release(&buffers);
}

int main(void)
{
    void (*const all[])(void) = {round_trips, what_is_final, what_stays, recordings};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        if (dice_takes_of(i, sizeof all / sizeof *all))
            all[i]();
    return tap_done();
}
