/* Waits and tests that fail, with errors returned: what they have completed all the same is complete in the record, what they have not is
 * still under way, and is completed later. Random receives of a rank's own messages, some of them longer than there is room for, some not
 * sent yet, persistent ones too, in random lists with null requests among them; one of the eight calls each time, or one with arguments that
 * are wrong. What a request is afterwards MPI tells: a null handle, or one that was started again. */
#include "tests/recorder/recorded_world.h"

#include <mpi.h>
#include <string.h>

enum { ROUNDS = 60, MOST = 4, RECEIVES = ROUNDS * MOST, ROOM = 2, NO = -1 };

enum form { WAIT, TEST, WAITALL, TESTALL, WAITANY, TESTANY, WAITSOME, TESTSOME, FORMS };

static const enum op_kind kinds[FORMS] = {OP_WAIT,    OP_TEST,    OP_WAITALL,  OP_TESTALL,
                                          OP_WAITANY, OP_TESTANY, OP_WAITSOME, OP_TESTSOME};

/* A receive in the order of starts; what its row must say. */
struct started {
    int tag, length, call; /* call: which of those that left a row completed it */
};

struct slot {
    MPI_Request request;
    bool persistent, sent, open;
    int number, in[ROOM];
};

static struct {
    struct slot slots[MOST];
    struct started started[RECEIVES + 1];
    enum op_kind calls[ROUNDS * (MOST + 1)];
    int starts, count, failed, wrong, again;
    uint64_t dice;
} me;

static int total_failed, total_wrong, total_again;

static uint32_t below(uint32_t n)
{
    return dice_below(&me.dice, n);
}

static void slot_start(struct slot *slot, int i)
{
    struct started *row = &me.started[me.starts];
    *row = (struct started){.tag = i, .length = 1 + (int)below(2 * ROOM), .call = NO};
    slot->number = me.starts++;
    slot->open = true;
    if (slot->persistent && slot->request != MPI_REQUEST_NULL) {
        me.again++;
    } else if (slot->persistent) {
        MPI_Recv_init(slot->in, ROOM, MPI_INT, 0, i, MPI_COMM_WORLD, &slot->request);
    } else {
        MPI_Irecv(slot->in, ROOM, MPI_INT, 0, i, MPI_COMM_WORLD, &slot->request);
    }
    if (slot->persistent)
        MPI_Start(&slot->request);
}

static void slot_send(struct slot *slot)
{
    static const int numbers[2 * ROOM];
    const struct started *row = &me.started[slot->number];
    MPI_Send(numbers, row->length, MPI_INT, 0, row->tag, MPI_COMM_WORLD);
    slot->sent = true;
}

/* A started one that a call has done with: nothing is asked of it any more, and it says so. */
static bool is_over(const struct slot *slot)
{
    int flag;
    MPI_Status status;
    if (slot->request == MPI_REQUEST_NULL)
        return true;
    PMPI_Request_get_status(slot->request, &flag, &status);
    return flag && status.MPI_SOURCE == MPI_ANY_SOURCE;
}

/* `leaves`: the call, whatever it was, has left a row. */
static void look(enum op_kind kind, bool leaves)
{
    for (int i = 0; i < MOST; i++)
        if (me.slots[i].open && is_over(&me.slots[i])) {
            me.slots[i].open = me.slots[i].sent = false;
            me.started[me.slots[i].number].call = leaves ? me.count : NO;
        }
    if (leaves)
        me.calls[me.count++] = kind;
}

static int call(enum form form, MPI_Request *list, int n, bool ignored, int *flag)
{
    int which[MOST], one;
    MPI_Status statuses[MOST], *all = ignored ? MPI_STATUSES_IGNORE : statuses,
                               *single = ignored ? MPI_STATUS_IGNORE : statuses;
    switch (form) {
    case WAIT:
        return MPI_Wait(list, single);
    case TEST:
        return MPI_Test(list, flag, single);
    case WAITALL:
        return MPI_Waitall(n, list, all);
    case TESTALL:
        return MPI_Testall(n, list, flag, all);
    case WAITANY:
        return MPI_Waitany(n, list, &one, single);
    case TESTANY:
        return MPI_Testany(n, list, &one, flag, single);
    case WAITSOME:
        return MPI_Waitsome(n, list, &one, which, all);
    default:
        return MPI_Testsome(n, list, flag, which, all);
    }
}

