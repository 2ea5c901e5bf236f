#include <mpi.h>
#include <string.h>
/* per-rank datatype of equal size in a v-collective (int on even, float on odd ranks) */
int main(int c, char **v)
{
    int r, n, x[8] = {0}, y[8], cn[8], dp[8];
    MPI_Request q;
    MPI_Datatype ty[8];
    MPI_Init(&c, &v);
    MPI_Comm w = MPI_COMM_WORLD;
    MPI_Comm_rank(w, &r);
    MPI_Comm_size(w, &n);
    char *k = v[1];
    MPI_Datatype T = r % 2 ? MPI_FLOAT : MPI_INT;
    for (int i = 0; i < n; i++) {
        cn[i] = 1;
        dp[i] = i;
        ty[i] = T;
    }
    if (!strcmp(k, "allgather"))
        MPI_Allgather(x, 1, T, y, 1, T, w);
    if (!strcmp(k, "allgatherv"))
        MPI_Allgatherv(x, 1, T, y, cn, dp, T, w);
    if (!strcmp(k, "gatherv"))
        MPI_Gatherv(x, 1, T, y, cn, dp, T, 0, w);
    if (!strcmp(k, "scatterv"))
        MPI_Scatterv(x, cn, dp, T, y, 1, T, 0, w);
    if (!strcmp(k, "alltoallv"))
        MPI_Alltoallv(x, cn, dp, T, y, cn, dp, T, w);
    if (!strcmp(k, "alltoallw")) {
        for (int i = 0; i < n; i++)
            dp[i] *= 4;
        MPI_Alltoallw(x, cn, dp, ty, y, cn, dp, ty, w);
    }
    if (!strcmp(k, "iallgatherv")) {
        MPI_Iallgatherv(x, 1, T, y, cn, dp, T, w, &q);
        MPI_Wait(&q, MPI_STATUS_IGNORE);
    }
    if (!strcmp(k, "reduce_scatter")) {
        MPI_Reduce_scatter(x, y, cn, T, MPI_SUM, w);
    }
    if (!strcmp(k, "gather"))
        MPI_Gather(x, 1, T, y, 1, T, 0, w);
    if (!strcmp(k, "scatter"))
        MPI_Scatter(x, 1, T, y, 1, T, 0, w);
    if (!strcmp(k, "alltoall"))
        MPI_Alltoall(x, 1, T, y, 1, T, w);
    MPI_Finalize();
}
