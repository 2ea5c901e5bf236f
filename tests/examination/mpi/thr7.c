#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>
/* T threads a rank; thread t of every rank: barrier on a communicator of ranks 0..1 (only they), then barrier on one of all ranks. Threads never share a communicator. */
static MPI_Comm half[8][64], full[8][64];
static int rk, T, N;
static void *run(void *p)
{
    int t = (int)(long)p;
    for (int i = 0; i < N; i++) {
        if (rk < 2)
            MPI_Barrier(half[t][i]);
        MPI_Barrier(full[t][i]);
    }
    return 0;
}
int main(int c, char **v)
{
    int pr;
    T = atoi(v[1]);
    N = atoi(v[2]);
    MPI_Init_thread(&c, &v, MPI_THREAD_MULTIPLE, &pr);
    MPI_Comm_rank(MPI_COMM_WORLD, &rk);
    for (int t = 0; t < T; t++)
        for (int i = 0; i < N; i++) {
            MPI_Comm_split(MPI_COMM_WORLD, rk < 2 ? 0 : MPI_UNDEFINED, 0, &half[t][i]);
            MPI_Comm_dup(MPI_COMM_WORLD, &full[t][i]);
        }
    pthread_t h[8];
    for (long t = 1; t < T; t++)
        pthread_create(&h[t], 0, run, (void *)t);
    run((void *)0);
    for (int t = 1; t < T; t++)
        pthread_join(h[t], 0);
    for (int t = 0; t < T; t++)
        for (int i = 0; i < N; i++) {
            if (rk < 2)
                MPI_Comm_free(&half[t][i]);
            MPI_Comm_free(&full[t][i]);
        }
    MPI_Finalize();
}
