/* One property of a run a file: trace in, findings out. checker/properties.h declares them,
 * checker/check.c lists them.
 *
 * Room: sees checker, checker/orders, checker/replay; traces. Seen by programs. */
#ifndef CHECKER_PROPERTIES_PROPERTIES_H
#define CHECKER_PROPERTIES_PROPERTIES_H

#endif
