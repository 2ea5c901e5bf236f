/* Findings and policy in, verdict out: the four words, what is allowed, what is required, the exit
 * status.
 *
 * Room: sees checker, traces. Seen by cli. */
#ifndef VERDICT_VERDICT_H
#define VERDICT_VERDICT_H

#endif
