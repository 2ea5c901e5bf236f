/* Data channels over MPI: the in-memory machine and real MPIs alike. See data_channel.h.
 *
 * A group is a communicator. With MPI_ERRORS_ARE_FATAL, which is MPI's default, what MPI finds
 * wrong ends the program there, under simrun as a finding; with MPI_ERRORS_RETURN on the
 * communicator a channel is made over, its groups report errors as every channel does. */
#include "collectives/systems/data_channel/data_arithmetic.h"
#include "collectives/systems/data_channel/data_backend.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>

struct mpi_group {
    struct data_group group;
    MPI_Comm comm;
    /* Counts and displacements as MPI wants them, `size` each. */
    int *in_counts, *in_begins, *out_counts, *out_begins;
};

struct mpi_request {
    struct data_request request;
    MPI_Request mpi;
    const char *name;
};

static const struct data_backend backend;

static struct mpi_group *mpi_group(struct data_group *group)
{
    return (struct mpi_group *)(void *)group;
}

static MPI_Datatype type_mpi(enum data_type type)
{
    switch (type) {
    case DATA_INT:
        return MPI_INT;
    case DATA_LONG:
        return MPI_INT64_T;
    case DATA_FLOAT:
        return MPI_FLOAT;
    case DATA_DOUBLE:
        return MPI_DOUBLE;
    case DATA_COMPLEX_FLOAT:
        return MPI_C_FLOAT_COMPLEX;
    case DATA_COMPLEX_DOUBLE:
        return MPI_C_DOUBLE_COMPLEX;
    default:
        return MPI_BYTE;
    }
}

static MPI_Op operator_mpi(enum data_operator op)
{
    switch (op) {
    case DATA_PRODUCT:
        return MPI_PROD;
    case DATA_MIN:
        return MPI_MIN;
    case DATA_MAX:
        return MPI_MAX;
    default: /* an average is a sum, divided afterwards */
        return MPI_SUM;
    }
}

static bool said(struct data_group *group, const char *name, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (code == MPI_SUCCESS)
        return true;
    MPI_Error_string(code, text, &length);
    return data_channel_fail(group->channel, "%s: %.200s", name, text);
}

static bool fits(struct data_group *group, const struct data_call *call)
{
    if (call->count <= INT_MAX)
        return true;
    return data_channel_fail(group->channel, "%s: %zu values, and MPI takes at most 2^31 - 1",
                             call->name, call->count);
}

static int source_mpi(const struct data_call *call)
{
    return call->peer == DATA_ANY ? MPI_ANY_SOURCE : call->peer;
}

static void status_read(const MPI_Status *mpi, enum data_type type, struct data_status *status)
{
    int count = 0;
    MPI_Get_count(mpi, type_mpi(type), &count);
    *status = (struct data_status){mpi->MPI_SOURCE, mpi->MPI_TAG, count < 0 ? 0 : (size_t)count};
}

/* ---- messages ---- */

static bool send(struct data_group *group, const struct data_call *call)
{
    return fits(group, call) && said(group, call->name,
                                     MPI_Send(call->in, (int)call->count, type_mpi(call->type),
                                              call->peer, call->tag, mpi_group(group)->comm));
}

static bool receive(struct data_group *group, const struct data_call *call)
{
    MPI_Status status;
    if (!fits(group, call) ||
        !said(group, call->name,
              MPI_Recv(call->out, (int)call->count, type_mpi(call->type), source_mpi(call),
                       call->tag, mpi_group(group)->comm, &status)))
        return false;
    status_read(&status, call->type, call->status);
    return true;
}

static bool probe(struct data_group *group, const struct data_call *call)
{
    MPI_Status status;
    if (!said(group, call->name,
              MPI_Probe(source_mpi(call), call->tag, mpi_group(group)->comm, &status)))
        return false;
    status_read(&status, call->type, call->status);
    return true;
}

static bool look(struct data_group *group, const struct data_call *call, bool *there)
{
    MPI_Status status;
    int flag = 0;
    if (!said(group, call->name,
              MPI_Iprobe(source_mpi(call), call->tag, mpi_group(group)->comm, &flag, &status)))
        return false;
    if (flag)
        status_read(&status, call->type, call->status);
    *there = flag;
    return true;
}

static struct mpi_request *request_new(struct data_group *group, const struct data_call *call)
{
    struct mpi_request *request = malloc(sizeof *request);
    if (!request) {
        data_channel_fail(group->channel, "%s: out of memory", call->name);
        return NULL;
    }
    *request = (struct mpi_request){{group, call->type}, MPI_REQUEST_NULL, call->name};
    return request;
}

static bool started(struct mpi_request *request, const struct data_call *call, int code)
{
    if (!said(request->request.group, call->name, code)) {
        free(request);
        return false;
    }
    *call->request = &request->request;
    return true;
}

