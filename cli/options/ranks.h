/* Lists of rank counts: "16", "2,3,5,7", "2..8", and mixtures. */
#ifndef CLI_OPTIONS_RANKS_H
#define CLI_OPTIONS_RANKS_H

#include "traces/base/failure.h"

#include <stdbool.h>

enum { RANKS_MOST = 1 << 20 };

/* Fills `ranks`; false with a sentence that names what is wrong. Blanks are allowed between items.
 */
bool ranks_parse(const char *text, int *ranks, int room, int *count, struct failure *failure);

#endif
