/* Reductions that Open MPI's library for C++ calls for a program: see cxx.c. */
#ifndef SIM_SHIMS_CXX_H
#define SIM_SHIMS_CXX_H

#include <stdbool.h>

enum { SHIM_FUNCTIONS = 64 };

typedef void shim_function(void);

#ifdef SHIM_OPENMPI
/* It is that library's function, the same for all operations: each gets a place of its own. */
bool shim_cxx_intercepts(shim_function *function);
void shim_cxx_made(int place);
/* False: the operation at this place is none of those. */
bool shim_cxx_call(int place, void *in, void *inout, int *count, void *type);
#else
#define shim_cxx_intercepts(function)                false
#define shim_cxx_made(place)                         (void)(place)
#define shim_cxx_call(place, in, inout, count, type) false
#endif

#endif
