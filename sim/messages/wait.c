/* Wait and Test in all their forms, Request_free, Cancel, Request_get_status.
 *
 * Which of several completed requests Waitany and Testany report is a choice (MPIX_CHOOSE_WAITANY);
 * by default the next behind the one reported last. */
#include "recorder/recorder.h"
#include "sim/memory/pending.h"
#include "sim/messages/deferred.h"
#include "sim/messages/failures.h"
#include "sim/messages/mailbox.h"
#include "sim/messages/point.h"
#include "sim/messages/status.h"
#include "sim/worlds/error.h"
#include "sim/worlds/open_handles.h"

#include <stdlib.h>

static void empty_status(MPI_Status *status)
{
    if (status == MPI_STATUS_IGNORE)
        return;
    status->MPI_SOURCE = MPI_ANY_SOURCE;
    status->MPI_TAG = MPI_ANY_TAG;
    status->MPI_ERROR = MPI_SUCCESS;
    sim_status_set_bytes(status, 0);
    sim_status_set_cancelled(status, false);
}

/* Looks a handle up: NULL request and MPI_SUCCESS for MPI_REQUEST_NULL. */
static int look_up(struct sim_rank *rank, MPI_Request handle, const char *function,
                   struct sim_request **request)
{
    *request = NULL;
    if (handle == MPI_REQUEST_NULL)
        return MPI_SUCCESS;
    *request = sim_request_get(rank, handle);
    if (*request)
        return MPI_SUCCESS;
    return sim_error_raise(MPI_COMM_NULL, MPI_ERR_REQUEST, function,
                           "request is not a live request of this rank");
}

static int raise_null(const char *function)
{
    return sim_error_raise(MPI_COMM_NULL, MPI_ERR_REQUEST, function, "request is MPI_REQUEST_NULL");
}

static bool is_active(const struct sim_request *request)
{
    return request && request->state != SIM_INACTIVE;
}

static bool all_done(struct sim_request **requests, int count)
{
    for (int i = 0; i < count; i++)
        if (requests[i] && !sim_request_done(requests[i]))
            return false;
    return true;
}

/* As the rank is told in this run. */
static bool is_done_now(struct sim_rank *rank, struct sim_request **requests, int count)
{
    bool active = false;
    for (int i = 0; i < count && rank->world->exploring; i++)
        active = active || is_active(requests[i]);
    if (active)
        return sim_deferred_waitany(rank, requests, count, SIM_POLL_ALL) >= 0;
    return all_done(requests, count);
}

/* Whether all of them are done, as far as the rank is told (delayed.h). In the monitor. */
static bool is_done(struct sim_rank *rank, struct sim_request **requests, int count)
{
    int answer;
    bool done;
    if (!sim_request_answered(rank, SIM_ASKED_POLL, &answer)) {
        done = is_done_now(rank, requests, count);
    } else {
        for (int i = 0; answer >= 0 && i < count; i++)
            if (requests[i])
                sim_request_wait(requests[i]);
        done = answer >= 0 && all_done(requests, count);
    }
    sim_request_answer_note(rank, SIM_ASKED_POLL, done ? 0 : -1);
    return done;
}

/* The first that stands back (failures.h); -1: none does. */
static int first_standing_back(struct sim_request **requests, int count)
{
    for (int i = 0; i < count; i++)
        if (requests[i] && sim_request_stands_back(requests[i]))
            return i;
    return -1;
}

/* A test found nothing: what it returns. In the monitor. */
static int poll_failed(struct sim_rank *rank, struct sim_request **requests, int count)
{
    bool stands_back = rank->world->troubled && first_standing_back(requests, count) >= 0;
    sim_rank_poll_failed(rank);
    return stands_back ? MPIX_ERR_PROC_FAILED_PENDING : MPI_SUCCESS;
}

static MPI_Comm comm_of(const struct sim_request *request)
{
    return request->comm ? sim_comm_handle(request->comm) : MPI_COMM_NULL;
}

