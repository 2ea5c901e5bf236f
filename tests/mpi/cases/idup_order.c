/* Nonblocking duplicates of two communicators with the same members, begun in another order by every second rank. On different
 * communicators that is right, and each member's copy is a copy of the same one. Between groups, within them, and of copies.
 *
 * CASE 4 inter : 0
 * CASE 6 inter : 0
 * CASE 4 intra : 0
 * CASE 4 deep : 0
 * CASE 4 inter missing : 1 D001 ~ a partner never comes
 * CASE 4 intra missing : 1 D001 ~ a partner never comes
 */
#include <mpi.h>
#include <string.h>

int main(int argc, char **argv)
{
    int rank, value = 1, sum;
    MPI_Comm side, of[2], copy[2];
    MPI_Request requests[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &side);
    if (strcmp(argv[1], "intra") == 0)
        MPI_Comm_dup(side, &of[0]);
    else
        MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, 1 - rank % 2, 5, &of[0]);
    MPI_Comm_dup(of[0], &of[1]);
    for (int level = strcmp(argv[1], "deep") == 0 ? 0 : 1; level < 2; level++) {
        int first = rank / 2 % 2;
        MPI_Comm_idup(of[first], &copy[first], &requests[0]);
        MPI_Comm_idup(of[1 - first], &copy[1 - first], &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        MPI_Comm_free(&of[0]);
        MPI_Comm_free(&of[1]);
        memcpy(of, copy, sizeof of);
    }
    requests[0] = MPI_REQUEST_NULL;
    if (argc < 3 || rank)
        MPI_Iallreduce(&value, &sum, 1, MPI_INT, MPI_SUM, of[0], &requests[0]);
    MPI_Ibarrier(of[1], &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Comm_free(&of[0]);
    MPI_Comm_free(&of[1]);
    MPI_Comm_free(&side);
    MPI_Finalize();
    return 0;
}
