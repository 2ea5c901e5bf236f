/* Loss and gradients through every operation of process groups as an MPI program: prints them on
 * rank 0 in rank order, so that simrun, Open MPI and MPICH can be compared. */
#include "process_group_body.h"

#include <mpi.h>
#include <stdio.h>

static void tell(const char *name, bool plain)
{
    double mine[1 + BODY_VALUES], all[(1 + BODY_VALUES) * BODY_RANKS_MAX];
    const char *trouble;
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    struct data_channel *channel = data_channel_mpi(MPI_COMM_WORLD);
    mine[0] = process_group_body(channel, plain, NULL, mine + 1, &trouble);
    data_channel_free(channel);
    if (trouble)
        printf("= %s: rank %d: %s\n", name, rank, trouble);
    MPI_Gather(mine, 1 + BODY_VALUES, MPI_DOUBLE, all, 1 + BODY_VALUES, MPI_DOUBLE, 0,
               MPI_COMM_WORLD);
    for (int r = 0; rank == 0 && r < size; r++) {
        const double *of = &all[r * (1 + BODY_VALUES)];
        printf("= %s: rank %d of %d: loss %.9g gradient", name, r, size, of[0]);
        for (int i = 1; i <= BODY_VALUES; i++)
            printf(" %.9g", of[i]);
        printf("\n");
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    tell("by MPI", false);
    tell("by channels", true);
    MPI_Finalize();
    return 0;
}
