/* about: tensor and data parallel groups on a 2x2 grid, entered in an order that goes round in a circle
 * ranks: 4
 * arguments: cycle
 * expect: eager=D001 rendezvous=D001 batch=D001
 * variant: ordered; arguments: ordered; expect: eager=OK rendezvous=OK batch=OK
 *
 * Each rank is in one row and one column. Each of the four groups has one rank that came and one that is in another
 * group: no two ranks wait for each other, all four do. */
#include <mpi.h>
#include <words.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm groups[2];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &groups[0]);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &groups[1]);
    int turned = switch_alone(argc, argv, "form", "ordered", "cycle") && (rank == 1 || rank == 2);
    double activation = 1.0 + rank, sums[2];
    for (int i = 0; i < 2; i++)
        MPI_Allreduce(&activation, &sums[i], 1, MPI_DOUBLE, MPI_SUM, groups[turned ? 1 - i : i]);
    MPI_Comm_free(&groups[0]);
    MPI_Comm_free(&groups[1]);
    MPI_Finalize();
    return 0;
}
