/* about: values that leave the tape: gathered by a call the tape does not know, or detached
 * ranks: 2,3
 * expect: G001
 * variant: detached; arguments: detached; expect: G001
 * variant: taped; arguments: taped; expect: OK
 *
 * The last rank's loss depends on every rank's squares, but what it was computed from is a constant
 * to the tape. */
#include <diff.h>
#include <mpi.h>
#include <string.h>
#include <words.h>

enum { COUNT = 2, RANKS_MAX = 16 };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const char *form = word_alone(argc, argv, "form", "raw", "raw detached taped");
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    ranks_at_most(size, RANKS_MAX);
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    double values[COUNT] = {1.0 + rank, 2.0 - 0.5 * rank}, all[COUNT * RANKS_MAX];
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){COUNT}, values);
    struct diff_tensor *square = diff_mul(x, x), *gathered;
    if (!strcmp(form, "raw")) {
        MPI_Gather(diff_values(square), COUNT, MPI_DOUBLE, all, COUNT, MPI_DOUBLE, size - 1,
                   MPI_COMM_WORLD);
        size_t count = rank == size - 1 ? (size_t)(COUNT * size) : 0;
        gathered = diff_constant(tape, DIFF_DOUBLE, 1, &count, all);
    } else {
        gathered = diff_gather(strcmp(form, "taped") ? diff_detach(square) : square, size - 1,
                               MPI_COMM_WORLD);
    }
    diff_backward(diff_scale_by(diff_sum(x), diff_sum(gathered)));
    diff_tape_free(tape);
    MPI_Finalize();
}
