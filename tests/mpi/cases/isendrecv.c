/* Isendrecv and Isendrecv_replace are two starts of one request, and are judged like them.
 *
 * CASE 2 right : 0
 * CASE 2 any : 0
 * CASE 2 some : 0
 * CASE 2 test : 0
 * CASE 2 replace : 0
 * CASE 2 large : 0
 * CASE 2 unwaited : 1 X006 ~ finalized with an operation pending: Isendrecv at
 * CASE 2 overlap : 1 B002 ~ Isendrecv writes the receive buffer of a pending Isendrecv
 * CASE 2 written : 1 B001
 * CASE 2 type : 1 M008 ~ a message of int is received as float: Isendrecv
 * CASE 2 unsafe : 1 D003
 * CASE 2 hang : 1 D001 ~ Wait
 * CASE 2 null : 0 L009
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static const char *word;

static int is(const char *name)
{
    return strcmp(word, name) == 0;
}

static void wait(MPI_Request *request)
{
    int index = 0, done = 0;
    MPI_Status status;
    if (is("any"))
        MPI_Waitany(1, request, &index, &status);
    else if (is("some"))
        MPI_Waitsome(1, request, &done, &index, &status);
    else if (is("test"))
        while (!done)
            MPI_Test(request, &done, &status);
    else
        MPI_Wait(request, &status);
}

static void exchange(int rank)
{
    int peer = 1 - rank, out = rank, in = -1;
    float other;
    MPI_Request request;
    if (is("replace"))
        MPI_Isendrecv_replace(&out, 1, MPI_INT, peer, 0, peer, 0, MPI_COMM_WORLD, &request);
    else if (is("large"))
        MPI_Isendrecv_c(&out, 1, MPI_INT, peer, 0, &in, 1, MPI_INT, peer, 0, MPI_COMM_WORLD,
                        &request);
    else if (is("type"))
        MPI_Isendrecv(&out, 1, MPI_INT, peer, 0, &other, 1, MPI_FLOAT, peer, 0, MPI_COMM_WORLD,
                      &request);
    else if (is("hang"))
        MPI_Isendrecv(&out, 1, MPI_INT, peer, 0, &in, 1, MPI_INT, peer, 1, MPI_COMM_WORLD,
                      &request);
    else
        MPI_Isendrecv(&out, 1, MPI_INT, peer, 0, &in, 1, MPI_INT, peer, 0, MPI_COMM_WORLD,
                      &request);
    if (is("written"))
        out = 99;
    if (is("unwaited"))
        return;
    wait(&request);
    if (is("null"))
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (!is("type") && (is("replace") ? out : in) != peer)
        exit(3);
}

int main(int argc, char **argv)
{
    int rank, one = 1, in[2];
    MPI_Request pair[2];
    MPI_Init(&argc, &argv);
    word = argv[1];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (is("overlap")) {
        for (int i = 0; i < 2; i++)
            MPI_Isendrecv(&one, 1, MPI_INT, 1 - rank, i, in, 1, MPI_INT, 1 - rank, i,
                          MPI_COMM_WORLD, &pair[i]);
        MPI_Waitall(2, pair, MPI_STATUSES_IGNORE);
    } else if (is("unsafe")) {
        MPI_Send(&one, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD);
        MPI_Isendrecv(&one, 1, MPI_INT, MPI_PROC_NULL, 0, in, 1, MPI_INT, 1 - rank, 0,
                      MPI_COMM_WORLD, pair);
        MPI_Wait(pair, MPI_STATUS_IGNORE);
    } else {
        exchange(rank);
    }
    MPI_Finalize();
}
