/* From buffers to a trace: see recording.h.
 *
 * Two walks over the chunks, sorted by rank and sequence: the first makes communicators known (a
 * member's list may stand in another rank's records), the second adds everything else rank by rank,
 * so that nothing has to be moved by trace_finish. */
#include "recorder/buffers.h"
#include "recorder/recording.h"
#include "recorder/recording_internal.h"
#include "recorder/sites.h"
#include "traces/trace/handle_map.h"
#include "traces/trace/memory.h"
#include "traces/trace/trace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SITE_CACHE = 256, OP_CANCEL_ASKED = 1 << 15 };

/* Numbers of one rank -> indices of the trace. */
struct numbers {
    uint32_t *items;
    size_t count, room;
};

struct source {
    const struct chunk *chunk;
    const struct buffers *buffers;
};

struct loader {
    struct trace *trace;
    const struct recording_result *result;
    struct sites *sites;
    const struct recording_end *ends; /* NULL: only what the records say */
    struct source *sources;
    size_t source_count, source_room;
    struct handle_map comms;    /* id -> index + 1 */
    struct numbers *rank_comms; /* per rank */
    bool failed;
    /* of the rank being loaded */
    uint32_t rank;
    const struct buffers *buffers;
    uint32_t first_op, first_node;
    struct numbers strings;
    struct record_rank info;
    bool has_info;
    uint32_t missing, first_missing; /* ranks of which there is nothing at all */
    struct {
        uint64_t pc;
        uint32_t site;
    } site_cache[SITE_CACHE];
    double objective;
    bool has_objective;
};

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

static uint32_t numbers_get(const struct numbers *numbers, uint32_t number)
{
    return number < numbers->room ? numbers->items[number] : TRACE_NO;
}

/* A text behind a record of `fixed` bytes, ended within the record; "" otherwise. */
static const char *text_behind(const struct record_head *head, size_t fixed)
{
    const char *text = (const char *)head + fixed;
    if (head->size <= fixed || !memchr(text, 0, head->size - fixed))
        return "";
    return text;
}

static int source_order(const void *left, const void *right)
{
    const struct source *a = left, *b = right;
    if (a->chunk->rank != b->chunk->rank)
        return a->chunk->rank < b->chunk->rank ? -1 : 1;
    return (a->chunk->sequence > b->chunk->sequence) - (a->chunk->sequence < b->chunk->sequence);
}

