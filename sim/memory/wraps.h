/* Functions of libc that a program calls in the launcher: it is linked with --wrap=NAME, so that its
 * own calls (not a library's) arrive at __wrap_NAME. What moves memory is wrapped in instrumented
 * programs only (flags_wrap_moves in sim/compile/compile.c; cli/simcc has the same list). */
#ifndef SIM_MEMORY_WRAPS_H
#define SIM_MEMORY_WRAPS_H

#include "sim/memory/accesses.h"

#define CALLER __builtin_return_address(0)

#define WRAP(type, name, parameters)                                                               \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters

#define READS(address, size)  sim_access_range(address, size, false, CALLER)
#define WRITES(address, size) sim_access_range(address, size, true, CALLER)

/* What libc calls strtol and its like under C17, and under C23 where it knows that. */
#define C17_AND_C23(type, name)                                                                    \
    type c17_##name(const char *text, char **end, int base) __asm__(#name);                        \
    __attribute__((weak))                                                                          \
    type c23_##name(const char *text, char **end, int base) __asm__("__isoc23_" #name);
C17_AND_C23(long, strtol)
C17_AND_C23(unsigned long, strtoul)
C17_AND_C23(long long, strtoll)
C17_AND_C23(unsigned long long, strtoull)

#endif