static bool isend(struct data_group *group, const struct data_call *call)
{
    struct mpi_request *request = fits(group, call) ? request_new(group, call) : NULL;
    return request &&
           started(request, call,
                   MPI_Isend(call->in, (int)call->count, type_mpi(call->type), call->peer,
                             call->tag, mpi_group(group)->comm, &request->mpi));
}

static bool irecv(struct data_group *group, const struct data_call *call)
{
    struct mpi_request *request = fits(group, call) ? request_new(group, call) : NULL;
    return request &&
           started(request, call,
                   MPI_Irecv(call->out, (int)call->count, type_mpi(call->type), source_mpi(call),
                             call->tag, mpi_group(group)->comm, &request->mpi));
}

static bool complete(struct data_request *data, bool wait, bool *done, struct data_status *status)
{
    struct mpi_request *request = (struct mpi_request *)(void *)data;
    MPI_Status mpi;
    int flag = 1;
    int code = wait ? MPI_Wait(&request->mpi, &mpi) : MPI_Test(&request->mpi, &flag, &mpi);
    bool right = said(data->group, request->name, code);
    *done = right && flag;
    if (*done)
        status_read(&mpi, data->type, status);
    if (*done || !right)
        free(request);
    return right;
}

/* ---- collectives ---- */

/* Counts as ints and where each rank's values begin; false when they do not fit. */
static bool counts_mpi(struct data_group *group, const struct data_call *call, const size_t *counts,
                       int *numbers, int *begins)
{
    size_t at = 0;
    for (int i = 0; i < group->size; i++) {
        if (at > INT_MAX || counts[i] > INT_MAX)
            return data_channel_fail(group->channel, "%s: MPI takes at most 2^31 - 1 values",
                                     call->name);
        numbers[i] = (int)counts[i];
        begins[i] = (int)at;
        at += counts[i];
    }
    return true;
}

static bool uniform(const struct data_group *group, const size_t *counts)
{
    for (int i = 1; i < group->size; i++)
        if (counts[i] != counts[0])
            return false;
    return true;
}

static bool averaged(struct data_group *group, const struct data_call *call, size_t count)
{
    data_finish(call->op, call->type, call->out, count, group->size);
    return true;
}

static bool barrier(struct data_group *group, const struct data_call *call)
{
    return said(group, call->name, MPI_Barrier(mpi_group(group)->comm));
}

static bool broadcast(struct data_group *group, const struct data_call *call)
{
    return fits(group, call) && said(group, call->name,
                                     MPI_Bcast(call->out, (int)call->count, type_mpi(call->type),
                                               call->peer, mpi_group(group)->comm));
}

static bool reduce(struct data_group *group, const struct data_call *call)
{
    return fits(group, call) &&
           said(group, call->name,
                MPI_Reduce(call->in, call->out, (int)call->count, type_mpi(call->type),
                           operator_mpi(call->op), call->peer, mpi_group(group)->comm)) &&
           (group->rank != call->peer || averaged(group, call, call->count));
}

static bool all_reduce(struct data_group *group, const struct data_call *call)
{
    return fits(group, call) &&
           said(group, call->name,
                MPI_Allreduce(call->in, call->out, (int)call->count, type_mpi(call->type),
                              operator_mpi(call->op), mpi_group(group)->comm)) &&
           averaged(group, call, call->count);
}

static bool reduce_scatter(struct data_group *group, const struct data_call *call)
{
    struct mpi_group *own = mpi_group(group);
    return counts_mpi(group, call, call->out_counts, own->out_counts, own->out_begins) &&
           said(group, call->name,
                MPI_Reduce_scatter(call->in, call->out, own->out_counts, type_mpi(call->type),
                                   operator_mpi(call->op), own->comm)) &&
           averaged(group, call, call->out_counts[group->rank]);
}

static bool gather(struct data_group *group, const struct data_call *call)
{
    struct mpi_group *own = mpi_group(group);
    MPI_Datatype type = type_mpi(call->type);
    if (!fits(group, call) || (call->out_counts && !counts_mpi(group, call, call->out_counts,
                                                               own->out_counts, own->out_begins)))
        return false;
    return said(group, call->name,
                MPI_Gatherv(call->in, (int)call->count, type, call->out, own->out_counts,
                            own->out_begins, type, call->peer, own->comm));
}

static bool scatter(struct data_group *group, const struct data_call *call)
{
    struct mpi_group *own = mpi_group(group);
    MPI_Datatype type = type_mpi(call->type);
    if (!fits(group, call) || (call->in_counts && !counts_mpi(group, call, call->in_counts,
                                                              own->in_counts, own->in_begins)))
        return false;
    return said(group, call->name,
                MPI_Scatterv(call->in, own->in_counts, own->in_begins, type, call->out,
                             (int)call->count, type, call->peer, own->comm));
}

