/* A session that is not finalised is a leak, with and without MPI_Init.
 *
 * CASE 2 all : 0
 * CASE 2 all world : 0
 * CASE 2 first : 0 L011 ~ a session is never freed
 * CASE 2 second : 0 L011 ~ a session is never freed
 * CASE 2 second world : 0 L011 ~ a session is never freed
 */
#include <mpi.h>
#include <string.h>

int main(int argc, char **argv)
{
    MPI_Session first, second;
    if (argc > 2)
        MPI_Init(&argc, &argv);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &first);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &second);
    if (strcmp(argv[1], "first") != 0)
        MPI_Session_finalize(&first);
    if (strcmp(argv[1], "second") != 0)
        MPI_Session_finalize(&second);
    if (argc > 2)
        MPI_Finalize();
    return 0;
}
