/* One call that waits until the attached buffer is empty, one way to send by the buffer, and one mistake or none: see detach.t. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#define W MPI_COMM_WORLD

static char room[4096];
static int out[4], in[4];

static void send_buffered(const char *how, int tag)
{
    MPI_Request request;
    if (!strcmp(how, "Bsend")) {
        MPI_Bsend(out, 4, MPI_INT, 1, tag, W); /* buffered */
    } else if (!strcmp(how, "Ibsend")) {
        MPI_Ibsend(out, 4, MPI_INT, 1, tag, W, &request); /* buffered */
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Bsend_init(out, 4, MPI_INT, 1, tag, W, &request);
        MPI_Start(&request); /* buffered */
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);
    }
}

static void wait_until_empty(const char *call)
{
    void *at;
    int size;
    MPI_Count wide;
    if (!strcmp(call, "detach"))
        MPI_Buffer_detach(&at, &size); /* empty */
    else if (!strcmp(call, "detach_c"))
        MPI_Buffer_detach_c(&at, &wide); /* empty */
    else
        MPI_Buffer_flush(); /* empty */
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(W, &rank);
    const char *call = argv[1], *how = argv[2], *mistake = argv[3];
    MPI_Buffer_attach(room, sizeof room);
    if (rank == 0) {
        send_buffered(how, 4);
        send_buffered(how, 5);
        if (!strcmp(mistake, "answer"))
            MPI_Recv(in, 4, MPI_INT, 1, 6, W, MPI_STATUS_IGNORE);
        wait_until_empty(call);
        MPI_Send(out, 4, MPI_INT, 1, 6, W);
    } else {
        MPI_Recv(in, 4, MPI_INT, 0, 4, W, MPI_STATUS_IGNORE);
        if (!strcmp(mistake, "answer"))
            MPI_Send(out, 4, MPI_INT, 0, 6, W);
        if (!strcmp(mistake, "late")) /* what is sent after the wait comes first */
            MPI_Recv(in, 4, MPI_INT, 0, 6, W, MPI_STATUS_IGNORE);
        if (!strcmp(mistake, "tag"))
            MPI_Recv(in, 4, MPI_INT, 0, 7, W, MPI_STATUS_IGNORE);
        else if (strcmp(mistake, "never"))
            MPI_Recv(in, 4, MPI_INT, 0, 5, W, MPI_STATUS_IGNORE);
        if (strcmp(mistake, "never") && strcmp(mistake, "late"))
            MPI_Recv(in, 4, MPI_INT, 0, 6, W, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
