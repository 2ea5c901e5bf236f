/* Tangents through remote calls: see tangent.h. */
#include "collectives/systems/rpc/tangent.h"

#include "collectives/experiment/probe.h"
#include "collectives/systems/rpc/context.h"
#include "collectives/tape/backward.h"

#include <stdlib.h>

/* ---- what is known ---- */

static struct diff_tensor **tangent_place(struct rpc_tangents *tangents,
                                          const struct diff_tensor *x, bool *fresh)
{
    uint32_t *number = pointer_map_at(&tangents->map, x, fresh);
    if (*fresh) {
        tangents->values =
            rpc_grow(tangents->values, tangents->count, &tangents->room, sizeof *tangents->values);
        tangents->values[tangents->count++] = NULL;
        *number = (uint32_t)tangents->count;
    }
    return &tangents->values[*number - 1];
}

static struct diff_tensor *tangent_known(struct rpc_tangents *tangents, const struct diff_tensor *x)
{
    bool fresh;
    return x->requires_gradient ? *tangent_place(tangents, x, &fresh) : NULL;
}

static bool is_probed(const struct rpc_worker *worker)
{
    return worker->state->probe && worker->state->probe->tangent;
}

static struct diff_tensor *leaf_tangent(const struct rpc_worker *worker,
                                        const struct rpc_tangents *tangents,
                                        const struct diff_tensor *leaf)
{
    bool probed = !tangents->own && is_probed(worker) && leaf->input != SIZE_MAX;
    const double *direction = probed ? probe_tangent(worker->state, leaf->input) : NULL;
    if (!direction)
        return NULL;
    struct diff_tensor *tangent = tensor_new_like(leaf);
    for (size_t i = 0; i < leaf->count * diff_type_parts(leaf->type); i++)
        tensor_part_set(tangent, i, direction[i]);
    return tangent;
}

/* ---- carrying ---- */

struct carry {
    struct diff_node *node;
    uint32_t next; /* of its inputs */
};

struct carrying {
    struct carry *stack;
    size_t depth, room;
};

static void node_carry(struct rpc_tangents *tangents, struct diff_node *node)
{
    struct diff_tensor *few[8], **x_dot = few, *y_dot[2] = {NULL, NULL};
    bool reached = false, fresh;
    if (node->input_count > 8)
        x_dot = arena_take(&node->tape->arena, node->input_count * sizeof *x_dot);
    for (uint32_t i = 0; i < node->input_count; i++) {
        x_dot[i] = tangent_known(tangents, node->inputs[i]);
        reached = reached || x_dot[i];
    }
    if (node->operation->communicates)
        node_tangent_missing(node, "a tangent of remote calls meets a message outside of them, "
                                   "which the other ranks would have to take part in");
    else if (reached)
        tangent_node(node, x_dot, y_dot);
    for (uint32_t i = 0; i < node->output_count; i++)
        *tangent_place(tangents, node->outputs[i], &fresh) = y_dot[i];
}

/* Sees to it that the tangent of `x` is known, or will be when what is put on the stack is. */
static void tensor_visit(const struct rpc_worker *worker, struct rpc_tangents *tangents,
                         struct carrying *carrying, const struct diff_tensor *x)
{
    size_t index;
    bool fresh;
    if (!x->requires_gradient)
        return;
    struct diff_tensor **place = tangent_place(tangents, x, &fresh);
    if (!fresh || recv_of(x, &index)) /* what has come with it is known */
        return;
    if (!x->node) {
        *place = leaf_tangent(worker, tangents, x);
        return;
    }
    carrying->stack =
        rpc_grow(carrying->stack, carrying->depth, &carrying->room, sizeof *carrying->stack);
    carrying->stack[carrying->depth++] = (struct carry){x->node, 0};
}

static struct diff_tensor *tangent_carry(const struct rpc_worker *worker,
                                         struct rpc_tangents *tangents, const struct diff_tensor *x)
{
    struct carrying carrying = {0};
    tensor_visit(worker, tangents, &carrying, x);
    while (carrying.depth) {
        struct carry *top = &carrying.stack[carrying.depth - 1];
        if (top->next < top->node->input_count) {
            tensor_visit(worker, tangents, &carrying, top->node->inputs[top->next++]);
        } else {
            node_carry(tangents, top->node);
            carrying.depth--;
        }
    }
    free(carrying.stack);
    return tangent_known(tangents, x);
}

