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

/* ---- what there is none of ---- */

/* Indices of a category's things. */
#define INDICES_OF(name)                                                                           \
    int PMPI_T_category_get_##name(int category, int length, int indices[])                        \
    {                                                                                              \
        (void)category, (void)length, (void)indices;                                               \
        return MPI_T_ERR_INVALID_INDEX;                                                            \
    }

INDICES_OF(cvars)
INDICES_OF(pvars)
INDICES_OF(events)
INDICES_OF(categories)

int PMPI_T_category_get_num_events(int category, int *count)
{
    (void)category, (void)count;
    return MPI_T_ERR_INVALID_INDEX;
}

int PMPI_T_event_get_info(int index, char *name, int *name_length, int *verbosity,
                          MPI_Datatype types[], MPI_Aint displacements[], int *elements,
                          MPI_T_enum *enumtype, MPI_Info *info, char *description,
                          int *description_length, int *bind)
{
    (void)index, (void)verbosity, (void)elements, (void)bind;
    UNUSED(name, name_length, types, displacements, enumtype, info, description);
    UNUSED(description_length);
    return MPI_T_ERR_INVALID_INDEX;
}

int PMPI_T_event_handle_alloc(int index, void *object, MPI_Info info,
                              MPI_T_event_registration *handle)
{
    (void)index;
    UNUSED(object, info, handle);
    return MPI_T_ERR_INVALID_INDEX;
}

int PMPI_T_source_get_info(int index, char *name, int *name_length, char *description,
                           int *description_length, MPI_T_source_order *ordering, MPI_Count *ticks,
                           MPI_Count *most, MPI_Info *info)
{
    (void)index;
    UNUSED(name, name_length, description, description_length, ordering, ticks, most, info);
    return MPI_T_ERR_INVALID_INDEX;
}

int PMPI_T_source_get_timestamp(int index, MPI_Count *timestamp)
{
    (void)index, (void)timestamp;
    return MPI_T_ERR_INVALID_INDEX;
}

/* Calls on handles, of which none is valid. */
#define NO_HANDLE(name, parameters, ...)                                                           \
    int PMPI_T_##name parameters                                                                   \
    {                                                                                              \
        UNUSED(__VA_ARGS__);                                                                       \
        return MPI_T_ERR_INVALID_HANDLE;                                                           \
    }

NO_HANDLE(cvar_handle_free, (MPI_T_cvar_handle * handle), handle)
NO_HANDLE(cvar_read, (MPI_T_cvar_handle handle, void *buffer), handle, buffer)
NO_HANDLE(cvar_write, (MPI_T_cvar_handle handle, const void *buffer), handle, buffer)
NO_HANDLE(enum_get_info, (MPI_T_enum type, int *number, char *name, int *length), type, number,
          name, length)
NO_HANDLE(enum_get_item, (MPI_T_enum type, int index, int *value, char *name, int *length), type,
          &index, value, name, length)
NO_HANDLE(event_callback_get_info,
          (MPI_T_event_registration handle, MPI_T_cb_safety safety, MPI_Info *info), handle,
          &safety, info)
NO_HANDLE(event_callback_set_info,
          (MPI_T_event_registration handle, MPI_T_cb_safety safety, MPI_Info info), handle, &safety,
          info)
NO_HANDLE(event_copy, (MPI_T_event_instance event, void *buffer), event, buffer)
NO_HANDLE(event_get_source, (MPI_T_event_instance event, int *source), event, source)
NO_HANDLE(event_get_timestamp, (MPI_T_event_instance event, MPI_Count *timestamp), event, timestamp)
NO_HANDLE(event_handle_free,
          (MPI_T_event_registration handle, void *user, MPI_T_event_free_cb_function done), handle,
          user, &done)
NO_HANDLE(event_handle_get_info, (MPI_T_event_registration handle, MPI_Info *info), handle, info)
NO_HANDLE(event_handle_set_info, (MPI_T_event_registration handle, MPI_Info info), handle, info)
NO_HANDLE(event_read, (MPI_T_event_instance event, int element, void *buffer), event, &element,
          buffer)
NO_HANDLE(event_register_callback,
          (MPI_T_event_registration handle, MPI_T_cb_safety safety, MPI_Info info, void *user,
           MPI_T_event_cb_function function),
          handle, &safety, info, user, &function)
NO_HANDLE(event_set_dropped_handler,
          (MPI_T_event_registration handle, MPI_T_event_dropped_cb_function function), handle,
          &function)
NO_HANDLE(pvar_handle_free, (MPI_T_pvar_session session, MPI_T_pvar_handle *handle), session,
          handle)
NO_HANDLE(pvar_read, (MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buffer), session,
          handle, buffer)
NO_HANDLE(pvar_readreset, (MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buffer),
          session, handle, buffer)
NO_HANDLE(pvar_write, (MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void *buffer),
          session, handle, buffer)

/* All handles of a session: there are none, and that is well. */
#define OF_ALL(name)                                                                               \
    int PMPI_T_pvar_##name(MPI_T_pvar_session session, MPI_T_pvar_handle handle)                   \
    {                                                                                              \
        (void)session;                                                                             \
        return handle == MPI_T_PVAR_ALL_HANDLES ? MPI_SUCCESS : MPI_T_ERR_INVALID_HANDLE;          \
    }

OF_ALL(start)
OF_ALL(stop)
OF_ALL(reset)
