/* Buffers of operations under way that the program writes to: B001, as long as they are of up to a megabyte; larger ones are a gap. And
 * what arrives is what was sent. By receives and sends, started or persistent, of memory in one piece and in strides, of sizes at the
 * border, written to before the message has come and behind that, within the buffer and between its blocks; filled as it comes and late;
 * with a partner and without. */
#include "recorder/recording.h"
#include "sim/memory/region.h"
#include "sim/worlds/world.h"
#include "tests/tap.h"
#include "traces/trace/coverage.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum touch { NEVER, BEFORE, BEHIND, TOUCHES };
enum { BORDER = SIM_REGION_GUARDED / 4, WRITTEN = 12345678 };
struct question {
    bool receives, persistent, strided, between, late, nobody;
    int count;
    enum touch touch;
};

static struct question asked;
static struct recording *recording;
static bool arrived;
static int *buffer, *other;

static int run(void *context, int rank)
{
    MPI_Request request;
    MPI_Datatype type = MPI_INT;
    int peer = asked.nobody ? MPI_PROC_NULL : rank, stride = asked.strided ? 2 : 1,
        count = asked.count;
    (void)context;
    recording_rank_begin(recording);
    MPI_Init(NULL, NULL);
    if (asked.strided) {
        MPI_Type_vector(asked.count, 1, 2, MPI_INT, &type);
        MPI_Type_commit(&type);
        count = 1;
    }
    for (int i = 0; i < asked.count; i++) {
        buffer[i * stride] = asked.receives ? -1 : i;
        other[i] = asked.receives ? i : -1;
    }
    if (asked.receives && asked.persistent)
        MPI_Recv_init(buffer, count, type, peer, 0, MPI_COMM_SELF, &request);
    else if (asked.receives)
        MPI_Irecv(buffer, count, type, peer, 0, MPI_COMM_SELF, &request);
    else if (asked.persistent)
        MPI_Ssend_init(buffer, count, type, peer, 0, MPI_COMM_SELF, &request);
    else
        MPI_Issend(buffer, count, type, peer, 0, MPI_COMM_SELF, &request);
    if (asked.persistent)
        MPI_Start(&request);
    int *place = &buffer[asked.between ? 1 : (asked.count - 1) * stride];
    if (asked.touch == BEFORE)
        *place = WRITTEN;
    if (!asked.nobody && asked.receives)
        MPI_Send(other, asked.count, MPI_INT, rank, 0, MPI_COMM_SELF);
    else if (!asked.nobody)
        MPI_Recv(other, asked.count, MPI_INT, rank, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    if (asked.touch == BEHIND)
        *place = WRITTEN;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    arrived = true;
    for (int i = 0; i < asked.count; i++) {
        int left = asked.receives ? -1 : i; /* where nobody sends */
        bool written = asked.touch != NEVER && place == &buffer[i * stride];
        arrived &= buffer[i * stride] == (!asked.nobody ? other[i] : written ? WRITTEN : left);
    }
    if (asked.persistent)
        MPI_Request_free(&request);
    if (asked.strided)
        MPI_Type_free(&type);
    MPI_Finalize();
    return 0;
}

/* How many remarks and how many gaps there are. */
static void ask_world(const struct sim_world_options *options, int (*body)(void *, int), int *notes,
                      int *gaps)
{
    struct failure failure = {0};
    recording = recording_new((uint32_t)options->ranks, RECORD_LEVEL_OPS, &failure);
    struct sim_world *world = sim_world_new(options, &failure);
    struct recording_result result = {
        .outcome = sim_world_run(world, body, NULL), .program = "guarded", .model = "eager"};
    arrived &= result.outcome == OUTCOME_FINISHED;
    sim_world_free(world);
    struct trace *trace = recording_load(recording, &result, &failure);
    *notes = *gaps = 0;
    for (size_t i = 0; trace && i < trace->note_count; i++)
        *notes += !strcmp(trace->notes[i].code, "B001");
    for (size_t i = 0; trace && i < trace->coverage->count; i++)
        *gaps += !strcmp(trace->coverage->gaps[i].check, "buffers")
                     ? (int)trace->coverage->gaps[i].count
                     : 0;
    trace_free(trace);
    recording_ranks_release(recording);
    recording_free(recording);
}

static void ask(int *notes, int *gaps)
{
    struct sim_world_options options;
    sim_world_options_init(&options);
    options.ranks = 1;
    options.late_receives = asked.late;
    ask_world(&options, run, notes, gaps);
}

static bool is_question(int size)
{
    if (asked.between && (!asked.strided || asked.touch == NEVER))
        return false;
    if (size == 1 && (asked.between || asked.nobody || asked.persistent))
        return false;
    return asked.receives || !asked.late;
}

static void test_messages(void)
{
    const int counts[] = {3, BORDER, BORDER + 1};
    int questions = 0, wrong = 0;
    buffer = malloc((2 * BORDER + 8) * sizeof *buffer);
    other = malloc((BORDER + 4) * sizeof *other);
    for (int i = 0; i < 64 * 3 * TOUCHES; i++) {
        int notes, gaps, size = i / 64 % 3;
        asked = (struct question){i & 1,  i & 2,  i & 4,        i & 8,
                                  i & 16, i & 32, counts[size], (enum touch)(i / 192)};
        if (!is_question(size))
            continue;
        ask(&notes, &gaps);
        /* A send of memory in one piece is compared by the recorder, with what arrives. */
        bool looked_at = (asked.receives || asked.strided) && !asked.nobody;
        bool written = asked.touch != NEVER && !asked.between;
        bool over = asked.touch == BEHIND && written && !asked.nobody && !asked.late;
        bool seen = looked_at && written && (size < 2 || asked.late);
        bool gap = looked_at && size == 2;
        questions++;
        if ((notes != seen || (gaps != gap && !asked.late) || arrived == over) && wrong++ < 5)
            tap_note("%s%s%s%s%s%s, size %d, touched %d: B001 %d, gaps %d, arrived %d",
                     asked.receives ? "receive" : "send", asked.persistent ? ", persistent" : "",
                     asked.strided ? ", strided" : "", asked.between ? ", between" : "",
                     asked.late ? ", late" : "", asked.nobody ? ", nobody" : "", size,
                     (int)asked.touch, notes, gaps, arrived);
    }
    free(buffer), free(other);
    tap_is_int(wrong, 0, "%d buffers: what is written to is told of, what is large is a gap",
               questions);
}

/* ---- collectives ---- */

enum kind { BCAST, SCATTER, GATHER, ALLGATHER, ALLTOALL, REDUCE, ALLREDUCE, SCAN, SHARES, KINDS };
enum { RANKS = 3, EACH = 4, ALL = RANKS * EACH, SIDES = 2 };

static struct {
    enum kind kind;
    int root, toucher, side; /* sent, received; toucher < 0: nobody */
    bool behind, persistent; /* written to when all have come */
} collective;

static int start(int *send, int *receive, MPI_Comm comm, MPI_Request *request)
{
    int root = collective.root;
#define START(name, small, ...)                                                                    \
    return collective.persistent ? MPI_##name##_init(__VA_ARGS__, comm, MPI_INFO_NULL, request)    \
                                 : MPI_I##small(__VA_ARGS__, comm, request)
    switch (collective.kind) {
    case BCAST:
        START(Bcast, bcast, send, EACH, MPI_INT, root);
    case SCATTER:
        START(Scatter, scatter, send, EACH, MPI_INT, receive, EACH, MPI_INT, root);
    case GATHER:
        START(Gather, gather, send, EACH, MPI_INT, receive, EACH, MPI_INT, root);
    case ALLGATHER:
        START(Allgather, allgather, send, EACH, MPI_INT, receive, EACH, MPI_INT);
    case ALLTOALL:
        START(Alltoall, alltoall, send, EACH, MPI_INT, receive, EACH, MPI_INT);
    case REDUCE:
        START(Reduce, reduce, send, receive, EACH, MPI_INT, MPI_SUM, root);
    case ALLREDUCE:
        START(Allreduce, allreduce, send, receive, EACH, MPI_INT, MPI_SUM);
    case SCAN:
        START(Scan, scan, send, receive, EACH, MPI_INT, MPI_SUM);
    default:
        START(Reduce_scatter_block, reduce_scatter_block, send, receive, EACH, MPI_INT, MPI_SUM);
    }
}

/* Whether the member's buffer is one of the collective's, and how long it is. */
static int length_of(int rank, int side)
{
    bool root = rank == collective.root;
    switch (collective.kind) {
    case BCAST:
        return side == 0 ? EACH : 0;
    case SCATTER:
        return side == 1 ? EACH : root ? ALL : 0;
    case GATHER:
        return side == 0 ? EACH : root ? ALL : 0;
    case ALLGATHER:
        return side == 0 ? EACH : ALL;
    case ALLTOALL:
        return ALL;
    case REDUCE:
        return side == 0 || root ? EACH : 0;
    case SHARES:
        return side == 0 ? ALL : EACH;
    default:
        return EACH;
    }
}

static int play(void *context, int rank)
{
    static int buffers[RANKS][SIDES][ALL];
    MPI_Request request;
    MPI_Comm apart;
    int *mine = buffers[rank][collective.side];
    (void)context;
    recording_rank_begin(recording);
    MPI_Init(NULL, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &apart);
    for (int i = 0; i < ALL; i++) {
        buffers[rank][0][i] = 100 * rank + i;
        buffers[rank][1][i] = -1;
    }
    start(buffers[rank][0], buffers[rank][1], MPI_COMM_WORLD, &request);
    if (collective.persistent)
        MPI_Start(&request);
    int length = length_of(rank, collective.side), at = length ? length - 1 : 0;
    if (rank == collective.toucher && !collective.behind)
        mine[at] = WRITTEN;
    MPI_Barrier(apart);
    if (rank == collective.toucher && collective.behind)
        mine[at] = WRITTEN;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (collective.persistent)
        MPI_Request_free(&request);
    MPI_Comm_free(&apart);
    MPI_Finalize();
    return 0;
}

/* Every buffer of a member's is told of when the program writes to it, and no other one. */
static void test_collectives(void)
{
    int questions = 0, wrong = 0;
    for (int model = 0; model < 3; model++)
        for (int i = 0; i < KINDS * RANKS * (RANKS + 1) * SIDES * 4; i++) {
            struct sim_world_options options;
            int notes, gaps, rest = i;
            collective.kind = (enum kind)(rest % KINDS), rest /= KINDS;
            collective.root = rest % RANKS, rest /= RANKS;
            collective.toucher = rest % (RANKS + 1) - 1, rest /= RANKS + 1;
            collective.side = rest % SIDES, rest /= SIDES;
            collective.behind = rest % 2, collective.persistent = rest / 2;
            bool part =
                collective.toucher < 0 || (i / KINDS + i + model) % 9 == 0 || getenv("FULL");
            if (!part || (collective.toucher < 0 && (collective.side || collective.behind)))
                continue;
            sim_world_options_init(&options);
            options.ranks = RANKS;
            options.send_model = model == 1 ? SIM_SEND_RENDEZVOUS : SIM_SEND_EAGER;
            options.strict_collectives = model == 2;
            arrived = true;
            ask_world(&options, play, &notes, &gaps);
            bool told = collective.toucher >= 0 && length_of(collective.toucher, collective.side);
            questions++;
            if ((notes != told || !arrived) && wrong++ < 5)
                tap_note("model %d, kind %d, root %d, rank %d writes to side %d%s%s: B001 %d, "
                         "arrived %d",
                         model, (int)collective.kind, collective.root, collective.toucher,
                         collective.side, collective.behind ? ", late" : "",
                         collective.persistent ? ", persistent" : "", notes, arrived);
        }
    tap_is_int(wrong, 0, "%d collectives: who writes to a buffer of theirs is told of", questions);
}

int main(void)
{
    test_messages();
    test_collectives();
    return tap_done();
}
