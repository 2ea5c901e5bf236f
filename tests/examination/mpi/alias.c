#include <mpi.h>
#include <stdio.h>
int R, S;
static void say(const char *n, int e)
{
    int c = 0;
    if (e)
        MPI_Error_class(e, &c);
    if (!R)
        printf("%-14s %s\n", n,
               e ? (c == MPI_ERR_BUFFER ? "MPI_ERR_BUFFER" : "error") : "not noticed");
}
int main(int c, char **v)
{
    MPI_Init(&c, &v);
    MPI_Comm w = MPI_COMM_WORLD;
    MPI_Comm_rank(w, &R);
    MPI_Comm_size(w, &S);
    MPI_Comm_set_errhandler(w, MPI_ERRORS_RETURN);
    int b[64] = {0}, n[8], d[8];
    MPI_Datatype t[8];
    for (int i = 0; i < 8; i++) {
        n[i] = 1;
        d[i] = i;
        t[i] = MPI_INT;
    }
    say("Gather", MPI_Gather(b, 1, MPI_INT, b, 1, MPI_INT, 0, w));
    say("Gatherv", MPI_Gatherv(b, 1, MPI_INT, b, n, d, MPI_INT, 0, w));
    say("Scatter", MPI_Scatter(b, 1, MPI_INT, b, 1, MPI_INT, 0, w));
    say("Scatterv", MPI_Scatterv(b, n, d, MPI_INT, b, 1, MPI_INT, 0, w));
    say("Allgather", MPI_Allgather(b, 1, MPI_INT, b, 1, MPI_INT, w));
    say("Alltoall", MPI_Alltoall(b, 1, MPI_INT, b, 1, MPI_INT, w));
    say("Allreduce", MPI_Allreduce(b, b, 1, MPI_INT, MPI_SUM, w));
    say("Scan", MPI_Scan(b, b, 1, MPI_INT, MPI_SUM, w));
    say("Red_scat_blk", MPI_Reduce_scatter_block(b, b, 1, MPI_INT, MPI_SUM, w));
    say("Reduce", MPI_Reduce(b, b, 1, MPI_INT, MPI_SUM, 0, w));
    MPI_Finalize();
}
