/* The ten calls that complete requests, over every list of up to four requests, each null,
 * inactive, done or pending, persistent or not, receive, send or collective: what MPI says of
 * active, inactive and null handles (MPI-4, 3.7.3 to 3.7.5 and 3.9). */
#include "tests/world_harness.h"

enum { SLOTS = 4, LOST = -1000 };

enum being {
    NOTHING,
    INACTIVE,
    INACTIVE_SEND,
    INACTIVE_BARRIER,
    DONE,
    DONE_AGAIN,
    PENDING,
    BEINGS
};

enum call { WAIT, WAITALL, WAITANY, WAITSOME, TEST, TESTALL, TESTANY, TESTSOME, STATUS, CALLS };

static const char *const call_names[] = {"Wait",     "Waitall",  "Waitany",
                                         "Waitsome", "Test",     "Testall",
                                         "Testany",  "Testsome", "Request_get_status"};

struct list {
    int count;
    enum being being[SLOTS];
    MPI_Request requests[SLOTS], before[SLOTS];
    int value[SLOTS];
    int done, pending;
};

struct answer {
    int flag, index, outcount, indices[SLOTS];
    MPI_Status status[SLOTS];
};

static bool is_done(enum being being)
{
    return being == DONE || being == DONE_AGAIN;
}

static bool is_persistent(enum being being)
{
    return being != NOTHING && being != DONE && being != PENDING;
}

/* To oneself: a posted receive takes the message, whatever the model of sends. */
static void send_to(int slot)
{
    int value = 100 + slot;
    MPI_Send(&value, 1, MPI_INT, 0, slot, MPI_COMM_SELF);
}

