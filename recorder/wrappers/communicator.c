/* PMPI layer: communicators made and freed, windows, start and end of MPI. See wrappers.h. */
#include "recorder/recorder.h"
#include "recorder/wrappers/wrappers.h"

/* The call made `made` out of `from`. */
static void made_comm(struct recorder_rank *me, struct record_op *op, MPI_Comm from, MPI_Comm made,
                      int error)
{
    recorder_reenter(me);
    recorder_op_end(me, op, error);
    if (error == MPI_SUCCESS && made != MPI_COMM_NULL)
        recorder_comm_new(me, made, recorder_comm(me, from), op->head.small);
    recorder_leave(me);
}

/* Communicators from one communicator: name, kind, parameters before the result, their names. */
#define LIST(...)                                     __VA_ARGS__
#define MAKES_COMM(name, kind, parameters, arguments) MAKES(MPI_##name, kind, parameters, arguments)
#define MAKES(name, kind, parameters, arguments)                                                   \
    int name(LIST parameters, MPI_Comm *made)                                                      \
    {                                                                                              \
        struct recorder_rank *me = recorder_enter();                                               \
        struct record_op *op = me ? wrapper_collective(me, kind, comm, CALLER) : NULL;             \
        recorder_leave(me);                                                                        \
        int error = P##name(LIST arguments, made);                                                 \
        if (op)                                                                                    \
            made_comm(me, op, comm, *made, error);                                                 \
        return error;                                                                              \
    }

MAKES_COMM(Comm_dup, OP_COMM_DUP, (MPI_Comm comm), (comm))
MAKES_COMM(Comm_dup_with_info, OP_COMM_DUP_WITH_INFO, (MPI_Comm comm, MPI_Info info), (comm, info))
MAKES_COMM(Comm_split, OP_COMM_SPLIT, (MPI_Comm comm, int color, int key), (comm, color, key))
MAKES_COMM(Comm_split_type, OP_COMM_SPLIT_TYPE, (MPI_Comm comm, int type, int key, MPI_Info info),
           (comm, type, key, info))
MAKES_COMM(Comm_create, OP_COMM_CREATE, (MPI_Comm comm, MPI_Group group), (comm, group))
MAKES_COMM(Cart_create, OP_CART_CREATE,
           (MPI_Comm comm, int dimensions, const int sizes[], const int periods[], int reorder),
           (comm, dimensions, sizes, periods, reorder))
MAKES_COMM(Cart_sub, OP_CART_SUB, (MPI_Comm comm, const int kept[]), (comm, kept))
MAKES_COMM(Graph_create, OP_GRAPH_CREATE,
           (MPI_Comm comm, int nodes, const int index[], const int edges[], int reorder),
           (comm, nodes, index, edges, reorder))
MAKES_COMM(Dist_graph_create, OP_DIST_GRAPH_CREATE,
           (MPI_Comm comm, int n, const int sources[], const int degrees[],
            const int destinations[], const int weights[], MPI_Info info, int reorder),
           (comm, n, sources, degrees, destinations, weights, info, reorder))
MAKES_COMM(Dist_graph_create_adjacent, OP_DIST_GRAPH_CREATE_ADJACENT,
           (MPI_Comm comm, int in, const int sources[], const int in_weights[], int out,
            const int destinations[], const int out_weights[], MPI_Info info, int reorder),
           (comm, in, sources, in_weights, out, destinations, out_weights, info, reorder))
MAKES_COMM(Intercomm_merge, OP_INTERCOMM_MERGE, (MPI_Comm comm, int high), (comm, high))

/* Only the group's members call: not a collective of `comm`, so it takes no number of it. The tag
 * tells apart what threads make at the same time. */
int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *made)
{
    struct recorder_rank *me = recorder_enter();
    struct recorder_comm *met = me ? recorder_comm_gathering(me, comm, group, tag) : NULL;
    struct record_op *op =
        met ? recorder_op(me, OP_COMM_CREATE_GROUP, STATE_BLOCKED, CALLER) : NULL;
    if (op) {
        wrapper_comm(op, met);
        op->comm_seq = met->collectives++;
    }
    recorder_leave(me);
    int error = PMPI_Comm_create_group(comm, group, tag, made);
    if (!me)
        return error;
    recorder_reenter(me);
    if (op)
        recorder_op_end(me, op, error);
    if (error == MPI_SUCCESS && *made != MPI_COMM_NULL)
        recorder_comm_new(me, *made, recorder_comm(me, comm),
                          OP_COMM_CREATE | 0x100 | (uint32_t)tag * 2654435761u << 9);
    recorder_leave(me);
    return error;
}

