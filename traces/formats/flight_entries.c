/* The entries of Flight Recorder dumps as operations: see flight.c for the rules. */
#include "traces/base/identity.h"
#include "traces/formats/flight.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whose sizes count: what goes in, what comes out. */
enum side { SIDE_IN, SIDE_OUT, SIDE_NONE };

static const struct {
    const char *name;
    enum op_kind kind;
    enum side side;
} operations[] = {
    {"send", OP_SEND, SIDE_IN},
    {"recv", OP_RECV, SIDE_OUT},
    {"recvAnySource", OP_RECV, SIDE_OUT},
    {"coalesced", OP_NONE, SIDE_NONE},
    {"all_reduce", OP_ALLREDUCE, SIDE_IN},
    {"all_reduce_sparse", OP_ALLREDUCE, SIDE_IN},
    {"all_reduce_coalesced", OP_ALLREDUCE, SIDE_IN},
    {"allreduce_coalesced", OP_ALLREDUCE, SIDE_IN},
    {"all_reduce_barrier", OP_BARRIER, SIDE_NONE},
    {"barrier", OP_BARRIER, SIDE_NONE},
    {"broadcast", OP_BCAST, SIDE_IN},
    {"_broadcast_oop", OP_BCAST, SIDE_IN},
    {"reduce", OP_REDUCE, SIDE_IN},
    {"_reduce_oop", OP_REDUCE, SIDE_IN},
    {"all_gather", OP_ALLGATHER, SIDE_IN},
    {"_all_gather_base", OP_ALLGATHER, SIDE_IN},
    {"all_gather_into_tensor_coalesced", OP_ALLGATHER, SIDE_IN},
    {"reduce_scatter", OP_REDUCE_SCATTER_BLOCK, SIDE_OUT},
    {"_reduce_scatter_base", OP_REDUCE_SCATTER_BLOCK, SIDE_OUT},
    {"reduce_scatter_tensor_coalesced", OP_REDUCE_SCATTER_BLOCK, SIDE_OUT},
    {"gather", OP_GATHER, SIDE_IN},
    {"scatter", OP_SCATTER, SIDE_OUT},
    {"all_to_all", OP_ALLTOALLV, SIDE_IN},
    {"all_to_allv", OP_ALLTOALLV, SIDE_IN},
};

static const struct {
    const char *name;
    uint32_t type;
} dtypes[] = {{"Float", 0x210},        {"Double", 0x214},       {"Half", 0x2ca},
              {"Int", 0x250},          {"Long", 0x258},         {"Short", 0x248},
              {"Char", 0x240},         {"Byte", 0x241},         {"Bool", 0x239},
              {"UInt16", 0x249},       {"UInt32", 0x251},       {"UInt64", 0x259},
              {"ComplexFloat", 0x213}, {"ComplexDouble", 0x217}};

struct entry {
    struct flight *flight;
    struct flight_dump *dump;
    const struct value *value;
    struct flight_row *row;
    const struct flight_group *group; /* NULL: all ranks */
};

#define refuse(entry, ...)                                                                         \
    format_refuse((entry)->dump->pool.input, (entry)->value->offset, __VA_ARGS__)

static const struct value *member(const struct entry *entry, const char *key)
{
    return value_get(&entry->dump->pool, entry->value, key);
}

/* Elements of one tensor; false when they pass 64 bits. */
static bool elements(const struct entry *entry, const struct value *sizes, int64_t *count)
{
    *count = 1;
    for (uint32_t i = 0; sizes && sizes->type == VALUE_LIST && i < sizes->count; i++) {
        int64_t size = value_integer(value_at(&entry->dump->pool, sizes, i), -1);
        if (size < 0 || __builtin_mul_overflow(*count, size, count))
            return refuse(entry, "a size that is no number of elements");
    }
    return true;
}

/* Of all tensors together; *uneven tells whether they differ. */
static bool all_elements(const struct entry *entry, const char *key, int64_t *sum, bool *uneven)
{
    const struct value *tensors = member(entry, key);
    int64_t first = -1, count;
    *sum = 0;
    *uneven = false;
    for (uint32_t i = 0; tensors && tensors->type == VALUE_LIST && i < tensors->count; i++) {
        if (!elements(entry, value_at(&entry->dump->pool, tensors, i), &count))
            return false;
        if (__builtin_add_overflow(*sum, count, sum))
            return refuse(entry, "sizes that add up to more than 64 bits");
        *uneven = *uneven || (first >= 0 && count != first);
        first = first < 0 ? count : first;
    }
    return true;
}

