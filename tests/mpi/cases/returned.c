/* Errors that MPI_ERRORS_RETURN, or a handler of the program's, lets come back, of calls that are no operation: they are found all the
 * same, whatever compiled simrun. Not where the program asks for what need not be there, nor where its own function refuses.
 *
 * CASE 2 type : 1 M009 ~ MPI_Type_commit: MPI_ERR_TYPE
 * CASE 2 rank : 1 M009 ~ MPI_Comm_rank: MPI_ERR_COMM
 * CASE 2 group : 1 M009 ~ MPI_Group_incl: MPI_ERR_
 * CASE 2 count : 1 M009 ~ MPI_Type_contiguous: MPI_ERR_
 * CASE 2 handler : 1 M009 ~ MPI_Type_commit: MPI_ERR_TYPE
 * CASE 2 send : 1 M009 ~ destination 9 is not in a communicator of 2 ranks
 * CASE 2 key : 0
 * CASE 2 refuses : 0
 * CASE 2 nothing : 0
 */
#include <mpi.h>
#include <string.h>

static void let_it_be(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
}

static int refuse(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)key, (void)extra, (void)in, (void)out, (void)flag;
    return MPI_ERR_OTHER;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const char *what = argc > 1 ? argv[1] : "";
    MPI_Errhandler handler = MPI_ERRORS_RETURN;
    if (!strcmp(what, "handler"))
        MPI_Comm_create_errhandler(let_it_be, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Group all, made = MPI_GROUP_NULL;
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Info info;
    int number = 0, beyond = 99;
    char value[8];
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    if (!strcmp(what, "type") || !strcmp(what, "handler"))
        MPI_Type_commit(&type);
    if (!strcmp(what, "rank"))
        MPI_Comm_rank(MPI_COMM_NULL, &number);
    if (!strcmp(what, "group"))
        MPI_Group_incl(all, 1, &beyond, &made);
    if (!strcmp(what, "count"))
        MPI_Type_contiguous(-1, MPI_INT, &type);
    if (!strcmp(what, "send"))
        MPI_Send(&number, 1, MPI_INT, 9, 0, MPI_COMM_WORLD);
    if (!strcmp(what, "key")) {
        MPI_Info_create(&info);
        MPI_Info_delete(info, "nobody's");
        MPI_Info_get(info, "nobody's", 7, value, &number);
        MPI_Info_free(&info);
    }
    if (!strcmp(what, "refuses")) {
        MPI_Comm_create_keyval(refuse, MPI_COMM_NULL_DELETE_FN, &number, NULL);
        MPI_Comm_set_attr(MPI_COMM_SELF, number, NULL);
        MPI_Comm_dup(MPI_COMM_SELF, &copy);
        MPI_Comm_delete_attr(MPI_COMM_SELF, number);
        MPI_Comm_free_keyval(&number);
    }
    MPI_Group_free(&all);
    if (handler != MPI_ERRORS_RETURN)
        MPI_Errhandler_free(&handler);
    MPI_Finalize();
    return 0;
}