static void tell_touched(const struct sim_request *request)
{
    bool matched = request->kind == SIM_REQUEST_RECEIVE && request->state == SIM_COMPLETE;
    if (request->call)
        record_note("B001", "%s of %s was written between its start and this completion",
                    request->work->arrays_changed(request)
                        ? "an array of counts, displacements or datatypes"
                        : "a buffer",
                    request->work->name(request, (char[SIM_NAME_MAX]){0}));
    else if (request->kind == SIM_REQUEST_SEND)
        record_note("B001",
                    "the buffer of a send (to %d, tag %d) was written between its start and this "
                    "completion",
                    request->peer, request->tag);
    else
        record_note("B001",
                    "the buffer of a receive (%s %d, tag %d) was written between its start and "
                    "this completion",
                    matched ? "from" : "posted from",
                    matched ? request->source_matched : request->peer,
                    matched ? request->tag_matched : request->tag);
}

/* What it was to bring is there, and nobody else has written its buffer; `told`: has said so. */
static void look_at(struct sim_request *request, bool told)
{
    bool held = request->held || (request->partitioned && request->partitioned_fill);
    sim_request_fill(request);
    if (request->guarded)
        sim_request_inspect(request);
    if ((request->guarded || held) && request->touched && !told)
        tell_touched(request);
}

/* Gives a done request back: its status, its error; a persistent one becomes inactive, another is
 * gone. In the monitor. */
static int finish(struct sim_request *request, MPI_Request *handle, MPI_Status *status)
{
    if (request->state == SIM_INACTIVE) {
        empty_status(status);
        return MPI_SUCCESS;
    }
    sim_request_status(request, status);
    bool told = sim_pending_end(request->owner, request);
    for (int i = 0; i < 2 && request->part[i]; i++)
        look_at(request->part[i], told);
    look_at(request, told);
    if (request->call)
        request->work->tell(request);
    if (request->owner->world->exploring)
        sim_deferred_seen(request->owner, request);
    int error = request->error;
    if (request->kind == SIM_REQUEST_GENERAL)
        error = sim_general_finish(request, status);
    if (request->persistent) {
        request->state = SIM_INACTIVE;
        return error;
    }
    sim_request_delete(request);
    *handle = MPI_REQUEST_NULL;
    return error;
}

static int raise_for(MPI_Comm comm, const char *function, int error)
{
    if (!error)
        return MPI_SUCCESS;
    const char *failure = sim_failure_sentence(error);
    if (comm == MPI_COMM_NULL &&
        !failure) /* a generalized one: its functions say what has failed */
        return sim_error_raise_callback(comm, error, function,
                                        "an operation it completed has failed");
    return sim_error_raise(comm, error, function, "%s",
                           failure ? failure
                           : error == MPI_ERR_TRUNCATE
                               ? "a message was longer than the receive buffer"
                               : "an operation it completed has failed");
}

int PMPI_Wait(MPI_Request *handle, MPI_Status *status)
{
    struct sim_rank *rank = sim_point_caller("Wait");
    if (!rank)
        return MPI_ERR_OTHER;
    struct sim_request *request;
    int error = look_up(rank, *handle, "Wait", &request);
    if (error)
        return error;
    if (!request) {
        empty_status(status);
        return MPI_SUCCESS;
    }
    MPI_Comm comm = comm_of(request);
    sim_world_enter(rank->world);
    sim_rank_starts_end(rank);
    if (!sim_request_wait(request))
        sim_rank_give_way(rank);
    error =
        sim_request_done(request) ? finish(request, handle, status) : MPIX_ERR_PROC_FAILED_PENDING;
    sim_world_leave(rank->world);
    return raise_for(comm, "Wait", error);
}

