// ranks: 2..4
// off: B003
// dup: B003
// touch: B001
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int rows = 3, n = rows * size;
    float *a = malloc(sizeof(float) * (size_t)(rows * n)), *b;
    MPI_Win win;
    MPI_Win_allocate((MPI_Aint)sizeof(float) * rows * n, sizeof(float), MPI_INFO_NULL, MPI_COMM_WORLD, &b, &win);
    for (int i = 0; i < rows * n; i++)
        a[i] = (float)(rank * rows * n + i);
    /* my row i, columns of rank p, become column rank * rows + i of p's rows */
    MPI_Datatype col;
    MPI_Type_vector(rows, 1, n, MPI_FLOAT, &col);
    MPI_Type_commit(&col);
    MPI_Win_fence(0, win);
    for (int p = 0; p < size; p++)
        for (int i = 0; i < rows; i++)
            MPI_Put(a + i * n + p * rows, rows, MPI_FLOAT, p, rank * rows + i, 1, col, win); // -off -dup @touch
    for (int p = 0; p < size; p++) // +off
        for (int i = 0; i < rows; i++) // +off
            MPI_Put(a + i * n + p * rows, rows, MPI_FLOAT, p, rank * (rows - 1) + i, 1, col, win); // +off @off
    for (int p = 0; p < size; p++) // +dup
        for (int i = 0; i < rows; i++) // +dup
            MPI_Put(a + i * n + p * rows, rows, MPI_FLOAT, p, rank * rows + i / 2, 1, col, win); // +dup @dup
    a[rows * n - 1] = 0; // +touch @touch
    MPI_Win_fence(0, win);
    float s = 0;
    for (int i = 0; i < rows * n; i++)
        s += b[i];
    MPI_Win_free(&win);
    MPI_Type_free(&col);
    free(a);
    MPI_Finalize();
    return s < 0;
}
