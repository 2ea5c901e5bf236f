/* Run by tests/recorder/test_record_peers.c under a real MPI with the recorder preloaded, and by
 * the simulator: ranks that end in other ways than by returning from main with 0, and some that
 * only look like it. */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void cancel(void)
{
    int value;
    MPI_Request request;
    MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Processes that this one starts end in their own ways. */
static void start_others(void)
{
    if (fork() == 0)
        exit(3);
    if (fork() == 0) {
        raise(SIGSEGV);
        _exit(0);
    }
    wait(NULL);
    wait(NULL);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    int rank, value = 0;
    MPI_Errhandler handler;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
    if (handler != MPI_ERRORS_ARE_FATAL)
        return 9;
    MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(how, "cancel"))
        cancel();
    if (!strcmp(how, "fork"))
        start_others();
    if (rank == 1 && !strcmp(how, "abort"))
        MPI_Abort(MPI_COMM_WORLD, 7);
    if (rank == 1 && !strcmp(how, "exit"))
        exit(4);
    if (rank == 1 && !strcmp(how, "vanish"))
        _exit(6);
    if (rank == 1 && !strcmp(how, "crash"))
        *(volatile int *)8 = 1;
    if (rank == 1 && !strcmp(how, "argument"))
        MPI_Send(&value, -1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return rank == 1 && !strcmp(how, "late") ? 5 : 0;
}
