/* The local graph of a pass: see task.h. */
#include "collectives/systems/rpc/task.h"

#include "collectives/experiment/probe.h"
#include "collectives/tape/backward.h"
#include "collectives/tape/trace_node.h"

#include <mpix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- building ---- */

/* The vertex a tensor's gradient goes to, NULL when it needs none; `index`: which of its outputs
 * the tensor is. */
static struct rpc_vertex *vertex_of(struct rpc_task *task, struct diff_tensor *x, size_t *index,
                                    bool *fresh)
{
    *fresh = false;
    if (!x->requires_gradient)
        return NULL;
    struct rpc_recv *recv = recv_of(x, index);
    const void *key = recv ? (const void *)recv : x->node ? (const void *)x->node : x;
    uint32_t *number = pointer_map_at(&task->map, key, fresh);
    if (!recv)
        *index = x->node ? x->output : 0;
    if (!*fresh)
        return &task->vertices[*number - 1];
    task->vertices =
        rpc_grow(task->vertices, task->vertex_count, &task->vertex_room, sizeof *task->vertices);
    struct rpc_vertex *vertex = &task->vertices[task->vertex_count++];
    *number = (uint32_t)task->vertex_count;
    *vertex = (struct rpc_vertex){.kind = recv ? VERTEX_RECV : x->node ? VERTEX_NODE : VERTEX_LEAF};
    if (recv)
        vertex->of.recv = recv;
    else if (x->node)
        vertex->of.node = x->node;
    else
        vertex->of.leaf = x;
    vertex->count = recv ? recv->count : x->node ? x->node->output_count : 1;
    vertex->gradients = vertex->count > 2 ? rpc_take(vertex->count * sizeof(void *)) : NULL;
    return vertex;
}

static struct diff_tensor **slots(struct rpc_vertex *vertex)
{
    return vertex->gradients ? vertex->gradients : vertex->own;
}

/* Counts the edges to these tensors and, for what is met first, the edges below it. */
static void edges_count(struct rpc_task *task, size_t count, struct diff_tensor *const *tensors)
{
    struct diff_node **stack = NULL;
    size_t depth = 0, room = 0;
    while (true) {
        for (size_t i = 0; i < count; i++) {
            size_t index;
            bool fresh;
            struct rpc_vertex *vertex = vertex_of(task, tensors[i], &index, &fresh);
            if (!vertex)
                continue;
            vertex->dependencies++;
            if (fresh && vertex->kind == VERTEX_NODE) {
                stack = rpc_grow(stack, depth, &room, sizeof *stack);
                stack[depth++] = vertex->of.node;
            }
        }
        if (!depth)
            break;
        tensors = stack[--depth]->inputs;
        count = stack[depth]->input_count;
    }
    free(stack);
}

static bool is_counted(const struct rpc_context *context, const struct rpc_send *send,
                       const struct id_set *needed)
{
    if (context->mode == DIST_SMART_LINEAGE)
        return id_set_has(needed, send->message);
    if (context->mode == DIST_SMART_MARK)
        return id_set_has(&context->marked, send->message);
    return true;
}

struct rpc_task *task_new(struct rpc_worker *worker, struct rpc_context *context, uint64_t pass,
                          unsigned flags, const struct id_set *needed)
{
    struct rpc_task *task = rpc_take(sizeof *task);
    *task = (struct rpc_task){
        .context = context, .pass = pass, .holders = 1, .parent = -1, .flags = flags};
    if (worker->state->row && (flags & DIST_GRAPH))
        worker->state->row->graphs = true;
    id_set_join(&task->needed, needed);
    context->task = task;
    char id[32], number[32], message[32];
    if (context->mode == DIST_SMART_MARK && context->mark_pass != pass)
        context->marked.count = 0;
    for (size_t i = 0; i < context->send_count; i++) {
        const struct rpc_send *send = context->sends[i];
        if (!is_counted(context, send, needed))
            continue;
        id_set_add(&task->counted, send->message);
        task->outstanding++;
        edges_count(task, send->count, send->tensors);
        rpc_event(worker, "count c=%s p=%s m=%s", id_text(context->id, id), id_text(pass, number),
                  id_text(send->message, message));
    }
    return task;
}

