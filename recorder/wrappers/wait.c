/* PMPI layer: waits and tests. See wrappers.h.
 *
 * A wait is recorded before it blocks, with the requests it names; what it completed is marked when
 * it returns. A test is recorded only when it succeeded, or ended the rank. */
#include "recorder/wrappers/wrappers.h"

void recorder_waits(struct recorder_rank *me, uint32_t op, uint32_t first)
{
    size_t size = sizeof(struct record_waits) + 2 * sizeof(uint32_t);
    struct record_waits *record = recorder_record(me, size);
    if (!record)
        return;
    record->op = op;
    record->n = 2;
    record->starts[0] = first;
    record->starts[1] = first + 1;
    recorder_commit(me, record, RECORD_WAITS, 0, size);
}

/* A wait on a persistent request that nobody has started carries what it would have done. */
static void not_started(const struct recorder_rank *me, struct record_op *wait,
                        const struct recorder_request *idle)
{
    const struct record_op *pattern = idle->pattern;
    if (!pattern)
        return;
    wait->peer = pattern->peer >= 0 ? pattern->peer : (int32_t)me->rank;
    wait->tag = pattern->tag;
}

/* The first partition that is not ready, from 1. */
static int32_t missing(const struct recorder_request *sent)
{
    const struct recorder_parts *parts = sent->parts;
    uint32_t first = 0;
    while (first < parts->count && parts->ready[first])
        first++;
    return (int32_t)first + 1;
}

/* A wait on a partitioned send of which not everything is ready says what is missing. */
static void not_ready(const struct recorder_rank *me, struct record_op *wait,
                      const struct recorder_request *sent)
{
    not_started(me, wait, sent);
    wait->count = missing(sent);
}

/* In vain: of one that is under way, else of one that is not ready, else of none. */
static void polled(struct recorder_rank *me, enum op_kind kind, const struct recorder_request *open,
                   const void *site)
{
    struct record_poll poll = {.ops = me->ops,
                               .kind = kind,
                               .request = UINT32_MAX,
                               .peer = RECORD_NONE,
                               .tag = RECORD_NONE,
                               .site = recorder_site(me, site)};
    if (open && open->active) {
        poll.request = open->index;
    } else if (open && open->parts) {
        struct record_op sent = {.peer = RECORD_NONE, .tag = RECORD_NONE};
        not_started(me, &sent, open);
        poll.peer = sent.peer;
        poll.tag = sent.tag;
        poll.part = missing(open);
    }
    me->info->polls++;
    me->info->poll = poll;
}

static struct record_op *one(struct recorder_rank *me, enum op_kind kind,
                             const struct recorder_request *pending, MPI_Request handle,
                             const void *site)
{
    struct record_op *op = recorder_op(me, kind, STATE_BLOCKED, site);
    if (!op)
        return NULL;
    if (!pending && handle != MPI_REQUEST_NULL)
        return op; /* of a kind that is not recorded: the program's own operation */
    bool open = pending && recorder_request_is_open(pending);
    if (!open)
        op->flags |= OP_INACTIVE;
    if (!pending)
        return op;
    if (!open)
        not_started(me, op, pending);
    else if (!pending->active)
        not_ready(me, op, pending);
    else if (pending->second) /* two starts: rows say so, not the one number */
        recorder_waits(me, me->self->op, pending->index);
    else
        op->request = pending->index;
    return op;
}

/* Taken while a call may complete it: MPI may give its handle to another thread's request before
 * that call is back in the recorder. */
static struct recorder_request *take(struct recorder_rank *me, MPI_Request handle)
{
    struct recorder_request *request = recorder_request_find(me, handle);
    if (request)
        request->taken = true;
    return request;
}

/* A receive from any source may be told of a failure and go on waiting. */
static bool stands_back(int error)
{
#ifdef SIM_MPI_EXT_H
    return error == MPIX_ERR_PROC_FAILED_PENDING;
#else
    return (void)error, false;
#endif
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    struct recorder_rank *me = recorder_enter();
    if (!me)
        return PMPI_Wait(request, status);
    uint64_t key = HANDLE_KEY(*request);
    struct recorder_request *pending = take(me, *request);
    struct record_op *op = one(me, OP_WAIT, pending, *request, CALLER);
    recorder_leave(me);
    MPI_Status own, *used = status == MPI_STATUS_IGNORE ? &own : status;
    int error = PMPI_Wait(request, used);
    recorder_reenter(me);
    if (op)
        recorder_op_end(me, op, error);
    if (pending && stands_back(error))
        pending->taken = false;
    else if (pending)
        recorder_request_complete(me, key, pending, used, me->self->op);
    recorder_leave(me);
    return error;
}

/* A message may arrive between the call's end and here, in memory that the program misuses: where the
 * program's flag lies is not looked at. */
