/* Properties of the systems built on messages: remote calls, servers, replicas, updates.
 *
 * Room: sees checker; traces. Seen by viz. */
#ifndef CHECKER_SYSTEMS_SYSTEMS_H
#define CHECKER_SYSTEMS_SYSTEMS_H

#endif
