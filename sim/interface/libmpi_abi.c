/* libmpi_abi.c: what programs link against outside of simrun. Not part of simrun itself.
 *
 * A shared library with the soname the MPI ABI prescribes and every symbol of mpi.h, mpix.h and
 * diff.h, but no MPI in it. Under simrun the machine's symbols come first and this library is never
 * called. When such a program is started by itself, its first MPI call says in one sentence how to
 * run it, and the process ends with status 3 (input unusable).
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "sim/interface/entry.h"

__attribute__((visibility("hidden"), noreturn)) void stub_called(const char *function);

#define STUB(name, symbol)                                                                         \
    __asm__(ENTRY_IN(                                                                              \
        ENTRY_TEXT,                                                                                \
        ENTRY_FUNCTION(".globl", symbol, ENTRY_LOAD(".Lname_" name) ENTRY_JUMP("stub_called"))))

#define SIM_FUNCTION(name)                                                                         \
    __asm__(ENTRY_STRING(".Lname_MPI_" #name, "MPI_" #name));                                      \
    STUB("MPI_" #name, "MPI_" #name);                                                              \
    STUB("MPI_" #name, "PMPI_" #name);
#include "sim/functions.h"

#define SIM_EXTENSION(name)                                                                        \
    __asm__(ENTRY_STRING(".Lname_" #name, #name));                                                 \
    STUB(#name, #name);
#include "extensions.h"

void stub_called(const char *function)
{
    const char *program = program_invocation_name;
    fprintf(stderr,
            "%s: called %s, but this program's MPI is provided by simrun: run it with "
            "`simrun -n N %s`.\n",
            program, function, program);
    fflush(stdout);
    _exit(3);
}
