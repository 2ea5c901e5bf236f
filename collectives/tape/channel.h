/* Channels: the communicators a tape talks over, each with a duplicate for adjoint traffic.
 *
 * Rules:
 *  1. A channel's duplicate is made collectively: when the tape is made (its own communicator), at
 *     the first collective operation of the tape on a communicator, or by diff_comm_register. Point
 *     to point operations never make one, since not everybody takes part in them.
 *  2. Adjoint traffic of channel c runs on c->adjoint. The duplicate is its own adjoint until a
 *     pass is recorded (DIFF_GRAPH); channel_deepen then gives it one of its own, in order of
 *     registration, which every member repeats alike: one for every recorded pass since the tape
 *     was cleared. Clearing keeps them for the next passes.
 *  3. The adjoint of a communicator with a topology has every edge turned round, and its adjoint
 *     again.
 *  4. A duplicate of an intercommunicator brings a communicator of the own group, for what an
 *     adjoint must know of the group's other members.
 *  5. The user may free a communicator while the tape lives: its duplicate stays until the tape
 *     goes. An attribute tells, so that a recycled handle is not taken for the old one. */
#ifndef COLLECTIVES_TAPE_CHANNEL_H
#define COLLECTIVES_TAPE_CHANNEL_H

#include "collectives/tape/node.h"

/* The tape's channel of this communicator. `collective`: the caller is in a collective operation
 * over it, so that it may be registered here. */
struct diff_channel *channel_find(struct diff_tape *tape, MPI_Comm comm, bool collective);
struct diff_channel *channel_register(struct diff_tape *tape, MPI_Comm comm);
/* Who has copies of what all members of an intracommunicator hold alike. */
struct probe_team channel_team(const struct diff_channel *channel);
/* Where the adjoint of an operation on `channel` runs. */
struct diff_channel *channel_adjoint(struct diff_channel *channel);
/* Whether `root` names this rank. */
bool channel_is_root(const struct diff_channel *channel, int root);
void channel_deepen(struct diff_tape *tape);
/* Forgets the nodes; the channels stay. */
void channel_clear_all(struct diff_tape *tape);
/* Frees the duplicates: collective over each, in order of registration. */
void channel_release_all(struct diff_tape *tape);

#endif
