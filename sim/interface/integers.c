/* MPI_*_toint and MPI_*_fromint: rows of a table, since they differ in types only. */
#include "sim/base/integers.h"

#include <stdint.h>

#include "sim/base/handle.h"
#include "sim/worlds/error.h"
#include "sim/worlds/rank.h"

/* The calling rank's table; NULL outside a rank. */
static struct sim_integers *table(void)
{
    return sim_current_rank ? &sim_current_rank->integers : NULL;
}

static int to_integer(const char *function, void *handle)
{
    int number = sim_integers_number(table(), handle);
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
        return sim_integers_handle(table(), number, null);                                         \
    }
HANDLES(X)
#undef X
