/* What the recorder tells the machine's memory checks about blocking calls, whose buffers matter
 * only while they run: sim/memory/memory.c registers them. */
#ifndef RECORDER_MEMORY_H
#define RECORDER_MEMORY_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct recorder_side {
    const void *buffer;
    int64_t count;
    MPI_Datatype type;
    bool written; /* by the call */
    const char *name;
};

struct recorder_memory {
    /* The calling rank begins a blocking operation (the recorder's current one) on these: compares
     * them with what is pending, with each other and with the objects they lie in. */
    void (*blocking)(const char *name, const struct recorder_side *sides, size_t count);
    /* The calling rank has received something. */
    void (*heard)(void);
    /* Whether nothing need be asked about what it does to buffers that are being sent: its accesses
     * are seen, or another run of it was judged. */
    bool (*spared)(void);
};
/* Where nobody has come, nobody watches: a real MPI has no such checks. */
extern const struct recorder_memory *_Atomic recorder_memory;

#endif
