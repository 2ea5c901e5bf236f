/* about: tokens travel to their experts by an all-to-all with counts
 * ranks: 2,4
 * arguments: disagree
 * expect: eager=M005 rendezvous=M005 batch=M005
 * variant: early-return; arguments: early-return; expect: eager=D001 rendezvous=D001 batch=D001
 * variant: exchanged; arguments: exchanged; expect: eager=OK rendezvous=OK batch=OK
 *
 * Rank r has r + p tokens for the expert of rank p, but the last rank has none at all. The counts must be exchanged, not
 * guessed from the own ones, and a rank without tokens must come all the same. */
#include <mpi.h>
#include <words.h>

enum { RANKS_MAX = 8, TOKENS_MAX = 2 * RANKS_MAX };

static int displace(int size, const int *counts, int *displacements)
{
    int total = 0;
    for (int i = 0; i < size; i++) {
        displacements[i] = total;
        total += counts[i];
    }
    return total;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const char *form =
        word_alone(argc, argv, "form", "exchanged", "exchanged disagree early-return");
    int rank, size, out[RANKS_MAX], in[RANKS_MAX], out_at[RANKS_MAX], in_at[RANKS_MAX];
    static double tokens[RANKS_MAX * TOKENS_MAX], mine[RANKS_MAX * TOKENS_MAX];
    MPI_Comm experts;
    MPI_Comm_dup(MPI_COMM_WORLD, &experts);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    ranks_at_most(size, RANKS_MAX);
    int has_tokens = rank < size - 1;
    for (int i = 0; i < size; i++)
        in[i] = out[i] = has_tokens ? rank + i : 0;
    if (!strcmp(form, "exchanged"))
        MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, experts);
    displace(size, out, out_at);
    displace(size, in, in_at);
    if (has_tokens || strcmp(form, "early-return"))
        MPI_Alltoallv(tokens, out, out_at, MPI_DOUBLE, mine, in, in_at, MPI_DOUBLE, experts);
    MPI_Comm_free(&experts);
    MPI_Finalize();
    return 0;
}
