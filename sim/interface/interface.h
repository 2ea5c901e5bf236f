/* What MPI has besides communication: environment, sessions, error handlers, tools, leaks,
 * unsupported calls.
 *
 * Room: sees sim, sim/base, sim/communicators, sim/memory, sim/messages, sim/windows,
 * sim/worlds; recorder. Seen by sim; cli. */
#ifndef SIM_INTERFACE_INTERFACE_H
#define SIM_INTERFACE_INTERFACE_H

#endif
