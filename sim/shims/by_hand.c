/* What cannot be made from a prototype: see wrappers.pl. */
#include "sim/shims/cxx.h"
#include "sim/shims/shim.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifdef SHIM_OPENMPI
__thread const void *shim_outer;
#endif

void *shim_room(size_t count, size_t size)
{
    void *room = calloc(count, size);
    if (room)
        return room;
    fprintf(stderr, "simrun: out of memory for the handles of another MPI\n");
    abort();
}

/* ---- Statuses ---- */

MPI_Status *status_in(const F_Status *theirs, MPI_Status *ours)
{
    if (!STATUS_THERE(theirs))
        return NULL;
    uint64_t bytes = status_bytes(theirs);
    *ours = (MPI_Status){.MPI_SOURCE = in_rank(theirs->MPI_SOURCE),
                         .MPI_TAG = in_tag(theirs->MPI_TAG),
                         .MPI_ERROR = in_error(theirs->MPI_ERROR)};
    memcpy(ours->MPI_internal, &bytes, sizeof bytes);
    ours->MPI_internal[2] = status_cancelled(theirs);
    return ours;
}

void status_out(F_Status *theirs, const MPI_Status *ours)
{
    if (!STATUS_THERE(theirs))
        return;
    uint64_t bytes;
    memcpy(&bytes, ours->MPI_internal, sizeof bytes);
    theirs->MPI_SOURCE = out_rank(ours->MPI_SOURCE);
    theirs->MPI_TAG = out_tag(ours->MPI_TAG);
    if (ours->MPI_ERROR != in_error(theirs->MPI_ERROR))
        theirs->MPI_ERROR = out_error(ours->MPI_ERROR);
    status_set(theirs, bytes, ours->MPI_internal[2] != 0);
}

/* ---- Lengths ---- */

OURS(int, Comm_size, (MPI_Comm, int *))
OURS(int, Comm_remote_size, (MPI_Comm, int *))
OURS(int, Comm_test_inter, (MPI_Comm, int *))
OURS(int, Topo_test, (MPI_Comm, int *))
OURS(int, Cartdim_get, (MPI_Comm, int *))
OURS(int, Comm_rank, (MPI_Comm, int *))
OURS(int, Graph_neighbors_count, (MPI_Comm, int, int *))
OURS(int, Dist_graph_neighbors_count, (MPI_Comm, int *, int *, int *))

int peers_of(F_Comm comm)
{
    int inter = 0, count = 0;
    ours_Comm_test_inter(in_Comm(comm), &inter);
    inter ? ours_Comm_remote_size(in_Comm(comm), &count) : ours_Comm_size(in_Comm(comm), &count);
    return count;
}

static void neighbours(F_Comm comm, int *sources, int *targets)
{
    int topology = MPI_UNDEFINED, weighted, rank;
    *sources = *targets = 0;
    ours_Topo_test(in_Comm(comm), &topology);
    if (topology == MPI_DIST_GRAPH) {
        ours_Dist_graph_neighbors_count(in_Comm(comm), sources, targets, &weighted);
    } else if (topology == MPI_GRAPH && !ours_Comm_rank(in_Comm(comm), &rank)) {
        ours_Graph_neighbors_count(in_Comm(comm), rank, sources);
        *targets = *sources;
    } else if (topology == MPI_CART && !ours_Cartdim_get(in_Comm(comm), sources)) {
        *targets = *sources *= 2;
    }
}

int sources_of(F_Comm comm)
{
    int sources, targets;
    neighbours(comm, &sources, &targets);
    return sources;
}

int targets_of(F_Comm comm)
{
    int sources, targets;
    neighbours(comm, &sources, &targets);
    return targets;
}

/* ---- Start and end ---- */

OURS(int, Pcontrol, (const int, ...))
THEIRS(int, Pcontrol, (const int level, ...))
{
    return out_error(ours_Pcontrol(level));
}

/* ---- Functions of the program ---- */

/* MPI calls one of ours, which knows by its place in the table whose function it stands for. A function has one place however often it is
 * given; a program has fewer functions than the table. */
#define FOUR(X, row, a, b, c, d) X(row##a) X(row##b) X(row##c) X(row##d)
#define SIXTEEN(X, row)                                                                            \
    FOUR(X, row, 0, 1, 2, 3)                                                                       \
    FOUR(X, row, 4, 5, 6, 7) FOUR(X, row, 8, 9, a, b) FOUR(X, row, c, d, e, f)
