#!/bin/sh
# What the machine promises a user, each by the command that shows it.
. "$(dirname "$0")/../shell.sh"
run() { timeout 300 "$simrun" --db none "$@" >out 2>err; }
echo "TAP version 13"

cat >meet.c <<'C'
#include <math.h>
#include <mpi.h>
int main(int argc, char **argv)
{
    int rank, x;
    double sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 3)
        MPI_Recv(&x, 1, MPI_INT, 7, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 7)
        MPI_Recv(&x, 1, MPI_INT, 3, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < 100000; i++)
        sum += sin(i);
    MPI_Finalize();
    return sum > 1e30;
}
C
for threads in "" --os-threads; do
    run -n 16 $threads ./meet.c
    [ $? -eq 1 ] && grep -q '^D001 .*Recv at meet.c:10, Recv at meet.c:12' out &&
        [ "$(grep -c '^[DLMX][0-9]' out)" -eq 1 ]
    check $? "two of sixteen ranks wait for each other: exit 1, both calls named (${threads:-fibers})"
    run -v -n 16 $threads ./meet.c
    grep -qE '^simrun: reported [0-9.]+ ms after nobody could move' err
    check $? "and -v says how soon after the last step that was (${threads:-fibers})"
done

cat >private.c <<'C'
#include <mpi.h>
#include <stdio.h>
int global = 1;
static int hidden[3] = {1, 2, 3};
static _Thread_local int of_thread = 5;
int main(int argc, char **argv)
{
    static int calls;
    int rank, all[16 * 4];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i <= rank; i++) {
        global += i, hidden[1] += rank, of_thread *= 2, calls++;
        if (i < 2)
            MPI_Barrier(MPI_COMM_SELF);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    int mine[4] = {global, hidden[1], of_thread, calls};
    MPI_Gather(mine, 4, MPI_INT, all, 4, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < 16; i++)
        printf("%d: %d %d %d %d\n", i, all[4 * i], all[4 * i + 1], all[4 * i + 2], all[4 * i + 3]);
    MPI_Finalize();
    return 0;
}
C
perl -e 'for $r (0 .. 15) { printf "%d: %d %d %d %d\n", $r, 1 + $r * ($r + 1) / 2, 2 + $r * ($r + 1), 5 * 2 ** ($r + 1), $r + 1 }' >expected
for option in "" --os-threads --loader=dlopen; do
    run -n 16 $option ./private.c && grep '^[0-9]*: ' err >got && cmp -s got expected
    check $? "globals, statics and thread-locals are each rank's own (${option:-fibers})"
done

cat >layer.c <<'C'
#include <mpi.h>
#include <stdio.h>
static int sends, waits;
int MPI_Send(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    sends++;
    return PMPI_Send(buffer, count, type, to, tag, comm);
}
int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    waits++;
    return PMPI_Wait(request, status);
}
int MPI_Finalize(void)
{
    int total = 10 * sends + waits, all;
    PMPI_Reduce(&total, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("counted %d\n", all);
    return PMPI_Finalize();
}
int main(int argc, char **argv)
{
    int rank, size, x = 1, y;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Irecv(&y, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &request);
    MPI_Send(&x, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
C
for option in "" --os-threads --loader=dlopen; do
    run -n 5 $option ./layer.c && grep -q '^counted 55$' err
    check $? "a program may define MPI functions and call PMPI ones (${option:-fibers})"
done
echo "1..$count"
