/* Rank 0 receives from anybody; then its thread tells rank 2 to send, which it receives from
 * anybody, too. Only the first message can come first, since the thread speaks when the first
 * receive is over: join    it is started then lock    it runs from the beginning and waits for a
 * condition race    nothing: rank 2 sends at once */
#include <mpi.h>
#include <pthread.h>
#include <string.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int told;

static void *speak(void *unused)
{
    int word = 1;
    (void)unused;
    pthread_mutex_lock(&mutex);
    while (!told)
        pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
    MPI_Send(&word, 1, MPI_INT, 2, 5, MPI_COMM_WORLD);
    return NULL;
}

static void tell(void)
{
    pthread_mutex_lock(&mutex);
    told = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
}

static void receive(void)
{
    int value;
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void listen(const char *how)
{
    pthread_t speaker;
    if (!strcmp(how, "lock"))
        pthread_create(&speaker, NULL, speak, NULL);
    receive();
    tell();
    if (strcmp(how, "lock") != 0)
        pthread_create(&speaker, NULL, speak, NULL);
    receive();
    pthread_join(speaker, NULL);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "join";
    int provided, rank, value = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        listen(how);
    if (rank == 1)
        MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    if (rank == 2 && !strcmp(how, "race")) {
        MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        MPI_Recv(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 2) {
        MPI_Recv(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