#ifndef RECORDER_PRELOADED /* MPI of the third edition has none */
/* The same without a communicator, told apart by a word. */
int MPI_Comm_create_from_group(MPI_Group group, const char *word, MPI_Info info,
                               MPI_Errhandler handler, MPI_Comm *made)
{
    struct recorder_rank *me = word ? recorder_enter() : NULL;
    struct recorder_comm *met = me ? recorder_comm_gathering_by(me, group, word) : NULL;
    struct record_op *op =
        met ? recorder_op(me, OP_COMM_CREATE_FROM_GROUP, STATE_BLOCKED, CALLER) : NULL;
    if (op) {
        wrapper_comm(op, met);
        op->comm_seq = met->collectives++;
    }
    recorder_leave(me);
    int error = PMPI_Comm_create_from_group(group, word, info, handler, made);
    if (!me)
        return error;
    recorder_reenter(me);
    if (op)
        recorder_op_end(me, op, error);
    recorder_leave(me);
    return error;
}
#endif

int MPI_Intercomm_create(MPI_Comm comm, int leader, MPI_Comm peer, int remote, int tag,
                         MPI_Comm *made)
{
    struct recorder_rank *me = recorder_enter();
    struct record_op *op = me ? wrapper_collective(me, OP_INTERCOMM_CREATE, comm, CALLER) : NULL;
    recorder_leave(me);
    int error = PMPI_Intercomm_create(comm, leader, peer, remote, tag, made);
    if (op)
        made_comm(me, op, comm, *made, error);
    return error;
}

/* After the call of a nonblocking duplication. */
static void duplication_started(struct recorder_rank *me, struct record_op *op, MPI_Comm from,
                                MPI_Comm *made, MPI_Request request, int error)
{
    recorder_reenter(me);
    if (error != MPI_SUCCESS) {
        recorder_op_end(me, op, error);
    } else {
        op->state = STATE_POSTED; /* the communicator becomes known at its first use */
        op->flags |= OP_NONBLOCKING;
        const struct recorder_comm *parent = recorder_comm(me, from);
        struct recorder_request *kept = recorder_request_add(me, request, op, parent);
        if (kept && parent)
            kept->promise = recorder_promise(me, made, parent);
    }
    recorder_leave(me);
}

#define MAKES_LATER(name, kind, parameters, arguments)                                             \
    int name(LIST parameters, MPI_Comm *made, MPI_Request *request)                                \
    {                                                                                              \
        struct recorder_rank *me = recorder_enter();                                               \
        struct record_op *op = me ? wrapper_collective(me, kind, comm, CALLER) : NULL;             \
        recorder_leave(me);                                                                        \
        int error = P##name(LIST arguments, made, request);                                        \
        if (op)                                                                                    \
            duplication_started(me, op, comm, made, *request, error);                              \
        return error;                                                                              \
    }

MAKES_LATER(MPI_Comm_idup, OP_COMM_DUP, (MPI_Comm comm), (comm))
#if MPI_VERSION >= 4
MAKES_LATER(MPI_Comm_idup_with_info, OP_COMM_DUP_WITH_INFO, (MPI_Comm comm, MPI_Info info),
            (comm, info))
#endif

#ifdef SIM_MPI_EXT_H /* failures: other MPIs' are not recorded */
MAKES(MPIX_Comm_shrink, OP_COMM_SHRINK, (MPI_Comm comm), (comm))
MAKES_LATER(MPIX_Comm_ishrink, OP_COMM_SHRINK, (MPI_Comm comm), (comm))

int MPIX_Comm_agree(MPI_Comm comm, int *flag)
{
    struct recorder_rank *me = recorder_enter();
    struct record_op *op = me ? wrapper_collective(me, OP_COMM_AGREE, comm, CALLER) : NULL;
    recorder_leave(me);
    int error = PMPIX_Comm_agree(comm, flag);
    if (op) {
        recorder_reenter(me);
        recorder_op_end(me, op, error);
        recorder_leave(me);
    }
    return error;
}

int MPIX_Comm_iagree(MPI_Comm comm, int *flag, MPI_Request *request)
{
    struct recorder_rank *me = recorder_enter();
    struct record_op *op = me ? wrapper_collective(me, OP_COMM_AGREE, comm, CALLER) : NULL;
    recorder_leave(me);
    int error = PMPIX_Comm_iagree(comm, flag, request);
    if (!op)
        return error;
    recorder_reenter(me);
    if (error != MPI_SUCCESS) {
        recorder_op_end(me, op, error);
    } else {
        op->state = STATE_POSTED;
        op->flags |= OP_NONBLOCKING;
        recorder_request_add(me, *request, op, recorder_comm(me, comm));
    }
    recorder_leave(me);
    return error;
}