static void list_make(struct list *list, unsigned code, int count)
{
    *list = (struct list){.count = count};
    for (int i = 0; i < count; i++, code /= BEINGS) {
        MPI_Request *request = &list->requests[i];
        list->being[i] = (enum being)(code % BEINGS);
        *request = MPI_REQUEST_NULL;
        if (list->being[i] == INACTIVE || list->being[i] == DONE_AGAIN)
            MPI_Recv_init(&list->value[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, request);
        else if (list->being[i] == INACTIVE_SEND)
            MPI_Send_init(&list->value[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, request);
        else if (list->being[i] == INACTIVE_BARRIER)
            MPI_Barrier_init(MPI_COMM_SELF, MPI_INFO_NULL, request);
        else if (list->being[i] != NOTHING)
            MPI_Irecv(&list->value[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, request);
        if (list->being[i] == DONE_AGAIN)
            MPI_Start(request);
        if (is_done(list->being[i]))
            send_to(i);
        list->done += is_done(list->being[i]);
        list->pending += list->being[i] == PENDING;
        list->before[i] = *request;
    }
}

static void list_end(struct list *list)
{
    for (int i = 0; i < list->count; i++) {
        if (list->being[i] == PENDING)
            send_to(i);
        MPI_Wait(&list->requests[i], MPI_STATUS_IGNORE);
        if (list->requests[i] != MPI_REQUEST_NULL)
            MPI_Request_free(&list->requests[i]);
    }
}

/* Whether the call would return. */
static bool returns(const struct list *list, enum call call)
{
    if (call == WAIT || call == WAITALL)
        return !list->pending;
    return (call != WAITANY && call != WAITSOME) || list->done || !list->pending;
}

static int call_it(struct list *list, enum call call, struct answer *a)
{
    MPI_Request *requests = list->requests;
    int n = list->count;
    *a = (struct answer){LOST, LOST, LOST, {LOST, LOST, LOST, LOST}, {{0}}};
    for (int i = 0; i < SLOTS; i++)
        a->status[i] = (MPI_Status){.MPI_SOURCE = LOST, .MPI_TAG = LOST};
    switch (call) {
    case WAIT:
        return MPI_Wait(requests, a->status);
    case WAITALL:
        return MPI_Waitall(n, requests, a->status);
    case WAITANY:
        return MPI_Waitany(n, requests, &a->index, a->status);
    case WAITSOME:
        return MPI_Waitsome(n, requests, &a->outcount, a->indices, a->status);
    case TEST:
        return MPI_Test(requests, &a->flag, a->status);
    case TESTALL:
        return MPI_Testall(n, requests, &a->flag, a->status);
    case TESTANY:
        return MPI_Testany(n, requests, &a->index, &a->flag, a->status);
    case TESTSOME:
        return MPI_Testsome(n, requests, &a->outcount, a->indices, a->status);
    case STATUS:
        return MPI_Request_get_status(*requests, &a->flag, a->status);
    default:
        return MPI_ERR_OTHER;
    }
}

/* Empty for what was not active, else of the receive in the slot. */
static bool is_status_of(const struct list *list, int slot, const MPI_Status *status)
{
    int count = LOST;
    MPI_Get_count(status, MPI_INT, &count);
    if (!is_done(list->being[slot]))
        return status->MPI_SOURCE == MPI_ANY_SOURCE && status->MPI_TAG == MPI_ANY_TAG && !count;
    return status->MPI_SOURCE == 0 && status->MPI_TAG == slot && count == 1 &&
           list->value[slot] == 100 + slot;
}

static bool is_empty(const MPI_Status *status)
{
    return status->MPI_SOURCE == MPI_ANY_SOURCE && status->MPI_TAG == MPI_ANY_TAG;
}

/* Of the slots in `finished`, and of no other, the request is over: null, or inactive if it can be
 * started again. */
static bool handles_are(const struct list *list, unsigned finished)
{
    for (int i = 0; i < list->count; i++) {
        bool gone = finished >> i & 1 && !is_persistent(list->being[i]);
        if (list->requests[i] != (gone ? MPI_REQUEST_NULL : list->before[i]))
            return false;
    }
    return true;
}

static unsigned all_done(const struct list *list)
{
    unsigned set = 0;
    for (int i = 0; i < list->count; i++)
        set |= (unsigned)is_done(list->being[i]) << i;
    return set;
}

static bool all_right(const struct list *list, const struct answer *a, bool is_test)
{
    bool over = !list->pending;
    if (is_test && a->flag != over)
        return false;
    for (int i = 0; i < list->count && over; i++)
        if (!is_status_of(list, i, &a->status[i]))
            return false;
    return handles_are(list, over ? all_done(list) : 0);
}

static bool any_right(const struct list *list, const struct answer *a, bool is_test)
{
    bool active = list->done || list->pending;
    if (is_test && a->flag != (list->done || !active))
        return false;
    if (!list->done)
        return a->index == MPI_UNDEFINED && (active || is_empty(a->status)) && handles_are(list, 0);
    return a->index >= 0 && a->index < list->count && is_done(list->being[a->index]) &&
           is_status_of(list, a->index, a->status) && handles_are(list, 1u << a->index);
}

static bool some_right(const struct list *list, const struct answer *a)
{
    if (!list->done && !list->pending)
        return a->outcount == MPI_UNDEFINED && handles_are(list, 0);
    if (a->outcount != list->done)
        return false;
    for (int i = 0, next = 0; i < list->count; i++)
        if (is_done(list->being[i])) {
            if (a->indices[next] != i || !is_status_of(list, i, &a->status[next]))
                return false;
            next++;
        }
    return handles_are(list, all_done(list));
}

static bool one_right(const struct list *list, enum call call, const struct answer *a)
{
    bool over = list->being[0] != PENDING;
    if (call != WAIT && a->flag != over)
        return false;
    return (!over || is_status_of(list, 0, a->status)) &&
           handles_are(list, over && call != STATUS ? all_done(list) : 0);
}

static bool is_right(const struct list *list, enum call call, const struct answer *a)
{
    if (call == WAITALL || call == TESTALL)
        return all_right(list, a, call == TESTALL);
    if (call == WAITANY || call == TESTANY)
        return any_right(list, a, call == TESTANY);
    if (call == WAITSOME || call == TESTSOME)
        return some_right(list, a);
    return one_right(list, call, a);
}

static void ask(unsigned code, int count, enum call call)
{
    struct list list;
    struct answer answer;
    list_make(&list, code, count);
    if (returns(&list, call)) {
        expect_ok(call_it(&list, call, &answer));
        expect(is_right(&list, call, &answer),
               "%s of %d requests, code %u: flag %d, index %d, outcount %d, first %d, source %d",
               call_names[call], count, code, answer.flag, answer.index, answer.outcount,
               answer.indices[0], answer.status[0].MPI_SOURCE);
    }
    list_end(&list);
}

static void every_call(int rank, int size)
{
    (void)rank, (void)size;
    for (int count = 0, codes = 1; count <= 3; count++, codes *= BEINGS)
        for (unsigned code = 0; code < (unsigned)codes; code++)
            for (int call = 0; call < CALLS; call++)
                if (count == 1 || (count != 1 && call != WAIT && call != TEST && call != STATUS))
                    ask(code, count, (enum call)call);
}

/* Two of the four receives done, in every place of the list, under every call that takes some. */
static void pairs_of_four(int rank, int size)
{
    (void)rank, (void)size;
    for (int first = 0; first < SLOTS; first++)
        for (int second = first + 1; second < SLOTS; second++)
            for (int call = 0; call < CALLS; call++) {
                unsigned code = 0, place = 1;
                for (int i = 0; i < SLOTS; i++, place *= BEINGS)
                    code += place * (i == first    ? (unsigned)DONE
                                     : i == second ? (unsigned)DONE_AGAIN
                                                   : (unsigned)(i % 2 ? INACTIVE : PENDING));
                if (call != WAIT && call != TEST && call != STATUS)
                    ask(code, SLOTS, (enum call)call);
            }
}

int main(void)
{
    world_test_sizes("every call completes what is active and done, and nothing else", every_call,
                     WORLD_ANY, WORLD_SIZES(1));
    world_test_sizes("two of four, in any places", pairs_of_four, WORLD_ANY, WORLD_SIZES(1, 2));
    return tap_done();
}
