/* What cannot be made from a prototype: see bindings.pl. */
#include "sim/fortran/fortran.h"

#include <stdio.h>
#include <string.h>

int fortran_bottom[1], fortran_in_place[1], fortran_status_ignore[8], fortran_statuses_ignore[8],
    fortran_unweighted[1], fortran_weights_empty[1];
extern int fortran_errcodes_ignore[] __asm__(COMMON_BLOCK("errcodes_ignore"));
extern int fortran_buffer_automatic[] __asm__(COMMON_BLOCK("buffer_automatic"));
int fortran_errcodes_ignore[1], fortran_buffer_automatic[1];

void *fortran_room(size_t count, size_t size)
{
    void *room = calloc(count, size);
    if (room)
        return room;
    fprintf(stderr, "simrun: out of memory for the handles of a Fortran program\n");
    abort();
}

int peers_of(int comm)
{
    int inter = 0, count = 0;
    MPI_Comm_test_inter(Comm_in(comm), &inter);
    inter ? MPI_Comm_remote_size(Comm_in(comm), &count) : MPI_Comm_size(Comm_in(comm), &count);
    return count;
}

struct fortran_later {
    struct fortran_later *next;
    MPI_Comm handle;
    int *number;
};
struct fortran_later *fortran_laters;

MPI_Comm *fortran_later(int *number)
{
    struct fortran_later *later = fortran_room(1, sizeof *later);
    *later = (struct fortran_later){fortran_laters, MPI_COMM_NULL, number};
    fortran_laters = later;
    return &later->handle;
}

/* What was found stays: whoever records the run reads it when the request completes, which may be later. */
void fortran_later_look(void)
{
    for (struct fortran_later **at = &fortran_laters; *at;) {
        struct fortran_later *later = *at;
        if (later->handle == MPI_COMM_NULL) {
            at = &later->next;
            continue;
        }
        *later->number = Comm_out(later->handle);
        *at = later->next;
    }
}

/* Of both arrays the longer one; the shorter is followed by memory of the program's that is not looked at as a handle. */
int neighbours_of(int comm)
{
    int topology = MPI_UNDEFINED, sources = 0, targets = 0, weighted, rank;
    MPI_Topo_test(Comm_in(comm), &topology);
    if (topology == MPI_DIST_GRAPH)
        MPI_Dist_graph_neighbors_count(Comm_in(comm), &sources, &targets, &weighted);
    else if (topology == MPI_GRAPH && !MPI_Comm_rank(Comm_in(comm), &rank))
        MPI_Graph_neighbors_count(Comm_in(comm), rank, &sources);
    else if (topology == MPI_CART && !MPI_Cartdim_get(Comm_in(comm), &sources))
        sources *= 2;
    return sources > targets ? sources : targets;
}

void positions_out(int *positions, int count)
{
    for (int i = 0; i < count && count != MPI_UNDEFINED; i++)
        positions[i]++;
}

char *string_in(const char *text, text_length length)
{
    while (length && text[length - 1] == ' ')
        length--;
    char *copy = fortran_room(length + 1, 1);
    return memcpy(copy, text, length);
}

void string_out(char *text, text_length length, const char *from)
{
    size_t used = strnlen(from, length);
    memcpy(text, from, used);
    memset(text + used, ' ', length - used);
}

/* ---- Start ---- */

BY_HAND(init, (int *ierror))
{
    ENTER();
    *ierror = MPI_Init(NULL, NULL);
    LEAVE();
}

BY_HAND(init_thread, (const int *required, int *provided, int *ierror))
{
    ENTER();
    *ierror = MPI_Init_thread(NULL, NULL, *required, provided);
    LEAVE();
}

/* ---- Functions of the program ---- */

/* MPI calls one of ours, which knows by its place in the table whose function it stands for. A function has one place however often it is
 * given. */
enum { FUNCTIONS_MAX = 16 };
#define FOUR(X, a, b, c, d) X(a) X(b) X(c) X(d)
#define SIXTEEN(X)                                                                                 \
    FOUR(X, 0, 1, 2, 3)                                                                            \
    FOUR(X, 4, 5, 6, 7) FOUR(X, 8, 9, 10, 11) FOUR(X, 12, 13, 14, 15)

