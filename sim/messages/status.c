/* status.c: MPI_Get_count, MPI_Get_elements and the accessors of MPI_Status. */
#include "sim/messages/status.h"

#include <limits.h>

#include "sim/datatypes/datatype.h"
#include "sim/worlds/error.h"

#include <mpix.h>

/* A count that the caller's integer cannot hold is reported as MPI_UNDEFINED. */
static MPI_Count undefined_above(size_t count, MPI_Count limit)
{
    return count > (size_t)limit ? MPI_UNDEFINED : (MPI_Count)count;
}

static int check(const char *function, const MPI_Status *status, const void *result,
                 MPI_Datatype datatype)
{
    if (!status || !result)
        return sim_error_raise(MPI_COMM_NULL, MPI_ERR_ARG, function, "%s is a null pointer",
                               status ? "count" : "status");
    if (!sim_datatype_get(datatype))
        return sim_error_raise(MPI_COMM_NULL, MPI_ERR_TYPE, function,
                               "datatype is not a valid datatype");
    return MPI_SUCCESS;
}

/* Whole elements of the type in what was received; SIZE_MAX when that is no whole number. */
static size_t whole_count(const MPI_Status *status, MPI_Datatype datatype)
{
    size_t size = sim_datatype_get(datatype)->size, bytes = sim_status_bytes(status);
    if (size == 0)
        return bytes == 0 ? 0 : SIZE_MAX;
    return bytes % size == 0 ? bytes / size : SIZE_MAX;
}

int64_t MPIX_Status_bytes(const MPI_Status *status)
{
    return (int64_t)sim_status_bytes(status);
}

int PMPI_Get_count(const MPI_Status *status, MPI_Datatype datatype, int *count)
{
    int error = check("Get_count", status, count, datatype);
    if (!error)
        *count = (int)undefined_above(whole_count(status, datatype), INT_MAX);
    return error;
}

int PMPI_Get_count_c(const MPI_Status *status, MPI_Datatype datatype, MPI_Count *count)
{
    int error = check("Get_count_c", status, count, datatype);
    if (!error)
        *count = undefined_above(whole_count(status, datatype), INT64_MAX);
    return error;
}

static size_t element_count(const MPI_Status *status, MPI_Datatype datatype)
{
    return sim_datatype_elements_in(sim_datatype_get(datatype), sim_status_bytes(status));
}

int PMPI_Get_elements(const MPI_Status *status, MPI_Datatype datatype, int *count)
{
    int error = check("Get_elements", status, count, datatype);
    if (!error)
        *count = (int)undefined_above(element_count(status, datatype), INT_MAX);
    return error;
}

static int get_elements_wide(const char *function, const MPI_Status *status, MPI_Datatype datatype,
                             MPI_Count *count)
{
    int error = check(function, status, count, datatype);
    if (!error)
        *count = undefined_above(element_count(status, datatype), INT64_MAX);
    return error;
}

int PMPI_Get_elements_c(const MPI_Status *status, MPI_Datatype datatype, MPI_Count *count)
{
    return get_elements_wide("Get_elements_c", status, datatype, count);
}

int PMPI_Get_elements_x(const MPI_Status *status, MPI_Datatype datatype, MPI_Count *count)
{
    return get_elements_wide("Get_elements_x", status, datatype, count);
}

static int set_elements(const char *function, MPI_Status *status, MPI_Datatype datatype,
                        MPI_Count count)
{
    int error = check(function, status, status, datatype);
    if (error)
        return error;
    if (count < 0)
        return sim_error_raise(MPI_COMM_NULL, MPI_ERR_COUNT, function, "count is negative: %lld",
                               (long long)count);
    sim_status_set_bytes(status, sim_datatype_bytes_of(sim_datatype_get(datatype), (size_t)count));
    return MPI_SUCCESS;
}

int PMPI_Status_set_elements(MPI_Status *status, MPI_Datatype datatype, int count)
{
    return set_elements("Status_set_elements", status, datatype, count);
}

int PMPI_Status_set_elements_c(MPI_Status *status, MPI_Datatype datatype, MPI_Count count)
{
    return set_elements("Status_set_elements_c", status, datatype, count);
}

int PMPI_Status_set_elements_x(MPI_Status *status, MPI_Datatype datatype, MPI_Count count)
{
    return set_elements("Status_set_elements_x", status, datatype, count);
}

/* ---- Fields ---- */

static int check_pointers(const char *function, const MPI_Status *status, const void *result)
{
    if (status && result)
        return MPI_SUCCESS;
    return sim_error_raise(MPI_COMM_NULL, MPI_ERR_ARG, function, "%s is a null pointer",
                           status ? "the result" : "status");
}

int PMPI_Test_cancelled(const MPI_Status *status, int *flag)
{
    int error = check_pointers("Test_cancelled", status, flag);
    if (!error)
        *flag = sim_status_cancelled(status);
    return error;
}

int PMPI_Status_set_cancelled(MPI_Status *status, int flag)
{
    int error = check_pointers("Status_set_cancelled", status, status);
    if (!error)
        sim_status_set_cancelled(status, flag != 0);
    return error;
}

int PMPI_Status_get_source(const MPI_Status *status, int *source)
{
    int error = check_pointers("Status_get_source", status, source);
    if (!error)
        *source = status->MPI_SOURCE;
    return error;
}

int PMPI_Status_get_tag(const MPI_Status *status, int *tag)
{
    int error = check_pointers("Status_get_tag", status, tag);
    if (!error)
        *tag = status->MPI_TAG;
    return error;
}

int PMPI_Status_get_error(const MPI_Status *status, int *error_code)
{
    int error = check_pointers("Status_get_error", status, error_code);
    if (!error)
        *error_code = status->MPI_ERROR;
    return error;
}

int PMPI_Status_set_source(MPI_Status *status, int source)
{
    int error = check_pointers("Status_set_source", status, status);
    if (!error)
        status->MPI_SOURCE = source;
    return error;
}

int PMPI_Status_set_tag(MPI_Status *status, int tag)
{
    int error = check_pointers("Status_set_tag", status, status);
    if (!error)
        status->MPI_TAG = tag;
    return error;
}

int PMPI_Status_set_error(MPI_Status *status, int error_code)
{
    int error = check_pointers("Status_set_error", status, status);
    if (!error)
        status->MPI_ERROR = error_code;
    return error;
}
