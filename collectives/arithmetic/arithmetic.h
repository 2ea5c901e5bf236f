/* Operations of tensors that send nothing: value, adjoint and tangent side by side.
 *
 * Room: sees collectives/experiment, collectives/tape. Seen by collectives/operations,
 * collectives/systems/process_group, collectives/systems/server, collectives/tape. */
#ifndef COLLECTIVES_ARITHMETIC_ARITHMETIC_H
#define COLLECTIVES_ARITHMETIC_ARITHMETIC_H

#endif
