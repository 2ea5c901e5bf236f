/* Persistent collectives match in the order of their _init calls, whatever the order of their
 * starts (MPI-4, 6.13).
 *
 * CASE 2 start : 0
 * CASE 3 startall : 0
 * CASE 2 mixed : 0
 * CASE 2 kinds : 0
 * CASE 3 again : 0
 * CASE 2 made : 1 M001 ~ different collectives meet
 * CASE 2 unstarted : 1 D001 ~ it made 0 collective calls on persistent collective 2 of world
 * CASE 2 leak : 0 L001 ~ a persistent request is never freed at
 * CASE 2 freed : 0 L001 ~ its request was freed while it was under way: Isend
 * CASE 2 cancelled : 0
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *word;

static int is(const char *name)
{
    return strcmp(word, name) == 0;
}

static void demand(int right)
{
    if (!right)
        exit(3);
}

static MPI_Request sum(int *in, int *out)
{
    MPI_Request made;
    MPI_Allreduce_init(in, out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &made);
    return made;
}

static void two_sums(int rank, int size)
{
    int x = 1, y = 100, a = 0, b = 0, rounds = is("again") ? 3 : 1;
    MPI_Request pair[2] = {sum(&x, &a), sum(&y, &b)};
    for (int i = 0; i < rounds; i++) {
        int first = (rank + i) % 2;
        MPI_Request turned[2] = {pair[first], pair[1 - first]};
        if (is("startall"))
            MPI_Startall(2, turned);
        else if (MPI_Start(&turned[0]) == MPI_SUCCESS)
            MPI_Start(&turned[1]);
        MPI_Waitall(2, pair, MPI_STATUSES_IGNORE);
        demand(a == size && b == 100 * size);
    }
    MPI_Request_free(&pair[0]);
    MPI_Request_free(&pair[1]);
}

/* A persistent one and a nonblocking one, started in turn. */
static void mixed(int rank, int size)
{
    int x = 1, y = 100, a = 0, b = 0;
    MPI_Request kept = sum(&x, &a), once;
    if (rank == 0)
        MPI_Start(&kept);
    MPI_Iallreduce(&y, &b, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &once);
    if (rank)
        MPI_Start(&kept);
    MPI_Wait(&once, MPI_STATUS_IGNORE);
    MPI_Wait(&kept, MPI_STATUS_IGNORE);
    demand(a == size && b == 100 * size);
    MPI_Request_free(&kept);
}

static void kinds(int rank)
{
    int value = rank ? -1 : 42, one = 1, all = 0;
    MPI_Request pair[2];
    for (int i = 0; i < 2; i++) {
        int which = is("made") && rank ? 1 - i : i;
        if (which)
            MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &pair[1]);
        else
            MPI_Bcast_init(&value, 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &pair[0]);
    }
    MPI_Start(&pair[rank ? 0 : 1]);
    if (!is("unstarted") || rank == 0)
        MPI_Start(&pair[rank ? 1 : 0]);
    MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Waitall(2, pair, MPI_STATUSES_IGNORE);
    demand(value == 42);
    MPI_Request_free(&pair[0]);
    MPI_Request_free(&pair[1]);
}

static void messages(int rank)
{
    int out = rank, in = -1;
    MPI_Request send = MPI_REQUEST_NULL;
    if (is("leak")) {
        MPI_Send_init(&out, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, &send);
        return;
    }
    if (is("cancelled")) {
        MPI_Irecv(&in, 1, MPI_INT, 1 - rank, 9, MPI_COMM_WORLD, &send);
        MPI_Cancel(&send);
    } else {
        MPI_Isend(&out, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, &send);
        MPI_Recv(&in, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&send);
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    word = argv[1];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (is("start") || is("startall") || is("again"))
        two_sums(rank, size);
    else if (is("mixed"))
        mixed(rank, size);
    else if (is("kinds") || is("made") || is("unstarted"))
        kinds(rank);
    else
        messages(rank);
    MPI_Finalize();
}
