/* Partitioned messages (MPI-4, chapter 4): a buffer in parts, each sent when the program says that it
 * is ready.
 *
 * Rules:
 *  1. Sends and receives meet when they are made, in the order of their making for each
 *     (communicator, source, destination, tag), and stay together until one is freed. They never
 *     meet other messages.
 *  2. A part that is marked ready is copied aside at once. A part of the receive arrives when all
 *     its bytes are ready and both sides have been started.
 *  3. Both sides complete together, with the last part: a partitioned send waits for its receiver,
 *     as a synchronous one does.
 *  4. A part of a send is MPI's from its being ready to the end of the send, a part of a receive
 *     from the start until the program is told of its arrival. With --delivery late it is filled
 *     then, and not before.
 * Everything but the checks of arguments is in the monitor. */

#include "recorder/recorder.h"
#include "sim/communicators/info.h"
#include "sim/memory/held.h"
#include "sim/memory/pending.h"
#include "sim/messages/point.h"
#include "sim/worlds/error.h"
#include "sim/worlds/open_handles.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct sim_partitioned {
    struct sim_request *request;
    struct sim_partitioned *other;        /* NULL: not met, or the other is freed */
    struct sim_partitioned *next, **link; /* among those that have not met; link NULL: it has */
    struct sim_partitioned *all_next, **all_link; /* of the world */
    uint32_t context;                             /* the receiver's */
    int source, destination;
    int partitions, done;   /* done: ready, or arrived, in this round */
    size_t part, total;     /* bytes */
    bool open, joined;      /* started, not complete; and the other as well */
    bool *marked;           /* each part: ready, or arrived */
    int *missing;           /* each part of a receive: parts of the send it waits for */
    char *aside;            /* a send's bytes without gaps */
    struct sim_held **held; /* each part of a receive: not NULL where it waits to be filled */
};

static bool sends(const struct sim_partitioned *side)
{
    return side->request->kind == SIM_REQUEST_SEND;
}

static void leave_unmet(struct sim_partitioned *side)
{
    *side->link = side->next;
    if (side->next)
        side->next->link = side->link;
    side->link = NULL;
}

static void side_free(struct sim_partitioned *side)
{
    for (int i = 0; side->held && i < side->partitions; i++)
        sim_held_free(side->held[i]);
    free(side->held);
    free(side->marked);
    free(side->missing);
    free(side->aside);
    free(side);
}

/* Its request goes: the other side stays without one. */
static void release(struct sim_partitioned *side)
{
    if (side->link)
        leave_unmet(side);
    if (side->other)
        side->other->other = NULL;
    *side->all_link = side->all_next;
    if (side->all_next)
        side->all_next->all_link = side->all_link;
    side_free(side);
}

void sim_partitioned_world_end(struct sim_world *world)
{
    for (struct sim_partitioned *side = world->partitioned, *next; side; side = next) {
        next = side->all_next;
        side_free(side);
    }
}

/* ---- what the program must not touch ---- */

/* What stands for a part of a receive among what is pending. */
static const void *owner_of(const struct sim_partitioned *side, int i)
{
    return &side->marked[i];
}

static struct sim_region region_of(const struct sim_partitioned *side, int i, const char *what)
{
    const struct sim_request *request = side->request;
    size_t count = request->count / (size_t)side->partitions;
    return (struct sim_region){(uintptr_t)request->buffer +
                                   (uintptr_t)((ptrdiff_t)count * i * request->type->extent),
                               request->type, count, !sends(side), what};
}

static void begin_part(const struct sim_partitioned *side, int i, const char *what,
                       const void *owner)
{
    struct sim_rank *rank = side->request->owner;
    if (!rank->pending || side->request->peer == MPI_PROC_NULL || !side->part)
        return;
    const struct sim_region region = region_of(side, i, what);
    sim_pending_add(rank, &region, 1, sends(side) ? "partitioned send" : "partitioned receive",
                    owner);
}