int PMPI_Test(MPI_Request *handle, int *flag, MPI_Status *status)
{
    struct sim_rank *rank = sim_point_caller("Test");
    if (!rank)
        return MPI_ERR_OTHER;
    struct sim_request *request;
    int error = look_up(rank, *handle, "Test", &request);
    error = error ? error : sim_point_output(flag, "flag", "Test");
    if (error)
        return error;
    if (!request) {
        *flag = 1;
        empty_status(status);
        return MPI_SUCCESS;
    }
    MPI_Comm comm = comm_of(request);
    sim_world_enter(rank->world);
    *flag = is_done(rank, &request, 1);
    if (*flag)
        error = finish(request, handle, status);
    else
        error = poll_failed(rank, &request, 1);
    sim_world_leave(rank->world);
    return raise_for(comm, "Test", error);
}

/* ---- several requests ---- */

struct many {
    struct sim_rank *rank;
    const char *function;
    int count;
    MPI_Request *handles;
    struct sim_request **requests; /* NULL for MPI_REQUEST_NULL */
    int active;                    /* neither null nor inactive */
    struct sim_request *few[16];
};

static void many_release(struct many *many)
{
    if (many->requests != many->few)
        free(many->requests);
}

/* Where the call says which, and whether; one may be given for both. */
static int many_outputs(struct many *many, const int *place, const char *name, const int *flag)
{
    int error = sim_point_output(place, name, many->function);
    error = error ? error : sim_point_output(flag, "flag", many->function);
    if (error)
        many_release(many);
    return error;
}

/* Others complete requests, so it takes the monitor to look at them. Not a step of logical time. The
 * place of an active request that stands in the list already; -1: each stands there once. */
static int many_count_active(struct many *many)
{
    int again = -1;
    struct sim_world *world = many->rank->world;
    if (world->threaded)
        sim_threads_enter(world);
    for (int i = 0; i < many->count; i++)
        if (is_active(many->requests[i])) {
            many->active++;
            again = again < 0 && many->requests[i]->listed ? i : again;
            many->requests[i]->listed = true;
        }
    for (int i = 0; i < many->count; i++)
        if (many->requests[i])
            many->requests[i]->listed = false;
    sim_world_leave(world);
    return again;
}

static int many_init(struct many *many, const char *function, int count, MPI_Request *handles)
{
    many->requests = many->few;
    many->active = 0;
    many->rank = sim_point_caller(function);
    if (!many->rank)
        return MPI_ERR_OTHER;
    many->function = function;
    many->count = count;
    many->handles = handles;
    if (count < 0)
        return sim_error_raise(MPI_COMM_NULL, MPI_ERR_ARG, function,
                               "count of requests is %d: it must not be negative", count);
    int missing = count ? sim_point_output(handles, "array_of_requests", function) : MPI_SUCCESS;
    if (missing)
        return missing;
    if (count > 16)
        many->requests = malloc((size_t)count * sizeof(struct sim_request *));
    for (int i = 0; i < count; i++) {
        int error = look_up(many->rank, handles[i], function, &many->requests[i]);
        if (error) {
            many_release(many);
            return error;
        }
    }
    int again = many_count_active(many);
    if (again < 0)
        return MPI_SUCCESS;
    MPI_Comm comm = comm_of(many->requests[again]);
    many_release(many);
    return sim_error_raise(comm, MPI_ERR_REQUEST, function,
                           "request %d of the list is an active request that stands in it already",
                           again);
}

static MPI_Status *status_at(MPI_Status *statuses, int i)
{
    return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
}

/* Finishes all; the class to raise: MPI_ERR_IN_STATUS when one of them failed. They are done, but
 * where one stands back: that and the others that are not stay as they are. */
static int finish_all(struct many *many, MPI_Status *statuses)
{
    int worst = MPI_SUCCESS;
    for (int i = 0; i < many->count; i++) {
        MPI_Status *status = status_at(statuses, i);
        int error = MPI_SUCCESS;
        if (many->requests[i] && !sim_request_done(many->requests[i]))
            error = sim_request_stands_back(many->requests[i]) ? MPIX_ERR_PROC_FAILED_PENDING
                                                               : MPI_ERR_PENDING;
        else if (many->requests[i])
            error = finish(many->requests[i], &many->handles[i], status);
        else
            empty_status(status);
        if (status)
            status->MPI_ERROR = error;
        if (error)
            worst = MPI_ERR_IN_STATUS;
    }
    return worst;
}

