/* Collectives: one rendezvous of the members, who may go on when, who combines in which order.
 *
 * Room: sees sim/communicators, sim/datatypes, sim/memory, sim/messages, sim/operators,
 * sim/worlds; recorder. Seen by sim, sim/communicator_calls, sim/failures, sim/windows. */
#ifndef SIM_COLLECTIVES_COLLECTIVES_H
#define SIM_COLLECTIVES_COLLECTIVES_H

#endif
