/* about: ranks exchange with their neighbours, and all of it runs on one stream of a device
 * ranks: 2,4,18
 * options: --streams device
 * arguments: apart
 * expect: D002
 * variant: one-call; arguments: one-call; expect: OK
 * variant: replaced; arguments: replaced; expect: OK
 * variant: started-once; arguments: started-once; expect: OK
 * variant: own-streams; options: --streams communicator; expect: D002
 *
 * A stream runs one operation after the other. A send and a receive that are given to it apart wait for each other round
 * the ring: each send stands at the front and waits for a receive that stands behind another send. The two halves of one
 * call begin together. */
#include <mpi.h>
#include <words.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const char *form = word_alone(argc, argv, "form", "one-call", "apart one-call replaced started-once");
    int rank, size, mine, from_left = 0;
    MPI_Request requests[2];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    mine = rank;
    if (!strcmp(form, "one-call"))
        MPI_Sendrecv(&mine, 1, MPI_INT, right, 1, &from_left, 1, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!strcmp(form, "replaced"))
        MPI_Sendrecv_replace(&mine, 1, MPI_INT, right, 1, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!strcmp(form, "started-once")) {
        MPI_Isendrecv(&mine, 1, MPI_INT, right, 1, &from_left, 1, MPI_INT, left, 1, MPI_COMM_WORLD, requests);
        MPI_Wait(requests, MPI_STATUS_IGNORE);
    }
    if (!strcmp(form, "apart")) {
        MPI_Isend(&mine, 1, MPI_INT, right, 1, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(&from_left, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
