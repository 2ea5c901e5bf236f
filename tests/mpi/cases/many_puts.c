/* One variable is put 200,000 times in one epoch: reads of one buffer, which no two of are in each other's way. Where each is compared with
 * all before it, this does not end in time. A receive into it is found.
 *
 * CASE 2 right : 0
 * CASE 2 wrong : 1 B002 ~ writes the origin buffer of a pending Put
 */
#include <mpi.h>

int main(int argc, char **argv)
{
    enum { PUTS = 200000 };
    int rank, *base, value = 7, token = 0, other;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate(PUTS * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < PUTS && rank == 0; i++)
        MPI_Put(&value, 1, MPI_INT, 1, i, 1, MPI_INT, win);
    MPI_Sendrecv(&token, 1, MPI_INT, 1 - rank, 0, argv[1][0] == 'w' ? &value : &other, 1, MPI_INT,
                 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