static void begin_parts(struct sim_partitioned *receive)
{
    struct sim_rank *rank = receive->request->owner;
    for (int i = 0; i < receive->partitions; i++) {
        begin_part(receive, i, "partition", owner_of(receive, i));
        sim_pending_also(rank, owner_of(receive, i), receive->request);
        const struct sim_region region = region_of(receive, i, "partition");
        if (receive->held)
            receive->held[i] = sim_held_new(rank, &region, 1);
    }
}

/* The program is told that the part is there. */
static void fill_part(struct sim_partitioned *receive, int i)
{
    if (!receive->held || !receive->held[i])
        return;
    receive->request->touched |= sim_held_end(receive->held[i]);
    receive->held[i] = NULL;
}

static void fill(struct sim_partitioned *side)
{
    for (int i = 0; i < side->partitions; i++)
        fill_part(side, i);
}

/* ---- data ---- */

/* The parts of `of` that share bytes with part `i` of `side`; of no bytes at all: all. */
static void overlap(const struct sim_partitioned *side, int i, const struct sim_partitioned *of,
                    int *first, int *last)
{
    *first = 0;
    *last = of->partitions - 1;
    if (!side->total)
        return;
    *first = (int)((size_t)i * side->part / of->part);
    *last = (int)((((size_t)i + 1) * side->part - 1) / of->part);
}

static void arrive(struct sim_partitioned *receive, int i)
{
    const struct sim_request *request = receive->request;
    size_t offset = (size_t)i * receive->part;
    char *buffer = request->buffer;
    if (receive->held && receive->held[i])
        buffer += sim_held_shift(receive->held[i]);
    if (receive->part)
        sim_datatype_copy_in_range(request->type, buffer, offset, receive->part,
                                   receive->other->aside + offset);
    receive->marked[i] = true;
    receive->done++;
    request->owner->world->changes++;
}

/* Part `i` of the send is ready, and both have been started. */
static void pass_on(struct sim_partitioned *send, int i)
{
    struct sim_partitioned *receive = send->other;
    int first, last;
    overlap(send, i, receive, &first, &last);
    for (int part = first; part <= last; part++)
        if (--receive->missing[part] == 0)
            arrive(receive, part);
}

static void complete_if_done(struct sim_partitioned *send)
{
    struct sim_partitioned *receive = send->other;
    if (send->done < send->partitions || receive->done < receive->partitions)
        return;
    struct sim_request *sent = send->request, *received = receive->request;
    send->open = send->joined = receive->open = receive->joined = false;
    sim_request_matched(received, sent->comm->rank, sent->tag, send->total);
    sent->bytes = send->total;
    sim_request_complete(received); /* a freed one is gone with it */
    sim_request_complete(sent);
}

/* Both have been started: what is ready already arrives. */
static void join(struct sim_partitioned *side)
{
    struct sim_partitioned *send = sends(side) ? side : side->other;
    struct sim_partitioned *receive = send ? send->other : NULL;
    if (!receive || !send->open || !receive->open)
        return;
    send->joined = receive->joined = true;
    for (int i = 0; i < receive->partitions; i++) {
        int first, last;
        overlap(receive, i, send, &first, &last);
        receive->missing[i] = last - first + 1;
        if (!receive->missing[i])
            arrive(receive, i);
    }
    for (int i = 0; i < send->partitions; i++)
        if (send->marked[i])
            pass_on(send, i);
    complete_if_done(send);
}

static void start(struct sim_request *request)
{
    struct sim_partitioned *side = request->partitioned;
    side->done = 0;
    memset(side->marked, 0, (size_t)side->partitions * sizeof *side->marked);
    if (request->peer == MPI_PROC_NULL) {
        sim_point_complete_null(request);
        return;
    }
    side->open = true;
    if (!sends(side))
        begin_parts(side);
    join(side);
}

