/* Passes between workers: gradient messages, first and later contact, the root. */
#include "collectives/systems/rpc/needed.h"
#include "collectives/systems/rpc/tangent.h"
#include "collectives/systems/rpc/task.h"

#include "collectives/experiment/probe.h"
#include "collectives/tape/trace_node.h"

#include <mpix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- gradient messages ---- */

static void gradient_answered(struct rpc_future *future, struct wire *body, void *context)
{
    struct rpc_task *task = context;
    struct rpc_worker *worker = future->worker;
    char id[32], pass[32];
    (void)body;
    task->open--;
    rpc_event(worker, "answered c=%s p=%s", id_text(task->context->id, id),
              id_text(task->pass, pass));
    task->holders++;
    if (future->failed)
        task_fail(worker, task, future->error);
    task_settle(worker, task);
    task_drop(task);
}

static uint64_t gradients_hash(size_t count, struct diff_tensor *const *gradients)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < count; i++)
        hash = tensor_hash(gradients[i], hash);
    return hash;
}

/* Of a recorded pass the gradients have a history like the tensors of a call. */
static void gradients_put(struct rpc_worker *worker, const struct rpc_task *task,
                          const struct rpc_recv *recv, struct diff_tensor *const *gradients,
                          struct wire *wire)
{
    struct rpc_context *context = task->context;
    char what[40], id[32];
    if (task->flags & DIST_GRAPH) {
        snprintf(what, sizeof what, "gradient-of-%s", id_text(recv->message, id));
        uint64_t message =
            tensors_put(worker, context, recv->from, what, recv->count, gradients, wire);
        if (message)
            send_find(context, message)->pass = task->pass;
        return;
    }
    wire_put(wire, recv->count);
    for (size_t i = 0; i < recv->count; i++)
        wire_put_tensor(wire, gradients[i]);
}

static struct diff_tensor **gradients_get(struct rpc_worker *worker, struct rpc_context *context,
                                          const struct rpc_packet *packet, unsigned flags,
                                          const struct rpc_send *send, struct wire *body)
{
    size_t count;
    struct diff_tensor **gradients = NULL;
    if (flags & DIST_GRAPH) {
        int no_grad = worker->state->no_grad;
        worker->state->no_grad = 0;
        gradients = tensors_get(worker, context, packet->source, body, &count);
        worker->state->no_grad = no_grad;
    } else {
        count = (size_t)wire_get(body);
        if (count == send->count)
            gradients = arena_take_zeroed(&worker->tape->arena, (count + 1) * sizeof *gradients);
        for (size_t i = 0; gradients && i < count; i++)
            gradients[i] = wire_get_tensor(body, worker->tape);
    }
    if (count != send->count)
        worker_misuse(worker, "a gradient arrived damaged");
    return gradients;
}

void gradient_send(struct rpc_worker *worker, struct rpc_task *task, struct rpc_recv *recv,
                   struct diff_tensor *const *gradients)
{
    char id[32], pass[32], message[32];
    uint64_t context = task->context->id;
    rpc_event(worker, "grad-out c=%s p=%s m=%s to=%d h=%llx", id_text(context, id),
              id_text(task->pass, pass), id_text(recv->message, message), worker->ranks[recv->from],
              (unsigned long long)gradients_hash(recv->count, gradients));
    struct rpc_future *future = future_new(worker, recv->from, RPC_GRADIENT, context);
    future->notify = gradient_answered;
    future->notify_context = task;
    task->open++;
    if (worker->dead || worker->peers[recv->from].dead) {
        future_fail(future, "worker %d has died", worker->dead ? worker->me : recv->from);
        return;
    }
    struct wire *wire = packet_begin(worker);
    wire_put(wire, task->pass);
    wire_put(wire, recv->message);
    wire_put(wire, task->flags);
    wire_put(wire, (uint64_t)task->context->mode);
    id_set_put(&task->needed, wire);
    gradients_put(worker, task, recv, gradients, wire);
    packet_send(worker, recv->from, RPC_GRADIENT, future->request, context);
}

struct contact { /* a gradient message, read */
    uint64_t pass, message;
    unsigned flags;
    struct id_set needed;
};

