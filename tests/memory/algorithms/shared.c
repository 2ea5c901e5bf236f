// ranks: 2..3
// nobarrier: B003
// samebuf: B003
// ownonly: OK
// Stencil on one shared window, two buffers, neighbours read by loads.
#include <mpi.h>
#define N 8
int main(int argc, char **argv)
{
    int rank, size, unit;
    MPI_Comm node;
    MPI_Win win;
    MPI_Aint bytes;
    double *mine, *left, *right;
    MPI_Init(&argc, &argv);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &rank);
    MPI_Comm_size(node, &size);
    MPI_Win_allocate_shared(2 * N * sizeof(double), sizeof(double), MPI_INFO_NULL, node, &mine, &win);
    MPI_Win_shared_query(win, (rank + size - 1) % size, &bytes, &unit, &left);
    MPI_Win_shared_query(win, (rank + 1) % size, &bytes, &unit, &right);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    for (int i = 0; i < 2 * N; i++)
        mine[i] = rank + 0.1 * i;
    for (int step = 0; step < 3; step++) {
        double *from = mine + (step & 1) * N, *to = mine + !(step & 1) * N;
        double *l = left + (step & 1) * N, *r = right + (step & 1) * N;
        MPI_Win_sync(win);
        MPI_Barrier(node); // -nobarrier
        MPI_Win_sync(win);
        for (int i = 0; i < N; i++) {
            double before = i ? from[i - 1] : l[N - 1]; // @nobarrier @samebuf
            double after = i < N - 1 ? from[i + 1] : r[0]; // @nobarrier @samebuf
            to[i] = 0.5 * (before + after); // @nobarrier -samebuf
            from[i] = 0.5 * (before + after); // +samebuf @samebuf
            (void)to; // +samebuf
        }
    }
    mine[3] = 0; // +ownonly
    MPI_Win_sync(win);
    MPI_Barrier(node);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Comm_free(&node);
    MPI_Finalize();
}