static bool all_gather(struct data_group *group, const struct data_call *call)
{
    struct mpi_group *own = mpi_group(group);
    MPI_Datatype type = type_mpi(call->type);
    int count = (int)call->count;
    if (!counts_mpi(group, call, call->out_counts, own->out_counts, own->out_begins))
        return false;
    if (uniform(group, call->out_counts))
        return said(group, call->name,
                    MPI_Allgather(call->in, count, type, call->out, count, type, own->comm));
    return said(group, call->name,
                MPI_Allgatherv(call->in, count, type, call->out, own->out_counts, own->out_begins,
                               type, own->comm));
}

static bool all_to_all(struct data_group *group, const struct data_call *call)
{
    struct mpi_group *own = mpi_group(group);
    MPI_Datatype type = type_mpi(call->type);
    return counts_mpi(group, call, call->in_counts, own->in_counts, own->in_begins) &&
           counts_mpi(group, call, call->out_counts, own->out_counts, own->out_begins) &&
           said(group, call->name,
                MPI_Alltoallv(call->in, own->in_counts, own->in_begins, type, call->out,
                              own->out_counts, own->out_begins, type, own->comm));
}

/* ---- groups ---- */

/* Takes `comm` over. */
static struct data_group *group_over(struct data_channel *channel, MPI_Comm comm)
{
    enum { ARRAYS = 4 };
    int size;
    MPI_Comm_size(comm, &size);
    struct mpi_group *own = malloc(sizeof *own + ARRAYS * (size_t)size * sizeof *own->in_counts);
    if (!own) {
        MPI_Comm_free(&comm);
        return NULL;
    }
    own->group.channel = channel;
    own->group.size = size;
    own->comm = comm;
    own->in_counts = (int *)(own + 1);
    own->in_begins = own->in_counts + size;
    own->out_counts = own->in_begins + size;
    own->out_begins = own->out_counts + size;
    MPI_Comm_rank(comm, &own->group.rank);
    return &own->group;
}

/* MPI takes whatever lists come together, and hangs later. */
static bool lists_agree(struct data_group *parent, int count, const int *ranks)
{
    uint64_t own = data_list_hash(count, ranks);
    uint64_t *all = malloc((size_t)parent->size * sizeof *all);
    if (!all)
        return data_channel_fail(parent->channel, "group_new: out of memory");
    bool right =
        said(parent, "group_new",
             MPI_Allgather(&own, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, mpi_group(parent)->comm));
    for (int i = 0; right && i < parent->size; i++)
        if (all[i] != own)
            right = data_list_differs(parent, i);
    free(all);
    return right;
}

static bool group_new(struct data_group *parent, int count, const int *ranks,
                      struct data_group **group)
{
    MPI_Group all, chosen;
    MPI_Comm comm = MPI_COMM_NULL;
    if (!lists_agree(parent, count, ranks))
        return false;
    MPI_Comm_group(mpi_group(parent)->comm, &all);
    MPI_Group_incl(all, count, ranks, &chosen);
    int code = MPI_Comm_create(mpi_group(parent)->comm, chosen, &comm);
    MPI_Group_free(&chosen);
    MPI_Group_free(&all);
    if (!said(parent, "group_new", code))
        return false;
    if (comm == MPI_COMM_NULL)
        return true;
    *group = group_over(parent->channel, comm);
    return *group || data_channel_fail(parent->channel, "group_new: out of memory");
}

static void group_free(struct data_group *group)
{
    MPI_Comm_free(&mpi_group(group)->comm);
    free(group);
}

MPI_Comm data_group_communicator(const struct data_group *group)
{
    if (group->channel->backend != &backend)
        return MPI_COMM_NULL;
    return ((const struct mpi_group *)(const void *)group)->comm;
}

/* ---- channels ---- */

static void teardown(struct data_channel *channel)
{
    group_free(channel->world);
    free(channel);
}

static const struct data_backend backend = {
    .name = "mpi",
    .send = send,
    .receive = receive,
    .probe = probe,
    .isend = isend,
    .irecv = irecv,
    .barrier = barrier,
    .broadcast = broadcast,
    .reduce = reduce,
    .all_reduce = all_reduce,
    .reduce_scatter = reduce_scatter,
    .gather = gather,
    .all_gather = all_gather,
    .scatter = scatter,
    .all_to_all = all_to_all,
    .look = look,
    .complete = complete,
    .group_new = group_new,
    .group_free = group_free,
    .teardown = teardown,
};

struct data_channel *data_channel_mpi(MPI_Comm comm)
{
    struct data_channel *channel = calloc(1, sizeof *channel);
    MPI_Comm own;
    if (!channel || MPI_Comm_dup(comm, &own) != MPI_SUCCESS) {
        free(channel);
        return NULL;
    }
    channel->backend = &backend;
    channel->world = group_over(channel, own);
    if (!channel->world) {
        free(channel);
        return NULL;
    }
    return channel;
}
