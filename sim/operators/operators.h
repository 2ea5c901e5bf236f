/* Operators of reductions, the standard's and the program's.
 *
 * Room: sees sim/base, sim/datatypes, sim/worlds; recorder. Seen by sim/collectives,
 * sim/windows. */
#ifndef SIM_OPERATORS_OPERATORS_H
#define SIM_OPERATORS_OPERATORS_H

#endif
