/* Datatypes: constructors, type maps, copying, packing, envelopes, matching of signatures.
 *
 * Room: sees sim/base, sim/worlds. Seen by sim, sim/collectives, sim/communicator_calls,
 * sim/memory, sim/messages, sim/operators, sim/windows. */
#ifndef SIM_DATATYPES_DATATYPES_H
#define SIM_DATATYPES_DATATYPES_H

#endif
