/* What the recorder keeps of requests: random starts of all kinds, persistent ones too, and random calls that wait for one, all, any or some
 * of them, look, cancel and free, with null and idle ones among them. What each call gave the program tells what its rows must be. All
 * messages are a rank's to itself, in a communicator that counts ranks backwards; each has its receive, so that whatever is waited for
 * comes. */
#include "tests/recorder/recorded_world.h"

#include <mpi.h>
#include <mpix.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 2, SLOTS = 20, STEPS = 60, ROWS = 4000, WAITS = 20000, MOST = 70, NO = -1 };
enum { UNASKED = -9 };

/* An operation that must be there, and a row of a wait on several; of numbers from the first one on. */
struct row {
    int kind, state;
    unsigned flags;
    int request, peer, tag, peer_matched, tag_matched;
    long long count, matched;
};

struct wait {
    int wait, start, completed;
};

struct slot {
    MPI_Request request;
    bool used, persistent, active;
    int op, second; /* rows of its starts; NO: none */
    int partner;    /* the slot of a persistent message's other side */
    int peer, tag;  /* as a row says */
    int kind;       /* of a persistent one's starts */

    int count; /* basic numbers of its side */
    int gets, gets_tag;
};

static struct {
    struct row rows[ROWS];
    struct wait waits[WAITS];
    int row_count, wait_count, polls, wrong;
    uint64_t dice;
    struct slot slots[SLOTS];
    MPI_Comm named, any;
    MPI_Datatype triple;
    int rank, self, tag;
    int buffers[SLOTS][2][64];
    char attached[1 << 16];
} all[RANKS], *me[RANKS];

#define ME me[MPIX_World_rank()]

static uint32_t below(uint32_t n)
{
    return dice_below(&ME->dice, n);
}

static struct row *row_add(int kind)
{
    struct row *row = &ME->rows[ME->row_count++];
    *row = (struct row){.kind = kind,
                        .state = STATE_COMPLETE,
                        .request = NO,
                        .peer = TRACE_NONE,
                        .tag = TRACE_NONE,
                        .peer_matched = TRACE_NONE,
                        .tag_matched = TRACE_NONE,
                        .matched = -1};
    return row;
}

static int last_row(void)
{
    return ME->row_count - 1;
}

/* A start. */
static int start_add(int kind, unsigned flags, int peer, int tag, int count)
{
    struct row *row = row_add(kind);
    row->state = STATE_POSTED;
    row->flags = flags;
    row->peer = peer;
    row->tag = tag;
    row->count = count;
    return last_row();
}

static void wait_row(int wait, int start, int completed)
{
    ME->waits[ME->wait_count++] = (struct wait){wait, start, completed};
}

/* ---- starts ---- */

static struct slot *unused(void)
{
    uint32_t first = below(SLOTS);
    for (uint32_t i = 0; i < SLOTS; i++) {
        struct slot *slot = &ME->slots[(first + i) % SLOTS];
        if (!slot->used)
            return slot;
    }
    return NULL;
}

static int number_of(const struct slot *slot)
{
    return (int)(slot - ME->slots);
}

/* What a finished receive has: what was sent there. */
static void done(struct slot *slot, int wait)
{
    struct row *row = &ME->rows[slot->second == NO ? slot->op : slot->second];
    for (int i = 0; i < 2; i++) {
        int op = i ? slot->second : slot->op;
        if (op == NO)
            continue;
        ME->rows[op].state = STATE_COMPLETE;
        ME->rows[op].request = wait;
    }
    if (row->kind == OP_IRECV && slot->peer != TRACE_NONE) {
        row->peer_matched = ME->rank;
        row->tag_matched = slot->gets_tag;
        row->matched = slot->gets;
    }
    slot->active = false;
    if (!slot->persistent)
        slot->used = false;
}

