/* What people and machines read of a run: text, TAP, JUnit, JSON, SARIF, GitHub, the database, the
 * report.
 *
 * Room: sees cli/options, cli/processes, cli/running; checker, traces, viz. Seen by cli,
 * cli/commands. */
#ifndef CLI_TELLING_TELLING_H
#define CLI_TELLING_TELLING_H

#endif
