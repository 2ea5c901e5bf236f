/* about: communicators of two neighbours, made of a group that each of them lists in its own order
 * ranks: 2,4,18
 * expect: M009
 * variant: agreed; arguments: agreed; expect: OK
 * variant: left-out; arguments: left-out; ranks: 4; expect: M009
 *
 * Whoever is in a group must give that group, in that order. Each rank lists itself first here, so
 * that both would be rank 0. Left out: one of them believes it is alone. */
#include <mpi.h>
#include <words.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *way = word_alone(argc, argv, "way", "crossed", "crossed agreed left-out");
    int neighbour = rank ^ 1, members[2] = {rank, neighbour}, count = 2;
    if (strcmp(way, "crossed") != 0 && neighbour < rank) {
        members[0] = neighbour;
        members[1] = rank;
    }
    if (strcmp(way, "left-out") == 0 && rank == size - 1)
        members[0] = members[--count];
    MPI_Group world, mine;
    MPI_Comm pair;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, count, members, &mine);
    MPI_Comm_create(MPI_COMM_WORLD, mine, &pair);
    MPI_Group_free(&mine);
    MPI_Group_free(&world);
    if (pair != MPI_COMM_NULL)
        MPI_Comm_free(&pair);
    MPI_Finalize();
    return 0;
}
