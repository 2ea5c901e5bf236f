/* The two designs of SMART: see needed.h. */
#include "collectives/systems/rpc/needed.h"

#include "collectives/systems/rpc/pointer_map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct walk {
    struct pointer_map seen;
    const struct diff_node **stack;
    size_t count, room;
    void (*visit)(struct rpc_recv *recv, void *visitor);
    void *visitor;
};

static void walk_tensor(struct walk *walk, const struct diff_tensor *x)
{
    if (!x->requires_gradient || !x->node)
        return;
    size_t index;
    bool fresh;
    struct rpc_recv *recv = recv_of(x, &index);
    pointer_map_at(&walk->seen, recv ? (const void *)recv : x->node, &fresh);
    if (!fresh)
        return;
    if (recv) {
        walk->visit(recv, walk->visitor);
        return;
    }
    walk->stack = rpc_grow(walk->stack, walk->count, &walk->room, sizeof *walk->stack);
    walk->stack[walk->count++] = x->node;
}

void history_walk(size_t count, struct diff_tensor *const *tensors,
                  void (*visit)(struct rpc_recv *recv, void *visitor), void *visitor)
{
    struct walk walk = {.visit = visit, .visitor = visitor};
    for (size_t i = 0; i < count; i++)
        walk_tensor(&walk, tensors[i]);
    while (walk.count) {
        const struct diff_node *node = walk.stack[--walk.count];
        for (uint32_t i = 0; i < node->input_count; i++)
            walk_tensor(&walk, node->inputs[i]);
    }
    pointer_map_release(&walk.seen);
    free(walk.stack);
}

struct history {
    struct rpc_worker *worker;
    uint64_t context, id;
    const char *what;
};

static void history_visit(struct rpc_recv *recv, void *visitor)
{
    const struct history *history = visitor;
    char context[32], id[32], from[32];
    rpc_event(history->worker, "path c=%s %s=%s f=%s", id_text(history->context, context),
              history->what, id_text(history->id, id), id_text(recv->message, from));
}

void history_record(struct rpc_worker *worker, const struct rpc_context *context, const char *what,
                    uint64_t id, size_t count, struct diff_tensor *const *tensors)
{
    struct history history = {worker, context->id, id, what};
    if (context->mode == DIST_FAST && record_active())
        history_walk(count, tensors, history_visit, &history);
}

/* ---- lineage ---- */

static void lineage_join(struct rpc_recv *recv, void *visitor)
{
    id_set_join(visitor, &recv->lineage);
}

void lineage_collect(size_t count, struct diff_tensor *const *tensors, struct id_set *lineage)
{
    history_walk(count, tensors, lineage_join, lineage);
}

/* ---- the mark phase ---- */

/* One question and those it leads to: answered when they are. Each send is marked once, so the
 * questions form a tree. */
struct marking {
    struct rpc_worker *worker;
    int to; /* who asked, -1: the root here */
    uint64_t request, context, pass;
    size_t open;
    struct id_set found;
    bool failed, over;
    char error[300];
};

static void marking_end(struct marking *marking)
{
    struct rpc_worker *worker = marking->worker;
    marking->over = true;
    if (marking->to < 0)
        return;
    if (marking->failed) {
        answer_error(worker, marking->to, RPC_MARK_ANSWER, marking->request, marking->context,
                     marking->error);
    } else {
        struct wire *wire = packet_begin(worker);
        wire_put(wire, 0);
        id_set_put(&marking->found, wire);
        packet_send(worker, marking->to, RPC_MARK_ANSWER, marking->request, marking->context);
    }
    id_set_release(&marking->found);
}

static void marking_answered(struct rpc_future *future, struct wire *body, void *context)
{
    struct marking *marking = context;
    if (future->failed) {
        marking->failed = true;
        snprintf(marking->error, sizeof marking->error, "Error on Node %d: %s", marking->worker->me,
                 future->error);
    } else {
        id_set_get(&marking->found, body);
    }
    if (--marking->open == 0)
        marking_end(marking);
}

static void marking_visit(struct rpc_recv *recv, void *visitor)
{
    struct marking *marking = visitor;
    struct rpc_worker *worker = marking->worker;
    if (recv->mark_pass == marking->pass || !recv->context)
        return;
    recv->mark_pass = marking->pass;
    struct rpc_future *future = future_new(worker, recv->from, RPC_MARK, marking->context);
    future->notify = marking_answered;
    future->notify_context = marking;
    marking->open++;
    struct wire *wire = packet_begin(worker);
    wire_put(wire, marking->pass);
    wire_put(wire, recv->message);
    packet_send(worker, recv->from, RPC_MARK, future->request, marking->context);
}

static void marking_walk(struct marking *marking, size_t count, struct diff_tensor *const *tensors)
{
    marking->open = 1;
    history_walk(count, tensors, marking_visit, marking);
    if (--marking->open == 0)
        marking_end(marking);
}

static void marks_begin(struct rpc_context *context, uint64_t pass)
{
    if (context->mark_pass == pass)
        return;
    context->mark_pass = pass;
    context->marked.count = 0;
}

void mark_handle(struct rpc_worker *worker, struct rpc_packet *packet)
{
    uint64_t pass = wire_get(&packet->body), message = wire_get(&packet->body);
    struct rpc_context *context = context_find(worker, packet->context);
    struct rpc_send *send = context ? send_find(context, message) : NULL;
    if (!send) {
        answer_error(worker, packet->source, RPC_MARK_ANSWER, packet->request, packet->context,
                     "the context is not known any more");
        return;
    }
    /* On the tape: a rank may end while one is under way. */
    struct marking *marking = arena_take(&worker->tape->arena, sizeof *marking);
    *marking = (struct marking){.worker = worker,
                                .to = packet->source,
                                .request = packet->request,
                                .context = packet->context,
                                .pass = pass};
    marks_begin(context, pass);
    if (id_set_add(&context->marked, message)) {
        id_set_add(&marking->found, message);
        marking_walk(marking, send->count, send->tensors);
    } else {
        marking_end(marking);
    }
}

bool mark_phase(struct rpc_worker *worker, struct rpc_context *context, uint64_t pass, size_t count,
                struct diff_tensor *const *roots, struct id_set *needed)
{
    struct marking marking = {.worker = worker, .to = -1, .context = context->id, .pass = pass};
    marks_begin(context, pass);
    marking_walk(&marking, count, roots);
    while (!marking.over)
        if (!worker_serve(worker))
            futures_expire(worker);
    if (marking.failed)
        snprintf(worker->error, sizeof worker->error, "%s", marking.error);
    id_set_join(needed, &marking.found);
    id_set_release(&marking.found);
    return !marking.failed;
}
