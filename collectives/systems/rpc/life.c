/* A worker's beginning and end, and what its user may ask of it: see worker.h. */
#include "collectives/experiment/probe.h"
#include "collectives/systems/rpc/context.h"
#include "collectives/systems/rpc/task.h"
#include "recorder/recorder.h"

#include <mpix.h>
#include <stdlib.h>
#include <string.h>

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
    while (worker->contexts) {
        struct rpc_task *task = worker->contexts->task;
        if (task) { /* its rank has ended in the middle of a pass */
            task->holders = 1;
            task_drop(task);
        }
        context_free(worker, worker->contexts);
    }
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
