/* One record becomes rows of a trace: see loader.h. */
#include "recorder/loading/loader.h"
#include "traces/trace/memory.h"
#include "traces/trace/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OP_CANCEL_ASKED = 1 << 15 };

/* Numbers count from 1 without gaps; a damaged file may say anything. */
static void numbers_set(struct loader *loader, struct numbers *numbers, uint32_t number,
                        uint32_t index)
{
    if (number >= 1u << 24)
        return;
    if (number >= numbers->room) {
        size_t room = number < 16 ? 32 : (size_t)number * 2;
        uint32_t *items = realloc(numbers->items, room * sizeof *items);
        if (!items) {
            loader->failed = true;
            return;
        }
        memset(items + numbers->room, 0xff, (room - numbers->room) * sizeof *items);
        numbers->items = items;
        numbers->room = room;
    }
    numbers->items[number] = index;
}

/* A text behind a record of `fixed` bytes, ended within the record; "" otherwise. */
static const char *text_behind(const struct record_head *head, size_t fixed)
{
    const char *text = (const char *)head + fixed;
    if (head->size <= fixed || !memchr(text, 0, head->size - fixed))
        return "";
    return text;
}

static uint32_t comm_new(struct loader *loader, const struct record_comm *record)
{
    uint8_t small = record->head.small;
    struct trace_comm row = {.id = (uint32_t)loader->trace->comm_count + 1,
                             .size = record->size,
                             .parent = TRACE_NO,
                             .adjoint_of = TRACE_NO};
    const char *name = text_behind(&record->head, sizeof *record);
    strncpy(row.name, name, sizeof row.name - 1);
    if (small & RECORD_COMM_SELF)
        strcpy(row.name, "self");
    uint32_t index = trace_add_comm(loader->trace, &row);
    if (index == TRACE_NO ||
        !handle_map_add(&loader->comms, record->id | 1, (void *)(uintptr_t)(index + 1)))
        loader->failed = true;
    return index;
}

static uint32_t comm_index(struct loader *loader, const struct record_comm *record)
{
    if (record->head.small & RECORD_COMM_WORLD)
        return 0;
    void *known = handle_map_find(&loader->comms, record->id | 1);
    return known ? (uint32_t)((uintptr_t)known - 1) : comm_new(loader, record);
}

static int32_t *comm_members(struct loader *loader, uint32_t index)
{
    struct trace_comm *comm = &loader->trace->comms[index];
    if (!comm->members && comm->size <= 2 * (size_t)loader->trace->ranks)
        comm->members =
            trace_memory_take(loader->trace->store, ((size_t)comm->size + 1) * sizeof(int32_t));
    return comm->members;
}

static void load_comm(struct loader *loader, const struct record_comm *record)
{
    struct numbers *numbers = &loader->rank_comms[loader->rank];
    if (record->head.small & RECORD_COMM_ADJOINT) {
        uint32_t comm = numbers_get(numbers, record->number);
        if (comm != TRACE_NO)
            loader->trace->comms[comm].adjoint_of = numbers_get(numbers, record->adjoint_of);
        return;
    }
    uint32_t index = comm_index(loader, record);
    if (index == TRACE_NO)
        return;
    numbers_set(loader, numbers, record->number, index);
    struct trace_comm *comm = &loader->trace->comms[index];
    if (index > 0 && comm->parent == TRACE_NO && record->parent)
        comm->parent = numbers_get(numbers, record->parent);
    const char *name = text_behind(&record->head, sizeof *record);
    if (name[0] && index > 0 && !(record->head.small & RECORD_COMM_SELF)) {
        strncpy(comm->name, name, sizeof comm->name - 1);
        comm->name[sizeof comm->name - 1] = 0;
    }
    if (index == 0 || comm->members || !(record->head.small & RECORD_COMM_RANGE) ||
        record->size != comm->size)
        return;
    int32_t *members = comm_members(loader, index);
    for (uint32_t i = 0; members && i < comm->size; i++)
        members[i] = record->start + (int32_t)i * record->stride;
}