static void contact_error(struct rpc_worker *worker, const struct rpc_packet *packet,
                          unsigned flags, const char *error)
{
    char text[300], id[32];
    if (flags & DIST_GRAPH) /* its send function is left without a receive function */
        rpc_event(worker, "refuse c=%s", id_text(packet->context, id));
    snprintf(text, sizeof text, "Error on Node %d: %s", worker->me, error);
    answer_error(worker, packet->source, RPC_GRADIENT_ANSWER, packet->request, packet->context,
                 text);
}

/* Waits for a place in the engine. */
static void contact_queue(struct rpc_worker *worker, struct rpc_packet *packet,
                          const struct contact *contact)
{
    char id[32], pass[32], message[32];
    rpc_event(worker, "queue c=%s p=%s m=%s w=%u", id_text(packet->context, id),
              id_text(contact->pass, pass), id_text(contact->message, message),
              worker->engine_busy);
    struct rpc_packet *copy = rpc_take(sizeof *copy);
    *copy = *packet;
    copy->body = (struct wire){0};
    memcpy(wire_add(&copy->body, packet->body.size), packet->body.data, packet->body.size);
    worker->waiting = rpc_grow(worker->waiting, worker->waiting_count, &worker->waiting_room,
                               sizeof *worker->waiting);
    worker->waiting[worker->waiting_count++] = copy;
}

static void waiting_start(struct rpc_worker *worker)
{
    while (worker->waiting_count && worker->engine_busy < worker->engine_limit) {
        struct rpc_packet *packet = worker->waiting[0];
        memmove(worker->waiting, worker->waiting + 1,
                --worker->waiting_count * sizeof *worker->waiting);
        packet->body.at = 48; /* behind the head */
        gradient_handle(worker, packet);
        wire_release(&packet->body);
        free(packet);
    }
}

static struct rpc_task *first_contact(struct rpc_worker *worker, struct rpc_context *context,
                                      const struct rpc_packet *packet,
                                      const struct contact *contact)
{
    char id[32], pass[32];
    rpc_event(worker, "contact c=%s p=%s from=%d", id_text(context->id, id),
              id_text(contact->pass, pass), worker->ranks[packet->source]);
    struct rpc_task *task =
        task_new(worker, context, contact->pass, contact->flags, &contact->needed);
    task->parent = packet->source;
    task->request = packet->request;
    if (worker->engine_limit) {
        task->occupies = true;
        worker->engine_busy++;
    }
    if (worker->mutant == RPC_MUTANT_ACK_EARLY) {
        rpc_event(worker, "answer c=%s p=%s to=%d", id, pass, worker->ranks[packet->source]);
        answer_ok(worker, packet->source, RPC_GRADIENT_ANSWER, packet->request, packet->context);
        task->request = 0;
    }
    return task;
}

static void contact_take(struct rpc_worker *worker, struct rpc_context *context,
                         struct rpc_packet *packet, const struct contact *contact)
{
    struct rpc_send *send = send_find(context, contact->message);
    struct rpc_task *task = context->task;
    bool first = !task;
    if (!send || (task && task->pass != contact->pass)) {
        contact_error(worker, packet, contact->flags,
                      send ? "another pass is under way in the context"
                           : "a gradient came for a message that was never sent");
        return;
    }
    if (first)
        task = first_contact(worker, context, packet, contact);
    struct diff_tensor **gradients =
        gradients_get(worker, context, packet, contact->flags, send, &packet->body);
    char id[32], pass[32], message[32];
    rpc_event(worker, "grad-in c=%s p=%s m=%s h=%llx", id_text(context->id, id),
              id_text(contact->pass, pass), id_text(contact->message, message),
              (unsigned long long)gradients_hash(send->count, gradients));
    task->holders++;
    if (!task->failed)
        task_arrive(worker, task, send, gradients);
    if (!first && task->failed)
        answer_error(worker, packet->source, RPC_GRADIENT_ANSWER, packet->request, packet->context,
                     task->error);
    else if (!first)
        answer_ok(worker, packet->source, RPC_GRADIENT_ANSWER, packet->request, packet->context);
    task_drop(task);
}

