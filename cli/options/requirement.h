/* What a scenario needs besides simrun: the line `requires:` of its head comment.
 *
 * Items separated by blanks: header:fftw3.h, library:fftw3, command:python3, env:NAME,
 * function:MPI_File_open, arch:x86_64, heap:unwatched (no address sanitizer). */
#ifndef CLI_OPTIONS_REQUIREMENT_H
#define CLI_OPTIONS_REQUIREMENT_H

#include "traces/base/failure.h"

#include <stdbool.h>

/* Whether everything a list names is there; FAILURE_REQUIREMENT with the first that is not,
 * FAILURE_INPUT for an item of no kind above. */
bool requirements_met(const char *list, struct failure *failure);
/* The same for the head comment of a source file; true where it has no such line. */
bool requirements_of_file_met(const char *path, struct failure *failure);

#endif
