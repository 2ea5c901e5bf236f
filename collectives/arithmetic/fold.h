/* Reductions that are not linear: the derivative of a fold y = f(...f(f(x0, x1), x2)..., x[P-1]) in
 * rank order.
 *
 * Everything is built from the gathered contributions by differentiable operations: exclusive
 * prefixes, and the product of what follows; never a division, so that zeros are no trouble. Where
 * several contributions attain a MAX or MIN, the lowest rank has the derivative. */
#ifndef COLLECTIVES_ARITHMETIC_FOLD_H
#define COLLECTIVES_ARITHMETIC_FOLD_H

#include "collectives/arithmetic/local.h"

/* The cotangent of contribution `rank` when the fold of all has the cotangent `s`. `all` holds
 * `size` contributions of s->count values each. */
struct diff_tensor *fold_adjoint(MPI_Op op, struct diff_tensor *all, int size, int rank,
                                 struct diff_tensor *s);
/* The same for prefixes: `bars` holds a cotangent for every prefix fold, the first of x0 alone. */
struct diff_tensor *fold_scan_adjoint(MPI_Op op, struct diff_tensor *all, int size, int rank,
                                      struct diff_tensor *bars);
/* Tangents of the fold and of the prefix fold up to `last`, from the tangents of all contributions.
 */
struct diff_tensor *fold_tangent(MPI_Op op, struct diff_tensor *all, struct diff_tensor *all_dot,
                                 int size, int last);

#endif