void gradient_handle(struct rpc_worker *worker, struct rpc_packet *packet)
{
    struct contact contact = {.pass = wire_get(&packet->body)};
    contact.message = wire_get(&packet->body);
    contact.flags = (unsigned)wire_get(&packet->body);
    wire_get(&packet->body);
    struct rpc_context *context = context_find(worker, packet->context);
    if (!context || pass_has_ended(context, contact.pass)) {
        contact_error(worker, packet, contact.flags,
                      context ? "the pass has ended here" : "the context has been released");
        return;
    }
    if (!context->task && worker->engine_limit && worker->engine_busy >= worker->engine_limit) {
        contact_queue(worker, packet, &contact);
        return;
    }
    id_set_get(&contact.needed, &packet->body);
    contact_take(worker, context, packet, &contact);
    id_set_release(&contact.needed);
}

/* Everything this worker had to do in the pass is done. */
void task_ended(struct rpc_worker *worker, struct rpc_task *task)
{
    char id[32], pass[32];
    rpc_event(worker, "over c=%s p=%s to=%d ok=%d", id_text(task->context->id, id),
              id_text(task->pass, pass), task->parent < 0 ? -1 : worker->ranks[task->parent],
              !task->failed);
    if (task->parent >= 0 && task->request) {
        rpc_event(worker, "answer c=%s p=%s to=%d", id, pass, worker->ranks[task->parent]);
        if (task->failed)
            answer_error(worker, task->parent, RPC_GRADIENT_ANSWER, task->request,
                         task->context->id, task->error);
        else
            answer_ok(worker, task->parent, RPC_GRADIENT_ANSWER, task->request, task->context->id);
    }
    if (task->occupies) {
        worker->engine_busy--;
        waiting_start(worker);
    }
}

/* ---- telling those below ---- */

void children_abort(struct rpc_worker *worker, const struct rpc_task *task)
{
    bool *told = rpc_take((size_t)worker->count * sizeof *told);
    for (struct rpc_future *future = worker->futures; future; future = future->next) {
        if (future->notify_context != task || told[future->peer] ||
            worker->peers[future->peer].dead)
            continue;
        told[future->peer] = true;
        struct wire *wire = packet_begin(worker);
        wire_put(wire, task->pass);
        wire_put_text(wire, task->error);
        packet_send(worker, future->peer, RPC_ABORT, 0, task->context->id);
    }
    free(told);
}

void abort_handle(struct rpc_worker *worker, struct rpc_packet *packet)
{
    uint64_t pass = wire_get(&packet->body);
    const char *error = wire_get_text(&packet->body);
    struct rpc_context *context = context_find(worker, packet->context);
    if (!context)
        return;
    if (context->task && context->task->pass == pass)
        task_fail(worker, context->task, error);
    /* A gradient that waits for a place is not worth one any more. */
    for (size_t i = 0; i < worker->waiting_count; i++) {
        struct rpc_packet *waiting = worker->waiting[i];
        uint64_t of[3]; /* pass, message, flags */
        memcpy(of, waiting->body.data + 48, sizeof of);
        if (waiting->context != packet->context || of[0] != pass)
            continue;
        contact_error(worker, waiting, (unsigned)of[2], error);
        wire_release(&waiting->body);
        free(waiting);
        memmove(worker->waiting + i, worker->waiting + i + 1,
                (--worker->waiting_count - i) * sizeof *worker->waiting);
        i--;
    }
}

/* ---- the root ---- */

static bool refused(struct rpc_worker *worker, const char *error)
{
    snprintf(worker->error, sizeof worker->error, "%s", error);
    return false;
}

static bool roots_good(struct rpc_worker *worker, size_t count, struct diff_tensor *const *roots)
{
    if (count == 0)
        return refused(worker, "no roots: a pass needs at least one");
    for (size_t i = 0; i < count; i++)
        if (roots[i]->tape != worker->tape)
            worker_misuse(worker, "dist_backward of a tensor that is not on rpc_tape()");
    for (size_t i = 0; i < count; i++)
        if (!roots[i]->requires_gradient)
            return refused(worker, "a root does not require a gradient");
    for (size_t i = 0; i < count; i++)
        if (roots[i]->count != 1 || diff_type_is_complex(roots[i]->type))
            return refused(worker, "a root is not a scalar: it must be one real number");
    for (size_t i = 0; i < count; i++)
        if (!roots[i]->node)
            return refused(worker, "a root has no history: no operation made it");
    return true;
}

