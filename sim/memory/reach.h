/* Pointers to an object, wherever the program's variables lead.
 *
 * From the variables of all frames and the static ones, through fields, arrays of pointers and the
 * allocated objects that they point to, as their declared types say. Objects that were another's
 * memory before are not entered: a field that nobody has set yet would be read there. */
#ifndef SIM_MEMORY_REACH_H
#define SIM_MEMORY_REACH_H

#include "sim/debug/variables.h"
#include "sim/memory/frames.h"

struct sim_rank;

/* A pointer called `name` has the value; what it points to is of the type, NULL: of none. */
typedef void sim_reach_visit(void *context, const char *name, const struct debug_type *type,
                             uintptr_t value);

/* Visits the pointers found whose value is `one` or `other`. The caller holds the lock of debug
 * information. */
void sim_reach(struct sim_rank *rank, const struct sim_frames *frames, uintptr_t one,
               uintptr_t other, sim_reach_visit *visit, void *context);

#endif