static bool add_sources(struct loader *loader, const struct buffers *buffers)
{
    for (const struct chunk *chunk = buffers_next_chunk(buffers, NULL); chunk;
         chunk = buffers_next_chunk(buffers, chunk)) {
        if (chunk->rank >= loader->trace->ranks)
            continue;
        if (loader->source_count == loader->source_room) {
            size_t room = loader->source_room ? loader->source_room * 2 : 64;
            struct source *sources = realloc(loader->sources, room * sizeof *sources);
            if (!sources)
                return false;
            loader->sources = sources;
            loader->source_room = room;
        }
        loader->sources[loader->source_count++] = (struct source){chunk, buffers};
    }
    return true;
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

static uint32_t load_site(struct loader *loader, uint64_t pc)
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

static uint32_t op_number(const struct loader *loader, uint32_t number)
{
    return number == UINT32_MAX ? TRACE_NO : loader->first_op + number;
}

static uint32_t node_number(const struct loader *loader, uint32_t id)
{
    return id == 0 ? TRACE_NO : loader->first_node + id - 1;
}

/* A peer that is no rank makes its call fail; where the MPI then ended the process nobody could say
 * so any more. */
static void refuse_peer(struct loader *loader, struct trace_op *op)
{
    enum { ERROR_CLASS_RANK = 6 }; /* MPI_ERR_RANK of the MPI ABI */
    char text[120];
    if (op->error || op->state == STATE_FAILED || op->peer == TRACE_ANY || op->peer == TRACE_NONE ||
        (op->peer >= 0 && (uint32_t)op->peer < loader->trace->ranks))
        return;
    op->error = ERROR_CLASS_RANK;
    op->state = STATE_FAILED;
    snprintf(text, sizeof text, "MPI_%s: MPI_ERR_RANK: %d is not a rank of this communicator",
             trace_op_name(op), op->peer);
    struct trace_note note = {.code = "M009",
                              .rank = loader->rank,
                              .op = (uint32_t)loader->trace->op_count,
                              .node = op->node,
                              .site = op->site,
                              .text = text};
    trace_add_note(loader->trace, &note);
}

static void load_op(struct loader *loader, const struct record_op *record)
{
    struct trace_op op = trace_op_none(loader->rank, record->head.small);
    op.state = record->state;
    op.flags = (uint16_t)(record->flags & ~OP_CANCEL_ASKED);
    op.pass = record->pass;
    op.node = node_number(loader, record->node);
    op.comm =
        record->comm ? numbers_get(&loader->rank_comms[loader->rank], record->comm) : TRACE_NO;
    op.comm_seq = record->comm_seq;
    op.peer = record->peer;
    op.tag = record->tag;
    op.peer_matched = record->peer_matched;
    op.tag_matched = record->tag_matched;
    op.count = record->count;
    op.count_matched = record->count_matched;
    op.type = record->type;
    op.signature = record->signature;
    op.reduce_op = record->reduce_op;
    op.request = op_number(loader, record->request);
    op.batch = record->batch;
    op.identity = record->identity;
    op.thread = record->thread;
    op.error = record->error;
    op.begin = record->begin;
    op.end = record->end;
    op.buffer = record->buffer;
    op.extent = record->extent;
    op.site = load_site(loader, record->site);
    if (record->head.size >= sizeof(struct record_op_timed)) {
        op.begin_ns = ((const struct record_op_timed *)record)->begin_ns;
        op.end_ns = ((const struct record_op_timed *)record)->end_ns;
    }
    refuse_peer(loader, &op);
    trace_add_op(loader->trace, &op);
}

static void load_waits(struct loader *loader, const struct record_waits *record)
{
    if (sizeof *record + (size_t)record->n * sizeof(uint32_t) > record->head.size)
        return;
    uint32_t wait = op_number(loader, record->op);
    for (uint32_t i = 0; i < record->n; i++)
        trace_add_wait(loader->trace, wait, loader->first_op + (record->starts[i] & ~(1u << 31)),
                       record->starts[i] >> 31);
}

/* Parts follow each other; the first makes the row, and send and receive share one. */
static void load_counts(struct loader *loader, const struct record_counts *record)
{
    struct trace *trace = loader->trace;
    uint32_t op = op_number(loader, record->op);
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
                              .site = load_site(loader, record->site),
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
                              .op = op_number(loader, record->op),
                              .node = node_number(loader, record->node),
                              .site = load_site(loader, record->site)};
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

static void load_access(struct loader *loader, const struct record_access *record)
{
    const struct trace_access access = {.rank = loader->rank,
                                        .op = record->op,
                                        .done = record->done,
                                        .target = (uint32_t)record->target,
                                        .reduction = record->reduction,
                                        .type = record->type,
                                        .lock = record->lock,
                                        .site = load_site(loader, record->site),
                                        .kind = record->head.small,
                                        .begin = record->begin,
                                        .end = record->end};
    if (access.target < loader->trace->ranks && access.begin < access.end)
        trace_add_access(loader->trace, &access);
}

static void load_sync(struct loader *loader, const struct record_sync *record)
{
    const struct trace_sync sync = {loader->rank, record->op, record->rank, record->peer_op};
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
    return loader->result->ops_max && record->type != RECORD_RANK &&
           record->type != RECORD_STRING && record->type != RECORD_NOTE &&
           loader->trace->op_count - loader->first_op >= most;
}

static void load_record(struct loader *loader, const struct record_head *record)
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
    default:
        load_rare(loader, record);
    }
}

