// ranks: 2..4
// nofence: B001 B003
// early: B001
// shift: B003
// interior: OK
#include <mpi.h>
#include <stdlib.h>
enum { CELLS = 32 };
struct field { double *cells; MPI_Win win; int left, right; };

static void smooth(struct field *f, double *next, int from, int to)
{
    for (int i = from; i <= to; i++)
        next[i] = 0.25 * f->cells[i - 1] + 0.5 * f->cells[i] + 0.25 * f->cells[i + 1]; // @nofence
}

static void exchange(struct field *f)
{
    MPI_Put(&f->cells[1], 1, MPI_DOUBLE, f->left, CELLS + 1, 1, MPI_DOUBLE, f->win); // @nofence @early -shift
    MPI_Put(&f->cells[1], 1, MPI_DOUBLE, f->left, CELLS, 1, MPI_DOUBLE, f->win); // +shift @shift
    MPI_Put(&f->cells[CELLS], 1, MPI_DOUBLE, f->right, 0, 1, MPI_DOUBLE, f->win); // @nofence @shift
}

int main(int argc, char **argv)
{
    struct field f;
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    f.left = (rank + size - 1) % size, f.right = (rank + 1) % size;
    MPI_Win_allocate((CELLS + 2) * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &f.cells, &f.win);
    double *next = calloc(CELLS + 2, sizeof *next);
    for (int i = 0; i < CELLS + 2; i++)
        f.cells[i] = rank + i;
    for (int step = 0; step < 3; step++) {
        MPI_Win_fence(0, f.win);
        exchange(&f);
        smooth(&f, next, 2, CELLS - 1); // +interior
        f.cells[1] = 0; // +early @early
        MPI_Win_fence(0, f.win); // -nofence
        smooth(&f, next, 1, CELLS);
        for (int i = 1; i <= CELLS; i++)
            f.cells[i] = next[i]; // @nofence
    }
    MPI_Win_fence(0, f.win);
    MPI_Win_free(&f.win);
    free(next);
    MPI_Finalize();
}
