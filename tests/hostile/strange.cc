// What C++ adds to strange.c, between two collectives: strange WAY RANK. Exceptions that leave what MPI calls, that nobody
// catches, or that are thrown where none may be; objects that live longer than MPI.
#include <mpi.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

int rank;
std::string way;

struct outliving {
    bool armed = false;
    std::function<void()> end;
    ~outliving()
    {
        if (armed)
            end();
    }
} first, second;

struct thrower {
    ~thrower() noexcept(false) { throw std::runtime_error("from a destructor"); }
};

struct counter { // a C++ program's way of freeing what MPI made
    MPI_Comm comm = MPI_COMM_NULL;
    counter() { MPI_Comm_dup(MPI_COMM_SELF, &comm); }
    ~counter() { MPI_Comm_free(&comm); }
};

void throw_op(void *, void *, int *, MPI_Datatype *)
{
    throw std::runtime_error("from a reduction");
}

void throw_handler(MPI_Comm *, int *code, ...)
{
    throw std::invalid_argument("error " + std::to_string(*code));
}

bool throws = true;

int throw_delete(MPI_Comm, int, void *, void *)
{
    if (throws)
        throw 42;
    return MPI_SUCCESS;
}

void no_throw() noexcept
{
    throw std::logic_error("where none may be");
}

void out_of_op()
{
    MPI_Op op;
    int value = 1, sum = 0;
    MPI_Op_create(throw_op, 1, &op);
    try {
        MPI_Reduce_local(&value, &sum, 1, MPI_INT, op);
    } catch (const std::runtime_error &) {
        MPI_Barrier(MPI_COMM_SELF);
    }
    MPI_Op_free(&op);
}

void out_of_collective()
{
    MPI_Op op;
    int value = 1, sum = 0;
    MPI_Op_create(throw_op, 1, &op);
    try {
        MPI_Allreduce(&value, &sum, 1, MPI_INT, op, MPI_COMM_SELF);
        MPI_Allreduce(&value, &sum, 1, MPI_INT, op, MPI_COMM_WORLD);
    } catch (const std::runtime_error &) {
    }
}

void out_of_handler()
{
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(throw_handler, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    MPI_Errhandler_free(&handler);
    try {
        MPI_Send(&rank, 1, MPI_INT, 7, 0, MPI_COMM_SELF);
        std::abort();
    } catch (const std::invalid_argument &) {
    }
}

void out_of_delete()
{
    int key;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, throw_delete, &key, nullptr);
    MPI_Comm_set_attr(comm, key, &key);
    try {
        MPI_Comm_delete_attr(comm, key);
    } catch (int) {
    }
    std::exit(0);
}

int throw_copy(MPI_Comm, int, void *, void *, void *, int *)
{
    throw 42;
}

int throw_query(void *, MPI_Status *)
{
    throw std::runtime_error("from a query");
}

int no_free(void *)
{
    return MPI_SUCCESS;
}

int throw_cancel(void *, int)
{
    throw std::runtime_error("from a cancellation");
}

void out_of_copy()
{
    int key;
    MPI_Comm comm;
    MPI_Comm_create_keyval(throw_copy, MPI_COMM_NULL_DELETE_FN, &key, nullptr);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, &key);
    try {
        MPI_Comm_dup(MPI_COMM_SELF, &comm);
        std::abort();
    } catch (int) {
    }
    MPI_Comm_free(&comm);
    MPI_Comm_delete_attr(MPI_COMM_SELF, key);
    MPI_Comm_free_keyval(&key);
}

void out_of_free()
{
    int key;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, throw_delete, &key, nullptr);
    MPI_Comm_set_attr(comm, key, &key);
    try {
        MPI_Comm_free(&comm);
        std::abort();
    } catch (int) {
    }
    throws = false;
    MPI_Comm_free(&comm);
    MPI_Comm_free_keyval(&key);
}

