/* One mistake, told once, and two that are alike at two places, told twice: see once.t. */
#include <mpi.h>
#include <string.h>
#define W MPI_COMM_WORLD

static int rank, size, x, y, z[4];
static MPI_Status s;
static MPI_Request q;
static const char *what;

static int is(const char *word)
{
    return !strcmp(what, word);
}

static void hangs(void)
{
    if (is("mutual") && rank == 0)
        MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 0, W, &s);
    if (is("mutual") && rank == 1)
        MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 1, W, &s);
    if (is("probe") && rank == 0)
        MPI_Probe(MPI_ANY_SOURCE, 0, W, &s);
    if (is("probe") && rank == 1)
        MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 1, W, &s);
    if (is("only-waits") && rank == 0)
        MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 0, W, &s);
    if (is("only-waits") && rank == 1)
        MPI_Recv(&x, 1, MPI_INT, size - 1, 1, W, &s);
    if (is("two-named") && rank == 0)
        MPI_Recv(&x, 1, MPI_INT, size - 1, 0, W, &s);
    if (is("two-named") && rank == 1)
        MPI_Recv(&x, 1, MPI_INT, size - 1, 1, W, &s);
    if (is("two-teams")) {
        MPI_Comm team;
        MPI_Comm_split(W, rank < size / 2, rank, &team);
        if (rank < size / 2)
            MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 0, team, &s);
        else
            MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 5, team, &s);
    }
}

static void mistakes(void)
{
    MPI_Comm_set_errhandler(W, MPI_ERRORS_RETURN);
    if (is("pending")) {
        if (rank == 0) {
            MPI_Isend(&x, 1, MPI_INT, 1, 0, W, &q);
            MPI_Isend(&y, 1, MPI_INT, 1, 0, W, &q);
        } else if (rank == 1) {
            for (int i = 0; i < 2; i++)
                MPI_Recv(&x, 1, MPI_INT, 0, 0, W, &s);
        }
    }
    if (is("longer")) {
        for (int i = 0; i < 2 && rank == 0; i++)
            MPI_Send(z, 4, MPI_INT, 1, 0, W);
        if (rank == 1) {
            MPI_Recv(&x, 1, MPI_INT, 0, 0, W, &s);
            MPI_Recv(&x, 1, MPI_INT, 0, 0, W, &s);
        }
    }
    if (is("changed")) {
        if (rank == 0) {
            MPI_Isend(&x, 1, MPI_INT, 1, 0, W, &q);
            x = 1;
            MPI_Wait(&q, &s);
            MPI_Isend(&y, 1, MPI_INT, 1, 0, W, &q);
            y = 1;
            MPI_Wait(&q, &s);
        } else if (rank == 1) {
            for (int i = 0; i < 2; i++)
                MPI_Recv(&x, 1, MPI_INT, 0, 0, W, &s);
        }
    }
    if (is("lost") && rank == 0) {
        MPI_Send(&x, 1, MPI_INT, 1, 0, W);
        MPI_Send(&x, 1, MPI_INT, 1, 0, W);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(W, &rank);
    MPI_Comm_size(W, &size);
    what = argv[1];
    hangs();
    mistakes();
    MPI_Finalize();
    return 0;
}
