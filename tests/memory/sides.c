/* One operation in which the last rank differs from the others in its type, in its count, or not: see sides.t. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define W MPI_COMM_WORLD
enum { N = 64 };
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, bad;
    MPI_Comm_rank(W, &rank), MPI_Comm_size(W, &size);
    const char *op = argv[1], *err = argv[2];
    char *a = calloc(N, 8), *b = calloc(N, 8);
    bad = rank == size - 1;
    int type_bad = bad && !strcmp(err, "type"), count_bad = bad && !strcmp(err, "count");
    MPI_Datatype t = type_bad ? MPI_FLOAT : MPI_INT;
    int c = count_bad ? 3 : 4;
    int counts[8], places[8], bytes[8];
    MPI_Datatype types[8];
    for (int i = 0; i < size; i++)
        counts[i] = 4, places[i] = 4 * i, bytes[i] = 16 * i, types[i] = MPI_INT;
    if (type_bad)
        types[0] = MPI_FLOAT;
    int vc[8];
    memcpy(vc, counts, sizeof vc);
    if (count_bad)
        vc[0] = 3;
    MPI_Request q = MPI_REQUEST_NULL;
    int root = 0;
#define OP(name, call) else if (!strcmp(op, #name)) call;
#define BOTH(Name, ...)                                                                            \
    else if (!strcmp(op, #Name)) MPI_##Name(__VA_ARGS__, W);                                       \
    else if (!strcmp(op, "I" #Name)) MPI_I##Name(__VA_ARGS__, W, &q);                              \
    else if (!strcmp(op, #Name "_init")) MPI_##Name##_init(__VA_ARGS__, W, MPI_INFO_NULL, &q),     \
        MPI_Start(&q);
#define LOWER(Name, name, ...)                                                                     \
    else if (!strcmp(op, #Name)) MPI_##Name(__VA_ARGS__, W);                                       \
    else if (!strcmp(op, "I" #name)) MPI_I##name(__VA_ARGS__, W, &q);                              \
    else if (!strcmp(op, #Name "_init")) MPI_##Name##_init(__VA_ARGS__, W, MPI_INFO_NULL, &q),     \
        MPI_Start(&q);
    if (0)
        ;
    LOWER(Bcast, bcast, a, c, t, root)
    LOWER(Reduce, reduce, a, b, c, t, MPI_SUM, root)
    LOWER(Allreduce, allreduce, a, b, c, t, MPI_SUM)
    LOWER(Scan, scan, a, b, c, t, MPI_SUM)
    LOWER(Exscan, exscan, a, b, c, t, MPI_SUM)
    LOWER(Reduce_scatter_block, reduce_scatter_block, a, b, c, t, MPI_SUM)
    LOWER(Reduce_scatter, reduce_scatter, a, b, vc, t, MPI_SUM)
    LOWER(Gather, gather, a, c, t, b, 4, MPI_INT, root)
    LOWER(Scatter, scatter, a, 4, MPI_INT, b, c, t, root)
    LOWER(Allgather, allgather, a, c, t, b, 4, MPI_INT)
    LOWER(Alltoall, alltoall, a, c, t, b, c, t)
    LOWER(Gatherv, gatherv, a, c, t, b, counts, places, MPI_INT, root)
    LOWER(Scatterv, scatterv, a, counts, places, MPI_INT, b, c, t, root)
    LOWER(Allgatherv, allgatherv, a, c, t, b, counts, places, MPI_INT)
    LOWER(Alltoallv, alltoallv, a, vc, places, t, b, counts, places, MPI_INT)
    LOWER(Alltoallw, alltoallw, a, vc, bytes, types, b, counts, bytes,
          (MPI_Datatype[]){MPI_INT, MPI_INT, MPI_INT, MPI_INT, MPI_INT, MPI_INT, MPI_INT, MPI_INT})
    else if (!strcmp(op, "Send"))
    {
        if (bad)
            MPI_Send(a, c, t, 0, 0, W);
        else if (!rank)
            MPI_Recv(b, 4, MPI_INT, size - 1, 0, W, MPI_STATUS_IGNORE);
    }
    else if (!strcmp(op, "Long"))
    {
        if (bad)
            MPI_Send(a, count_bad ? 5 : 4, t, 0, 0, W);
        else if (!rank)
            MPI_Recv(b, 4, MPI_INT, size - 1, 0, W, MPI_STATUS_IGNORE);
    }
    else if (!strcmp(op, "Isend"))
    {
        if (bad)
            MPI_Isend(a, count_bad ? 5 : 4, t, 0, 0, W, &q);
        else if (!rank)
            MPI_Irecv(b, 4, MPI_INT, size - 1, 0, W, &q);
    }
    else if (!strcmp(op, "Bsend"))
    {
        static char room[4096];
        MPI_Buffer_attach(room, sizeof room);
        if (bad)
            MPI_Bsend(a, count_bad ? 5 : 4, t, 0, 0, W);
        else if (!rank)
            MPI_Recv(b, 4, MPI_INT, size - 1, 0, W, MPI_STATUS_IGNORE);
        void *x;
        int n;
        MPI_Buffer_detach(&x, &n);
    }
    else if (!strcmp(op, "Sendrecv"))
        MPI_Sendrecv(a, count_bad ? 5 : 4, t, (rank + 1) % size, 0, b, 4, MPI_INT,
                     (rank + size - 1) % size, 0, W, MPI_STATUS_IGNORE);
    else if (!strcmp(op, "Mrecv"))
    {
        if (bad)
            MPI_Send(a, count_bad ? 5 : 4, t, 0, 0, W);
        else if (!rank) {
            MPI_Message m;
            MPI_Mprobe(size - 1, 0, W, &m, MPI_STATUS_IGNORE);
            MPI_Mrecv(b, 4, MPI_INT, &m, MPI_STATUS_IGNORE);
        }
    }
    else if (!strcmp(op, "Send_init"))
    {
        if (bad)
            MPI_Send_init(a, count_bad ? 5 : 4, t, 0, 0, W, &q), MPI_Start(&q);
        else if (!rank)
            MPI_Recv_init(b, 4, MPI_INT, size - 1, 0, W, &q), MPI_Start(&q);
    }
    else if (!strcmp(op, "Derived"))
    {
        MPI_Datatype d;
        MPI_Type_vector(2, 2, 3, t, &d);
        MPI_Type_commit(&d);
        if (bad)
            MPI_Send(a, count_bad ? 2 : 1, d, 0, 0, W);
        else if (!rank)
            MPI_Recv(b, 4, MPI_INT, size - 1, 0, W, MPI_STATUS_IGNORE);
        MPI_Type_free(&d);
    }
    else if (!strcmp(op, "DerivedBcast"))
    {
        MPI_Datatype d;
        MPI_Type_vector(2, 2, 3, t, &d);
        MPI_Type_commit(&d);
        if (bad)
            MPI_Bcast(a, count_bad ? 2 : 1, d, 0, W);
        else
            MPI_Bcast(b, 4, MPI_INT, 0, W);
        MPI_Type_free(&d);
    }
    else
    {
        fprintf(stderr, "no %s\n", op);
        abort();
    }
    if (q != MPI_REQUEST_NULL)
        MPI_Wait(&q, MPI_STATUS_IGNORE);
    if (q != MPI_REQUEST_NULL)
        MPI_Request_free(&q);
    free(a), free(b);
    MPI_Finalize();
}
