/* Records become the rows of a trace; what repeats is left out together.
 *
 * Room: sees recorder; traces. Seen by cli. */
#ifndef RECORDER_LOADING_LOADING_H
#define RECORDER_LOADING_LOADING_H

#endif