static bool wait_for_task(struct rpc_worker *worker, struct rpc_task *task)
{
    bool early = worker->mutant == RPC_MUTANT_ROOT_EARLY;
    while (!task->over && !(early && task->idle)) {
        if (worker->dead)
            task_fail(worker, task, "this worker has died");
        if (task->over || worker->dead)
            break;
        if (!worker_serve(worker)) {
            futures_expire(worker);
            if (!task->over && !task->open)
                task_fail(worker, task, "no gradient came for a send that was counted");
        }
    }
    bool good = !task->failed;
    if (!task->over)
        task_abandon(worker, task);
    return good;
}

static struct diff_tensor *seed_new(const struct rpc_worker *worker, const struct diff_tensor *root)
{
    const struct diff_probe *probe = worker->state->probe;
    bool silent = probe && probe->seed_rank >= 0 && probe->seed_rank != MPIX_World_rank();
    struct diff_tensor *seed = tensor_zeros_like(root);
    tensor_part_set(seed, 0, silent ? 0 : 1);
    trace_seed(root, seed);
    return seed;
}

static bool pass_run(struct rpc_worker *worker, struct rpc_context *context, uint64_t pass,
                     size_t count, struct diff_tensor *const *roots, unsigned flags)
{
    struct id_set needed = {0};
    if (context->mode == DIST_SMART_LINEAGE)
        lineage_collect(count, roots, &needed);
    else if (context->mode == DIST_SMART_MARK &&
             !mark_phase(worker, context, pass, count, roots, &needed))
        return false;
    struct rpc_task *task = task_new(worker, context, pass, flags, &needed);
    id_set_release(&needed);
    task->holders++;
    task_roots(task, count, roots);
    struct diff_tensor **seeds = arena_take_zeroed(&worker->tape->arena, count * sizeof *seeds);
    for (size_t i = 0; i < count; i++)
        seeds[i] = seed_new(worker, roots[i]);
    task_roots_arrive(worker, task, count, roots, seeds);
    worker->roots++;
    bool good = wait_for_task(worker, task);
    worker->roots--;
    if (!good)
        refused(worker, task->error);
    task_drop(task);
    return good;
}

static bool backward(struct rpc_worker *worker, uint64_t id, size_t count,
                     struct diff_tensor *const *roots, unsigned flags)
{
    struct rpc_context *context = context_find(worker, id);
    char text[64], at[32], number[32];
    double tangent = 0;
    if (!context) {
        snprintf(text, sizeof text, "context %s does not exist", id_text(id, at));
        return refused(worker, text);
    }
    if (!probe_perturbed(worker->state) || (flags & DIST_GRAPH)) {
        if (!roots_good(worker, count, roots))
            return false;
        if (context->task)
            return refused(worker, "another pass is under way in the context");
        uint64_t pass = id_make(worker->rank, ++worker->numbers.passes);
        rpc_event(worker, "pass-begin c=%s p=%s mode=%d retain=%d", id_text(id, at),
                  id_text(pass, number), (int)context->mode,
                  (flags & (DIST_RETAIN | DIST_GRAPH)) != 0);
        history_record(worker, context, "p", pass, count, roots);
        tangent = tangents_measure(worker, context, count, roots);
        bool good = pass_run(worker, context, pass, count, roots, flags);
        if (!good && worker->mutant != RPC_MUTANT_AFTER_ERROR)
            context_rollback(worker, id, pass);
        rpc_event(worker, "pass-end c=%s p=%s ok=%d", at, number, good);
        if (!good)
            return false;
    }
    probe_add_tangent(worker->state, worker->tape->epoch, 0, tangent);
    for (size_t i = 0; i < count; i++)
        probe_add_objective(worker->state, worker->tape->epoch, 0, tensor_part(roots[i], 0),
                            (struct probe_team){0});
    return true;
}

bool dist_backward(uint64_t context, size_t count, struct diff_tensor *const *roots, unsigned flags)
{
    struct rpc_worker *worker = worker_get("dist_backward");
    ENTER(worker->state);
    if (flags & ~(unsigned)(DIST_RETAIN | DIST_GRAPH))
        worker_misuse(worker, "dist_backward with flags %u: there are DIST_RETAIN and DIST_GRAPH",
                      flags);
    bool good = backward(worker, context, count, roots, flags);
    state_leave(worker->state);
    return good;
}

const char *dist_error(void)
{
    return worker_get("dist_error")->error;
}

void dist_engine_limit(unsigned passes)
{
    worker_get("dist_engine_limit")->engine_limit = passes;
}
