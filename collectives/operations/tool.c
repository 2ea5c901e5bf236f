/* Calls of MPI for tools with tapes of their own: see diff_tool.h. Each is a leaf, one operation and its
 * result on a tape in data order, of which a backward pass runs exactly that operation. */
#include "collectives/experiment/probe.h"
#include "collectives/tape/tape.h"

#include <diff_tool.h>
#include <stdlib.h>
#include <string.h>

struct tool_call {
    struct diff_tensor *x, *y;
};

struct diff_tool {
    struct diff_tape *tape;
    struct tool_call *calls;
    size_t count, room;
};

struct diff_tool *diff_tool_new(MPI_Comm comm)
{
    struct diff_state *state = state_get();
    ENTER(state);
    struct diff_tool *tool = calloc(1, sizeof *tool);
    if (!tool)
        state_fail(state, "X002", "the differentiable library ran out of memory");
    tool->tape = diff_tape_new(comm);
    tool->tape->order = DIFF_ORDER_DATA;
    state_leave(state);
    return tool;
}

void diff_tool_free(struct diff_tool *tool)
{
    if (!tool)
        return;
    diff_tape_free(tool->tape);
    free(tool->calls);
    free(tool);
}

void diff_tool_clear(struct diff_tool *tool)
{
    diff_tape_clear(tool->tape);
    tool->count = 0;
}

static size_t call_keep(struct diff_tool *tool, const struct diff_tool_data *data,
                        struct diff_tensor *x, struct diff_tensor *y)
{
    struct diff_state *state = tool->tape->state;
    if (tool->count == tool->room) {
        tool->room = tool->room ? 2 * tool->room : 32;
        tool->calls = realloc(tool->calls, tool->room * sizeof *tool->calls);
        if (!tool->calls)
            state_fail(state, "X002", "the differentiable library ran out of memory");
    }
    if (data->y_count != 0 && y->count != data->y_count)
        state_fail(state, "M009", "the call gives %zu values, there is room for %zu", y->count,
                   data->y_count);
    if (data->y_count)
        memcpy(data->y, y->storage->data, data->y_count * sizeof(double));
    tool->calls[tool->count] = (struct tool_call){x, y};
    return tool->count++;
}

static struct diff_tensor *leaf_of(struct diff_tool *tool, const struct diff_tool_data *data)
{
    return diff_leaf(tool->tape, DIFF_DOUBLE, 1, &data->x_count, data->x);
}

size_t diff_tool_collective(struct diff_tool *tool, const struct diff_call *call,
                            const struct diff_tool_data *data)
{
    struct diff_state *state = tool->tape->state;
    state_enter_function(state, data->site ? data->site : __builtin_return_address(0), __func__);
    struct diff_call own = *call;
    own.x = leaf_of(tool, data);
    size_t number = call_keep(tool, data, own.x, diff_collective(&own));
    state_leave(state);
    return number;
}

size_t diff_tool_message(struct diff_tool *tool, const struct diff_tool_data *data, int destination,
                         int send_tag, int source, int receive_tag, MPI_Comm comm)
{
    struct diff_state *state = tool->tape->state;
    state_enter_function(state, data->site ? data->site : __builtin_return_address(0), __func__);
    struct diff_tensor *x = leaf_of(tool, data), *y;
    struct diff_tensor *room = diff_constant(tool->tape, DIFF_DOUBLE, 1, &data->y_count, data->y);
    room->requires_gradient = destination == MPI_PROC_NULL; /* so that a pass reaches the receive */
    if (destination == MPI_PROC_NULL)
        y = diff_recv(room, source, receive_tag, comm);
    else if (source == MPI_PROC_NULL)
        y = diff_send(x, destination, send_tag, comm);
    else
        y = diff_sendrecv(x, destination, send_tag, room, source, receive_tag, comm);
    size_t number = call_keep(tool, data, x, y);
    state_leave(state);
    return number;
}

void diff_tool_reverse(struct diff_tool *tool, size_t number, const double *y_bar, double *x_bar)
{
    struct diff_state *state = tool->tape->state;
    ENTER(state);
    if (number >= tool->count)
        state_fail(state, "M009", "the call to be reversed is not known: was the tool cleared?");
    struct tool_call *call = &tool->calls[number];
    struct diff_tensor *seed = tensor_zeros_like(call->y);
    if (seed->count)
        memcpy(seed->storage->data, y_bar, seed->count * sizeof(double));
    diff_gradient_clear(call->x);
    diff_backward_from(tool->tape, 1, &call->y, &seed, DIFF_RETAIN);
    if (call->x->count)
        memcpy(x_bar, diff_gradient(call->x), call->x->count * sizeof(double));
    state_leave(state);
}
