/* integers.c: see integers.h. The functions of MPI are rows of a table: they differ in types only.
 */
#include "sim/base/integers.h"

#include <stdint.h>
#include <stdlib.h>

#include <mpi.h>

#include "sim/base/error.h"
#include "sim/base/handle.h"

int sim_integers_number(struct sim_integers *integers, void *handle)
{
    if (sim_handle_is_predefined(handle))
        return (int)(uintptr_t)handle;
    for (int i = 0; integers && i < integers->count; i++)
        if (integers->handles[i] == handle)
            return SIM_HANDLE_PREDEFINED + i;
    if (!integers)
        return -1;
    if (integers->count == integers->capacity) {
        int capacity = integers->capacity ? 2 * integers->capacity : 16;
        void **handles = realloc(integers->handles, (size_t)capacity * sizeof *handles);
        if (!handles)
            return -1;
        integers->handles = handles;
        integers->capacity = capacity;
    }
    integers->handles[integers->count] = handle;
    return SIM_HANDLE_PREDEFINED + integers->count++;
}

void *sim_integers_handle(const struct sim_integers *integers, int number, void *null)
{
    if (number >= 0 && number < SIM_HANDLE_PREDEFINED)
        return (void *)(uintptr_t)number;
    int row = number - SIM_HANDLE_PREDEFINED;
    return integers && number >= 0 && row < integers->count ? integers->handles[row] : null;
}

void sim_integers_release(struct sim_integers *integers)
{
    free(integers->handles);
    *integers = (struct sim_integers){0};
}

static int to_integer(const char *function, void *handle)
{
    int number = sim_integers_number(sim_integers_of_rank(), handle);
    if (number < 0)
        sim_error_raise(MPI_COMM_NULL, MPI_ERR_NO_MEM, function,
                        "no memory for the handle's number");
    return number;
}

/* Name in the functions, handle type, null handle. */
#define HANDLES(X)                                                                                 \
    X(Comm, MPI_Comm, MPI_COMM_NULL)                                                               \
    X(Errhandler, MPI_Errhandler, MPI_ERRHANDLER_NULL)                                             \
    X(File, MPI_File, MPI_FILE_NULL)                                                               \
    X(Group, MPI_Group, MPI_GROUP_NULL)                                                            \
    X(Info, MPI_Info, MPI_INFO_NULL)                                                               \
    X(Message, MPI_Message, MPI_MESSAGE_NULL)                                                      \
    X(Op, MPI_Op, MPI_OP_NULL)                                                                     \
    X(Request, MPI_Request, MPI_REQUEST_NULL)                                                      \
    X(Session, MPI_Session, MPI_SESSION_NULL)                                                      \
    X(Type, MPI_Datatype, MPI_DATATYPE_NULL)                                                       \
    X(Win, MPI_Win, MPI_WIN_NULL)

#define X(name, type, null)                                                                        \
    int PMPI_##name##_toint(type handle)                                                           \
    {                                                                                              \
        return to_integer(#name "_toint", handle);                                                 \
    }                                                                                              \
    type PMPI_##name##_fromint(int number)                                                         \
    {                                                                                              \
        return sim_integers_handle(sim_integers_of_rank(), number, null);                          \
    }
HANDLES(X)
#undef X
