/* What an operation can be: the one table of kinds, used by the recorder, the store, the checkers
 * and the pictures.
 *
 * The numbers are stable: they are written into databases and trace files. Add at the end of a
 * group's gap. */
#ifndef TRACES_TRACE_KINDS_H
#define TRACES_TRACE_KINDS_H

#include <stdbool.h>

enum op_class {
    CLASS_NONE,
    CLASS_SEND,
    CLASS_RECEIVE,
    CLASS_PROBE,
    CLASS_WAIT,
    CLASS_COLLECTIVE,
    CLASS_COMPUTE,
    CLASS_CONTROL
};

/* number, enumerator, name as MPI spells it without the prefix, class, blocking (0: it only starts
 * something) */
#define OP_KINDS(X)                                                                                \
    X(0, OP_NONE, "none", CLASS_NONE, 0)                                                           \
    X(1, OP_SEND, "Send", CLASS_SEND, 1)                                                           \
    X(2, OP_SSEND, "Ssend", CLASS_SEND, 1)                                                         \
    X(3, OP_BSEND, "Bsend", CLASS_SEND, 1)                                                         \
    X(4, OP_RSEND, "Rsend", CLASS_SEND, 1)                                                         \
    X(5, OP_ISEND, "Isend", CLASS_SEND, 0)                                                         \
    X(6, OP_ISSEND, "Issend", CLASS_SEND, 0)                                                       \
    X(7, OP_IBSEND, "Ibsend", CLASS_SEND, 0)                                                       \
    X(8, OP_IRSEND, "Irsend", CLASS_SEND, 0)                                                       \
    X(12, OP_RECV, "Recv", CLASS_RECEIVE, 1)                                                       \
    X(13, OP_IRECV, "Irecv", CLASS_RECEIVE, 0)                                                     \
    X(14, OP_MRECV, "Mrecv", CLASS_RECEIVE, 1)                                                     \
    X(15, OP_IMRECV, "Imrecv", CLASS_RECEIVE, 0)                                                   \
    X(18, OP_PROBE, "Probe", CLASS_PROBE, 1)                                                       \
    X(19, OP_IPROBE, "Iprobe", CLASS_PROBE, 0)                                                     \
    X(20, OP_MPROBE, "Mprobe", CLASS_PROBE, 1)                                                     \
    X(21, OP_IMPROBE, "Improbe", CLASS_PROBE, 0)                                                   \
    X(24, OP_WAIT, "Wait", CLASS_WAIT, 1)                                                          \
    X(25, OP_WAITALL, "Waitall", CLASS_WAIT, 1)                                                    \
    X(26, OP_WAITANY, "Waitany", CLASS_WAIT, 1)                                                    \
    X(27, OP_WAITSOME, "Waitsome", CLASS_WAIT, 1)                                                  \
    X(28, OP_TEST, "Test", CLASS_WAIT, 0)                                                          \
    X(29, OP_TESTALL, "Testall", CLASS_WAIT, 0)                                                    \
    X(30, OP_TESTANY, "Testany", CLASS_WAIT, 0)                                                    \
    X(31, OP_TESTSOME, "Testsome", CLASS_WAIT, 0)                                                  \
    X(40, OP_BARRIER, "Barrier", CLASS_COLLECTIVE, 1)                                              \
    X(41, OP_BCAST, "Bcast", CLASS_COLLECTIVE, 1)                                                  \
    X(42, OP_REDUCE, "Reduce", CLASS_COLLECTIVE, 1)                                                \
    X(43, OP_ALLREDUCE, "Allreduce", CLASS_COLLECTIVE, 1)                                          \
    X(44, OP_GATHER, "Gather", CLASS_COLLECTIVE, 1)                                                \
    X(45, OP_GATHERV, "Gatherv", CLASS_COLLECTIVE, 1)                                              \
    X(46, OP_SCATTER, "Scatter", CLASS_COLLECTIVE, 1)                                              \
    X(47, OP_SCATTERV, "Scatterv", CLASS_COLLECTIVE, 1)                                            \
    X(48, OP_ALLGATHER, "Allgather", CLASS_COLLECTIVE, 1)                                          \
    X(49, OP_ALLGATHERV, "Allgatherv", CLASS_COLLECTIVE, 1)                                        \
    X(50, OP_ALLTOALL, "Alltoall", CLASS_COLLECTIVE, 1)                                            \
    X(51, OP_ALLTOALLV, "Alltoallv", CLASS_COLLECTIVE, 1)                                          \
    X(52, OP_ALLTOALLW, "Alltoallw", CLASS_COLLECTIVE, 1)                                          \
    X(53, OP_REDUCE_SCATTER, "Reduce_scatter", CLASS_COLLECTIVE, 1)                                \
    X(54, OP_REDUCE_SCATTER_BLOCK, "Reduce_scatter_block", CLASS_COLLECTIVE, 1)                    \
    X(55, OP_SCAN, "Scan", CLASS_COLLECTIVE, 1)                                                    \
    X(56, OP_EXSCAN, "Exscan", CLASS_COLLECTIVE, 1)                                                \
    X(57, OP_NEIGHBOR_ALLGATHER, "Neighbor_allgather", CLASS_COLLECTIVE, 1)                        \
    X(58, OP_NEIGHBOR_ALLGATHERV, "Neighbor_allgatherv", CLASS_COLLECTIVE, 1)                      \
    X(59, OP_NEIGHBOR_ALLTOALL, "Neighbor_alltoall", CLASS_COLLECTIVE, 1)                          \
    X(60, OP_NEIGHBOR_ALLTOALLV, "Neighbor_alltoallv", CLASS_COLLECTIVE, 1)                        \
    X(61, OP_NEIGHBOR_ALLTOALLW, "Neighbor_alltoallw", CLASS_COLLECTIVE, 1)                        \
    X(70, OP_COMM_DUP, "Comm_dup", CLASS_COLLECTIVE, 1)                                            \
    X(71, OP_COMM_SPLIT, "Comm_split", CLASS_COLLECTIVE, 1)                                        \
    X(72, OP_COMM_CREATE, "Comm_create", CLASS_COLLECTIVE, 1)                                      \
    X(73, OP_COMM_FREE, "Comm_free", CLASS_COLLECTIVE, 1)                                          \
    X(74, OP_INTERCOMM_CREATE, "Intercomm_create", CLASS_COLLECTIVE, 1)                            \
    X(75, OP_INTERCOMM_MERGE, "Intercomm_merge", CLASS_COLLECTIVE, 1)                              \
    X(76, OP_COMM_SHRINK, "Comm_shrink", CLASS_COLLECTIVE, 1)                                      \
    X(77, OP_COMM_AGREE, "Comm_agree", CLASS_COLLECTIVE, 1)                                        \
    X(78, OP_COMM_REVOKE, "Comm_revoke", CLASS_CONTROL, 0)                                         \
    X(79, OP_COMM_DISCONNECT, "Comm_disconnect", CLASS_COLLECTIVE, 1)                              \
    X(80, OP_WIN_CREATE, "Win_create", CLASS_COLLECTIVE, 1)                                        \
    X(81, OP_WIN_FREE, "Win_free", CLASS_COLLECTIVE, 1)                                            \
    X(82, OP_WIN_FENCE, "Win_fence", CLASS_COLLECTIVE, 1)                                          \
    X(83, OP_PUT, "Put", CLASS_CONTROL, 0)                                                         \
    X(84, OP_GET, "Get", CLASS_CONTROL, 0)                                                         \
    X(85, OP_ACCUMULATE, "Accumulate", CLASS_CONTROL, 0)                                           \
    X(86, OP_WIN_LOCK, "Win_lock", CLASS_CONTROL, 1)                                               \
    X(87, OP_WIN_UNLOCK, "Win_unlock", CLASS_CONTROL, 1)                                           \
    X(88, OP_WIN_LOCK_ALL, "Win_lock_all", CLASS_CONTROL, 1)                                       \
    X(89, OP_WIN_UNLOCK_ALL, "Win_unlock_all", CLASS_CONTROL, 1)                                   \
    X(90, OP_WIN_POST, "Win_post", CLASS_CONTROL, 0)                                               \
    X(91, OP_WIN_START, "Win_start", CLASS_CONTROL, 1)                                             \
    X(92, OP_WIN_COMPLETE, "Win_complete", CLASS_CONTROL, 1)                                       \
    X(93, OP_WIN_WAIT, "Win_wait", CLASS_CONTROL, 1)                                               \
    X(94, OP_WIN_FLUSH, "Win_flush", CLASS_CONTROL, 0)                                             \
    X(95, OP_WIN_FLUSH_LOCAL, "Win_flush_local", CLASS_CONTROL, 0)                                 \
    X(96, OP_WIN_SYNC, "Win_sync", CLASS_CONTROL, 0)                                               \
    X(97, OP_GET_ACCUMULATE, "Get_accumulate", CLASS_CONTROL, 0)                                   \
    X(98, OP_FETCH_AND_OP, "Fetch_and_op", CLASS_CONTROL, 0)                                       \
    X(99, OP_COMPARE_AND_SWAP, "Compare_and_swap", CLASS_CONTROL, 0)                               \
    X(100, OP_INIT, "Init", CLASS_CONTROL, 0)                                                      \
    X(101, OP_FINALIZE, "Finalize", CLASS_COLLECTIVE, 1)                                           \
    X(102, OP_ABORT, "Abort", CLASS_CONTROL, 0)                                                    \
    X(103, OP_CANCEL, "Cancel", CLASS_CONTROL, 0)                                                  \
    X(104, OP_REQUEST_FREE, "Request_free", CLASS_CONTROL, 0)                                      \
    X(105, OP_BUFFER_DETACH, "Buffer_detach", CLASS_CONTROL, 1)                                    \
    X(106, OP_BUFFER_FLUSH, "Buffer_flush", CLASS_CONTROL, 1)                                      \
    X(110, OP_COMPUTE, "compute", CLASS_COMPUTE, 0)                                                \
    X(111, OP_COMM_DUP_WITH_INFO, "Comm_dup_with_info", CLASS_COLLECTIVE, 1)                       \
    X(112, OP_COMM_SPLIT_TYPE, "Comm_split_type", CLASS_COLLECTIVE, 1)                             \
    X(113, OP_COMM_CREATE_GROUP, "Comm_create_group", CLASS_COLLECTIVE, 1)                         \
    X(114, OP_COMM_CREATE_FROM_GROUP, "Comm_create_from_group", CLASS_COLLECTIVE, 1)               \
    X(115, OP_CART_CREATE, "Cart_create", CLASS_COLLECTIVE, 1)                                     \
    X(116, OP_CART_SUB, "Cart_sub", CLASS_COLLECTIVE, 1)                                           \
    X(117, OP_GRAPH_CREATE, "Graph_create", CLASS_COLLECTIVE, 1)                                   \
    X(118, OP_DIST_GRAPH_CREATE, "Dist_graph_create", CLASS_COLLECTIVE, 1)                         \
    X(119, OP_DIST_GRAPH_CREATE_ADJACENT, "Dist_graph_create_adjacent", CLASS_COLLECTIVE, 1)       \
    X(120, OP_WIN_ALLOCATE, "Win_allocate", CLASS_COLLECTIVE, 1)                                   \
    X(121, OP_WIN_ALLOCATE_SHARED, "Win_allocate_shared", CLASS_COLLECTIVE, 1)                     \
    X(122, OP_WIN_CREATE_DYNAMIC, "Win_create_dynamic", CLASS_COLLECTIVE, 1)

