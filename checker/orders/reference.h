/* A legal order of every rank that is safe under the models asked for: what a repair goes towards.
 *
 * The reverse of the forward order, in which the forward pass itself is safe; where that hangs or is
 * not known the recorded order; where that hangs, too, one order in which all ranks do what meets,
 * if there is one. */
#ifndef CHECKER_ORDERS_REFERENCE_H
#define CHECKER_ORDERS_REFERENCE_H

#include "checker/orders/partial_order.h"

/* Fills `position`: per op its place in the order. False where no safe order was found. `recorded`
 * tells whether it is the recorded one. */
bool check_reference_find(const struct check_partial_order *reach, uint32_t *position,
                          bool *recorded);
/* Orders are listed as a file has them; what a wildcard is recorded to take may need another one. That
 * order then, from malloc: all ranks do what met as recorded; NULL where nothing needs it, or none is found. */
uint32_t *check_reference_base(const struct check_partial_order *reach);
/* The rank as recorded, the others as in `base`, which may be NULL; from malloc. */
uint32_t *check_reference_around(const struct trace *trace, const uint32_t *base, uint32_t rank);
/* Whether the order neither hangs nor crosses. */
bool check_order_completes(const struct check_context *context, const uint32_t *position);

#endif
