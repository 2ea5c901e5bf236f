/* Windows: memory that others reach, epochs as data, when data move, locks.
 *
 * Room: sees sim/collectives, sim/communicators, sim/datatypes, sim/libc, sim/memory,
 * sim/messages, sim/operators, sim/worlds; recorder, traces. Seen by sim,
 * sim/communicator_calls, sim/interface. */
#ifndef SIM_WINDOWS_WINDOWS_H
#define SIM_WINDOWS_WINDOWS_H

#endif
