/* Programs compiled with -fsanitize=address. Their runtime must be the first library of the
 * process, so simrun starts itself again with it; what it reports becomes a finding with the rank
 * and the line. */
#ifndef CLI_RUNNING_SANITIZER_H
#define CLI_RUNNING_SANITIZER_H

#include "traces/base/failure.h"

#include <stdbool.h>
#include <stdint.h>

/* Starts this command again if `object` needs such a runtime and the process has it not; does not
 * return then. False with a sentence if that cannot be. */
bool sanitizer_prepare(const char *object, struct failure *failure);

/* From now on a report calls `reported` before the process ends: what it says, and where in the
 * program. Nothing where there is no such runtime. */
void sanitizer_watch(void (*reported)(const char *what, uint64_t place));

#endif
