/* From buffers to a trace: see recording.h.
 *
 * Two walks over the chunks, sorted by rank and sequence: the first makes communicators known (a
 * member's list may stand in another rank's records), the second adds everything else rank by rank,
 * so that nothing has to be moved by trace_finish. */
#include "recorder/loading/loader.h"
#include "traces/trace/memory.h"
#include "traces/trace/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int source_order(const void *left, const void *right)
{
    const struct source *a = left, *b = right;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return (a->sequence > b->sequence) - (a->sequence < b->sequence);
}

static bool add_source(struct loader *loader, const struct source *source)
{
    if (source->rank >= loader->trace->ranks)
        return true;
    if (loader->source_count == loader->source_room) {
        size_t room = loader->source_room ? loader->source_room * 2 : 64;
        struct source *sources = realloc(loader->sources, room * sizeof *sources);
        if (!sources)
            return false;
        loader->sources = sources;
        loader->source_room = room;
    }
    loader->sources[loader->source_count++] = *source;
    return true;
}

static bool add_sources(struct loader *loader, const struct buffers *buffers)
{
    for (const struct chunk *chunk = buffers_next_chunk(buffers, NULL); chunk;
         chunk = buffers_next_chunk(buffers, chunk)) {
        const struct source source = {.chunk = chunk,
                                      .buffers = buffers,
                                      .rank = chunk->rank,
                                      .sequence = chunk->sequence,
                                      .units = chunk->units};
        if (!add_source(loader, &source))
            return false;
    }
    return true;
}

static bool add_packed(struct loader *loader, const struct recording *recording)
{
    for (size_t i = 0; i < recording->drops.place_count; i++) {
        struct packed **packed = &recording->drops.places[i].packed;
        const struct source source = {.packed = packed,
                                      .buffers = &recording->buffers,
                                      .rank = *packed ? (*packed)->rank : UINT32_MAX,
                                      .sequence = *packed ? (*packed)->sequence : 0,
                                      .units = *packed ? (*packed)->units : 0};
        if (*packed && !add_source(loader, &source))
            return false;
    }
    return true;
}

const struct chunk *source_open(struct loader *loader, const struct source *source)
{
    const struct chunk *chunk = source->packed ? packing_unpack(*source->packed) : source->chunk;
    loader->failed |= !chunk;
    return chunk;
}

void source_close(const struct source *source, const struct chunk *chunk)
{
    union {
        const struct chunk *from;
        struct chunk *owned;
    } opened = {.from = chunk};
    if (source->packed)
        free(opened.owned);
}

/* Packed ones have none. */
static void load_comm_records(struct loader *loader)
{
    for (size_t i = 0; i < loader->source_count; i++) {
        const struct chunk *chunk = loader->sources[i].chunk;
        loader->rank = loader->sources[i].rank;
        for (const struct record_head *record = chunk ? buffers_next_record(chunk, NULL) : NULL;
             record; record = buffers_next_record(chunk, record))
            loader_comm_record(loader, record);
    }
}

