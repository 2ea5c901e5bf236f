/* What a check changes in a run and what it notes: perturbed inputs, mutants, objectives.
 *
 * Room: sees collectives/tape; recorder. Seen by collectives/arithmetic, collectives/gradcheck,
 * collectives/operations, collectives/systems/rpc, collectives/tape, collectives/windows; cli. */
#ifndef COLLECTIVES_EXPERIMENT_EXPERIMENT_H
#define COLLECTIVES_EXPERIMENT_EXPERIMENT_H

#endif