/* A send and its receive, in any order but for those that must be ready. */
static void start_message(bool persistent)
{
    static const int kinds[] = {OP_ISEND, OP_ISSEND, OP_IBSEND, OP_IRSEND};
    struct slot *send = unused();
    if (!send)
        return;
    send->used = true;
    struct slot *receive = unused();
    if (!receive) {
        send->used = false;
        return;
    }
    int kind = kinds[below(4)], tag = ++ME->tag, count = (int)below(8),
        room = count + (int)below(3);
    bool anything = below(3) == 0, nobody = below(6) == 0, tripled = below(2);
    bool first = kind == OP_IRSEND || below(2);
    MPI_Comm comm = anything ? ME->any : ME->named;
    MPI_Datatype type = tripled ? ME->triple : MPI_INT;
    int unit = tripled ? 3 : 1, to = nobody ? MPI_PROC_NULL : ME->self;
    int from = nobody ? MPI_PROC_NULL : anything ? MPI_ANY_SOURCE : ME->self;
    int from_tag = anything ? MPI_ANY_TAG : tag;
    *send = (struct slot){.used = true,
                          .persistent = persistent,
                          .second = NO,
                          .op = NO,
                          .partner = number_of(receive),
                          .peer = nobody ? TRACE_NONE : ME->rank,
                          .tag = tag,
                          .kind = kind,
                          .count = count * unit};
    *receive = (struct slot){.used = true,
                             .persistent = persistent,
                             .second = NO,
                             .op = NO,
                             .partner = number_of(send),
                             .peer = nobody     ? TRACE_NONE
                                     : anything ? TRACE_ANY
                                                : ME->rank,
                             .tag = anything ? TRACE_ANY : tag,
                             .kind = OP_IRECV,
                             .count = room * unit,
                             .gets = count * unit,
                             .gets_tag = tag};
    const int *data = ME->buffers[number_of(send)][0];
    int *place = ME->buffers[number_of(receive)][1];
    for (int i = 0; i < 2; i++) {
        struct slot *slot = (i == 0) == first ? receive : send;
        MPI_Request *request = &slot->request;
        if (slot == receive && persistent)
            MPI_Recv_init(place, room, type, from, from_tag, comm, request);
        else if (slot == receive)
            MPI_Irecv(place, room, type, from, from_tag, comm, request);
        else if (persistent)
            (kind == OP_ISEND    ? MPI_Send_init
             : kind == OP_ISSEND ? MPI_Ssend_init
             : kind == OP_IBSEND ? MPI_Bsend_init
                                 : MPI_Rsend_init)(data, count, type, to, tag, comm, request);
        else
            (kind == OP_ISEND    ? MPI_Isend
             : kind == OP_ISSEND ? MPI_Issend
             : kind == OP_IBSEND ? MPI_Ibsend
                                 : MPI_Irsend)(data, count, type, to, tag, comm, request);
        if (persistent)
            continue;
        slot->op = start_add(slot->kind, 0, slot->peer, slot->tag, slot->count);
        slot->active = true;
    }
}

static void started_again(struct slot *slot)
{
    slot->op = start_add(slot->kind, OP_PERSISTENT, slot->peer, slot->tag, slot->count);
    slot->active = true;
}

static void start_again(void)
{
    uint32_t first = below(SLOTS);
    for (uint32_t i = 0; i < SLOTS; i++) {
        struct slot *slot = &ME->slots[(first + i) % SLOTS], *other;
        if (!slot->used || !slot->persistent || slot->active)
            continue;
        other = &ME->slots[slot->partner];
        if (other->active)
            continue;
        if (slot->kind == OP_IRSEND) { /* its receive comes first */
            struct slot *kept = slot;
            slot = other;
            other = kept;
        }
        if (below(2)) {
            MPI_Request both[] = {slot->request, MPI_REQUEST_NULL};
            both[1] = other->request;
            MPI_Startall(2, both);
        } else {
            MPI_Start(&slot->request);
            MPI_Start(&other->request);
        }
        started_again(slot);
        started_again(other);
        return;
    }
}

static void start_both(void)
{
    struct slot *slot = unused();
    if (!slot)
        return;
    int tag = ++ME->tag, count = (int)below(8), room = count + (int)below(3), at = number_of(slot);
    MPI_Request *request = &slot->request;
    *slot = (struct slot){.used = true,
                          .active = true,
                          .partner = NO,
                          .peer = ME->rank,
                          .tag = tag,
                          .gets = count,
                          .gets_tag = tag};
    MPI_Isendrecv(ME->buffers[at][0], count, MPI_INT, ME->self, tag, ME->buffers[at][1], room,
                  MPI_INT, ME->self, tag, ME->named, request);
    slot->op = start_add(OP_ISEND, OP_COMPOUND | OP_NONBLOCKING, ME->rank, tag, count);
    slot->second = start_add(OP_IRECV, OP_COMPOUND | OP_NONBLOCKING, ME->rank, tag, room);
}

