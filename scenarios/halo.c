/* about: a line of ranks that exchange borders with both neighbors, and one that names the wrong neighbor
 * ranks: 2,3,4,5,8
 * expect: eager=OK rendezvous=OK batch=OK
 * variant: nonblocking; arguments: nonblocking; expect: eager=OK rendezvous=OK batch=OK
 * variant: wrong; arguments: wrong; ranks: 4,5; expect: eager=D001 rendezvous=D001 batch=D001
 * variant: wrong-nonblocking; arguments: wrong-nonblocking; ranks: 4,5; expect: eager=D001 rendezvous=D001 batch=D001
 *
 * The ends of the line talk to MPI_PROC_NULL. Rank 2 takes rank 0 for its left neighbor: some of what it waits for has
 * come, the rest never comes, and the ranks before it wait for what it sent elsewhere. */
#include <mpi.h>
#include <words.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const char *form = word_alone(argc, argv, "form", "blocking", "blocking nonblocking wrong wrong-nonblocking");
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double mine = rank, from_left = -1, from_right = -1;
    int left = rank > 0 ? rank - 1 : MPI_PROC_NULL, right = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
    if (rank == 2 && strncmp(form, "wrong", 5) == 0)
        left = 0;
    if (strstr(form, "nonblocking")) {
        MPI_Request requests[4];
        MPI_Irecv(&from_right, 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(&from_left, 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &requests[1]);
        MPI_Isend(&mine, 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &requests[2]);
        MPI_Isend(&mine, 1, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &requests[3]);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    } else {
        MPI_Sendrecv(&mine, 1, MPI_DOUBLE, left, 0, &from_right, 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Sendrecv(&mine, 1, MPI_DOUBLE, right, 1, &from_left, 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    int wrong = from_left != left * (left >= 0) - (left < 0) || from_right != right * (right >= 0) - (right < 0);
    MPI_Finalize();
    return wrong;
}