static void load_members(struct loader *loader, const struct record_members *record)
{
    uint32_t index = numbers_get(&loader->rank_comms[loader->rank], record->number);
    if (index == TRACE_NO || index == 0)
        return;
    const struct trace_comm *comm = &loader->trace->comms[index];
    if (record->first > comm->size || record->n > comm->size - record->first ||
        sizeof *record + (size_t)record->n * sizeof(int32_t) > record->head.size)
        return;
    int32_t *members = comm_members(loader, index);
    if (members)
        memcpy(members + record->first, record->members, record->n * sizeof *members);
}

static const char *located(const struct loader *loader, uint64_t pc, uint64_t *address)
{
    const char *file = NULL;
    const struct recording_result *result = loader->result;
    if (result->locate && result->locate(result->locate_context, loader->rank, pc, &file, address))
        return file;
    if (!loader->buffers) /* of a rank of which there is no record */
        return NULL;
    const struct buffers_header *header = loader->buffers->header;
    for (uint32_t i = 0; i < header->image_count && i < BUFFERS_IMAGES; i++) {
        const struct buffers_image *image = &header->images[i];
        if (pc < image->start || pc > image->end || image->path >= BUFFERS_PATHS ||
            !memchr(header->paths + image->path, 0, BUFFERS_PATHS - image->path))
            continue; /* the second half only in a damaged file */
        *address = pc - image->bias;
        return header->paths + image->path;
    }
    return NULL;
}

uint32_t loader_site(struct loader *loader, uint64_t pc)
{
    if (pc == 0)
        return TRACE_NO;
    size_t slot = (pc ^ pc >> 8) % SITE_CACHE;
    if (loader->site_cache[slot].pc == pc)
        return loader->site_cache[slot].site;
    uint64_t address = 0;
    const char *file = located(loader, pc, &address);
    uint32_t site = file ? sites_find(loader->sites, file, address) : TRACE_NO;
    loader->site_cache[slot].pc = pc;
    loader->site_cache[slot].site = site;
    return site;
}

uint32_t loader_op(const struct loader *loader, uint32_t number)
{
    if (number == UINT32_MAX)
        return TRACE_NO;
    uint32_t position = loader_position(loader, loader->rank, number + loader->ahead);
    return position == UINT32_MAX ? TRACE_NO : loader->first_op + position;
}

static uint32_t node_number(const struct loader *loader, uint32_t id)
{
    return id == 0 ? TRACE_NO : loader->first_node + id - 1;
}

/* A peer that is no rank makes its call fail; where the MPI then ended the process nobody could say
 * so any more. */
static void refuse_peer(struct loader *loader, struct trace_plain_op *op)
{
    enum { ERROR_CLASS_RANK = 6 }; /* MPI_ERR_RANK of the MPI ABI */
    char text[120];
    if (op->error || op->state == STATE_FAILED || op->peer == TRACE_ANY || op->peer == TRACE_NONE ||
        (op->peer >= 0 && (uint32_t)op->peer < loader->trace->ranks))
        return;
    op->error = ERROR_CLASS_RANK;
    op->state = STATE_FAILED;
    snprintf(text, sizeof text, "MPI_%s: MPI_ERR_RANK: %d is not a rank of this communicator",
             trace_call_name(op->kind, op->flags), op->peer);
    struct trace_note note = {.code = "M009",
                              .rank = loader->rank,
                              .op = (uint32_t)loader->trace->op_count,
                              .node = op->node,
                              .site = op->site,
                              .text = text};
    trace_add_note(loader->trace, &note);
}

/* Collectives are counted in the trace as they stand there. */
static uint64_t comm_shift(const struct loader *loader, uint32_t comm)
{
    for (size_t i = 0; i < loader->comm_shift_count; i++)
        if (loader->comm_shifts[i].comm == comm) {
            uint64_t rounds = loader->ahead ? loader->round + 1 : 0;
            return rounds * loader->comm_shifts[i].each - loader->comm_shifts[i].dropped;
        }
    return 0;
}