static void load_comm_records(struct loader *loader)
{
    for (size_t i = 0; i < loader->source_count; i++) {
        const struct chunk *chunk = loader->sources[i].chunk;
        loader->rank = chunk->rank;
        for (const struct record_head *record = buffers_next_record(chunk, NULL); record;
             record = buffers_next_record(chunk, record)) {
            const void *whole = record;
            if (record->size < record_least_size(record->type))
                continue;
            if (record->type == RECORD_COMM)
                load_comm(loader, whole);
            else if (record->type == RECORD_MEMBERS)
                load_members(loader, whole);
        }
    }
}

/* A rank that ended while it polled stands in that poll. */
static void add_poll(struct loader *loader)
{
    const struct record_poll *poll = &loader->info.poll;
    uint32_t issued = (uint32_t)loader->trace->op_count - loader->first_op;
    if (loader->info.ended != 1 + RANK_POLLING || !poll->kind || poll->ops != issued)
        return;
    struct trace_op op = trace_op_none(loader->rank, (enum op_kind)poll->kind);
    op.state = STATE_BLOCKED;
    op.comm = poll->comm ? numbers_get(&loader->rank_comms[loader->rank], poll->comm) : TRACE_NO;
    op.request = op_number(loader, poll->request);
    op.peer = poll->peer;
    op.tag = poll->tag;
    op.site = load_site(loader, poll->site);
    trace_add_op(loader->trace, &op);
}

static void end_told(struct loader *loader, const struct recording_end *end)
{
    if (!loader->has_info)
        loader->info = (struct record_rank){0};
    loader->has_info = true;
    loader->info.ended = (uint8_t)(1 + end->state);
    loader->info.exit_code = end->exit_code;
    loader->info.has_crash_site = end->has_site;
    loader->info.crash_site = end->site;
}

/* Where the rank's last call was refused that is no operation: a rank that ended itself there has
 * its operations before it. */
static uint32_t refused_at(const struct loader *loader)
{
    const struct trace *trace = loader->trace;
    const struct trace_note *last = trace->note_count ? &trace->notes[trace->note_count - 1] : NULL;
    return last && last->rank == loader->rank && last->op == TRACE_NO && strchr("MB", last->code[0])
               ? last->site
               : TRACE_NO;
}

/* Whether a rank that never said how it ended stands in a call: its last operation has not
 * returned, or any of another thread, which goes on after an operation only when that has. */
static bool stands(const struct loader *loader)
{
    const struct trace *trace = loader->trace;
    bool threads = false, blocked = false;
    for (size_t i = loader->first_op; i < trace->op_count; i++) {
        threads |= trace->ops[i].thread > 0;
        blocked |= trace->ops[i].state == STATE_BLOCKED;
    }
    bool last = trace->op_count > loader->first_op &&
                trace->ops[trace->op_count - 1].state == STATE_BLOCKED;
    return last || (threads && blocked);
}

/* A process that ended with a code of failure within a call: the call failed, and a real MPI ended
 * the process for it. */
static void fail_last(struct loader *loader, struct trace_rank *rank)
{
    struct trace *trace = loader->trace;
    if ((rank->state != RANK_FINISHED && rank->state != RANK_ABORTED) || rank->finalized ||
        rank->exit_code == 0 || trace->op_count == loader->first_op)
        return;
    struct trace_op *last = &trace->ops[trace->op_count - 1];
    if (last->state != STATE_BLOCKED && last->state != STATE_FAILED)
        return;
    last->state = STATE_FAILED;
    rank->state = RANK_ABORTED;
}

