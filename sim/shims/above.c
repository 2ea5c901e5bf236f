/* What MPICH's own library for Fortran (libmpichfort.so.12), which programs bring along, asks of its C library beside what MPI has. */
#include "sim/shims/shim.h"

#define EXPORTED __attribute__((visibility("default")))

/* ---- Addresses that mean something ---- */

/* The library says at its start where its programs have them. */
extern EXPORTED int *MPI_F_STATUS_IGNORE, *MPI_F_STATUSES_IGNORE;
int *MPI_F_STATUS_IGNORE, *MPI_F_STATUSES_IGNORE;
/* Those of mpi_f08 are its own objects, where it is there. */
extern EXPORTED F_Status MPIR_F08_MPI_STATUS_IGNORE_OBJ, MPIR_F08_MPI_STATUSES_IGNORE_OBJ[1];
F_Status MPIR_F08_MPI_STATUS_IGNORE_OBJ, MPIR_F08_MPI_STATUSES_IGNORE_OBJ[1];
extern EXPORTED F_Status *MPI_F08_STATUS_IGNORE, *MPI_F08_STATUSES_IGNORE;
F_Status *MPI_F08_STATUS_IGNORE = &MPIR_F08_MPI_STATUS_IGNORE_OBJ,
         *MPI_F08_STATUSES_IGNORE = MPIR_F08_MPI_STATUSES_IGNORE_OBJ;

/* ---- Attributes: values, and not where they are ---- */

enum { ADDRESS = 0 }; /* of the kinds that the library asks for: as in C */

OURS(int, Comm_get_attr, (MPI_Comm, int, void *, int *))
OURS(int, Comm_set_attr, (MPI_Comm, int, void *))
OURS(int, Type_get_attr, (MPI_Datatype, int, void *, int *))
OURS(int, Type_set_attr, (MPI_Datatype, int, void *))
extern int ours_Win_get_attr(MPI_Win, int, void *, int *) __asm__("simrun.MPI_Win_get_attr");
OURS(int, Win_set_attr, (MPI_Win, int, void *))

/* Fortran's keys of what is predefined are C's, and one more. */
static int key_of(int key)
{
    int own = in_keyval(key), of_c = in_keyval(key - 1);
    return own == key && of_c != key - 1 ? of_c : own;
}

static intptr_t value_of(int key, void *value)
{
    switch (key) {
    case MPI_TAG_UB:
    case MPI_IO:
    case MPI_HOST:
    case MPI_WTIME_IS_GLOBAL:
    case MPI_UNIVERSE_SIZE:
    case MPI_LASTUSEDCODE:
    case MPI_APPNUM:
    case MPI_WIN_DISP_UNIT:
        return *(int *)value;
    case MPI_WIN_CREATE_FLAVOR:
        return out_flavour(*(int *)value);
    case MPI_WIN_MODEL:
        return out_model(*(int *)value);
    case MPI_WIN_SIZE:
        return *(MPI_Aint *)value;
    default:
        return (intptr_t)value;
    }
}

#define ATTRIBUTES(kind, Object)                                                                   \
    EXPORTED int MPII_##kind##_get_attr(F_##Object object, int key, void *value, int *flag,        \
                                        int how);                                                  \
    int MPII_##kind##_get_attr(F_##Object object, int key, void *value, int *flag, int how)        \
    {                                                                                              \
        ENTER();                                                                                   \
        void *there = NULL;                                                                        \
        int own = key_of(key);                                                                     \
        int result = ours_##kind##_get_attr(in_##Object(object), own, &there, flag);               \
        if (!result && *flag)                                                                      \
            *(intptr_t *)value = how == ADDRESS ? (intptr_t)there : value_of(own, there);          \
        LEAVE();                                                                                   \
        return out_error(result);                                                                  \
    }                                                                                              \
    EXPORTED int MPII_##kind##_set_attr(F_##Object object, int key, void *value, int how);         \
    int MPII_##kind##_set_attr(F_##Object object, int key, void *value, int how)                   \
    {                                                                                              \
        (void)how;                                                                                 \
        ENTER();                                                                                   \
        int result = ours_##kind##_set_attr(in_##Object(object), in_keyval(key), value);           \
        LEAVE();                                                                                   \
        return out_error(result);                                                                  \
    }
ATTRIBUTES(Comm, Comm)
ATTRIBUTES(Type, Datatype)
ATTRIBUTES(Win, Win)

