/* A nonblocking or persistent operation, and what touches one of its buffers: OPERATION HOW BUFFER WHEN MEMORY; see local.t.
 * simrun: cflags: -fopenmp */
#include <mpi.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define W MPI_COMM_WORLD
enum { N = 64 };
static int sink;
static int rank, size, other;
static int global_a[N], global_b[N];
static __attribute__((noinline)) void by_function(int *p, int write)
{
    if (write)
        p[1] = 7;
    else
        sink += p[1];
}
static void *by_thread(void *p)
{
    by_function(p, 1);
    return NULL;
}
static void *by_thread_read(void *p)
{
    by_function(p, 0);
    return NULL;
}
struct block {
    int x[8];
};
static void touch(const char *how, int *p)
{
    pthread_t t;
    int local[8] = {1};
    if (!strcmp(how, "write"))
        p[2] = 5;
    else if (!strcmp(how, "read"))
        sink += p[2];
    else if (!strcmp(how, "add"))
        p[0]++;
    else if (!strcmp(how, "function"))
        by_function(p, 1);
    else if (!strcmp(how, "functionread"))
        by_function(p, 0);
    else if (!strcmp(how, "loop"))
        for (int i = 0; i < 4; i++)
            p[i] = i;
    else if (!strcmp(how, "loopread"))
        for (int i = 0; i < 4; i++)
            sink += p[i];
    else if (!strcmp(how, "memset"))
        memset(p, 0, 4 * sizeof *p);
    else if (!strcmp(how, "memcpy"))
        memcpy(p, local, 4 * sizeof *p);
    else if (!strcmp(how, "memcpyread"))
        memcpy(local, p, 4 * sizeof *p), sink += local[1];
    else if (!strcmp(how, "struct"))
        *(struct block *)p = *(struct block *)local;
    else if (!strcmp(how, "thread"))
        pthread_create(&t, NULL, by_thread, p), pthread_join(t, NULL);
    else if (!strcmp(how, "threadread"))
        pthread_create(&t, NULL, by_thread_read, p), pthread_join(t, NULL);
    else if (!strcmp(how, "omp")) {
#pragma omp parallel for num_threads(2)
        for (int i = 0; i < 4; i++)
            p[i] = i;
    } else if (!strcmp(how, "ompread")) {
        int s = 0;
#pragma omp parallel for num_threads(2) reduction(+ : s)
        for (int i = 0; i < 4; i++)
            s += p[i];
        sink += s;
    } else if (!strcmp(how, "task")) {
#pragma omp parallel num_threads(2)
#pragma omp single
#pragma omp task
        p[3] = 2;
    } else if (!strcmp(how, "printf")) {
        char text[32];
        snprintf(text, sizeof text, "%d", p[1]);
        sink += text[0];
    } else if (!strcmp(how, "sendread"))
        MPI_Sendrecv(p, 2, MPI_INT, rank, 99, local, 2, MPI_INT, rank, 99, W, MPI_STATUS_IGNORE);
    else if (!strcmp(how, "sum"))
        MPI_Allreduce(p, local, 2, MPI_INT, MPI_SUM, W);
    else if (!strcmp(how, "bcast"))
        MPI_Bcast(p, 2, MPI_INT, 0, W);
    else if (!strcmp(how, "none"))
        ;
    else
        abort();
}
int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(W, &rank), MPI_Comm_size(W, &size);
    other = 1 - rank;
    const char *op = argv[1], *how = argv[2], *where = argv[3], *when = argv[4], *memory = argv[5];
    int stack_a[N], stack_b[N], *a = stack_a, *b = stack_b;
    if (!strcmp(memory, "heap"))
        a = malloc(sizeof stack_a), b = malloc(sizeof stack_b);
    if (!strcmp(memory, "global"))
        a = global_a, b = global_b;
    for (int i = 0; i < N; i++)
        a[i] = b[i] = i;
    int counts[2] = {4, 4}, places[2] = {0, 4}, bytes[2] = {0, 16};
    MPI_Datatype ints[2] = {MPI_INT, MPI_INT};
    MPI_Request q = MPI_REQUEST_NULL, own = MPI_REQUEST_NULL;
    int persistent = strstr(op, "_init") != NULL;
