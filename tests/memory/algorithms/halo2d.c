// ranks: 4..4
// wide: B003
// rowonly: B003
// cols: OK
#include <mpi.h>
#include <string.h>
#define NX 6
#define NY 5
static double grid[NY + 2][NX + 2];
int main(int argc, char **argv)
{
    MPI_Win win;
    MPI_Datatype column;
    MPI_Comm cart;
    int dims[2] = {2, 2}, periods[2] = {1, 1}, up, down, left, right, rank;
    MPI_Init(&argc, &argv);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &cart);
    MPI_Comm_rank(cart, &rank);
    MPI_Cart_shift(cart, 0, 1, &up, &down);
    MPI_Cart_shift(cart, 1, 1, &left, &right);
    for (int y = 0; y < NY + 2; y++)
        for (int x = 0; x < NX + 2; x++)
            grid[y][x] = 10 * rank + y + 0.1 * x;
    MPI_Type_vector(NY, 1, NX + 2, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    MPI_Win_create(grid, sizeof grid, sizeof(double), MPI_INFO_NULL, cart, &win);
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
    MPI_Put(&grid[1][1], NX, MPI_DOUBLE, up, (NY + 1) * (NX + 2) + 1, NX, MPI_DOUBLE, win);
    MPI_Put(&grid[NY][1], NX, MPI_DOUBLE, down, 1, NX, MPI_DOUBLE, win); // -wide @wide
    MPI_Put(&grid[NY][1], NX + 2, MPI_DOUBLE, down, 1, NX + 2, MPI_DOUBLE, win); // +wide @wide
    MPI_Put(&grid[1][1], 1, column, left, (NX + 2) + NX + 1, 1, column, win); // -rowonly @rowonly @wide
    MPI_Put(&grid[1][1], NY, MPI_DOUBLE, left, (NX + 2) + NX + 1, NY, MPI_DOUBLE, win); // +rowonly @rowonly
    MPI_Put(&grid[1][NX], 1, column, right, NX + 2, 1, column, win); // @wide @rowonly
    double inner = 0;
    for (int y = 2; y < NY; y++) // +cols
        for (int x = 2; x < NX; x++) // +cols
            inner += grid[y][x]; // +cols
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    double sum = inner;
    for (int y = 0; y < NY + 2; y++)
        for (int x = 0; x < NX + 2; x++)
            sum += grid[y][x];
    MPI_Win_free(&win);
    MPI_Type_free(&column);
    MPI_Comm_free(&cart);
    MPI_Finalize();
    return sum < 0;
}
