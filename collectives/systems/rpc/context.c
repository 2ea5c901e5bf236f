/* The container of contexts, and their gradients: see context.h. */
#include "collectives/systems/rpc/context.h"

#include "collectives/experiment/probe.h"
#include "collectives/tape/backward.h"

#include <stdlib.h>
#include <string.h>

struct rpc_context *context_find(const struct rpc_worker *worker, uint64_t id)
{
    struct rpc_context *context = worker->contexts;
    while (context && context->id != id)
        context = context->next;
    return context;
}

static struct rpc_context *context_make(struct rpc_worker *worker, uint64_t id, enum dist_mode mode)
{
    struct rpc_context *context = rpc_take(sizeof *context);
    *context = (struct rpc_context){.next = worker->contexts, .id = id, .mode = mode};
    context->known = rpc_take((size_t)worker->count * sizeof *context->known);
    worker->contexts = context;
    char text[32];
    rpc_event(worker, "context c=%s mode=%d", id_text(id, text), (int)mode);
    return context;
}

struct rpc_context *context_get_or_make(struct rpc_worker *worker, uint64_t id, enum dist_mode mode)
{
    struct rpc_context *context = context_find(worker, id);
    if (context || id_set_has(&worker->tombstones, id) ||
        (id_rank(id) != worker->rank && worker->peers[id_worker(worker, id)].dead))
        return context;
    return context_make(worker, id, mode);
}

static void tangents_release(struct rpc_tangents *tangents)
{
    pointer_map_release(&tangents->map);
    free(tangents->values);
}

void context_free(struct rpc_worker *worker, struct rpc_context *context)
{
    struct rpc_context **link = &worker->contexts;
    while (*link != context)
        link = &(*link)->next;
    *link = context->next;
    if (worker->current == context->id)
        worker->current = 0;
    for (size_t i = 0; i < context->send_count; i++) {
        free(context->sends[i]->tensors);
        free(context->sends[i]);
    }
    for (size_t i = 0; i < context->recv_count; i++)
        context->recvs[i]->context = NULL; /* tensors may outlive it */
    free(context->sends);
    free(context->recvs);
    free(context->gradients);
    free(context->known);
    free(context->ended);
    id_set_release(&context->marked);
    tangents_release(&context->tangents);
    free(context);
}

/* ---- gradients ---- */

struct rpc_total {
    struct rpc_total *next;
    struct diff_tensor *leaf, *sum;
};

static uint64_t gradient_hash(const struct diff_tensor *sum)
{
    return sum ? tensor_hash(sum, 1) : 0;
}

static struct rpc_gradient *gradient_entry(struct rpc_context *context,
                                           const struct diff_tensor *leaf)
{
    for (size_t i = 0; i < context->gradient_count; i++)
        if (context->gradients[i].leaf == leaf)
            return &context->gradients[i];
    return NULL;
}

static struct diff_tensor *sum_of(struct diff_tensor *sum, struct diff_tensor *more)
{
    if (!sum)
        return more;
    if (!sum->tape->state->no_grad)
        return diff_add(sum, more); /* the pass is recorded */
    /* A new tensor: the old sum may have to come back, and people may hold it. */
    struct diff_tensor *result = tensor_new_like(sum);
    memcpy(result->storage->data, sum->storage->data, sum->count * diff_type_size(sum->type));
    tensor_accumulate(result, more);
    return result;
}

void gradient_accumulate(struct rpc_worker *worker, struct rpc_context *context, uint64_t pass,
                         struct diff_tensor *leaf, struct diff_tensor *gradient)
{
    struct rpc_context *into = context;
    if (worker->mutant == RPC_MUTANT_CONTEXTS_MIXED)
        while (into->next)
            into = into->next;
    struct rpc_gradient *entry = gradient_entry(into, leaf);
    if (!entry) {
        into->gradients = rpc_grow(into->gradients, into->gradient_count, &into->gradient_room,
                                   sizeof *into->gradients);
        entry = &into->gradients[into->gradient_count++];
        *entry = (struct rpc_gradient){.leaf = leaf};
    }
    entry->before = entry->sum;
    entry->pass = pass;
    entry->sum = sum_of(entry->sum, gradient);
    char id[32], number[32];
    rpc_event(worker, "leaf c=%s p=%s leaf=%zx before=%llx after=%llx", id_text(context->id, id),
              id_text(pass, number), (size_t)(entry - into->gradients),
              (unsigned long long)gradient_hash(entry->before),
              (unsigned long long)gradient_hash(entry->sum));
}

struct diff_tensor *gradient_passed(struct rpc_worker *worker, uint64_t id,
                                    const struct diff_tensor *leaf)
{
    struct rpc_context *context = context_find(worker, id);
    struct rpc_gradient *entry = context ? gradient_entry(context, leaf) : NULL;
    return entry ? entry->sum : NULL;
}

