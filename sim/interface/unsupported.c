/* unsupported.c: makes every function of the standard exist, implemented or not.
 *
 * From each row of functions.h the assembler makes two entry points of one or two instructions:
 *
 *   PMPI_X  weak: loads the name "MPI_X" as first argument and jumps to sim_error_unsupported. A
 *           real PMPI_X anywhere in the machine is a strong symbol and takes its place.
 *   MPI_X   weak: jumps to whichever PMPI_X was linked. A tool (our recorder, a program's own
 *           wrapper) takes its place by defining MPI_X.
 *
 * Rules:
 *   1. No edit here or in functions.h is needed when a function becomes implemented.
 *   2. A call through MPI_X costs one direct jump more than a call of PMPI_X; arguments, return
 *      address and stack are those of the caller, so the wrong place is never blamed in a
 *      backtrace.
 *   3. Nothing about parameters is known here; they stay in their registers.
 *
 * Written as assembler because a C definition would have to repeat 664 parameter lists, and an
 * alias cannot refer to a symbol of another object file.
 */
#include "sim/interface/unsupported.h"

#include <stdio.h>
#include <string.h>

#include <mpi.h>

#include "sim/interface/entry.h"

#define ROWS ".data.rel.ro.sim_functions, \"aw\", %progbits"

/* The entry point when nobody implements it, and the one that goes to whoever does. */
#define UNSUPPORTED(name)                                                                          \
    ENTRY_FUNCTION(".weak", "PMPI_" name,                                                          \
                   ENTRY_LOAD(".Lname_" name) ENTRY_JUMP("sim_error_unsupported" ENTRY_PLT))
#define THROUGH(name) ENTRY_FUNCTION(".weak", "MPI_" name, ENTRY_JUMP("PMPI_" name ENTRY_PLT))

/* A row {name, what PMPI_X became, what it is when unsupported}. */
#define ROW(name) ".quad .Lname_" name ", PMPI_" name ", .Lunsupported_" name "\n"

#define SIM_FUNCTION(name)                                                                         \
    __asm__(ENTRY_STRING(".Lname_" #name, "MPI_" #name));                                          \
    __asm__(ENTRY_IN(ENTRY_TEXT, ".p2align 4\n.Lunsupported_" #name ":\n" UNSUPPORTED(#name)));    \
    __asm__(ENTRY_IN(ENTRY_TEXT, THROUGH(#name)));                                                 \
    __asm__(ENTRY_IN(ROWS, ROW(#name)));

#define LABEL(symbol) ".p2align 3\n.globl " symbol "\n.hidden " symbol "\n" symbol ":\n"

struct function_row {
    const char *name;
    const void *linked;
    const void *unsupported;
};

__asm__(ENTRY_IN(ROWS, LABEL("sim_function_rows")));
#include "sim/functions.h"
__asm__(ENTRY_IN(ROWS, LABEL("sim_function_rows_end")));

extern const struct function_row sim_function_rows[] __attribute__((visibility("hidden")));
extern const struct function_row sim_function_rows_end[] __attribute__((visibility("hidden")));

static bool row_supported(const struct function_row *row)
{
    return row->linked != row->unsupported;
}

size_t sim_function_count(void)
{
    return (size_t)(sim_function_rows_end - sim_function_rows);
}

size_t sim_unsupported_count(void)
{
    size_t count = 0;
    for (const struct function_row *row = sim_function_rows; row != sim_function_rows_end; row++)
        count += !row_supported(row);
    return count;
}

const char *sim_unsupported_name(size_t i)
{
    for (const struct function_row *row = sim_function_rows; row != sim_function_rows_end; row++)
        if (!row_supported(row) && i-- == 0)
            return row->name;
    return NULL;
}

bool sim_function_supported(const char *name)
{
    name += *name == 'P';
    for (const struct function_row *row = sim_function_rows; row != sim_function_rows_end; row++)
        if (strcmp(row->name, name) == 0)
            return row_supported(row);
    return false;
}

/* Stands in until the machine's error handling is linked. */
__attribute__((weak)) int sim_error_unsupported(const char *name)
{
    fprintf(stderr, "simrun: %s is not supported\n", name);
    return MPI_ERR_UNSUPPORTED_OPERATION;
}
