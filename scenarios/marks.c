/* about: a hand-written adjoint with marks: local, Allreduce, ring, loss
 * ranks: 1,2,3,4,16
 * expect: ok
 * variant: wrong-ring; arguments: ring; ranks: 3,4,16; expect: G001
 * variant: wrong-sum; arguments: sum; ranks: 2,3,16; expect: G001
 * variant: wrong-local; arguments: local; ranks: 1,4; expect: G001
 *
 * No tape: the program computes its adjoint by itself and marks its input, its objective and its
 * gradients. Marks of what lies between tell which operation's adjoint is the first wrong one. */
#include <diff.h>
#include <mpi.h>
#include <words.h>

enum { N = 3 };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const char *wrong = word_alone(argc, argv, "wrong adjoint", "none", "none ring sum local");
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;

    double x[N], squares[N], sums[N], moved[N], loss = 0;
    for (int i = 0; i < N; i++)
        x[i] = 0.5 + 0.3 * i - 0.2 * rank;
    diff_mark_input("x", x, N);
    for (int i = 0; i < N; i++)
        squares[i] = x[i] * x[i];
    diff_mark_input("squares", squares, N);
    MPI_Allreduce(squares, sums, N, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < N; i++)
        sums[i] *= 1 + rank;
    diff_mark_input("sums", sums, N);
    MPI_Sendrecv(sums, N, MPI_DOUBLE, right, 0, moved, N, MPI_DOUBLE, left, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    diff_mark_input("moved", moved, N);
    for (int i = 0; i < N; i++)
        loss += (1 + 0.5 * rank - i) * moved[i] * moved[i];
    diff_mark_objective(loss);

    double moved_bar[N], sums_bar[N], own[N], squares_bar[N], x_bar[N];
    for (int i = 0; i < N; i++)
        moved_bar[i] = 2 * (1 + 0.5 * rank - i) * moved[i];
    diff_mark_gradient("moved", moved_bar, N);
    int forwards = strcmp(wrong, "ring") == 0; /* the way the values went, instead of back */
    int to = forwards ? right : left, from = forwards ? left : right;
    MPI_Sendrecv(moved_bar, N, MPI_DOUBLE, to, 1, sums_bar, N, MPI_DOUBLE, from, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    diff_mark_gradient("sums", sums_bar, N);
    for (int i = 0; i < N; i++)
        own[i] = (1 + rank) * sums_bar[i];
    if (strcmp(wrong, "sum") == 0) /* the identity instead of the sum over all ranks' copies */
        memcpy(squares_bar, own, sizeof own);
    else
        MPI_Allreduce(own, squares_bar, N, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    diff_mark_gradient("squares", squares_bar, N);
    for (int i = 0; i < N; i++)
        x_bar[i] = (strcmp(wrong, "local") == 0 ? 1 : 2) * x[i] * squares_bar[i];
    diff_mark_gradient("x", x_bar, N);
    MPI_Finalize();
    return 0;
}
