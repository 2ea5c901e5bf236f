/* The door of the command line: which command runs.
 *
 * Room: sees cli/options, cli/processes, cli/telling; traces. Seen by cli/commands. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#endif