void task_roots(struct rpc_task *task, size_t count, struct diff_tensor *const *roots)
{
    task->outstanding++;
    edges_count(task, count, roots);
}

/* ---- running ---- */

static void ready_add(struct rpc_task *task, const struct rpc_vertex *vertex)
{
    task->ready = rpc_grow(task->ready, task->ready_count, &task->ready_room, sizeof *task->ready);
    task->ready[task->ready_count++] = (uint32_t)(vertex - task->vertices);
}

static struct rpc_vertex *ready_take(struct rpc_task *task)
{
    size_t pick = 0;
    if (task->ready_count > 1)
        pick = (size_t)MPIX_Choose(MPIX_CHOOSE_READY, (int)task->ready_count);
    size_t at = task->ready_count - 1 - pick;
    uint32_t number = task->ready[at];
    task->ready_count--;
    memmove(task->ready + at, task->ready + at + 1, (task->ready_count - at) * sizeof *task->ready);
    return &task->vertices[number];
}

static void deliver(struct rpc_worker *worker, struct rpc_task *task, struct diff_tensor *x,
                    struct diff_tensor *gradient)
{
    size_t index;
    bool fresh;
    struct rpc_vertex *vertex = vertex_of(task, x, &index, &fresh);
    if (!vertex || vertex->ran)
        return;
    struct diff_tensor **slot = &slots(vertex)[index];
    if (worker->mutant == RPC_MUTANT_ORDER_MATTERS && *slot)
        *slot = cotangent_add(*slot, gradient);
    *slot = cotangent_add(*slot, gradient);
    bool early = worker->mutant == RPC_MUTANT_EARLY_NODE && vertex->arrived == 0;
    if (++vertex->arrived == vertex->dependencies || early)
        ready_add(task, vertex);
}

static bool hooks_call(struct rpc_worker *worker, struct rpc_task *task, const void *key,
                       enum dist_hook_time time, struct diff_tensor *gradient)
{
    for (struct rpc_hook *hook = worker->hooks, *next; hook; hook = next) {
        next = hook->next;
        if (hook->vertex != key || hook->time != time || task->failed)
            continue;
        int depth = worker->state->depth;
        worker->state->depth = 0;
        const char *error = hook->function(gradient, hook->context);
        worker->state->depth = depth;
        if (error)
            task_fail(worker, task, error);
    }
    return !task->failed;
}

static void node_execute(struct rpc_worker *worker, struct rpc_task *task,
                         struct rpc_vertex *vertex)
{
    struct diff_node *node = vertex->of.node;
    struct diff_tensor *few[8] = {NULL}, **x_bar = few, *y_bar[2] = {NULL, NULL};
    for (size_t i = 0; i < vertex->count; i++)
        y_bar[i] = slots(vertex)[i];
    if (node->released && worker->mutant != RPC_MUTANT_RELEASED_AGAIN) {
        task_fail(worker, task,
                  "a pass reaches an operation a second time: the first pass released it (use "
                  "DIST_RETAIN)");
        return;
    }
    if ((task->flags & DIST_GRAPH) && node->operation->communicates) {
        task_fail(worker, task,
                  "a pass with DIST_GRAPH reaches a message outside of remote calls: use "
                  "diff_backward_from with DIFF_GRAPH for those");
        return;
    }
    if (!hooks_call(worker, task, node, DIST_BEFORE, y_bar[0]))
        return;
    if (node->input_count > 8)
        x_bar = rpc_take(node->input_count * sizeof *x_bar);
    backward_node(node, y_bar, x_bar);
    trace_adjoint(node, y_bar, x_bar);
    if (!(task->flags & (DIST_RETAIN | DIST_GRAPH)))
        node->released = true;
    if (hooks_call(worker, task, node, DIST_AFTER, y_bar[0]))
        for (uint32_t i = 0; i < node->input_count; i++)
            deliver(worker, task, node->inputs[i], x_bar[i]);
    if (x_bar != few)
        free(x_bar);
}

