/* about: every kind of handle is made and none is freed
 * ranks: 1,2,5,18
 * expect: L003 L004 L005 L006 L011
 * variant: freed; arguments: freed; expect: OK
 *
 * A program that runs for long does this in a loop. Each finding names the line that made the
 * handle; what MPI makes from handles (a type from a type, a communicator with a handler) keeps
 * none of the program's. */
#include <mpi.h>
#include <words.h>

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm comm;
    MPI_Group group, again;
    MPI_Datatype pair, column;
    MPI_Op op;
    MPI_Info info;
    MPI_Errhandler handler;
    int key, rank, sum[8] = {0}, mine[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_group(comm, &group);
    MPI_Comm_group(comm, &again);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_vector(2, 1, 2, pair, &column);
    MPI_Type_commit(&column);
    MPI_Op_create(add, 1, &op);
    MPI_Info_create(&info);
    MPI_Comm_get_errhandler(comm, &handler);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_rank(comm, &rank);
    MPI_Sendrecv(mine, 1, column, rank, 0, sum, 8, MPI_INT, rank, 0, comm, MPI_STATUS_IGNORE);
    MPI_Allreduce(mine, sum, 8, MPI_INT, op, comm);
    if (switch_alone(argc, argv, "form", "leaked", "freed")) {
        MPI_Comm_free_keyval(&key);
        MPI_Info_free(&info);
        MPI_Op_free(&op);
        MPI_Type_free(&column);
        MPI_Type_free(&pair);
        MPI_Group_free(&again);
        MPI_Group_free(&group);
        MPI_Comm_free(&comm);
    }
    MPI_Finalize();
    return 0;
}
