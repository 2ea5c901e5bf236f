/* about: a parameter server in a window: workers fetch, compute and accumulate their gradients
 * ranks: 2,4
 * arguments: accumulate
 * expect: OK
 * variant: tickets; arguments: tickets; expect: OK
 *
 * The weights lie in rank 0's window. Sums commute, so that the order of the workers does not matter; tickets are drawn by
 * MPI_Fetch_and_op, one each. */
#include <mpi.h>
#include <words.h>

enum { WEIGHTS = 3, STEPS = 4 };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, ranks, tickets = switch_alone(argc, argv, "form", "accumulate", "tickets"), wrong = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    long *weights, gradient[WEIGHTS] = {1, 2, 3}, seen[WEIGHTS], one = 1, ticket = -1;
    MPI_Win window;
    MPI_Win_allocate(rank ? 0 : WEIGHTS * sizeof *weights, sizeof *weights, MPI_INFO_NULL, MPI_COMM_WORLD, &weights,
                     &window);
    MPI_Win_lock_all(0, window);
    for (int step = 0; step < STEPS; step++) {
        if (tickets)
            MPI_Fetch_and_op(&one, &ticket, MPI_LONG, 0, 0, MPI_SUM, window);
        else
            MPI_Accumulate(gradient, WEIGHTS, MPI_LONG, 0, 0, WEIGHTS, MPI_LONG, MPI_SUM, window);
        MPI_Win_flush(0, window);
        wrong |= tickets && (ticket < 0 || ticket >= STEPS * ranks);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Get(seen, WEIGHTS, MPI_LONG, 0, 0, WEIGHTS, MPI_LONG, window);
    MPI_Win_unlock_all(window);
    wrong |= seen[0] != (long)STEPS * ranks || seen[2] != (tickets ? 0 : 3L * STEPS * ranks);
    MPI_Win_free(&window);
    MPI_Finalize();
    return wrong;
}
