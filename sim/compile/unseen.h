/* What an instrumented program calls that reads or writes memory out of sight: functions of libc and
 * of Fortran's that nobody wraps (wrapped.def), and libraries that are not instrumented. */
#ifndef SIM_COMPILE_UNSEEN_H
#define SIM_COMPILE_UNSEEN_H

#include <stddef.h>

/* How many, with the names of the first of them in `text`. */
size_t sim_compiled_unseen(const char *object, char *text, size_t size);

#endif