/* ---- making ---- */

/* The first that fits of those that have not met. */
static struct sim_partitioned *find(const struct sim_partitioned *side)
{
    for (struct sim_partitioned *other = side->request->owner->world->partitioned_unmet; other;
         other = other->next)
        if (other->context == side->context && other->source == side->source &&
            other->destination == side->destination && other->request->tag == side->request->tag &&
            sends(other) != sends(side))
            return other;
    return NULL;
}

/* The bytes of the other that differ; 0: they met, or there is no other yet. */
static size_t meet(struct sim_partitioned *side, bool *differs)
{
    struct sim_partitioned *other = find(side);
    *differs = other && other->total != side->total;
    if (*differs)
        return other->total;
    if (other) {
        leave_unmet(other);
        side->other = other;
        other->other = side;
        return 0;
    }
    struct sim_partitioned **link = &side->request->owner->world->partitioned_unmet;
    while (*link)
        link = &(*link)->next;
    side->link = link;
    *link = side;
    return 0;
}

static struct sim_partitioned *new_side(struct sim_request *request, int partitions)
{
    struct sim_partitioned *side = calloc(1, sizeof *side);
    assert(side && "out of memory for a partitioned request");
    bool sending = request->kind == SIM_REQUEST_SEND;
    struct sim_partitioned **all = &request->owner->world->partitioned;
    side->all_next = *all;
    side->all_link = all;
    if (*all)
        (*all)->all_link = &side->all_next;
    *all = side;
    side->request = request;
    side->partitions = partitions;
    side->part = request->type->size * request->count;
    side->total = side->part * (size_t)partitions;
    side->source = sending ? request->comm->rank : request->peer;
    side->destination = sending ? request->peer : request->comm->rank;
    side->context = (sending ? sim_context_peers(request->context) : request->context)->id;
    side->marked = calloc((size_t)partitions + 1, sizeof *side->marked);
    side->missing = sending ? NULL : calloc((size_t)partitions + 1, sizeof *side->missing);
    side->aside = sending ? malloc(side->total + 1) : NULL;
    bool late = !sending && request->owner->world->options.late_receives;
    side->held = late ? calloc((size_t)partitions + 1, sizeof(struct sim_held *)) : NULL;
    assert(side->marked && (sending ? side->aside != NULL : side->missing != NULL) &&
           "out of memory for a partitioned request");
    return side;
}

static int make(const struct sim_point *point, const struct sim_request *checked, int partitions,
                MPI_Request *handle)
{
    struct sim_world *world = checked->owner->world;
    sim_world_enter(world);
    struct sim_request *request = sim_request_new_as(checked);
    request->persistent = true;
    request->state = SIM_INACTIVE;
    request->start = start;
    struct sim_partitioned *side = new_side(request, partitions);
    request->partitioned = side;
    request->partitioned_release = release;
    request->partitioned_fill = side->held ? fill : NULL;
    request->count *= (size_t)partitions;
    bool differs = false;
    size_t mine = side->total;
    size_t theirs = request->peer == MPI_PROC_NULL ? 0 : meet(side, &differs);
    if (differs)
        sim_request_delete(request);
    sim_world_leave(world);
    if (differs)
        return sim_error_raise(point->comm, MPI_ERR_TRUNCATE, point->function,
                               "all partitions together are %zu bytes, those of rank %d are %zu: "
                               "both sides must have equally many",
                               mine, point->peer, theirs);
    *handle = (MPI_Request)(void *)request;
    sim_open_handles_add(SIM_LIVE_PERSISTENT, (uint64_t)(uintptr_t)request);
    return MPI_SUCCESS;
}

static int check_partitioned(const struct sim_point *point, int partitions, MPI_Info info)
{
    int error = sim_info_check(point->comm, info, point->function);
    if (error)
        return error;
    if (partitions <= 0)
        return sim_error_raise(point->comm, MPI_ERR_ARG, point->function,
                               "partitions is %d: it must be positive", partitions);
    return MPI_SUCCESS;
}

