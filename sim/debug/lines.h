/* What debug information says of a place of the code: whether it was written by the program's author.
 *
 * As for variables.h: callers hold its lock. */
#ifndef SIM_DEBUG_LINES_H
#define SIM_DEBUG_LINES_H

#include "sim/debug/variables.h"

enum { DEBUG_LINE_MAX = 160 };

/* Whether an address of the code, as the linker sees it, is in a function of a header of the system, and not inlined into one that is
 * none. `line` becomes the place in the header, FILE:LINE, cut off at its beginning; "": it is in none. */
bool debug_in_system_header(struct debug_file *file, uint64_t pc, char line[DEBUG_LINE_MAX]);

/* The place of an address of the code, FILE:LINE without folders; "": not known. */
void debug_line(struct debug_file *file, uint64_t pc, char line[DEBUG_LINE_MAX]);

#endif