/* In a world whose passes do nothing: what the first run had in the end, over all contexts. */
static struct diff_tensor *gradient_shown(struct rpc_worker *worker, struct rpc_context *context,
                                          struct diff_tensor *leaf)
{
    size_t parts = leaf->count * diff_type_parts(leaf->type);
    const double *values = leaf->input != SIZE_MAX && probe_needs_no_tape(worker->state)
                               ? probe_base_gradient(worker->state, leaf->input, parts, 0)
                               : NULL;
    if (!values)
        return NULL;
    struct diff_tensor *shown = tensor_new_like(leaf);
    for (size_t i = 0; i < parts; i++)
        tensor_part_set(shown, i, values[i]);
    context->gradients = rpc_grow(context->gradients, context->gradient_count,
                                  &context->gradient_room, sizeof *context->gradients);
    context->gradients[context->gradient_count++] =
        (struct rpc_gradient){.leaf = leaf, .sum = shown};
    return shown;
}

struct diff_tensor *dist_gradient(uint64_t id, const struct diff_tensor *leaf)
{
    struct rpc_worker *worker = worker_get("dist_gradient");
    struct rpc_context *context = context_find(worker, id);
    if (!context || gradient_entry(context, leaf))
        return gradient_passed(worker, id, leaf);
    return gradient_shown(worker, context, (struct diff_tensor *)(uintptr_t)leaf);
}

size_t dist_gradients(uint64_t id, struct diff_tensor **leaves, size_t limit)
{
    struct rpc_context *context = context_find(worker_get("dist_gradients"), id);
    size_t count = 0;
    for (size_t i = 0; context && i < context->gradient_count; i++) {
        if (!context->gradients[i].sum)
            continue;
        if (count < limit)
            leaves[count] = context->gradients[i].leaf;
        count++;
    }
    return count;
}

void totals_add(struct rpc_worker *worker, const struct rpc_context *context)
{
    for (size_t i = 0; i < context->gradient_count; i++) {
        struct rpc_gradient *entry = &context->gradients[i];
        if (entry->leaf->input == SIZE_MAX || !entry->sum)
            continue;
        struct rpc_total *total = worker->totals;
        while (total && total->leaf != entry->leaf)
            total = total->next;
        if (!total) {
            total = arena_take_zeroed(&worker->tape->arena, sizeof *total);
            total->leaf = entry->leaf;
            total->next = worker->totals;
            worker->totals = total;
        }
        worker->state->no_grad++;
        total->sum = sum_of(total->sum, entry->sum);
        worker->state->no_grad--;
    }
}

void totals_report(struct rpc_worker *worker)
{
    for (struct rpc_context *context = worker->contexts; context; context = context->next)
        totals_add(worker, context);
    for (struct diff_tensor *x = worker->tape->retained; x; x = x->next_retained) {
        struct rpc_total *total = worker->totals;
        while (total && total->leaf != x)
            total = total->next;
        if (x->input != SIZE_MAX)
            probe_keep_gradient(worker->state, x->input, x->type, x->count,
                                total ? total->sum->storage->data : NULL, 0);
    }
}

/* ---- passes that ended ---- */

bool pass_has_ended(const struct rpc_context *context, uint64_t pass)
{
    for (size_t i = 0; i < context->ended_count; i++)
        if (context->ended[i].root == id_rank(pass))
            return id_counter(pass) <= context->ended[i].counter;
    return false;
}

void pass_note_end(struct rpc_context *context, uint64_t pass)
{
    for (size_t i = 0; i < context->ended_count; i++)
        if (context->ended[i].root == id_rank(pass)) {
            if (context->ended[i].counter < id_counter(pass))
                context->ended[i].counter = id_counter(pass);
            return;
        }
    context->ended = rpc_grow(context->ended, context->ended_count, &context->ended_room,
                              sizeof *context->ended);
    context->ended[context->ended_count++] = (struct rpc_ended){id_rank(pass), id_counter(pass)};
}

/* ---- the user's ---- */

uint64_t dist_context_new(enum dist_mode mode)
{
    struct rpc_worker *worker = worker_get("dist_context_new");
    ENTER(worker->state);
    char text[32];
    if (worker->current)
        worker_misuse(worker, "dist_context_new while context %s is current: leave it first",
                      id_text(worker->current, text));
    uint64_t id = id_make(worker->rank, ++worker->numbers.contexts);
    if (worker->mutant == RPC_MUTANT_ID_REUSED)
        worker->numbers.messages = 0;
    struct rpc_context *context = context_make(worker, id, mode);
    worker->current = context->id;
    state_leave(worker->state);
    return id;
}

void dist_context_enter(uint64_t id)
{
    struct rpc_worker *worker = worker_get("dist_context_enter");
    char text[32];
    if (worker->current)
        worker_misuse(worker, "dist_context_enter while context %s is current: leave it first",
                      id_text(worker->current, text));
    if (!context_find(worker, id))
        worker_misuse(worker, "dist_context_enter of context %s, which is not known here",
                      id_text(id, text));
    worker->current = id;
}

void dist_context_leave(void)
{
    worker_get("dist_context_leave")->current = 0;
}

uint64_t dist_context_current(void)
{
    return worker_get("dist_context_current")->current;
}

bool dist_context_known(uint64_t id)
{
    return context_find(worker_get("dist_context_known"), id) != NULL;
}

size_t dist_contexts(void)
{
    size_t count = 0;
    for (struct rpc_context *c = worker_get("dist_contexts")->contexts; c; c = c->next)
        count++;
    return count;
}
