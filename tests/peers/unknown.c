/* Messages whose number, sizes and senders nobody knows before: probes, an end found by Ibarrier
 * (the nonblocking consensus). ranks: 1 2 3 5 16 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned state;

static unsigned draw(void)
{
    return (state = state * 1103515245u + 12345u) >> 16;
}

/* Everybody sends to a few, and learns who sent to it. */
static void exchange(int rank, int size, int round, long *sum, int *count)
{
    enum { MOST = 8 };
    MPI_Request sends[MOST], barrier = MPI_REQUEST_NULL;
    int *texts[MOST], n = (int)(draw() % MOST), entered = 0, over = 0;
    for (int i = 0; i < n; i++) {
        int length = (int)(draw() % 2000), to = (int)(draw() % (unsigned)size);
        texts[i] = malloc((size_t)(length + 1) * sizeof(int));
        for (int k = 0; k < length; k++)
            texts[i][k] = rank + k;
        MPI_Issend(texts[i], length, MPI_INT, to, round, MPI_COMM_WORLD, &sends[i]);
    }
    while (!over) {
        int there;
        MPI_Status status;
        MPI_Iprobe(MPI_ANY_SOURCE, round, MPI_COMM_WORLD, &there, &status);
        if (there) {
            int length;
            MPI_Get_count(&status, MPI_INT, &length);
            int *text = malloc((size_t)(length + 1) * sizeof *text);
            MPI_Recv(text, length, MPI_INT, status.MPI_SOURCE, round, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
            for (int k = 0; k < length; k++)
                *sum += text[k];
            *count += 1;
            free(text);
        }
        if (entered) {
            MPI_Test(&barrier, &over, MPI_STATUS_IGNORE);
        } else {
            int sent;
            MPI_Testall(n, sends, &sent, MPI_STATUSES_IGNORE);
            if (sent) {
                MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
                entered = 1;
            }
        }
    }
    for (int i = 0; i < n; i++)
        free(texts[i]);
}

/* The same by matched probes, which threads could share. */
static long matched(int rank, int size)
{
    int next = (rank + 1) % size, length;
    double values[300];
    long sum = 0;
    MPI_Request request;
    for (int i = 0; i < 300; i++)
        values[i] = rank + i;
    MPI_Isend(values, 10 + 20 * rank, MPI_DOUBLE, next, 77, MPI_COMM_WORLD, &request);
    MPI_Message message;
    MPI_Status status;
    MPI_Mprobe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &message, &status);
    MPI_Get_count(&status, MPI_DOUBLE, &length);
    double *got = malloc((size_t)(length + 1) * sizeof *got);
    MPI_Mrecv(got, length, MPI_DOUBLE, &message, &status);
    for (int i = 0; i < length; i++)
        sum += (long)got[i];
    free(got);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return sum * 1000 + length + (message == MPI_MESSAGE_NULL);
}

int main(int argc, char **argv)
{
    int rank, size, count = 0;
    long sum = 0, all[64][2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    state = 17u * (unsigned)rank + 3;
    for (int round = 0; round < 10; round++)
        exchange(rank, size, round, &sum, &count);
    long mine[2] = {sum * 100 + count, matched(rank, size)};
    MPI_Gather(mine, 2, MPI_LONG, all, 2, MPI_LONG, 0, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < size; i++)
        printf("= rank %d: %ld %ld\n", i, all[i][0], all[i][1]);
    MPI_Finalize();
    return 0;
}
