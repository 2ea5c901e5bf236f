#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* word 1: collective, word 2: s(end buffer) or r(eceive buffer) written by rank w between start and wait */
int main(int c, char **v)
{
    int r, n, S[8] = {1, 2, 3, 4, 5, 6, 7, 8}, R[8] = {0};
    int cn[8], dp[8];
    MPI_Request q;
    MPI_Init(&c, &v);
    MPI_Comm_rank(MPI_COMM_WORLD, &r);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    for (int i = 0; i < n; i++) {
        cn[i] = 1;
        dp[i] = i;
    }
    char *k = v[1];
    MPI_Comm w = MPI_COMM_WORLD;
    int root = 0;
    MPI_Datatype I = MPI_INT;
    if (!strcmp(k, "bcast"))
        MPI_Ibcast(R, 1, I, root, w, &q);
    if (!strcmp(k, "allreduce"))
        MPI_Iallreduce(S, R, 1, I, MPI_SUM, w, &q);
    if (!strcmp(k, "reduce"))
        MPI_Ireduce(S, R, 1, I, MPI_SUM, root, w, &q);
    if (!strcmp(k, "scan"))
        MPI_Iscan(S, R, 1, I, MPI_SUM, w, &q);
    if (!strcmp(k, "exscan"))
        MPI_Iexscan(S, R, 1, I, MPI_SUM, w, &q);
    if (!strcmp(k, "gather"))
        MPI_Igather(S, 1, I, R, 1, I, root, w, &q);
    if (!strcmp(k, "scatter"))
        MPI_Iscatter(S, 1, I, R, 1, I, root, w, &q);
    if (!strcmp(k, "allgather"))
        MPI_Iallgather(S, 1, I, R, 1, I, w, &q);
    if (!strcmp(k, "allgatherv"))
        MPI_Iallgatherv(S, 1, I, R, cn, dp, I, w, &q);
    if (!strcmp(k, "alltoall"))
        MPI_Ialltoall(S, 1, I, R, 1, I, w, &q);
    if (!strcmp(k, "alltoallv"))
        MPI_Ialltoallv(S, cn, dp, I, R, cn, dp, I, w, &q);
    if (r == atoi(v[3])) {
        if (v[2][0] == 's')
            S[0] = 77;
        else
            R[0] = 77;
    }
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    MPI_Finalize();
}