/* ---- ends ---- */

/* Slots of an array in any order, with null requests before, between and behind. */
struct list {
    MPI_Request requests[MOST];
    struct slot *slots[MOST];
    int count, active, idle;
};

static void list_new(struct list *list)
{
    static const int lengths[] = {1, 2, 5, 9, 63, 64, 65, MOST};
    int order[SLOTS], asked = 1 + (int)below(SLOTS), filled = 0;
    *list = (struct list){.count = lengths[below(8)]};
    for (int i = 0; i < SLOTS; i++) {
        int at = (int)below((uint32_t)i + 1);
        order[i] = order[at];
        order[at] = i;
    }
    for (int i = 0; i < list->count; i++) {
        struct slot *slot = filled < asked && below(3) ? &ME->slots[order[filled++]] : NULL;
        if (slot && !slot->used)
            slot = NULL;
        list->requests[i] = slot ? slot->request : MPI_REQUEST_NULL;
        list->slots[i] = slot;
        list->active += slot && slot->active;
        list->idle += slot && !slot->active;
    }
}

/* Of a wait for idle ones the row says what one of them would do. */
static void says_idle(struct row *row, const struct list *list)
{
    row->flags = list->active ? 0 : OP_INACTIVE;
    if (list->idle)
        row->peer = row->tag = UNASKED;
}

static void list_row(int kind, const struct list *list)
{
    says_idle(row_add(kind), list);
    for (int i = 0; i < list->count; i++) {
        const struct slot *slot = list->slots[i];
        if (!slot || !slot->active)
            continue;
        wait_row(last_row(), slot->op, 0);
        if (slot->second != NO)
            wait_row(last_row(), slot->second, 0);
    }
}

static void list_done(const struct list *list, int i)
{
    struct slot *slot = list->slots[i];
    for (int k = ME->wait_count - 1; k >= 0 && ME->waits[k].wait == last_row(); k--)
        if (ME->waits[k].start == slot->op || ME->waits[k].start == slot->second)
            ME->waits[k].completed = 1;
    done(slot, last_row());
}

static void list_back(const struct list *list)
{
    for (int i = 0; i < list->count; i++)
        if (list->slots[i])
            list->slots[i]->request = list->requests[i];
}

/* What the program is told fits what was sent. */
static void look(const struct slot *slot, const MPI_Status *status)
{
    int count = 0;
    if (!slot || !slot->active || slot->kind != OP_IRECV || slot->peer == TRACE_NONE || !status)
        return;
    MPI_Get_count(status, MPI_INT, &count);
    ME->wrong +=
        status->MPI_SOURCE != ME->self || status->MPI_TAG != slot->gets_tag || count != slot->gets;
}

static void wait_one(bool tests)
{
    struct slot *slot = &ME->slots[below(SLOTS)];
    MPI_Request none = MPI_REQUEST_NULL, *request = slot->used ? &slot->request : &none;
    MPI_Status status, *wanted = below(2) ? &status : MPI_STATUS_IGNORE;
    bool active = slot->used && slot->active;
    int flag = 1;
    if (tests && slot->used && !active)
        return;
    if (tests)
        MPI_Test(request, &flag, wanted);
    else
        MPI_Wait(request, wanted);
    if (!flag) {
        ME->polls++;
        return;
    }
    if (tests && !slot->used)
        return; /* of no request nothing is kept */
    struct row *row = row_add(tests ? OP_TEST : OP_WAIT);
    row->flags = active ? 0 : OP_INACTIVE;
    if (slot->used && !active) {
        row->peer = slot->peer >= 0 ? slot->peer : ME->rank;
        row->tag = slot->tag;
    }
    if (!active)
        return;
    look(slot, wanted == MPI_STATUS_IGNORE ? NULL : wanted);
    row->request = slot->op;
    if (slot->second != NO) {
        wait_row(last_row(), slot->op, UNASKED);
        wait_row(last_row(), slot->second, UNASKED);
    }
    done(slot, last_row());
}