#define OP(name, call) else if (!strcmp(op, #name)) call;
    if (0)
        ;
    OP(isend,
       (MPI_Irecv(b, 8, MPI_INT, other, 0, W, &own), MPI_Isend(a, 8, MPI_INT, other, 0, W, &q)))
    OP(issend,
       (MPI_Irecv(b, 8, MPI_INT, other, 0, W, &own), MPI_Issend(a, 8, MPI_INT, other, 0, W, &q)))
    OP(send_init,
       (MPI_Irecv(b, 8, MPI_INT, other, 0, W, &own), MPI_Send_init(a, 8, MPI_INT, other, 0, W, &q)))
    OP(recv_init,
       (MPI_Recv_init(b, 8, MPI_INT, other, 0, W, &q), MPI_Isend(a, 8, MPI_INT, other, 0, W, &own)))
    OP(ibcast, MPI_Ibcast(b, 8, MPI_INT, 0, W, &q))
    OP(iallreduce, MPI_Iallreduce(a, b, 8, MPI_INT, MPI_SUM, W, &q))
    OP(ireduce, MPI_Ireduce(a, b, 8, MPI_INT, MPI_SUM, 0, W, &q))
    OP(iscan, MPI_Iscan(a, b, 8, MPI_INT, MPI_SUM, W, &q))
    OP(igather, MPI_Igather(a, 8, MPI_INT, b, 8, MPI_INT, 0, W, &q))
    OP(igatherv, MPI_Igatherv(a, 4, MPI_INT, b, counts, places, MPI_INT, 0, W, &q))
    OP(iscatter, MPI_Iscatter(a, 8, MPI_INT, b, 8, MPI_INT, 0, W, &q))
    OP(iscatterv, MPI_Iscatterv(a, counts, places, MPI_INT, b, 4, MPI_INT, 0, W, &q))
    OP(iallgather, MPI_Iallgather(a, 8, MPI_INT, b, 8, MPI_INT, W, &q))
    OP(iallgatherv, MPI_Iallgatherv(a, 4, MPI_INT, b, counts, places, MPI_INT, W, &q))
    OP(ialltoall, MPI_Ialltoall(a, 4, MPI_INT, b, 4, MPI_INT, W, &q))
    OP(ialltoallv, MPI_Ialltoallv(a, counts, places, MPI_INT, b, counts, places, MPI_INT, W, &q))
    OP(ialltoallw, MPI_Ialltoallw(a, counts, bytes, ints, b, counts, bytes, ints, W, &q))
    OP(ireduce_scatter, MPI_Ireduce_scatter(a, b, counts, MPI_INT, MPI_SUM, W, &q))
    OP(ireduce_scatter_block, MPI_Ireduce_scatter_block(a, b, 4, MPI_INT, MPI_SUM, W, &q))
    OP(bcast_init, MPI_Bcast_init(b, 8, MPI_INT, 0, W, MPI_INFO_NULL, &q))
    OP(allreduce_init, MPI_Allreduce_init(a, b, 8, MPI_INT, MPI_SUM, W, MPI_INFO_NULL, &q))
    OP(reduce_init, MPI_Reduce_init(a, b, 8, MPI_INT, MPI_SUM, 0, W, MPI_INFO_NULL, &q))
    OP(gather_init, MPI_Gather_init(a, 8, MPI_INT, b, 8, MPI_INT, 0, W, MPI_INFO_NULL, &q))
    OP(scatter_init, MPI_Scatter_init(a, 8, MPI_INT, b, 8, MPI_INT, 0, W, MPI_INFO_NULL, &q))
    OP(allgather_init, MPI_Allgather_init(a, 8, MPI_INT, b, 8, MPI_INT, W, MPI_INFO_NULL, &q))
    OP(alltoall_init, MPI_Alltoall_init(a, 4, MPI_INT, b, 4, MPI_INT, W, MPI_INFO_NULL, &q))
    OP(alltoallv_init, MPI_Alltoallv_init(a, counts, places, MPI_INT, b, counts, places, MPI_INT, W,
                                          MPI_INFO_NULL, &q))
    OP(irecv,
       (MPI_Irecv(b, 8, MPI_INT, other, 0, W, &q), MPI_Isend(a, 8, MPI_INT, other, 0, W, &own)))
    OP(isendrecv, MPI_Isendrecv(a, 8, MPI_INT, other, 0, b, 8, MPI_INT, other, 0, W, &q))
    OP(isendrecv_replace, MPI_Isendrecv_replace(b, 8, MPI_INT, other, 0, other, 0, W, &q))
    else abort();
    int *target = *where == 's' ? a : *where == 'r' ? b : a + 40;
    if (!strcmp(when, "start"))
        touch(how, target);
    if (persistent)
        MPI_Start(&q);
    if (!strcmp(when, "pending") && rank == 0)
        touch(how, target);
    if (!strcmp(when, "pendingall"))
        touch(how, target);
    if (!strcmp(how, "sum") || !strcmp(how, "bcast"))
        ;
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    if (own != MPI_REQUEST_NULL)
        MPI_Wait(&own, MPI_STATUS_IGNORE);
    if (!strcmp(when, "after"))
        touch(how, target);
    if (persistent)
        MPI_Request_free(&q);
    if (!strcmp(memory, "heap"))
        free(a), free(b);
    MPI_Finalize();
    return sink == -1;
}
