/* Checks of a collective's arguments: see forms.h. */
#include "sim/collectives/collective.h"
#include "sim/collectives/forms.h"
#include "sim/collectives/guard.h"
#include "sim/communicators/info.h"
#include "sim/messages/point.h"
#include "sim/worlds/error.h"

#include <ctype.h>
#include <stdio.h>

const char *sim_call_name(const struct sim_collective_call *call, char name[static SIM_NAME_MAX])
{
    const char *kind = call->kind->name;
    if (call->form == SIM_FORM_NONBLOCKING)
        snprintf(name, SIM_NAME_MAX, "I%c%s", tolower(kind[0]), kind + 1);
    else
        snprintf(name, SIM_NAME_MAX, "%s%s", kind,
                 call->form == SIM_FORM_PERSISTENT ? "_init" : "");
    return name;
}

int sim_call_ready(struct sim_collective_call *call, int error)
{
    if (error || !sim_call_overlaps(call))
        return error;
    return sim_error_raise_overlap(sim_comm_handle(call->comm),
                                   sim_call_name(call, (char[SIM_NAME_MAX]){0}));
}

int sim_call_hints(struct sim_collective_call *call, MPI_Info info, int error)
{
    if (error || sim_info_handle_valid(info))
        return error;
    return sim_call_fail(call, MPI_ERR_INFO, "info is not a valid handle");
}

static int cross(struct sim_collective_call *call, MPI_Comm handle)
{
    if (!call->kind->across)
        return sim_error_raise(handle, MPI_ERR_COMM, sim_call_name(call, (char[SIM_NAME_MAX]){0}),
                               "not defined on an intercommunicator");
    call->kind = call->kind->across;
    call->comm->bridge->errhandler = call->comm->errhandler;
    call->comm = call->comm->bridge;
    return MPI_SUCCESS;
}

int sim_call_begin(struct sim_collective_call *call, const struct sim_collective_kind *kind,
                   MPI_Comm handle)
{
    call->kind = kind;
    call->send.buffer = call->receive.buffer = NULL;
    call->send.count = call->receive.count = 0;
    call->send.type = call->receive.type = NULL;
    call->send.vectored = call->send.typed = call->receive.vectored = call->receive.typed = false;
    call->in_place = false;
    call->op = NULL;
    call->root = 0;
    call->argument = NULL;
    call->series = 0;
    struct sim_rank *rank = sim_point_caller(kind->name);
    if (!rank)
        return MPI_ERR_OTHER;
    call->comm = sim_comm_get(rank, handle);
    if (call->comm && call->comm->context->remote)
        return cross(call, handle);
    if (call->comm)
        return MPI_SUCCESS;
    return sim_comm_refuse(handle, sim_call_name(call, (char[SIM_NAME_MAX]){0}));
}

int sim_call_fail(const struct sim_collective_call *call, int error, const char *sentence)
{
    return sim_error_raise(sim_comm_handle(call->comm), error,
                           sim_call_name(call, (char[SIM_NAME_MAX]){0}), "%s", sentence);
}

int sim_call_root(struct sim_collective_call *call, int root)
{
    call->root = root;
    if (root >= 0 && root < sim_call_peers(call))
        return MPI_SUCCESS;
    if (sim_call_is_intercomm(call) && (root == MPI_ROOT || root == MPI_PROC_NULL))
        return MPI_SUCCESS;
    return sim_error_raise(
        sim_comm_handle(call->comm), MPI_ERR_ROOT, sim_call_name(call, (char[SIM_NAME_MAX]){0}),
        "root %d is not in a %s of %d ranks", root,
        sim_call_is_intercomm(call) ? "remote group" : "communicator", sim_call_peers(call));
}

