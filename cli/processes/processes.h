/* Processes and files without anything of ours: a child and its end, pipes, the sandbox,
 * terminals, clocks.
 *
 * Room: sees traces. Seen by cli, cli/commands, cli/running, cli/telling. */
#ifndef CLI_PROCESSES_PROCESSES_H
#define CLI_PROCESSES_PROCESSES_H

#endif
