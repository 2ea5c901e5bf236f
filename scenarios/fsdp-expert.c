/* about: sharded parameters of an expert are gathered where the expert runs, and on one rank it does not
 * ranks: 2,4
 * arguments: skip
 * expect: eager=D001 rendezvous=D001 batch=D001
 * variant: reduce; arguments: skip-then-reduce; expect: eager=M001 rendezvous=M001 batch=M001
 * variant: always; arguments: always; expect: eager=OK rendezvous=OK batch=OK
 *
 * No token was routed to the last rank's expert, so it never asks for the shards. The others wait for its shard, or meet
 * whatever collective it does next. Every rank must gather, with tokens or without. */
#include <mpi.h>
#include <words.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const char *form = word_alone(argc, argv, "form", "always", "always skip skip-then-reduce");
    int rank, size;
    MPI_Comm experts;
    MPI_Comm_dup(MPI_COMM_WORLD, &experts);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int has_tokens = rank < size - 1;
    double shard = 1.0 + rank, weights[64] = {0}, sum = 0, loss = 0;
    ranks_at_most(size, (int)(sizeof weights / sizeof *weights));
    if (has_tokens || !strcmp(form, "always"))
        MPI_Allgather(&shard, 1, MPI_DOUBLE, weights, 1, MPI_DOUBLE, experts);
    for (int i = 0; has_tokens && i < size; i++)
        loss += weights[i];
    if (strcmp(form, "skip"))
        MPI_Allreduce(&loss, &sum, 1, MPI_DOUBLE, MPI_SUM, experts);
    MPI_Comm_free(&experts);
    MPI_Finalize();
    return 0;
}