int sim_call_type(struct sim_collective_call *call, struct sim_side *side, MPI_Datatype type)
{
    side->type = sim_datatype_get(type);
    if (!side->type)
        return sim_call_fail(call, MPI_ERR_TYPE,
                             type == MPI_DATATYPE_NULL ? "datatype is MPI_DATATYPE_NULL"
                                                       : "datatype is not a valid handle");
    if (!side->type->committed)
        return sim_call_fail(call, MPI_ERR_TYPE,
                             "datatype has not been committed: call MPI_Type_commit first");
    if (side->vectored && side->at_null && side->type->contiguous && side->type->size)
        return sim_call_fail(call, MPI_ERR_BUFFER, "buffer is NULL though not all counts are zero");
    return MPI_SUCCESS;
}

int sim_call_buffer(struct sim_collective_call *call, struct sim_side *side, const void *buffer,
                    MPI_Count count, MPI_Datatype type)
{
    side->buffer = (void *)(uintptr_t)buffer;
    side->count = (size_t)count;
    if (count < 0)
        return sim_error_raise(sim_comm_handle(call->comm), MPI_ERR_COUNT,
                               sim_call_name(call, (char[SIM_NAME_MAX]){0}),
                               "count is %lld: it must not be negative", (long long)count);
    int error = sim_call_type(call, side, type);
    if (error)
        return error;
    if (buffer == MPI_IN_PLACE)
        return sim_call_fail(call, MPI_ERR_BUFFER, "MPI_IN_PLACE is not allowed here");
    if (!buffer && count && side->type->size && side->type->contiguous)
        return sim_call_fail(call, MPI_ERR_BUFFER, "buffer is NULL though its count is not zero");
    return MPI_SUCCESS;
}

/* An address below it is none: with MPI_BOTTOM displacements are addresses. */
enum { FIRST_PAGE = 4096 };

int sim_call_vector(struct sim_collective_call *call, struct sim_side *side, const void *buffer,
                    struct sim_counts counts, struct sim_counts displacements, int peers)
{
    side->buffer = (void *)(uintptr_t)buffer;
    side->vectored = true;
    side->counts = counts;
    side->displacements = displacements;
    side->kept = NULL;
    side->arrays = peers;
    if (!counts.narrow && !counts.wide)
        return sim_call_fail(call, MPI_ERR_ARG, "the array of counts is NULL");
    if (!displacements.narrow && !displacements.wide)
        return sim_call_fail(call, MPI_ERR_ARG, "the array of displacements is NULL");
    side->at_null = false;
    for (int i = 0; i < peers && !buffer; i++)
        side->at_null |= sim_counts_at(counts, i) && sim_counts_at(displacements, i) < FIRST_PAGE;
    for (int i = 0; i < peers; i++)
        if ((ptrdiff_t)sim_counts_at(counts, i) < 0)
            return sim_error_raise(sim_comm_handle(call->comm), MPI_ERR_COUNT,
                                   sim_call_name(call, (char[SIM_NAME_MAX]){0}),
                                   "count %d is negative", i);
    return MPI_SUCCESS;
}

int sim_call_op(struct sim_collective_call *call, MPI_Op op, MPI_Datatype type)
{
    call->op = sim_op_get(op);
    if (!call->op)
        return sim_call_fail(call, MPI_ERR_OP,
                             op == MPI_OP_NULL ? "op is MPI_OP_NULL" : "op is not a valid handle");
    int error = sim_op_allowed(call->op, sim_datatype_get(type));
    return error ? sim_call_fail(call, error, "this op is not defined for this datatype")
                 : MPI_SUCCESS;
}

int sim_call_types(struct sim_collective_call *call, struct sim_side *side,
                   const MPI_Datatype *types, int peers)
{
    side->typed = true;
    side->types = types;
    if (!types)
        return sim_call_fail(call, MPI_ERR_ARG, "the array of datatypes is NULL");
    for (int i = 0; i < peers; i++) {
        struct sim_side one = {.vectored = side->vectored, .at_null = side->at_null};
        int error = sim_call_type(call, &one, types[i]);
        if (error)
            return error;
        side->type = one.type; /* any of them: sim_side_block looks up the right one */
    }
    return MPI_SUCCESS;
}