static MPI_Comm comm_of_first(const struct many *many)
{
    for (int i = 0; i < many->count; i++)
        if (many->requests[i])
            return comm_of(many->requests[i]);
    return MPI_COMM_NULL;
}

/* Whether it had to wait. Of several; it ends where any of them stands back, as that may be what the
 * sender of this one hears of first. */
static bool wait_among(const struct many *many, struct sim_request *request)
{
    struct sim_rank *rank = many->rank;
    bool waited = false;
    while (!sim_request_done(request) &&
           !(rank->world->troubled && first_standing_back(many->requests, many->count) >= 0)) {
        request->waiter = rank;
        rank->reconsiders = true;
        sim_rank_block_early(rank);
        rank->reconsiders = false;
        request->waiter = NULL;
        waited = true;
    }
    return (sim_request_done(request) && sim_request_wait(request)) || waited;
}

int PMPI_Waitall(int count, MPI_Request *handles, MPI_Status *statuses)
{
    struct many many;
    int error = many_init(&many, "Waitall", count, handles);
    if (error)
        return error;
    MPI_Comm comm = comm_of_first(&many);
    sim_world_enter(many.rank->world);
    sim_rank_starts_end(many.rank);
    bool stands_back = false, waited = !many.active;
    for (int i = 0; i < count && !stands_back; i++)
        if (many.requests[i]) {
            waited |= wait_among(&many, many.requests[i]);
            stands_back = !sim_request_done(many.requests[i]);
        }
    if (!waited)
        sim_rank_give_way(many.rank);
    error = finish_all(&many, statuses);
    sim_world_leave(many.rank->world);
    many_release(&many);
    return raise_for(comm, "Waitall", error);
}

int PMPI_Testall(int count, MPI_Request *handles, int *flag, MPI_Status *statuses)
{
    struct many many;
    int error = many_init(&many, "Testall", count, handles);
    if (error)
        return error;
    error = many_outputs(&many, flag, "flag", flag);
    if (error)
        return error;
    MPI_Comm comm = comm_of_first(&many);
    sim_world_enter(many.rank->world);
    *flag = is_done(many.rank, many.requests, count);
    if (*flag)
        error = finish_all(&many, statuses);
    else
        error = poll_failed(many.rank, many.requests, count);
    sim_world_leave(many.rank->world);
    many_release(&many);
    return raise_for(comm, "Testall", error);
}

/* The next one behind the one reported last, and from the start again: who waits in a loop for what
 * is always ready again still hears of everything. */
static int next_done(const struct many *many)
{
    int from = many->rank->reported_next, pick = -1;
    for (int i = 0; i < many->count; i++) {
        if (!is_active(many->requests[i]) || !sim_request_done(many->requests[i]))
            continue;
        if (pick < 0 || i >= from)
            pick = i;
        if (i >= from)
            break;
    }
    many->rank->reported_next = pick + 1;
    return pick;
}

/* As this run has it. */
static int pick_done_now(const struct many *many)
{
    const struct sim_chooser *chooser = &many->rank->world->chooser;
    if (chooser->driver == SIM_CHOOSE_DEFAULT && !chooser->logging)
        return next_done(many);
    uint32_t done = 0;
    int first = -1;
    for (int i = 0; i < many->count; i++) {
        if (!is_active(many->requests[i]) || !sim_request_done(many->requests[i]))
            continue;
        if (!done++)
            first = i;
    }
    if (done < 2)
        return first;
    uint32_t pick = sim_rank_choose(many->rank, MPIX_CHOOSE_WAITANY, done, NULL);
    for (int i = first;; i++)
        if (is_active(many->requests[i]) && sim_request_done(many->requests[i]) && pick-- == 0)
            return i;
}

/* The request that was done in the run that is followed: waits for it. False: it can be none of these,
 * or stands back. In the monitor. */