#define SIXTY_FOUR(X) SIXTEEN(X, 0x0) SIXTEEN(X, 0x1) SIXTEEN(X, 0x2) SIXTEEN(X, 0x3)

static int place_of(void (*functions[])(void), void (*function)(void))
{
    for (int i = 0; i < SHIM_FUNCTIONS; i++) {
        if (!functions[i] || (functions[i] == function && !shim_cxx_intercepts(function))) {
            functions[i] = function;
            shim_cxx_made(i);
            return i;
        }
    }
    fprintf(stderr, "simrun: more than %d functions for MPI to call\n", SHIM_FUNCTIONS);
    abort();
}

static shim_function *operators[SHIM_FUNCTIONS], *operators_c[SHIM_FUNCTIONS],
    *handlers[SHIM_FUNCTIONS];

typedef void F_User_function(void *in, void *inout, int *count, F_Datatype *type);
typedef void F_User_function_c(void *in, void *inout, MPI_Count *count, F_Datatype *type);
typedef void F_errhandler_function(void *handle, int *code, ...);

#define OPERATOR(n)                                                                                \
    static void operator_##n(void *in, void *inout, int *count, MPI_Datatype *type)                \
    {                                                                                              \
        F_Datatype theirs = out_Datatype(*type);                                                   \
        if (!shim_cxx_call(n, in, inout, count, &theirs))                                          \
            ((F_User_function *)operators[n])(in, inout, count, &theirs);                          \
    }                                                                                              \
    static void operator_c_##n(void *in, void *inout, MPI_Count *count, MPI_Datatype *type)        \
    {                                                                                              \
        F_Datatype theirs = out_Datatype(*type);                                                   \
        ((F_User_function_c *)operators_c[n])(in, inout, count, &theirs);                          \
    }                                                                                              \
    static void handler_comm_##n(MPI_Comm *comm, int *code, ...)                                   \
    {                                                                                              \
        F_Comm theirs = out_Comm(*comm);                                                           \
        int code_there = out_error(*code);                                                         \
        ((F_errhandler_function *)handlers[n])(&theirs, &code_there);                              \
    }                                                                                              \
    static void handler_win_##n(MPI_Win *win, int *code, ...)                                      \
    {                                                                                              \
        F_Win theirs = out_Win(*win);                                                              \
        int code_there = out_error(*code);                                                         \
        ((F_errhandler_function *)handlers[n])(&theirs, &code_there);                              \
    }                                                                                              \
    static void handler_session_##n(MPI_Session *session, int *code, ...)                          \
    {                                                                                              \
        F_Session theirs = out_Session(*session);                                                  \
        int code_there = out_error(*code);                                                         \
        ((F_errhandler_function *)handlers[n])(&theirs, &code_there);                              \
    }
SIXTY_FOUR(OPERATOR)

#define OPERATOR_ROW(n)        operator_##n,
#define OPERATOR_C_ROW(n)      operator_c_##n,
#define HANDLER_COMM_ROW(n)    handler_comm_##n,
#define HANDLER_WIN_ROW(n)     handler_win_##n,
#define HANDLER_SESSION_ROW(n) handler_session_##n,
static MPI_User_function *const operator_rows[] = {SIXTY_FOUR(OPERATOR_ROW)};
static MPI_User_function_c *const operator_c_rows[] = {SIXTY_FOUR(OPERATOR_C_ROW)};
static MPI_Comm_errhandler_function *const handler_comm_rows[] = {SIXTY_FOUR(HANDLER_COMM_ROW)};
static MPI_Win_errhandler_function *const handler_win_rows[] = {SIXTY_FOUR(HANDLER_WIN_ROW)};
static MPI_Session_errhandler_function *const handler_session_rows[] = {
    SIXTY_FOUR(HANDLER_SESSION_ROW)};

OURS(int, Op_create, (MPI_User_function *, int, MPI_Op *))
OURS(int, Op_create_c, (MPI_User_function_c *, int, MPI_Op *))
OURS(int, Comm_create_errhandler, (MPI_Comm_errhandler_function *, MPI_Errhandler *))
OURS(int, Win_create_errhandler, (MPI_Win_errhandler_function *, MPI_Errhandler *))
OURS(int, Session_create_errhandler, (MPI_Session_errhandler_function *, MPI_Errhandler *))

