/* Starts of persistent requests that MPI refuses, with errors returned: a buffered send without room, a ready send without a receive. Random
 * lists of a rank's own messages, started one by one or all by one call. What the record must say a list tells: the starts before the one
 * that is refused are complete in the end, that one has failed, those behind it are not there, and what failed can be started again. */
#include "tests/recorder/recorded_world.h"

#include <mpi.h>
#include <string.h>

enum { ROUNDS = 40, PAIRS = 4, STARTS = ROUNDS * 4 * PAIRS + 2 };

enum kind { PLAIN, SYNCHRONOUS, BUFFERED, READY, SENDS };

static const enum op_kind kinds[SENDS] = {OP_ISEND, OP_ISSEND, OP_IBSEND, OP_IRSEND};

/* What a row must say. */
struct started {
    enum op_kind kind;
    int tag, error;
};

static struct {
    struct started started[STARTS];
    int starts, refused;
    MPI_Request sends[PAIRS], receives[PAIRS];
    enum kind kinds[PAIRS];
    bool sent[PAIRS], posted[PAIRS], room;
    int in[PAIRS], out[PAIRS];
    char attached[4096];
    uint64_t dice;
} me;

static int total_refused;

static uint32_t below(uint32_t n)
{
    return dice_below(&me.dice, n);
}

/* As the standard has it: a buffered send needs room, a ready one its receive. */
static int refusal(int pair)
{
    return me.kinds[pair] == BUFFERED && !me.room        ? MPI_ERR_BUFFER
           : me.kinds[pair] == READY && !me.posted[pair] ? MPI_ERR_OTHER
                                                         : MPI_SUCCESS;
}

/* The send or the receive of a pair, 2 * pair or one more; what comes of its start. */
static int expect(int which)
{
    int pair = which / 2;
    bool sends = which % 2 == 0;
    struct started *row = &me.started[me.starts++];
    *row = (struct started){sends ? kinds[me.kinds[pair]] : OP_IRECV, pair,
                            sends ? refusal(pair) : MPI_SUCCESS};
    me.refused += row->error != MPI_SUCCESS;
    if (row->error == MPI_SUCCESS)
        *(sends ? &me.sent[pair] : &me.posted[pair]) = true;
    return row->error;
}

static bool is_right(int error, int due)
{
    int class = MPI_SUCCESS;
    MPI_Error_class(error, &class);
    return class == due;
}

/* All of a list; false: an answer was another. */
static bool start_list(const int *list, int n)
{
    MPI_Request requests[2 * PAIRS];
    int due = MPI_SUCCESS;
    bool well = true, at_once = below(2);
    for (int i = 0; i < n; i++)
        requests[i] = list[i] % 2 ? me.receives[list[i] / 2] : me.sends[list[i] / 2];
    for (int i = 0; i < n && (!at_once || due == MPI_SUCCESS); i++) {
        due = expect(list[i]);
        if (!at_once)
            well = is_right(MPI_Start(&requests[i]), due) && well;
    }
    return at_once ? is_right(MPI_Startall(n, requests), due) : well;
}

static bool is_open(int which)
{
    return which % 2 ? me.posted[which / 2] : me.sent[which / 2];
}

/* In any order, those that are not under way; then what is missing, until each message has both sides. */
static bool round_of(void)
{
    int list[2 * PAIRS], n = 0, size;
    void *attached;
    bool well = true;
    me.room = below(2);
    if (me.room)
        MPI_Buffer_attach(me.attached, sizeof me.attached);
    for (int i = 0; i < 2 * PAIRS; i++)
        if (below(4)) {
            int at = (int)below((uint32_t)n + 1);
            list[n++] = list[at];
            list[at] = i;
        }
    well = n == 0 || start_list(list, n);
    if (!me.room)
        MPI_Buffer_attach(me.attached, sizeof me.attached);
    me.room = true;
    for (int i = 2 * PAIRS - 1; i >= 0; i--) /* receives first */
        if (i % 2 && !is_open(i))
            well = start_list(&i, 1) && well;
    for (int i = 0; i < 2 * PAIRS; i += 2)
        if (!is_open(i))
            well = start_list(&i, 1) && well;
    MPI_Waitall(PAIRS, me.sends, MPI_STATUSES_IGNORE);
    MPI_Waitall(PAIRS, me.receives, MPI_STATUSES_IGNORE);
    MPI_Buffer_detach(&attached, &size);
    memset(me.sent, 0, sizeof me.sent);
    memset(me.posted, 0, sizeof me.posted);
    return well;
}

