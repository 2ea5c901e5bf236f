/* The tool information interface (MPI_T): present and empty. The machine offers no control or
 * performance variables, events, sources or categories, so every count is 0, every index is out of
 * range and every name unknown. These functions never call an error handler. */
#include <mpi.h>

#define UNUSED(...) ((void)sizeof((const void *[]){__VA_ARGS__}))

int PMPI_T_init_thread(int required, int *provided)
{
    *provided = required < MPI_THREAD_MULTIPLE ? required : MPI_THREAD_MULTIPLE;
    return MPI_SUCCESS;
}

int PMPI_T_finalize(void)
{
    return MPI_SUCCESS;
}

#define COUNT_OF(name)                                                                             \
    int PMPI_T_##name(int *count)                                                                  \
    {                                                                                              \
        *count = 0;                                                                                \
        return MPI_SUCCESS;                                                                        \
    }

COUNT_OF(cvar_get_num)
COUNT_OF(pvar_get_num)
COUNT_OF(event_get_num)
COUNT_OF(source_get_num)
COUNT_OF(category_get_num)
COUNT_OF(category_changed)

#define INDEX_OF(name)                                                                             \
    int PMPI_T_##name(const char *wanted, int *index)                                              \
    {                                                                                              \
        (void)wanted, (void)index;                                                                 \
        return MPI_T_ERR_INVALID_NAME;                                                             \
    }

INDEX_OF(cvar_get_index)
INDEX_OF(event_get_index)
INDEX_OF(category_get_index)

int PMPI_T_pvar_get_index(const char *name, int class, int *index)
{
    (void)name, (void)class, (void)index;
    return MPI_T_ERR_INVALID_NAME;
}

int PMPI_T_cvar_get_info(int index, char *name, int *name_length, int *verbosity,
                         MPI_Datatype *datatype, MPI_T_enum *enumtype, char *description,
                         int *description_length, int *bind, int *scope)
{
    (void)index, (void)verbosity, (void)bind, (void)scope;
    UNUSED(name, name_length, datatype, enumtype, description, description_length);
    return MPI_T_ERR_INVALID_INDEX;
}

int PMPI_T_pvar_get_info(int index, char *name, int *name_length, int *verbosity, int *class,
                         MPI_Datatype *datatype, MPI_T_enum *enumtype, char *description,
                         int *description_length, int *bind, int *readonly, int *continuous,
                         int *atomic)
{
    (void)index, (void)verbosity, (void)class, (void)bind;
    UNUSED(name, name_length, datatype, enumtype, description, description_length);
    UNUSED(readonly, continuous, atomic);
    return MPI_T_ERR_INVALID_INDEX;
}

int PMPI_T_category_get_info(int index, char *name, int *name_length, char *description,
                             int *description_length, int *cvars, int *pvars, int *categories)
{
    (void)index;
    UNUSED(name, name_length, description, description_length, cvars, pvars, categories);
    return MPI_T_ERR_INVALID_INDEX;
}

int PMPI_T_pvar_session_create(MPI_T_pvar_session *session)
{
    *session = MPI_T_PVAR_SESSION_NULL;
    return MPI_SUCCESS;
}

int PMPI_T_pvar_session_free(MPI_T_pvar_session *session)
{
    *session = MPI_T_PVAR_SESSION_NULL;
    return MPI_SUCCESS;
}

int PMPI_T_cvar_handle_alloc(int index, void *object, MPI_T_cvar_handle *handle, int *count)
{
    (void)index;
    UNUSED(object, handle, count);
    return MPI_T_ERR_INVALID_INDEX;
}

int PMPI_T_pvar_handle_alloc(MPI_T_pvar_session session, int index, void *object,
                             MPI_T_pvar_handle *handle, int *count)
{
    (void)index;
    UNUSED(session, object, handle, count);
    return MPI_T_ERR_INVALID_INDEX;
}
