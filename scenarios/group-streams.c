/* about: collectives of two process groups, given to one stream of a device in each rank's own order
 * ranks: 2,4,18
 * options: --streams device
 * arguments: divergent
 * expect: D002
 * variant: same; arguments: same; expect: OK
 * variant: own-streams; options: --streams communicator; expect: OK
 *
 * Libraries of GPUs return at once; a stream runs what it was given in that order. MPI allows what happens here:
 * nobody waits before everything is started, and every progress model ends it. On one stream the first rank's
 * collective of the one group stands before that of the other group, on the other ranks behind it. With a stream for
 * each group it ends. */
#include <mpi.h>
#include <words.h>

enum { TENSOR, DATA, GROUPS };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    static const char *const names[GROUPS] = {"tensor", "data"};
    MPI_Comm groups[GROUPS];
    MPI_Request requests[GROUPS];
    float partial[GROUPS] = {1, 2}, whole[GROUPS];
    int rank, divergent = switch_alone(argc, argv, "order", "same", "divergent");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int group = TENSOR; group < GROUPS; group++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &groups[group]);
        MPI_Comm_set_name(groups[group], names[group]);
    }
    for (int i = 0; i < GROUPS; i++) {
        int group = divergent && rank == 0 ? GROUPS - 1 - i : i;
        MPI_Iallreduce(&partial[group], &whole[group], 1, MPI_FLOAT, MPI_SUM, groups[group],
                       &requests[group]);
    }
    MPI_Waitall(GROUPS, requests, MPI_STATUSES_IGNORE);
    for (int group = TENSOR; group < GROUPS; group++)
        MPI_Comm_free(&groups[group]);
    MPI_Finalize();
    return 0;
}
