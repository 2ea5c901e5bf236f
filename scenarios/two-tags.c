/* about: two messages with different tags from rank 0 to rank 1, whose adjoints only data order
 * ranks: 2
 * options: --order data
 * expect: eager=D002 rendezvous=D002 batch=D002
 * variant: program; options: --order program; expect: OK
 *
 * With buffering either order works. Without, rank 1 may send the cotangent of the one message while rank 0 waits for
 * that of the other. An eager run does not hang in any order; it reports what the other progress models would do. */
#include <diff.h>
#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double first[2] = {0.5 + rank, 1.5}, second[2] = {2.0, 0.25};
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){2}, first);
    struct diff_tensor *y = diff_input(tape, "y", DIFF_DOUBLE, 1, (size_t[]){2}, second);
    if (rank == 0) {
        struct diff_tensor *a = diff_send(x, 1, 5, MPI_COMM_WORLD);
        struct diff_tensor *b = diff_send(y, 1, 6, MPI_COMM_WORLD);
        diff_backward(diff_join(diff_sum(x), 2, (struct diff_tensor *[]){a, b}));
    } else {
        struct diff_tensor *a = diff_recv(diff_neg(x), 0, 5, MPI_COMM_WORLD);
        struct diff_tensor *b = diff_recv(diff_neg(y), 0, 6, MPI_COMM_WORLD);
        diff_backward(diff_add(diff_dot(a, a), diff_scale(diff_dot(b, b), 3)));
    }
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}
