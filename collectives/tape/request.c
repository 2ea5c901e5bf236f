/* Requests and the order in which adjoints of nonblocking operations start: see request.h. */
#include "collectives/tape/request.h"

#include "collectives/experiment/mutant.h"

struct diff_request *request_new(struct diff_tape *tape, struct diff_node *start)
{
    struct diff_request *request = arena_take_zeroed(&tape->arena, sizeof *request);
    request->start = start;
    request->mpi = MPI_REQUEST_NULL;
    request->at = &request->mpi;
    return request;
}

struct diff_request *request_take(struct diff_tensor *handle, const char *use)
{
    struct diff_state *state = handle->tape->state;
    if (handle->type != DIFF_HANDLE)
        state_fail(state, "M009", "%s needs a handle and got a %s tensor", use,
                   diff_type_name(handle->type));
    if (!handle->request)
        state_fail(state, "M009",
                   "%s needs a request's handle: what an access to a window brings is there when "
                   "its epoch ends, and needs no wait",
                   use);
    if (handle->used) {
        char text[64];
        state_fail(
            state, "M009",
            "%s uses a handle a second time: the handle of %s was waited for or joined before", use,
            node_text(handle->request->start, text, sizeof text));
    }
    handle->used = true;
    return handle->request;
}

static void launch(struct diff_node *start)
{
    start->operation->launch(start, start->adjoint_request);
    request_release_held(start);
}

void request_release_held(struct diff_node *node)
{
    node->adjoint_state = ADJOINT_LAUNCHED;
    for (int i = 0; i < NODE_LINKS; i++) {
        struct key_link *earlier = node->links[i].earlier;
        if (earlier && earlier->node->adjoint_state == ADJOINT_HELD)
            launch(earlier->node);
    }
}

static bool must_be_held(const struct diff_node *start)
{
    const struct diff_tape *tape = start->tape;
    const struct key_link *later = start->links[0].later;
    return tape->order == DIFF_ORDER_PROGRAM && tape->state->mutant != MUTANT_WAIT_ORDER && later &&
           later->node->in_pass && later->node->adjoint_state != ADJOINT_LAUNCHED;
}

struct diff_tensor *request_adjoint(struct diff_node *start, struct diff_tensor *y_bar)
{
    struct diff_request *request = request_new(start->tape, start);
    request->y_bar = y_bar;
    start->adjoint_request = request;
    if (must_be_held(start))
        start->adjoint_state = ADJOINT_HELD;
    else
        launch(start);
    return tensor_handle(start->tape, request);
}

struct diff_request *request_launched(struct diff_node *start, struct diff_tensor *cotangent)
{
    struct diff_request *request = cotangent ? cotangent->request : NULL;
    if (!request) {
        request = request_new(start->tape, start);
        start->adjoint_request = request;
    }
    if (start->adjoint_state != ADJOINT_LAUNCHED)
        launch(start);
    return request;
}

/* ---- sends that complete when the pass is over ---- */

struct late_send {
    struct diff_tensor *handle;
    struct diff_tensor *(*wait)(struct diff_tensor *handle);
    struct late_send *next;
};

void request_complete_late(struct diff_tensor *handle,
                           struct diff_tensor *(*wait)(struct diff_tensor *handle))
{
    struct diff_tape *tape = handle->tape;
    struct late_send *late = arena_take(&tape->arena, sizeof *late);
    *late = (struct late_send){.handle = handle, .wait = wait, .next = tape->late};
    tape->late = late;
}

void request_complete_all_late(struct diff_tape *tape)
{
    for (struct late_send *late = tape->late; late; late = late->next)
        late->wait(late->handle);
    tape->late = NULL;
}