BY_HAND(Op_create, (F_User_function * function, int commute, F_Op *op))
{
    MPI_User_function *ours =
        function ? operator_rows[place_of(operators, (shim_function *)function)] : NULL;
    MADE(Op, op, ours_Op_create(ours, commute, op ? &own : NULL));
}

BY_HAND(Op_create_c, (F_User_function_c * function, int commute, F_Op *op))
{
    MPI_User_function_c *ours =
        function ? operator_c_rows[place_of(operators_c, (shim_function *)function)] : NULL;
    MADE(Op, op, ours_Op_create_c(ours, commute, op ? &own : NULL));
}

BY_HAND(Comm_create_errhandler, (F_errhandler_function * function, F_Errhandler *handler))
{
    MPI_Comm_errhandler_function *ours =
        function ? handler_comm_rows[place_of(handlers, (shim_function *)function)] : NULL;
    MADE(Errhandler, handler, ours_Comm_create_errhandler(ours, handler ? &own : NULL));
}
OLDER(Errhandler_create, Comm_create_errhandler)

BY_HAND(Win_create_errhandler, (F_errhandler_function * function, F_Errhandler *handler))
{
    MPI_Win_errhandler_function *ours =
        function ? handler_win_rows[place_of(handlers, (shim_function *)function)] : NULL;
    MADE(Errhandler, handler, ours_Win_create_errhandler(ours, handler ? &own : NULL));
}

BY_HAND(Session_create_errhandler, (F_errhandler_function * function, F_Errhandler *handler))
{
    MPI_Session_errhandler_function *ours =
        function ? handler_session_rows[place_of(handlers, (shim_function *)function)] : NULL;
    MADE(Errhandler, handler, ours_Session_create_errhandler(ours, handler ? &own : NULL));
}

/* ---- Attributes ---- */

static struct shim_attribute *attributes;

struct shim_attribute *shim_attribute_of(int key)
{
    struct shim_attribute *attribute = attributes;
    while (attribute && attribute->key != key)
        attribute = attribute->next;
    return attribute;
}

enum {
    INTEGER_OF_FORTRAN = 1
}; /* what MPICH calls the kind of an attribute that is an address' size */
#ifdef SHIM_MPICH
#define COPY_BY_PROXY(theirs)                                                                      \
    if (attribute->copy_proxy)                                                                     \
        return in_error(attribute->copy_proxy(attribute->copy, theirs, out_keyval(key),            \
                                              attribute->extra, INTEGER_OF_FORTRAN, in, out,       \
                                              flag));
#define REMOVE_BY_PROXY(theirs)                                                                    \
    if (attribute->remove_proxy)                                                                   \
        return in_error(attribute->remove_proxy(attribute->remove, theirs, out_keyval(key),        \
                                                INTEGER_OF_FORTRAN, value, attribute->extra));
#else
#define COPY_BY_PROXY(theirs)
#define REMOVE_BY_PROXY(theirs)
#endif