static int send_init(const struct sim_point *point, int partitions, MPI_Info info,
                     MPI_Request *handle)
{
    struct sim_request checked = {0};
    int error = sim_point_send_check(point, &checked, SIM_SYNCHRONOUS);
    if (!error)
        error = check_partitioned(point, partitions, info);
    return error ? error : make(point, &checked, partitions, handle);
}

static int receive_init(const struct sim_point *point, int partitions, MPI_Info info,
                        MPI_Request *handle)
{
    struct sim_request checked = {0};
    int error = sim_point_receive_check(point, &checked);
    if (!error)
        error = check_partitioned(point, partitions, info);
    if (error)
        return error;
    if (point->peer == MPI_ANY_SOURCE)
        return sim_error_raise(point->comm, MPI_ERR_RANK, point->function,
                               "a partitioned receive must name its source");
    if (point->tag == MPI_ANY_TAG)
        return sim_error_raise(point->comm, MPI_ERR_TAG, point->function,
                               "a partitioned receive must name its tag");
    return make(point, &checked, partitions, handle);
}

int PMPI_Psend_init(const void *buf, int partitions, MPI_Count count, MPI_Datatype type, int dest,
                    int tag, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    return send_init(&(struct sim_point){"Psend_init", buf, count, type, dest, tag, comm},
                     partitions, info, request);
}

int PMPI_Psend_init_c(const void *buf, int partitions, MPI_Count count, MPI_Datatype type, int dest,
                      int tag, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    return PMPI_Psend_init(buf, partitions, count, type, dest, tag, comm, info, request);
}

int PMPI_Precv_init(void *buf, int partitions, MPI_Count count, MPI_Datatype type, int source,
                    int tag, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    return receive_init(&(struct sim_point){"Precv_init", buf, count, type, source, tag, comm},
                        partitions, info, request);
}

int PMPI_Precv_init_c(void *buf, int partitions, MPI_Count count, MPI_Datatype type, int source,
                      int tag, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    return PMPI_Precv_init(buf, partitions, count, type, source, tag, comm, info, request);
}

/* ---- parts ---- */

/* The caller's partitioned send or receive. Raises. */
static int look_up(MPI_Request handle, const char *function, enum sim_request_kind kind,
                   struct sim_partitioned **side)
{
    struct sim_rank *rank = sim_point_caller(function);
    if (!rank)
        return MPI_ERR_OTHER;
    const struct sim_request *request = sim_request_get(rank, handle);
    *side = request && request->kind == kind ? request->partitioned : NULL;
    return *side ? MPI_SUCCESS
                 : sim_error_raise(
                       request && request->comm ? sim_comm_handle(request->comm) : MPI_COMM_NULL,
                       MPI_ERR_REQUEST, function, "request is not a partitioned %s of this rank",
                       kind == SIM_REQUEST_SEND ? "send" : "receive");
}

static int check_partition(const struct sim_partitioned *side, int i, const char *function)
{
    if (i >= 0 && i < side->partitions)
        return MPI_SUCCESS;
    return sim_error_raise(sim_comm_handle(side->request->comm), MPI_ERR_ARG, function,
                           "partition %d is not one of %d", i, side->partitions);
}

