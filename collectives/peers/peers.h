/* The same sources on Open MPI and MPICH: the library, and what reports there.
 *
 * Room: sees recorder. Seen by programs. */
#ifndef COLLECTIVES_PEERS_PEERS_H
#define COLLECTIVES_PEERS_PEERS_H

#endif
