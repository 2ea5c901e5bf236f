/* The addresses that all images of a program and its libraries lie in: one reservation, a part of
 * it for each rank, and in each part the modules at the same distances. */
#ifndef SIM_PROGRAMS_RANGE_H
#define SIM_PROGRAMS_RANGE_H

#include "traces/base/failure.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct range {
    uintptr_t first; /* of the first part */
    uint64_t stride; /* to the next one */
    uint64_t span;   /* used of it */
    size_t reserved;
    int count;   /* parts */
    bool copied; /* code is copied into the parts, not mapped */
};

/* What the images of one rank need. */
struct range_needs {
    const char *path;      /* of the program, for sentences */
    int count;             /* ranks */
    uint64_t span;         /* bytes of addresses each */
    uint64_t alignment;    /* of each part */
    uint64_t bytes_copied; /* each, if nothing can be mapped */
    int maps_each;
    long maps_max; /* 0: what the kernel leaves */
    bool mappable; /* all modules can be mapped */
    bool common;   /* one part serves all ranks */
};

/* Chooses between mapping and copying, and reserves. A sentence when neither is possible. */
int range_open(struct range *range, const struct range_needs *needs, struct failure *failure);
void range_release(struct range *range);

/* The kernel's limit on mappings, for sentences. */
long range_maps_limit(void);

#endif