static void load_op(struct loader *loader, const struct record_op *record)
{
    struct trace_plain_op op = trace_op_none(loader->rank, record->head.small);
    op.state = record->state;
    loader->posted = loader->posted || op.state == STATE_POSTED;
    op.flags = (uint16_t)(record->flags & ~(OP_CANCEL_ASKED | RECORD_OP_CUT));
    op.pass = record->pass;
    op.node = node_number(loader, record->node);
    op.comm =
        record->comm ? numbers_get(&loader->rank_comms[loader->rank], record->comm) : TRACE_NO;
    op.comm_seq = (uint32_t)(record->comm_seq + comm_shift(loader, record->comm));
    op.peer = record->peer;
    op.tag = record->tag;
    op.peer_matched = record->peer_matched;
    op.tag_matched = record->tag_matched;
    op.count = record->count;
    op.count_matched = record->count_matched;
    op.type = record->type;
    op.signature = record->signature;
    op.reduce_op = record->reduce_op;
    op.request = loader_op(loader, record->request);
    op.batch = record->batch;
    op.identity = record->identity;
    op.thread = record->thread;
    op.error = record->error;
    op.begin = record->begin + loader->later;
    op.end = record->end ? record->end + loader->later : 0;
    op.place = trace_add_place(loader->trace, record->buffer, record->extent);
    op.site = loader_site(loader, record->site);
    if (loader_is_cut(loader, &loader->lost, loader->rank, record))
        loader_cut(loader, &op);
    else if (loader->gone && op.comm != TRACE_NO && op.comm_seq >= loader->gone[op.comm] &&
             op_kind_class(op.kind) == CLASS_COLLECTIVE)
        op.comm_seq -= (uint32_t)loader->gone[op.comm];
    refuse_peer(loader, &op);
    uint32_t index = trace_add_op(loader->trace, &op);
    if (index != TRACE_NO && record->head.size >= sizeof(struct record_op_timed))
        trace_set_times(loader->trace, index, ((const struct record_op_timed *)record)->begin_ns,
                        ((const struct record_op_timed *)record)->end_ns);
}

static void load_waits(struct loader *loader, const struct record_waits *record)
{
    if (sizeof *record + (size_t)record->n * sizeof(uint32_t) > record->head.size)
        return;
    uint32_t wait = loader_op(loader, record->op);
    for (uint32_t i = 0; i < record->n; i++) {
        uint32_t start = loader_op(loader, record->starts[i] & ~(1u << 31));
        if (start != TRACE_NO || !loader->drops)
            trace_add_wait(loader->trace, wait, start, record->starts[i] >> 31);
    }
}

/* Parts follow each other; the first makes the row, and send and receive share one. */
static void load_counts(struct loader *loader, const struct record_counts *record)
{
    struct trace *trace = loader->trace;
    uint32_t op = loader_op(loader, record->op);
    if (loader->alone_of == loader->rank + 1 && op < trace->op_count &&
        trace->ops[op].form->comm == loader->alone)
        return; /* of more members than it has now */
    size_t n = (record->head.size - sizeof *record) / sizeof(int64_t);
    if (record->first > record->total || n > record->total - record->first || record->total > 4096)
        return;
    struct trace_counts *row = trace->counts_count ? &trace->counts[trace->counts_count - 1] : NULL;
    if (!row || row->op != op || row->n != record->total) {
        uint32_t index = trace_add_counts(trace, op, record->total, NULL, NULL);
        if (index == TRACE_NO)
            return;
        row = &trace->counts[index];
    }
    const int64_t **side = record->head.small ? &row->receive : &row->send;
    if (!*side)
        *side = trace_memory_take(trace->store, ((size_t)record->total + 1) * sizeof(int64_t));
    if (*side)
        memcpy((int64_t *)(uintptr_t)(*side + record->first), record->values, n * sizeof(int64_t));
}

