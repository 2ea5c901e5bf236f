/* All orders that the data of a backward pass allow: mismatched order and deadlock as rainbow
 * cycles, and repairs.
 *
 * Room: sees checker, checker/replay; traces. Seen by checker/properties. */
#ifndef CHECKER_ORDERS_ORDERS_H
#define CHECKER_ORDERS_ORDERS_H

#endif
