/* about: gradient buckets are reduced as they become ready, which need not be in the same order on every rank
 * ranks: 2,4
 * arguments: sizes
 * expect: eager=M005 rendezvous=M005 batch=M005
 * variant: order; arguments: order; expect: eager=R002 rendezvous=R002 batch=R002
 * variant: skip; arguments: skip; expect: eager=D001 rendezvous=D001 batch=D001
 * variant: fixed; arguments: fixed; expect: eager=OK rendezvous=OK batch=OK
 *
 * Buckets of different sizes do not fit together. Buckets of equal sizes do, and gradients of different layers are added:
 * MPI cannot tell, only the names of the buckets can. A rank on which a layer took no part skips its bucket and leaves
 * the others waiting. */
#include <mpi.h>
#include <mpix.h>
#include <words.h>

enum { BUCKETS = 3, BUCKET_ROOM = 8 };

static void reduce(MPI_Comm comm, int bucket, int count)
{
    static const char *const names[BUCKETS] = {"head", "body", "embedding"};
    double gradient[BUCKET_ROOM] = {bucket}, sum[BUCKET_ROOM];
    SIM_Tensor_name(names[bucket]);
    MPI_Allreduce(gradient, sum, count, MPI_DOUBLE, MPI_SUM, comm);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const char *form = word_alone(argc, argv, "form", "fixed", "fixed sizes order skip");
    int rank, count = BUCKETS, order[BUCKETS] = {0, 1, 2};
    MPI_Comm replicas;
    MPI_Comm_dup(MPI_COMM_WORLD, &replicas);
    MPI_Comm_rank(replicas, &rank);
    if (rank == 1 && (!strcmp(form, "sizes") || !strcmp(form, "order"))) {
        order[0] = 1;
        order[1] = 0;
    }
    if (rank == 1 && !strcmp(form, "skip"))
        count--; /* the embedding saw no token */
    for (int i = 0; i < count; i++)
        reduce(replicas, order[i], strcmp(form, "sizes") ? 4 : 2 + 2 * order[i]);
    MPI_Comm_free(&replicas);
    MPI_Finalize();
    return 0;
}
