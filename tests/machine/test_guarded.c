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
static void ask(int *notes, int *gaps)
{
    struct sim_world_options options;
    struct failure failure = {0};
    sim_world_options_init(&options);
    options.ranks = 1;
    options.late_receives = asked.late;
    recording = recording_new(1, RECORD_LEVEL_OPS, &failure);
    struct sim_world *world = sim_world_new(&options, &failure);
    struct recording_result result = {
        .outcome = sim_world_run(world, run, NULL), .program = "guarded", .model = "eager"};
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

static bool is_question(int size)
{
    if (asked.between && (!asked.strided || asked.touch == NEVER))
        return false;
    if (size == 1 && (asked.between || asked.nobody || asked.persistent))
        return false;
    return asked.receives || !asked.late;
}

int main(void)
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
    return tap_done();
}