static void wait_all(bool tests)
{
    struct list list;
    MPI_Status statuses[MOST];
    bool told = below(2);
    int flag = 1;
    list_new(&list);
    if (tests && !list.active)
        return;
    if (tests)
        MPI_Testall(list.count, list.requests, &flag, told ? statuses : MPI_STATUSES_IGNORE);
    else
        MPI_Waitall(list.count, list.requests, told ? statuses : MPI_STATUSES_IGNORE);
    list_back(&list);
    if (!flag) {
        ME->polls++;
        return;
    }
    list_row(tests ? OP_TESTALL : OP_WAITALL, &list);
    for (int i = 0; i < list.count; i++)
        if (list.slots[i] && list.slots[i]->active) {
            look(list.slots[i], told ? &statuses[i] : NULL);
            list_done(&list, i);
        }
}

static void wait_any(bool tests)
{
    struct list list;
    MPI_Status status, *wanted = below(2) ? &status : MPI_STATUS_IGNORE;
    int flag = 1, index = 0;
    list_new(&list);
    if (tests && !list.active)
        return;
    if (tests)
        MPI_Testany(list.count, list.requests, &index, &flag, wanted);
    else
        MPI_Waitany(list.count, list.requests, &index, wanted);
    list_back(&list);
    if (!flag) {
        ME->polls++;
        return;
    }
    list_row(tests ? OP_TESTANY : OP_WAITANY, &list);
    ME->wrong += (index == MPI_UNDEFINED) != !list.active;
    if (list.active) {
        look(list.slots[index], wanted == MPI_STATUS_IGNORE ? NULL : wanted);
        list_done(&list, index);
    }
}

static void wait_some(bool tests)
{
    struct list list;
    MPI_Status statuses[MOST];
    int indices[MOST], n = 0;
    bool told = below(2);
    list_new(&list);
    if (tests && !list.active)
        return;
    (tests ? MPI_Testsome : MPI_Waitsome)(list.count, list.requests, &n, indices,
                                          told ? statuses : MPI_STATUSES_IGNORE);
    list_back(&list);
    if (tests && n == 0) {
        ME->polls++;
        return;
    }
    list_row(tests ? OP_TESTSOME : OP_WAITSOME, &list);
    ME->wrong += (n == MPI_UNDEFINED) != !list.active;
    for (int i = 0; list.active && i < n; i++) {
        look(list.slots[indices[i]], told ? &statuses[i] : NULL);
        list_done(&list, indices[i]);
    }
}

/* A receive that nothing will come to. */
static void cancel(void)
{
    MPI_Request request;
    MPI_Status status;
    int room, is = 0;
    MPI_Irecv(&room, 1, MPI_INT, ME->self, ++ME->tag, ME->named, &request);
    int op = start_add(OP_IRECV, 0, ME->rank, ME->tag, 1);
    MPI_Cancel(&request);
    row_add(OP_CANCEL)->request = op;
    MPI_Wait(&request, &status);
    row_add(OP_WAIT)->request = op;
    MPI_Test_cancelled(&status, &is);
    ME->wrong += !is;
    ME->rows[op].state = STATE_CANCELLED;
    ME->rows[op].request = last_row();
}

/* A wait for one that nobody has started says whom it would be for; itself, where that is nobody or anybody. */
static void wait_idle(void)
{
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int data = 0, index, n, indices[2], tag = ++ME->tag;
    const int peers[] = {1 - ME->self, ME->self, MPI_PROC_NULL, MPI_ANY_SOURCE};
    const int says[] = {1 - ME->rank, ME->rank, ME->rank, ME->rank};
    uint32_t peer = below(4), call = below(4);
    bool receives = peer == 3 || below(2);
    MPI_Request *request = &requests[call && below(2)];
    if (receives)
        MPI_Recv_init(&data, 1, MPI_INT, peers[peer], tag, ME->named, request);
    else
        MPI_Send_init(&data, 1, MPI_INT, peers[peer], tag, ME->named, request);
    static const int kinds[] = {OP_WAIT, OP_WAITALL, OP_WAITANY, OP_WAITSOME};
    if (call == 0)
        MPI_Wait(request, MPI_STATUS_IGNORE);
    else if (call == 1)
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    else if (call == 2)
        MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    else
        MPI_Waitsome(2, requests, &n, indices, MPI_STATUSES_IGNORE);
    struct row *row = row_add(kinds[call]);
    row->flags = OP_INACTIVE;
    row->peer = says[peer];
    row->tag = tag;
    MPI_Request_free(request);
    row_add(OP_REQUEST_FREE);
}