/* Types without a number in the MPI ABI (bfloat16, 8-bit floats) count bytes; the signature tells
 * them apart. */
static bool read_type(const struct entry *entry, enum side side)
{
    struct flight_row *row = entry->row;
    const struct value *list = member(entry, side == SIDE_IN ? "input_dtypes" : "output_dtypes");
    char name[32];
    value_copy(value_at(&entry->dump->pool, list, 0), name, sizeof name);
    row->type = 0;
    row->signature = name[0] ? trace_identity(name, strlen(name)) : 0;
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (strcmp(dtypes[i].name, name) == 0) {
            row->type = row->signature = dtypes[i].type;
            return true;
        }
    return strcmp(name, "BFloat16") != 0 || !__builtin_mul_overflow(row->count, 2, &row->count) ||
           refuse(entry, "sizes that add up to more than 64 bits");
}

static bool read_sizes(const struct entry *entry, enum side side)
{
    struct flight_row *row = entry->row;
    bool uneven;
    int64_t other;
    if (side == SIDE_NONE)
        return true;
    if (!all_elements(entry, side == SIDE_IN ? "input_sizes" : "output_sizes", &row->count,
                      &uneven))
        return false;
    /* gathered or scattered parts of different size: the v-form */
    if (row->kind == OP_ALLGATHER) {
        if (!all_elements(entry, "output_sizes", &other, &uneven))
            return false;
        row->kind = uneven ? OP_ALLGATHERV : OP_ALLGATHER;
        row->count = uneven ? other : row->count;
    } else if (row->kind == OP_REDUCE_SCATTER_BLOCK) {
        if (!all_elements(entry, "input_sizes", &other, &uneven))
            return false;
        row->kind = uneven ? OP_REDUCE_SCATTER : OP_REDUCE_SCATTER_BLOCK;
        row->count = uneven ? other : row->count;
    }
    return read_type(entry, side) && (row->count <= FORMAT_COUNT_MAX ||
                                      refuse(entry, "more elements than memory could hold"));
}

/* "0->1" of a send, "1<-0" of a receive: ranks of the group. */
static bool read_peer(const struct entry *entry, const char *text)
{
    const struct flight_group *group = entry->group;
    struct flight_row *row = entry->row;
    unsigned mine, other;
    char arrow[3];
    row->peer = TRACE_ANY;
    if (sscanf(text, " %7u%2[<>-]%7u", &mine, arrow, &other) != 3)
        return row->kind == OP_RECV || refuse(entry, "a send without \"0->1\"");
    uint32_t size = group ? group->size : entry->flight->ranks;
    if (other >= size)
        return refuse(entry, "a message to or from a rank that the group lacks: \"%.60s\"", text);
    row->peer = group ? group->members[other] : (int32_t)other;
    return true;
}

/* "nccl:all_reduce", "nccl:send 0->1" */
static bool read_kind(const struct entry *entry)
{
    char text[128];
    value_copy(member(entry, "profiling_name"), text, sizeof text);
    const char *name = strchr(text, ':') ? strchr(text, ':') + 1 : text;
    size_t length = strcspn(name, " "), i = 0, known = sizeof operations / sizeof *operations;
    while (i < known &&
           (strlen(operations[i].name) != length || memcmp(operations[i].name, name, length) != 0))
        i++;
    if (i == known)
        return refuse(entry, "unknown operation \"%.60s\"", text);
    entry->row->kind = (uint8_t)operations[i].kind;
    entry->row->is_p2p = operations[i].kind == OP_SEND || operations[i].kind == OP_RECV;
    return (!entry->row->is_p2p || read_peer(entry, name + length + (name[length] == ' '))) &&
           read_sizes(entry, operations[i].side);
}