enum op_kind {
#define X(number, enumerator, name, class, blocking) enumerator = number,
    OP_KINDS(X)
#undef X
        OP_KIND_LIMIT = 128
};

/* The kind's name, "?" for an unknown number. */
const char *op_kind_name(int kind);
extern const unsigned char op_kind_classes[OP_KIND_LIMIT];
static inline enum op_class op_kind_class(int kind)
{
    return kind >= 0 && kind < OP_KIND_LIMIT ? (enum op_class)op_kind_classes[kind] : CLASS_NONE;
}
/* It makes a communicator or frees one. */
static inline bool op_kind_makes_comm(int kind)
{
    return (kind >= OP_COMM_DUP && kind <= OP_INTERCOMM_MERGE) ||
           (kind >= OP_COMM_DUP_WITH_INFO && kind <= OP_DIST_GRAPH_CREATE_ADJACENT);
}
/* Of one-sided communication. */
static inline bool op_kind_on_window(int kind)
{
    return (kind >= OP_WIN_CREATE && kind <= OP_COMPARE_AND_SWAP) ||
           (kind >= OP_WIN_ALLOCATE && kind <= OP_WIN_CREATE_DYNAMIC);
}
/* One-sided: it accesses memory of a window, and needs memory of its origin until it is complete. */
static inline bool op_kind_accesses(int kind)
{
    return (kind >= OP_PUT && kind <= OP_ACCUMULATE) ||
           (kind >= OP_GET_ACCUMULATE && kind <= OP_COMPARE_AND_SWAP);
}
/* The name of a class as the database spells it: "p2p", "coll", "wait", "compute", "control". */
const char *op_class_name(enum op_class class);
/* The kind with this name (case matters), OP_NONE if none. */
enum op_kind op_kind_by_name(const char *name);

#endif