typedef void operator_function(void *in, void *inout, int *count, int *type);
typedef void handler_function(int *comm, int *code);
static void (*operators[FUNCTIONS_MAX])(void), (*handlers[FUNCTIONS_MAX])(void);

static int place_of(void (*functions[])(void), void (*function)(void))
{
    for (int i = 0; i < FUNCTIONS_MAX; i++) {
        if (!functions[i] || functions[i] == function) {
            functions[i] = function;
            return i;
        }
    }
    fprintf(stderr, "simrun: more than %d functions for MPI to call\n", FUNCTIONS_MAX);
    abort();
}

#define FUNCTIONS(n)                                                                               \
    static void operator_##n(void *in, void *inout, int *count, MPI_Datatype *type)                \
    {                                                                                              \
        int number = Type_out(*type);                                                              \
        ((operator_function *)operators[n])(in, inout, count, &number);                            \
    }                                                                                              \
    static void handler_##n(MPI_Comm *comm, int *code, ...)                                        \
    {                                                                                              \
        int number = Comm_out(*comm);                                                              \
        ((handler_function *)handlers[n])(&number, code);                                          \
    }                                                                                              \
    static void handler_win_##n(MPI_Win *win, int *code, ...)                                      \
    {                                                                                              \
        int number = Win_out(*win);                                                                \
        ((handler_function *)handlers[n])(&number, code);                                          \
    }
SIXTEEN(FUNCTIONS)

#define OPERATOR_ROW(n)    operator_##n,
#define HANDLER_ROW(n)     handler_##n,
#define HANDLER_WIN_ROW(n) handler_win_##n,
static MPI_User_function *const operator_rows[] = {SIXTEEN(OPERATOR_ROW)};
static MPI_Comm_errhandler_function *const handler_rows[] = {SIXTEEN(HANDLER_ROW)};
static MPI_Win_errhandler_function *const handler_win_rows[] = {SIXTEEN(HANDLER_WIN_ROW)};

BY_HAND(op_create, (operator_function * function, const int *commute, int *op, int *ierror))
{
    ENTER();
    MPI_Op own = MPI_OP_NULL;
    *ierror = MPI_Op_create(operator_rows[place_of(operators, (void (*)(void))function)],
                            *commute != 0, &own);
    *op = Op_out(own);
    LEAVE();
}

static void handler_make(handler_function *function, int *errhandler, int *ierror)
{
    MPI_Errhandler own = MPI_ERRHANDLER_NULL;
    *ierror = MPI_Comm_create_errhandler(handler_rows[place_of(handlers, (void (*)(void))function)],
                                         &own);
    *errhandler = Errhandler_out(own);
}

BY_HAND(comm_create_errhandler, (handler_function * function, int *errhandler, int *ierror))
{
    ENTER();
    handler_make(function, errhandler, ierror);
    LEAVE();
}

BY_HAND(errhandler_create, (handler_function * function, int *errhandler, int *ierror))
{
    ENTER();
    handler_make(function, errhandler, ierror);
    LEAVE();
}

BY_HAND(win_create_errhandler, (handler_function * function, int *errhandler, int *ierror))
{
    ENTER();
    MPI_Errhandler own = MPI_ERRHANDLER_NULL;
    *ierror = MPI_Win_create_errhandler(
        handler_win_rows[place_of(handlers, (void (*)(void))function)], &own);
    *errhandler = Errhandler_out(own);
    LEAVE();
}

/* ---- Generalised requests ---- */

typedef void query_function(intptr_t *extra, int *status, int *ierror);
typedef void release_function(intptr_t *extra, int *ierror);
typedef void cancel_function(intptr_t *extra, int *complete, int *ierror);
struct generalised {
    query_function *query;
    release_function *release;
    cancel_function *cancel;
    intptr_t extra;
};

static int generalised_query(void *extra, MPI_Status *status)
{
    struct generalised *request = extra;
    int error = MPI_SUCCESS;
    request->query(&request->extra, (int *)status, &error);
    return error;
}

static int generalised_free(void *extra)
{
    struct generalised *request = extra;
    int error = MPI_SUCCESS;
    request->release(&request->extra, &error);
    free(request);
    return error;
}