/* What MPI refuses before it has looked at any of them. */
static int misuse(enum form form, MPI_Request *list, int n)
{
    int number, flag;
    switch (form) {
    case TEST:
        return MPI_Test(list, NULL, MPI_STATUS_IGNORE);
    case TESTALL:
        return MPI_Testall(n, list, NULL, MPI_STATUSES_IGNORE);
    case WAITSOME:
        return MPI_Waitsome(n, list, &number, NULL, MPI_STATUSES_IGNORE);
    case TESTSOME:
        return MPI_Testsome(n, list, &flag, NULL, MPI_STATUSES_IGNORE);
    default:
        return MPI_Waitsome(0, list, NULL, NULL, MPI_STATUSES_IGNORE);
    }
}

static bool waits(enum form form)
{
    return form % 2 == 0;
}

/* Those that are open, in any order, and a null request now and then. */
static void round_of(void)
{
    enum form form = (enum form)below(FORMS);
    int order[MOST], n = 0, open = 0, flag = 0, first = (int)below(MOST);
    MPI_Request list[MOST];
    for (int k = 0; k < MOST; k++) {
        int i = (first + k) % MOST;
        struct slot *slot = &me.slots[i];
        if (!slot->open && below(2))
            slot_start(slot, i);
        if (slot->open && !slot->sent && (below(3) || waits(form)))
            slot_send(slot);
        if (slot->open || below(2)) {
            list[n] = slot->open ? slot->request : MPI_REQUEST_NULL;
            open += slot->open;
            order[n++] = i;
        }
    }
    if (n == 0)
        return;
    if (form < WAITALL && !me.slots[order[0]].open)
        return;
    if (below(6) == 0) {
        me.wrong += misuse(form, list, n) != MPI_SUCCESS;
        look(waits(form) || form == TESTANY ? OP_WAITSOME : kinds[form], true);
        return;
    }
    int error = call(form, list, form < WAITALL ? 1 : n, below(2), &flag);
    for (int k = 0; k < n; k++)
        if (me.slots[order[k]].open)
            me.slots[order[k]].request = list[k];
    me.failed += error != MPI_SUCCESS;
    /* a test leaves a row where it completed something, or failed */
    look(kinds[form], waits(form) || error || (open && flag > 0));
}

static int enter(void *recording, int rank)
{
    (void)rank;
    recording_rank_begin(recording);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (int i = 0; i < MOST; i++) {
        me.slots[i].request = MPI_REQUEST_NULL;
        me.slots[i].persistent = below(2);
    }
    for (int i = 0; i < ROUNDS; i++)
        round_of();
    for (int i = 0; i < MOST; i++) {
        if (me.slots[i].open) {
            if (!me.slots[i].sent)
                slot_send(&me.slots[i]);
            MPI_Wait(&me.slots[i].request, MPI_STATUS_IGNORE);
            look(OP_WAIT, true);
        }
        if (me.slots[i].request != MPI_REQUEST_NULL)
            MPI_Request_free(&me.slots[i].request);
    }
    MPI_Finalize();
    return 0;
}

/* ---- what was kept ---- */

static const char *unfit(const struct trace *trace, const struct trace_op *op,
                         const struct started *due, const uint32_t *calls)
{
    return due->call == NO                              ? "that it was completed at all"
           : op->state != STATE_COMPLETE                ? "its state"
           : op->request != calls[due->call]            ? "which call has completed it"
           : trace_op_tag_matched(op) != due->tag       ? "its tag"
           : trace_op_peer_matched(op) != 0             ? "its source"
           : op->match == TRACE_NO                      ? "its message"
           : trace->ops[op->match].count != due->length ? "which message"
                                                        : NULL;
}

/* Rows of waits on several say the same. */
static bool waits_fit(const struct trace *trace)
{
    for (size_t i = 0; i < trace->wait_count; i++) {
        const struct trace_wait *row = &trace->waits[i];
        if (row->completed != (trace->ops[row->start].request == row->wait)) {
            tap_note("operation %u waits for %u", row->wait, (unsigned)row->start);
            return false;
        }
    }
    return true;
}