static void rank_finish(struct loader *loader)
{
    struct trace *trace = loader->trace;
    struct trace_rank *rank = &trace->rank_info[loader->rank];
    const struct record_rank *info = &loader->info;
    if (loader->ends && loader->ends[loader->rank].known)
        end_told(loader, &loader->ends[loader->rank]);
    if (!loader->has_info) {
        loader->first_missing = loader->missing++ ? loader->first_missing : loader->rank;
        rank->state = RANK_RUNNING; /* it never began, or the child died before it could */
        return;
    }
    add_poll(loader);
    if (info->ended > 0 && info->ended <= 1 + RANK_RUNNING)
        rank->state = (enum rank_state)(info->ended - 1);
    else
        rank->state = stands(loader) ? RANK_BLOCKED : RANK_RUNNING;
    rank->exit_code = info->exit_code;
    rank->finalized = info->finalized;
    fail_last(loader, rank);
    rank->bytes_sent = info->bytes_sent;
    rank->messages_sent = info->messages_sent;
    rank->site = info->has_crash_site ? load_site(loader, info->crash_site) : refused_at(loader);
    if (info->polls > 0)
        trace_add_metric(trace, "unsuccessful polls", (int32_t)loader->rank, (double)info->polls,
                         "");
}

static void rank_start(struct loader *loader, uint32_t rank)
{
    loader->rank = rank;
    loader->first_op = (uint32_t)loader->trace->op_count;
    loader->first_node = (uint32_t)loader->trace->node_count;
    loader->buffers = NULL;
    loader->has_info = false;
    memset(loader->site_cache, 0, sizeof loader->site_cache);
    for (size_t i = 0; i < loader->strings.room; i++)
        loader->strings.items[i] = TRACE_NO;
}

static void load_ranks(struct loader *loader)
{
    size_t next = 0;
    uint64_t units = 0, told = 0, total = 0;
    for (size_t i = 0; i < loader->source_count; i++)
        total += loader->sources[i].chunk->units;
    for (uint32_t rank = 0; rank < loader->trace->ranks; rank++) {
        rank_start(loader, rank);
        for (; next < loader->source_count && loader->sources[next].chunk->rank == rank; next++) {
            const struct chunk *chunk = loader->sources[next].chunk;
            loader->buffers = loader->sources[next].buffers;
            for (const struct record_head *record = buffers_next_record(chunk, NULL); record;
                 record = buffers_next_record(chunk, record))
                load_record(loader, record);
            units += chunk->units;
            if (units - told < PROGRESS_ROWS / 16)
                continue;
            told = units;
            progress_report(loader->result->progress, "loading", units * BUFFERS_UNIT,
                            total * BUFFERS_UNIT, "bytes");
        }
        rank_finish(loader);
    }
}

static bool loader_init(struct loader *loader, uint32_t ranks,
                        const struct recording_result *result)
{
    *loader = (struct loader){.result = result, .trace = trace_new(ranks)};
    loader->rank_comms = calloc(ranks, sizeof *loader->rank_comms);
    loader->sites = loader->trace ? sites_new(loader->trace) : NULL;
    int32_t *members = malloc(ranks * sizeof *members);
    bool done = loader->trace && loader->rank_comms && loader->sites && members;
    if (done) {
        for (uint32_t i = 0; i < ranks; i++)
            members[i] = (int32_t)i;
        trace_add_comm(loader->trace, &(struct trace_comm){.id = 1,
                                                           .size = ranks,
                                                           .members = members,
                                                           .parent = TRACE_NO,
                                                           .adjoint_of = TRACE_NO,
                                                           .name = "world"});
    }
    free(members);
    return done;
}

static void loader_release(struct loader *loader, uint32_t ranks)
{
    for (uint32_t rank = 0; loader->rank_comms && rank < ranks; rank++)
        free(loader->rank_comms[rank].items);
    free(loader->rank_comms);
    free(loader->strings.items);
    free(loader->sources);
    handle_map_release(&loader->comms);
    sites_free(loader->sites);
}

static bool loader_finish(struct loader *loader, struct failure *failure)
{
    struct trace *trace = loader->trace;
    const struct recording_result *result = loader->result;
    if (loader->source_count)
        qsort(loader->sources, loader->source_count, sizeof *loader->sources, source_order);
    load_comm_records(loader);
    load_ranks(loader);
    trace->outcome = result->outcome;
    trace->seed = result->seed;
    strncpy(trace->program, result->program ? result->program : "", sizeof trace->program - 1);
    strncpy(trace->model, result->model ? result->model : "", sizeof trace->model - 1);
    if (loader->has_objective)
        trace->objective = loader->objective;
    if (loader->failed) {
        failure_set(failure, FAILURE_INTERNAL, "out of memory while loading a recording");
        return false;
    }
    if (!trace_link_adjoints(trace, failure) || !trace_finish(trace, failure))
        return false;
    for (uint32_t rank = 0; rank < trace->ranks; rank++)
        trace->rank_info[rank].hash = trace_rank_hash(trace, rank);
    return true;
}

