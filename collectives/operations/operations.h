/* One communication of the tape a file: forward, adjoint, tangent, naive reference.
 *
 * Room: sees collectives/arithmetic, collectives/experiment, collectives/tape; recorder. Seen
 * by collectives/systems/process_group. */
#ifndef COLLECTIVES_OPERATIONS_OPERATIONS_H
#define COLLECTIVES_OPERATIONS_OPERATIONS_H

#endif
