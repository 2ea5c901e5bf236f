// ranks: 2..3
// get: B003
// result: B001
// A queue of tasks on rank 0: whoever takes an index works on it and gathers the sum at its own slot.
#include <mpi.h>
#include <stdbool.h>
#define TASKS 7
struct queue { int next; int done[TASKS]; };
static bool take(MPI_Win win, int *task)
{
    const int one = 1;
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    MPI_Fetch_and_op(&one, task, MPI_INT, 0, 0, MPI_SUM, win); // -get @result
    MPI_Get(task, 1, MPI_INT, 0, 0, 1, MPI_INT, win); // +get @get
    MPI_Win_flush(0, win); // +get
    int more = *task + 1; // +get
    MPI_Put(&more, 1, MPI_INT, 0, 0, 1, MPI_INT, win); // +get @get
    if (*task >= TASKS) *task = TASKS; // +result @result
    MPI_Win_unlock(0, win);
    return *task < TASKS;
}
int main(int argc, char **argv)
{
    int rank, task;
    struct queue *q;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate(rank ? 0 : sizeof *q, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &q, &win);
    if (!rank)
        *q = (struct queue){0};
    MPI_Barrier(MPI_COMM_WORLD);
    while (take(win, &task)) {
        int answer = task * task;
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        MPI_Put(&answer, 1, MPI_INT, 0, 1 + task, 1, MPI_INT, win);
        MPI_Win_unlock(0, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    MPI_Win_unlock(0, win);
    int wrong = 0;
    if (!rank)
        for (int i = 0; i < TASKS; i++)
            wrong |= q->done[i] != i * i;
    MPI_Win_free(&win);
    MPI_Finalize();
    return wrong;
}
