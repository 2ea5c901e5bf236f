/* What the recorder tells the machine's memory checks about blocking calls, whose buffers matter
 * only while they run. Defined by sim/memory/memory.c; without effect in the preloaded recorder. */
#ifndef RECORDER_MEMORY_H
#define RECORDER_MEMORY_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_memory_side {
    const void *buffer;
    int64_t count;
    MPI_Datatype type;
    bool written; /* by the call */
    const char *name;
};

/* The calling rank begins a blocking operation (the recorder's current one) on these: compares them
 * with what is pending, with each other and with the objects they lie in. */
void sim_memory_blocking(const char *name, const struct sim_memory_side *sides, size_t count);
/* The calling rank has received something. */
void sim_memory_heard(void);
/* Whether its program's accesses are seen. */
bool sim_memory_instrumented(void);

#endif