int MPIX_Comm_revoke(MPI_Comm comm)
{
    struct recorder_rank *me = recorder_enter();
    struct record_op *op = me ? recorder_op(me, OP_COMM_REVOKE, STATE_BLOCKED, CALLER) : NULL;
    if (op)
        wrapper_comm(op, recorder_comm(me, comm));
    recorder_leave(me);
    int error = PMPIX_Comm_revoke(comm);
    if (op) {
        recorder_reenter(me);
        recorder_op_end(me, op, error);
        recorder_leave(me);
    }
    return error;
}
#endif

static int freed_by(int (*frees)(MPI_Comm *), enum op_kind kind, MPI_Comm *comm, const void *site)
{
    struct recorder_rank *me = recorder_enter();
    MPI_Comm freed = *comm;
    struct record_op *op = me ? wrapper_collective(me, kind, freed, site) : NULL;
    const struct recorder_comm *known = op ? recorder_comm(me, freed) : NULL;
    recorder_leave(me);
    int error = frees(comm);
    if (!op)
        return error;
    recorder_reenter(me);
    recorder_op_end(me, op, error);
    if (error == MPI_SUCCESS) /* unless another thread has got a new one of this handle */
        recorder_comm_forget(me, freed, known);
    recorder_leave(me);
    return error;
}

int MPI_Comm_free(MPI_Comm *comm)
{
    return freed_by(PMPI_Comm_free, OP_COMM_FREE, comm, CALLER);
}

int MPI_Comm_disconnect(MPI_Comm *comm)
{
    return freed_by(PMPI_Comm_disconnect, OP_COMM_DISCONNECT, comm, CALLER);
}

int MPI_Comm_set_name(MPI_Comm comm, const char *name)
{
    struct recorder_rank *me = recorder_enter();
    if (me)
        recorder_comm_named(me, recorder_comm(me, comm), name);
    recorder_leave(me);
    return PMPI_Comm_set_name(comm, name);
}

int MPI_Type_free(MPI_Datatype *type)
{
    struct recorder_rank *me = recorder_enter_own();
    if (me)
        recorder_type_forget(me, *type);
    recorder_leave(me);
    return PMPI_Type_free(type);
}

#ifndef RECORDER_PRELOADED /* the preloaded recorder begins and ends inside these itself */
static void initialised(int error, const void *site)
{
    struct recorder_rank *me = recorder_me();
    if (me && recorder_ahead_init(me, site, error))
        return;
    me = recorder_enter();
    struct record_op *op = me ? recorder_op(me, OP_INIT, STATE_BLOCKED, site) : NULL;
    if (op)
        recorder_op_end(me, op, error);
    recorder_leave(me);
}

int MPI_Init(int *count, char ***arguments)
{
    int error = PMPI_Init(count, arguments);
    initialised(error, CALLER);
    return error;
}

int MPI_Init_thread(int *count, char ***arguments, int required, int *provided)
{
    int error = PMPI_Init_thread(count, arguments, required, provided);
    if (error == MPI_SUCCESS)
        record_threads(*provided);
    initialised(error, CALLER);
    return error;
}

/* How many threads a session provides for only its info tells: a lock too many costs little. */
int MPI_Session_init(MPI_Info info, MPI_Errhandler handler, MPI_Session *session)
{
    int error = PMPI_Session_init(info, handler, session);
    if (error == MPI_SUCCESS)
        record_threads(MPI_THREAD_SERIALIZED);
    return error;
}

int MPI_Finalize(void)
{
    struct recorder_rank *me = recorder_enter();
    struct record_op *op = me ? wrapper_collective(me, OP_FINALIZE, MPI_COMM_WORLD, CALLER) : NULL;
    recorder_leave(me);
    int error = PMPI_Finalize();
    if (op) {
        recorder_reenter(me);
        op->state = error == MPI_SUCCESS ? STATE_COMPLETE : STATE_FAILED;
        op->end = recorder_steps(me) + 1;
        me->info->finalized = 1;
        recorder_leave(me);
    }
    return error;
}
#endif

int MPI_Abort(MPI_Comm comm, int code)
{
    struct recorder_rank *me = recorder_enter();
    struct record_op *op = me ? recorder_op(me, OP_ABORT, STATE_COMPLETE, CALLER) : NULL;
    if (op) {
        wrapper_comm(op, recorder_comm(me, comm));
        op->end = op->begin + 1;
        me->info->exit_code = code; /* a real MPI does not come back to tell */
        me->info->ended = 1 + RANK_ABORTED;
    }
    recorder_leave(me);
    return PMPI_Abort(comm, code);
}
