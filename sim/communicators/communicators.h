/* Communicators, groups and topologies as objects: contexts, members, what is freed with them.
 *
 * Room: sees sim/base, sim/worlds; recorder. Seen by sim, sim/collectives,
 * sim/communicator_calls, sim/failures, sim/interface, sim/messages, sim/windows. */
#ifndef SIM_COMMUNICATORS_COMMUNICATORS_H
#define SIM_COMMUNICATORS_COMMUNICATORS_H

#endif
