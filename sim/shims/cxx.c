/* What Open MPI 4's library for C++ (libmpi_cxx.so.40) asks of its C library beside the functions of MPI. Every program that its mpicxx
 * links names that library, whether it uses the old classes or not; it is taken as it is, and finds this.
 *
 * Reductions of a program's own are called by it, which is given the program's function as a fifth argument. Not here: error handlers,
 * attributes and data representations made by those classes. */
#include "sim/shims/cxx.h"

#include <stdio.h>
#include <stdlib.h>

typedef void intercepting(void *in, void *inout, int *count, void *type, shim_function *function);
intercepting ompi_mpi_cxx_op_intercept __attribute__((weak));

/* By place among the reductions: what the program gave. */
static shim_function *given[SHIM_FUNCTIONS];
static int last = -1;

bool shim_cxx_intercepts(shim_function *function)
{
    return ompi_mpi_cxx_op_intercept && function == (shim_function *)ompi_mpi_cxx_op_intercept;
}

void shim_cxx_made(int place)
{
    last = place;
}

bool shim_cxx_call(int place, void *in, void *inout, int *count, void *type)
{
    if (!given[place])
        return false;
    ompi_mpi_cxx_op_intercept(in, inout, count, type, given[place]);
    return true;
}

#define EXPORTED __attribute__((visibility("default")))

/* Follows the making of the operation, in the same call of the program's. */
EXPORTED void ompi_op_set_cxx_callback(void *op, shim_function *function);
void ompi_op_set_cxx_callback(void *op, shim_function *function)
{
    (void)op;
    if (last >= 0)
        given[last] = function;
    last = -1;
}

/* Objects of its own that it looks at: none of them holds anything. */
EXPORTED int ompi_errcode_intern_lastused, opal_class_init_epoch = 1;
EXPORTED bool opal_uses_threads;
EXPORTED void *ompi_errcodes_intern[15], *ompi_registered_datareps[8], *opal_list_item_t_class[8],
    *ompi_mpi_errors_throw_exceptions[128];

EXPORTED void opal_class_initialize(void *class);
void opal_class_initialize(void *class)
{
    (void)class;
}

static _Noreturn void refuse(const char *what)
{
    fprintf(stderr,
            "simrun: %s by Open MPI's C++ classes: not supported in a program built for it; build "
            "it with simc++, with the functions of C\n",
            what);
    fflush(NULL);
    abort();
}

#define REFUSED(name, what)                                                                        \
    EXPORTED int name(void);                                                                       \
    int name(void)                                                                                 \
    {                                                                                              \
        refuse(what);                                                                              \
    }
REFUSED(ompi_attr_create_keyval, "attributes")
REFUSED(ompi_errhandler_create, "an error handler")
REFUSED(ompi_errhandler_invoke, "an error handler")
REFUSED(MPI_Register_datarep, "a data representation")
