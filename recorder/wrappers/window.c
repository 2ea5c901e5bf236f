/* PMPI layer: windows. See wrappers.h. */
#include "recorder/wrappers/wrappers.h"

#define LIST(...) __VA_ARGS__

/* The communicator a window was made on is remembered under the window's handle. */
static void made_window(struct recorder_rank *me, struct record_op *op, MPI_Comm comm, MPI_Win win,
                        int error)
{
    recorder_reenter(me);
    recorder_op_end(me, op, error);
    if (error == MPI_SUCCESS)
        handle_map_add(&me->windows, HANDLE_KEY(win), recorder_comm(me, comm));
    recorder_leave(me);
}

#define MAKES_WINDOW(name, kind, parameters, arguments)                                            \
    int MPI_##name(LIST parameters, MPI_Win *made)                                                 \
    {                                                                                              \
        struct recorder_rank *me = recorder_enter();                                               \
        struct record_op *op = me ? wrapper_collective(me, kind, comm, CALLER) : NULL;             \
        recorder_leave(me);                                                                        \
        int error = PMPI_##name(LIST arguments, made);                                             \
        if (op)                                                                                    \
            made_window(me, op, comm, *made, error);                                               \
        return error;                                                                              \
    }
MAKES_WINDOW(Win_create, OP_WIN_CREATE,
             (void *base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm),
             (base, size, unit, info, comm))
MAKES_WINDOW(Win_allocate, OP_WIN_ALLOCATE,
             (MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *base),
             (size, unit, info, comm, base))
MAKES_WINDOW(Win_allocate_shared, OP_WIN_ALLOCATE_SHARED,
             (MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *base),
             (size, unit, info, comm, base))
MAKES_WINDOW(Win_create_dynamic, OP_WIN_CREATE_DYNAMIC, (MPI_Info info, MPI_Comm comm),
             (info, comm))
#if MPI_VERSION >= 4
MAKES_WINDOW(Win_create_c, OP_WIN_CREATE,
             (void *base, MPI_Aint size, MPI_Aint unit, MPI_Info info, MPI_Comm comm),
             (base, size, unit, info, comm))
MAKES_WINDOW(Win_allocate_c, OP_WIN_ALLOCATE,
             (MPI_Aint size, MPI_Aint unit, MPI_Info info, MPI_Comm comm, void *base),
             (size, unit, info, comm, base))
MAKES_WINDOW(Win_allocate_shared_c, OP_WIN_ALLOCATE_SHARED,
             (MPI_Aint size, MPI_Aint unit, MPI_Info info, MPI_Comm comm, void *base),
             (size, unit, info, comm, base))
#endif

static struct record_op *on_window(struct recorder_rank *me, enum op_kind kind, MPI_Win win,
                                   int target, const void *site)
{
    struct recorder_comm *comm = handle_map_find(&me->windows, HANDLE_KEY(win));
    struct record_op *op = recorder_op(me, kind, STATE_BLOCKED, site);
    if (!op)
        return NULL;
    wrapper_comm(op, comm);
    if (op_kind_class((int)kind) == CLASS_COLLECTIVE && comm)
        op->comm_seq = comm->collectives++;
    if (target != MPI_PROC_NULL)
        op->peer = recorder_world_rank(comm, target);
    if (me->watch && target != MPI_PROC_NULL && comm) { /* not followed */
        me->watch->begins(me->watch, op, me->self->op, comm->id);
        me->watch->opaque(me->watch, op);
    }
    return op;
}

int MPI_Win_free(MPI_Win *win)
{
    struct recorder_rank *me = recorder_enter();
    MPI_Win freed = *win;
    struct record_op *op = me ? on_window(me, OP_WIN_FREE, freed, MPI_PROC_NULL, CALLER) : NULL;
    if (op)
        handle_map_remove(&me->windows, HANDLE_KEY(freed));
    recorder_leave(me);
    int error = PMPI_Win_free(win);
    if (op)
        wrapper_end(me, op, error);
    return error;
}

