#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
/* two threads a rank, each makes communicators of its own (by tag), synchronises on them and frees them */
static MPI_Group g, h;
static int rk, n;
static void *run(void *p)
{
    int me = (int)(long)p;
    for (int i = 0; i < 8; i++) {
        MPI_Comm k;
        if (rk <= n / 2) {
            MPI_Comm_create_group(MPI_COMM_WORLD, h, me, &k);
            MPI_Barrier(k);
            MPI_Comm_free(&k);
        }
        MPI_Comm_create_group(MPI_COMM_WORLD, g, me, &k);
        MPI_Barrier(k);
        MPI_Comm_free(&k);
    }
    return 0;
}
int main(int c, char **v)
{
    int pr;
    MPI_Init_thread(&c, &v, MPI_THREAD_MULTIPLE, &pr);
    MPI_Comm_group(MPI_COMM_WORLD, &g);
    MPI_Comm_rank(MPI_COMM_WORLD, &rk);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    int rg[1][3] = {{0, n / 2, 1}};
    MPI_Group_range_incl(g, 1, rg, &h);
    pthread_t t[3];
    for (long i = 0; i < 1; i++)
        pthread_create(&t[i], 0, run, (void *)(i + 1));
    run((void *)0);
    for (int i = 0; i < 1; i++)
        pthread_join(t[i], 0);
    MPI_Group_free(&g);
    MPI_Group_free(&h);
    MPI_Finalize();
}
