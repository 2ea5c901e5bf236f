/* From an address in a module to file:line:function, through libdw. Answers are kept. */
#ifndef RECORDER_SITES_H
#define RECORDER_SITES_H

#include "traces/trace/trace.h"

struct sites;

struct sites *sites_new(struct trace *trace); /* NULL without memory */
void sites_free(struct sites *sites);
/* The trace's site for the call that returns to `address` (the linker's) of the file `path`.
 * Without debug information it is the file and function, as far as known. */
uint32_t sites_find(struct sites *sites, const char *path, uint64_t address);

#endif
