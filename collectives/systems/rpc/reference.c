/* References: values that stay with their owner.
 *
 * The owner counts holders by name: each holding of a reference has an id of its own (the worker
 * that made it and a counter). Whoever passes one on makes a new id, tells the owner (FORK), and
 * only then sends it; whoever frees one tells the owner (DROP). A DROP may come before its FORK, by
 * another way: then it is remembered. As the passer still holds its own until after the FORK, a
 * value is never given up too early. */
#include "collectives/systems/rpc/call.h"

#include <stdlib.h>
#include <string.h>

struct rpc_kept {
    struct rpc_kept *next;
    uint64_t id;
    bool ready;
    char *error;
    size_t count;
    struct diff_tensor **tensors;
    struct id_set holders;
    struct waiter { /* fetches that came before the call */
        struct waiter *next;
        struct rpc_call call;
    } * waiters;
};

struct rpc_reference {
    struct rpc_reference *next;
    struct rpc_worker *worker;
    int owner;
    uint64_t id, holder;
    struct rpc_future *making; /* the call that makes it */
};

/* ---- the owner's side ---- */

static struct rpc_kept *kept_get(struct rpc_worker *worker, uint64_t id)
{
    for (struct rpc_kept *kept = worker->kept; kept; kept = kept->next)
        if (kept->id == id)
            return kept;
    struct rpc_kept *kept = rpc_take(sizeof *kept);
    *kept = (struct rpc_kept){.next = worker->kept, .id = id};
    worker->kept = kept;
    return kept;
}

static void kept_free(struct rpc_worker *worker, struct rpc_kept *kept)
{
    struct rpc_kept **link = &worker->kept;
    while (*link != kept)
        link = &(*link)->next;
    *link = kept->next;
    while (kept->waiters) {
        struct waiter *waiter = kept->waiters;
        kept->waiters = waiter->next;
        free(waiter);
    }
    id_set_release(&kept->holders);
    free(kept->tensors);
    free(kept->error);
    free(kept);
}

static void fetch_answer(struct rpc_kept *kept, struct rpc_call *call)
{
    if (kept->error)
        rpc_fail(call, "%s", kept->error);
    else
        rpc_reply(call, kept->count, kept->tensors);
}

static void waiters_answer(struct rpc_kept *kept)
{
    kept->ready = true;
    while (kept->waiters) {
        struct waiter *waiter = kept->waiters;
        kept->waiters = waiter->next;
        fetch_answer(kept, &waiter->call);
        free(waiter);
    }
}

void reference_keep(struct rpc_worker *worker, uint64_t id, size_t count,
                    struct diff_tensor *const *tensors)
{
    struct rpc_kept *kept = kept_get(worker, id);
    kept->count = count;
    kept->tensors = rpc_take(count * sizeof *tensors);
    if (count)
        memcpy(kept->tensors, tensors, count * sizeof *tensors);
    waiters_answer(kept);
}

void reference_keep_error(struct rpc_worker *worker, uint64_t id, const char *error)
{
    struct rpc_kept *kept = kept_get(worker, id);
    kept->error = rpc_text(error);
    waiters_answer(kept);
}

/* rpc.fetch: the id in the bytes. */
static void fetch_handler(struct rpc_call *call)
{
    size_t size;
    uint64_t id = 0;
    const void *bytes = rpc_argument_bytes(call, &size);
    if (size == sizeof id)
        memcpy(&id, bytes, sizeof id);
    struct rpc_kept *kept = kept_get(call->worker, id);
    if (kept->ready) {
        fetch_answer(kept, call);
        return;
    }
    struct waiter *waiter = rpc_take(sizeof *waiter);
    *waiter = (struct waiter){kept->waiters, *call};
    waiter->call.bytes = NULL;
    call->deferred = true;
    kept->waiters = waiter;
}

void references_init(struct rpc_worker *worker)
{
    rpc_register("rpc.fetch", fetch_handler);
    (void)worker;
}

static void holder_add(struct rpc_worker *worker, uint64_t id, uint64_t holder)
{
    struct id_set *early = &worker->early_drops;
    if (id_set_has(early, holder)) {
        for (size_t i = 0; i < early->count; i++)
            if (early->ids[i] == holder) {
                memmove(early->ids + i, early->ids + i + 1,
                        (--early->count - i) * sizeof *early->ids);
                break;
            }
        return;
    }
    id_set_add(&kept_get(worker, id)->holders, holder);
}

static void holder_drop(struct rpc_worker *worker, uint64_t id, uint64_t holder)
{
    struct rpc_kept *kept = kept_get(worker, id);
    struct id_set *holders = &kept->holders;
    if (!id_set_has(holders, holder)) {
        id_set_add(&worker->early_drops, holder);
        return;
    }
    for (size_t i = 0; i < holders->count; i++)
        if (holders->ids[i] == holder) {
            memmove(holders->ids + i, holders->ids + i + 1,
                    (--holders->count - i) * sizeof *holders->ids);
            break;
        }
    if (!holders->count)
        kept_free(worker, kept);
}

