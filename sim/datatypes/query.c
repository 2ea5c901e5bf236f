/* query.c: what a program may ask of a datatype, and commit, free, names, addresses. */
#include "sim/worlds/rank_lock.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "sim/datatypes/attributes.h"
#include "sim/datatypes/call.h"
#include "sim/worlds/open_handles.h"

/* The object for writing; only for types the program made. */
static struct sim_datatype *writable(MPI_Datatype datatype)
{
    return (struct sim_datatype *)(uintptr_t)sim_datatype_get(datatype);
}

/* ---- Commit and free ---- */

int PMPI_Type_commit(MPI_Datatype *datatype)
{
    int error = sim_type_query_check("Type_commit", datatype ? *datatype : MPI_DATATYPE_NULL, true);
    if (error)
        return error;
    struct sim_datatype *type = writable(*datatype);
    if (!type->committed) {
        type->overlaps = sim_datatype_overlaps(type, 1);
        type->committed = true;
    }
    return MPI_SUCCESS;
}

int PMPI_Type_free(MPI_Datatype *datatype)
{
    int error = sim_type_query_check("Type_free", datatype ? *datatype : MPI_DATATYPE_NULL, true);
    if (error)
        return error;
    struct sim_datatype *type = writable(*datatype);
    if (type->predefined)
        return sim_type_raise("Type_free", MPI_ERR_TYPE, "%s is predefined and cannot be freed",
                              type->label);
    if (type->handles == 1) {
        {
            WITH_RANK_LOCK;
            error = sim_attributes_clear(&type->attributes, *datatype);
        }
        if (error)
            return sim_error_raise_callback(MPI_COMM_NULL, error, "Type_free",
                                            "an attribute's delete function failed");
        type->magic = SIM_MAGIC_FREED;
    }
    type->handles--;
    sim_open_handles_remove(SIM_LIVE_DATATYPE, (uint64_t)(uintptr_t)*datatype);
    sim_datatype_release(type);
    *datatype = MPI_DATATYPE_NULL;
    return MPI_SUCCESS;
}

/* ---- Size and extent ---- */

