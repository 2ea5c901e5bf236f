/* One run: the child that runs the world, the page it shares with its parent, watching, witnesses
 * run for real.
 *
 * Room: sees cli/options, cli/processes; checker, collectives, recorder, sim, traces, verdict.
 * Seen by cli/commands, cli/telling. */
#ifndef CLI_RUNNING_RUNNING_H
#define CLI_RUNNING_RUNNING_H

#endif
