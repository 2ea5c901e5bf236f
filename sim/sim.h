/* The door of the machine: the standard's header and its table of functions, and what composes a
 * world.
 *
 * Room: sees sim/collectives, sim/communicator_calls, sim/communicators, sim/datatypes,
 * sim/failures, sim/interface, sim/memory, sim/messages, sim/windows, sim/worlds. Seen by
 * sim/interface. */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#endif
