/* When nobody can move: who goes on all the same, because what the record says of it need not be so. A test may fail; a
 * wildcard may take another message, or had its own because somebody did not wait who need not; a message that
 * nobody took may be taken by a rank that is off the record. See replay.h. */
#ifndef CHECKER_REPLAY_STANDSTILL_H
#define CHECKER_REPLAY_STANDSTILL_H

#include "checker/replay/machine.h"

/* False: nobody goes on, and whoever stands is stuck. */
bool check_standstill_ends(struct replay_machine *machine);

#endif
