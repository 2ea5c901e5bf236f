/* A world and its ranks: executors, the one choose(), who is stuck, how errors are raised.
 *
 * Room: sees sim/base, sim/libc; recorder, traces. Seen by sim, sim/collectives,
 * sim/communicator_calls, sim/communicators, sim/datatypes, sim/failures, sim/interface,
 * sim/memory, sim/messages, sim/operators, sim/programs, sim/windows; checker, cli. */
#ifndef SIM_WORLDS_WORLDS_H
#define SIM_WORLDS_WORLDS_H

#endif
