/* What debug information says of a program's variables, their types and their lines.
 *
 * Room: sees traces. Seen by sim/memory. */
#ifndef SIM_DEBUG_DEBUG_H
#define SIM_DEBUG_DEBUG_H

#endif
