/* MPI within OpenMP regions: the master of a team waits in MPI while its team computes, in teams of
 * different sizes on every rank, also within a region within a region. "stray": another thread of
 * the team calls MPI. tests/sim/hybrid.t names the lines. */
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

static int rank, size;

/* The master passes a number round and the team works meanwhile. */
static int round_trip(int number)
{
    int wrong = 0, got = -1, sum = 0, threads = 2 + rank % 3;
#pragma omp parallel reduction(+ : wrong, sum)
    {
        int me = omp_get_thread_num();
        wrong += omp_get_num_threads() != threads || omp_get_level() != 1;
#pragma omp master
        {
            int mine = rank * 100 + number;
            MPI_Sendrecv(&mine, 1, MPI_INT, (rank + 1) % size, 0, &got, 1, MPI_INT,
                         (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Barrier(MPI_COMM_WORLD);
        }
#pragma omp for schedule(dynamic, 3)
        for (int i = 0; i < 100; i++)
            sum += i;
        wrong += got != (rank + size - 1) % size * 100 + number || me != omp_get_thread_num();
    }
    return wrong || sum != 4950 || omp_in_parallel();
}

static int nested(void)
{
    int wrong = 0, total = 0, all = 0;
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2) reduction(+ : wrong, total)
    {
        int inner = 0;
#pragma omp parallel num_threads(3) reduction(+ : inner)
        {
            inner += omp_get_level() == 2;
            if (omp_get_thread_num() == 0 && omp_get_ancestor_thread_num(1) == 0)
                MPI_Allreduce(&rank, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        }
        wrong += inner != 3;
        total += inner;
    }
    return wrong || total != 6 || all != size * (size - 1) / 2;
}

static int stray(void)
{
    int answered = 0, is_main = 0;
#pragma omp parallel num_threads(2) reduction(+ : answered, is_main)
    {
        int flag;
        MPI_Is_thread_main(&flag);
        is_main += flag;
        if (omp_get_thread_num() == 1)
            answered += MPI_Barrier(MPI_COMM_SELF) == MPI_SUCCESS; /* stray */
    }
    return answered != 1 || is_main != 1;
}

int main(int argc, char **argv)
{
    int provided, wrong = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    omp_set_num_threads(2 + rank % 3);
    for (int i = 0; i < 10; i++)
        wrong += round_trip(i);
    wrong += nested() || omp_get_max_threads() != 2 + rank % 3;
    if (argc > 1 && rank == 1)
        wrong += stray();
    printf("rank %d: %d wrong, provided %d\n", rank, wrong, provided >= MPI_THREAD_FUNNELED);
    MPI_Finalize();
    return wrong != 0;
}
