/* In place of another MPI's library: its functions, made of the prototypes and a table of values.
 *
 * Room: sees nothing. Seen by programs. */
#ifndef SIM_SHIMS_SHIMS_H
#define SIM_SHIMS_SHIMS_H

#endif
