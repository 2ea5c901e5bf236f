/* Small things that all parts use: see worker.h. */
#include "collectives/systems/rpc/worker.h"

#include "recorder/recorder.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const rpc_kind_names[RPC_KIND_COUNT] = {
#define X(enumerator, name, answer) name,
    RPC_KINDS(X)
#undef X
};

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

struct rpc_worker *worker_get(const char *function)
{
    struct rpc_worker *worker = state_system_find("rpc");
    if (!worker || !worker->open)
        state_fail(state_get(), "M009", "%s before rpc_init", function);
    worker->state = state_get();
    return worker;
}
