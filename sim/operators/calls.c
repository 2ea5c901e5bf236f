/* calls.c: MPI_Op_* and MPI_Reduce_local. */
#include <stdlib.h>

#include "sim/operators/op.h"
#include "sim/worlds/error.h"
#include "sim/worlds/open_handles.h"
#include "sim/worlds/rank.h"

#define raise(function, error_class, ...)                                                          \
    sim_error_raise(MPI_COMM_NULL, error_class, function, __VA_ARGS__)

static int op_create(const char *function, struct sim_op value, MPI_Op *handle)
{
    if (sim_point_outside(function))
        return MPI_ERR_OTHER;
    if (!handle || (!value.user && !value.user_large))
        return raise(function, MPI_ERR_ARG, "%s is a null pointer", handle ? "user_fn" : "op");
    struct sim_op *op = malloc(sizeof *op);
    if (!op)
        return raise(function, MPI_ERR_NO_MEM, "out of memory");
    *op = value;
    op->magic = SIM_MAGIC_OP;
    op->references = 1;
    *handle = (MPI_Op)op;
    sim_open_handles_add(SIM_LIVE_OP, (uint64_t)(uintptr_t)op);
    return MPI_SUCCESS;
}

int PMPI_Op_create(MPI_User_function *user_fn, int commute, MPI_Op *op)
{
    return op_create("Op_create", (struct sim_op){.user = user_fn, .commutative = commute != 0},
                     op);
}

int PMPI_Op_create_c(MPI_User_function_c *user_fn, int commute, MPI_Op *op)
{
    return op_create("Op_create_c",
                     (struct sim_op){.user_large = user_fn, .commutative = commute != 0}, op);
}

int PMPI_Op_free(MPI_Op *op)
{
    if (sim_point_outside("Op_free"))
        return MPI_ERR_OTHER;
    const struct sim_op *object = op ? sim_op_get(*op) : NULL;
    if (!object)
        return raise("Op_free", MPI_ERR_OP, "op is not a valid operation");
    if (object->predefined)
        return raise("Op_free", MPI_ERR_OP, "%s is predefined and cannot be freed", object->label);
    ((struct sim_op *)*op)->magic = SIM_MAGIC_FREED;
    sim_open_handles_remove(SIM_LIVE_OP, (uint64_t)(uintptr_t)*op);
    sim_op_release(object);
    *op = MPI_OP_NULL;
    return MPI_SUCCESS;
}

int PMPI_Op_commutative(MPI_Op op, int *commute)
{
    if (sim_point_outside("Op_commutative"))
        return MPI_ERR_OTHER;
    const struct sim_op *object = sim_op_get(op);
    if (!object)
        return raise("Op_commutative", MPI_ERR_OP, "op is not a valid operation");
    if (!commute)
        return raise("Op_commutative", MPI_ERR_ARG, "commute is a null pointer");
    *commute = object->commutative;
    return MPI_SUCCESS;
}

static int reduce_local(const char *function, const void *in, void *inout, MPI_Count count,
                        MPI_Datatype datatype, MPI_Op op, const void *site)
{
    if (sim_point_outside(function))
        return MPI_ERR_OTHER;
    const struct sim_datatype *type = sim_datatype_get(datatype);
    const struct sim_op *operation = sim_op_get(op);
    if (count < 0)
        return raise(function, MPI_ERR_COUNT, "count is negative: %lld", (long long)count);
    if (!type || !type->committed)
        return raise(function, MPI_ERR_TYPE, "datatype is %s",
                     type ? "not committed" : "not valid");
    if (!operation)
        return raise(function, MPI_ERR_OP, "op is not a valid operation");
    if (sim_op_allowed(operation, type))
        return raise(function, MPI_ERR_OP, "%s is not defined for %s", operation->label,
                     type->predefined ? sim_datatype_name(type) : "a derived type");
    if (in == MPI_IN_PLACE || inout == MPI_IN_PLACE)
        return raise(function, MPI_ERR_BUFFER, "MPI_IN_PLACE is not allowed here");
    if (in == inout && count > 0 && type->size > 0)
        return raise(function, MPI_ERR_BUFFER, "inbuf and inoutbuf are the same");
    const struct sim_used sides[] = {{in, type, (size_t)count, false, "inbuf"},
                                     {inout, type, (size_t)count, true, "inoutbuf"}};
    sim_rank_uses(function, sides, 2, site);
    sim_op_apply(operation, in, inout, (size_t)count, type);
    return MPI_SUCCESS;
}

int PMPI_Reduce_local(const void *inbuf, void *inoutbuf, int count, MPI_Datatype datatype,
                      MPI_Op op)
{
    return reduce_local("Reduce_local", inbuf, inoutbuf, count, datatype, op,
                        __builtin_return_address(0));
}

int PMPI_Reduce_local_c(const void *inbuf, void *inoutbuf, MPI_Count count, MPI_Datatype datatype,
                        MPI_Op op)
{
    return reduce_local("Reduce_local_c", inbuf, inoutbuf, count, datatype, op,
                        __builtin_return_address(0));
}
