#!/bin/sh
# Every way to receive a message that a matched probe took, from one source or from anybody: right ones are right under every
# progress model, and one message too many is found.
. "$(dirname "$0")/../shell.sh"
export CC=gcc # clang leaves out elements of arrays on the stack
echo "TAP version 13"

cat >matched.c <<'END'
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static const MPI_Comm world = MPI_COMM_WORLD;

/* Message i of `count` from rank 1, or from anybody, by the probe and the receive of this name. */
static void take(const char *probe, const char *receive, int source, MPI_Request *later, int *value)
{
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Request request;
    int done = 0;
    if (!strcmp(probe, "Mprobe"))
        MPI_Mprobe(source, 0, world, &message, MPI_STATUS_IGNORE);
    while (!strcmp(probe, "Improbe") && !done)
        MPI_Improbe(source, 0, world, &done, &message, MPI_STATUS_IGNORE);
    if (!strcmp(receive, "Mrecv")) {
        MPI_Mrecv(value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
        return;
    }
    MPI_Imrecv(value, 1, MPI_INT, &message, later ? later : &request);
    done = 0;
    if (!strcmp(receive, "Wait"))
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    while (!strcmp(receive, "Test") && !done)
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int rank, values[3], received = atoi(argv[4]);
    MPI_Request later[3];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(world, &rank);
    for (int i = 0; rank && i < 3; i++)
        MPI_Send(&i, 1, MPI_INT, 0, 0, world);
    int at_end = !strcmp(argv[2], "Waitall") || !strcmp(argv[2], "Waitany");
    for (int i = 0; !rank && i < received; i++)
        take(argv[1], argv[2], !strcmp(argv[3], "any") ? MPI_ANY_SOURCE : 1, at_end ? &later[i] : NULL, &values[i]);
    if (!rank && !strcmp(argv[2], "Waitall"))
        MPI_Waitall(received, later, MPI_STATUSES_IGNORE);
    for (int i = 0, which; !rank && !strcmp(argv[2], "Waitany") && i < received; i++)
        MPI_Waitany(received, later, &which, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
END

for probe in Mprobe Improbe; do
    for receive in Mrecv Wait Test Waitall Waitany; do
        word=PROVEN # or how often a poll sees nothing has a bound, which is told
        [ $probe = Mprobe ] && [ $receive != Test ] || word=PASS
        for source in one any; do
            timeout 60 "$simrun" prove --db none -n 2 matched.c $probe $receive $source 3 >out 2>err
            status=$?
            [ $status -eq 0 ] && grep -q "^$word .*no findings" out
            check $? "$probe and $receive from $source: $word"
            timeout 60 "$simrun" --db none -n 2 matched.c $probe $receive $source 2 >out 2>err
            status=$?
            [ $status -eq 1 ] && grep -q '^D003' out
            check $? "$probe and $receive from $source, one message too many: found"
        done
    done
done
echo "1..$count"
