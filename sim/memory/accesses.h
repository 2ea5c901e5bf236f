/* Accesses of instrumented programs. */
#ifndef SIM_MEMORY_ACCESSES_H
#define SIM_MEMORY_ACCESSES_H

#include <stdbool.h>
#include <stddef.h>

/* The calling rank's program reads or writes these bytes; also called by compiled programs. */
void sim_access_range(const void *address, size_t size, bool write, const void *site);
/* Whether it can matter what the calling thread reads or writes now. */
bool sim_access_matters(void);

#endif
