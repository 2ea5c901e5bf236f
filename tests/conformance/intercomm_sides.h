/* intercomm_sides.h: an intercommunicator for tests of them. */
#ifndef TESTS_CONFORMANCE_INTERCOMM_SIDES_H
#define TESTS_CONFORMANCE_INTERCOMM_SIDES_H

#include "tests/world_harness.h"

/* The even ranks on one side, the odd ones on the other; led by their last and first. */
struct sides {
    MPI_Comm local, across;
    int rank, size, remote;
    bool odd;
};

static inline struct sides sides_make(int rank, int size)
{
    struct sides sides = {.odd = rank % 2, .remote = -1};
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &sides.local);
    MPI_Comm_rank(sides.local, &sides.rank);
    MPI_Comm_size(sides.local, &sides.size);
    int last_even = (size - 1) / 2 * 2;
    expect_ok(MPI_Intercomm_create(sides.local, sides.odd ? 0 : sides.size - 1, MPI_COMM_WORLD,
                                   sides.odd ? last_even : 1, 12, &sides.across));
    expect_ok(MPI_Comm_remote_size(sides.across, &sides.remote));
    return sides;
}

static inline void sides_free(struct sides *sides)
{
    MPI_Comm_free(&sides->across);
    MPI_Comm_free(&sides->local);
}

/* World rank of a rank of the other side, and of the own. */
static inline int world_across(const struct sides *sides, int rank)
{
    return 2 * rank + !sides->odd;
}

#endif