static void recv_execute(struct rpc_worker *worker, struct rpc_task *task,
                         struct rpc_vertex *vertex)
{
    struct rpc_recv *recv = vertex->of.recv;
    struct diff_tensor **gradients = slots(vertex);
    if (!recv->context) {
        task_fail(worker, task, "a pass reaches a tensor of a context that was released");
        return;
    }
    if (recv->released && worker->mutant != RPC_MUTANT_RELEASED_AGAIN) {
        task_fail(worker, task,
                  "a pass reaches a remote call a second time: the first pass released it (use "
                  "DIST_RETAIN)");
        return;
    }
    for (size_t i = 0; i < vertex->count; i++)
        gradients[i] = cotangent_or_zeros(gradients[i], recv->tensors[i]);
    if (worker->mutant == RPC_MUTANT_GRADIENT_SIGN)
        for (size_t i = 0; i < vertex->count; i++)
            gradients[i] = diff_neg(gradients[i]);
    recv->released = !(task->flags & (DIST_RETAIN | DIST_GRAPH));
    gradient_send(worker, task, recv, gradients);
    if (worker->mutant == RPC_MUTANT_GRADIENT_TWICE)
        gradient_send(worker, task, recv, gradients);
}

static void leaf_execute(struct rpc_worker *worker, struct rpc_task *task,
                         struct rpc_vertex *vertex)
{
    struct diff_tensor *leaf = vertex->of.leaf, *gradient = slots(vertex)[0];
    if (!gradient || !hooks_call(worker, task, leaf, DIST_BEFORE, gradient))
        return;
    gradient_accumulate(worker, task->context, task->pass, leaf, gradient);
    hooks_call(worker, task, leaf, DIST_AFTER, gradient);
}

static void vertex_run(struct rpc_worker *worker, struct rpc_task *task, uint32_t number)
{
    /* Running may make no new vertices: all were counted before. */
    struct rpc_vertex *vertex = &task->vertices[number];
    char id[32], pass[32], of[32];
    vertex->ran = true;
    uint64_t function = vertex->kind == VERTEX_RECV ? vertex->of.recv->message
                        : vertex->kind == VERTEX_NODE
                            ? worker->numbers.lives << 48 | vertex->of.node->sequence
                            : 0;
    rpc_event(worker, "run c=%s p=%s v=%u kind=%d f=%s deps=%u arrived=%u",
              id_text(task->context->id, id), id_text(task->pass, pass), (unsigned)number,
              (int)vertex->kind, id_text(function, of), vertex->dependencies, vertex->arrived);
    if (vertex->kind == VERTEX_NODE)
        node_execute(worker, task, vertex);
    else if (vertex->kind == VERTEX_RECV)
        recv_execute(worker, task, vertex);
    else
        leaf_execute(worker, task, vertex);
}

/* A pass is recorded when it was asked to be, whatever this worker's program waits in. Returns what
 * to put back. */
static int recording_enter(struct rpc_worker *worker, const struct rpc_task *task)
{
    int no_grad = worker->state->no_grad;
    worker->state->no_grad = task->flags & DIST_GRAPH ? 0 : no_grad + 1;
    return no_grad;
}

static void task_run(struct rpc_worker *worker, struct rpc_task *task)
{
    task->holders++;
    int no_grad = recording_enter(worker, task);
    while (task->ready_count && !task->failed && !task->over)
        vertex_run(worker, task, (uint32_t)(ready_take(task) - task->vertices));
    worker->state->no_grad = no_grad;
    task_settle(worker, task);
    task_drop(task);
}

void task_roots_arrive(struct rpc_worker *worker, struct rpc_task *task, size_t count,
                       struct diff_tensor *const *roots, struct diff_tensor *const *seeds)
{
    task->outstanding--;
    int no_grad = recording_enter(worker, task);
    for (size_t i = 0; i < count; i++)
        deliver(worker, task, roots[i], seeds[i]);
    worker->state->no_grad = no_grad;
    task_run(worker, task);
}

