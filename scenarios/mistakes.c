/* about: what is usually meant by a mistake in MPI: one variant per code
 * ranks: 2
 * arguments: none
 * expect: OK
 * variant: root; arguments: root; expect: M002
 * variant: op; arguments: op; expect: M003
 * variant: datatype; arguments: datatype; expect: M004
 * variant: communicator; arguments: communicator; expect: M006
 * variant: signature; arguments: signature; expect: M008
 * variant: truncation; arguments: truncation; expect: M007
 * variant: absent; arguments: absent; ranks: 3; expect: D001
 * variant: twice; arguments: twice; expect: B002
 * variant: poll; arguments: poll; expect: D005
 * variant: request; arguments: request; expect: X006
 * variant: unreceived; arguments: unreceived; expect: D003
 * variant: leak-comm; arguments: leak-comm; expect: L003
 * variant: leak-group; arguments: leak-group; expect: L004
 * variant: leak-type; arguments: leak-type; expect: L005
 * variant: leak-op; arguments: leak-op; expect: L006
 * variant: inactive; arguments: inactive; expect: OK
 * variant: restart; arguments: restart; expect: L010
 * variant: exit; arguments: exit; expect: X002
 * variant: unfinalized; arguments: unfinalized; expect: X008
 * variant: killed; arguments: killed; expect: X007
 * variant: overflow; arguments: overflow; expect: X004
 * variant: nan; arguments: nan; expect: G006
 *
 * The simplest program for each of the codes that no other scenario shows; 'simrun explain CODE' names them. */
#include <diff.h>
#include <math.h>
#include <mpi.h>
#include <signal.h>
#include <unistd.h>
#include <words.h>

static int rank, size, other;
static double x = 1, y = 2;

static void wrong_collective(const char *what)
{
    MPI_Comm copy;
    if (!strcmp(what, "root"))
        MPI_Bcast(&x, 1, MPI_DOUBLE, rank, MPI_COMM_WORLD);
    if (!strcmp(what, "op"))
        MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, rank ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD);
    if (!strcmp(what, "datatype"))
        MPI_Bcast(&x, 2, rank ? MPI_INT : MPI_FLOAT, 0, MPI_COMM_WORLD);
    if (!strcmp(what, "absent") && rank != 1)
        MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(what, "communicator"))
        return;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Barrier(rank ? copy : MPI_COMM_WORLD);
    MPI_Barrier(rank ? MPI_COMM_WORLD : copy);
    MPI_Comm_free(&copy);
}

static void wrong_message(const char *what)
{
    MPI_Request requests[2];
    if (!strcmp(what, "signature")) {
        if (rank)
            MPI_Recv(&x, 2, MPI_FLOAT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Send(&x, 2, MPI_INT, 1, 0, MPI_COMM_WORLD);
    }
    if (!strcmp(what, "truncation")) {
        int two[2] = {1, 2};
        if (rank)
            MPI_Recv(two, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Send(two, 2, MPI_INT, 1, 0, MPI_COMM_WORLD);
    }
    if (!strcmp(what, "twice")) {
        MPI_Irecv(&x, 1, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(&x, 1, MPI_DOUBLE, other, 1, MPI_COMM_WORLD, &requests[1]);
        MPI_Send(&y, 1, MPI_DOUBLE, other, 0, MPI_COMM_WORLD);
        MPI_Send(&y, 1, MPI_DOUBLE, other, 1, MPI_COMM_WORLD);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    if (!strcmp(what, "poll")) {
        int done = 0;
        MPI_Irecv(&x, 1, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, &requests[0]);
        while (!done)
            MPI_Test(&requests[0], &done, MPI_STATUS_IGNORE);
    }
    if (!strcmp(what, "unreceived") && !rank)
        MPI_Send(&x, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
}

static void wrong_request(const char *what)
{
    MPI_Request request = MPI_REQUEST_NULL;
    if (!strcmp(what, "request")) {
        if (rank)
            MPI_Recv(&x, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Isend(&x, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, &request);
    }
    if (!strcmp(what, "inactive"))
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (!strcmp(what, "restart")) {
        MPI_Recv_init(&x, 1, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, &request);
        MPI_Start(&request);
        MPI_Start(&request);
        MPI_Send(&y, 1, MPI_DOUBLE, other, 0, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);
    }
}

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        ((double *)inout)[i] += ((double *)in)[i];
}

static void leak(const char *what)
{
    MPI_Comm comm;
    MPI_Group group;
    MPI_Datatype type;
    MPI_Op op;
    if (!strcmp(what, "leak-comm"))
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (!strcmp(what, "leak-group"))
        MPI_Comm_group(MPI_COMM_WORLD, &group);
    if (!strcmp(what, "leak-type")) {
        MPI_Type_contiguous(4, MPI_DOUBLE, &type);
        MPI_Type_commit(&type);
    }
    if (!strcmp(what, "leak-op"))
        MPI_Op_create(add, 1, &op);
}

static int deep(volatile char *above)
{
    volatile char frame[4096];
    frame[0] = above ? above[0] : 1;
    return frame[0] ? deep(frame) + frame[1] : 0;
}

static void wrong_gradient(void)
{
    double gradient = sqrt(x - 1 - x * 0) * NAN;
    diff_mark_input("x", &x, 1);
    diff_mark_objective(2 * x);
    diff_mark_gradient("x", &gradient, 1);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const char *what = word_alone(argc, argv, "mistake", "none",
                                  "none root op datatype communicator signature truncation absent "
                                  "twice poll request unreceived "
                                  "leak-comm leak-group leak-type leak-op inactive restart exit "
                                  "unfinalized killed overflow nan");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    other = (rank + 1) % size;
    wrong_collective(what);
    wrong_message(what);
    wrong_request(what);
    leak(what);
    if (!strcmp(what, "nan"))
        wrong_gradient();
    if (!strcmp(what, "overflow") && rank)
        return deep(NULL);
    if (!strcmp(what, "killed") && rank)
        kill(getpid(), SIGKILL);
    if (!strcmp(what, "unfinalized") && rank)
        return 0;
    MPI_Finalize();
    return !strcmp(what, "exit");
}