static bool await(const struct many *many, int which)
{
    struct sim_request *request = which < many->count ? many->requests[which] : NULL;
    if (is_active(request))
        sim_request_wait(request);
    return is_active(request) && sim_request_done(request);
}

/* Which done request is reported: -1 when none is. In the monitor. */
static int pick_done(const struct many *many)
{
    int which;
    if (!sim_request_answered(many->rank, SIM_ASKED_WHICH, &which))
        which = pick_done_now(many);
    else if (which >= 0 && await(many, which))
        many->rank->reported_next = which + 1;
    else if (which >= 0)
        which = pick_done_now(many);
    sim_request_answer_note(many->rank, SIM_ASKED_WHICH, which);
    return which;
}

static bool some_done(const struct many *many)
{
    for (int i = 0; i < many->count; i++)
        if (is_active(many->requests[i]) && sim_request_done(many->requests[i]))
            return true;
    return false;
}

/* Blocks until one of the active requests is done: -1, or stands back: which. In the monitor. */
static int wait_for_one(struct many *many)
{
    sim_world_order_matters(many->rank->world);
    while (!some_done(many)) {
        int standing =
            many->rank->world->troubled ? first_standing_back(many->requests, many->count) : -1;
        if (standing >= 0)
            return standing;
        for (int i = 0; i < many->count; i++)
            if (is_active(many->requests[i]))
                many->requests[i]->waiter = many->rank;
        sim_rank_block(many->rank);
        for (int i = 0; i < many->count; i++)
            if (is_active(many->requests[i]))
                many->requests[i]->waiter = NULL;
    }
    return -1;
}

int PMPI_Waitany(int count, MPI_Request *handles, int *index, MPI_Status *status)
{
    struct many many;
    int error = many_init(&many, "Waitany", count, handles);
    error = error ? error : many_outputs(&many, index, "index", index);
    if (error)
        return error;
    *index = MPI_UNDEFINED;
    empty_status(status);
    MPI_Comm comm = MPI_COMM_NULL;
    if (many.active) {
        sim_world_enter(many.rank->world);
        if (many.rank->world->options.delay_wildcards && many.active > 1) {
            *index = sim_deferred_waitany(many.rank, many.requests, count, SIM_POLL_NONE);
        } else {
            int standing = wait_for_one(&many);
            *index = standing >= 0 ? standing : pick_done(&many);
        }
        comm = comm_of(many.requests[*index]);
        error = sim_request_done(many.requests[*index])
                    ? finish(many.requests[*index], &handles[*index], status)
                    : MPIX_ERR_PROC_FAILED_PENDING;
        sim_world_leave(many.rank->world);
    }
    many_release(&many);
    return raise_for(comm, "Waitany", error);
}

int PMPI_Testany(int count, MPI_Request *handles, int *index, int *flag, MPI_Status *status)
{
    struct many many;
    int error = many_init(&many, "Testany", count, handles);
    error = error ? error : many_outputs(&many, index, "index", flag);
    if (error)
        return error;
    *index = MPI_UNDEFINED;
    *flag = 1;
    empty_status(status);
    MPI_Comm comm = MPI_COMM_NULL;
    if (many.active) {
        sim_world_enter(many.rank->world);
        int done = many.rank->world->exploring
                       ? sim_deferred_waitany(many.rank, many.requests, count, SIM_POLL_ANY)
                       : pick_done(&many);
        *flag = done >= 0;
        if (*flag) {
            *index = done;
            comm = comm_of(many.requests[done]);
            error = finish(many.requests[done], &handles[done], status);
        } else {
            error = poll_failed(many.rank, many.requests, count);
            comm = comm_of_first(&many);
        }
        sim_world_leave(many.rank->world);
    }
    many_release(&many);
    return raise_for(comm, "Testany", error);
}

/* An exploration decides of each request on its own whether it is among them; those that are not
 * are left out of `requests`. */