/* ["0", "default_pg"] */
static bool read_group(struct entry *entry)
{
    char name[128];
    uint64_t hash = 0xcbf29ce484222325u;
    const struct value *group = member(entry, "process_group");
    if (group && group->type == VALUE_LIST)
        group = value_at(&entry->dump->pool, group, 0);
    value_copy(group, name, sizeof name);
    for (const char *c = name; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 0x100000001b3u;
    const struct format_index_row *row = format_index_find(&entry->dump->groups, hash);
    if (row) {
        entry->group = &entry->flight->groups[row->value];
        entry->row->comm = entry->group->comm;
        return entry->group->has_rank ||
               refuse(entry, "rank %u is not in its process group \"%.60s\"", entry->dump->rank,
                      name);
    }
    if (entry->dump->groups.count > 0)
        return refuse(entry, "process group \"%.60s\" is not in \"pg_config\"", name);
    entry->row->comm = entry->flight->world; /* without a configuration: all ranks */
    return true;
}

static bool read_state(const struct entry *entry)
{
    const struct value *state = member(entry, "state");
    entry->row->completed = value_is_text(state, "completed");
    entry->row->started = value_is_text(state, "started");
    return entry->row->completed || entry->row->started || value_is_text(state, "scheduled") ||
           refuse(entry, "a state that is none of scheduled, started, completed");
}

/* The first frame outside the library, else the first. */
static bool read_site(const struct entry *entry)
{
    enum { FRAMES_MAX = 64 };
    const struct value *frames = member(entry, "frames"), *chosen = NULL;
    char file[512], function[128];
    for (uint32_t i = 0;
         frames && frames->type == VALUE_LIST && i < frames->count && i < FRAMES_MAX; i++) {
        const struct value *frame = value_at(&entry->dump->pool, frames, i);
        value_copy(value_get(&entry->dump->pool, frame, "filename"), file, sizeof file);
        if (!chosen || !strstr(file, "/torch/"))
            chosen = frame;
        if (!strstr(file, "/torch/"))
            break;
    }
    entry->row->site = TRACE_NO;
    if (!chosen)
        return true;
    value_copy(value_get(&entry->dump->pool, chosen, "filename"), file, sizeof file);
    value_copy(value_get(&entry->dump->pool, chosen, "name"), function, sizeof function);
    int64_t line = value_integer(value_get(&entry->dump->pool, chosen, "line"), 0);
    line = line < 0 || line > INT32_MAX ? 0 : line;
    entry->row->site = trace_add_site(entry->flight->trace, file, (int)line, function);
    return entry->row->site != TRACE_NO || format_no_memory(entry->dump->pool.input);
}

static uint64_t read_time(const struct entry *entry, const char *key)
{
    int64_t time = value_integer(member(entry, key), 0);
    return time < 0 ? 0 : (uint64_t)time;
}

static bool read_entry(struct entry *entry)
{
    if (!entry->value || entry->value->type != VALUE_DICT)
        return format_refuse(entry->dump->pool.input, entry->dump->entries->offset,
                             "an entry that is no dict");
    if (!read_group(entry) || !read_kind(entry) || !read_state(entry) || !read_site(entry))
        return false;
    struct flight_row *row = entry->row;
    row->sequence =
        value_integer(member(entry, row->is_p2p ? "p2p_seq_id" : "collective_seq_id"), 0);
    if (row->kind == OP_NONE)
        row->sequence = value_integer(member(entry, "p2p_seq_id"), 0);
    row->begin_ns = read_time(entry, "time_discovered_started_ns");
    row->begin_ns = row->begin_ns ? row->begin_ns : read_time(entry, "time_created_ns");
    row->end_ns = read_time(entry, "time_discovered_completed_ns");
    return !entry->dump->pool.input->refused;
}

static bool read_entries(struct flight *flight, struct flight_dump *dump)
{
    dump->rows = calloc(dump->entries->count + (size_t)1, sizeof *dump->rows);
    if (!dump->rows)
        return format_no_memory(dump->pool.input);
    for (uint32_t i = 0; i < dump->entries->count; i++) {
        struct entry entry = {flight, dump, value_at(&dump->pool, dump->entries, i), &dump->rows[i],
                              NULL};
        if (!read_entry(&entry))
            return false;
        dump->row_count++;
    }
    const struct value *first = value_at(&dump->pool, dump->entries, 0);
    dump->wrapped = value_integer(value_get(&dump->pool, first, "record_id"), 0) > 0;
    return true;
}

/* ---- rule 3 ---- */

static void find_batches(struct flight_dump *dump)
{
    uint32_t batch = 0;
    for (size_t i = 0; i < dump->row_count; i++) {
        struct flight_row *row = &dump->rows[i];
        if (row->kind != OP_NONE)
            continue;
        batch++;
        row->batch = batch;
        for (size_t k = i; k-- > 0;) {
            struct flight_row *message = &dump->rows[k];
            if (!message->is_p2p || message->comm != row->comm || message->batch ||
                message->sequence != row->sequence)
                break;
            message->batch = batch;
        }
    }
}

/* ---- rule 2 ---- */

/* Collectives older than what every wrapped dump still has of their group. */
static bool drop_old_collectives(struct flight *flight)
{
    size_t comms = flight->trace->comm_count;
    int64_t *base = malloc(comms * sizeof *base);
    uint32_t *seen =
        calloc(comms, sizeof *seen); /* dump that was last seen to have the comm, from 1 on */
    if (!base || !seen) {
        free(base);
        free(seen);
        return format_no_memory(flight->input);
    }
    for (size_t i = 0; i < comms; i++)
        base[i] = INT64_MIN;
    for (uint32_t d = 0; d < flight->dump_count; d++)
        for (size_t i = 0; i < flight->dumps[d].row_count && flight->dumps[d].wrapped; i++) {
            const struct flight_row *row = &flight->dumps[d].rows[i];
            if (row->is_p2p || row->kind == OP_NONE || seen[row->comm] == d + 1)
                continue;
            seen[row->comm] = d + 1;
            base[row->comm] = row->sequence > base[row->comm] ? row->sequence : base[row->comm];
        }
    for (size_t d = 0; d < flight->dump_count; d++)
        for (size_t i = 0; i < flight->dumps[d].row_count; i++) {
            struct flight_row *row = &flight->dumps[d].rows[i];
            row->dropped = !row->is_p2p && row->kind != OP_NONE && row->sequence < base[row->comm];
        }
    free(base);
    free(seen);
    return true;
}

struct channel { /* a completed message, seen from one end */
    uint32_t source, destination, comm;
    bool sends, droppable; /* the other end's dump has lost its beginning */
    struct flight_row *row;
};

static int channel_order(const void *left, const void *right)
{
    const struct channel *a = left, *b = right;
    if (a->source != b->source)
        return a->source < b->source ? -1 : 1;
    if (a->destination != b->destination)
        return a->destination < b->destination ? -1 : 1;
    return (a->comm > b->comm) - (a->comm < b->comm);
}

static int channel_total_order(const void *left, const void *right)
{
    const struct channel *a = left, *b = right;
    int order = channel_order(a, b);
    if (order)
        return order;
    if (a->sends != b->sends)
        return a->sends ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row); /* both of one dump: in its order */
}