/* A call about a window: `target` is a rank of its group, MPI_PROC_NULL for none. Two functions each, so that without a recorder the
 * first only jumps. */
#define WINDOW_CALL(name, kind, target, parameters, arguments)                                     \
    static __attribute__((noinline)) int recorded_##name(LIST parameters, const void *site)        \
    {                                                                                              \
        struct recorder_rank *me = recorder_enter();                                               \
        struct record_op *op = me ? on_window(me, kind, win, target, site) : NULL;                 \
        recorder_leave(me);                                                                        \
        int error = PMPI_##name(LIST arguments);                                                   \
        if (op)                                                                                    \
            wrapper_end(me, op, error);                                                            \
        return error;                                                                              \
    }                                                                                              \
    int MPI_##name(LIST parameters)                                                                \
    {                                                                                              \
        return recorder_maybe() ? recorded_##name(LIST arguments, CALLER)                          \
                                : PMPI_##name(LIST arguments);                                     \
    }
#define NONE MPI_PROC_NULL
WINDOW_CALL(Win_fence, OP_WIN_FENCE, NONE, (int assertion, MPI_Win win), (assertion, win))
WINDOW_CALL(Win_post, OP_WIN_POST, NONE, (MPI_Group group, int assertion, MPI_Win win),
            (group, assertion, win))
WINDOW_CALL(Win_start, OP_WIN_START, NONE, (MPI_Group group, int assertion, MPI_Win win),
            (group, assertion, win))
WINDOW_CALL(Win_complete, OP_WIN_COMPLETE, NONE, (MPI_Win win), (win))
WINDOW_CALL(Win_wait, OP_WIN_WAIT, NONE, (MPI_Win win), (win))
WINDOW_CALL(Win_lock, OP_WIN_LOCK, rank, (int type, int rank, int assertion, MPI_Win win),
            (type, rank, assertion, win))
WINDOW_CALL(Win_unlock, OP_WIN_UNLOCK, rank, (int rank, MPI_Win win), (rank, win))
WINDOW_CALL(Win_lock_all, OP_WIN_LOCK_ALL, NONE, (int assertion, MPI_Win win), (assertion, win))
WINDOW_CALL(Win_unlock_all, OP_WIN_UNLOCK_ALL, NONE, (MPI_Win win), (win))
WINDOW_CALL(Win_flush, OP_WIN_FLUSH, rank, (int rank, MPI_Win win), (rank, win))
WINDOW_CALL(Win_flush_local, OP_WIN_FLUSH_LOCAL, rank, (int rank, MPI_Win win), (rank, win))
WINDOW_CALL(Win_flush_all, OP_WIN_FLUSH, NONE, (MPI_Win win), (win))
WINDOW_CALL(Win_flush_local_all, OP_WIN_FLUSH_LOCAL, NONE, (MPI_Win win), (win))
WINDOW_CALL(Win_sync, OP_WIN_SYNC, NONE, (MPI_Win win), (win))

int MPI_Win_test(MPI_Win win, int *flag)
{
    int error = PMPI_Win_test(win, flag);
    struct recorder_rank *me = error != MPI_SUCCESS || *flag ? recorder_enter() : NULL;
    struct record_op *op = me ? on_window(me, OP_WIN_WAIT, win, NONE, CALLER) : NULL;
    if (op)
        recorder_op_end(me, op, error);
    recorder_leave(me);
    return error;
}

/* The origin's data of an access. */
#define ACCESS(name, kind, suffix, parameters, arguments, buffer, count, type)                     \
    static                                                                                         \
        __attribute__((noinline)) int recorded_##name##suffix(LIST parameters, const void *site)   \
    {                                                                                              \
        struct recorder_rank *me = recorder_enter();                                               \
        struct record_op *op = me ? on_window(me, kind, win, target, site) : NULL;                 \
        if (op && type != MPI_DATATYPE_NULL)                                                       \
            wrapper_data(me, op, buffer, count, type);                                             \
        recorder_leave(me);                                                                        \
        int error = PMPI_##name##suffix(LIST arguments);                                           \
        if (op)                                                                                    \
            wrapper_end(me, op, error);                                                            \
        return error;                                                                              \
    }                                                                                              \
    int MPI_##name##suffix(LIST parameters)                                                        \
    {                                                                                              \
        return recorder_maybe() ? recorded_##name##suffix(LIST arguments, CALLER)                  \
                                : PMPI_##name##suffix(LIST arguments);                             \
    }

