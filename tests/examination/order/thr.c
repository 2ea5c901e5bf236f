#include <diff.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
static int got[2];
static void *w(void *p)
{
    int i = *(int *)p;
    MPI_Recv(&got[i], 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return 0;
}
int main(int argc, char **argv)
{
    int p;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &p);
    int r;
    MPI_Comm_rank(MPI_COMM_WORLD, &r);
    if (r == 0) {
        pthread_t t[2];
        int id[2] = {0, 1};
        for (int i = 0; i < 2; i++)
            pthread_create(&t[i], 0, w, &id[i]);
        for (int i = 0; i < 2; i++)
            pthread_join(t[i], 0);
        printf("%d %d\n", got[0], got[1]);
        diff_mark_objective(got[0] * 10 + got[1]);
    } else {
        int v = 1;
        MPI_Send(&v, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        v = 2;
        MPI_Send(&v, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