static bool told_well;

/* A list of partitions that is not there is refused, and marks none. */
static bool lists_at_null(void)
{
    enum { PARTS = 3 };
    int out[PARTS] = {1, 2, 3}, in[PARTS] = {0}, all[PARTS] = {2, 0, 1};
    MPI_Request send, receive;
    MPI_Psend_init(out, PARTS, 1, MPI_INT, 0, 9, MPI_COMM_SELF, MPI_INFO_NULL, &send);
    MPI_Precv_init(in, PARTS, 1, MPI_INT, 0, 9, MPI_COMM_SELF, MPI_INFO_NULL, &receive);
    MPI_Start(&receive);
    MPI_Start(&send);
    bool refused = MPI_Pready_list(PARTS, NULL, send) != MPI_SUCCESS;
    me.started[me.starts++] = (struct started){OP_IRECV, 9, MPI_SUCCESS};
    me.started[me.starts++] = (struct started){OP_ISSEND, 9, MPI_SUCCESS};
    MPI_Pready_list(PARTS, all, send);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    MPI_Request_free(&send);
    MPI_Request_free(&receive);
    return refused && memcmp(in, out, sizeof in) == 0;
}

static int enter(void *recording, int rank)
{
    recording_rank_begin(recording);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (int i = 0; i < PAIRS; i++) {
        static int (*const makes[SENDS])(const void *, int, MPI_Datatype, int, int, MPI_Comm,
                                         MPI_Request *) = {MPI_Send_init, MPI_Ssend_init,
                                                           MPI_Bsend_init, MPI_Rsend_init};
        me.kinds[i] = (enum kind)below(SENDS);
        makes[me.kinds[i]](&me.out[i], 1, MPI_INT, rank, i, MPI_COMM_WORLD, &me.sends[i]);
        MPI_Recv_init(&me.in[i], 1, MPI_INT, rank, i, MPI_COMM_WORLD, &me.receives[i]);
    }
    for (int i = 0; i < ROUNDS; i++)
        told_well = round_of() && told_well;
    told_well = lists_at_null() && told_well;
    for (int i = 0; i < PAIRS; i++) {
        MPI_Request_free(&me.sends[i]);
        MPI_Request_free(&me.receives[i]);
    }
    MPI_Finalize();
    return 0;
}

/* ---- what was kept ---- */

static const char *unfit(const struct trace_op *op, const struct started *due)
{
    bool failed = due->error != MPI_SUCCESS;
    return op->kind != due->kind                                   ? "its kind"
           : op->tag != due->tag                                   ? "its tag"
           : op->state != (failed ? STATE_FAILED : STATE_COMPLETE) ? "its state"
           : op->form->error != due->error                         ? "its error"
           : (op->match == TRACE_NO) != failed                     ? "its partner"
                                                                   : NULL;
}

static bool is_start(const struct trace_op *op)
{
    return op->kind >= OP_ISEND && op->kind <= OP_IRECV;
}

static bool is_kept(const struct trace *trace)
{
    int starts = 0;
    for (size_t i = 0; i < trace->op_count; i++) {
        if (!is_start(&trace->ops[i]))
            continue;
        const char *why =
            starts == me.starts ? "one more" : unfit(&trace->ops[i], &me.started[starts]);
        if (why) {
            tap_note("start %d, %s: %s", starts, trace_op_name(&trace->ops[i]), why);
            return false;
        }
        starts++;
    }
    for (size_t i = 0; i < trace->note_count; i++)
        if (!strcmp(trace->notes[i].code, "L010"))
            return false;
    return starts == me.starts;
}

static bool world_is_recorded(unsigned long long seed)
{
    struct sim_world_options options = recorded_options(1);
    memset(&me, 0, sizeof me);
    me.dice = seed;
    told_well = true;
    struct recorded run = recorded_world(&options, enter);
    bool well = run.trace && is_kept(run.trace) && told_well;
    recorded_release(&run);
    total_refused += me.refused;
    return well;
}

int main(void)
{
    tap_is_int(recorded_wrongly(20, world_is_recorded), 0,
               "a start that is refused has failed, those behind it are not there");
    tap_ok(total_refused > 0, "%d starts were refused", total_refused);
    return tap_done();
}