/* Records beyond the memory that was reserved. */
static void tell_lost(const struct trace *trace, const struct buffers *buffers)
{
    trace_gap(trace, "run", atomic_load(&buffers->header->lost),
              "records that found no room in the recorder's memory");
}

struct trace *recording_load(const struct recording *recording,
                             const struct recording_result *result, struct failure *failure)
{
    struct loader loader;
    bool done =
        loader_init(&loader, recording->ranks, result) && add_sources(&loader, &recording->buffers);
    if (!done)
        failure_set(failure, FAILURE_INTERNAL, "out of memory while loading a recording");
    loader.ends = recording->ends;
    done = done && loader_finish(&loader, failure);
    loader_release(&loader, recording->ranks);
    if (!done) {
        trace_free(loader.trace);
        return NULL;
    }
    tell_lost(loader.trace, &recording->buffers);
    return loader.trace;
}

/* The number of ranks all files agree on. */
static uint32_t open_files(struct buffers *files, const char *const *paths, size_t count,
                           struct failure *failure)
{
    uint32_t ranks = 0;
    for (size_t i = 0; i < count; i++) {
        if (buffers_open_file(&files[i], paths[i], failure))
            return 0;
        uint32_t own = files[i].header->ranks;
        if (own == 0 || own > 1u << 20 || (ranks && own != ranks)) {
            failure_set(failure, FAILURE_INPUT, "%s: of a run with %u ranks, others say %u",
                        paths[i], own, ranks);
            return 0;
        }
        ranks = own;
    }
    return ranks;
}

/* Whoever waits for a rank that is not there would seem to wait for ever. */
static bool all_there(const struct loader *loader, const char *path, struct failure *failure)
{
    const char *end = strrchr(path, '/');
    char others[48] = "";
    if (loader->missing == 0)
        return true;
    if (loader->missing > 1)
        snprintf(others, sizeof others, " and of %u other%s", loader->missing - 1,
                 loader->missing > 2 ? "s" : "");
    failure_set(failure, FAILURE_INPUT,
                "%.*s: nothing of rank %u%s; the run had %u ranks: put the files of all into one "
                "folder and name that",
                (int)(end ? end - path : 1), end ? path : ".", loader->first_missing, others,
                loader->trace->ranks);
    return false;
}

struct trace *recording_load_files(const char *const *paths, size_t count, struct failure *failure)
{
    struct loader loader = {0};
    const struct recording_result result = {.outcome = OUTCOME_IMPORTED, .program = "imported"};
    struct buffers *files = calloc(count + 1, sizeof *files);
    for (size_t i = 0; files && i < count; i++)
        files[i].file = -1;
    uint32_t ranks = files && count ? open_files(files, paths, count, failure) : 0;
    bool done = ranks > 0 && loader_init(&loader, ranks, &result);
    for (size_t i = 0; done && i < count; i++)
        done = add_sources(&loader, &files[i]);
    done = done && loader_finish(&loader, failure) && trace_check(loader.trace, failure) &&
           all_there(&loader, paths[0], failure);
    for (size_t i = 0; done && i < count; i++)
        tell_lost(loader.trace, &files[i]);
    if (done && !loader.trace->node_count)
        trace_gap(loader.trace, "import", 1,
                  "backward graphs, remote calls and servers: a real MPI's recording has none");
    loader_release(&loader, ranks);
    for (size_t i = 0; files && i < count; i++)
        buffers_release(&files[i]);
    free(files);
    if (!done) {
        trace_free(loader.trace);
        return NULL;
    }
    return loader.trace;
}
