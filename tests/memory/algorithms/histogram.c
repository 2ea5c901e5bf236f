// ranks: 2..4
// put: B003
// mixed: B003
// read: B003
// localadd: B003
// replaceown: B003
#include <mpi.h>
#include <stdint.h>
static uint32_t lcg(uint32_t *s) { return (*s = *s * 1664525u + 1013904223u) >> 16; }
int main(int argc, char **argv)
{
    uint32_t *bins, seed;
    uint32_t one = 1;
    int rank, size;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_allocate(4 * sizeof *bins, sizeof *bins, MPI_INFO_NULL, MPI_COMM_WORLD, &bins, &win);
    for (int i = 0; i < 4; i++)
        bins[i] = 0;
    seed = 77u + (uint32_t)rank;
    MPI_Win_fence(0, win);
    for (int k = 0; k < 60; k++) {
        uint32_t draw = lcg(&seed) % (4u * (uint32_t)size);
        MPI_Accumulate(&one, 1, MPI_UINT32_T, (int)(draw / 4), (int)(draw % 4), 1, MPI_UINT32_T, MPI_SUM, win); // -put -mixed @read @localadd @replaceown
        MPI_Put(&one, 1, MPI_UINT32_T, (int)(draw / 4), (int)(draw % 4), 1, MPI_UINT32_T, win); // +put @put
        MPI_Accumulate(&one, 1, MPI_UINT32_T, (int)(draw / 4), (int)(draw % 4), 1, MPI_UINT32_T, rank ? MPI_SUM : MPI_MAX, win); // +mixed @mixed
        if (k == 30 && bins[1] > 1000) one = 2; // +read @read
    }
    bins[2]++; // +localadd @localadd
    MPI_Put(&one, 1, MPI_UINT32_T, rank, 0, 1, MPI_UINT32_T, win); // +replaceown @replaceown
    MPI_Win_fence(0, win);
    uint32_t n = 0;
    for (int i = 0; i < 4; i++)
        n += bins[i];
    MPI_Win_free(&win);
    MPI_Finalize();
    return n > 100000;
}