/* The same with a request, which the access itself has completed when the program waits. */
#define REQUESTED(name, kind, suffix, parameters, arguments, buffer, count, type)                  \
    int MPI_##name##suffix(LIST parameters, MPI_Request *request)                                  \
    {                                                                                              \
        struct recorder_rank *me = recorder_enter();                                               \
        struct record_op *op = me ? on_window(me, kind, win, target, CALLER) : NULL;               \
        if (op && type != MPI_DATATYPE_NULL)                                                       \
            wrapper_data(me, op, buffer, count, type);                                             \
        if (op)                                                                                    \
            op->flags |= OP_NONBLOCKING;                                                           \
        recorder_leave(me);                                                                        \
        int error = PMPI_##name##suffix(LIST arguments, request);                                  \
        if (!op)                                                                                   \
            return error;                                                                          \
        recorder_reenter(me);                                                                      \
        recorder_op_end(me, op, error);                                                            \
        if (error == MPI_SUCCESS)                                                                  \
            recorder_request_add(me, *request, op,                                                 \
                                 handle_map_find(&me->windows, HANDLE_KEY(win)));                  \
        recorder_leave(me);                                                                        \
        return error;                                                                              \
    }

#define BOTH(name, rname, kind, suffix, ...)                                                       \
    ACCESS(name, kind, suffix, __VA_ARGS__)                                                        \
    REQUESTED(rname, kind, suffix, __VA_ARGS__)

#define TRANSFERS(X, suffix, count_t)                                                              \
    X(Put, Rput, OP_PUT, suffix,                                                                   \
      (const void *origin, count_t count, MPI_Datatype type, int target, MPI_Aint place,           \
       count_t there, MPI_Datatype target_type, MPI_Win win),                                      \
      (origin, count, type, target, place, there, target_type, win), origin, count, type)          \
    X(Get, Rget, OP_GET, suffix,                                                                   \
      (void *origin, count_t count, MPI_Datatype type, int target, MPI_Aint place, count_t there,  \
       MPI_Datatype target_type, MPI_Win win),                                                     \
      (origin, count, type, target, place, there, target_type, win), origin, count, type)          \
    X(Accumulate, Raccumulate, OP_ACCUMULATE, suffix,                                              \
      (const void *origin, count_t count, MPI_Datatype type, int target, MPI_Aint place,           \
       count_t there, MPI_Datatype target_type, MPI_Op reduction, MPI_Win win),                    \
      (origin, count, type, target, place, there, target_type, reduction, win), origin, count,     \
      type)                                                                                        \
    X(Get_accumulate, Rget_accumulate, OP_GET_ACCUMULATE, suffix,                                  \
      (const void *origin, count_t count, MPI_Datatype type, void *result, count_t result_count,   \
       MPI_Datatype result_type, int target, MPI_Aint place, count_t there,                        \
       MPI_Datatype target_type, MPI_Op reduction, MPI_Win win),                                   \
      (origin, count, type, result, result_count, result_type, target, place, there, target_type,  \
       reduction, win),                                                                            \
      result, result_count, result_type)
BOTH_FORMS(TRANSFERS, BOTH)

ACCESS(Fetch_and_op, OP_FETCH_AND_OP, ,
       (const void *origin, void *result, MPI_Datatype type, int target, MPI_Aint place,
        MPI_Op reduction, MPI_Win win),
       (origin, result, type, target, place, reduction, win), result, 1, type)
ACCESS(Compare_and_swap, OP_COMPARE_AND_SWAP, ,
       (const void *origin, const void *compared, void *result, MPI_Datatype type, int target,
        MPI_Aint place, MPI_Win win),
       (origin, compared, result, type, target, place, win), result, 1, type)
