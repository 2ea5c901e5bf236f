/* The calls that make and free communicators and groups; they are collectives themselves.
 *
 * Room: sees sim/base, sim/collectives, sim/communicators, sim/datatypes, sim/messages,
 * sim/windows, sim/worlds; recorder. Seen by sim, sim/failures. */
#ifndef SIM_COMMUNICATOR_CALLS_COMMUNICATOR_CALLS_H
#define SIM_COMMUNICATOR_CALLS_COMMUNICATOR_CALLS_H

#endif
