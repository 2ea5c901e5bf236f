/* about: groups of every size and place, each with its own collectives
 * ranks: 2,3,4,5,8,16
 * expect: ok
 *
 * All ranges of ranks get a communicator, and use it once: {3} is not {0,1}, whatever their sizes
 * and first ranks add up to. */
#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int stride = 1; stride <= 3; stride++)
        for (int first = 0; first < size; first++)
            for (int last = first; last < size; last += stride) {
                int in = rank >= first && rank <= last && (rank - first) % stride == 0, sum = 0;
                MPI_Comm part;
                MPI_Comm_split(MPI_COMM_WORLD, in ? 0 : MPI_UNDEFINED, rank, &part);
                if (!in)
                    continue;
                MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, part);
                int members = (last - first) / stride + 1;
                if (sum != members * (first + last) / 2)
                    MPI_Abort(MPI_COMM_WORLD, 3);
                MPI_Comm_free(&part);
            }
    MPI_Finalize();
    return 0;
}