static void load_node(struct loader *loader, const struct record_node *record)
{
    struct trace_node node = {.rank = loader->rank,
                              .id = record->id,
                              .pass = record->pass,
                              .kind = (uint8_t)record->kind,
                              .state = record->head.small,
                              .forward = node_number(loader, record->forward),
                              .site = loader_site(loader, record->site),
                              .name = numbers_get(&loader->strings, record->name),
                              .begin = record->begin,
                              .end = record->end};
    trace_add_node(loader->trace, &node);
}

/* What a rank did not look at: "CHECK COUNT SENTENCE". */
static void load_gap(const struct trace *trace, const char *text)
{
    char check[24];
    unsigned long long count;
    int used = 0;
    if (sscanf(text, "%23s %llu %n", check, &count, &used) == 2 && used)
        trace_gap(trace, check, count, "%s", text + used);
}

static void load_note(struct loader *loader, const struct record_note *record)
{
    struct trace_note note = {.rank = loader->rank,
                              .op = loader_op(loader, record->op),
                              .node = node_number(loader, record->node),
                              .site = loader_site(loader, record->site)};
    if (note.op != TRACE_NO && note.op >= loader->trace->op_count)
        note.op = TRACE_NO; /* one that was too much */
    memcpy(note.code, record->code, sizeof note.code);
    note.code[sizeof note.code - 1] = 0;
    union {
        const char *from;
        char *to;
    } text = {.from = text_behind(&record->head, sizeof *record)};
    note.text = text.to; /* copied by trace_add_note */
    if (!strcmp(note.code, "N002"))
        load_gap(loader->trace, text.from);
    else
        trace_add_note(loader->trace, &note);
}

static const char *method_name(const char *method)
{
    static const char *const methods[] = {"central", "complex",   "dot",
                                          "tangent", "one-sided", "value"};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (strcmp(method, methods[i]) == 0)
            return methods[i];
    return "value";
}

static void load_gradient(struct loader *loader, const struct record_gradient *record)
{
    uint32_t method = numbers_get(&loader->strings, record->method);
    struct trace_gradient row = {.rank = loader->rank,
                                 .variable = numbers_get(&loader->strings, record->name),
                                 .index = record->index,
                                 .method = method_name(trace_string(loader->trace, method)),
                                 .step = record->step,
                                 .analytic = record->analytic,
                                 .numeric = record->numeric,
                                 .error = record->error,
                                 .tolerance = record->tolerance,
                                 .relative = record->relative,
                                 .ok = record->head.small,
                                 .elements = record->elements};
    uint32_t why = numbers_get(&loader->strings, record->undecided);
    row.undecided = trace_doubt(trace_string(loader->trace, why));
    trace_add_gradient(loader->trace, &row);
}

static void load_metric(struct loader *loader, const struct record_metric *record)
{
    struct trace *trace = loader->trace;
    trace_add_metric_at(trace, trace_string(trace, numbers_get(&loader->strings, record->name)),
                        (int32_t)loader->rank, record->step, record->value,
                        trace_string(trace, numbers_get(&loader->strings, record->unit)));
}

static void load_string(struct loader *loader, const struct record_string *record)
{
    numbers_set(loader, &loader->strings, record->number,
                trace_add_string(loader->trace, text_behind(&record->head, sizeof *record)));
}

static void load_pass(struct loader *loader, const struct record_pass *record)
{
    struct trace_pass pass = {.rank = loader->rank,
                              .pass = record->pass,
                              .mode = record->head.small == PASS_DATA ? PASS_DATA : PASS_PROGRAM,
                              .complete = record->complete != 0};
    if (record->pass > 0)
        trace_add_pass(loader->trace, &pass);
}

/* Numbers that stay numbers. */
static uint32_t position(const struct loader *loader, uint32_t rank, uint32_t number)
{
    return number == UINT32_MAX || rank >= loader->trace->ranks
               ? number
               : loader_position(loader, rank, number);
}

