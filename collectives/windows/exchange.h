/* Numbers that every rank of a communicator has for some others. */
#ifndef COLLECTIVES_WINDOWS_EXCHANGE_H
#define COLLECTIVES_WINDOWS_EXCHANGE_H

#include "collectives/tape/arena.h"

#include <mpi.h>
#include <stdint.h>

/* For, or from, rank i: `counts[i]` numbers from `begins[i]` on. */
struct exchange {
    struct arena *arena;
    MPI_Comm comm;
    int size;
    uint64_t *numbers;
    int *counts, *begins;
};

/* Room for what this rank has: counts are given, and kept. */
struct exchange exchange_new(struct arena *arena, MPI_Comm comm, int *counts);
/* What the others have for this rank. Collective. */
struct exchange exchange_run(const struct exchange *own);

#endif