int PMPI_Type_size(MPI_Datatype datatype, int *size)
{
    int error = sim_type_query_check("Type_size", datatype, size);
    if (error)
        return error;
    size_t bytes = sim_datatype_get(datatype)->size;
    *size = bytes <= INT_MAX ? (int)bytes : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

static int size_wide(const char *function, MPI_Datatype datatype, MPI_Count *size)
{
    int error = sim_type_query_check(function, datatype, size);
    if (!error)
        *size = (MPI_Count)sim_datatype_get(datatype)->size;
    return error;
}

int PMPI_Type_size_c(MPI_Datatype datatype, MPI_Count *size)
{
    return size_wide("Type_size_c", datatype, size);
}

int PMPI_Type_size_x(MPI_Datatype datatype, MPI_Count *size)
{
    return size_wide("Type_size_x", datatype, size);
}

static int extent(const char *function, MPI_Datatype datatype, int64_t *lb, int64_t *extent_result)
{
    int error = sim_type_query_check(function, datatype, lb && extent_result);
    if (error)
        return error;
    *lb = sim_datatype_get(datatype)->lb;
    *extent_result = sim_datatype_get(datatype)->extent;
    return MPI_SUCCESS;
}

int PMPI_Type_get_extent(MPI_Datatype datatype, MPI_Aint *lb, MPI_Aint *extent_result)
{
    return extent("Type_get_extent", datatype, lb, extent_result);
}

int PMPI_Type_get_extent_c(MPI_Datatype datatype, MPI_Count *lb, MPI_Count *extent_result)
{
    return extent("Type_get_extent_c", datatype, lb, extent_result);
}

int PMPI_Type_get_extent_x(MPI_Datatype datatype, MPI_Count *lb, MPI_Count *extent_result)
{
    return extent("Type_get_extent_x", datatype, lb, extent_result);
}

static int true_extent(const char *function, MPI_Datatype datatype, int64_t *true_lb,
                       int64_t *extent_result)
{
    int error = sim_type_query_check(function, datatype, true_lb && extent_result);
    if (error)
        return error;
    *true_lb = sim_datatype_get(datatype)->true_lb;
    *extent_result = sim_datatype_get(datatype)->true_extent;
    return MPI_SUCCESS;
}

int PMPI_Type_get_true_extent(MPI_Datatype datatype, MPI_Aint *true_lb, MPI_Aint *extent_result)
{
    return true_extent("Type_get_true_extent", datatype, true_lb, extent_result);
}

int PMPI_Type_get_true_extent_c(MPI_Datatype datatype, MPI_Count *true_lb, MPI_Count *extent_result)
{
    return true_extent("Type_get_true_extent_c", datatype, true_lb, extent_result);
}

int PMPI_Type_get_true_extent_x(MPI_Datatype datatype, MPI_Count *true_lb, MPI_Count *extent_result)
{
    return true_extent("Type_get_true_extent_x", datatype, true_lb, extent_result);
}

/* ---- Names ---- */

int PMPI_Type_set_name(MPI_Datatype datatype, const char *type_name)
{
    WITH_RANK_LOCK;
    int error = sim_type_query_check("Type_set_name", datatype, type_name);
    if (error)
        return error;
    char **own = sim_type_own_name(sim_datatype_get(datatype), true);
    char *name = own ? strndup(type_name, MPI_MAX_OBJECT_NAME - 1) : NULL;
    if (!name)
        return sim_type_raise("Type_set_name", MPI_ERR_NO_MEM, "out of memory");
    free(*own);
    *own = name;
    return MPI_SUCCESS;
}

int PMPI_Type_get_name(MPI_Datatype datatype, char *type_name, int *resultlen)
{
    WITH_RANK_LOCK;
    /* The null handle has a name. */
    const char *name = "MPI_DATATYPE_NULL";
    if (datatype != MPI_DATATYPE_NULL || !type_name || !resultlen) {
        int error = sim_type_query_check("Type_get_name", datatype, type_name && resultlen);
        if (error)
            return error;
        char **own = sim_type_own_name(sim_datatype_get(datatype), false);
        name = own && *own ? *own : sim_datatype_name(sim_datatype_get(datatype));
    }
    size_t length = strlen(name);
    memcpy(type_name, name, length + 1);
    *resultlen = (int)length;
    return MPI_SUCCESS;
}

/* ---- Finding predefined types ---- */

/* The first match in a list of handles that ends with MPI_DATATYPE_NULL. */
static MPI_Datatype find_size(const MPI_Datatype *candidates, size_t size)
{
    for (; *candidates != MPI_DATATYPE_NULL; candidates++)
        if (sim_datatype_get(*candidates)->size == size)
            return *candidates;
    return MPI_DATATYPE_NULL;
}

int PMPI_Type_match_size(int typeclass, int size, MPI_Datatype *datatype)
{
    if (sim_point_outside("Type_match_size"))
        return MPI_ERR_OTHER;
    static const MPI_Datatype integers[] = {MPI_INTEGER,  MPI_INTEGER1,  MPI_INTEGER2,
                                            MPI_INTEGER8, MPI_INTEGER16, MPI_DATATYPE_NULL};
    static const MPI_Datatype reals[] = {MPI_REAL, MPI_DOUBLE_PRECISION, MPI_REAL2, MPI_REAL16,
                                         MPI_DATATYPE_NULL};
    static const MPI_Datatype complexes[] = {MPI_COMPLEX, MPI_DOUBLE_COMPLEX, MPI_COMPLEX4,
                                             MPI_COMPLEX32, MPI_DATATYPE_NULL};
    const MPI_Datatype *candidates = typeclass == MPI_TYPECLASS_INTEGER   ? integers
                                     : typeclass == MPI_TYPECLASS_REAL    ? reals
                                     : typeclass == MPI_TYPECLASS_COMPLEX ? complexes
                                                                          : NULL;
    if (!candidates || !datatype)
        return sim_type_raise("Type_match_size", MPI_ERR_ARG,
                              candidates ? "datatype is a null pointer"
                                         : "typeclass is none of the three classes");
    MPI_Datatype found = size > 0 ? find_size(candidates, (size_t)size) : MPI_DATATYPE_NULL;
    if (found == MPI_DATATYPE_NULL)
        return sim_type_raise("Type_match_size", MPI_ERR_ARG, "no type of this class has %d bytes",
                              size);
    *datatype = found;
    return MPI_SUCCESS;
}

int PMPI_Type_get_value_index(MPI_Datatype value_type, MPI_Datatype index_type,
                              MPI_Datatype *pair_type)
{
    static const MPI_Datatype pairs[][3] = {
        {MPI_FLOAT, MPI_INT, MPI_FLOAT_INT},
        {MPI_DOUBLE, MPI_INT, MPI_DOUBLE_INT},
        {MPI_LONG, MPI_INT, MPI_LONG_INT},
        {MPI_INT, MPI_INT, MPI_2INT},
        {MPI_SHORT, MPI_INT, MPI_SHORT_INT},
        {MPI_LONG_DOUBLE, MPI_INT, MPI_LONG_DOUBLE_INT},
        {MPI_REAL, MPI_REAL, MPI_2REAL},
        {MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_2DOUBLE_PRECISION},
        {MPI_INTEGER, MPI_INTEGER, MPI_2INTEGER},
    };
    int error = sim_type_query_check("Type_get_value_index", value_type, pair_type);
    if (!error)
        error = sim_type_query_check("Type_get_value_index", index_type, true);
    if (error)
        return error;
    *pair_type = MPI_DATATYPE_NULL;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i][0] == value_type && pairs[i][1] == index_type)
            *pair_type = pairs[i][2];
    return MPI_SUCCESS;
}

/* ---- Addresses ---- */

int PMPI_Get_address(const void *location, MPI_Aint *address)
{
    if (!address)
        return sim_type_raise("Get_address", MPI_ERR_ARG, "address is a null pointer");
    *address = (MPI_Aint)location;
    return MPI_SUCCESS;
}

MPI_Aint PMPI_Aint_add(MPI_Aint base, MPI_Aint disp)
{
    return (MPI_Aint)((uintptr_t)base + (uintptr_t)disp);
}

MPI_Aint PMPI_Aint_diff(MPI_Aint addr1, MPI_Aint addr2)
{
    return (MPI_Aint)((uintptr_t)addr1 - (uintptr_t)addr2);
}
