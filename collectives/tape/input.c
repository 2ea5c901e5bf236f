/* Inputs, constants, detached values: where a tape begins. */
#include "collectives/experiment/probe.h"
#include "collectives/tape/tape.h"

#include <string.h>

static void type_check(struct diff_tape *tape, const char *name, enum diff_type type)
{
    if (type > DIFF_COMPLEX_DOUBLE)
        state_fail(tape->state, "M009", "%s: only floating point values have derivatives", name);
}

static struct diff_tensor *filled(struct diff_tape *tape, enum diff_type type, size_t dims,
                                  const size_t *shape, const void *values)
{
    struct diff_tensor *tensor = tensor_new(tape, type, dims, shape);
    size_t bytes = tensor->count * diff_type_size(type);
    if (values)
        memcpy(tensor->storage->data, values, bytes);
    else
        memset(tensor->storage->data, 0, bytes);
    return tensor;
}

static struct diff_tensor *input_new(struct diff_tape *tape, const char *name, enum diff_type type,
                                     size_t dims, const size_t *shape, const void *values,
                                     bool replicated)
{
    type_check(tape, name, type);
    if (tape->outer)
        state_fail(tape->state, "M009",
                   "the input %s is made in a checkpointed step, which runs again in the backward "
                   "pass: make it before, and hand it on as part of the state",
                   name);
    struct diff_tensor *x = filled(tape, type, dims, shape, values);
    x->requires_gradient = x->retains_gradient = true;
    x->next_retained = tape->retained;
    tape->retained = x;
    struct probe_team team = replicated ? channel_team(tape->channels) : (struct probe_team){0};
    x->input = probe_meet_input(tape->state, name, type, x->count, tape->epoch, team, false,
                                x->storage->data);
    return x;
}

struct diff_tensor *diff_leaf(struct diff_tape *tape, enum diff_type type, size_t dims,
                              const size_t *shape, const void *values)
{
    ENTER(tape->state);
    type_check(tape, "a leaf", type);
    struct diff_tensor *x = filled(tape, type, dims, shape, values);
    x->requires_gradient = x->retains_gradient = true;
    x->next_retained = tape->retained;
    tape->retained = x;
    state_leave(tape->state);
    return x;
}

struct diff_tensor *diff_input(struct diff_tape *tape, const char *name, enum diff_type type,
                               size_t dims, const size_t *shape, const void *values)
{
    ENTER(tape->state);
    struct diff_tensor *x = input_new(tape, name, type, dims, shape, values, false);
    state_leave(tape->state);
    return x;
}

struct diff_tensor *diff_input_replicated(struct diff_tape *tape, const char *name,
                                          enum diff_type type, size_t dims, const size_t *shape,
                                          const void *values)
{
    ENTER(tape->state);
    struct diff_tensor *x = input_new(tape, name, type, dims, shape, values, true);
    state_leave(tape->state);
    return x;
}

struct diff_tensor *diff_constant(struct diff_tape *tape, enum diff_type type, size_t dims,
                                  const size_t *shape, const void *values)
{
    ENTER(tape->state);
    type_check(tape, "a constant", type);
    struct diff_tensor *x = filled(tape, type, dims, shape, values);
    state_leave(tape->state);
    return x;
}

struct diff_tensor *diff_zeros(struct diff_tape *tape, enum diff_type type, size_t dims,
                               const size_t *shape)
{
    return diff_constant(tape, type, dims, shape, NULL);
}

struct diff_tensor *diff_detach(struct diff_tensor *x)
{
    return tensor_view(x, x->dims, x->shape);
}
