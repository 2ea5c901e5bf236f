/* Sample sort: splitters by Gather and Bcast, buckets by Alltoall and Alltoallv, the result by
 * Gatherv. ranks: 1 2 3 8 16 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { EACH = 500 };

static int ascending(const void *a, const void *b)
{
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return (x > y) - (x < y);
}

static void displacements(const int *counts, int *places, int n)
{
    places[0] = 0;
    for (int i = 1; i < n; i++)
        places[i] = places[i - 1] + counts[i - 1];
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    unsigned *keys = malloc(EACH * sizeof *keys), state = 12345u + 7919u * (unsigned)rank;
    for (int i = 0; i < EACH; i++)
        keys[i] = (state = state * 1664525u + 1013904223u) >> 8;
    qsort(keys, EACH, sizeof *keys, ascending);

    unsigned *samples = malloc((size_t)(size * size) * sizeof *samples),
             *mine = malloc((size_t)size * sizeof *mine),
             *splitters = malloc((size_t)size * sizeof *splitters);
    for (int i = 0; i < size; i++)
        mine[i] = keys[i * EACH / size];
    MPI_Gather(mine, size, MPI_UNSIGNED, samples, size, MPI_UNSIGNED, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        qsort(samples, (size_t)(size * size), sizeof *samples, ascending);
        for (int i = 0; i < size - 1; i++)
            splitters[i] = samples[(i + 1) * size];
    }
    MPI_Bcast(splitters, size - 1, MPI_UNSIGNED, 0, MPI_COMM_WORLD);

    int *counts = calloc((size_t)size * 6, sizeof *counts), *places = counts + size,
        *got = counts + 2 * size, *got_places = counts + 3 * size;
    for (int i = 0, bucket = 0; i < EACH; i++) {
        while (bucket < size - 1 && keys[i] >= splitters[bucket])
            bucket++;
        counts[bucket]++;
    }
    MPI_Alltoall(counts, 1, MPI_INT, got, 1, MPI_INT, MPI_COMM_WORLD);
    displacements(counts, places, size);
    displacements(got, got_places, size);
    int total = got_places[size - 1] + got[size - 1];
    unsigned *sorted = malloc((size_t)(total + 1) * sizeof *sorted);
    MPI_Alltoallv(keys, counts, places, MPI_UNSIGNED, sorted, got, got_places, MPI_UNSIGNED,
                  MPI_COMM_WORLD);
    qsort(sorted, (size_t)total, sizeof *sorted, ascending);

    int *totals = counts + 4 * size, *offsets = counts + 5 * size;
    MPI_Gather(&total, 1, MPI_INT, totals, 1, MPI_INT, 0, MPI_COMM_WORLD);
    unsigned *all = malloc((size_t)(EACH * size) * sizeof *all);
    if (rank == 0)
        displacements(totals, offsets, size);
    MPI_Gatherv(sorted, total, MPI_UNSIGNED, all, totals, offsets, MPI_UNSIGNED, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        unsigned long long sum = 0;
        int good = 1;
        for (int i = 0; i < EACH * size; i++) {
            sum = sum * 31 + all[i];
            good &= i == 0 || all[i - 1] <= all[i];
        }
        printf("= sorted %d, first %u, last %u, hash %llu\n", good, all[0], all[EACH * size - 1],
               sum);
        for (int i = 0; i < size; i++)
            printf("= bucket %d holds %d\n", i, totals[i]);
    }
    free(keys), free(samples), free(mine), free(splitters), free(counts), free(sorted), free(all);
    MPI_Finalize();
    return 0;
}
