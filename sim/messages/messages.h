/* Messages: matching, requests, waiting, probes; persistent, buffered, partitioned; wildcards that
 * wait.
 *
 * Room: sees sim/communicators, sim/datatypes, sim/libc, sim/memory, sim/worlds; recorder. Seen
 * by sim, sim/collectives, sim/communicator_calls, sim/failures, sim/interface, sim/windows. */
#ifndef SIM_MESSAGES_MESSAGES_H
#define SIM_MESSAGES_MESSAGES_H

#endif
