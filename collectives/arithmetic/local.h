/* Local building blocks that adjoints are made of, beside the public ones of diff.h. All
 * differentiable. */
#ifndef COLLECTIVES_ARITHMETIC_LOCAL_H
#define COLLECTIVES_ARITHMETIC_LOCAL_H

#include "collectives/tape/backward.h"
#include "collectives/tape/tape.h"

/* factor * x + shift */
struct diff_tensor *local_affine(struct diff_tensor *x, double factor, double shift);
/* `x` itself when it is real. */
struct diff_tensor *local_conj(struct diff_tensor *x);
/* Every value of `x` times the real scalar `factor`, a tensor of one value. */
struct diff_tensor *local_scale_by(struct diff_tensor *x, struct diff_tensor *factor);
/* A tensor like `like` with every value the one of `scalar`. */
struct diff_tensor *local_fill(struct diff_tensor *scalar, size_t dims, const size_t *shape);
/* `count` values of `x` from `begin` on. */
struct diff_tensor *local_window(struct diff_tensor *x, size_t begin, size_t count);
/* `x` at `begin` within `count` values that are zero otherwise. */
struct diff_tensor *local_pad(struct diff_tensor *x, size_t begin, size_t count);
/* The same values in another shape. */
struct diff_tensor *local_shaped(struct diff_tensor *x, size_t dims, const size_t *shape);
struct diff_tensor *local_shaped_like(struct diff_tensor *x, const struct diff_tensor *like);
/* All values of all tensors, one after the other; NULL members count as nothing. */
struct diff_tensor *local_concat(struct diff_tape *tape, enum diff_type type, size_t count,
                                 struct diff_tensor *const *parts);
/* y[i] = x[index[i]]; the index array must live as long as the tape. */
struct diff_tensor *local_take(struct diff_tensor *x, const size_t *index, size_t count);
/* y[index[i]] += x[i] within `count` values that are zero otherwise. */
struct diff_tensor *local_put(struct diff_tensor *x, const size_t *index, size_t count);
/* x[i] * mask[i] with constant real weights. */
struct diff_tensor *local_mask(struct diff_tensor *x, const double *mask);

#endif