#define ATTRIBUTE(kind, Object)                                                                    \
    typedef int F_##kind##_copy(F_##Object, int, void *, void *, void *, int *);                   \
    typedef int F_##kind##_remove(F_##Object, int, void *, void *);                                \
    static int kind##_copy(MPI_##Object from, int key, void *extra, void *in, void *out,           \
                           int *flag)                                                              \
    {                                                                                              \
        const struct shim_attribute *attribute = extra;                                            \
        COPY_BY_PROXY(out_##Object(from))                                                          \
        F_##kind##_copy *function = (F_##kind##_copy *)(uintptr_t)attribute->copy;                 \
        return in_error(                                                                           \
            function(out_##Object(from), out_keyval(key), attribute->extra, in, out, flag));       \
    }                                                                                              \
    static int kind##_remove(MPI_##Object from, int key, void *value, void *extra)                 \
    {                                                                                              \
        const struct shim_attribute *attribute = extra;                                            \
        REMOVE_BY_PROXY(out_##Object(from))                                                        \
        F_##kind##_remove *function = (F_##kind##_remove *)(uintptr_t)attribute->remove;           \
        return in_error(function(out_##Object(from), out_keyval(key), value, attribute->extra));   \
    }                                                                                              \
    OURS(int, kind##_create_keyval,                                                                \
         (int (*)(MPI_##Object, int, void *, void *, void *, int *),                               \
          int (*)(MPI_##Object, int, void *, void *), int *, void *))                              \
    BY_HAND(kind##_create_keyval,                                                                  \
            (F_##kind##_copy * copy, F_##kind##_remove * remove, int *key, void *extra))           \
    {                                                                                              \
        ENTER();                                                                                   \
        struct shim_attribute *attribute = shim_room(1, sizeof *attribute);                        \
        *attribute = (struct shim_attribute){                                                      \
            .copy = (void *)(uintptr_t)copy, .remove = (void *)(uintptr_t)remove, .extra = extra}; \
        int own = MPI_KEYVAL_INVALID;                                                              \
        int result =                                                                               \
            ours_##kind##_create_keyval(copy ? kind##_copy : NULL, remove ? kind##_remove : NULL,  \
                                        key ? &own : NULL, attribute);                             \
        if (key)                                                                                   \
            *key = out_keyval(own);                                                                \
        attribute->key = own;                                                                      \
        attribute->next = attributes;                                                              \
        attributes = attribute;                                                                    \
        LEAVE();                                                                                   \
        return out_error(result);                                                                  \
    }
ATTRIBUTE(Comm, Comm)
ATTRIBUTE(Type, Datatype)
ATTRIBUTE(Win, Win)
OLDER(Keyval_create, Comm_create_keyval)

#ifdef SHIM_OPENMPI
/* Functions a program may name. */
#define PREDEFINED(prefix, Object)                                                                 \
    int OMPI_C_MPI_##prefix##NULL_COPY_FN(F_##Object, int, void *, void *, void *, int *);         \
    int OMPI_C_MPI_##prefix##NULL_COPY_FN(F_##Object from, int key, void *extra, void *in,         \
                                          void *out, int *flag)                                    \
    {                                                                                              \
        (void)from, (void)key, (void)extra, (void)in, (void)out;                                   \
        *flag = 0;                                                                                 \
        return 0;                                                                                  \
    }                                                                                              \
    int OMPI_C_MPI_##prefix##DUP_FN(F_##Object, int, void *, void *, void *, int *);               \
    int OMPI_C_MPI_##prefix##DUP_FN(F_##Object from, int key, void *extra, void *in, void *out,    \
                                    int *flag)                                                     \
    {                                                                                              \
        (void)from, (void)key, (void)extra;                                                        \
        *flag = 1;                                                                                 \
        *(void **)out = in;                                                                        \
        return 0;                                                                                  \
    }                                                                                              \
    int OMPI_C_MPI_##prefix##NULL_DELETE_FN(F_##Object, int, void *, void *);                      \
    int OMPI_C_MPI_##prefix##NULL_DELETE_FN(F_##Object from, int key, void *value, void *extra)    \
    {                                                                                              \
        (void)from, (void)key, (void)value, (void)extra;                                           \
        return 0;                                                                                  \
    }
PREDEFINED(, Comm)
PREDEFINED(COMM_, Comm)
PREDEFINED(TYPE_, Datatype)
PREDEFINED(WIN_, Win)
#endif

/* Two attributes of windows are constants themselves. */
OURS(int, Win_get_attr, (MPI_Win, int, void *, int *))
BY_HAND(Win_get_attr, (F_Win win, int key, void *value, int *flag))
{
    static int translated[2]; /* per rank, as all of the library */
    ENTER();
    int own = in_keyval(key), result = ours_Win_get_attr(in_Win(win), own, value, flag);
    if (!result && *flag && (own == MPI_WIN_CREATE_FLAVOR || own == MPI_WIN_MODEL)) {
        int *theirs = &translated[own == MPI_WIN_MODEL], ours = **(int **)value;
        *theirs = own == MPI_WIN_MODEL ? out_model(ours) : out_flavour(ours);
        *(int **)value = theirs;
    }
    LEAVE();
    return out_error(result);
}

/* ---- Generalised requests ---- */

typedef int F_query_function(void *extra, F_Status *status);
struct generalised {
    F_query_function *query;
    MPI_Grequest_free_function *free;
    MPI_Grequest_cancel_function *cancel;
    void *extra;
#ifdef SHIM_MPICH
    int of_fortran;
#endif
};

#ifdef SHIM_MPICH
/* Functions of a Fortran program, which return their error in a parameter (MPII_Grequest_set_lang_f77). */
typedef void F_fortran_query(void *extra, F_Status *status, int *error);
typedef void F_fortran_free(void *extra, int *error);
typedef void F_fortran_cancel(void *extra, int *complete, int *error);
static struct generalised *last_started;

void shim_grequest_of_fortran(void)
{
    if (last_started)
        last_started->of_fortran = 1;
}
#endif

static int generalised_query(void *extra, MPI_Status *status)
{
    const struct generalised *request = extra;
    F_Status theirs = {0};
    int result = 0;
    status_out(&theirs, status);
#ifdef SHIM_MPICH
    if (request->of_fortran)
        ((F_fortran_query *)(void (*)(void))request->query)(request->extra, &theirs, &result);
    else
#endif
        result = request->query(request->extra, &theirs);
    status_in(&theirs, status);
    return in_error(result);
}

static int generalised_free(void *extra)
{
    struct generalised *request = extra;
    int result = 0;
#ifdef SHIM_MPICH
    if (request->of_fortran)
        ((F_fortran_free *)(void (*)(void))request->free)(request->extra, &result);
    else
#endif
        result = request->free(request->extra);
    free(request);
    return in_error(result);
}

static int generalised_cancel(void *extra, int complete)
{
    const struct generalised *request = extra;
    int result = 0;
#ifdef SHIM_MPICH
    if (request->of_fortran)
        ((F_fortran_cancel *)(void (*)(void))request->cancel)(request->extra, &complete, &result);
    else
#endif
        result = request->cancel(request->extra, complete);
    return in_error(result);
}

OURS(int, Grequest_start,
     (MPI_Grequest_query_function *, MPI_Grequest_free_function *, MPI_Grequest_cancel_function *,
      void *, MPI_Request *))
BY_HAND(Grequest_start, (F_query_function * query, MPI_Grequest_free_function *release,
                         MPI_Grequest_cancel_function *cancel, void *extra, F_Request *request))
{
    struct generalised *state = shim_room(1, sizeof *state);
    *state =
        (struct generalised){.query = query, .free = release, .cancel = cancel, .extra = extra};
#ifdef SHIM_MPICH
    last_started = state;
#endif
    MADE(Request, request,
         ours_Grequest_start(query ? generalised_query : NULL, release ? generalised_free : NULL,
                             cancel ? generalised_cancel : NULL, state, request ? &own : NULL));
}

/* ---- Buffered sends ---- */

/* A message takes more room here than there, and programs have made theirs for that MPI: it gets a larger one, and its own back. */
static void *attached, *attached_own;
static int attached_size;

OURS(int, Buffer_attach, (void *, int))
OURS(int, Buffer_detach, (void *, int *))
BY_HAND(Buffer_attach, (void *buffer, int size))
{
    const int times = MPI_BSEND_OVERHEAD / BSEND_OVERHEAD_THERE + 1;
    ENTER();
    void *own =
        size > 0 && size < INT32_MAX / times ? shim_room((size_t)size, (size_t)times) : NULL;
    int result = own ? ours_Buffer_attach(own, size * times) : ours_Buffer_attach(buffer, size);
    if (result) {
        free(own);
    } else {
        attached = buffer;
        attached_own = own;
        attached_size = size;
    }
    LEAVE();
    return out_error(result);
}

BY_HAND(Buffer_detach, (void *buffer, int *size))
{
    ENTER();
    void *own;
    int own_size, result = ours_Buffer_detach(&own, &own_size);
    if (!result) {
        *(void **)buffer = attached_own ? attached : own;
        *size = attached_own ? attached_size : own_size;
        free(attached_own);
        attached_own = NULL;
    }
    LEAVE();
    return out_error(result);
}

/* ---- Strings, as long as they may be there ---- */

static void text_out(char *theirs, int *length, const char *ours, int room)
{
    int size = (int)strnlen(ours, (size_t)room - 1);
    memcpy(theirs, ours, (size_t)size);
    theirs[size] = 0;
    if (length)
        *length = size;
}

#define STRING(name, parameters, passed, there, room)                                              \
    BY_HAND(name, parameters)                                                                      \
    {                                                                                              \
        ENTER();                                                                                   \
        char own[room];                                                                            \
        int result = text && length ? ours_##name passed : MPI_ERR_ARG;                            \
        if (!result)                                                                               \
            text_out(text, length, own, there);                                                    \
        LEAVE();                                                                                   \
        return out_error(result);                                                                  \
    }
OURS(int, Error_string, (int, char *, int *))
OURS(int, Comm_get_name, (MPI_Comm, char *, int *))
OURS(int, Type_get_name, (MPI_Datatype, char *, int *))
OURS(int, Win_get_name, (MPI_Win, char *, int *))
OURS(int, Get_library_version, (char *, int *))
OURS(int, Get_processor_name, (char *, int *))
STRING(Error_string, (int code, char *text, int *length), (in_error(code), own, length),
       ERROR_STRING_THERE, MPI_MAX_ERROR_STRING)
STRING(Comm_get_name, (F_Comm comm, char *text, int *length), (in_Comm(comm), own, length),
       OBJECT_NAME_THERE, MPI_MAX_OBJECT_NAME)
STRING(Type_get_name, (F_Datatype type, char *text, int *length), (in_Datatype(type), own, length),
       OBJECT_NAME_THERE, MPI_MAX_OBJECT_NAME)
STRING(Win_get_name, (F_Win win, char *text, int *length), (in_Win(win), own, length),
       OBJECT_NAME_THERE, MPI_MAX_OBJECT_NAME)
STRING(Get_library_version, (char *text, int *length), (own, length), LIBRARY_VERSION_THERE,
       MPI_MAX_LIBRARY_VERSION_STRING)
STRING(Get_processor_name, (char *text, int *length), (own, length), PROCESSOR_NAME_THERE,
       MPI_MAX_PROCESSOR_NAME)

OURS(int, Info_get_nthkey, (MPI_Info, int, char *))
BY_HAND(Info_get_nthkey, (F_Info info, int n, char *key))
{
    ENTER();
    char own[MPI_MAX_INFO_KEY];
    int result = ours_Info_get_nthkey(in_Info(info), n, own);
    if (!result)
        text_out(key, NULL, own, INFO_KEY_THERE);
    LEAVE();
    return out_error(result);
}

/* ---- What MPI 3 removed ---- */

OURS(int, Type_get_extent, (MPI_Datatype, MPI_Aint *, MPI_Aint *))
static int bounds(F_Datatype type, MPI_Aint *lower, MPI_Aint *extent)
{
    return out_error(ours_Type_get_extent(in_Datatype(type), lower, extent));
}

BY_HAND(Type_extent, (F_Datatype type, MPI_Aint *extent))
{
    MPI_Aint lower;
    return bounds(type, &lower, extent);
}

BY_HAND(Type_lb, (F_Datatype type, MPI_Aint *lower))
{
    MPI_Aint extent;
    return bounds(type, lower, &extent);
}

BY_HAND(Type_ub, (F_Datatype type, MPI_Aint *upper))
{
    MPI_Aint lower, extent;
    int result = bounds(type, &lower, &extent);
    if (!result)
        *upper = lower + extent;
    return result;
}

/* ---- Fortran's integers ---- */

#define INTEGERS(kind, Object)                                                                     \
    OURS(int, kind##_toint, (MPI_##Object))                                                        \
    OURS(MPI_##Object, kind##_fromint, (int))                                                      \
    THEIRS(int, kind##_c2f, (F_##Object handle))                                                   \
    {                                                                                              \
        return NUMBER_OUT(Object, ours_##kind##_toint(in_##Object(handle)));                       \
    }                                                                                              \
    THEIRS(F_##Object, kind##_f2c, (int number))                                                   \
    {                                                                                              \
        return out_##Object(ours_##kind##_fromint(NUMBER_IN(Object, number)));                     \
    }
INTEGERS(Comm, Comm)
INTEGERS(Errhandler, Errhandler)
INTEGERS(Group, Group)
INTEGERS(Info, Info)
INTEGERS(Message, Message)
INTEGERS(Op, Op)
INTEGERS(Request, Request)
INTEGERS(Type, Datatype)
INTEGERS(Win, Win)
