/* Building a trace: rows in any rank order, then trace_finish. See trace.h.
 *
 * Each add appends to a table with the caller's provisional indices inside; trace_finish groups by
 * rank with one stable permutation per table and rewrites every index through it. */
#include "traces/trace/memory.h"
#include "traces/trace/trace.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define APPEND(trace, table, count, room, row)                                                     \
    append((trace), (void *)&(trace)->table, &(trace)->count, &(trace)->store->room, (row),        \
           sizeof *(trace)->table)

static uint32_t append(struct trace *trace, void *table, size_t *count, size_t *room,
                       const void *row, size_t size)
{
    if (!trace_memory_grow(trace->store, table, *count, room, size))
        return TRACE_NO;
    char *rows;
    memcpy(&rows, table, sizeof rows);
    memcpy(rows + *count * size, row, size);
    return (uint32_t)(*count)++;
}

struct trace_plain_op trace_op_none(uint32_t rank, enum op_kind kind)
{
    return (struct trace_plain_op){.rank = rank,
                                   .kind = (uint8_t)kind,
                                   .state = STATE_COMPLETE,
                                   .comm = TRACE_NO,
                                   .peer = TRACE_NONE,
                                   .tag = TRACE_NONE,
                                   .peer_matched = TRACE_NONE,
                                   .tag_matched = TRACE_NONE,
                                   .count_matched = -1,
                                   .request = TRACE_NO,
                                   .node = TRACE_NO,
                                   .adjoint_of = TRACE_NO,
                                   .match = TRACE_NO,
                                   .site = TRACE_NO};
}

uint32_t trace_add_op(struct trace *trace, const struct trace_plain_op *op)
{
    assert(op->rank < trace->ranks);
    struct trace_op row;
    if (trace->op_count == TRACE_OPS_MAX)
        trace->store->failed = true;
    if (trace->op_count == TRACE_OPS_MAX || !trace_form_op(trace->store, op, &row))
        return TRACE_NO;
    if (trace->op_count && trace->ops[trace->op_count - 1].rank > row.rank)
        trace->store->disordered = true;
    trace_hashes_forget(trace->store);
    uint32_t index = APPEND(trace, ops, op_count, op_room, &row);
    if (index != TRACE_NO)
        trace_op_set_adjoint(trace, index, op->adjoint_of);
    return index;
}

bool trace_op_set_adjoint(struct trace *trace, uint32_t index, uint32_t adjoint_of)
{
    const uint32_t none = TRACE_NO;
    if (adjoint_of == TRACE_NO && index >= trace->adjoint_count)
        return true;
    trace_hashes_forget(trace->store);
    while (index >= trace->adjoint_count)
        if (APPEND(trace, adjoints, adjoint_count, adjoint_room, &none) == TRACE_NO)
            return false;
    trace->adjoints[index] = adjoint_of;
    return true;
}

