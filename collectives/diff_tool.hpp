/* diff_tool.hpp: MPI on arrays of an overloading tool's active numbers, in C++; what the bindings share
 * (diff_adolc.hpp, diff_rad.hpp: include one of those).
 *
 * The calls below take arrays of A where MPI has buffers; their datatype is ignored, it is
 * MPI_DOUBLE. Nonblocking calls are not there, and the status of a receive is not filled in. A binding
 * specialises diff_tool_binding<A>. */
#ifndef DIFF_TOOL_HPP
#define DIFF_TOOL_HPP

#include <diff_tool.h>

#include <type_traits>
#include <vector>

/* What a call is; and, kept by the binding, its number in the evaluation that ran last. */
struct diff_tool_call {
    bool message;
    struct diff_call collective;
    int destination, send_tag, source, receive_tag;
    MPI_Comm comm;
    const void *site;
    size_t x_count, y_count;
    size_t number;

    void forward(struct diff_tool *tool, const double *x, double *y)
    {
        struct diff_tool_data data = {x, x_count, y, y_count, site};
        number = message ? diff_tool_message(tool, &data, destination, send_tag, source, receive_tag,
                                             comm)
                         : diff_tool_collective(tool, &collective, &data);
    }
};

/* A binding: `active` is true, and run() does a call on active numbers. */
template <class A> struct diff_tool_binding {
    static const bool active = false;
};

namespace diff_tool_parts {

inline diff_tool_call collective(enum diff_collective kind, MPI_Comm comm, MPI_Op op, int root,
                                 size_t count, const void *site)
{
    diff_tool_call call = diff_tool_call();
    call.collective.kind = kind;
    call.collective.comm = call.comm = comm;
    call.collective.op = op;
    call.collective.root = root;
    call.collective.count = count;
    call.site = site;
    return call;
}

inline diff_tool_call message(int to, int send_tag, int from, int receive_tag, MPI_Comm comm,
                              const void *site)
{
    diff_tool_call call = diff_tool_call();
    call.message = true;
    call.destination = to;
    call.send_tag = send_tag;
    call.source = from;
    call.receive_tag = receive_tag;
    call.comm = comm;
    call.site = site;
    return call;
}

template <class A> int run(diff_tool_call call, const A *x, size_t x_count, A *y, size_t y_count)
{
    call.x_count = x_count;
    call.y_count = y_count;
    diff_tool_binding<A>::run(call, x, y);
    return MPI_SUCCESS;
}

inline size_t ranks(MPI_Comm comm)
{
    int size;
    MPI_Comm_size(comm, &size);
    return (size_t)size;
}

inline bool is_rank(int root, MPI_Comm comm)
{
    int rank;
    MPI_Comm_rank(comm, &rank);
    return rank == root;
}

} // namespace diff_tool_parts

/* The program's line is where the call returns to. */
#define DIFF_TOOL_SITE __builtin_return_address(0)
#define DIFF_TOOL_CALL                                                                             \
    template <class A>                                                                             \
    __attribute__((noinline)) typename std::enable_if<diff_tool_binding<A>::active, int>::type

DIFF_TOOL_CALL MPI_Allreduce(const A *x, A *y, int n, MPI_Datatype, MPI_Op op,
                              MPI_Comm comm)
{
    return diff_tool_parts::run(
        diff_tool_parts::collective(DIFF_ALLREDUCE, comm, op, 0, 0, DIFF_TOOL_SITE), x, (size_t)n, y,
        (size_t)n);
}

DIFF_TOOL_CALL MPI_Reduce(const A *x, A *y, int n, MPI_Datatype, MPI_Op op, int root,
                           MPI_Comm comm)
{
    bool here = diff_tool_parts::is_rank(root, comm);
    return diff_tool_parts::run(
        diff_tool_parts::collective(DIFF_REDUCE, comm, op, root, 0, DIFF_TOOL_SITE), x, (size_t)n, y,
        here ? (size_t)n : 0);
}

