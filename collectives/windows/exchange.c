/* Numbers for other ranks: see exchange.h. */
#include "collectives/windows/exchange.h"

struct exchange exchange_new(struct arena *arena, MPI_Comm comm, int *counts)
{
    struct exchange made = {.arena = arena, .comm = comm, .counts = counts};
    size_t total = 0;
    MPI_Comm_size(comm, &made.size);
    made.begins = arena_take(arena, (size_t)made.size * sizeof *made.begins);
    for (int i = 0; i < made.size; i++) {
        made.begins[i] = (int)total;
        total += (size_t)counts[i];
    }
    made.numbers = arena_take(arena, (total + 1) * sizeof *made.numbers);
    return made;
}

struct exchange exchange_run(const struct exchange *own)
{
    int *counts = arena_take(own->arena, (size_t)own->size * sizeof *counts);
    MPI_Alltoall(own->counts, 1, MPI_INT, counts, 1, MPI_INT, own->comm);
    struct exchange theirs = exchange_new(own->arena, own->comm, counts);
    MPI_Alltoallv(own->numbers, own->counts, own->begins, MPI_UINT64_T, theirs.numbers,
                  theirs.counts, theirs.begins, MPI_UINT64_T, own->comm);
    return theirs;
}