static void tell_flag(int *flag, int done, int error)
{
    if (flag && error == MPI_SUCCESS)
        *flag = done;
}

/* A test of one request. */
struct tested {
    const struct recorder_request *pending;
    MPI_Request handle;
    const void *site;
};

static void tested_begin(struct recorder_rank *me, const void *call)
{
    const struct tested *tested = call;
    one(me, OP_TEST, tested->pending, tested->handle, tested->site);
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    struct recorder_rank *me = recorder_enter();
    if (!me)
        return PMPI_Test(request, flag, status);
    const void *site = CALLER;
    me->self->test.site = NULL; /* a handler of errors may have jumped out of the last one */
    uint64_t key = HANDLE_KEY(*request);
    MPI_Request started = *request;
    struct recorder_request *pending = take(me, started);
    const struct tested tested = {pending, started, site};
    me->self->test = (struct recorder_test){site, tested_begin, &tested};
    recorder_leave(me);
    MPI_Status own, *used = status == MPI_STATUS_IGNORE ? &own : status;
    int done = 0, error = PMPI_Test(request, flag ? &done : NULL, used);
    recorder_reenter(me);
    me->self->test.site = NULL;
    tell_flag(flag, done, error);
    if (error == MPI_SUCCESS && !done) {
        polled(me, OP_TEST, pending, site);
        if (pending)
            pending->taken = false;
    } else if (pending || error != MPI_SUCCESS) { /* a null request says nothing */
        struct record_op *op = one(me, OP_TEST, pending, started, site);
        if (op)
            recorder_op_end(me, op, error);
        if (pending && done) /* with an error, too */
            recorder_request_complete(me, key, pending, used, me->self->op);
        else if (pending)
            pending->taken = false;
    }
    recorder_leave(me);
    return error;
}

/* A call on several requests, from before it blocks to after it returned. */
struct several {
    struct recorder_rank *me;
    int count;
    MPI_Status *statuses; /* where the caller wants none */
    uint64_t *keys;
    struct recorder_request **pending;
    struct record_op *op;
    struct record_waits
        *record; /* the part that holds all starts, NULL when they need several parts */
    uint32_t number;
    bool any;                      /* some request was active */
    bool other;                    /* or is of a kind that is not recorded */
    struct recorder_request *idle; /* a persistent one that nobody has started, NULL */
    struct recorder_request *sent; /* a partitioned send of which not everything is ready, NULL */
    size_t starts;                 /* of one request, at most: 2 where one is an Isendrecv's */
    enum op_kind kind;             /* of a test */
    const void *site;              /* of a test */
};

/* The arrays of a call on few requests, on its stack; only what is used of them is written. */
enum { FEW = 64 };
struct few {
    uint64_t keys[FEW];
    struct recorder_request *pending[FEW];
};

/* Keys and pending requests of the array, in memory of the caller's choosing. */
static void several_look(struct several *several, const MPI_Request *requests)
{
    several->any = several->other = false;
    several->idle = several->sent = NULL;
    several->starts = 1;
    for (int i = 0; i < several->count; i++) {
        several->keys[i] = HANDLE_KEY(requests[i]);
        several->pending[i] = take(several->me, requests[i]);
        bool known = several->pending[i];
        if (known && !recorder_request_is_open(several->pending[i])) {
            several->idle = several->pending[i];
            several->pending[i]->taken = false;
            several->pending[i] = NULL;
        }
        if (several->pending[i] && !several->pending[i]->active)
            several->sent = several->pending[i];
        several->any = several->any || several->pending[i];
        several->other = several->other || (requests[i] != MPI_REQUEST_NULL && !known);
        if (several->pending[i] && several->pending[i]->second)
            several->starts = 2;
    }
}

static void several_begin(struct several *several, enum op_kind kind, const void *site)
{
    struct recorder_rank *me = several->me;
    several->op = recorder_op(me, kind, STATE_BLOCKED, site);
    several->record = NULL;
    several->number = me->self->op;
    if (!several->op)
        return;
    if (!several->any && !several->other)
        several->op->flags |= OP_INACTIVE;
    if (several->idle)
        not_started(me, several->op, several->idle);
    else if (several->sent)
        not_ready(me, several->op, several->sent);
    enum { PART = 4096 };
    for (int first = 0; first < several->count;) {
        uint32_t n = 0;
        size_t room = (size_t)(several->count - first < PART ? several->count - first : PART);
        size_t size = sizeof(struct record_waits) +
                      ((room * several->starts + 1) & ~(size_t)1) * sizeof(uint32_t);
        struct record_waits *record = recorder_record(me, size);
        if (!record)
            return;
        several->record = several->count <= PART ? record : NULL;
        for (size_t i = 0; i < room; i++, first++)
            if (several->pending[first] && several->pending[first]->active) {
                record->starts[n++] = several->pending[first]->index;
                if (several->pending[first]->second)
                    record->starts[n++] = several->pending[first]->index + 1;
            }
        record->op = several->number;
        record->n = n;
        recorder_commit(me, record, RECORD_WAITS, 0, size);
    }
}

