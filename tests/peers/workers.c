/* Master and workers: tasks on demand, results from anybody, told apart by tag; the end is a
 * message without data. ranks: 2 3 5 16 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { TASKS = 100, TAG_TASK = 1, TAG_RESULT = 2, TAG_STOP = 3 };

struct result {
    int task, by;
    double value;
};

static double work(int task)
{
    double x = 1;
    for (int i = 0; i < 1000 * (1 + task % 7); i++)
        x = x * 0.5 + task;
    return x;
}

static void master(int size)
{
    double values[TASKS] = {0};
    int next = 0, open = 0, stopped = 0, strange = 0;
    for (int worker = 1; worker < size; worker++) {
        int stop = next >= TASKS;
        MPI_Send(&next, stop ? 0 : 1, MPI_INT, worker, stop ? TAG_STOP : TAG_TASK, MPI_COMM_WORLD);
        stopped += stop;
        open += !stop;
        next += !stop;
    }
    while (open) {
        struct result result;
        MPI_Status status;
        int bytes;
        MPI_Recv(&result, sizeof result, MPI_BYTE, MPI_ANY_SOURCE, TAG_RESULT, MPI_COMM_WORLD,
                 &status);
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        strange += bytes != sizeof result || result.by != status.MPI_SOURCE;
        values[result.task] += result.value;
        open--;
        if (next < TASKS) {
            MPI_Send(&next, 1, MPI_INT, status.MPI_SOURCE, TAG_TASK, MPI_COMM_WORLD);
            next++, open++;
        } else {
            MPI_Send(NULL, 0, MPI_INT, status.MPI_SOURCE, TAG_STOP, MPI_COMM_WORLD);
            stopped++;
        }
    }
    double sum = 0;
    int wrong = 0;
    for (int i = 0; i < TASKS; i++) {
        sum += values[i];
        wrong += values[i] != work(i);
    }
    printf("= sum %.17g, %d wrong, %d strange, %d stopped\n", sum, wrong, strange, stopped);
}

static int worker(int rank)
{
    int done = 0;
    for (;;) {
        int task = -1;
        MPI_Status status;
        MPI_Recv(&task, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        if (status.MPI_TAG == TAG_STOP)
            return done;
        struct result result = {task, rank, work(task)};
        MPI_Send(&result, sizeof result, MPI_BYTE, 0, TAG_RESULT, MPI_COMM_WORLD);
        done++;
    }
}

int main(int argc, char **argv)
{
    int rank, size, done = 0, all;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank)
        done = worker(rank);
    else
        master(size);
    MPI_Reduce(&done, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (!rank)
        printf("= %d tasks done\n", all);
    MPI_Finalize();
    return 0;
}
