/* From post to wait. Both are operations, so that backward the wait's adjoint exposes the cotangent
 * and the post's waits for the others, while this rank's own epochs in between run theirs. */
#include "collectives/windows/epoch.h"

#include "collectives/tape/backward.h"
#include "collectives/tape/tape.h"

#include <string.h>

MPI_Group ranks_group(const struct ranks *ranks, MPI_Comm comm)
{
    MPI_Group all, made;
    MPI_Comm_group(comm, &all);
    MPI_Group_incl(all, ranks->count, ranks->ranks, &made);
    MPI_Group_free(&all);
    return made;
}

static size_t bytes_of(const struct diff_tensor *memory)
{
    return memory->count * diff_type_size(memory->type);
}

void memory_fill(const struct window_at *at, const struct diff_tensor *memory)
{
    memcpy(at->buffer, memory->storage->data, bytes_of(memory));
}

void memory_read(const struct window_at *at, const struct diff_tensor *memory)
{
    memcpy(memory->storage->data, at->buffer, bytes_of(memory));
}

struct diff_tensor *memory_new(struct diff_window *window)
{
    return tensor_new_flat(window->tape, window->type, window->counts[window->channel->rank]);
}

static void post_forward(struct diff_node *node)
{
    const struct exposure *exposure = node->extra;
    const struct window_at *at = window_at(exposure->window, node->channel);
    MPI_Group origins = ranks_group(exposure->origins, at->comm);
    memory_fill(at, node->inputs[0]);
    MPI_Win_post(origins, 0, at->win);
    MPI_Group_free(&origins);
}

static void post_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                         struct diff_tensor **x_bar)
{
    if (y_bar[0])
        x_bar[0] = exposure_wait(node->extra, channel_adjoint(node->channel), y_bar[0]);
}

static void post_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                         struct diff_tensor **y_dot)
{
    y_dot[0] = exposure_post(node->extra, node->channel->adjoint,
                             cotangent_or_zeros(x_dot[0], node->inputs[0]));
}

static void wait_forward(struct diff_node *node)
{
    const struct exposure *exposure = node->extra;
    const struct window_at *at = window_at(exposure->window, node->channel);
    MPI_Win_wait(at->win);
    memory_read(at, node->outputs[0]);
}

static void wait_adjoint(struct diff_node *node, struct diff_tensor *const *y_bar,
                         struct diff_tensor **x_bar)
{
    x_bar[0] = exposure_post(node->extra, channel_adjoint(node->channel),
                             cotangent_or_zeros(y_bar[0], node->outputs[0]));
}

static void wait_tangent(struct diff_node *node, struct diff_tensor *const *x_dot,
                         struct diff_tensor **y_dot)
{
    y_dot[0] = exposure_wait(node->extra, node->channel->adjoint, x_dot[0]);
}

static const struct diff_operation post_operation = {.name = "Win_post",
                                                     .kind = OP_WIN_POST,
                                                     .communicates = true,
                                                     .forward = post_forward,
                                                     .adjoint = post_adjoint,
                                                     .tangent = post_tangent};
static const struct diff_operation wait_operation = {.name = "Win_wait",
                                                     .kind = OP_WIN_WAIT,
                                                     .communicates = true,
                                                     .forward = wait_forward,
                                                     .adjoint = wait_adjoint,
                                                     .tangent = wait_tangent};

static struct diff_node *exposure_begin(const struct diff_operation *operation,
                                        const struct exposure *what, struct diff_channel *channel,
                                        struct diff_tensor *input)
{
    struct exposure *copy = arena_take(&what->window->tape->arena, sizeof *copy);
    *copy = *what;
    struct diff_node *node = node_begin(operation, 1, &input);
    node->channel = channel;
    node->extra = copy;
    return node;
}

struct diff_tensor *exposure_post(const struct exposure *what, struct diff_channel *channel,
                                  struct diff_tensor *memory)
{
    struct diff_node *node = exposure_begin(&post_operation, what, channel, memory);
    struct diff_tensor *handle = node_output(node, tensor_handle(node->tape, NULL));
    node_run(node);
    return handle;
}

struct diff_tensor *exposure_wait(const struct exposure *what, struct diff_channel *channel,
                                  struct diff_tensor *handle)
{
    struct diff_node *node = exposure_begin(&wait_operation, what, channel, handle);
    struct diff_tensor *memory = node_output(node, memory_new(what->window));
    node_run(node);
    return memory;
}
