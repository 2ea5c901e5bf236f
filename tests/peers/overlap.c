/* Nonblocking collectives under way together, overlapped with messages and computation, completed
 * in another order than started. ranks: 1 2 3 5 16 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 1000 };

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double *x = malloc(N * sizeof *x), *sum = malloc(N * sizeof *sum),
           *root = malloc(N * sizeof *root);
    int *all = malloc((size_t)size * sizeof *all), *mine = malloc((size_t)size * sizeof *mine),
        *theirs = malloc((size_t)size * sizeof *theirs), scan = -1, exscan = -1,
        mine_one = rank * rank;
    for (int i = 0; i < N; i++)
        x[i] = i % 10 + rank;
    for (int i = 0; i < N; i++)
        root[i] = rank == size - 1 ? i : -1;
    for (int i = 0; i < size; i++)
        mine[i] = 100 * rank + i;
    MPI_Request requests[7], message[2];
    MPI_Iallreduce(x, sum, N, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
    MPI_Ibcast(root, N, MPI_DOUBLE, size - 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Iallgather(&mine_one, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD, &requests[2]);
    int token = rank, got = -1;
    MPI_Irecv(&got, 1, MPI_INT, (rank + 1) % size, 3, MPI_COMM_WORLD, &message[0]);
    MPI_Ialltoall(mine, 1, MPI_INT, theirs, 1, MPI_INT, MPI_COMM_WORLD, &requests[3]);
    MPI_Iscan(&rank, &scan, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[4]);
    MPI_Iexscan(&rank, &exscan, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[5]);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[6]);
    MPI_Isend(&token, 1, MPI_INT, (rank + size - 1) % size, 3, MPI_COMM_WORLD, &message[1]);
    double busy = 0;
    for (int i = 1; i < 10000; i++)
        busy += 1.0 / i;
    MPI_Waitall(2, message, MPI_STATUSES_IGNORE);
    MPI_Wait(&requests[6], MPI_STATUS_IGNORE);
    for (int i = 5; i >= 0; i--) {
        int done = 0;
        while (!done)
            MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE);
    }
    double total = 0, total_root = 0;
    for (int i = 0; i < N; i++)
        total += sum[i] * (i + 1), total_root += root[i];
    int line[6] = {got, all[size / 2], theirs[0], theirs[size - 1], scan, rank ? exscan : 0},
        lines[16 * 6];
    MPI_Gather(line, 6, MPI_INT, lines, 6, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("= %.17g %.17g %.10f\n", total, total_root, busy);
    for (int i = 0; rank == 0 && i < size; i++) {
        printf("= rank %d:", i);
        for (int k = 0; k < 6; k++)
            printf(" %d", lines[6 * i + k]);
        printf("\n");
    }
    free(x), free(sum), free(root), free(all), free(mine), free(theirs);
    MPI_Finalize();
    return 0;
}
