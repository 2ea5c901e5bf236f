/* A ring of persistent requests: sum passed round, buffers swapped, one request freed while the
 * other goes on; Startall, Testall, Waitsome. ranks: 1 2 3 5 16 */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    long out = rank, in = -1, sum = rank;
    MPI_Request ring[2];
    MPI_Send_init(&out, 1, MPI_LONG, right, 5, MPI_COMM_WORLD, &ring[0]);
    MPI_Recv_init(&in, 1, MPI_LONG, left, 5, MPI_COMM_WORLD, &ring[1]);
    for (int step = 0; step < size - 1; step++) {
        MPI_Startall(2, ring);
        int done = 0;
        while (!done)
            MPI_Testall(2, ring, &done, MPI_STATUSES_IGNORE);
        sum += in;
        out = in;
    }
    long expected = (long)size * (size - 1) / 2, wrong = sum != expected, all_wrong;
    MPI_Reduce(&wrong, &all_wrong, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);

    /* Completion in any order, in portions. */
    long got[4] = {0};
    MPI_Request many[8];
    for (int i = 0; i < 4; i++) {
        MPI_Recv_init(&got[i], 1, MPI_LONG, left, 10 + i, MPI_COMM_WORLD, &many[i]);
        MPI_Ssend_init(&out, 1, MPI_LONG, right, 13 - i, MPI_COMM_WORLD, &many[4 + i]);
    }
    int portions = 0, finished = 0, last = 0;
    for (int round = 0; round < 3; round++) {
        out = 1000 * round + rank;
        MPI_Startall(8, many);
        for (finished = 0;;) {
            int count, indices[8];
            MPI_Status statuses[8];
            MPI_Waitsome(8, many, &count, indices, statuses);
            if (count == MPI_UNDEFINED)
                break;
            for (int i = 0; i < count; i++)
                last += indices[i] < 4 ? statuses[i].MPI_TAG - 10 - indices[i] : 0;
            finished += count;
            portions++;
        }
    }
    for (int i = 0; i < 8; i++)
        MPI_Request_free(&many[i]);
    for (int i = 0; i < 2; i++)
        MPI_Request_free(&ring[i]);
    int null = many[0] == MPI_REQUEST_NULL && ring[1] == MPI_REQUEST_NULL;
    long mine[6] = {sum, got[0], got[3], finished, last, null + (portions > 2)}, all[16 * 6];
    MPI_Gather(mine, 6, MPI_LONG, all, 6, MPI_LONG, 0, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < size; i++)
        printf("= rank %d: %ld, %ld %ld, %ld %ld %ld\n", i, all[6 * i], all[6 * i + 1],
               all[6 * i + 2], all[6 * i + 3], all[6 * i + 4], all[6 * i + 5]);
    if (rank == 0)
        printf("= wrong %ld\n", all_wrong);
    MPI_Finalize();
    return 0;
}
