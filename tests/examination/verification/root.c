#include <mpi.h>
#include <string.h>
int main(int c, char **v)
{
    int x[4] = {0}, y[4];
    MPI_Request q;
    MPI_Init(&c, &v);
    MPI_Comm w = MPI_COMM_WORLD;
    MPI_Datatype I = MPI_INT;
    char *k = v[1];
    if (!strcmp(k, "Bcast"))
        MPI_Bcast(x, 1, I, 7, w);
    if (!strcmp(k, "Ibcast"))
        MPI_Ibcast(x, 1, I, 7, w, &q);
    if (!strcmp(k, "Reduce"))
        MPI_Reduce(x, y, 1, I, MPI_SUM, 7, w);
    if (!strcmp(k, "Ireduce"))
        MPI_Ireduce(x, y, 1, I, MPI_SUM, 7, w, &q);
    if (!strcmp(k, "Gather"))
        MPI_Gather(x, 1, I, y, 1, I, 7, w);
    if (!strcmp(k, "Igather"))
        MPI_Igather(x, 1, I, y, 1, I, 7, w, &q);
    if (!strcmp(k, "Scatter"))
        MPI_Scatter(x, 1, I, y, 1, I, 7, w);
    if (!strcmp(k, "Iscatter"))
        MPI_Iscatter(x, 1, I, y, 1, I, 7, w, &q);
    MPI_Finalize();
}