/* At a receive before anything was sent. */
static void look_early(void)
{
    MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int room = 0, data = 1, flag = 0, index, n = 0, indices[3], at = (int)below(2);
    MPI_Irecv(&room, 1, MPI_INT, ME->self, ++ME->tag, ME->named, &requests[at]);
    int receive = start_add(OP_IRECV, 0, ME->rank, ME->tag, 1);
    MPI_Request kept = requests[at];
    switch (below(4)) {
    case 0:
        MPI_Test(&requests[at], &flag, MPI_STATUS_IGNORE);
        break;
    case 1:
        MPI_Testall(3, requests, &flag, MPI_STATUSES_IGNORE);
        break;
    case 2:
        MPI_Testany(3, requests, &index, &flag, MPI_STATUS_IGNORE);
        break;
    default:
        MPI_Testsome(3, requests, &n, indices, MPI_STATUSES_IGNORE);
    }
    ME->wrong += flag || n || requests[at] != kept;
    ME->polls++;
    MPI_Isend(&data, 1, MPI_INT, ME->self, ME->tag, ME->named, &requests[2]);
    int send = start_add(OP_ISEND, 0, ME->rank, ME->tag, 1);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    row_add(OP_WAITALL);
    wait_row(last_row(), receive, 1);
    wait_row(last_row(), send, 1);
    struct row *row = &ME->rows[receive];
    ME->rows[send].state = row->state = STATE_COMPLETE;
    ME->rows[send].request = row->request = last_row();
    row->peer_matched = ME->rank;
    row->tag_matched = ME->tag;
    row->matched = 1;
    ME->wrong += !room;
}

/* A send that is under way, or an idle message for good. */
static void let_go(void)
{
    struct slot *slot = &ME->slots[below(SLOTS)];
    if (!slot->used || slot->second != NO)
        return;
    if (!slot->persistent && slot->kind != OP_IRECV) {
        MPI_Request_free(&slot->request);
        row_add(OP_REQUEST_FREE)->request = slot->op;
        ME->rows[slot->op].state = UNASKED;
        slot->used = false;
    } else if (slot->persistent && !slot->active && !ME->slots[slot->partner].active) {
        MPI_Request_free(&slot->request);
        row_add(OP_REQUEST_FREE);
        MPI_Request_free(&ME->slots[slot->partner].request);
        row_add(OP_REQUEST_FREE);
        slot->used = ME->slots[slot->partner].used = false;
    }
}

static void at_last(void)
{
    struct list list = {.count = SLOTS};
    for (int i = 0; i < SLOTS; i++) {
        struct slot *slot = ME->slots[i].used ? &ME->slots[i] : NULL;
        list.requests[i] = slot ? slot->request : MPI_REQUEST_NULL;
        list.slots[i] = slot;
        list.active += slot && slot->active;
        list.idle += slot && !slot->active;
    }
    MPI_Waitall(list.count, list.requests, MPI_STATUSES_IGNORE);
    list_row(OP_WAITALL, &list);
    for (int i = 0; i < SLOTS; i++)
        if (list.slots[i] && list.slots[i]->active)
            list_done(&list, i);
    for (int i = 0; i < SLOTS; i++)
        if (ME->slots[i].used) {
            MPI_Request_free(&ME->slots[i].request);
            row_add(OP_REQUEST_FREE);
        }
}

static int enter(void *context, int rank)
{
    me[rank] = &all[rank];
    recording_rank_begin(context);
    MPI_Init(NULL, NULL);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &ME->named);
    MPI_Comm_dup(ME->named, &ME->any);
    MPI_Comm_rank(ME->named, &ME->self);
    MPI_Type_contiguous(3, MPI_INT, &ME->triple);
    MPI_Type_commit(&ME->triple);
    MPI_Buffer_attach(ME->attached, sizeof ME->attached);
    ME->rank = rank;
    MPI_Barrier(MPI_COMM_SELF);
    for (int step = 0; step < STEPS; step++) {
        static void (*const waits[])(bool) = {wait_one, wait_all, wait_any, wait_some};
        uint32_t which = below(21);
        if (which < 6)
            start_message(which < 2);
        else if (which < 9)
            start_again();
        else if (which < 10)
            start_both();
        else if (which < 11)
            cancel();
        else if (which < 12)
            let_go();
        else if (which < 13)
            look_early();
        else if (which < 14)
            wait_idle();
        else
            waits[below(4)](below(2));
    }
    at_last();
    MPI_Barrier(MPI_COMM_SELF);
    void *detached;
    int size;
    MPI_Buffer_detach(&detached, &size);
    MPI_Type_free(&ME->triple);
    MPI_Comm_free(&ME->any);
    MPI_Comm_free(&ME->named);
    MPI_Finalize();
    return 0;
}