static int generalised_cancel(void *extra, int complete)
{
    struct generalised *request = extra;
    int error = MPI_SUCCESS, is_complete = complete != 0;
    request->cancel(&request->extra, &is_complete, &error);
    return error;
}

BY_HAND(grequest_start, (query_function * query, release_function *release, cancel_function *cancel,
                         const intptr_t *extra, int *request, int *ierror))
{
    ENTER();
    MPI_Request own = MPI_REQUEST_NULL;
    struct generalised *started = fortran_room(1, sizeof *started);
    *started = (struct generalised){query, release, cancel, *extra};
    *ierror =
        MPI_Grequest_start(generalised_query, generalised_free, generalised_cancel, started, &own);
    *request = Request_out(own);
    LEAVE();
}

/* It has no error. */
BY_HAND(pcontrol, (const int *level))
{
    SITE(site_enter, __builtin_return_address(0));
    MPI_Pcontrol(*level);
    SITE(site_leave, );
}

/* ---- Attributes: an integer of an address's size; those of the old functions, of a plain integer's ---- */

typedef void copy_function(int *comm, int *key, intptr_t *extra, intptr_t *in, intptr_t *out,
                           int *flag, int *ierror);
typedef void delete_function(int *comm, int *key, intptr_t *value, intptr_t *extra, int *ierror);
typedef void old_copy_function(int *comm, int *key, int *extra, int *in, int *out, int *flag,
                               int *ierror);
typedef void old_delete_function(int *comm, int *key, int *value, int *extra, int *ierror);

/* What our functions are given as extra state; it stays, since a key may be used after it was freed. */
struct attribute {
    void (*copy)(void), (*remove)(void);
    intptr_t extra;
    int old;
};

static int attribute_copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    struct attribute *attribute = extra;
    int number = Comm_out(comm), error = MPI_SUCCESS, is_copied = 0;
    intptr_t value = (intptr_t)in, copy = 0;
    if (attribute->old) {
        int old_extra = (int)attribute->extra, old = (int)value, old_copy = 0;
        ((old_copy_function *)attribute->copy)(&number, &key, &old_extra, &old, &old_copy,
                                               &is_copied, &error);
        copy = old_copy;
    } else {
        ((copy_function *)attribute->copy)(&number, &key, &attribute->extra, &value, &copy,
                                           &is_copied, &error);
    }
    *(intptr_t *)out = copy;
    *flag = is_copied != 0;
    return error;
}

static int attribute_delete(MPI_Comm comm, int key, void *value, void *extra)
{
    struct attribute *attribute = extra;
    int number = Comm_out(comm), error = MPI_SUCCESS, old = (int)(intptr_t)value;
    int old_extra = (int)attribute->extra;
    intptr_t wide = (intptr_t)value;
    if (attribute->old)
        ((old_delete_function *)attribute->remove)(&number, &key, &old, &old_extra, &error);
    else
        ((delete_function *)attribute->remove)(&number, &key, &wide, &attribute->extra, &error);
    return error;
}

static void keyval_make(struct attribute model, int *key, int *ierror)
{
    struct attribute *attribute = fortran_room(1, sizeof *attribute);
    *attribute = model;
    *ierror = MPI_Comm_create_keyval(attribute_copy, attribute_delete, key, attribute);
}

BY_HAND(comm_create_keyval, (copy_function * copy, delete_function *remove, int *key,
                             const intptr_t *extra, int *ierror))
{
    ENTER();
    keyval_make((struct attribute){(void (*)(void))copy, (void (*)(void))remove, *extra, 0}, key,
                ierror);
    LEAVE();
}

BY_HAND(keyval_create, (old_copy_function * copy, old_delete_function *remove, int *key,
                        const int *extra, int *ierror))
{
    ENTER();
    keyval_make((struct attribute){(void (*)(void))copy, (void (*)(void))remove, *extra, 1}, key,
                ierror);
    LEAVE();
}