static void several_tested(struct recorder_rank *me, const void *call)
{
    struct several several = *(const struct several *)call;
    (void)me;
    several_begin(&several, several.kind, several.site);
}

/* A test begins. */
static void several_test(struct several *several, enum op_kind kind, const void *site)
{
    several->kind = kind;
    several->site = site;
    several->me->self->test = (struct recorder_test){site, several_tested, several};
}

/* The end of the call: what it did not complete others may. */
static void several_end(const struct several *several)
{
    several->me->self->test.site = NULL;
    for (int i = 0; i < several->count; i++)
        if (several->pending[i])
            several->pending[i]->taken = false;
    recorder_leave(several->me);
}

/* What it names is about to be marked: see ahead.c. */
static void several_ahead(const struct several *several)
{
    struct recorder_rank *me = several->me;
    if (several->record && me->paced && *me->pace.wide)
        recorder_ahead_note(me, NULL, several->record);
}

/* Marks request `i` as completed by this call. */
static void several_completed(struct several *several, int i, const MPI_Status *status)
{
    struct recorder_request *pending = several->pending[i];
    if (!pending)
        return;
    several_ahead(several);
    uint32_t start = pending->index, last = start + (pending->second != NULL);
    recorder_request_complete(several->me, several->keys[i], pending, status, several->number);
    several->pending[i] = NULL;
    for (uint32_t k = 0; several->record && k < several->record->n; k++)
        if (several->record->starts[k] == start) {
            several->record->starts[k] |= 1u << 31;
            if (start++ == last)
                break;
        }
}

/* For waits that complete all: no search. */
static void several_all(struct several *several, const MPI_Status *statuses)
{
    several_ahead(several);
    for (int i = 0; i < several->count; i++)
        if (several->pending[i]) {
            recorder_request_complete(several->me, several->keys[i], several->pending[i],
                                      &statuses[i], several->number);
            several->pending[i] = NULL;
        }
    for (uint32_t k = 0; several->record && k < several->record->n; k++)
        several->record->starts[k] |= 1u << 31;
}

/* After a call that completes all, or failed: its statuses say then which of them are over. */
static void all_ended(struct several *several, int error, const MPI_Status *statuses)
{
    if (several->op)
        recorder_op_end(several->me, several->op, error);
    if (error == MPI_SUCCESS)
        several_all(several, statuses);
    for (int i = 0; i < several->count && error == MPI_ERR_IN_STATUS; i++)
        if (statuses[i].MPI_ERROR != MPI_ERR_PENDING && !stands_back(statuses[i].MPI_ERROR))
            several_completed(several, i, &statuses[i]);
}

static void several_poll(struct several *several, enum op_kind kind, const void *site)
{
    const struct recorder_request *open = several->sent;
    for (int i = 0; i < several->count && (!open || !open->active); i++)
        if (several->pending[i] && several->pending[i]->active)
            open = several->pending[i];
    polled(several->me, kind, open, site);
}

/* Enters the recorder. The arrays live in the thread's scratch memory (a thread is in one such call
 * at a time). */
static bool several_init(struct several *several, int count, const MPI_Request *requests,
                         struct few *few)
{
    struct recorder_rank *me = recorder_enter();
    if (!me || count < 0 || !recorder_scratch(me, (size_t)count)) {
        recorder_leave(me);
        return false;
    }
    *several = (struct several){.me = me, .count = count};
    me->self->test.site = NULL;
    several->statuses = me->self->statuses;
    several->keys = count <= FEW ? few->keys : me->self->keys;
    several->pending = count <= FEW ? few->pending : me->self->pending;
    several_look(several, requests);
    return true;
}

int MPI_Waitall(int count, MPI_Request *requests, MPI_Status *statuses)
{
    struct several several;
    struct few few;
    if (!several_init(&several, count, requests, &few))
        return PMPI_Waitall(count, requests, statuses);
    several_begin(&several, OP_WAITALL, CALLER);
    recorder_leave(several.me);
    MPI_Status *used = statuses == MPI_STATUSES_IGNORE ? several.statuses : statuses;
    int error = PMPI_Waitall(count, requests, used);
    recorder_reenter(several.me);
    all_ended(&several, error, used);
    several_end(&several);
    return error;
}

