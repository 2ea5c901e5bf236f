// ranks: 2..3
// put: B003 (any line)
// noatomic: B003
// outside: B003
#include <mpi.h>
#include <stdio.h>
enum { NEXT, SERVING, DATA };
static long read_now(MPI_Win win, int at)
{
    long got, none = 0;
    MPI_Fetch_and_op(&none, &got, MPI_LONG, 0, at, MPI_NO_OP, win); // @put
    MPI_Win_flush(0, win);
    return got;
}
int main(int argc, char **argv)
{
    long *memory, one = 1, mine, value;
    int rank;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate(rank ? 0 : 3 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    if (rank == 0)
        for (int i = 0; i < 3; i++)
            memory[i] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (int round = 0; round < 2; round++) {
        MPI_Fetch_and_op(&one, &mine, MPI_LONG, 0, NEXT, MPI_SUM, win);
        MPI_Win_flush(0, win);
        while (read_now(win, SERVING) != mine)
            ;
        MPI_Get(&value, 1, MPI_LONG, 0, DATA, 1, MPI_LONG, win); // @outside @noatomic
        MPI_Win_flush(0, win);
        value += rank;
        MPI_Put(&value, 1, MPI_LONG, 0, DATA, 1, MPI_LONG, win); // @outside @noatomic
        MPI_Win_flush(0, win); // -noatomic
        long next = mine + 1;
        MPI_Put(&next, 1, MPI_LONG, 0, SERVING, 1, MPI_LONG, win); // +put @put
        MPI_Accumulate(&one, 1, MPI_LONG, 0, SERVING, 1, MPI_LONG, MPI_SUM, win); // -put @put
        MPI_Win_flush(0, win);
        MPI_Get(&value, 1, MPI_LONG, 0, DATA, 1, MPI_LONG, win); // +outside @outside
        MPI_Win_flush(0, win); // +outside
        (void)next;
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Finalize();
}
