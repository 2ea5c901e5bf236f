/* A recording whose oldest records were let go while it was made: what is kept of each channel are the
 * same messages on both sides, and a probe that is kept has a message to see, the one that the next
 * receive takes. With loops that are recorded once, of all kinds of receives and probes.
 *
 * A program of random messages, and of the same messages again and again now and then, whose chunks
 * are kept where a message was taken out by a probe. And one of loops of all lengths, which begin to be
 * recorded once anywhere in a chunk, at its end, too. */
#include "tests/dice.h"
#include "tests/tap.h"

#include "recorder/recording_internal.h"
#include "sim/worlds/world.h"

#include <mpi.h>
#include <stdlib.h>

enum {
    RANKS = 3,
    MESSAGES = 12000,
    APART = 2500,
    LOOP = 100,
    LIMIT = 6 << 20,
    CHUNK_UNITS = 16,
    FORMS = 5,
    LOOPS = 60,
    BODY_MAX = 40,
    TIMES = 30
};

static struct recording *recording;
static bool loops;

/* Of `count` numbers, by a probe of some form where there is one. */
static void receive(int form, int from, int tag)
{
    int in[64], flag = 0, count = 64;
    MPI_Message message;
    MPI_Status status;
    if (form == 1)
        MPI_Probe(from, tag, MPI_COMM_WORLD, &status);
    if (form == 2)
        MPI_Mprobe(from, tag, MPI_COMM_WORLD, &message, &status);
    while (form == 3 && !flag)
        MPI_Iprobe(from, tag, MPI_COMM_WORLD, &flag, &status);
    while (form == 4 && !flag)
        MPI_Improbe(from, tag, MPI_COMM_WORLD, &flag, &message, &status);
    if (form)
        MPI_Get_count(&status, MPI_INT, &count);
    if (form == 2 || form == 4)
        MPI_Mrecv(in, count, MPI_INT, &message, MPI_STATUS_IGNORE);
    else
        MPI_Recv(in, count, MPI_INT, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void exchange(int rank, int away, int tag, int form, int count)
{
    int out[64] = {0};
    MPI_Request request;
    MPI_Isend(out, count, MPI_INT, (rank + away) % RANKS, tag, MPI_COMM_WORLD, &request);
    receive(form, (rank + RANKS - away) % RANKS, tag);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void run_loops(int rank, uint64_t dice)
{
    for (int i = 0; i < 37 * rank; i++) /* no two ranks are at the end of a chunk at once */
        exchange(rank, 0, 100 + i, 0, 1);
    for (int i = 0; i < LOOPS; i++) {
        int body = 1 + (int)dice_below(&dice, BODY_MAX), to_one = (int)dice_below(&dice, RANKS);
        for (int k = 0; k < TIMES; k++)
            for (int p = 0; p < body; p++) {
                if (p == to_one)
                    MPI_Barrier(MPI_COMM_WORLD);
                exchange(rank, 1 + p % 2, p, 0, 1 + (p + i) % 64);
            }
        if (rank == 0)
            drops_relieve(&recording->drops);
    }
}

static void run_messages(int rank, uint64_t dice)
{
    for (int i = 0; i < MESSAGES; i++) {
        int away = 1 + (int)dice_below(&dice, RANKS - 1), tag = (int)dice_below(&dice, 30000);
        int count = 1 + (int)dice_below(&dice, 64), form = dice_below(&dice, 3) == 0;
        exchange(rank, away, tag, form, count);
        for (int k = 0; i % APART == APART - 1 && k < FORMS * LOOP; k++)
            exchange(rank, 1, 30000 + k / LOOP, k / LOOP, 8);
        if (rank == 0 && i % 100 == 0)
            drops_relieve(&recording->drops); /* as the feeder does, now and then */
    }
    for (int form = 0; form < FORMS; form++)
        for (int i = 0; i < 2; i++)
            exchange(rank, 1, 30000 + form, i * form, 1 + form);
}

static int enter(void *context, int rank)
{
    (void)context;
    recording_rank_begin(recording);
    MPI_Init(NULL, NULL);
    if (loops)
        run_loops(rank, 7);
    else
        run_messages(rank, 7);
    MPI_Finalize();
    return 0;
}

static struct trace *run(void)
{
    struct failure failure = {0};
    struct sim_world_options options;
    sim_world_options_init(&options);
    options.ranks = RANKS;
    recording = recording_new(RANKS, RECORD_LEVEL_OPS, &failure);
    recording_fold(recording);
    recording->buffers.limit = LIMIT / BUFFERS_UNIT / (loops ? 4U : 1U);
    recording->buffers.most = CHUNK_UNITS;
    drops_init(&recording->drops, &recording->buffers, RANKS);
    struct sim_world *world = sim_world_new(&options, NULL);
    sim_world_run(world, enter, NULL);
    for (uint32_t i = 0; i < RANKS; i++)
        recording_rank_end(recording, i, sim_world_rank_state(world, (int)i), 0, NULL);
    sim_world_free(world);
    drops_settle(&recording->drops);
    tap_ok(recording->drops.ops > 10000 && !recording->drops.failed,
           "%llu operations are let go of", (unsigned long long)recording->drops.ops);
    struct recording_result result = {.program = "test", .model = "eager"};
    struct trace *trace = recording_load(recording, &result, &failure);
    recording_free(recording);
    tap_ok(trace && trace_check(trace, &failure), "what is left is loaded: %s", failure.text);
    return trace;
}

static bool same_channel(const struct trace_op *probe, const struct trace_op *receive)
{
    return op_kind_class(receive->kind) == CLASS_RECEIVE &&
           trace_op_peer_matched(receive) == trace_op_peer_matched(probe) &&
           trace_op_tag_matched(receive) == trace_op_tag_matched(probe);
}

/* The next receive of its channel is another's partner: of as many as the probe told. */
static bool probe_is_right(const struct trace *trace, uint32_t probe)
{
    const struct trace_op *op = &trace->ops[probe];
    for (size_t i = probe + 1; i < trace->rank_begin[op->rank + 1]; i++)
        if (same_channel(op, &trace->ops[i]))
            return trace->ops[i].match != TRACE_NO;
    return false;
}

static void judge(const struct trace *trace)
{
    int alone = 0, unlike = 0, blind = 0, messages = 0, matched = 0, probes = 0, cut = 0;
    for (uint32_t i = 0; trace && i < trace->op_count; i++) {
        const struct trace_op *op = &trace->ops[i];
        enum op_class class = op_kind_class(op->kind);
        bool somebody = trace_op_peer_matched(op) >= 0 || (class == CLASS_SEND && op->peer >= 0);
        if (class == CLASS_SEND || class == CLASS_RECEIVE) {
            messages += somebody;
            cut += !somebody;
            matched += somebody && (op->kind == OP_MRECV || op->kind == OP_IMRECV);
            alone += somebody && op->match == TRACE_NO;
        }
        if (class == CLASS_RECEIVE && op->match != TRACE_NO)
            unlike += trace->ops[op->match].count != trace_op_count_matched(op);
        if (class == CLASS_PROBE && somebody) {
            probes++;
            blind += !probe_is_right(trace, i);
        }
    }
    tap_ok(
        messages > 100 && cut > 100 && (loops || (probes > 20 && matched > 0)),
        "%d halves of messages are kept, of them %d receives of messages at hand, and %d that have "
        "lost the other half; %d probes saw one that is kept",
        messages, matched, cut, probes);
    tap_is_int(alone, 0, "no half is without the other");
    tap_is_int(unlike, 0, "both are of as many numbers");
    tap_is_int(blind, 0, "what a probe saw is received next");
}

int main(void)
{
    for (int i = 0; i < 2; i++) {
        loops = i == 1;
        struct trace *trace = run();
        judge(trace);
        trace_free(trace);
    }
    return tap_done();
}