/* The predefined ones, which a program may name; flag and value are as wide as whoever asks has them. */
#define PREDEFINED(prefix, integer)                                                                \
    SUBROUTINE(prefix##null_copy_fn, (int *comm, int *key, integer *extra, integer *in,            \
                                      integer *out, int *flag, int *ierror))                       \
    {                                                                                              \
        (void)comm, (void)key, (void)extra, (void)in, (void)out;                                   \
        *flag = 0;                                                                                 \
        *ierror = MPI_SUCCESS;                                                                     \
    }                                                                                              \
    SUBROUTINE(prefix##dup_fn, (int *comm, int *key, integer *extra, integer *in, integer *out,    \
                                int *flag, int *ierror))                                           \
    {                                                                                              \
        (void)comm, (void)key, (void)extra;                                                        \
        *out = *in;                                                                                \
        *flag = 1;                                                                                 \
        *ierror = MPI_SUCCESS;                                                                     \
    }                                                                                              \
    SUBROUTINE(prefix##null_delete_fn,                                                             \
               (int *comm, int *key, integer *value, integer *extra, int *ierror))                 \
    {                                                                                              \
        (void)comm, (void)key, (void)value, (void)extra;                                           \
        *ierror = MPI_SUCCESS;                                                                     \
    }
PREDEFINED(, int)
PREDEFINED(comm_, intptr_t)
PREDEFINED(type_, intptr_t)
PREDEFINED(win_, intptr_t)

/* What MPI itself sets is behind a pointer in C. */
static intptr_t attribute_value(int key, void *value)
{
    return key >= MPI_TAG_UB && key <= MPI_UNIVERSE_SIZE ? *(int *)value : (intptr_t)value;
}

BY_HAND(comm_get_attr, (const int *comm, const int *key, intptr_t *value, int *flag, int *ierror))
{
    ENTER();
    void *own = NULL;
    *ierror = MPI_Comm_get_attr(Comm_in(*comm), *key, &own, flag);
    if (*ierror == MPI_SUCCESS && *flag)
        *value = attribute_value(*key, own);
    LEAVE();
}

BY_HAND(attr_get, (const int *comm, const int *key, int *value, int *flag, int *ierror))
{
    ENTER();
    void *own = NULL;
    *ierror = MPI_Comm_get_attr(Comm_in(*comm), *key, &own, flag);
    if (*ierror == MPI_SUCCESS && *flag)
        *value = (int)attribute_value(*key, own);
    LEAVE();
}

BY_HAND(comm_set_attr, (const int *comm, const int *key, const intptr_t *value, int *ierror))
{
    ENTER();
    *ierror = MPI_Comm_set_attr(Comm_in(*comm), *key, (void *)*value);
    LEAVE();
}

BY_HAND(attr_put, (const int *comm, const int *key, const int *value, int *ierror))
{
    ENTER();
    *ierror = MPI_Comm_set_attr(Comm_in(*comm), *key, (void *)(intptr_t)*value);
    LEAVE();
}

/* Those of types and windows. */
#define ATTRIBUTE_KEYVAL(name, kind, Object)                                                       \
    static int kind##_copy(MPI_##Object from, int key, void *extra, void *in, void *out,           \
                           int *flag)                                                              \
    {                                                                                              \
        struct attribute *attribute = extra;                                                       \
        int number = kind##_out(from), error = MPI_SUCCESS, is_copied = 0;                         \
        intptr_t value = (intptr_t)in, copy = 0;                                                   \
        ((copy_function *)attribute->copy)(&number, &key, &attribute->extra, &value, &copy,        \
                                           &is_copied, &error);                                    \
        *(intptr_t *)out = copy;                                                                   \
        *flag = is_copied != 0;                                                                    \
        return error;                                                                              \
    }                                                                                              \
    static int kind##_delete(MPI_##Object from, int key, void *value, void *extra)                 \
    {                                                                                              \
        struct attribute *attribute = extra;                                                       \
        int number = kind##_out(from), error = MPI_SUCCESS;                                        \
        intptr_t wide = (intptr_t)value;                                                           \
        ((delete_function *)attribute->remove)(&number, &key, &wide, &attribute->extra, &error);   \
        return error;                                                                              \
    }                                                                                              \
    BY_HAND(name, (copy_function * copy, delete_function * remove, int *key,                       \
                   const intptr_t *extra, int *ierror))                                            \
    {                                                                                              \
        ENTER();                                                                                   \
        struct attribute *attribute = fortran_room(1, sizeof *attribute);                          \
        *attribute = (struct attribute){(void (*)(void))copy, (void (*)(void))remove, *extra, 0};  \
        *ierror = MPI_##kind##_create_keyval(kind##_copy, kind##_delete, key, attribute);          \
        LEAVE();                                                                                   \
    }