/* ---- what was kept ---- */

static const char *unfit(const struct trace_op *op, const struct row *row, size_t from)
{
    long long request = op->request == TRACE_NO ? NO : (long long)op->request - (long long)from;
    bool counts = row->kind <= OP_IRECV;
    return op->kind != row->kind                                                     ? "its kind"
           : row->state != UNASKED && op->state != row->state                        ? "its state"
           : op->flags != row->flags                                                 ? "its flags"
           : request != row->request                                                 ? "its request"
           : row->peer != UNASKED && op->peer != row->peer                           ? "its peer"
           : row->tag != UNASKED && op->tag != row->tag                              ? "its tag"
           : row->kind == OP_IRECV && trace_op_peer_matched(op) != row->peer_matched ? "whom it got"
           : row->kind == OP_IRECV && trace_op_tag_matched(op) != row->tag_matched
               ? "the tag it got"
           : row->kind == OP_IRECV && trace_op_count_matched(op) != row->matched ? "how much it got"
           : counts && op->count != row->count                                   ? "how many"
                                                                                 : NULL;
}

static bool is_kept(const struct trace *trace, int rank)
{
    size_t from = trace->rank_begin[rank], to = trace->rank_begin[rank + 1], at = 0;
    while (from < to && trace->ops[from].kind != OP_BARRIER)
        from++;
    from++;
    for (int i = 0; i < all[rank].row_count; i++) {
        const char *why = from + (size_t)i < to
                              ? unfit(&trace->ops[from + (size_t)i], &all[rank].rows[i], from)
                              : "that it is there";
        if (why) {
            tap_note("row %d, kind %d of rank %d: %s", i, all[rank].rows[i].kind, rank, why);
            return false;
        }
    }
    if (trace->ops[from + (size_t)all[rank].row_count].kind != OP_BARRIER)
        return false;
    while (at < trace->wait_count && trace->waits[at].wait < from)
        at++;
    for (int i = 0; i < all[rank].wait_count; i++, at++) {
        const struct wait *due = &all[rank].waits[i];
        const struct trace_wait *row = &trace->waits[at];
        if (at >= trace->wait_count || row->wait != from + (size_t)due->wait ||
            row->start != from + (size_t)due->start ||
            (due->completed != UNASKED && (int)row->completed != due->completed)) {
            tap_note("wait %d of rank %d", i, rank);
            return false;
        }
    }
    return at == trace->wait_count || trace->waits[at].wait >= to;
}

static double polls_of(const struct trace *trace, int rank)
{
    for (size_t i = 0; i < trace->metric_count; i++)
        if (trace->metrics[i].rank == rank &&
            !strcmp(trace->strings[trace->metrics[i].name], "unsuccessful polls"))
            return trace->metrics[i].value;
    return 0;
}

static int rows, polled, told_wrongly, miscounted;

static bool world_is_recorded(unsigned long long seed)
{
    struct sim_world_options options = recorded_options(RANKS);
    options.seed = seed;
    for (int i = 0; i < RANKS; i++) {
        memset(&all[i], 0, sizeof all[i]);
        all[i].dice = seed * 2 + (unsigned)i;
    }
    struct recorded run = recorded_world(&options, enter);
    const struct trace *trace = run.trace;
    bool well = trace;
    for (int rank = 0; well && rank < RANKS; rank++) {
        well = is_kept(trace, rank);
        rows += all[rank].row_count;
        polled += all[rank].polls;
        told_wrongly += all[rank].wrong;
        miscounted += (int)polls_of(trace, rank) != all[rank].polls;
    }
    recorded_release(&run);
    return well;
}

int main(void)
{
    tap_is_int(recorded_wrongly(60, world_is_recorded), 0,
               "what each call did is what its rows say");
    tap_is_int(told_wrongly, 0, "programs are told what they would be without a recorder");
    tap_is_int(miscounted, 0, "looks that find nothing are counted, and leave no row");
    tap_ok(rows > 0, "%d rows, %d looks in vain", rows, polled);
    return tap_done();
}
