/* A worker's beginning and end, and small things all parts use: see worker.h. */
#include "collectives/systems/rpc/worker.h"

#include "collectives/experiment/probe.h"
#include "collectives/systems/rpc/context.h"
#include "recorder/recorder.h"

#include <mpix.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const rpc_kind_names[RPC_KIND_COUNT] = {
#define X(enumerator, name, answer) name,
    RPC_KINDS(X)
#undef X
};

/* ---- helpers ---- */

void *rpc_take(size_t size)
{
    void *piece = calloc(1, size ? size : 1);
    if (!piece)
        state_fail(state_get(), "X002", "a remote call ran out of memory");
    return piece;
}

char *rpc_text(const char *text)
{
    char *copy = rpc_take(strlen(text) + 1);
    strcpy(copy, text);
    return copy;
}

void *rpc_grow(void *items, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return items;
    *room = *room ? *room * 2 : 8;
    void *larger = realloc(items, *room * size);
    if (!larger)
        state_fail(state_get(), "X002", "a remote call ran out of memory");
    return larger;
}

const char *id_text(uint64_t id, char text[32])
{
    snprintf(text, 32, "%d.%llu", id_rank(id), (unsigned long long)id_counter(id));
    return text;
}

int id_worker(const struct rpc_worker *worker, uint64_t id)
{
    int rank = id_rank(id);
    if (rank < worker->count && worker->ranks[rank] == rank)
        return rank;
    for (int i = 0; i < worker->count; i++)
        if (worker->ranks[i] == rank)
            return i;
    return -1;
}