void fork_handle(struct rpc_worker *worker, struct rpc_packet *packet)
{
    uint64_t id = wire_get(&packet->body);
    holder_add(worker, id, wire_get(&packet->body));
}

void drop_handle(struct rpc_worker *worker, struct rpc_packet *packet)
{
    uint64_t id = wire_get(&packet->body);
    holder_drop(worker, id, wire_get(&packet->body));
}

size_t rpc_references_kept(void)
{
    size_t count = 0;
    for (struct rpc_kept *k = worker_get("rpc_references_kept")->kept; k; k = k->next)
        count++;
    return count;
}

/* ---- the holder's side ---- */

static struct rpc_reference *holding(struct rpc_worker *worker, int owner, uint64_t id,
                                     uint64_t holder)
{
    struct rpc_reference *reference = rpc_take(sizeof *reference);
    *reference = (struct rpc_reference){
        .next = worker->references, .worker = worker, .owner = owner, .id = id, .holder = holder};
    worker->references = reference;
    return reference;
}

static void report_owner(struct rpc_worker *worker, const struct rpc_reference *reference,
                         enum rpc_kind kind, uint64_t holder)
{
    if (reference->owner == worker->me) {
        if (kind == RPC_FORK)
            holder_add(worker, reference->id, holder);
        else
            holder_drop(worker, reference->id, holder);
        return;
    }
    struct wire outer = worker->building; /* forks are told in the middle of building a call */
    bool busy = worker->building_busy;
    worker->building_busy = false;
    struct wire *wire = packet_begin(worker);
    wire_put(wire, reference->id);
    wire_put(wire, holder);
    packet_send(worker, reference->owner, kind, 0, 0);
    worker->building = outer;
    worker->building_busy = busy;
}

static uint64_t next_id(struct rpc_worker *worker)
{
    return id_make(worker->rank, ++worker->numbers.references);
}

struct rpc_reference *rpc_remote(int to, const char *name, size_t count,
                                 struct diff_tensor *const *tensors)
{
    struct rpc_worker *worker = worker_get("rpc_remote");
    ENTER(worker->state);
    uint64_t id = next_id(worker);
    struct rpc_reference *reference = holding(worker, to, id, id);
    if (to >= 0 && to < worker->count)
        report_owner(worker, reference, RPC_FORK, id);
    reference->making = call_start(worker, to, name, id,
                                   &(struct rpc_arguments){.count = count, .tensors = tensors});
    state_leave(worker->state);
    return reference;
}

struct rpc_reference *rpc_reference_new(struct diff_tensor *x)
{
    struct rpc_worker *worker = worker_get("rpc_reference_new");
    uint64_t id = next_id(worker);
    struct rpc_reference *reference = holding(worker, worker->me, id, id);
    holder_add(worker, id, id);
    reference_keep(worker, id, 1, &x);
    return reference;
}

int rpc_reference_owner(const struct rpc_reference *reference)
{
    return reference->owner;
}

struct rpc_future *rpc_reference_fetch(struct rpc_reference *reference)
{
    struct rpc_worker *worker = reference->worker;
    ENTER(worker->state);
    struct rpc_future *future =
        call_start(worker, reference->owner, "rpc.fetch", 0,
                   &(struct rpc_arguments){.size = sizeof reference->id, .bytes = &reference->id});
    state_leave(worker->state);
    return future;
}

struct diff_tensor *rpc_reference_local(const struct rpc_reference *reference, size_t index)
{
    struct rpc_worker *worker = reference->worker;
    if (reference->owner != worker->me)
        worker_misuse(worker, "rpc_reference_local on worker %d of a value that worker %d owns",
                      worker->me, reference->owner);
    struct rpc_kept *kept = kept_get(worker, reference->id);
    return kept->ready && index < kept->count ? kept->tensors[index] : NULL;
}

void rpc_reference_free(struct rpc_reference *reference)
{
    if (!reference)
        return;
    struct rpc_worker *worker = reference->worker;
    ENTER(worker->state);
    if (reference->making && !reference->making->done)
        future_wait(reference->making);
    if (!worker->peers[reference->owner].dead)
        report_owner(worker, reference, RPC_DROP, reference->holder);
    struct rpc_reference **link = &worker->references;
    while (*link != reference)
        link = &(*link)->next;
    *link = reference->next;
    free(reference);
    state_leave(worker->state);
}

void reference_put(struct rpc_worker *worker, struct rpc_reference *reference, int to,
                   struct wire *body)
{
    (void)to;
    uint64_t holder = next_id(worker);
    wire_put(body, (uint64_t)reference->owner);
    wire_put(body, reference->id);
    wire_put(body, holder);
    report_owner(worker, reference, RPC_FORK, holder);
}

struct rpc_reference *reference_get(struct rpc_worker *worker, struct wire *body)
{
    int owner = (int)wire_get(body);
    uint64_t id = wire_get(body);
    return holding(worker, owner, id, wire_get(body));
}

void references_release(struct rpc_worker *worker)
{
    while (worker->kept)
        kept_free(worker, worker->kept);
    while (worker->references) {
        struct rpc_reference *reference = worker->references;
        worker->references = reference->next;
        free(reference);
    }
}