void task_arrive(struct rpc_worker *worker, struct rpc_task *task, const struct rpc_send *send,
                 struct diff_tensor *const *gradients)
{
    if (!id_set_has(&task->counted, send->message) || !id_set_add(&task->arrived, send->message)) {
        task_fail(worker, task, "a gradient came that the pass did not count on");
        return;
    }
    task->outstanding--;
    int no_grad = recording_enter(worker, task);
    for (size_t i = 0; i < send->count; i++)
        deliver(worker, task, send->tensors[i], gradients[i]);
    worker->state->no_grad = no_grad;
    task_run(worker, task);
}

/* ---- ending ---- */

void task_settle(struct rpc_worker *worker, struct rpc_task *task)
{
    char id[32], pass[32];
    if (task->over)
        return;
    if (!task->failed && !task->idle && !task->outstanding && !task->ready_count) {
        task->idle = true;
        rpc_event(worker, "idle c=%s p=%s", id_text(task->context->id, id),
                  id_text(task->pass, pass));
        if (worker->mutant == RPC_MUTANT_IDLE_TWICE)
            rpc_event(worker, "idle c=%s p=%s", id, pass);
    }
    if ((!task->idle && !task->failed) || task->open)
        return;
    task->over = true;
    task->context->task = NULL;
    pass_note_end(task->context, task->pass);
    task_ended(worker, task);
    task_drop(task);
}

void task_fail(struct rpc_worker *worker, struct rpc_task *task, const char *error)
{
    char id[32], pass[32];
    if (task->failed || task->over)
        return;
    task->failed = true;
    snprintf(task->error, sizeof task->error, "Error on Node %d: %s", worker->me, error);
    rpc_event(worker, "fail c=%s p=%s", id_text(task->context->id, id), id_text(task->pass, pass));
    if (worker->mutant == RPC_MUTANT_AFTER_ERROR)
        for (size_t i = 0; i < task->vertex_count; i++)
            if (task->vertices[i].kind == VERTEX_LEAF && slots(&task->vertices[i])[0])
                gradient_accumulate(worker, task->context, task->pass, task->vertices[i].of.leaf,
                                    slots(&task->vertices[i])[0]);
    children_abort(worker, task);
    task_settle(worker, task);
}

void task_abandon(struct rpc_worker *worker, struct rpc_task *task)
{
    for (struct rpc_future *future = worker->futures; future; future = future->next)
        if (future->notify_context == task) {
            future->notify = NULL;
            future->notify_context = NULL;
        }
    task->open = 0;
    task->failed = true;
    task_settle(worker, task);
}

void task_peer_died(struct rpc_worker *worker, struct rpc_task *task, int peer)
{
    char error[80];
    if (id_worker(worker, task->pass) != peer && task->parent != peer &&
        !task->context->known[peer])
        return;
    snprintf(error, sizeof error, "worker %d died during the pass", peer);
    task_fail(worker, task, error);
}

void task_drop(struct rpc_task *task)
{
    if (--task->holders)
        return;
    for (size_t i = 0; i < task->vertex_count; i++)
        free(task->vertices[i].gradients);
    free(task->vertices);
    free(task->ready);
    pointer_map_release(&task->map);
    id_set_release(&task->counted);
    id_set_release(&task->arrived);
    id_set_release(&task->needed);
    free(task);
}

/* ---- hooks ---- */

void dist_hook_add(struct diff_tensor *x, enum dist_hook_time time, dist_hook *function,
                   void *context)
{
    struct rpc_worker *worker = worker_get("dist_hook_add");
    if (probe_needs_no_tape(worker->state))
        return; /* nothing is recorded, and no pass will come */
    if (!x->requires_gradient)
        worker_misuse(worker, "dist_hook_add to a tensor that needs no gradient");
    struct rpc_hook *hook = rpc_take(sizeof *hook);
    *hook = (struct rpc_hook){.vertex = x->node ? (const void *)x->node : x,
                              .time = time,
                              .function = function,
                              .context = context};
    struct rpc_hook **link = &worker->hooks; /* called in the order in which they were added */
    while (*link)
        link = &(*link)->next;
    *link = hook;
}
