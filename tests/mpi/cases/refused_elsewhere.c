/* A nonblocking collective that is refused, for it is given no request, meets nobody: not the call of that kind in which its peers stand
 * on another communicator. The wrong argument is what is told.
 *
 * CASE 2 barrier : 1 M009 ~ MPI_Ibarrier: MPI_ERR_ARG
 * CASE 2 bcast : 1 M009 ~ MPI_Ibcast: MPI_ERR_ARG
 * CASE 3 allreduce : 1 M009 ~ MPI_Iallreduce: MPI_ERR_ARG
 * CASE 2 gather : 1 M009 ~ MPI_Igather: MPI_ERR_ARG
 * CASE 2 alltoall : 1 M009 ~ MPI_Ialltoall: MPI_ERR_ARG
 * CASE 3 scan : 1 M009 ~ MPI_Iscan: MPI_ERR_ARG
 * CASE 2 barrier kept : 0
 * CASE 3 allreduce kept : 0
 * CASE 3 scan kept : 0
 */
#include <mpi.h>
#include <string.h>

static int rank, x[8], y[8];

/* The collective of that name; `request` may be NULL. */
static void start(const char *word, MPI_Comm comm, MPI_Request *request)
{
    if (!strcmp(word, "barrier"))
        MPI_Ibarrier(comm, request);
    if (!strcmp(word, "bcast"))
        MPI_Ibcast(x, 1, MPI_INT, 0, comm, request);
    if (!strcmp(word, "allreduce"))
        MPI_Iallreduce(x, y, 1, MPI_INT, MPI_SUM, comm, request);
    if (!strcmp(word, "gather"))
        MPI_Igather(x, 1, MPI_INT, y, 1, MPI_INT, 0, comm, request);
    if (!strcmp(word, "alltoall"))
        MPI_Ialltoall(x, 1, MPI_INT, y, 1, MPI_INT, comm, request);
    if (!strcmp(word, "scan"))
        MPI_Iscan(x, y, 1, MPI_INT, MPI_SUM, comm, request);
}

static void take_part(const char *word, MPI_Comm comm)
{
    MPI_Request request;
    start(word, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Comm aside;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &aside);
    if (rank == 0) {
        MPI_Recv(x, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (argc == 2)
            start(argv[1], aside, NULL);
    } else if (rank == 1) {
        MPI_Send(x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
    take_part(argv[1], MPI_COMM_WORLD);
    take_part(argv[1], aside);
    MPI_Comm_free(&aside);
    MPI_Finalize();
}