DIFF_TOOL_CALL MPI_Bcast(A *x, int n, MPI_Datatype, int root, MPI_Comm comm)
{
    return diff_tool_parts::run(
        diff_tool_parts::collective(DIFF_BCAST, comm, MPI_SUM, root, 0, DIFF_TOOL_SITE), (const A *)x, (size_t)n,
        x, (size_t)n);
}

DIFF_TOOL_CALL MPI_Gather(const A *x, int n, MPI_Datatype, A *y, int, MPI_Datatype,
                           int root, MPI_Comm comm)
{
    size_t all = diff_tool_parts::is_rank(root, comm) ? (size_t)n * diff_tool_parts::ranks(comm) : 0;
    return diff_tool_parts::run(
        diff_tool_parts::collective(DIFF_GATHER, comm, MPI_SUM, root, 0, DIFF_TOOL_SITE), x, (size_t)n,
        y, all);
}

DIFF_TOOL_CALL MPI_Scatter(const A *x, int, MPI_Datatype, A *y, int n, MPI_Datatype,
                            int root, MPI_Comm comm)
{
    size_t all = diff_tool_parts::is_rank(root, comm) ? (size_t)n * diff_tool_parts::ranks(comm) : 0;
    return diff_tool_parts::run(
        diff_tool_parts::collective(DIFF_SCATTER, comm, MPI_SUM, root, (size_t)n, DIFF_TOOL_SITE), x,
        all, y, (size_t)n);
}

DIFF_TOOL_CALL MPI_Allgather(const A *x, int n, MPI_Datatype, A *y, int, MPI_Datatype,
                              MPI_Comm comm)
{
    return diff_tool_parts::run(
        diff_tool_parts::collective(DIFF_ALLGATHER, comm, MPI_SUM, 0, 0, DIFF_TOOL_SITE), x, (size_t)n,
        y, (size_t)n * diff_tool_parts::ranks(comm));
}

DIFF_TOOL_CALL MPI_Alltoall(const A *x, int n, MPI_Datatype, A *y, int, MPI_Datatype,
                             MPI_Comm comm)
{
    size_t all = (size_t)n * diff_tool_parts::ranks(comm);
    return diff_tool_parts::run(
        diff_tool_parts::collective(DIFF_ALLTOALL, comm, MPI_SUM, 0, 0, DIFF_TOOL_SITE), x, all, y, all);
}

DIFF_TOOL_CALL MPI_Send(const A *x, int n, MPI_Datatype, int to, int tag, MPI_Comm comm)
{
    if (to == MPI_PROC_NULL)
        return MPI_SUCCESS;
    return diff_tool_parts::run(diff_tool_parts::message(to, tag, MPI_PROC_NULL, 0, comm, DIFF_TOOL_SITE), x,
                           (size_t)n, (A *)nullptr, 0);
}

DIFF_TOOL_CALL MPI_Recv(A *y, int n, MPI_Datatype, int from, int tag, MPI_Comm comm,
                         MPI_Status *)
{
    if (from == MPI_PROC_NULL)
        return MPI_SUCCESS;
    return diff_tool_parts::run(diff_tool_parts::message(MPI_PROC_NULL, 0, from, tag, comm, DIFF_TOOL_SITE),
                           (const A *)nullptr, 0, y, (size_t)n);
}

DIFF_TOOL_CALL MPI_Sendrecv(const A *x, int n, MPI_Datatype, int to, int send_tag, A *y,
                             int m, MPI_Datatype, int from, int receive_tag, MPI_Comm comm,
                             MPI_Status *)
{
    const void *site = DIFF_TOOL_SITE;
    size_t sent = to == MPI_PROC_NULL ? 0 : (size_t)n, got = from == MPI_PROC_NULL ? 0 : (size_t)m;
    if (!sent && !got)
        return MPI_SUCCESS;
    return diff_tool_parts::run(diff_tool_parts::message(to, send_tag, from, receive_tag, comm, site), x, sent,
                           y, got);
}

#undef DIFF_TOOL_SITE
#undef DIFF_TOOL_CALL
#endif
