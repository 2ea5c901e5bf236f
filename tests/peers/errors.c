/* The error classes of wrong calls, where the standard leaves no choice, and error handlers. */
#include "peer.h"

static void check(const char *what, int code)
{
    say("%s: %s", what, class_name(code));
}

static int handled;

static void handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    handled++;
    say("the handler sees %s", class_name(*code));
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm made;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Datatype type;
    int value = 0, got = 0;
    check("send to a rank too high", MPI_Send(&value, 1, MPI_INT, size, 0, MPI_COMM_WORLD));
    check("send to a negative rank", MPI_Send(&value, 1, MPI_INT, -77, 0, MPI_COMM_WORLD));
    check("receive from a rank too high",
          MPI_Recv(&value, 1, MPI_INT, size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    check("send with a negative count", MPI_Send(&value, -1, MPI_INT, rank, 0, MPI_COMM_WORLD));
    check("send with a negative tag", MPI_Send(&value, 1, MPI_INT, rank, -77, MPI_COMM_WORLD));
    check("send of no type", MPI_Send(&value, 1, MPI_DATATYPE_NULL, rank, 0, MPI_COMM_WORLD));
    check("probe a rank too high", MPI_Probe(size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    check("bcast from a root too high", MPI_Bcast(&value, 1, MPI_INT, size, MPI_COMM_WORLD));
    check("bcast with a negative count", MPI_Bcast(&value, -1, MPI_INT, 0, MPI_COMM_WORLD));
    check("reduce with no op",
          MPI_Allreduce(&value, &got, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD));
    check("start nothing", MPI_Start(&request));
    MPI_Type_contiguous(2, MPI_INT, &type);
    check("send of an uncommitted type", MPI_Send(&value, 1, type, rank, 0, MPI_COMM_WORLD));
    MPI_Type_free(&type);
    check("contiguous of a negative count", MPI_Type_contiguous(-1, MPI_INT, &type) == MPI_SUCCESS);
    check("coordinates without a grid", MPI_Cart_coords(MPI_COMM_WORLD, 0, 1, &got));
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    MPI_Errhandler own;
    MPI_Comm_create_errhandler(handler, &own);
    MPI_Comm_set_errhandler(made, own);
    MPI_Errhandler_free(&own);
    check("in a copy with a handler", MPI_Send(&value, 1, MPI_INT, size, 0, made));
    MPI_Comm copy;
    MPI_Comm_dup(made, &copy);
    check("in the copy's copy", MPI_Send(&value, 1, MPI_INT, size, 0, copy));
    MPI_Comm_call_errhandler(made, MPI_ERR_ARG);
    say("handled %d", handled);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&made);
    int class, code, found;
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Add_error_class(&class);
    MPI_Add_error_code(class, &code);
    MPI_Add_error_string(code, "dry");
    MPI_Error_class(code, &found);
    MPI_Error_string(code, text, &length);
    say("own class %d, text %s of %d", found == class, text, length);
    return told();
}
