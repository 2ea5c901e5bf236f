/* What loops of instrumented programs ask before they run without telling their accesses: see
 * compile/loops.cc. */
#ifndef SIM_MEMORY_QUIET_H
#define SIM_MEMORY_QUIET_H

#include <stddef.h>

/* Nonzero: until the calling rank calls MPI, no access of its can be an error. `team`: the code that
 * asks is the body of an OpenMP region, and calls nothing unknown. */
int __simrun_quiet(int team);

/* Nonzero: nor can one to `bytes` bytes at `first` or up to `moves` bytes from there. They are read;
 * written where `bytes` is negative. */
int __simrun_safe(const void *first, ptrdiff_t moves, ptrdiff_t bytes, int team);

#endif
