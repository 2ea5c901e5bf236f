/* The recorder for a job of Open MPI or MPICH: one file a rank.
 *
 * Room: sees recorder; traces. Seen by programs. */
#ifndef RECORDER_PRELOAD_PRELOAD_H
#define RECORDER_PRELOAD_PRELOAD_H

#endif