uint32_t trace_add_place(struct trace *trace, uint64_t buffer, uint64_t extent)
{
    const struct trace_place place = {.buffer = buffer, .extent = extent}, none = {0};
    uint64_t hash = (buffer ^ extent * 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
    uint32_t *recent = &trace->store->recent_places[(hash >> 32) % TRACE_RECENT_PLACES];
    const struct trace_place *known = *recent ? &trace->places[*recent] : &none;
    if (known->buffer == buffer && known->extent == extent)
        return *recent;
    if (buffer == 0 && extent == 0)
        return 0;
    if (trace->place_count == 0 &&
        APPEND(trace, places, place_count, place_room, &none) == TRACE_NO)
        return 0;
    uint32_t index = APPEND(trace, places, place_count, place_room, &place);
    *recent = index == TRACE_NO ? 0 : index;
    return *recent;
}

void trace_set_times(struct trace *trace, uint32_t op, uint64_t begin_ns, uint64_t end_ns)
{
    const struct trace_times none = {0};
    bool known = op < trace->time_count;
    if (!known && begin_ns == 0 && end_ns == 0)
        return;
    while (!known && APPEND(trace, times, time_count, time_room, &none) != TRACE_NO)
        known = op < trace->time_count;
    if (known)
        trace->times[op] = (struct trace_times){.begin_ns = begin_ns, .end_ns = end_ns};
}

uint32_t trace_add_whole_op(struct trace *trace, const struct trace_whole_op *whole)
{
    struct trace_plain_op op = whole->op;
    op.place = trace_add_place(trace, whole->at.buffer, whole->at.extent);
    uint32_t index = trace_add_op(trace, &op);
    if (index != TRACE_NO)
        trace_set_times(trace, index, whole->times.begin_ns, whole->times.end_ns);
    return index;
}

void trace_whole_op(const struct trace *trace, uint32_t op, struct trace_whole_op *whole)
{
    whole->op = trace_op_plain(trace, op);
    whole->at = trace_op_place(trace, &trace->ops[op]);
    whole->times = trace_op_times(trace, &trace->ops[op]);
}

uint32_t trace_add_wait(struct trace *trace, uint32_t wait, uint32_t start, bool completed)
{
    struct trace_wait row = {.wait = wait, .start = start & TRACE_OPS_MAX, .completed = completed};
    return APPEND(trace, waits, wait_count, wait_room, &row);
}

static const int64_t *numbers_copy(struct trace *trace, const int64_t *numbers, uint32_t n)
{
    if (!numbers)
        return NULL;
    int64_t *copy = trace_memory_take(trace->store, (n ? n : 1) * sizeof *copy);
    return copy && n ? memcpy(copy, numbers, n * sizeof *copy) : copy;
}

uint32_t trace_add_counts(struct trace *trace, uint32_t op, uint32_t n, const int64_t *send,
                          const int64_t *receive)
{
    struct trace_counts row = {.op = op,
                               .n = n,
                               .send = numbers_copy(trace, send, n),
                               .receive = numbers_copy(trace, receive, n)};
    return APPEND(trace, counts, counts_count, counts_room, &row);
}

uint32_t trace_add_node(struct trace *trace, const struct trace_node *node)
{
    assert(node->rank < trace->ranks);
    return APPEND(trace, nodes, node_count, node_room, node);
}

uint32_t trace_add_edge(struct trace *trace, uint32_t from, uint32_t to, enum edge_type type)
{
    struct trace_edge row = {.from = from, .to = to, .type = type};
    return APPEND(trace, edges, edge_count, edge_room, &row);
}

uint32_t trace_add_pass(struct trace *trace, const struct trace_pass *pass)
{
    assert(pass->rank < trace->ranks && pass->pass > 0);
    return APPEND(trace, passes, pass_count, pass_room, pass);
}

uint32_t trace_add_comm(struct trace *trace, const struct trace_comm *comm)
{
    struct trace_comm row = *comm;
    if (comm->members) {
        row.members =
            trace_memory_take(trace->store, (comm->size ? comm->size : 1) * sizeof *row.members);
        if (row.members)
            memcpy(row.members, comm->members, comm->size * sizeof *row.members);
    }
    return APPEND(trace, comms, comm_count, comm_room, &row);
}

static uint64_t text_hash(const char *text, uint64_t hash)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash;
}

static const uint64_t HASH_START = 0xcbf29ce484222325u;

static uint64_t site_hash(const struct trace_site *site)
{
    return text_hash(site->file, text_hash(site->function, HASH_START)) * 31 + (uint64_t)site->line;
}

static uint64_t row_hash(const struct trace *trace, bool sites, uint32_t index)
{
    return sites ? site_hash(&trace->sites[index]) : text_hash(trace->strings[index], HASH_START);
}