bool tangents_travel(const struct rpc_worker *worker, const struct rpc_context *context)
{
    return context && (context->tangents.own || is_probed(worker));
}

void tangents_find(struct rpc_worker *worker, struct rpc_context *context, size_t count,
                   struct diff_tensor *const *tensors, struct diff_tensor **tangents)
{
    struct diff_state *state = worker->state;
    bool recorded = context->tangents.own;
    state->no_grad += !recorded;
    for (size_t i = 0; i < count; i++)
        tangents[i] = tangent_carry(worker, &context->tangents, tensors[i]);
    state->no_grad -= !recorded;
}

void tangent_arrive(struct rpc_worker *worker, struct rpc_context *context,
                    const struct diff_tensor *x, struct diff_tensor *tangent)
{
    bool fresh;
    if (worker->mutant != RPC_MUTANT_TANGENT_LOST)
        *tangent_place(&context->tangents, x, &fresh) = tangent;
}

void tangents_own(struct rpc_worker *worker, struct rpc_context *context)
{
    struct diff_probe_rank *row = worker->state->row;
    context->tangents.own = true;
    if (!row)
        return;
    row->graphs = true;          /* perturbed worlds compute them, too, and need tapes for it */
    row->tangent_missing = true; /* the check's direction has no place beside the program's */
}

double tangents_measure(struct rpc_worker *worker, struct rpc_context *context, size_t count,
                        struct diff_tensor *const *roots)
{
    double sum = 0;
    if (!is_probed(worker) || context->tangents.own)
        return 0;
    for (size_t i = 0; i < count; i++) {
        struct diff_tensor *tangent;
        tangents_find(worker, context, 1, &roots[i], &tangent);
        if (tangent)
            sum += tensor_part(tangent, 0);
    }
    return sum;
}

/* ---- the user's ---- */

static struct rpc_context *context_named(struct rpc_worker *worker, uint64_t id,
                                         const char *function)
{
    struct rpc_context *context = context_find(worker, id);
    char text[32];
    if (!context)
        worker_misuse(worker, "%s in context %s, which is not known here", function,
                      id_text(id, text));
    return context;
}

void dist_tangent_set(uint64_t id, struct diff_tensor *leaf, struct diff_tensor *tangent)
{
    struct rpc_worker *worker = worker_get("dist_tangent_set");
    ENTER(worker->state);
    struct rpc_context *context = context_named(worker, id, "dist_tangent_set");
    if (leaf->node || !leaf->requires_gradient)
        worker_misuse(worker, "dist_tangent_set of a tensor that %s",
                      leaf->node ? "an operation has made: tangents begin at leaves"
                                 : "needs no gradient: use diff_input or rpc_variable");
    if (!tensor_same_shape(leaf, tangent) || leaf->type != tangent->type)
        worker_misuse(worker, "dist_tangent_set: a leaf and its tangent differ in type or shape");
    bool fresh;
    struct diff_tensor **place = tangent_place(&context->tangents, leaf, &fresh);
    if (!fresh || context->send_count)
        worker_misuse(worker,
                      "dist_tangent_set %s: tangents travel with messages, so they are set first",
                      fresh ? "after this worker has sent tensors in the context"
                            : "of a leaf whose tangent in the context has been used");
    *place = tangent;
    tangents_own(worker, context);
    state_leave(worker->state);
}

struct diff_tensor *dist_tangent(uint64_t id, struct diff_tensor *x)
{
    struct rpc_worker *worker = worker_get("dist_tangent");
    ENTER(worker->state);
    struct rpc_context *context = context_named(worker, id, "dist_tangent");
    struct diff_tensor *tangent = NULL;
    if (context->tangents.own)
        tangents_find(worker, context, 1, &x, &tangent);
    if (!tangent)
        tangent = tensor_zeros_like(x);
    state_leave(worker->state);
    return tangent;
}
