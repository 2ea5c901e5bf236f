/* What ulfm.c and ulfm_windows.c share: rank 1 dies by its own hand, the others say what they get. */
#include <mpi-ext.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEAD = 1 };
static int rank, size;
static MPI_Comm world = MPI_COMM_WORLD;

static const char *name(int code)
{
    int class;
    MPI_Error_class(code, &class);
    return class == MPI_SUCCESS                    ? "success"
           : class == MPIX_ERR_PROC_FAILED         ? "failed"
           : class == MPIX_ERR_PROC_FAILED_PENDING ? "pending"
           : class == MPIX_ERR_REVOKED             ? "revoked"
           : class == MPI_ERR_IN_STATUS            ? "in-status"
           : class == MPI_ERR_PENDING              ? "still-pending"
                                                   : "another";
}

static void say(const char *what, int code)
{
    printf("rank %d %s %s\n", rank, what, name(code));
}

static void die_here(void)
{
    if (rank == DEAD)
        raise(SIGKILL);
}

/* Whoever comes behind it knows of the death: the receive waits for it. */
static void after_death(void)
{
    int none;
    die_here();
    MPI_Recv(&none, 1, MPI_INT, DEAD, 99, world, MPI_STATUS_IGNORE);
}

struct rule {
    const char *word;
    void (*run)(void);
};

static int run_rule(int argc, char **argv, const struct rule *rules, size_t count)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    if (argc < 3 || strcmp(argv[2], "fatal") != 0)
        MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    for (size_t i = 0; i < count; i++)
        if (argc > 1 && strcmp(argv[1], rules[i].word) == 0)
            rules[i].run();
    return MPI_Finalize();
}