static bool is_call(const struct trace_op *op)
{
    for (int i = 0; i < FORMS; i++)
        if (op->kind == kinds[i])
            return true;
    return false;
}

static bool is_kept(const struct trace *trace)
{
    uint32_t calls[sizeof me.calls / sizeof *me.calls];
    int count = 0, starts = 0;
    for (uint32_t i = 0; i < trace->op_count; i++)
        if (is_call(&trace->ops[i])) {
            if (count == me.count || trace->ops[i].kind != me.calls[count]) {
                tap_note("call %d is %s", count, trace_op_name(&trace->ops[i]));
                return false;
            }
            calls[count++] = i;
        }
    for (uint32_t i = 0; i < trace->op_count; i++) {
        if (trace->ops[i].kind != OP_IRECV)
            continue;
        const char *why = starts == me.starts
                              ? "one more"
                              : unfit(trace, &trace->ops[i], &me.started[starts], calls);
        if (why) {
            tap_note("receive %d: %s", starts, why);
            return false;
        }
        starts++;
    }
    return count == me.count && starts == me.starts && waits_fit(trace);
}

/* No start of a persistent one was refused. */
static bool is_silent(const struct trace *trace)
{
    for (size_t i = 0; i < trace->note_count; i++)
        if (!strcmp(trace->notes[i].code, "L010"))
            return false;
    return true;
}

static bool world_is_recorded(unsigned long long seed)
{
    struct sim_world_options options = recorded_options(1);
    memset(&me, 0, sizeof me);
    me.dice = seed;
    struct recorded run = recorded_world(&options, enter);
    bool well = run.trace && is_kept(run.trace) && is_silent(run.trace);
    recorded_release(&run);
    total_failed += me.failed;
    total_wrong += me.wrong;
    total_again += me.again;
    return well;
}

/* ---- errors that end the rank: of waits, which are recorded before ---- */

static enum form fatal;

static int enter_fatal(void *recording, int rank)
{
    static const int numbers[2 * ROOM];
    MPI_Request list[2];
    int in[2][ROOM], flag;
    recording_rank_begin(recording);
    MPI_Init(NULL, NULL);
    for (int i = 0; i < 2; i++) {
        MPI_Irecv(in[i], ROOM, MPI_INT, rank, i, MPI_COMM_WORLD, &list[i]);
        MPI_Send(numbers, 2 * ROOM, MPI_INT, rank, i, MPI_COMM_WORLD);
    }
    call(fatal, list, 2, true, &flag);
    return 0;
}

/* The call is the last that there is, it names both receives, and says why it failed. */
static bool fatal_is_recorded(enum form form)
{
    bool single = form < WAITALL, by_status = form % 4 >= WAITALL;
    struct sim_world_options options = recorded_options(1);
    fatal = form;
    struct recorded run = recorded_until(&options, enter_fatal, OUTCOME_ABORTED);
    bool well = false;
    if (run.trace) {
        uint32_t last = (uint32_t)run.trace->op_count - 1, first = 0;
        const struct trace_op *op = &run.trace->ops[last];
        while (run.trace->ops[first].kind != OP_IRECV)
            first++;
        well = op->kind == kinds[form] && op->state == STATE_FAILED &&
               op->form->error == (by_status ? MPI_ERR_IN_STATUS : MPI_ERR_TRUNCATE) &&
               (single ? op->request == first && run.trace->wait_count == 0
                       : run.trace->wait_count == 2 && run.trace->waits[0].wait == last &&
                             run.trace->waits[0].start == first &&
                             run.trace->waits[1].start == first + 2);
        if (!well)
            tap_note("%s, state %d, error %d, %zu waits", trace_op_name(op), op->state,
                     op->form->error, run.trace->wait_count);
    }
    recorded_release(&run);
    return well;
}

int main(void)
{
    for (int form = 0; form < FORMS; form += 2)
        tap_ok(fatal_is_recorded((enum form)form), "%s that ends the rank is its last call",
               op_kind_name((int)kinds[form]));
    tap_is_int(recorded_wrongly(40, world_is_recorded), 0,
               "what a call that failed completed is complete, and nothing else");
    tap_ok(total_failed > 0 && total_wrong > 0 && total_again > 0,
           "%d calls failed, %d more were wrong, %d starts were not the first", total_failed,
           total_wrong, total_again);
    return tap_done();
}