static size_t id_set_place(const struct id_set *set, uint64_t id)
{
    size_t low = 0, high = set->count;
    if (high && set->ids[high - 1] < id)
        return high;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (set->ids[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool id_set_has(const struct id_set *set, uint64_t id)
{
    size_t place = id_set_place(set, id);
    return place < set->count && set->ids[place] == id;
}

bool id_set_add(struct id_set *set, uint64_t id)
{
    size_t place = id_set_place(set, id);
    if (place < set->count && set->ids[place] == id)
        return false;
    set->ids = rpc_grow(set->ids, set->count, &set->room, sizeof *set->ids);
    memmove(set->ids + place + 1, set->ids + place, (set->count - place) * sizeof *set->ids);
    set->ids[place] = id;
    set->count++;
    return true;
}

void id_set_join(struct id_set *set, const struct id_set *more)
{
    for (size_t i = 0; i < more->count; i++)
        id_set_add(set, more->ids[i]);
}

void id_set_release(struct id_set *set)
{
    free(set->ids);
    *set = (struct id_set){0};
}

void id_set_put(const struct id_set *set, struct wire *wire)
{
    wire_put_bytes(wire, set->ids, set->count * sizeof *set->ids);
}

void id_set_get(struct id_set *set, struct wire *wire)
{
    size_t size;
    const unsigned char *bytes = wire_get_bytes(wire, &size);
    for (size_t i = 0; i + sizeof(uint64_t) <= size; i += sizeof(uint64_t)) {
        uint64_t id;
        memcpy(&id, bytes + i, sizeof id);
        id_set_add(set, id);
    }
}

void event_record(const struct rpc_worker *worker, const char *format, ...)
{
    char text[400] = "rpc.";
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + 4, sizeof text - 4, format, arguments);
    va_end(arguments);
    record_node(text, OP_COMPUTE, 0, 0, worker->state->site);
}

void worker_misuse(const struct rpc_worker *worker, const char *format, ...)
{
    char text[600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    state_fail(worker->state, "M009", "%s", text);
}

/* ---- a worker's life ---- */

static void numbers_keep(struct rpc_worker *worker)
{
    for (int i = 0; i < worker->count && worker->peers; i++) {
        worker->numbers.sent[worker->ranks[i]] = worker->peers[i].sent;
        worker->numbers.seen[worker->ranks[i]] = worker->peers[i].seen;
    }
}

/* Message numbers go on where they were: what was lost then is not waited for now. */
static void peers_make(struct rpc_worker *worker, int world)
{
    struct rpc_numbers *numbers = &worker->numbers;
    numbers->lives++;
    if (!numbers->sent) {
        numbers->sent = rpc_take((size_t)world * sizeof *numbers->sent);
        numbers->seen = rpc_take((size_t)world * sizeof *numbers->seen);
    }
    worker->peers = rpc_take((size_t)worker->count * sizeof *worker->peers);
    for (int i = 0; i < worker->count; i++) {
        worker->peers[i].sent = numbers->sent[worker->ranks[i]];
        worker->peers[i].seen = numbers->seen[worker->ranks[i]];
    }
}

static void worker_forget(struct rpc_worker *worker)
{
    numbers_keep(worker);
    while (worker->contexts)
        context_free(worker, worker->contexts);
    optimizers_release(worker);
    references_release(worker);
    while (worker->all_futures)
        future_free(worker->all_futures);
    transport_release(worker);
    while (worker->functions) {
        struct rpc_named *named = worker->functions;
        worker->functions = named->next;
        free(named);
    }
    while (worker->hooks) {
        struct rpc_hook *hook = worker->hooks;
        worker->hooks = hook->next;
        free(hook);
    }
    id_set_release(&worker->tombstones);
    id_set_release(&worker->early_drops);
    free(worker->ranks);
}

/* After the rank has ended, however it did. */
static void worker_release(void *state)
{
    struct rpc_worker *worker = state;
    if (worker->open)
        worker_forget(worker);
    worker->open = false;
    free(worker->numbers.sent);
    free(worker->numbers.seen);
    worker->numbers = (struct rpc_numbers){0};
}

static struct rpc_worker *worker_of_rank(void)
{
    struct rpc_worker *worker = state_system("rpc", sizeof *worker, worker_release);
    worker->state = state_get();
    return worker;
}

struct rpc_worker *worker_get(const char *function)
{
    struct rpc_worker *worker = worker_of_rank();
    if (!worker->open)
        worker_misuse(worker, "%s before rpc_init", function);
    return worker;
}

static void ranks_find(struct rpc_worker *worker)
{
    MPI_Group world, group;
    int *numbers = rpc_take((size_t)worker->count * sizeof *numbers);
    worker->ranks = rpc_take((size_t)worker->count * sizeof *worker->ranks);
    for (int i = 0; i < worker->count; i++)
        numbers[i] = i;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Comm_group(worker->comm, &group);
    MPI_Group_translate_ranks(group, worker->count, numbers, world, worker->ranks);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    free(numbers);
    worker->rank = worker->ranks[worker->me];
}

void rpc_init(MPI_Comm comm)
{
    int world;
    struct rpc_worker *worker = worker_of_rank();
    ENTER(worker->state);
    if (worker->open)
        worker_misuse(worker, "rpc_init a second time before rpc_shutdown");
    struct diff_state *state = worker->state;
    *worker = (struct rpc_worker){.state = state, .open = true, .numbers = worker->numbers};
    MPI_Comm_dup(comm, &worker->comm);
    /* The order in which messages arrive is free by design: the checker is told by this name. */
    MPI_Comm_set_name(worker->comm, "rpc: any order");
    MPI_Comm_rank(worker->comm, &worker->me);
    MPI_Comm_size(worker->comm, &worker->count);
    MPI_Comm_size(MPI_COMM_WORLD, &world);
    if (world > 65536)
        worker_misuse(worker, "rpc_init in a world of %d ranks: ids have room for 65536", world);
    ranks_find(worker);
    peers_make(worker, world);
    worker->tape = diff_tape_new(comm);
    worker->anchor = tensor_new_flat(worker->tape, DIFF_DOUBLE, 0);
    worker->anchor->requires_gradient = true;
    worker->anchor->input = SIZE_MAX;
    references_init(worker);
    optimizers_init(worker);
    rpc_event(worker, "worker n=%d", worker->count);
    state_leave(worker->state);
}

void rpc_shutdown(void)
{
    struct rpc_worker *worker = worker_get("rpc_shutdown");
    ENTER(worker->state);
    if (worker->call)
        worker_misuse(worker, "rpc_shutdown inside a registered function");
    while (worker->futures)
        if (!worker_serve(worker))
            futures_expire(worker);
    transport_close(worker);
    totals_report(worker);
    rpc_event(worker, "closed contexts=%zu", dist_contexts());
    worker->open = false;
    worker_forget(worker);
    MPI_Comm_free(&worker->comm);
    diff_tape_free(worker->tape);
    state_leave(worker->state);
}

int rpc_worker(void)
{
    return worker_get("rpc_worker")->me;
}

int rpc_workers(void)
{
    return worker_get("rpc_workers")->count;
}

struct diff_tape *rpc_tape(void)
{
    return worker_get("rpc_tape")->tape;
}

struct diff_tensor *rpc_variable(enum diff_type type, size_t dims, const size_t *shape,
                                 const void *values)
{
    struct rpc_worker *worker = worker_get("rpc_variable");
    struct diff_tensor *x = diff_constant(worker->tape, type, dims, shape, values);
    x->requires_gradient = true;
    return x;
}

void rpc_patience(unsigned polls)
{
    worker_get("rpc_patience")->patience = polls;
}

void rpc_break(const char *rule)
{
    static const char *const names[] = {
#define X(enumerator, name, text) name,
        RPC_MUTANTS(X)
#undef X
    };
    struct rpc_worker *worker = worker_get("rpc_break");
    ENTER(worker->state);
    int found = -1;
    for (int i = 0; i < RPC_MUTANT_COUNT; i++)
        if (strcmp(names[i], rule) == 0)
            found = i;
    if (found < 0)
        worker_misuse(worker, "rpc_break: no rule is named '%s'", rule);
    worker->mutant = (enum rpc_mutant)found;
    state_leave(worker->state);
}
