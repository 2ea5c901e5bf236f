// ranks: 2..3
// plainget: B003
// direct: B003 (any line)
#include <mpi.h>
enum { NEXT, BLOCKED, TAIL, COUNTER };
static MPI_Win win;
static int rank;
static void acquire(void)
{
    int none = -1, one = 1, before, seen;
    MPI_Accumulate(&none, 1, MPI_INT, rank, NEXT, 1, MPI_INT, MPI_REPLACE, win);
    MPI_Accumulate(&one, 1, MPI_INT, rank, BLOCKED, 1, MPI_INT, MPI_REPLACE, win); // @direct
    MPI_Win_flush(rank, win);
    MPI_Fetch_and_op(&rank, &before, MPI_INT, 0, TAIL, MPI_REPLACE, win);
    MPI_Win_flush(0, win);
    if (before == -1)
        return;
    MPI_Accumulate(&rank, 1, MPI_INT, before, NEXT, 1, MPI_INT, MPI_REPLACE, win);
    MPI_Win_flush(before, win);
    do {
        MPI_Fetch_and_op(&none, &seen, MPI_INT, rank, BLOCKED, MPI_NO_OP, win);
        MPI_Win_flush(rank, win);
    } while (seen);
}
static void release(void)
{
    int none = -1, zero = 0, mine = rank, was, next;
    MPI_Fetch_and_op(&none, &next, MPI_INT, rank, NEXT, MPI_NO_OP, win);
    MPI_Win_flush(rank, win);
    if (next == -1) {
        MPI_Compare_and_swap(&none, &mine, &was, MPI_INT, 0, TAIL, win);
        MPI_Win_flush(0, win);
        if (was == rank)
            return;
        do {
            MPI_Fetch_and_op(&none, &next, MPI_INT, rank, NEXT, MPI_NO_OP, win);
            MPI_Win_flush(rank, win);
        } while (next == -1);
    }
    MPI_Accumulate(&zero, 1, MPI_INT, next, BLOCKED, 1, MPI_INT, MPI_REPLACE, win); // -direct
    MPI_Put(&zero, 1, MPI_INT, next, BLOCKED, 1, MPI_INT, win); // +direct @direct
    MPI_Win_flush(next, win);
}
int main(int argc, char **argv)
{
    int *memory, value;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate(4 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    memory[NEXT] = memory[TAIL] = -1;
    memory[BLOCKED] = memory[COUNTER] = 0;
    MPI_Win_lock_all(0, win);
    MPI_Win_sync(win);
    MPI_Barrier(MPI_COMM_WORLD);
    acquire(); // -plainget
    MPI_Get(&value, 1, MPI_INT, 0, COUNTER, 1, MPI_INT, win); // @plainget
    MPI_Win_flush(0, win);
    value++;
    MPI_Put(&value, 1, MPI_INT, 0, COUNTER, 1, MPI_INT, win); // @plainget
    MPI_Win_flush(0, win);
    release(); // -plainget
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Finalize();
}
