/* One nonblocking operation, with one mistake or none, and one way to complete it: see ends.t. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#define W MPI_COMM_WORLD

static const char *kind, *mistake, *way;
static int out[16], in[4096];
static MPI_Request q[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
static MPI_Status s[2];

static int is(const char *word)
{
    return !strcmp(mistake, word);
}

/* The last rank makes the mistake. */
static void collective(int size, int last)
{
    MPI_Datatype type = is("type") && last ? MPI_FLOAT : MPI_INT;
    int count = is("count") && last ? 3 : 4, root = is("root") && last;
    MPI_Op op = is("op") && last ? MPI_MAX : MPI_SUM;
    if (is("kind") && last)
        MPI_Iallgather(out, 4, MPI_INT, in, 4, MPI_INT, W, q);
    else if (!strcmp(kind, "Ibcast"))
        MPI_Ibcast(in, count, type, root, W, q);
    else if (!strcmp(kind, "Bcast_init"))
        MPI_Bcast_init(in, count, type, root, W, MPI_INFO_NULL, q), MPI_Start(q);
    else if (!strcmp(kind, "Iallreduce"))
        MPI_Iallreduce(out, in, count, type, op, W, q);
    else if (!strcmp(kind, "Igather"))
        MPI_Igather(out, count, type, in, 4, MPI_INT, root, W, q);
    else if (!strcmp(kind, "Ialltoall"))
        MPI_Ialltoall(in + 4 * size, count, type, in, count, type, W, q);
}

static void message(int rank, int size)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    int count = is("count") ? 3 : 4, tag = is("tag"), *written = in;
    MPI_Datatype type = is("type") ? MPI_FLOAT : MPI_INT, gaps;
    MPI_Type_vector(2, 1, 2, MPI_INT, &gaps);
    MPI_Type_commit(&gaps);
    if (!strcmp(kind, "Irecv"))
        MPI_Irecv(in, count, type, left, tag, W, q), MPI_Isend(out, 4, MPI_INT, right, 0, W, q + 1);
    else if (!strcmp(kind, "Recv_init"))
        MPI_Recv_init(in, count, type, left, tag, W, q), MPI_Start(q),
            MPI_Isend(out, 4, MPI_INT, right, 0, W, q + 1);
    else if (!strcmp(kind, "Isendrecv"))
        MPI_Isendrecv(out, 4, MPI_INT, right, 0, in, count, type, left, tag, W, q);
    else if (!strcmp(kind, "Isendrecv_c"))
        MPI_Isendrecv_c(out, 4, MPI_INT, right, 0, in, count, type, left, tag, W, q);
    else if (!strcmp(kind, "Isendrecv gaps"))
        MPI_Isendrecv(out, 2, gaps, right, 0, in, is("count") ? 1 : 2, gaps, left, tag, W, q);
    else if (!strcmp(kind, "Isendrecv_replace"))
        MPI_Isendrecv_replace(written = out, is("count") ? 2 + rank : 4, MPI_INT, right, 0, left,
                              tag, W, q);
    if (is("written"))
        written[2] = 777;
    if (is("changed"))
        out[2] = 777;
    MPI_Type_free(&gaps);
}

static void complete(void)
{
    int flag = 0, some = 0, places[2];
    if (!strcmp(way, "Wait"))
        for (int i = 0; i < 1 + (q[1] != MPI_REQUEST_NULL); i++)
            MPI_Wait(q + i, s);
    else if (!strcmp(way, "Test"))
        for (int i = 0; i < 2; i++)
            do
                MPI_Test(q + i, &flag, s);
            while (!flag);
    else if (!strcmp(way, "Waitany"))
        do
            MPI_Waitany(2, q, &some, s);
        while (some != MPI_UNDEFINED);
    else if (!strcmp(way, "Testany"))
        do
            MPI_Testany(2, q, &some, &flag, s);
        while (!flag || some != MPI_UNDEFINED);
    else if (!strcmp(way, "Waitsome"))
        do
            MPI_Waitsome(2, q, &some, places, s);
        while (some != MPI_UNDEFINED);
    else if (!strcmp(way, "Testsome"))
        do
            MPI_Testsome(2, q, &some, places, s);
        while (some != MPI_UNDEFINED);
    else if (!strcmp(way, "Waitall"))
        MPI_Waitall(2, q, s);
    else
        while (!flag)
            MPI_Testall(2, q, &flag, s);
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(W, &rank);
    MPI_Comm_size(W, &size);
    kind = argv[1], mistake = argv[2], way = argv[3];
    for (int i = 0; i < 16; i++)
        out[i] = 100 * rank + i;
    collective(size, rank == size - 1);
    message(rank, size);
    complete();
    if (q[0] != MPI_REQUEST_NULL)
        MPI_Request_free(q);
    MPI_Finalize();
    return 0;
}
