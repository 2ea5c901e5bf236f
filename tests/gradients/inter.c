/* Two groups that talk over an intercommunicator: a model in one, its data in the other. Every
 * collective that MPI has between groups, blocking or not, and messages both ways. */
#include <diff.h>
#include <mpi.h>
#include <string.h>

enum { COUNT = 4 };

static struct diff_tensor *constant(struct diff_tape *tape, int salt, size_t count)
{
    double values[64];
    for (size_t i = 0; i < count; i++)
        values[i] = (double)((i * 7 + (size_t)salt * 5) % 11) / 8 - 0.4;
    return diff_constant(tape, DIFF_DOUBLE, 1, &count, values);
}

/* What both groups have to do with each other, by the name of the call. */
static struct diff_tensor *between(const char *what, struct diff_tensor *x, MPI_Comm comm,
                                   bool first, unsigned flags)
{
    static const struct {
        const char *name;
        enum diff_collective kind;
        bool rooted;
    } calls[] = {{"bcast", DIFF_BCAST, true},
                 {"reduce", DIFF_REDUCE, true},
                 {"gather", DIFF_GATHER, true},
                 {"scatter", DIFF_SCATTER, true},
                 {"allreduce", DIFF_ALLREDUCE, false},
                 {"prod", DIFF_ALLREDUCE, false},
                 {"allgather", DIFF_ALLGATHER, false},
                 {"alltoall", DIFF_ALLTOALL, false},
                 {"reduce_scatter_block", DIFF_REDUCE_SCATTER_BLOCK, false}};
    int rank, own, other;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &own);
    MPI_Comm_remote_size(comm, &other);
    struct diff_call call = {.x = x, .comm = comm, .op = MPI_SUM, .flags = flags};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (strcmp(calls[i].name, what) == 0) {
            call.kind = calls[i].kind;
            if (calls[i].rooted && first)
                call.root = rank == own - 1 ? MPI_ROOT : MPI_PROC_NULL;
            else if (calls[i].rooted)
                call.root = other - 1;
        }
    if (strcmp(what, "prod") == 0)
        call.op = MPI_PROD;
    size_t each = (size_t)(own * other), wide[] = {each};
    if (call.kind == DIFF_ALLTOALL || call.kind == DIFF_REDUCE_SCATTER_BLOCK ||
        (call.kind == DIFF_SCATTER && call.root == MPI_ROOT))
        call.x = diff_broadcast(diff_slice(x, 0, 1), 1, wide);
    call.count = call.kind == DIFF_ALLTOALL ? (size_t)other : 0;
    if (call.kind == DIFF_SCATTER)
        call.count = (size_t)other;
    struct diff_tensor *y = diff_collective(&call);
    return flags & DIFF_NONBLOCKING ? diff_wait(y) : y;
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Comm own, comm;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *what = argc > 1 ? argv[1] : "allreduce";
    unsigned flags = argc > 2 ? DIFF_NONBLOCKING : 0;
    bool first = rank < size / 3 + (size < 3);
    MPI_Comm_split(MPI_COMM_WORLD, first, rank, &own);
    MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, first ? size / 3 + (size < 3) : 0, 3, &comm);
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    double start[COUNT];
    for (int i = 0; i < COUNT; i++)
        start[i] = 0.3 + 0.2 * i - 0.1 * rank;
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){COUNT}, start);
    struct diff_tensor *y = between(what, diff_tanh(x), comm, first, flags);
    struct diff_tensor *loss = diff_sum(diff_mul(x, x));
    if (diff_count(y) > 0)
        loss = diff_add(loss, diff_dot(diff_mul(y, y), constant(tape, rank, diff_count(y))));
    diff_barrier(tape, comm);
    diff_backward(loss);
    diff_tape_free(tape);
    MPI_Comm_free(&comm);
    MPI_Comm_free(&own);
    MPI_Finalize();
}
