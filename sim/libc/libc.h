/* What a process has once and a rank must have for itself: exit, signals, threads, files,
 * environment, random numbers.
 *
 * Room: sees nothing. Seen by sim/memory, sim/messages, sim/programs, sim/windows, sim/worlds;
 * cli. */
#ifndef SIM_LIBC_LIBC_H
#define SIM_LIBC_LIBC_H

#endif
