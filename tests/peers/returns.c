/* A program that looks at return codes: MPI_ERRORS_RETURN, a handler of its own, error strings,
 * codes of its own; it goes on after each error. ranks: 1 2 3 5 */
#include "peer.h"

static int handled, last;

static void handler(MPI_Comm *comm, int *code, ...)
{
    int class;
    (void)comm;
    MPI_Error_class(*code, &class);
    handled++;
    last = class;
}

static int again(int error, const char *what)
{
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    if (error == MPI_SUCCESS) {
        say("%s: success", what);
        return 0;
    }
    MPI_Error_string(error, text, &length);
    say("%s: %s, %s", what, class_name(error), length > 0 ? "with a text" : "without one");
    return 1;
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int x = rank, errors = 0, got[2] = {-1, -1};
    errors += again(MPI_Send(&x, 1, MPI_INT, size, 0, MPI_COMM_WORLD), "a rank too far");
    errors += again(MPI_Send(&x, 1, MPI_INT, 0, -5, MPI_COMM_WORLD), "a negative tag");
    errors += again(MPI_Send(&x, -1, MPI_INT, 0, 0, MPI_COMM_WORLD), "a negative count");
    errors += again(MPI_Bcast(&x, 1, MPI_INT, size + 3, MPI_COMM_WORLD), "a root too far");
    errors += again(MPI_Send(&x, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD), "no type");
    errors += again(MPI_Send(&x, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD), "to nobody");

    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Errhandler mine, found;
    MPI_Comm_create_errhandler(handler, &mine);
    MPI_Comm_set_errhandler(copy, mine);
    MPI_Comm_get_errhandler(copy, &found);
    say("the handler is mine: %d", found == mine);
    MPI_Errhandler_free(&found);
    MPI_Errhandler_free(&mine);
    MPI_Send(&x, 1, MPI_INT, -7, 0, copy);
    say("handled %d: %s", handled, class_name(last));
    MPI_Comm_call_errhandler(copy, MPI_ERR_OTHER);
    say("handled %d: %s", handled, class_name(last));

    /* A message too long for its receive; the next one is whole. */
    int next = (rank + 1) % size, previous = (rank + size - 1) % size, values[2] = {rank, -rank};
    MPI_Request sends[2];
    MPI_Status status;
    MPI_Isend(values, 2, MPI_INT, next, 1, MPI_COMM_WORLD, &sends[0]);
    MPI_Isend(values, 1, MPI_INT, next, 2, MPI_COMM_WORLD, &sends[1]);
    errors += again(MPI_Recv(got, 1, MPI_INT, previous, 1, MPI_COMM_WORLD, &status), "too long");
    errors += again(MPI_Recv(got, 1, MPI_INT, previous, 2, MPI_COMM_WORLD, &status), "as long");
    say("got %d", got[0]);
    MPI_Waitall(2, sends, MPI_STATUSES_IGNORE);

    int class, code, length;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Add_error_class(&class);
    MPI_Add_error_code(class, &code);
    MPI_Add_error_string(code, "the reactor is too hot");
    MPI_Error_string(code, text, &length);
    int of = -1;
    MPI_Error_class(code, &of);
    say("code of my class: %d, '%s', length %d", of == class, text, length);
    say("errors %d", errors);
    MPI_Comm_free(&copy);
    return told();
}