EXPORTED void
MPII_Keyval_set_proxy(int key, int (*copy)(void *, int, int, void *, int, void *, void **, int *),
                      int (*remove)(void *, int, int, int, void *, void *));
void MPII_Keyval_set_proxy(int key,
                           int (*copy)(void *, int, int, void *, int, void *, void **, int *),
                           int (*remove)(void *, int, int, int, void *, void *))
{
    struct shim_attribute *attribute = shim_attribute_of(in_keyval(key));
    if (!attribute)
        return;
    attribute->copy_proxy = copy;
    attribute->remove_proxy = remove;
}

EXPORTED void MPII_Grequest_set_lang_f77(F_Request request);
void MPII_Grequest_set_lang_f77(F_Request request)
{
    (void)request; /* the library calls it as soon as it has started one */
    shim_grequest_of_fortran();
}

/* ---- Extensions of MPICH's, and what is not provided ---- */

#define EXTENSION(name, parameters)                                                                \
    EXPORTED int shim_##name parameters __asm__("PMPIX_" #name);                                   \
    extern EXPORTED __typeof__(shim_##name) shim_mpix_##name __asm__("MPIX_" #name)                \
        __attribute__((weak, alias("PMPIX_" #name)));                                              \
    int shim_##name parameters
#define OURS_EXTENSION(name, parameters)                                                           \
    extern int ours_##name parameters __asm__("simrun.MPIX_" #name);

OURS_EXTENSION(Comm_revoke, (MPI_Comm))
OURS_EXTENSION(Comm_agree, (MPI_Comm, int *))
OURS_EXTENSION(Comm_failure_ack, (MPI_Comm))
OURS_EXTENSION(Comm_failure_get_acked, (MPI_Comm, MPI_Group *))
OURS_EXTENSION(Comm_shrink, (MPI_Comm, MPI_Comm *))
OURS(int, Remove_error_class, (int))
OURS(int, Remove_error_code, (int))
OURS(int, Remove_error_string, (int))

#define CALLED(call)                                                                               \
    ENTER();                                                                                       \
    int result = call;                                                                             \
    LEAVE();                                                                                       \
    return out_error(result)

EXTENSION(Comm_revoke, (F_Comm comm))
{
    CALLED(ours_Comm_revoke(in_Comm(comm)));
}

EXTENSION(Comm_agree, (F_Comm comm, int *flag))
{
    CALLED(ours_Comm_agree(in_Comm(comm), flag));
}

EXTENSION(Comm_failure_ack, (F_Comm comm))
{
    CALLED(ours_Comm_failure_ack(in_Comm(comm)));
}

EXTENSION(Comm_failure_get_acked, (F_Comm comm, F_Group *group))
{
    MADE(Group, group, ours_Comm_failure_get_acked(in_Comm(comm), group ? &own : NULL));
}

EXTENSION(Comm_shrink, (F_Comm comm, F_Comm *shrunk))
{
    MADE(Comm, shrunk, ours_Comm_shrink(in_Comm(comm), shrunk ? &own : NULL));
}

EXTENSION(Delete_error_class, (int number))
{
    CALLED(ours_Remove_error_class(in_error(number)));
}

EXTENSION(Delete_error_code, (int number))
{
    CALLED(ours_Remove_error_code(in_error(number)));
}

EXTENSION(Delete_error_string, (int number))
{
    CALLED(ours_Remove_error_string(in_error(number)));
}

EXTENSION(GPU_query_support, (int type, int *supported))
{
    (void)type;
    *supported = 0;
    return 0;
}

EXTENSION(Query_cuda_support, (void))
{
    return 0;
}

EXTENSION(Query_hip_support, (void))
{
    return 0;
}

EXTENSION(Query_ze_support, (void))
{
    return 0;
}

/* Never called with what they take: what is not provided looks at nothing. */
#define UNSERVED(name)                                                                             \
    void unserved_##name(void) __asm__("simrun.MPI_" #name);                                       \
    THEIRS(void, name, (void))                                                                     \
    {                                                                                              \
        ENTER();                                                                                   \
        unserved_##name();                                                                         \
        LEAVE();                                                                                   \
    }
UNSERVED(File_create_errhandler)
UNSERVED(Register_datarep)

THEIRS(int, File_c2f, (F_File file))
{
    return file;
}

THEIRS(F_File, File_f2c, (int number))
{
    return number;
}
