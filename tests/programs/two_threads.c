/* Two threads of every rank pass numbers round, each with its own tag, both blocked much of the
 * time. With "stuck" both wait for what nobody sends, with
 * "joined" one of them while the other joins it; with "turns" one goes after the other, as
 * MPI_THREAD_SERIALIZED asks. Says "round" when all is well. */
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int rank, size, wrong;

static void *pass_round(void *argument)
{
    int tag = (int)(intptr_t)argument, got = -1;
    for (int i = 0; i < 200; i++) {
        MPI_Request request;
        MPI_Isend(&i, 1, MPI_INT, (rank + 1) % size, tag, MPI_COMM_WORLD, &request);
        MPI_Recv(&got, 1, MPI_INT, (rank + size - 1) % size, tag, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        wrong += got != i;
    }
    return NULL;
}

static void *wait_for_nothing(void *argument)
{
    MPI_Recv(argument, 1, MPI_INT, (rank + 1) % size, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided, never = 0;
    pthread_t thread;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int joined = argc > 1 && !strcmp(argv[1], "joined");
    int stuck = argc > 1 && !strcmp(argv[1], "stuck"),
        turns = argc > 1 && !strcmp(argv[1], "turns");
    if (stuck || joined)
        pthread_create(&thread, NULL, wait_for_nothing, &never);
    else
        pthread_create(&thread, NULL, pass_round, (void *)1);
    if (turns || joined)
        pthread_join(thread, NULL);
    pass_round((void *)2);
    if (stuck)
        MPI_Recv(&never, 1, MPI_INT, rank, 78, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!turns)
        pthread_join(thread, NULL);
    if (!wrong)
        printf("round\n");
    MPI_Finalize();
    return wrong != 0;
}
