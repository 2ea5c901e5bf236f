// ranks: 2..3
// store: B003
// get: B003
// A table of keys over all ranks; a slot is claimed by compare and swap, its value is put by the owner of the claim.
#include <mpi.h>
#include <string.h>
#define SLOTS 8
struct table { long keys[SLOTS]; double values[SLOTS]; };
static int ranks;
static int claim(MPI_Win win, long key, int *slot)
{
    for (int probe = 0;; probe++) {
        int home = (int)((key + probe) % ranks);
        long empty = 0, was;
        *slot = (int)((key * 7 + probe / ranks) % SLOTS);
        MPI_Compare_and_swap(&key, &empty, &was, MPI_LONG, home, *slot * (int)sizeof(long), win); // @store @get
        MPI_Win_flush(home, win);
        if (was == 0 || was == key)
            return home;
    }
}
int main(int argc, char **argv)
{
    int rank, slot, home;
    struct table *t;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Win_allocate(sizeof *t, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &t, &win);
    memset(t, 0, sizeof *t); // -store
    MPI_Barrier(MPI_COMM_WORLD);
    memset(t, 0, sizeof *t); // +store @store
    MPI_Win_lock_all(0, win);
    for (long k = 0; k < 3; k++) {
        double v = 0.5 * (double)k;
        home = claim(win, 1 + rank + k * ranks, &slot);
        MPI_Put(&v, 1, MPI_DOUBLE, home, (MPI_Aint)(SLOTS * sizeof(long) + (size_t)slot * sizeof v), 1, MPI_DOUBLE, win); // @store
        MPI_Win_flush(home, win);
        long first; // +get
        MPI_Get(&first, 1, MPI_LONG, (home + 1) % ranks, slot * (int)sizeof(long), 1, MPI_LONG, win); // +get @get
        MPI_Win_flush_all(win); // +get
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    double all = 0;
    for (int i = 0; i < SLOTS; i++)
        all += t->keys[i] ? t->values[i] : 0;
    MPI_Win_free(&win);
    MPI_Finalize();
    return all < 0;
}
