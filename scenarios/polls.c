/* about: what a rank does after a test or a probe depends on the answer
 * ranks: 2
 * expect: eager=OK rendezvous=OK batch=OK
 * variant: probe; arguments: probe
 * variant: spin; arguments: spin; expect: eager=OK rendezvous=D005 batch=D005
 * variant: past; arguments: past; expect: eager=D003 rendezvous=D001 batch=D001
 *
 * With eager sends the requests are complete when rank 0 asks, and the message that rank 1 probes
 * for is there. Where sends wait for their receives neither is so, and the ranks go another way:
 * nothing hangs. A loop that asks until it is told yes does hang, which only a run under that model
 * shows. Past the tests two sends face each other: that hangs whatever the tests said. */
#include <mpi.h>
#include <words.h>

enum { FIRST, SECOND, GO };

static const int value = 1;

static void send(int to, int tag)
{
    MPI_Send(&value, 1, MPI_INT, to, tag, MPI_COMM_WORLD);
}

static void receive(int from, int tag)
{
    int got;
    MPI_Recv(&got, 1, MPI_INT, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Rank 1 receives only when rank 0 has stopped asking, once or until it is told yes. */
static void test(int rank, int spin)
{
    MPI_Request requests[2];
    int done[2];
    if (rank) {
        MPI_Ssend(&value, 1, MPI_INT, 0, GO, MPI_COMM_WORLD);
        receive(0, FIRST);
        receive(0, SECOND);
        return;
    }
    MPI_Isend(&value, 1, MPI_INT, 1, FIRST, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&value, 1, MPI_INT, 1, SECOND, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 2; i++)
        do
            MPI_Test(&requests[i], &done[i], MPI_STATUS_IGNORE);
        while (spin && !done[i]);
    receive(1, GO);
    for (int i = 0; i < 2; i++)
        if (!done[i])
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
}

/* Rank 1 takes the second message first where it is there already. */
static void probe(int rank)
{
    int there = 0;
    if (rank == 0) {
        send(1, FIRST);
        send(1, SECOND);
        return;
    }
    MPI_Iprobe(0, SECOND, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    receive(0, there ? SECOND : FIRST);
    receive(0, there ? FIRST : SECOND);
}

static void face_each_other(int rank)
{
    MPI_Request request;
    int done;
    if (rank) {
        receive(0, FIRST);
    } else {
        MPI_Isend(&value, 1, MPI_INT, 1, FIRST, MPI_COMM_WORLD, &request);
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (!done)
            MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    send(1 - rank, SECOND);
    receive(1 - rank, SECOND);
}

int main(int argc, char **argv)
{
    int rank;
    const char *way = word_alone(argc, argv, "way", "test", "test probe spin past");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (strcmp(way, "probe") == 0)
        probe(rank);
    else if (strcmp(way, "past") == 0)
        face_each_other(rank);
    else
        test(rank, strcmp(way, "spin") == 0);
    MPI_Finalize();
    return 0;
}
