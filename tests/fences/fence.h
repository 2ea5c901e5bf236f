/* fence.h: memory in which what reads or writes past a block dies at once, in a plain build.
 *
 * A block ends where its page ends, up to 16 bytes, and the page behind may not be touched; with fence_low it begins where its page
 * begins, and the page before may not be touched. What is given holds no zeros, what was given back is overwritten, and a block that
 * grows always moves. Not under a sanitizer, which has its own; blocks that are large or one too many are glibc's. */
#ifndef TESTS_FENCES_FENCE_H
#define TESTS_FENCES_FENCE_H

#include <stdbool.h>

extern const bool fence_stands; /* whether malloc is this one */
extern bool fence_low;
long fence_live(void);  /* blocks that were not given back */
long fence_wrong(void); /* those that were given back twice */

#endif
