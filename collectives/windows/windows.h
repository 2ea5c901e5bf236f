/* Windows of the tape: an epoch is an operation, its transpose another epoch.
 *
 * Room: sees collectives/experiment, collectives/tape; recorder. Seen by collectives/tape. */
#ifndef COLLECTIVES_WINDOWS_WINDOWS_H
#define COLLECTIVES_WINDOWS_WINDOWS_H

#endif
