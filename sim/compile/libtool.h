/* Programs built with libtool that are not installed yet: what lies in the build folder is a script
 * that starts the program in .libs with its libraries on LD_LIBRARY_PATH. */
#ifndef SIM_COMPILE_LIBTOOL_H
#define SIM_COMPILE_LIBTOOL_H

#include <limits.h>
#include <stdbool.h>

/* Is `path` such a script? Then `program` is what it starts, and LD_LIBRARY_PATH of this process is
 * what the script would make it. */
bool libtool_program(const char *path, char program[PATH_MAX]);

#endif