static void load_access(struct loader *loader, const struct record_access *record)
{
    const struct trace_access access = {.rank = loader->rank,
                                        .op = position(loader, loader->rank, record->op),
                                        .done = position(loader, loader->rank, record->done),
                                        .target = (uint32_t)record->target,
                                        .reduction = record->reduction,
                                        .type = record->type,
                                        .lock = record->lock,
                                        .unordered = record->unordered,
                                        .same_op = record->same_op,
                                        .site = loader_site(loader, record->site),
                                        .kind = record->head.small,
                                        .begin = record->begin,
                                        .end = record->end};
    if (access.target < loader->trace->ranks && access.begin < access.end)
        trace_add_access(loader->trace, &access);
}

static void load_sync(struct loader *loader, const struct record_sync *record)
{
    const struct trace_sync sync = {loader->rank, position(loader, loader->rank, record->op),
                                    record->rank, position(loader, record->rank, record->peer_op)};
    if (sync.peer < loader->trace->ranks)
        trace_add_sync(loader->trace, &sync);
}

static void load_rare(struct loader *loader, const struct record_head *record)
{
    const void *whole = record;
    switch (record->type) {
    case RECORD_RANK:
        loader->info = *(const struct record_rank *)whole;
        loader->has_info = true;
        break;
    case RECORD_EDGE: {
        const struct record_edge *edge = whole;
        trace_add_edge(loader->trace, node_number(loader, edge->from),
                       node_number(loader, edge->to), record->small);
        break;
    }
    case RECORD_INPUT: {
        const struct record_input *input = whole;
        char name[256] = "input ";
        strncat(name, trace_string(loader->trace, numbers_get(&loader->strings, input->name)), 200);
        trace_add_metric(loader->trace, name, (int32_t)loader->rank, (double)input->count,
                         "elements");
        break;
    }
    case RECORD_ACCESS:
        load_access(loader, whole);
        break;
    case RECORD_SYNC:
        load_sync(loader, whole);
        break;
    case RECORD_OBJECTIVE:
        loader->objective += ((const struct record_objective *)whole)->value;
        loader->has_objective = true;
        break;
    default:
        break;
    }
}

/* Of a run that was cut off in the middle of a long loop not everything is worth its time. */
static bool is_too_much(const struct loader *loader, const struct record_head *record)
{
    size_t most = loader->result->ops_max / loader->trace->ranks;
    bool full = loader->result->ops_max && loader->trace->op_count - loader->first_op >= most;
    return (full || loader->late) && record->type != RECORD_RANK && record->type != RECORD_STRING &&
           record->type != RECORD_NOTE;
}

void loader_record(struct loader *loader, const struct record_head *record)
{
    const void *whole = record;
    if (record->size < record_least_size(record->type) || is_too_much(loader, record))
        return;
    switch (record->type) {
    case RECORD_OP:
        load_op(loader, whole);
        break;
    case RECORD_WAITS:
        load_waits(loader, whole);
        break;
    case RECORD_COUNTS:
        load_counts(loader, whole);
        break;
    case RECORD_STRING:
        load_string(loader, whole);
        break;
    case RECORD_NODE:
        load_node(loader, whole);
        break;
    case RECORD_PASS:
        load_pass(loader, whole);
        break;
    case RECORD_NOTE:
        load_note(loader, whole);
        break;
    case RECORD_GRADIENT:
        load_gradient(loader, whole);
        break;
    case RECORD_METRIC:
        load_metric(loader, whole);
        break;
    case RECORD_REPEAT:
        loader_repeat(loader, whole);
        break;
    default:
        load_rare(loader, record);
    }
}

void loader_comm_record(struct loader *loader, const struct record_head *record)
{
    const void *whole = record;
    if (record->size < record_least_size(record->type))
        return;
    if (record->type == RECORD_COMM)
        load_comm(loader, whole);
    else if (record->type == RECORD_MEMBERS)
        load_members(loader, whole);
}