/* A rank that ended while it polled stands in that poll. */
static void add_poll(struct loader *loader)
{
    const struct record_poll *poll = &loader->info.poll;
    uint32_t issued = (uint32_t)loader->trace->op_count - loader->first_op;
    if (loader->info.ended != 1 + RANK_POLLING || !poll->kind ||
        loader_position(loader, loader->rank, poll->ops) != issued)
        return;
    struct trace_plain_op op = trace_op_none(loader->rank, (enum op_kind)poll->kind);
    op.state = STATE_BLOCKED;
    op.comm = poll->comm ? numbers_get(&loader->rank_comms[loader->rank], poll->comm) : TRACE_NO;
    op.request = loader_op(loader, poll->request);
    op.peer = poll->peer;
    op.tag = poll->tag;
    op.count = poll->part;
    op.site = loader_site(loader, poll->site);
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
        threads |= trace->ops[i].form->thread > 0;
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

/* Rows that name others which were too much. */
static void forget_cut(const struct loader *loader)
{
    struct trace *trace = loader->trace;
    for (size_t i = loader->first_op; i < trace->op_count; i++) {
        struct trace_op *op = &trace->ops[i];
        op->request = op->request < trace->op_count ? op->request : TRACE_NO;
        op->node = op->node < trace->node_count ? op->node : TRACE_NO;
    }
}

static void rank_finish(struct loader *loader)
{
    struct trace *trace = loader->trace;
    struct trace_rank *rank = &trace->rank_info[loader->rank];
    const struct record_rank *info = &loader->info;
    if (loader->late || loader->result->ops_max)
        forget_cut(loader);
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
    rank->site = info->has_crash_site ? loader_site(loader, info->crash_site) : refused_at(loader);
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
    loader->comm_shift_count = 0;
    loader->repeats_seen = 0;
    memset(loader->site_cache, 0, sizeof loader->site_cache);
    for (size_t i = 0; i < loader->strings.room; i++)
        loader->strings.items[i] = TRACE_NO;
}

/* Rows of the trace may take the place of the records they were made from. */
enum { GIVE_BACK_UNITS = (64 << 20) / BUFFERS_UNIT };

/* Records of one chunk. Those of a loop stay: its iterations are made from them. */
static bool load_chunk(struct loader *loader, const struct chunk *chunk)
{
    bool folded = false;
    for (const struct record_head *record = buffers_next_record(chunk, NULL); record;
         record = buffers_next_record(chunk, record)) {
        loader_record(loader, record);
        folded |= record->type == RECORD_REPEAT;
    }
    return !folded;
}

static void give_back(const struct source *source)
{
    if (source->packed) {
        free(*source->packed);
        *source->packed = NULL;
        return;
    }
    const char *base = (const char *)source->buffers->header;
    uint64_t unit = (uint64_t)((const char *)source->chunk - base) / BUFFERS_UNIT;
    buffers_give_back(source->buffers, unit, source->units);
}

static bool is_over(const struct loader *loader)
{
    const struct recording_result *result = loader->result;
    return result->over && result->over(result->over_context);
}

static void load_ranks(struct loader *loader)
{
    size_t next = 0;
    uint64_t units = 0, told = 0, total = 0;
    for (size_t i = 0; i < loader->source_count; i++)
        total += loader->sources[i].units;
    for (uint32_t rank = 0; rank < loader->trace->ranks; rank++) {
        rank_start(loader, rank);
        for (; next < loader->source_count && loader->sources[next].rank == rank; next++) {
            const struct source *source = &loader->sources[next];
            loader->buffers = source->buffers;
            units += source->units;
            loader->late = loader->late || is_over(loader);
            const struct chunk *chunk = source_open(loader, source);
            bool loaded = chunk && load_chunk(loader, chunk);
            source_close(source, chunk);
            if (loaded && loader->once && total > GIVE_BACK_UNITS)
                give_back(source);
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
    free(loader->repeats);
    free(loader->rank_repeats);
    free(loader->gaps);
    free(loader->gone);
    balances_release(&loader->lost);
    handle_map_release(&loader->comms);
    sites_free(loader->sites);
}

/* What a receive under way has, where it could have nothing else. The rank itself may have seen it when the
 * world ended, or not yet: that depends on how many cores there are. */
static void settle_posted(struct trace *trace)
{
    for (uint32_t i = 0; i < trace->op_count; i++) {
        const struct trace_op *op = &trace->ops[i];
        if (op->state != STATE_POSTED || op_kind_class(op->kind) != CLASS_RECEIVE || op->peer < 0 ||
            op->tag < 0 || op->match == TRACE_NO)
            continue;
        trace_op_set_matched(trace, i, (int32_t)trace->ops[op->match].rank, op->tag);
    }
}

static bool loader_finish(struct loader *loader, struct failure *failure)
{
    struct trace *trace = loader->trace;
    const struct recording_result *result = loader->result;
    if (loader->source_count)
        qsort(loader->sources, loader->source_count, sizeof *loader->sources, source_order);
    load_comm_records(loader);
    loader->failed = !loader_plan_repeats(loader) || loader->failed;
    if (!loader->failed)
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
    if (loader->posted)
        settle_posted(trace);
    trace_gap(trace, "race", loader->wildcards,
              "wildcard receives in iterations of loops, taken to be as those around them");
    trace_hash_ranks(trace);
    return true;
}

/* Records that there was no memory for. */
static void tell_dropped(const struct loader *loader)
{
    trace_gap(loader->trace, "run", loader->drops->ops,
              "operations before those judged: the oldest of each rank, which were not kept (more "
              "are with a larger --record-limit)");
    trace_gap(loader->trace, "run", loader->cut,
              "operations that were kept, whose partners were not");
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
    bool done = loader_init(&loader, recording->ranks, result) &&
                add_sources(&loader, &recording->buffers) && add_packed(&loader, recording);
    if (!done)
        failure_set(failure, FAILURE_INTERNAL, "out of memory while loading a recording");
    loader.ends = recording->ends;
    loader.once = !recording->buffers.on_disk;
    loader.drops = recording->drops.ops ? &recording->drops : NULL;
    done = done && loader_finish(&loader, failure);
    loader_release(&loader, recording->ranks);
    if (!done) {
        trace_free(loader.trace);
        return NULL;
    }
    if (loader.drops)
        tell_dropped(&loader);
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
