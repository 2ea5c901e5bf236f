/* about: Neighbor_allgatherv on a directed graph, differentiated
 * ranks: 1,2,5
 * expect: ok
 *
 * Ranks give one value or two. The adjoint is the same operation on the graph with every edge
 * turned round. */
#include <diff.h>
#include <mpi.h>
#include <stdio.h>

enum { RANKS = 64, ROOM = 4 * RANKS };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size > RANKS) {
        fprintf(stderr, "this program is made for up to %d ranks\n", RANKS);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    double values[ROOM], weight_values[ROOM];
    for (int i = 0; i < ROOM; i++) {
        values[i] = 0.6 + 0.17 * i - 0.11 * rank;
        weight_values[i] = 1 + 0.5 * rank - 0.3 * i;
    }
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){3}, values);
    struct diff_tensor *square = diff_mul(x, x);

    MPI_Comm ring;
    int next[2] = {(rank + 1) % size, (rank + 2) % size};
    int even[2] = {1, 1}, before[2] = {(rank + size - 1) % size, (rank + 2 * size - 2) % size};
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, before, even, 2, next, even, MPI_INFO_NULL, 0,
                                   &ring);
    int counts[2] = {1 + before[0] % 2, 1 + before[1] % 2};
    struct diff_call call = {.kind = DIFF_NEIGHBOR_ALLGATHERV,
                             .x = diff_slice(square, 0, 1 + (size_t)rank % 2),
                             .comm = ring,
                             .receive_counts = counts};
    struct diff_tensor *y = diff_collective(&call);

    size_t count = diff_count(y);
    struct diff_tensor *weights = diff_constant(tape, DIFF_DOUBLE, 1, &count, weight_values);
    diff_backward(diff_dot(y, weights)); /* J is the sum over ranks */
    diff_tape_free(tape);
    MPI_Comm_free(&ring);
    MPI_Finalize();
    return 0;
}
