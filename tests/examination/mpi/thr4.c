#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
/* rank 0: two threads send, rank 1: two threads receive, one tag: any of the two receives takes any message */
static int r;
static int bad;
static void *run(void *p)
{
    int me = (int)(long)p, x;
    for (int i = 0; i < 200; i++)
        if (r == 0) {
            x = i;
            MPI_Send(&x, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        } else {
            MPI_Message m;
            MPI_Status s;
            MPI_Mprobe(0, 0, MPI_COMM_WORLD, &m, &s);
            MPI_Request q;
            MPI_Imrecv(&x, 1, MPI_INT, &m, &q);
            MPI_Wait(&q, &s);
        }
    return 0;
}
int main(int c, char **v)
{
    int pr;
    MPI_Init_thread(&c, &v, MPI_THREAD_MULTIPLE, &pr);
    MPI_Comm_rank(MPI_COMM_WORLD, &r);
    pthread_t t;
    pthread_create(&t, 0, run, (void *)1);
    run((void *)0);
    pthread_join(t, 0);
    if (bad)
        printf("wrong\n");
    MPI_Finalize();
}