/* The surplus of completed messages at the older end of a channel has lost its partners. */
static void drop_surplus(struct channel *rows, size_t count)
{
    size_t sends = 0;
    while (sends < count && rows[sends].sends)
        sends++;
    size_t receives = count - sends,
           surplus = sends > receives ? sends - receives : receives - sends;
    struct channel *first = sends > receives ? rows : rows + sends;
    for (size_t i = 0; i < surplus && first[i].droppable; i++)
        first[i].row->dropped = true;
}

static bool drop_lost_messages(struct flight *flight)
{
    uint8_t *wrapped = calloc(flight->ranks, 1);
    struct channel *channels = NULL;
    size_t count = 0, room = 0;
    bool done = wrapped || format_no_memory(flight->input);
    for (size_t d = 0; d < flight->dump_count && done; d++)
        wrapped[flight->dumps[d].rank] = flight->dumps[d].wrapped;
    for (size_t d = 0; d < flight->dump_count && done; d++)
        for (size_t i = 0; i < flight->dumps[d].row_count && done; i++) {
            struct flight_row *row = &flight->dumps[d].rows[i];
            if (!row->is_p2p || !row->completed || row->peer < 0)
                continue;
            uint32_t me = flight->dumps[d].rank, other = (uint32_t)row->peer;
            bool sends = row->kind == OP_SEND;
            done = format_grow(flight->input, &channels, count, &room, sizeof *channels);
            if (done)
                channels[count++] = (struct channel){
                    sends ? me : other, sends ? other : me, row->comm, sends, wrapped[other], row};
        }
    if (done && count)
        qsort(channels, count, sizeof *channels, channel_total_order);
    for (size_t i = 0, end = 0; i < count && done; i = end) {
        while (end < count && channel_order(&channels[i], &channels[end]) == 0)
            end++;
        drop_surplus(channels + i, end - i);
    }
    free(wrapped);
    free(channels);
    return done;
}

/* ---- operations ---- */

struct emitter {
    struct flight *flight;
    uint32_t rank;
    uint32_t *seqs; /* per comm: collectives of this rank so far */
    uint32_t first; /* of the open batch */
    uint32_t open;  /* its number, 0 for none */
};