int MPI_Testall(int count, MPI_Request *requests, int *flag, MPI_Status *statuses)
{
    struct several several;
    struct few few;
    const void *site = CALLER;
    if (!several_init(&several, count, requests, &few))
        return PMPI_Testall(count, requests, flag, statuses);
    MPI_Status *used = statuses == MPI_STATUSES_IGNORE ? several.statuses : statuses;
    several_test(&several, OP_TESTALL, site);
    recorder_leave(several.me);
    int done = 0, error = PMPI_Testall(count, requests, flag ? &done : NULL, used);
    recorder_reenter(several.me);
    tell_flag(flag, done, error);
    if (error == MPI_SUCCESS && !done) {
        several_poll(&several, OP_TESTALL, site);
    } else if (several.any || error != MPI_SUCCESS) {
        several_begin(&several, OP_TESTALL, site);
        all_ended(&several, error, used);
    }
    several_end(&several);
    return error;
}

/* Where MPI says nothing of the requests, as the call itself is wrong. */
enum { UNSAID = -1 };
_Static_assert(UNSAID != MPI_UNDEFINED, "which is an answer");

/* The one that an error is of is over, too. */
static void any_ended(struct several *several, int error, int index, const MPI_Status *status)
{
    if (several->op)
        recorder_op_end(several->me, several->op, error);
    if (index >= 0 && index < several->count && !stands_back(error))
        several_completed(several, index, status);
}

static void tell_index(int *index, int which)
{
    if (index && which != UNSAID)
        *index = which;
}

int MPI_Waitany(int count, MPI_Request *requests, int *index, MPI_Status *status)
{
    struct several several;
    struct few few;
    if (!several_init(&several, count, requests, &few))
        return PMPI_Waitany(count, requests, index, status);
    several_begin(&several, OP_WAITANY, CALLER);
    recorder_leave(several.me);
    MPI_Status own, *used = status == MPI_STATUS_IGNORE ? &own : status;
    int which = UNSAID, error = PMPI_Waitany(count, requests, index ? &which : NULL, used);
    recorder_reenter(several.me);
    tell_index(index, which);
    any_ended(&several, error, which, used);
    several_end(&several);
    return error;
}

int MPI_Testany(int count, MPI_Request *requests, int *index, int *flag, MPI_Status *status)
{
    struct several several;
    struct few few;
    const void *site = CALLER;
    if (!several_init(&several, count, requests, &few))
        return PMPI_Testany(count, requests, index, flag, status);
    MPI_Status own, *used = status == MPI_STATUS_IGNORE ? &own : status;
    several_test(&several, OP_TESTANY, site);
    recorder_leave(several.me);
    int which = UNSAID, done = 0;
    int error = PMPI_Testany(count, requests, index ? &which : NULL, flag ? &done : NULL, used);
    recorder_reenter(several.me);
    tell_flag(flag, done, error);
    tell_index(index, which);
    if (error == MPI_SUCCESS && !done) {
        several_poll(&several, OP_TESTANY, site);
    } else if (several.any || error != MPI_SUCCESS) {
        several_begin(&several, OP_TESTANY, site);
        any_ended(&several, error, which, used);
    }
    several_end(&several);
    return error;
}

static void some_ended(struct several *several, int error, const int *completed, const int *indices,
                       const MPI_Status *statuses)
{
    bool told = error == MPI_SUCCESS || error == MPI_ERR_IN_STATUS;
    if (several->op)
        recorder_op_end(several->me, several->op, error);
    for (int i = 0; told && i < *completed; i++)
        several_completed(several, indices[i], &statuses[i]);
}

int MPI_Waitsome(int count, MPI_Request *requests, int *completed, int *indices,
                 MPI_Status *statuses)
{
    struct several several;
    struct few few;
    if (!several_init(&several, count, requests, &few))
        return PMPI_Waitsome(count, requests, completed, indices, statuses);
    several_begin(&several, OP_WAITSOME, CALLER);
    recorder_leave(several.me);
    MPI_Status *used = statuses == MPI_STATUSES_IGNORE ? several.statuses : statuses;
    int error = PMPI_Waitsome(count, requests, completed, indices, used);
    recorder_reenter(several.me);
    some_ended(&several, error, completed, indices, used);
    several_end(&several);
    return error;
}

int MPI_Testsome(int count, MPI_Request *requests, int *completed, int *indices,
                 MPI_Status *statuses)
{
    struct several several;
    struct few few;
    const void *site = CALLER;
    if (!several_init(&several, count, requests, &few))
        return PMPI_Testsome(count, requests, completed, indices, statuses);
    MPI_Status *used = statuses == MPI_STATUSES_IGNORE ? several.statuses : statuses;
    several_test(&several, OP_TESTSOME, site);
    recorder_leave(several.me);
    int error = PMPI_Testsome(count, requests, completed, indices, used);
    recorder_reenter(several.me);
    if (error == MPI_SUCCESS && *completed == 0) {
        several_poll(&several, OP_TESTSOME, site);
    } else if (several.any || error != MPI_SUCCESS) {
        several_begin(&several, OP_TESTSOME, site);
        some_ended(&several, error, completed, indices, used);
    }
    several_end(&several);
    return error;
}
