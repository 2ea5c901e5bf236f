/* From an object file to one image a rank: private copies of what can be written, its thread-
 * locals, its libraries.
 *
 * Room: sees sim/elf, sim/libc, sim/worlds; traces. Seen by cli. */
#ifndef SIM_PROGRAMS_PROGRAMS_H
#define SIM_PROGRAMS_PROGRAMS_H

#endif
