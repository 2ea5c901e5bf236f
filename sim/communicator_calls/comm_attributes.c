/* What attributes.c asks of the machine: keyvals of the calling rank, lists of its objects,
 * predefined attributes. Weak, so that a test of attributes can stand in for the machine. */
#include "sim/communicator_calls/attribute_lists.h"
#include "sim/communicators/comm.h"
#include "sim/datatypes/attributes.h"
#include "sim/datatypes/datatype.h"
#include "sim/windows/window.h"

__attribute__((weak)) struct sim_keyvals *sim_attributes_keyvals(void)
{
    return sim_current_rank ? &sim_current_rank->keyvals : NULL;
}

__attribute__((weak)) struct sim_attributes *sim_attributes_of(enum sim_attribute_kind kind,
                                                               void *handle)
{
    if (kind == SIM_ATTRIBUTE_TYPE)
        return sim_type_attributes((MPI_Datatype)handle);
    if (kind == SIM_ATTRIBUTE_WIN)
        return sim_win_attributes(handle);
    if (!sim_current_rank || kind != SIM_ATTRIBUTE_COMM)
        return NULL;
    struct sim_comm *comm = sim_comm_get(sim_current_rank, (MPI_Comm)handle);
    return comm ? &comm->attributes : NULL;
}

__attribute__((weak)) bool sim_attributes_predefined(enum sim_attribute_kind kind, void *handle,
                                                     int number, void **value)
{
    static const int tag_limit = 0x3fffffff, no_host = MPI_PROC_NULL, any_rank = MPI_ANY_SOURCE,
                     yes = 1, app = 0, last_code = MPI_ERR_LASTCODE;
    const int *answer = NULL;
    if (kind == SIM_ATTRIBUTE_WIN)
        return sim_win_predefined(handle, number, value);
    if (kind != SIM_ATTRIBUTE_COMM || !sim_current_rank)
        return false;
    switch (number) {
    case MPI_TAG_UB:
        answer = &tag_limit;
        break;
    case MPI_HOST:
        answer = &no_host;
        break;
    case MPI_IO:
        answer = &any_rank;
        break;
    case MPI_WTIME_IS_GLOBAL:
        answer = &yes;
        break;
    case MPI_APPNUM:
        answer = &app;
        break;
    case MPI_LASTUSEDCODE:
        answer =
            sim_current_rank->error_codes.last ? &sim_current_rank->error_codes.last : &last_code;
        break;
    case MPI_UNIVERSE_SIZE:
        answer = &sim_current_rank->world->size;
        break;
    default:
        return false;
    }
    *value = (void *)(uintptr_t)answer;
    return true;
}
