/* Ground floor of the machine: handles, attributes, error codes, hashes, dependence sets, whether a
 * process sleeps. Knows no rank.
 *
 * Room: sees nothing. Seen by sim/communicator_calls, sim/communicators, sim/compile,
 * sim/datatypes, sim/interface, sim/operators, sim/worlds. */
#ifndef SIM_BASE_BASE_H
#define SIM_BASE_BASE_H

#endif