void out_of_cancel()
{
    MPI_Request request;
    MPI_Grequest_start([](void *, MPI_Status *) { return MPI_SUCCESS; }, no_free, throw_cancel, nullptr, &request);
    try {
        MPI_Cancel(&request);
        std::abort();
    } catch (const std::runtime_error &) {
    }
    MPI_Grequest_complete(request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

void out_of_query()
{
    MPI_Request request;
    MPI_Grequest_start(throw_query, no_free, throw_cancel, nullptr, &request);
    MPI_Grequest_complete(request);
    try {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } catch (const std::runtime_error &) {
    }
}

// A library that makes errors exceptions, for as long as the program runs: nothing is counted up by them.
void out_of_many_handlers()
{
    MPI_Errhandler handler;
    int caught = 0;
    MPI_Comm_create_errhandler(throw_handler, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    MPI_Errhandler_free(&handler);
    for (int i = 0; i < 20; i++)
        try {
            MPI_Comm_call_errhandler(MPI_COMM_SELF, MPI_ERR_OTHER);
        } catch (const std::invalid_argument &) {
            caught++;
        }
    if (caught != 20)
        std::abort();
}

// What is looked at afterwards is looked at as before.
void out_of_op_then_wrong()
{
    MPI_Op op;
    MPI_Request request;
    static int value = 1, sum = 0;
    MPI_Op_create(throw_op, 1, &op);
    try {
        MPI_Reduce_local(&value, &sum, 1, MPI_INT, op);
    } catch (const std::runtime_error &) {
    }
    MPI_Op_free(&op);
    MPI_Irecv(&sum, 1, MPI_INT, 0, 5, MPI_COMM_SELF, &request);
    MPI_Bcast(&sum, 1, MPI_INT, 0, MPI_COMM_SELF);
    MPI_Send(&value, 1, MPI_INT, 0, 5, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

void past_a_message()
{
    int in = 0;
    MPI_Request request;
    MPI_Irecv(&in, 1, MPI_INT, 0, 5, MPI_COMM_SELF, &request);
    try {
        counter one;
        std::vector<int>(3).at(7) = 1;
    } catch (const std::out_of_range &) {
    }
    MPI_Send(&rank, 1, MPI_INT, 0, 5, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

const std::map<std::string, std::function<void()>> ways = {
    {"uncaught", [] { throw std::runtime_error("nobody catches it"); }},
    {"uncaught_number", [] { throw 42; }},
    {"no_throw", no_throw},
    {"out_of_op", out_of_op},
    {"out_of_op_then_wrong", out_of_op_then_wrong},
    {"out_of_copy", out_of_copy},
    {"out_of_free", out_of_free},
    {"out_of_cancel", out_of_cancel},
    {"out_of_query", out_of_query},
    {"out_of_many_handlers", out_of_many_handlers},
    {"out_of_collective", out_of_collective},
    {"out_of_handler", out_of_handler},
    {"out_of_delete", out_of_delete},
    {"past_a_message", past_a_message},
    {"in_a_thread", [] { std::thread([] { throw std::runtime_error("on a thread"); }).join(); }},
    {"joinable", [] { std::thread spare([] {}); }},
    {"destructor", [] { thrower one; }},
    {"while_unwinding", [] { thrower one; throw std::runtime_error("the first of two"); }},
    {"terminate", [] { std::terminate(); }},
    {"own_terminate", [] { std::set_terminate([] { std::_Exit(6); }); throw 1; }},
    {"rethrow_nothing", [] { throw; }},
    {"no_memory", [] {
         try {
             std::vector<double> huge(std::size_t(1) << 50);
             std::abort();
         } catch (const std::bad_alloc &) {
         }
     }},
    {"at_exit_throws", [] { std::atexit([] { throw 1; }); }},
    {"object_calls_mpi", [] { first.end = [] { MPI_Barrier(MPI_COMM_SELF); }, first.armed = true; }},
    {"object_aborts", [] { first.end = [] { MPI_Abort(MPI_COMM_WORLD, 5); }, first.armed = true; }},
    {"object_frees_comm", [] { static counter kept; }},
    {"object_throws", [] { second.end = [] { throw 1; }, second.armed = true; }},
    {"object_exits", [] { second.end = [] { std::exit(3); }, second.armed = true; }},
    {"object_asks", [] { first.end = [] { int flag; MPI_Finalized(&flag); if (!flag) std::abort(); }, first.armed = true; }},
};

} // namespace

int main(int argc, char **argv)
{
    double value = 1, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 3; i++)
        MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (argc > 2 && rank == std::atoi(argv[2]))
        ways.at(argv[1])();
    MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
}