#define ATTRIBUTE_GET(name, kind)                                                                  \
    BY_HAND(name, (const int *object, const int *key, intptr_t *value, int *flag, int *ierror))    \
    {                                                                                              \
        ENTER();                                                                                   \
        void *own = NULL;                                                                          \
        *ierror = MPI_##kind##_get_attr(kind##_in(*object), *key, &own, flag);                     \
        if (*ierror == MPI_SUCCESS && *flag)                                                       \
            *value = kind##_value(*key, own);                                                      \
        LEAVE();                                                                                   \
    }
#define ATTRIBUTE_SET(name, kind)                                                                  \
    BY_HAND(name, (const int *object, const int *key, const intptr_t *value, int *ierror))         \
    {                                                                                              \
        ENTER();                                                                                   \
        *ierror = MPI_##kind##_set_attr(kind##_in(*object), *key, (void *)*value);                 \
        LEAVE();                                                                                   \
    }

static intptr_t Type_value(int key, void *value)
{
    (void)key;
    return (intptr_t)value;
}

static intptr_t Win_value(int key, void *value)
{
    return key == MPI_WIN_SIZE ? *(MPI_Aint *)value
           : key == MPI_WIN_DISP_UNIT || key == MPI_WIN_CREATE_FLAVOR || key == MPI_WIN_MODEL
               ? *(int *)value
               : (intptr_t)value;
}
ATTRIBUTE_KEYVAL(type_create_keyval, Type, Datatype)
ATTRIBUTE_KEYVAL(win_create_keyval, Win, Win)
ATTRIBUTE_GET(type_get_attr, Type)
ATTRIBUTE_GET(win_get_attr, Win)
ATTRIBUTE_SET(type_set_attr, Type)
ATTRIBUTE_SET(win_set_attr, Win)

/* ---- Lengths of strings, and a buffer that the program gave ---- */

BY_HAND(info_get, (const int *info, const char *key, const int *length, char *value, int *flag,
                   int *ierror, text_length key_length, text_length value_length))
{
    ENTER();
    char *own_key = string_in(key, key_length), own[MPI_MAX_INFO_VAL + 1] = "";
    int own_flag = 0, most = *length < MPI_MAX_INFO_VAL ? *length : MPI_MAX_INFO_VAL;
    *ierror = MPI_Info_get(Info_in(*info), own_key, most, own, &own_flag);
    if (own_flag)
        string_out(value, value_length, own);
    *flag = own_flag;
    free(own_key);
    LEAVE();
}

BY_HAND(buffer_detach, (void *buffer, int *size, int *ierror))
{
    ENTER();
    void *own;
    (void)buffer; /* Fortran has no use for an address */
    *ierror = MPI_Buffer_detach(&own, size);
    LEAVE();
}

/* ---- What MPI 3 removed and older programs call: displacements are plain integers ---- */

BY_HAND(address, (void *location, int *address, int *ierror))
{
    MPI_Aint own = 0;
    *ierror = MPI_Get_address(ADDRESS(location), &own);
    *address = (int)own;
}

BY_HAND(type_extent, (const int *type, int *extent, int *ierror))
{
    MPI_Aint lower, own = 0;
    *ierror = MPI_Type_get_extent(Type_in(*type), &lower, &own);
    *extent = (int)own;
}

BY_HAND(type_lb, (const int *type, int *lower, int *ierror))
{
    MPI_Aint own = 0, extent;
    *ierror = MPI_Type_get_extent(Type_in(*type), &own, &extent);
    *lower = (int)own;
}

BY_HAND(type_ub, (const int *type, int *upper, int *ierror))
{
    MPI_Aint lower = 0, extent = 0;
    *ierror = MPI_Type_get_extent(Type_in(*type), &lower, &extent);
    *upper = (int)(lower + extent);
}

