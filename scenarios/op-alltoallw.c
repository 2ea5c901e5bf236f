/* about: Alltoallw with a strided datatype on the receiving side, differentiated
 * ranks: 1,2,3
 * expect: ok
 *
 * Every block has a datatype and a place of its own. Gaps keep what the buffer held, so that its
 * cotangent passes through them. */
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
    struct diff_tensor *x =
        diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){2 * (size_t)size}, values);
    struct diff_tensor *square = diff_mul(x, x);

    MPI_Datatype strided, types[RANKS], plain[RANKS];
    MPI_Type_vector(2, 1, 2, MPI_DOUBLE, &strided); /* two values, a gap between them */
    MPI_Type_commit(&strided);
    int ones[RANKS], twos[RANKS], send[RANKS], receive[RANKS];
    for (int r = 0; r < size; r++) {
        types[r] = strided;
        plain[r] = MPI_DOUBLE;
        ones[r] = 1;
        twos[r] = 2;
        send[r] = 2 * r * (int)sizeof(double);
        receive[r] = 4 * r * (int)sizeof(double);
    }
    double before[ROOM] = {0.25, 0.5};
    struct diff_tensor *buffer =
        diff_input(tape, "buffer", DIFF_DOUBLE, 1, (size_t[]){4 * (size_t)size}, before);
    struct diff_call call = {.kind = DIFF_ALLTOALLW,
                             .x = square,
                             .comm = MPI_COMM_WORLD,
                             .send_counts = twos,
                             .send_displacements = send,
                             .send_types = plain,
                             .receive_counts = ones,
                             .receive_displacements = receive,
                             .receive_types = types,
                             .into = buffer};
    struct diff_tensor *y = diff_collective(&call);
    MPI_Type_free(&strided);

    size_t count = diff_count(y);
    struct diff_tensor *weights = diff_constant(tape, DIFF_DOUBLE, 1, &count, weight_values);
    diff_backward(diff_dot(y, weights)); /* J is the sum over ranks */
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}
