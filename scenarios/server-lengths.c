/* about: sizes that the ranks of a parameter server must agree on, and do not
 * ranks: 2,4
 * arguments: gatherv stale
 * expect: M005
 * variant: gatherv-exchanged; arguments: gatherv exchanged; expect: OK
 * variant: bcast-stale; arguments: bcast stale; expect: M005
 * variant: bcast-exchanged; arguments: bcast exchanged; expect: OK
 * variant: sixteen-bits; arguments: gatherv sixteen; expect: M005
 * variant: sixteen-bits-small; arguments: gatherv sixteen-small; expect: OK
 *
 * Coded gradients change their size from step to step. A root that gathers with the sizes of the last step, workers that
 * expect the parameters in the length of the last step, or sizes that travel in 16 bits and wrap at 65,536, do not fit
 * what is sent. The sizes must be exchanged first, in a type that holds them. */
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <words.h>

enum { RANKS_MAX = 16, LARGE = 70000 };

/* What the coder makes of this rank's gradient in a step. */
static int coded_size(int rank, int step, int scale)
{
    return scale * (8 + 4 * rank + 2 * step * (rank + 1));
}

static void gather(const char *form, int rank, int size)
{
    int sixteen = !strncmp(form, "sixteen", 7), scale = !strcmp(form, "sixteen") ? LARGE / 8 : 1;
    int sizes[RANKS_MAX] = {0}, places[RANKS_MAX] = {0}, total = 0,
        own = coded_size(rank, 1, scale);
    uint16_t narrow = (uint16_t)own, narrow_sizes[RANKS_MAX] = {0};
    if (!strcmp(form, "exchanged"))
        MPI_Gather(&own, 1, MPI_INT, sizes, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (sixteen)
        MPI_Gather(&narrow, 1, MPI_UINT16_T, narrow_sizes, 1, MPI_UINT16_T, 0, MPI_COMM_WORLD);
    for (int r = 0; r < size; r++) {
        sizes[r] = sixteen                  ? narrow_sizes[r]
                   : !strcmp(form, "stale") ? coded_size(r, 0, scale)
                                            : sizes[r];
        places[r] = total;
        total += sizes[r];
    }
    char *bytes = calloc(1, (size_t)own), *all = calloc(1, (size_t)total + 1);
    MPI_Gatherv(bytes, own, MPI_BYTE, all, sizes, places, MPI_BYTE, 0, MPI_COMM_WORLD);
    free(bytes);
    free(all);
}

static void broadcast(const char *form, int rank)
{
    int length = coded_size(0, rank == 0, 1);
    if (!strcmp(form, "exchanged"))
        MPI_Bcast(&length, 1, MPI_INT, 0, MPI_COMM_WORLD);
    char *bytes = calloc(1, (size_t)length);
    MPI_Bcast(bytes, length, MPI_BYTE, 0, MPI_COMM_WORLD);
    free(bytes);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    bool bcast = switch_of(argc, argv, 1, "operation", "gatherv", "bcast");
    const char *form = word_of(argc, argv, 2, "form", "exchanged",
                               bcast ? "exchanged stale" : "exchanged stale sixteen sixteen-small");
    words_end(argc, argv, 2);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    ranks_at_most(size, RANKS_MAX);
    if (bcast)
        broadcast(form, rank);
    else
        gather(form, rank, size);
    MPI_Finalize();
    return 0;
}
