/* unsupported.h: which MPI functions this machine does not provide.
 *
 * Every function of the standard can be called; one without an implementation raises
 * MPI_ERR_UNSUPPORTED_OPERATION through the error handler, naming itself. Whether a function is
 * implemented is decided by the linker, not by a list that somebody has to keep.
 */
#ifndef SIM_INTERFACE_UNSUPPORTED_H
#define SIM_INTERFACE_UNSUPPORTED_H

#include <stdbool.h>
#include <stddef.h>

/* Functions of the standard, and those of them that are unsupported. */
size_t sim_function_count(void);
size_t sim_unsupported_count(void);

/* Name ("MPI_File_open") of the i-th unsupported function in the order of mpi.h; NULL past the end.
 * The text is constant. */
const char *sim_unsupported_name(size_t i);

/* Whether `name` (with MPI_ or PMPI_) is a function of the standard that is implemented here. */
bool sim_function_supported(const char *name);

/* Raises MPI_ERR_UNSUPPORTED_OPERATION for the calling rank, with a sentence naming `name`. Returns
 * the error code to hand to the program, unless the error handler ends the rank. */
int sim_error_unsupported(const char *name);

#endif
