/* What a person types who is used to another MPI's mpirun: what it means there, and what to type here. */
#ifndef CLI_OPTIONS_OF_MPIRUN_H
#define CLI_OPTIONS_OF_MPIRUN_H

#include <stdbool.h>

/* What to do instead of an option of mpirun's that simrun does not have; NULL: it is none of those. */
const char *of_mpirun_option(const char *word);

/* Where words[at] is to run and starts another program, or is followed by a second one of mpirun's
 * (":"), says so on stderr. A file or scenario of the name is not meant. */
bool of_mpirun_tell(int count, char **words, int at);

#endif
