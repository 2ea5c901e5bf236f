/* For tests of arguments at the borders of what the standard allows: the last that is allowed and the
 * first that is not, with its error class. What is refused changes nothing: in the end the communicator
 * works. */
#ifndef TESTS_MPI_BORDERS_H
#define TESTS_MPI_BORDERS_H

#include "tests/world_harness.h"

#include <limits.h>

static MPI_Comm world = MPI_COMM_WORLD;

static void returning(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
}

static void still_works(int rank, int size)
{
    int sum = -1;
    expect_ok(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, world));
    expect(sum == size * (size - 1) / 2, "the sum is %d", sum);
}

static void borders(const char *name, world_body *body)
{
    world_test_sizes(name, body, WORLD_FIBERS | WORLD_DEFAULT, WORLD_SIZES(1, 2, 3, 5));
}

#endif
