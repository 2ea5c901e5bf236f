/* Info objects, error handlers and sessions may be freed after MPI_Finalize (MPI-4.1, 11.4.1); what is not freed then is a leak. A datatype
 * may not: it is told at Finalize.
 *
 * CASE 2 - : 0
 * CASE 2 i : 0 L011 ~ an info object is never freed
 * CASE 2 e : 0 L011 ~ an error handler is never freed
 * CASE 2 s : 0 L011 ~ a session is never freed
 * CASE 2 d : 0 L005 ~ a datatype is never freed
 * CASE 2 n : 0
 * CASE 2 ni : 0 L011 ~ an info object is never freed
 */
#include <mpi.h>
#include <string.h>

static void handle(MPI_Comm *comm, int *error, ...)
{
    (void)comm, (void)error;
}

int main(int argc, char **argv)
{
    MPI_Info before, copy;
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_Session session = MPI_SESSION_NULL;
    MPI_Datatype type;
    const char *left = argv[1];
    MPI_Info_create(&before);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Info_dup(before, &copy);
    if (!strchr(left, 'n')) {
        MPI_Init(&argc, &argv);
        MPI_Comm_create_errhandler(handle, &handler);
        MPI_Type_contiguous(2, MPI_INT, &type);
        if (!strchr(left, 'd'))
            MPI_Type_free(&type);
        MPI_Finalize();
    }
    MPI_Info_free(&before);
    if (!strchr(left, 'i'))
        MPI_Info_free(&copy);
    if (handler != MPI_ERRHANDLER_NULL && !strchr(left, 'e'))
        MPI_Errhandler_free(&handler);
    if (!strchr(left, 's'))
        MPI_Session_finalize(&session);
    return 0;
}
