/* The collectives that move data or combine it, by a number: tests draw one, and say what it must do. */
#ifndef TESTS_COLLECTIVE_KINDS_H
#define TESTS_COLLECTIVE_KINDS_H

enum kind {
    BCAST,
    GATHER,
    GATHERV,
    SCATTER,
    SCATTERV,
    ALLGATHER,
    ALLGATHERV,
    ALLTOALL,
    ALLTOALLV,
    ALLTOALLW,
    REDUCE,
    ALLREDUCE,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK,
    SCAN,
    EXSCAN,
    KINDS
};

#endif