static void pick_some(struct many *many, enum sim_poll poll)
{
    int first = sim_deferred_waitany(many->rank, many->requests, many->count, poll);
    for (int i = 0; i < many->count; i++)
        if (first < 0 || i < first ||
            (i > first && is_active(many->requests[i]) &&
             sim_deferred_waitany(many->rank, &many->requests[i], 1, SIM_POLL_REST) < 0))
            many->requests[i] = NULL;
}

/* Finishes every done request; returns how many. In the monitor. */
static int finish_some(struct many *many, int *indices, MPI_Status *statuses, int *worst)
{
    int done = 0;
    for (int i = 0; i < many->count; i++) {
        if (!is_active(many->requests[i]) || !sim_request_done(many->requests[i]))
            continue;
        MPI_Status *status = status_at(statuses, done);
        int error = finish(many->requests[i], &many->handles[i], status);
        if (status)
            status->MPI_ERROR = error;
        if (error)
            *worst = MPI_ERR_IN_STATUS;
        indices[done++] = i;
    }
    return done;
}

/* Those that were done in the run that is followed, in place of those that are: waits for them, and
 * leaves the others out of `requests`. In the monitor. */
static void keep_answered(struct many *many)
{
    int count, which = -1;
    if (!sim_request_answered(many->rank, SIM_ASKED_SOME, &count))
        return;
    for (int i = 0; i < many->count; i++) {
        if (count > 0 && which < i && sim_request_answered(many->rank, SIM_ASKED_SOME, &which))
            count--;
        if (i != which || !await(many, i))
            many->requests[i] = NULL;
    }
}

static void note_some(struct sim_rank *rank, const int *indices, int count)
{
    sim_request_answer_note(rank, SIM_ASKED_SOME, count > 0 ? count : -1);
    for (int i = 0; i < count; i++)
        sim_request_answer_note(rank, SIM_ASKED_SOME, indices[i]);
}

/* Waitsome and Testsome. */
static int some(const char *function, bool waits, struct many *many, int *outcount, int *indices,
                MPI_Status *statuses)
{
    /* the place of the indices, or of their number where there are none */
    int error = sim_point_output(many->count ? indices : outcount, "array_of_indices", function);
    error = error ? error : sim_point_output(outcount, "outcount", function);
    if (error)
        return error;
    *outcount = MPI_UNDEFINED;
    MPI_Comm comm = comm_of_first(many);
    if (many->active) {
        bool exploring = many->rank->world->exploring;
        sim_world_enter(many->rank->world);
        if (exploring)
            pick_some(many, waits ? SIM_POLL_NONE : SIM_POLL_ANY);
        int standing = waits && !exploring ? wait_for_one(many) : -1;
        keep_answered(many);
        *outcount = finish_some(many, indices, statuses, &error);
        note_some(many->rank, indices, *outcount);
        if (standing >= 0 || (waits && !*outcount)) /* an exploration leaves it in its place */
            error = MPIX_ERR_PROC_FAILED_PENDING;
        else if (!waits && !*outcount)
            error = poll_failed(many->rank, many->requests, many->count);
        sim_world_leave(many->rank->world);
    }
    return raise_for(comm, function, error);
}

