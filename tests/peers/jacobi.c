/* Jacobi iteration on a torus-free grid: Cartesian communicator, halos by vector and subarray
 * types, persistent requests, residual by Allreduce. ranks: 1 2 4 6 16 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 24 };

static int coordinates[2], dims[2];
static double *cells, *next;
static int rows, columns, stride;

#define AT(a, i, j) (a)[(i)*stride + (j)]

static int share(int n, int parts, int part, int *first)
{
    int base = n / parts, rest = n % parts;
    *first = part * base + (part < rest ? part : rest);
    return base + (part < rest);
}

int main(int argc, char **argv)
{
    int size, rank, up, down, left, right, first_row, first_column;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Dims_create(size, 2, dims);
    MPI_Comm grid;
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, (int[]){0, 0}, 0, &grid);
    MPI_Comm_rank(grid, &rank);
    MPI_Cart_coords(grid, rank, 2, coordinates);
    MPI_Cart_shift(grid, 0, 1, &up, &down);
    MPI_Cart_shift(grid, 1, 1, &left, &right);
    rows = share(N, dims[0], coordinates[0], &first_row);
    columns = share(N, dims[1], coordinates[1], &first_column);
    stride = columns + 2;
    cells = calloc((size_t)(rows + 2) * (size_t)stride, sizeof *cells);
    next = calloc((size_t)(rows + 2) * (size_t)stride, sizeof *next);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            AT(cells, i + 1, j + 1) = ((first_row + i) * 7 + (first_column + j) * 3) % 11;

    MPI_Datatype column, row;
    MPI_Type_vector(rows, 1, stride, MPI_DOUBLE, &column);
    MPI_Type_create_subarray(2, (int[]){rows + 2, stride}, (int[]){1, columns}, (int[]){0, 1},
                             MPI_ORDER_C, MPI_DOUBLE, &row);
    MPI_Type_commit(&column);
    MPI_Type_commit(&row);
    MPI_Request halo[8];
    MPI_Recv_init(&AT(cells, 0, 0), 1, row, up, 0, grid, &halo[0]);
    MPI_Recv_init(&AT(cells, rows + 1, 0), 1, row, down, 1, grid, &halo[1]);
    MPI_Recv_init(&AT(cells, 1, 0), 1, column, left, 2, grid, &halo[2]);
    MPI_Recv_init(&AT(cells, 1, columns + 1), 1, column, right, 3, grid, &halo[3]);
    MPI_Send_init(&AT(cells, rows, 0), 1, row, down, 0, grid, &halo[4]);
    MPI_Send_init(&AT(cells, 1, 0), 1, row, up, 1, grid, &halo[5]);
    MPI_Send_init(&AT(cells, 1, columns), 1, column, right, 2, grid, &halo[6]);
    MPI_Send_init(&AT(cells, 1, 1), 1, column, left, 3, grid, &halo[7]);

    for (int step = 0; step < 30; step++) {
        MPI_Startall(8, halo);
        MPI_Waitall(8, halo, MPI_STATUSES_IGNORE);
        double change = 0, all;
        for (int i = 1; i <= rows; i++)
            for (int j = 1; j <= columns; j++) {
                AT(next, i, j) = 0.25 * (AT(cells, i - 1, j) + AT(cells, i + 1, j) +
                                         AT(cells, i, j - 1) + AT(cells, i, j + 1));
                change = fmax(change, fabs(AT(next, i, j) - AT(cells, i, j)));
            }
        for (int i = 1; i <= rows; i++)
            for (int j = 1; j <= columns; j++)
                AT(cells, i, j) = AT(next, i, j);
        MPI_Allreduce(&change, &all, 1, MPI_DOUBLE, MPI_MAX, grid);
        if (rank == 0 && step % 5 == 0)
            printf("= step %d: largest change %.17g\n", step, all);
    }
    double corner = AT(cells, 1, 1), all[16] = {0};
    MPI_Gather(&corner, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, 0, grid);
    for (int i = 0; rank == 0 && i < size; i++)
        printf("= corner of %d: %.17g\n", i, all[i]);
    for (int i = 0; i < 8; i++)
        MPI_Request_free(&halo[i]);
    MPI_Type_free(&column);
    MPI_Type_free(&row);
    MPI_Comm_free(&grid);
    free(cells);
    free(next);
    MPI_Finalize();
    return 0;
}
