/* Cannon's product of matrices on a torus: Cart_create, Cart_shift with any displacement,
 * Sendrecv_replace, Scatter and Gather of blocks through resized subarrays. ranks: 1 4 9 16 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, size, side = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    while (side * side < size)
        side++;
    MPI_Comm torus;
    MPI_Cart_create(MPI_COMM_WORLD, 2, (int[]){side, side}, (int[]){1, 1}, 1, &torus);
    MPI_Comm_rank(torus, &rank);
    int at[2], from, to, left, right, up, down;
    enum { BLOCK = 6 };
    const int n = side * BLOCK;
    MPI_Cart_coords(torus, rank, 2, at);

    double *a = NULL, *b = NULL, *c = NULL, mine_a[BLOCK * BLOCK], mine_b[BLOCK * BLOCK],
           mine_c[BLOCK * BLOCK] = {0};
    int *counts = malloc((size_t)size * sizeof *counts),
        *places = malloc((size_t)size * sizeof *places);
    if (rank == 0) {
        a = malloc((size_t)(n * n) * sizeof *a);
        b = malloc((size_t)(n * n) * sizeof *b);
        c = malloc((size_t)(n * n) * sizeof *c);
        for (int i = 0; i < n * n; i++) {
            a[i] = (i * 13 + 5) % 17 - 8;
            b[i] = (i * 7 + 3) % 19 - 9;
        }
    }
    MPI_Datatype block, piece;
    MPI_Type_create_subarray(2, (int[]){n, n}, (int[]){BLOCK, BLOCK}, (int[]){0, 0}, MPI_ORDER_C,
                             MPI_DOUBLE, &block);
    MPI_Type_create_resized(block, 0, BLOCK * (MPI_Aint)sizeof(double), &piece);
    MPI_Type_commit(&piece);
    for (int i = 0; i < size; i++) {
        int its[2];
        MPI_Cart_coords(torus, i, 2, its);
        counts[i] = 1;
        places[i] = its[0] * n + its[1];
    }
    MPI_Scatterv(a, counts, places, piece, mine_a, BLOCK * BLOCK, MPI_DOUBLE, 0, torus);
    MPI_Scatterv(b, counts, places, piece, mine_b, BLOCK * BLOCK, MPI_DOUBLE, 0, torus);

    MPI_Cart_shift(torus, 1, -at[0], &from, &to);
    MPI_Sendrecv_replace(mine_a, BLOCK * BLOCK, MPI_DOUBLE, to, 1, from, 1, torus,
                         MPI_STATUS_IGNORE);
    MPI_Cart_shift(torus, 0, -at[1], &from, &to);
    MPI_Sendrecv_replace(mine_b, BLOCK * BLOCK, MPI_DOUBLE, to, 2, from, 2, torus,
                         MPI_STATUS_IGNORE);
    MPI_Cart_shift(torus, 1, -1, &right, &left);
    MPI_Cart_shift(torus, 0, -1, &down, &up);
    for (int step = 0; step < side; step++) {
        for (int i = 0; i < BLOCK; i++)
            for (int j = 0; j < BLOCK; j++)
                for (int k = 0; k < BLOCK; k++)
                    mine_c[i * BLOCK + j] += mine_a[i * BLOCK + k] * mine_b[k * BLOCK + j];
        MPI_Sendrecv_replace(mine_a, BLOCK * BLOCK, MPI_DOUBLE, left, 3, right, 3, torus,
                             MPI_STATUS_IGNORE);
        MPI_Sendrecv_replace(mine_b, BLOCK * BLOCK, MPI_DOUBLE, up, 4, down, 4, torus,
                             MPI_STATUS_IGNORE);
    }
    MPI_Gatherv(mine_c, BLOCK * BLOCK, MPI_DOUBLE, c, counts, places, piece, 0, torus);
    if (rank == 0) {
        double wrong = 0, trace = 0;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                double sum = 0;
                for (int k = 0; k < n; k++)
                    sum += a[i * n + k] * b[k * n + j];
                wrong += sum != c[i * n + j];
                trace += i == j ? sum : 0;
            }
        printf("= product of %d x %d: %g wrong, trace %g\n", n, n, wrong, trace);
    }
    MPI_Type_free(&block);
    MPI_Type_free(&piece);
    MPI_Comm_free(&torus);
    free(a), free(b), free(c), free(counts), free(places);
    MPI_Finalize();
    return 0;
}
