/* What `simrun explore` has of `simrun prove`: its outputs. */
#ifndef CLI_COMMANDS_PROVE_H
#define CLI_COMMANDS_PROVE_H

#include "cli/options/run_options.h"
#include "cli/running/session.h"

/* Explores the program under the models asked for, and tells what was found by every output of
 * `simrun prove`. Returns the exit status. */
int prove_exploration(struct run_options *options, struct job *job);

#endif
