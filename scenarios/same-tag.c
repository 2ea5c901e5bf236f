/* about: two messages with the same tag from rank 0 to rank 1, whose adjoints only data order
 * ranks: 2
 * options: --order data
 * arguments: unordered
 * expect: R002
 * variant: reversed; arguments: reversed; expect: OK
 * variant: one-reversed; arguments: one-reversed; expect: R004
 * variant: program; arguments: unordered; options: --order program; expect: OK
 *
 * The cotangents travel back as two messages that only their order tells apart. Free on both sides they may swap. With
 * the sender's side reversed and the receiver's not they always do. */
#include <diff.h>
#include <mpi.h>
#include <words.h>

static struct diff_tensor *send_both(struct diff_tensor *x, struct diff_tensor *y, int ordered)
{
    struct diff_tensor *sent[2];
    sent[0] = diff_send(x, 1, 5, MPI_COMM_WORLD);
    sent[1] = diff_send(ordered ? diff_join(y, 1, &sent[0]) : y, 1, 5, MPI_COMM_WORLD);
    return diff_join(diff_sum(x), 2, sent);
}

/* Nonblocking, since the adjoint of a receive starts its message at the wait: the order of waits decides. */
static struct diff_tensor *receive_both(struct diff_tensor *x, struct diff_tensor *y, const char *form)
{
    struct diff_tensor *first = diff_irecv(diff_neg(x), 0, 5, MPI_COMM_WORLD);
    struct diff_tensor *second = diff_irecv(diff_neg(y), 0, 5, MPI_COMM_WORLD), *a, *b;
    if (!strcmp(form, "one-reversed")) {
        b = diff_wait(second);
        a = diff_wait(diff_join_handle(first, 1, &b));
    } else {
        a = diff_wait(first);
        b = diff_wait(strcmp(form, "reversed") ? second : diff_join_handle(second, 1, &a));
    }
    return diff_add(diff_dot(a, a), diff_scale(diff_dot(b, b), 3));
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const char *form = word_alone(argc, argv, "form", "unordered", "unordered reversed one-reversed");
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double first[2] = {0.5 + rank, 1.5}, second[2] = {2.0, 0.25};
    struct diff_tape *tape = diff_tape_new(MPI_COMM_WORLD);
    struct diff_tensor *x = diff_input(tape, "x", DIFF_DOUBLE, 1, (size_t[]){2}, first);
    struct diff_tensor *y = diff_input(tape, "y", DIFF_DOUBLE, 1, (size_t[]){2}, second);
    diff_backward(rank == 0 ? send_both(x, y, strcmp(form, "unordered")) : receive_both(x, y, form));
    diff_tape_free(tape);
    MPI_Finalize();
    return 0;
}