#define SOME(name, waits)                                                                          \
    int PMPI_##name(int count, MPI_Request *handles, int *outcount, int *indices,                  \
                    MPI_Status *statuses)                                                          \
    {                                                                                              \
        struct many many;                                                                          \
        int error = many_init(&many, #name, count, handles);                                       \
        if (error)                                                                                 \
            return error;                                                                          \
        error = some(#name, waits, &many, outcount, indices, statuses);                            \
        many_release(&many);                                                                       \
        return error;                                                                              \
    }
SOME(Waitsome, true)
SOME(Testsome, false)
#undef SOME

/* ---- one request, other verbs ---- */

int PMPI_Request_get_status(MPI_Request handle, int *flag, MPI_Status *status)
{
    struct sim_rank *rank = sim_point_caller("Request_get_status");
    if (!rank)
        return MPI_ERR_OTHER;
    struct sim_request *request;
    int error = look_up(rank, handle, "Request_get_status", &request);
    error = error ? error : sim_point_output(flag, "flag", "Request_get_status");
    if (error)
        return error;
    *flag = 1;
    empty_status(status);
    if (!request)
        return MPI_SUCCESS;
    sim_world_enter(rank->world);
    *flag = is_done(rank, &request, 1);
    if (!*flag)
        sim_rank_poll_failed(rank);
    else if (is_active(request)) {
        sim_request_fill(request);
        sim_request_status(request, status);
    }
    sim_world_leave(rank->world);
    return MPI_SUCCESS;
}

static bool is_open_in_parts(struct sim_request *request)
{
    if (!request->partitioned)
        return false;
    sim_world_enter(request->owner->world);
    bool open = is_active(request);
    sim_world_leave(request->owner->world);
    return open;
}

int PMPI_Request_free(MPI_Request *handle)
{
    struct sim_rank *rank = sim_point_caller("Request_free");
    if (!rank)
        return MPI_ERR_OTHER;
    struct sim_request *request;
    int error = look_up(rank, *handle, "Request_free", &request);
    if (error || !request)
        return error ? error : raise_null("Request_free");
    if (request->kind == SIM_REQUEST_COLLECTIVE && !request->persistent)
        return sim_error_raise(
            comm_of(request), MPI_ERR_REQUEST, "Request_free",
            "the request of a nonblocking collective must be completed, not freed");
    if (is_open_in_parts(request))
        return sim_error_raise(comm_of(request), MPI_ERR_REQUEST, "Request_free",
                               "a partitioned %s that was started must be completed, not freed",
                               request->kind == SIM_REQUEST_SEND ? "send" : "receive");
    if (request->persistent) /* outside of the monitor: the rank's own lock comes first */
        sim_open_handles_remove(SIM_LIVE_PERSISTENT, (uint64_t)(uintptr_t)request);
    sim_world_enter(rank->world);
    bool done = sim_request_done(request);
    if (done)
        sim_request_fill(request);
    if (request->state == SIM_INACTIVE)
        sim_pending_end(rank, request);
    else
        sim_pending_freed(rank, request);
    if (done)
        sim_request_delete(request);
    else
        request->freed = true;
    sim_world_leave(rank->world);
    *handle = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

int PMPI_Cancel(MPI_Request *handle)
{
    struct sim_rank *rank = sim_point_caller("Cancel");
    if (!rank)
        return MPI_ERR_OTHER;
    struct sim_request *request;
    int error = look_up(rank, *handle, "Cancel", &request);
    if (error || !request)
        return error ? error : raise_null("Cancel");
    if (request->kind == SIM_REQUEST_COLLECTIVE)
        return sim_error_raise(comm_of(request), MPI_ERR_REQUEST, "Cancel",
                               "a collective cannot be cancelled");
    if (request->partitioned)
        return sim_error_raise(comm_of(request), MPI_ERR_REQUEST, "Cancel",
                               "a partitioned send or receive cannot be cancelled");
    sim_world_enter(rank->world);
    sim_rank_unsure(rank);
    bool cancelled = false;
    if (rank->world->exploring)
        sim_deferred_cancel(request);
    if (rank->world->exploring && request->kind == SIM_REQUEST_RECEIVE &&
        request->state == SIM_POSTED) {
        sim_world_leave(rank->world);
        return MPI_SUCCESS;
    }
    if (request->kind == SIM_REQUEST_RECEIVE && request->peer != MPI_PROC_NULL)
        cancelled = sim_mailbox_cancel_receive(request->context, request->comm->rank, request);
    else if (request->kind == SIM_REQUEST_SEND && request->peer != MPI_PROC_NULL)
        cancelled =
            sim_mailbox_cancel_send(sim_context_peers(request->context), request->peer, request);
    if (cancelled) {
        request->state = SIM_CANCELLED;
        request->status_cancelled = true;
    }
    sim_world_leave(rank->world);
    if (request->kind == SIM_REQUEST_GENERAL)
        sim_general_cancel(request);
    return MPI_SUCCESS;
}