BY_HAND(type_hvector, (const int *count, const int *length, const int *stride, const int *type,
                       int *made, int *ierror))
{
    MPI_Datatype own = MPI_DATATYPE_NULL;
    *ierror = MPI_Type_create_hvector(*count, *length, *stride, Type_in(*type), &own);
    *made = Type_out(own);
}

BY_HAND(type_struct, (const int *count, const int *lengths, const int *places, const int *types,
                      int *made, int *ierror))
{
    MPI_Datatype own = MPI_DATATYPE_NULL;
    ROOM(MPI_Aint, wide, *count)
    ROOM(MPI_Datatype, members, *count)
    for (int i = 0; i < *count; i++) {
        wide[i] = places[i];
        members[i] = Type_in(types[i]);
    }
    *ierror = MPI_Type_create_struct(*count, lengths, wide, members, &own);
    *made = Type_out(own);
    ROOM_FREE(wide)
    ROOM_FREE(members)
}

BY_HAND(type_hindexed, (const int *count, const int *lengths, const int *places, const int *type,
                        int *made, int *ierror))
{
    MPI_Datatype own = MPI_DATATYPE_NULL;
    ROOM(MPI_Aint, wide, *count)
    for (int i = 0; i < *count; i++)
        wide[i] = places[i];
    *ierror = MPI_Type_create_hindexed(*count, lengths, wide, Type_in(*type), &own);
    *made = Type_out(own);
    ROOM_FREE(wide)
}

BY_HAND(errhandler_get, (const int *comm, int *errhandler, int *ierror))
{
    MPI_Errhandler own = MPI_ERRHANDLER_NULL;
    *ierror = MPI_Comm_get_errhandler(Comm_in(*comm), &own);
    *errhandler = Errhandler_out(own);
}

BY_HAND(errhandler_set, (const int *comm, const int *errhandler, int *ierror))
{
    *ierror = MPI_Comm_set_errhandler(Comm_in(*comm), Errhandler_in(*errhandler));
}

#ifndef SHIM_OPENMPI
/* ---- Handles of mpi_f08 are types, which are compared by functions ---- */

#define COMPARED(name)                                                                             \
    FORTRAN_FUNCTION(int, same_##name, "simrun_same_" #name, (const int *one, const int *two))     \
    {                                                                                              \
        return *one == *two;                                                                       \
    }                                                                                              \
    FORTRAN_FUNCTION(int, other_##name, "simrun_other_" #name, (const int *one, const int *two))   \
    {                                                                                              \
        return *one != *two;                                                                       \
    }
COMPARED(comm)
COMPARED(datatype)
COMPARED(errhandler)
COMPARED(file)
COMPARED(group)
COMPARED(info)
COMPARED(message)
COMPARED(op)
COMPARED(request)
COMPARED(session)
COMPARED(win)
#else
/* ---- What its programs' compilers look for beside functions ---- */

extern int fortran_argv_null[] __asm__(COMMON_BLOCK("argv_null"));
extern int fortran_argvs_null[] __asm__(COMMON_BLOCK("argvs_null"));
int fortran_argv_null[1], fortran_argvs_null[1];

/* Tells the compiler that a buffer may have changed, and does nothing. */
SUBROUTINE(f_sync_reg, (void *buffer))
{
    (void)buffer;
}

#define SIZE_OF(kind, size)                                                                        \
    SUBROUTINE(sizeof_##kind##_scalar, (void *value, int *bytes, int *ierror))                     \
    {                                                                                              \
        (void)value;                                                                               \
        *bytes = size;                                                                             \
        if (ierror)                                                                                \
            *ierror = MPI_SUCCESS;                                                                 \
    }
SIZE_OF(character, 1)
SIZE_OF(logical, 4)
SIZE_OF(int8, 1)
SIZE_OF(int16, 2)
SIZE_OF(int32, 4)
SIZE_OF(int64, 8)
SIZE_OF(real32, 4)
SIZE_OF(real64, 8)
SIZE_OF(real128, 16)
SIZE_OF(complex32, 8)
SIZE_OF(complex64, 16)
SIZE_OF(complex128, 32)
#endif
