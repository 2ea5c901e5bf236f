/* Functions of one number, applied to every value: what their rows have in common. */
#ifndef COLLECTIVES_ARITHMETIC_HOLOMORPHIC_H
#define COLLECTIVES_ARITHMETIC_HOLOMORPHIC_H

#include "collectives/arithmetic/local.h"

#define APPLY(node, function_f, function, function_cf, function_c)                                 \
    do {                                                                                           \
        const struct diff_tensor *in_ = (node)->inputs[0];                                         \
        const void *x_ = in_->storage->data;                                                       \
        void *y_ = (node)->outputs[0]->storage->data;                                              \
        for (size_t i = 0; i < in_->count; i++)                                                    \
            switch (in_->type) {                                                                   \
            case DIFF_FLOAT:                                                                       \
                ((float *)y_)[i] = function_f(((const float *)x_)[i]);                             \
                break;                                                                             \
            case DIFF_DOUBLE:                                                                      \
                ((double *)y_)[i] = function(((const double *)x_)[i]);                             \
                break;                                                                             \
            case DIFF_COMPLEX_FLOAT:                                                               \
                ((float complex *)y_)[i] = function_cf(((const float complex *)x_)[i]);            \
                break;                                                                             \
            default:                                                                               \
                ((double complex *)y_)[i] = function_c(((const double complex *)x_)[i]);           \
            }                                                                                      \
    } while (0)

/* x_bar = y_bar * conj(derivative), y_dot = derivative * x_dot, for holomorphic functions. */
#define HOLOMORPHIC(name_, saves_)                                                                 \
    static void name_##_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,          \
                                struct diff_tensor **x_bar)                                        \
    {                                                                                              \
        if (y_bar[0])                                                                              \
            x_bar[0] = diff_mul(y_bar[0], local_conj(name_##_derivative(node)));                   \
    }                                                                                              \
    static void name_##_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,          \
                                struct diff_tensor **y_dot)                                        \
    {                                                                                              \
        if (x_dot[0])                                                                              \
            y_dot[0] = diff_mul(x_dot[0], name_##_derivative(node));                               \
    }                                                                                              \
    static const struct diff_operation name_##_operation = {.name = #name_,                        \
                                                            .kind = OP_COMPUTE,                    \
                                                            .saves = (saves_),                     \
                                                            .forward = name_##_forward,            \
                                                            .adjoint = name_##_adjoint,            \
                                                            .tangent = name_##_tangent};           \
    struct diff_tensor *diff_##name_(struct diff_tensor *a)                                        \
    {                                                                                              \
        ENTER(a->tape->state);                                                                     \
        struct diff_tensor *y = node_unary(&name_##_operation, a);                                 \
        state_leave(a->tape->state);                                                               \
        return y;                                                                                  \
    }

#endif