/* Doubles an intern table once it is half full. */
static bool intern_room(struct trace *trace, bool sites, uint32_t **table, size_t *slots)
{
    size_t count = sites ? trace->site_count : trace->string_count;
    if (count * 2 < *slots)
        return true;
    size_t wanted = *slots ? *slots * 2 : 64;
    uint32_t *larger = malloc(wanted * sizeof *larger);
    if (!larger) {
        trace->store->failed = true;
        return false;
    }
    memset(larger, 0xff, wanted * sizeof *larger);
    for (uint32_t i = 0; i < count; i++) {
        size_t slot = row_hash(trace, sites, i) & (wanted - 1);
        while (larger[slot] != TRACE_NO)
            slot = (slot + 1) & (wanted - 1);
        larger[slot] = i;
    }
    free(*table);
    *table = larger;
    *slots = wanted;
    return true;
}

uint32_t trace_add_string(struct trace *trace, const char *text)
{
    struct trace_store *store = trace->store;
    if (!intern_room(trace, false, &store->string_table, &store->string_slots))
        return TRACE_NO;
    size_t slot = text_hash(text, HASH_START) & (store->string_slots - 1);
    for (; store->string_table[slot] != TRACE_NO; slot = (slot + 1) & (store->string_slots - 1))
        if (strcmp(trace->strings[store->string_table[slot]], text) == 0)
            return store->string_table[slot];
    const char *copy = trace_memory_text(trace->store, text);
    if (!copy)
        return TRACE_NO;
    store->string_table[slot] = APPEND(trace, strings, string_count, string_room, &copy);
    return store->string_table[slot];
}

uint32_t trace_add_site(struct trace *trace, const char *file, int line, const char *function)
{
    struct trace_store *store = trace->store;
    struct trace_site site = {
        .file = file ? file : "?", .function = function ? function : "", .line = line};
    if (!intern_room(trace, true, &store->site_table, &store->site_slots))
        return TRACE_NO;
    size_t slot = site_hash(&site) & (store->site_slots - 1);
    for (; store->site_table[slot] != TRACE_NO; slot = (slot + 1) & (store->site_slots - 1)) {
        const struct trace_site *known = &trace->sites[store->site_table[slot]];
        if (known->line == line && strcmp(known->file, site.file) == 0 &&
            strcmp(known->function, site.function) == 0)
            return store->site_table[slot];
    }
    site.file = trace_memory_text(trace->store, site.file);
    site.function = trace_memory_text(trace->store, site.function);
    if (!site.file || !site.function)
        return TRACE_NO;
    store->site_table[slot] = APPEND(trace, sites, site_count, site_room, &site);
    return store->site_table[slot];
}

uint32_t trace_add_note(struct trace *trace, const struct trace_note *note)
{
    struct trace_note row = *note;
    size_t size = strlen(note->text ? note->text : "") + 1;
    row.text = trace_memory_take(trace->store, size);
    if (!row.text)
        return TRACE_NO;
    memcpy(row.text, note->text ? note->text : "", size);
    return APPEND(trace, notes, note_count, note_room, &row);
}

uint32_t trace_add_access(struct trace *trace, const struct trace_access *access)
{
    return APPEND(trace, accesses, access_count, access_room, access);
}

uint32_t trace_add_fold(struct trace *trace, const struct trace_fold *fold)
{
    return APPEND(trace, folds, fold_count, fold_room, fold);
}

uint32_t trace_add_sync(struct trace *trace, const struct trace_sync *sync)
{
    return APPEND(trace, syncs, sync_count, sync_room, sync);
}

uint32_t trace_add_gradient(struct trace *trace, const struct trace_gradient *gradient)
{
    return APPEND(trace, gradients, gradient_count, gradient_room, gradient);
}

uint32_t trace_add_metric(struct trace *trace, const char *name, int32_t rank, double value,
                          const char *unit)
{
    return trace_add_metric_at(trace, name, rank, NAN, value, unit);
}

uint32_t trace_add_metric_at(struct trace *trace, const char *name, int32_t rank, double step,
                             double value, const char *unit)
{
    struct trace_metric row = {.name = trace_add_string(trace, name),
                               .unit = trace_add_string(trace, unit),
                               .rank = rank,
                               .step = step,
                               .value = value};
    return APPEND(trace, metrics, metric_count, metric_room, &row);
}
