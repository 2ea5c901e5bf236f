/* One command of simrun a file: its words, its exit status.
 *
 * Room: sees cli, cli/options, cli/processes, cli/running, cli/telling; checker, collectives,
 * recorder, sim, traces, verdict, viz. Seen by programs. */
#ifndef CLI_COMMANDS_COMMANDS_H
#define CLI_COMMANDS_COMMANDS_H

#endif
