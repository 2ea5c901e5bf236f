/* pack.c: MPI_Pack, MPI_Unpack, MPI_Pack_size: the packed form is the bytes of the elements,
 * nothing more.
 */
#include <limits.h>

#include "sim/datatypes/packed.h"
#include "sim/worlds/error.h"
#include "sim/worlds/rank.h"

/* One call: `position` of `room` bytes in the packed buffer, `count` elements in the typed one. */
struct pack_call {
    const char *function;
    MPI_Comm comm;
    MPI_Count count;
    MPI_Datatype datatype;
    MPI_Count room, position;
    size_t bytes; /* found by the check */
};

static int check_count(struct pack_call *call)
{
    int error = sim_error_comm_check(call->comm, call->function);
    if (error)
        return error;
    if (call->count < 0)
        return sim_error_raise(call->comm, MPI_ERR_COUNT, call->function, "count is negative: %lld",
                               (long long)call->count);
    const struct sim_datatype *type = sim_datatype_get(call->datatype);
    if (!type)
        return sim_error_raise(call->comm, MPI_ERR_TYPE, call->function,
                               "datatype is not a valid datatype");
    if (__builtin_mul_overflow((size_t)call->count, type->size, &call->bytes) ||
        call->bytes > PTRDIFF_MAX)
        return sim_error_raise(call->comm, MPI_ERR_COUNT, call->function,
                               "%lld elements are more than memory can hold",
                               (long long)call->count);
    return MPI_SUCCESS;
}

static int check(struct pack_call *call, const void *packed)
{
    int error = check_count(call);
    if (error)
        return error;
    if (!sim_datatype_get(call->datatype)->committed)
        return sim_error_raise(call->comm, MPI_ERR_TYPE, call->function,
                               "datatype is not committed");
    if (call->position < 0 || call->position > call->room) /* also of a negative room */
        return sim_error_raise(call->comm, MPI_ERR_ARG, call->function,
                               "position %lld is not within a buffer of %lld bytes",
                               (long long)call->position, (long long)call->room);
    if (call->bytes > (size_t)(call->room - call->position))
        return sim_error_raise(call->comm, MPI_ERR_TRUNCATE, call->function,
                               "%zu bytes from position %lld on exceed the buffer's %lld",
                               call->bytes, (long long)call->position, (long long)call->room);
    if (call->bytes && !packed)
        return sim_error_raise(call->comm, MPI_ERR_BUFFER, call->function,
                               "the packed buffer is a null pointer");
    return MPI_SUCCESS;
}

static int pack(struct pack_call *call, const void *inbuf, void *outbuf, const void *site)
{
    int error = check(call, outbuf);
    if (error || call->bytes == 0)
        return error;
    sim_packed_uses(&(struct sim_packed){call->function, inbuf, call->datatype, call->count,
                                         (char *)outbuf + call->position, call->bytes, false},
                    site);
    sim_datatype_copy_out_range(sim_datatype_get(call->datatype), inbuf, 0, call->bytes,
                                (char *)outbuf + call->position);
    return MPI_SUCCESS;
}

static int unpack(struct pack_call *call, const void *inbuf, void *outbuf, const void *site)
{
    int error = check(call, inbuf);
    if (error || call->bytes == 0)
        return error;
    sim_packed_uses(&(struct sim_packed){call->function, outbuf, call->datatype, call->count,
                                         (const char *)inbuf + call->position, call->bytes, true},
                    site);
    sim_datatype_copy_in_range(sim_datatype_get(call->datatype), outbuf, 0, call->bytes,
                               (const char *)inbuf + call->position);
    return MPI_SUCCESS;
}

static int missing_position(const char *function, MPI_Comm comm)
{
    return sim_error_raise(comm, MPI_ERR_ARG, function, "position is a null pointer");
}

int PMPI_Pack(const void *inbuf, int incount, MPI_Datatype datatype, void *outbuf, int outsize,
              int *position, MPI_Comm comm)
{
    if (!position)
        return missing_position("Pack", comm);
    struct pack_call call = {"Pack", comm, incount, datatype, outsize, *position, 0};
    int error = pack(&call, inbuf, outbuf, __builtin_return_address(0));
    if (!error)
        *position += (int)call.bytes;
    return error;
}

int PMPI_Pack_c(const void *inbuf, MPI_Count incount, MPI_Datatype datatype, void *outbuf,
                MPI_Count outsize, MPI_Count *position, MPI_Comm comm)
{
    if (!position)
        return missing_position("Pack_c", comm);
    struct pack_call call = {"Pack_c", comm, incount, datatype, outsize, *position, 0};
    int error = pack(&call, inbuf, outbuf, __builtin_return_address(0));
    if (!error)
        *position += (MPI_Count)call.bytes;
    return error;
}

int PMPI_Unpack(const void *inbuf, int insize, int *position, void *outbuf, int outcount,
                MPI_Datatype datatype, MPI_Comm comm)
{
    if (!position)
        return missing_position("Unpack", comm);
    struct pack_call call = {"Unpack", comm, outcount, datatype, insize, *position, 0};
    int error = unpack(&call, inbuf, outbuf, __builtin_return_address(0));
    if (!error)
        *position += (int)call.bytes;
    return error;
}

int PMPI_Unpack_c(const void *inbuf, MPI_Count insize, MPI_Count *position, void *outbuf,
                  MPI_Count outcount, MPI_Datatype datatype, MPI_Comm comm)
{
    if (!position)
        return missing_position("Unpack_c", comm);
    struct pack_call call = {"Unpack_c", comm, outcount, datatype, insize, *position, 0};
    int error = unpack(&call, inbuf, outbuf, __builtin_return_address(0));
    if (!error)
        *position += (MPI_Count)call.bytes;
    return error;
}

int PMPI_Pack_size(int incount, MPI_Datatype datatype, MPI_Comm comm, int *size)
{
    struct pack_call call = {"Pack_size", comm, incount, datatype, 0, 0, 0};
    int error = check_count(&call);
    if (error)
        return error;
    if (!size)
        return sim_error_raise(comm, MPI_ERR_ARG, "Pack_size", "size is a null pointer");
    *size = call.bytes <= INT_MAX ? (int)call.bytes : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

int PMPI_Pack_size_c(MPI_Count incount, MPI_Datatype datatype, MPI_Comm comm, MPI_Count *size)
{
    struct pack_call call = {"Pack_size_c", comm, incount, datatype, 0, 0, 0};
    int error = check_count(&call);
    if (error)
        return error;
    if (!size)
        return sim_error_raise(comm, MPI_ERR_ARG, "Pack_size_c", "size is a null pointer");
    *size = (MPI_Count)call.bytes;
    return MPI_SUCCESS;
}
