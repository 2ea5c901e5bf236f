/* What every check of a trace shares: the table of checks, their context, consequences folded
 * under causes.
 *
 * Room: sees traces. Seen by checker/explore, checker/orders, checker/properties,
 * checker/replay, checker/systems; cli, verdict. */
#ifndef CHECKER_CHECKER_H
#define CHECKER_CHECKER_H

#endif