static bool op_add(struct emitter *emitter, const struct flight_row *row, enum op_kind kind,
                   enum op_state state, bool pending)
{
    struct trace_plain_op op = trace_op_none(emitter->rank, kind);
    bool collective = op_kind_class((int)kind) == CLASS_COLLECTIVE;
    op.state = (uint8_t)state;
    op.comm = kind == OP_WAITALL ? TRACE_NO : row->comm;
    if (collective) {
        op.comm_seq = emitter->seqs[row->comm]++;
        op.flags = pending ? OP_NONBLOCKING : 0;
    }
    if (row->is_p2p) {
        op.peer = row->peer;
        op.tag = 0;
        op.batch = row->batch;
    }
    op.count = row->count;
    op.type = row->type;
    op.signature = row->signature;
    op.site = row->site;
    const struct trace_whole_op whole = {
        .op = op, .times = {row->begin_ns, state == STATE_COMPLETE ? row->end_ns : 0}};
    return trace_add_whole_op(emitter->flight->trace, &whole) != TRACE_NO ||
           format_no_memory(emitter->flight->input);
}

static enum op_kind start_kind(const struct flight_row *row)
{
    return row->kind == OP_SEND ? OP_ISEND : OP_IRECV;
}

/* The wait that ends a batch. */
static bool batch_close(struct emitter *emitter, const struct flight_row *row, enum op_state state)
{
    struct trace *trace = emitter->flight->trace;
    uint32_t wait = (uint32_t)trace->op_count;
    if (emitter->open != row->batch || !op_add(emitter, row, OP_WAITALL, state, false))
        return emitter->open != row->batch;
    emitter->open = 0;
    for (uint32_t i = emitter->first; i < wait; i++)
        if (trace->ops[i].form->batch == row->batch &&
            trace_add_wait(trace, wait, i, state == STATE_COMPLETE) == TRACE_NO)
            return format_no_memory(emitter->flight->input);
    return true;
}

static bool row_add(struct emitter *emitter, const struct flight_row *row, enum op_state state)
{
    bool pending = state == STATE_POSTED;
    if (row->kind == OP_NONE)
        return batch_close(emitter, row, pending ? STATE_COMPLETE : state);
    if (row->is_p2p && row->batch) { /* posted; its batch's wait is what blocks */
        if (emitter->open != row->batch)
            emitter->first = (uint32_t)emitter->flight->trace->op_count;
        emitter->open = row->batch;
        return op_add(emitter, row, start_kind(row), state == STATE_BLOCKED ? STATE_POSTED : state,
                      false);
    }
    if (row->is_p2p && pending)
        return op_add(emitter, row, start_kind(row), state, false);
    return op_add(emitter, row, (enum op_kind)row->kind, state, pending);
}

/* Rule 1. */
static bool dump_add(struct flight *flight, struct flight_dump *dump)
{
    struct emitter emitter = {.flight = flight, .rank = dump->rank};
    size_t last = dump->row_count; /* one past the last that completed */
    bool stands = false, done = true;
    emitter.seqs = calloc(flight->trace->comm_count, sizeof *emitter.seqs);
    if (!emitter.seqs)
        return format_no_memory(flight->input);
    while (last > 0 && !dump->rows[last - 1].completed)
        last--;
    for (size_t i = 0; i < dump->row_count && done; i++) {
        const struct flight_row *row = &dump->rows[i];
        bool in_batch = row->is_p2p && row->batch;
        enum op_state state = row->completed ? STATE_COMPLETE
                              : i < last     ? STATE_POSTED
                              : !stands      ? STATE_BLOCKED
                                             : STATE_NEVER;
        if (row->dropped)
            continue;
        stands = stands || (state == STATE_BLOCKED && !in_batch);
        done = row_add(&emitter, row, state);
    }
    if (stands)
        flight->trace->rank_info[dump->rank].state = RANK_BLOCKED;
    free(emitter.seqs);
    return done;
}

bool flight_operations(struct flight *flight)
{
    bool stuck = false;
    for (size_t i = 0; i < flight->dump_count; i++) {
        if (!read_entries(flight, &flight->dumps[i]))
            return false;
        find_batches(&flight->dumps[i]);
    }
    if (!drop_old_collectives(flight) || !drop_lost_messages(flight))
        return false;
    for (size_t i = 0; i < flight->dump_count; i++) {
        if (!dump_add(flight, &flight->dumps[i]))
            return false;
        stuck = stuck || flight->trace->rank_info[flight->dumps[i].rank].state == RANK_BLOCKED;
    }
    flight->trace->outcome = stuck ? OUTCOME_TIMEOUT : OUTCOME_INTERRUPTED;
    return true;
}