/* Of a started send, whose part is within its range. */
static int mark(struct sim_partitioned *send, int i, const char *function)
{
    struct sim_request *request = send->request;
    struct sim_world *world = request->owner->world;
    sim_world_enter(world);
    bool active = request->state != SIM_INACTIVE, again = active && send->marked[i];
    if (active && !again) {
        send->marked[i] = true;
        send->done++;
        begin_part(send, i, "ready partition", request);
        bool whole = send->done == send->partitions; /* it is recorded now */
        sim_pending_operation(request->owner, request, whole ? record_position() : 0);
        size_t offset = (size_t)i * send->part;
        if (send->part && send->open)
            sim_datatype_copy_out_range(request->type, request->buffer, offset, send->part,
                                        send->aside + offset);
        if (send->joined) {
            pass_on(send, i);
            complete_if_done(send);
        }
    }
    sim_world_leave(world);
    if (active && !again)
        return MPI_SUCCESS;
    MPI_Comm comm = sim_comm_handle(request->comm);
    return again ? sim_error_raise(comm, MPI_ERR_ARG, function,
                                   "partition %d was marked ready before: once in each start", i)
                 : sim_error_raise(comm, MPI_ERR_REQUEST, function,
                                   "the request is inactive: call MPI_Start first");
}

static int ready(MPI_Request handle, int low, int high, const char *function)
{
    struct sim_partitioned *send;
    int error = look_up(handle, function, SIM_REQUEST_SEND, &send);
    if (!error)
        error = check_partition(send, low, function);
    if (!error)
        error = check_partition(send, high, function);
    if (!error && low > high)
        error = sim_error_raise(sim_comm_handle(send->request->comm), MPI_ERR_ARG, function,
                                "the range from %d to %d is empty", low, high);
    for (int i = low; i <= high && !error; i++)
        error = mark(send, i, function);
    return error;
}

int PMPI_Pready(int partition, MPI_Request request)
{
    return ready(request, partition, partition, "Pready");
}

int PMPI_Pready_range(int low, int high, MPI_Request request)
{
    return ready(request, low, high, "Pready_range");
}

int PMPI_Pready_list(int length, int partitions[], MPI_Request request)
{
    struct sim_partitioned *send;
    int error = look_up(request, "Pready_list", SIM_REQUEST_SEND, &send);
    if (!error && (length < 0 || (length && !partitions)))
        error = sim_error_raise(sim_comm_handle(send->request->comm), MPI_ERR_ARG, "Pready_list",
                                "a list of %d partitions%s", length, partitions ? "" : " at NULL");
    for (int i = 0; i < length && !error; i++)
        error = check_partition(send, partitions[i], "Pready_list");
    for (int i = 0; i < length && !error; i++)
        error = mark(send, partitions[i], "Pready_list");
    return error;
}

/* A partition that a receive looks for. */
struct looked_for {
    const struct sim_partitioned *receive;
    int partition;
};

static bool has_arrived(void *at)
{
    const struct looked_for *looked = at;
    return sim_request_done(looked->receive->request) || looked->receive->marked[looked->partition];
}

int PMPI_Parrived(MPI_Request handle, int partition, int *flag)
{
    struct sim_partitioned *receive = NULL;
    bool none = handle == MPI_REQUEST_NULL; /* waits for nothing, as an inactive one */
    int error = none && sim_point_caller("Parrived")
                    ? MPI_SUCCESS
                    : look_up(handle, "Parrived", SIM_REQUEST_RECEIVE, &receive);
    if (!error && !none)
        error = check_partition(receive, partition, "Parrived");
    if (!error && !flag)
        error = sim_error_raise(none ? MPI_COMM_NULL : sim_comm_handle(receive->request->comm),
                                MPI_ERR_ARG, "Parrived", "flag is NULL");
    if (error)
        return error;
    if (none) {
        *flag = 1;
        return MPI_SUCCESS;
    }
    struct sim_rank *rank = receive->request->owner;
    sim_world_enter(rank->world);
    if (rank->world->exploring)
        rank->world->chooser.log.gaps |= SIM_GAP_POLLS;
    *flag = sim_request_poll(rank, has_arrived, &(struct looked_for){receive, partition});
    if (*flag) {
        sim_pending_end(rank, owner_of(receive, partition));
        fill_part(receive, partition);
    } else {
        sim_rank_poll_failed(rank);
    }
    sim_world_leave(rank->world);
    return MPI_SUCCESS;
}
